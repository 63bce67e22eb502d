"""Sums from kept counts: which statements use them. Their numbers: ``duckdb/test_kept_columns.py``."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.engines.sql.counted_sums import FIRST, GROUPS, ROWS
from discreet.engines.sql.dialects import DUCKDB, POSTGRES
from discreet.engines.sql.emit import emit
from discreet.engines.sql.kept import count_name
from discreet.engines.sql.relations import Origin
from discreet.engines.sql.weights import size_of_unit
from discreet.query.plan.expressions import Call, Column, Literal
from discreet.query.plan.nodes import Filter, Project, Scan
from discreet.query.plan.schema import Stored, StoredKind
from discreet.query.plan.work import Form, RowSum, UnitSum, Weights, Work, WorkKey

STORED = {name: Stored(StoredKind.INTEGER) for name in ("id", "k", "x")}
KEY = Call("read_integer", (Column("k"), Literal(0), Literal(9)))
SOURCE = Project(Scan("t"), (("u", Column("id")), ("g", KEY), ("x", Column("x"))))
WORK = Work(
    source=SOURCE, unit="u", keys=(WorkKey("g", Column("g"), None),), cells=(UnitSum(),),
    weights=Weights(form=Form.L2, cap=2, scale=8, per_group=1),
)  # fmt: skip


def origin(*left_out: str) -> Origin:
    said = [(KEY, None)]
    counts = [one for one in (ROWS, FIRST, size_of_unit(GROUPS, DUCKDB)) if one not in left_out]
    return Origin("t", STORED, kept={str(count_name(one, Column("id"), said)): f"c{i}" for i, one in enumerate(counts)})


def uses(work: Work, table: Origin) -> bool:
    return "kept_n" in emit(work, DUCKDB, {"t": table}).sql


def test_kept_counts_spare_every_hash_table_of_units() -> None:
    sql = emit(WORK, DUCKDB, {"t": origin()}).sql
    assert "JOIN" not in sql
    assert "GROUP BY u" not in sql
    assert "JOIN" in emit(WORK, DUCKDB, {"t": Origin("t", STORED)}).sql


@pytest.mark.parametrize("lacking", [ROWS, FIRST, size_of_unit(GROUPS, DUCKDB)])
def test_all_counts_or_none(lacking: str) -> None:
    assert uses(WORK, origin())
    assert not uses(WORK, origin(lacking))


def test_other_works_count_again() -> None:
    for other in (
        replace(WORK, source=Filter(SOURCE, Call("gt", (Column("x"), Literal(0))))),
        replace(WORK, keys=(WorkKey("g", Column("g"), (1, 2)),)),
        replace(WORK, keys=(WorkKey("g", Column("x"), None),)),
        replace(WORK, keys=()),
        replace(WORK, source=Project(Scan("t"), (("u", Column("x")), ("g", KEY)))),
        replace(WORK, weights=replace(WORK.weights, per_group=2), cells=(RowSum(Literal(1)),)),
        replace(WORK, split=WorkKey("s", Column("x"), None), cells=(RowSum(Literal(1)),)),
    ):
        assert not uses(other, origin()), other
    assert "kept_n" not in emit(WORK, POSTGRES, {"t": origin()}).sql
