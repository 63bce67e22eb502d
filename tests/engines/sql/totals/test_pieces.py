"""Numbers and lengths of units: read once, kept where that is quicker. What they are: test_statements.py."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.engines.sql.dialects import DUCKDB, POSTGRES, SPARK, Dialect
from discreet.engines.sql.emit import emit
from discreet.engines.sql.relations import Origin
from discreet.query.plan.expressions import Literal
from discreet.query.plan.work import ClippedSum, Total, TotalsWork, UnitClasses, WorkKey
from tests.helpers.works import DIALECTS, EXPERIMENTAL, ROWS, STORED, K, X, f

X_SIGNED = Total(X)
KEY = WorkKey("k", K, None)
TOTALS = (Total(None), Total(Literal(1)), Total(X), Total(Literal(1 << 40)))
CLIPPED = TotalsWork(
    source=ROWS, unit="__unit", keys=(KEY,), cells=tuple(ClippedSum(total, 5) for total in TOTALS), scale=8
)
CLASSES = UnitClasses(source=ROWS, unit="__unit", keys=(KEY,), totals=TOTALS, edges=(1, 2))


def sql(work: TotalsWork | UnitClasses, dialect: Dialect) -> str:
    return emit(work, dialect, {"t": Origin("the_rows", STORED)}).sql


@pytest.mark.parametrize("dialect", [*DIALECTS, *EXPERIMENTAL], ids=lambda d: d.name)
@pytest.mark.parametrize("most", [None, 2])
def test_rows_are_read_once(dialect: Dialect, most: int | None) -> None:
    for work in (CLIPPED, CLASSES, replace(CLIPPED, keys=()), replace(CLASSES, keys=())):
        assert sql(replace(work, most_keys=most), dialect).count("the_rows") == 1


def test_duckdb_keeps_rows_per_unit_and_key_and_others_have_windows() -> None:
    assert "pairs AS MATERIALIZED" in sql(CLIPPED, DUCKDB)
    assert "OVER" not in sql(CLIPPED, DUCKDB)
    for dialect in (POSTGRES, SPARK, *EXPERIMENTAL):
        assert "JOIN" not in sql(CLIPPED, dialect)
        assert "OVER (PARTITION BY u)" in sql(CLIPPED, dialect)


def test_without_keys_nothing_is_joined() -> None:
    for dialect in (*DIALECTS, *EXPERIMENTAL):
        assert "JOIN" not in sql(replace(CLIPPED, keys=()), dialect)
        assert "OVER" not in sql(replace(CLIPPED, keys=()), dialect)


def test_only_numbers_that_may_be_wide_are_summed_wide() -> None:
    one = replace(CLIPPED, cells=CLIPPED.cells[:3])
    inner = sql(one, SPARK).split("FROM", 1)[1]
    assert "DECIMAL" not in inner  # presence, rows, and values of at most 100
    assert "AS DECIMAL(38, 0)" in sql(CLIPPED, SPARK).split("FROM", 1)[1]


def test_lengths_of_values_that_are_never_negative_need_no_keys() -> None:
    never = Total(f("read_integer", X, 0, 9))
    for totals, less in (((TOTALS[1],), True), ((never, TOTALS[1]), True), ((X_SIGNED,), False), (TOTALS[:1], False)):
        for dialect in DIALECTS:
            work = replace(CLASSES, totals=totals)
            assert ("GROUP BY u, k0" not in sql(work, dialect)) == less, (totals, dialect.name)
            assert "GROUP BY u, k0" in sql(replace(work, most_keys=2), dialect)
