"""Bounded sums by sums and windows without a join: the numbers of work.py by hand.

DuckDB computes them, in the shape for clusters.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from discreet.engines.sql.dialects import DUCKDB, Shape
from discreet.engines.sql.emit import emit
from discreet.engines.sql.relations import Origin
from discreet.query.plan.nodes import Project, Scan
from discreet.query.plan.work import Form, RowSum, UnitSum
from tests.helpers.works import BY_HAND, ONE, ROWS, STORED, TABLE, X, answer, computed, f, work


@pytest.mark.parametrize("name", BY_HAND)
def test_numbers_by_hand(name: str) -> None:
    asked, right = BY_HAND[name]
    assert computed(asked, Shape.WINDOWED) == right


@pytest.mark.slow
@pytest.mark.parametrize("salt", ["", "s", "it's", "3"])
def test_the_same_keys_are_kept_as_by_hash_tables(salt: str) -> None:
    for asked in (
        work(Form.L1, 2, 1, UnitSum(), most_keys=2, salt=salt),
        work(Form.L2, 3, 2, ONE, most_keys=1, salt=salt),
    ):
        assert computed(asked, Shape.WINDOWED) == answer(asked)


@pytest.mark.slow
def test_an_empty_table_has_no_groups() -> None:
    for asked, _ in BY_HAND.values():
        assert computed(asked, Shape.WINDOWED, TABLE.slice(0, 0)) == {}


@pytest.mark.parametrize("reach", [1 << 20, 1 << 30, 1 << 50], ids=["64 bits", "two halves", "wide"])
def test_sums_of_one_piece_are_exact_in_every_width(reach: int) -> None:
    """By how far a value may be from 0, one of three ways is taken; all give the same numbers."""
    rows = Project(Scan("t"), (*ROWS.columns[:2], ("x", f("read_integer", X, -reach, reach))))
    asked = replace(work(Form.L1, 4, 2, ONE, RowSum(X)), source=rows)
    table = TABLE.set_column(2, "x", pa.array([reach - n if n is not None else None for n in TABLE["x"].to_pylist()]))
    table = table.set_column(2, "x", pc.multiply(table["x"], pa.array([1, -1, 1, -1, 1, 1, -1, 1, 1])))
    x = table["x"].to_pylist()
    sql = emit(asked, replace(DUCKDB, shape=Shape.WINDOWED), {"t": Origin("t", STORED)}).sql
    assert ("shiftright" in sql) == (reach == 1 << 30)
    assert computed(asked, Shape.WINDOWED, table) == {
        ("a",): (3 * 32 + 60, 32 * (x[0] + x[1] + x[2]) + 60 * x[6]),
        ("b",): (2 * 48 + 60, 48 * (x[3] + x[4])),
        ("c",): (48, 48 * x[5]),
    }
