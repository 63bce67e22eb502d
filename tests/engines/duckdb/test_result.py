"""What DuckDB sends becomes exact integers and plain keys."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import duckdb as driver
import numpy as np
import pytest

from discreet.engines.duckdb.result import fetch, fetch_by_unit
from discreet.engines.sql.dialects import Sort
from discreet.engines.sql.hashed_sums import Statement
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import Scan
from discreet.query.plan.work import Exact, Form, RowSum, UnitSums, Weights, Work, WorkKey


def fetched(sql: str, *sorts: Sort, allowed: Any = None) -> Exact:
    """The result of a SELECT with these keys and one number."""
    keys = tuple(WorkKey(f"k{i}", Column(f"k{i}"), allowed) for i in range(len(sorts)))
    weights = Weights(form=Form.ROWS, cap=1, scale=1)
    work = Work(source=Scan("t"), unit="u", keys=keys, cells=(RowSum(Literal(1)),), weights=weights)
    statement = Statement(sql, tuple((f"k{i}", sort) for i, sort in enumerate(sorts)), 1)
    with driver.connect() as connection:
        return fetch(work, statement, connection)


def by_unit(sql: str, sort: Sort) -> UnitSums:
    """The result of a SELECT of a listed key, a unit and one number."""
    keys = (WorkKey("k0", Column("k0"), ("a", "b")), WorkKey("k1", Column("k1"), None))
    weights = Weights(form=Form.ROWS, cap=1, scale=1)
    work = Work(source=Scan("t"), unit="u", keys=keys, cells=(RowSum(Literal(1)),), weights=weights)
    statement = Statement(sql, (("k0", Sort.TEXT), ("k1", sort)), 1)
    with driver.connect() as connection:
        return fetch_by_unit(work, statement, connection)


def test_numbers_of_units_come_as_arrays() -> None:
    rows = "(VALUES ('b', 7, 1::HUGEINT), ('a', 7, -2), ('a', 9, {0})) AS t(k0, k1, n0)"
    found = by_unit(f"SELECT * FROM {rows.format(3)}", Sort.INTEGER)
    pairs = zip(found.places.tolist(), [found.whose[u] for u in found.units], found.numbers[0].tolist(), strict=True)
    assert sorted(pairs) == [(0, 7, -2), (0, 9, 3), (1, 7, 1)]
    assert found.numbers[0].dtype == np.int64
    large = by_unit(f"SELECT * FROM {rows.format(2**100)}", Sort.INTEGER)
    assert sorted(large.numbers[0].tolist()) == [-2, 1, 2**100]
    nothing = by_unit(f"SELECT * FROM {rows.format(3)} WHERE false", Sort.INTEGER)
    assert (len(nothing.places), nothing.whose) == (0, ())


@pytest.mark.parametrize(
    "values", ["('a', 7, 1), ('a', 7, 2)", "('c', 7, 1)", "(NULL, 7, 1)", "('a', NULL, 1), ('a', 3, 1)"]
)
def test_numbers_of_units_in_another_shape_are_refused(values: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        by_unit(f"SELECT * FROM (VALUES {values}) AS t(k0, k1, n0)", Sort.INTEGER)
    with pytest.raises(TypeError):
        by_unit("SELECT 'a' AS k0, true AS k1, 1 AS n0", Sort.BOOLEAN)


def test_numbers_of_64_bits_are_an_array_and_larger_ones_python_integers() -> None:
    small = fetched("SELECT unnest([1, 2]) AS k0, 9223372036854775807::HUGEINT AS n0", Sort.INTEGER)
    assert small.numbers[0].dtype == np.int64
    assert small.numbers[0].tolist() == [2**63 - 1] * 2
    mixed = fetched(
        "SELECT unnest([1, 2]) AS k0, unnest([-7, 170141183460469231731687303715884105727]) AS n0", Sort.INTEGER
    )
    assert mixed.numbers[0].dtype == object
    assert mixed.numbers[0].tolist() == [-7, 2**127 - 1]


def test_keys_are_plain_values_and_null_is_none() -> None:
    found = fetched(
        "SELECT unnest([DATE '0001-01-01', NULL, DATE '9999-12-31']) AS k0, unnest(['a', NULL, '']) AS k1, "
        "unnest([TRUE, FALSE, NULL]) AS k2, 1 AS n0",
        Sort.DATE, Sort.TEXT, Sort.BOOLEAN,
    )  # fmt: skip
    assert found.keys == ((date.min, "a", True), (None, None, False), (date.max, "", None))
    (moment,) = fetched("SELECT TIMESTAMP '9999-12-31 23:59:59.999999' AS k0, 1 AS n0", Sort.TIMESTAMP).keys
    assert moment == (datetime.max,)


def test_without_keys_there_is_one_group_or_none() -> None:
    assert fetched("SELECT 5 AS n0").keys == ((),)
    assert fetched("SELECT 5 AS n0 WHERE FALSE").keys == ()


@pytest.mark.parametrize(
    "sql", ["SELECT 'a' AS k0, 'x' AS n0", "SELECT 'a' AS k0, NULL AS n0", "SELECT 1 AS k0, 1 AS n0"]
)
def test_what_is_no_number_or_no_key_of_its_kind_is_refused(sql: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        fetched(sql, Sort.TEXT)


def test_a_key_that_was_not_listed_is_refused() -> None:
    with pytest.raises(ValueError, match="not asked"):
        fetched("SELECT 'b' AS k0, 1 AS n0", Sort.TEXT, allowed=("a",))
