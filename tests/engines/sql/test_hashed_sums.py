"""Bounded sums by hash tables and joins: the numbers of work.py by hand."""

from __future__ import annotations

import pytest

from discreet.engines.sql.dialects import DUCKDB, Shape
from discreet.engines.sql.emit import emit
from discreet.engines.sql.relations import Origin
from discreet.query.plan.nodes import Project, Scan
from discreet.query.plan.work import Form, RowSum, UnitSum, Work, WorkKey
from tests.helpers.works import BY_HAND, ONE, ROWS, STORED, TABLE, X, answer, computed, f, work


@pytest.mark.slow
def test_a_unit_with_too_many_keys_keeps_some() -> None:
    asked = work(Form.L1, 2, 1, UnitSum(), most_keys=2, salt="s")
    kept = answer(asked)
    assert sum(n for (n,) in kept.values()) == 4 * 60
    others = {tuple(sorted(answer(work(Form.L1, 2, 1, UnitSum(), most_keys=2, salt=str(n))))) for n in range(12)}
    assert len(others) > 1  # which ones, the salt decides


def test_an_empty_table_has_no_groups() -> None:
    for asked in (work(Form.ROWS, 1, None, ONE), work(Form.L2, 1, 1, ONE), work(Form.ROWS, 1, None, ONE, keys=())):
        assert answer(asked, TABLE.slice(0, 0)) == {}


def test_products_that_may_not_fit_are_wide() -> None:
    def products(reach: int) -> str:
        rows = Project(Scan("t"), (*ROWS.columns[:2], ("x", f("read_integer", X, -reach, reach))))
        asked = work(Form.ROWS, 3, None, RowSum(X), scale=1 << 20)
        wide = Work(source=rows, unit="__unit", keys=asked.keys, cells=asked.cells, weights=asked.weights)
        return emit(wide, DUCKDB, {"t": Origin("t", STORED)}).sql

    assert "CAST(g.r AS HUGEINT) * c." not in products(1 << 41)
    assert "CAST(g.r AS HUGEINT) * c." in products(1 << 42)


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_HAND)
def test_numbers_by_hand(name: str) -> None:
    asked, right = BY_HAND[name]
    assert answer(asked) == right
    assert computed(asked, Shape.HASHED) == right, "without codes for keys"


def test_a_pick_is_among_the_listed_splits() -> None:
    listed = WorkKey("s", X, (2, 20))
    assert set(answer(work(Form.L1, 3, 1, ONE, pick=(1, 0), split=listed))) == {("a", 2), ("b", 20)}


def test_a_sum_that_is_the_rest_of_another_is_computed_from_it() -> None:
    """Σ w (100 - x) = 100 Σ w - Σ w x over the rows where x is not NULL: unit 3 adds nothing."""
    whole, rest = RowSum(X), RowSum(f("sub", 100, X))
    found = answer(work(Form.ROWS, 3, None, rest, whole))
    assert found[("a",)] == (30 * (99 + 98 + 97) + 60 * 93, 30 * 6 + 60 * 7)
    assert found[("b",)] == (30 * (90 + 80), 30 * 30)
