"""What PostgreSQL sends becomes exact integers: numbers travel as text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.engines.postgres.result import fetch
from discreet.engines.sql.dialects import Sort
from discreet.engines.sql.hashed_sums import Statement
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import Scan
from discreet.query.plan.work import Form, RowSum, Weights, Work, WorkKey

WORK = Work(
    source=Scan("t"),
    unit="u",
    keys=(WorkKey("k", Column("k"), ("a", "b", None)),),
    cells=(RowSum(Literal(1)), RowSum(Literal(2))),
    weights=Weights(form=Form.ROWS, cap=1, scale=1),
)
STATEMENT = Statement("SELECT k0, n0, n1 FROM t", (("k0", Sort.TEXT),), 2)


class Sends:
    """A connection that sends these rows, and keeps what it was asked."""

    def __init__(self, *rows: tuple[Any, ...]) -> None:
        self.rows = list(rows)
        self.asked = b""

    def execute(self, sql: bytes) -> Sends:
        self.asked = sql
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.rows


def test_numbers_are_asked_for_as_text_and_read_exactly() -> None:
    connection = Sends(("a", "7", str(10**30)), (None, "-9223372036854775808", "0"))
    found = fetch(WORK, STATEMENT, connection)  # type: ignore[arg-type]
    assert connection.asked.startswith(b"SELECT k0, CAST(n0 AS TEXT), CAST(n1 AS TEXT) FROM (\n")
    assert found.keys == (("a",), (None,))
    assert [n.tolist() for n in found.numbers] == [[7, -(2**63)], [10**30, 0]]
    assert [n.dtype for n in found.numbers] == [np.int64, object]


def test_no_rows_are_no_groups() -> None:
    found = fetch(WORK, STATEMENT, Sends())  # type: ignore[arg-type]
    assert (found.keys, [len(n) for n in found.numbers]) == ((), [0, 0])


@pytest.mark.parametrize(
    "rows",
    [
        [("a", "1.5", "1")],
        [("a", "NaN", "1")],
        [("a", None, "1")],
        [("c", "1", "1")],
        [(7, "1", "1")],
        [("a", "1", "1"), ("a", "1", "1")],
        [("a", "1", "1"), ("b", "1")],
    ],
)
def test_anything_else_is_refused(rows: list[tuple[Any, ...]]) -> None:
    with pytest.raises((TypeError, ValueError)):
        fetch(WORK, STATEMENT, Sends(*rows))  # type: ignore[arg-type]
