"""Totals of units in SQL: by hand in every shape. Every engine against the oracle: ``tests/contracts/engines``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
import sqlglot

from discreet.engines.sql.dialects import DUCKDB, Dialect, Shape
from discreet.engines.sql.emit import emit
from discreet.engines.sql.relations import Origin
from discreet.engines.sql.totals.statements import _class
from discreet.query.plan.expressions import Literal
from discreet.query.plan.nodes import Project, Scan
from discreet.query.plan.work import ClippedSum, Total, TotalsWork, UnitClasses, WorkKey
from tests.helpers.works import DIALECTS, EXPERIMENTAL, PARSERS, ROWS, STORED, TABLE, K, X, computed, f

PRESENT, COUNT, SUM = Total(None), Total(Literal(1)), Total(X)
KEY = WorkKey("k", K, None)


def clipped(*cells: ClippedSum, **more: Any) -> TotalsWork:
    return TotalsWork(**{"source": ROWS, "unit": "__unit", "keys": (KEY,), "scale": 60, **more}, cells=cells)


def classes(*totals: Total, **more: Any) -> UnitClasses:
    return UnitClasses(**{"source": ROWS, "unit": "__unit", "keys": (KEY,), **more}, totals=totals)


BY_HAND: dict[str, tuple[TotalsWork | UnitClasses, dict[Any, tuple[int, ...]]]] = {
    # unit 1 has 6, 30 and 100 (500 is clamped): 60*34 // 136 = 15; unit 2 has 7 in a; unit 3 nothing in b
    "sums": (clipped(ClippedSum(SUM, 34)), {("a",): (90 + 420,), ("b",): (450,), ("c",): (1500,)}),
    # unit 1 is in three groups and has six rows: 60*1 // 3 = 20 and 60*3 // 6 = 30
    "presence and rows": (
        clipped(ClippedSum(PRESENT, 1), ClippedSum(COUNT, 3)),
        {("a",): (80, 150), ("b",): (80, 120), ("c",): (20, 30)},
    ),
    # of one total with two caps, each has its own weight: 60*34 // 136 and 60*68 // 136
    "two caps": (
        clipped(ClippedSum(SUM, 34), ClippedSum(SUM, 68)),
        {("a",): (510, 180 + 420), ("b",): (450, 900), ("c",): (1500, 3000)},
    ),
    # c is not listed: unit 1 has 36
    "listed": (
        clipped(ClippedSum(SUM, 18), keys=(WorkKey("k", K, ("a", "b", "z")),)),
        {("a",): (30 * 6 + 420,), ("b",): (30 * 30,)},
    ),
    "no keys": (clipped(ClippedSum(SUM, 34), keys=()), {(): (15 * 136 + 420,)}),
    "nothing weighs anything": (
        clipped(ClippedSum(SUM, 1), scale=1),
        {("a",): (0,), ("b",): (0,), ("c",): (0,)},
    ),
    # lengths 136, 7 and 0; 6, 1 and 1 rows; 3, 1 and 1 groups
    "classes": (
        classes(SUM, COUNT, PRESENT, edges=(0, 1, 6, 7)),
        {(0, 4): (1,), (0, 3): (1,), (0, 0): (1,), (1, 2): (1,), (1, 1): (2,), (2, 2): (1,), (2, 1): (2,)},
    ),
    "classes without keys": (classes(SUM, edges=(7, 135, 136), keys=()), {(0, 0): (2,), (0, 2): (1,)}),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("name", BY_HAND)
def test_numbers_by_hand(name: str, shape: Shape) -> None:
    asked, right = BY_HAND[name]
    assert computed(asked, shape) == right


@pytest.mark.slow
@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("name", BY_HAND)
def test_an_empty_table_has_no_groups(name: str, shape: Shape) -> None:
    assert computed(BY_HAND[name][0], shape, TABLE.slice(0, 0)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("salt", ["", "s", "it's"])
def test_every_shape_keeps_the_same_keys(salt: str, most: int) -> None:
    more: dict[str, Any] = {"most_keys": most, "salt": salt}
    for asked in (
        clipped(ClippedSum(SUM, 9), ClippedSum(PRESENT, 1), **more),
        classes(SUM, PRESENT, edges=(1, 2, 135), **more),
    ):
        found = [computed(asked, shape) for shape in Shape]
        assert found[0] == found[1] == found[2] != computed(replace(asked, most_keys=None), Shape.HASHED)


@pytest.mark.slow
@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("reach", [1 << 22, 1 << 23, 1 << 62], ids=["64 bits", "just beyond", "wide"])
def test_totals_of_any_size(reach: int, shape: Shape) -> None:
    """A unit that is far beyond its cap adds nothing, and fails nowhere; the class of its length is the last."""
    source = Project(Scan("t"), (*ROWS.columns[:2], ("x", f("read_integer", X, -reach, reach))))
    table = pa.table({"u": [1] * 6 + [2], "k": ["a"] * 5 + ["b", "a"], "x": [reach] * 5 + [-reach, 3]})
    asked = clipped(ClippedSum(SUM, 3), source=source)
    weight = 60 * 3 // (6 * reach)
    assert computed(asked, shape, table) == {("a",): (180 + weight * 5 * reach,), ("b",): (-weight * reach,)}
    edges = (2, (1 << 62) - 1)
    last = 2 if 6 * reach > edges[1] else 1
    found = computed(classes(SUM, edges=edges, source=source), shape, table)
    assert found == ({(0, 1): (2,)} if last == 1 else {(0, 1): (1,), (0, 2): (1,)})


def every_statement(dialect: Dialect) -> Iterator[str]:
    for asked, _ in BY_HAND.values():
        for most in (None, 2):
            yield emit(replace(asked, most_keys=most), dialect, {"t": Origin("t", STORED)}).sql


@pytest.mark.slow
@pytest.mark.parametrize("dialect", [*DIALECTS, *EXPERIMENTAL], ids=lambda d: d.name)
def test_every_dialect_writes_what_its_parser_reads(dialect: Dialect) -> None:
    for sql in every_statement(dialect):
        assert sqlglot.parse_one(sql, dialect=PARSERS.get(dialect.name, dialect.name))


def test_a_class_is_found_by_halving() -> None:
    edges = tuple(range(0, 1536, 3))
    sql = _class("q", edges, DUCKDB)
    depth = most = 0
    for word in sql.replace("(", " ").split():
        depth += {"CASE": 1, "END": -1}.get(word, 0)
        most = max(most, depth)
    assert len(edges) == 512 == sql.count("WHEN")
    assert most == 10
