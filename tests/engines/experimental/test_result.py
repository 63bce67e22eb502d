"""What a database driver sends becomes exact integers and plain keys; anything else is refused."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from discreet.engines.experimental.result import exact, plain, whole
from discreet.engines.experimental.sqlserver import SQLSERVER
from discreet.engines.sql.dialects import DUCKDB, Dialect, Sort
from discreet.engines.sql.hashed_sums import Statement
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import Scan
from discreet.query.plan.work import Exact, Form, RowSum, Weights, Work, WorkKey


def taken(rows: list[tuple[Any, ...]], dialect: Dialect = DUCKDB) -> Exact:
    keys = (WorkKey("k", Column("k"), None),)
    weights = Weights(form=Form.ROWS, cap=1, scale=1)
    work = Work(source=Scan("t"), unit="u", keys=keys, cells=(RowSum(Literal(1)),), weights=weights)
    return exact(work, Statement("", (("k0", Sort.TEXT),), 1), rows, dialect)


@pytest.mark.parametrize(("value", "right"), [(7, 7), (True, 1), (Decimal("7.00"), 7), (Decimal(-(10**30)), -(10**30))])
def test_integers_as_drivers_send_them(value: object, right: int) -> None:
    assert (whole(value), type(whole(value))) == (right, int)


@pytest.mark.parametrize("value", [7.0, "7", None, Decimal("7.5"), Decimal("NaN"), Decimal("Infinity")], ids=str)
def test_what_is_no_integer_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError, ArithmeticError)):
        whole(value)


def test_keys_of_every_kind() -> None:
    class Moment(datetime):
        """A kind of its own, as some drivers have."""

    assert plain(None, Sort.TEXT) is None
    assert plain(0, Sort.BOOLEAN) is False
    assert plain(Decimal(3), Sort.INTEGER) == 3
    assert type(plain(Moment(2024, 1, 2), Sort.TIMESTAMP)) is datetime
    assert plain(date(2024, 1, 2), Sort.DATE) == date(2024, 1, 2)
    assert plain("a |", Sort.TEXT, "|") == "a "


@pytest.mark.parametrize(
    ("value", "sort", "mark"),
    [(2, Sort.BOOLEAN, ""), ("true", Sort.BOOLEAN, ""), (b"a", Sort.TEXT, ""), ("a", Sort.TEXT, "|"),
     (datetime(2024, 1, 1), Sort.DATE, ""), ("2024-01-01", Sort.DATE, ""), (date(2024, 1, 1), Sort.TIMESTAMP, "")],
)  # fmt: skip
def test_keys_of_another_kind_are_refused(value: object, sort: Sort, mark: str) -> None:
    with pytest.raises(TypeError, match="another kind"):
        plain(value, sort, mark)


def test_rows_become_groups() -> None:
    found = taken([("a", Decimal(5)), (None, 6)])
    assert (found.keys, found.numbers[0].tolist()) == ((("a",), (None,)), [5, 6])
    assert taken([("a |", 1), ("a|", 2)], SQLSERVER).keys == (("a ",), ("a",))
    assert taken([]).keys == ()


@pytest.mark.parametrize("rows", [[("a",)], [("a", 1, 2)], [("a", 1), ("a", 2)], [("a", 1.0)], [("a", None)]], ids=str)
def test_rows_of_another_shape_are_refused(rows: list[tuple[Any, ...]]) -> None:
    with pytest.raises((TypeError, ValueError)):
        taken(rows)
