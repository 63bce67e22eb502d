"""The joint law on tiny universes, unbiased estimates, variances, and that only differences leave."""

from fractions import Fraction
from math import exp, sqrt
from typing import Any

import numpy as np
import pytest

from discreet.mechanisms.statistics.budget import Moves
from discreet.query.plan.key_sets import hierarchy, key_set
from discreet.query.plan.work import Cells
from discreet.randomness import SystemBits
from discreet.randomness.source import uniform_below
from discreet.synthetic.columns import whole
from discreet.synthetic.domain import Domain
from discreet.synthetic.hierarchical.measure import CellSource, Exact, estimates
from discreet.synthetic.hierarchical.plan import HierarchicalPlan, plan, publication
from discreet.synthetic.source import Rows

GEO = hierarchy("geo", ["state", "county"], table=[("A", "a1"), ("A", "a2"), ("B", "b1")])
SEX = Domain({"sex": whole(0, 1, nullable=False)})
ONE = Moves(1, 1)


class Same:
    """The same bits each time."""

    def __init__(self, seed: int) -> None:
        self._draw = np.random.default_rng(seed)

    def bytes(self, count: int) -> bytes:
        return self._draw.bytes(count)

    def bits(self, count: int) -> int:
        return int.from_bytes(self.bytes((count + 7) >> 3), "little") >> (-count & 7)

    def below(self, n: int) -> int:
        return uniform_below(self, n)


def small() -> HierarchicalPlan:
    return plan(publication([("state", "sex"), ("county", "sex"), ("county",)]), SEX, GEO)


def exact(rows: list[tuple[int, int]], found: HierarchicalPlan | None = None) -> Exact:
    found = found or small()
    source = Rows(found.domain, np.array(rows, dtype=np.int64).reshape(-1, 2))
    assert isinstance(source, CellSource)
    return Exact.of(found, source.cells((0, 1)))


def test_tables_are_those_of_plain_loops() -> None:
    rows = [(0, 0), (0, 1), (1, 1), (2, 0), (2, 0)]
    counted = exact(rows)
    county = [[sum(r == (c, s) for r in rows) for s in range(2)] for c in range(3)]
    assert counted.table(2, (0,)).tolist() == county
    assert counted.table(1, (0,)).tolist() == [[1, 2], [2, 0]]
    assert counted.table(1, ()).tolist() == [3, 2]
    assert counted.table(0, ()).tolist() == [5]


def test_cells_that_are_declared_impossible_are_left_out() -> None:
    two = Domain({"a": whole(0, 1, nullable=False), "b": whole(0, 1, nullable=False)})
    zeros = key_set([(0, 0), (1, 0), (1, 1)], ["a", "b"])
    found = plan(publication([("a", "b")]), two, key_sets=[zeros])
    cells = Cells(np.array([0, 1, 2, 3]), np.array([5, 6, 7, 8]))
    assert Exact.of(found, cells).table(0, (0, 1)).tolist() == [[[5, 0], [7, 8]]]


@pytest.mark.parametrize("row", [(county, sex) for county in range(3) for sex in range(2)])
def test_the_joint_law_keeps_the_budget_for_every_row(row: tuple[int, int]) -> None:
    """Every part by its exact law, on a tree of 2 and 3 nodes: one row more, in any cell. Nothing is sampled."""
    found, rho = small(), Fraction(1, 50)
    noise = found.noise(ONE, rho)
    before, after = exact([(0, 0), (2, 1)]), exact([(0, 0), (2, 1), row])
    for order in (1.01, 2.0, 8.0):
        total = 0.0
        for (level, columns), sigma_squared in noise.items():
            moved = after.table(level, columns) - before.table(level, columns)
            assert np.abs(moved).sum() == 1
            logs = np.log(_law(float(sigma_squared), 2 if columns else 1))
            total += np.log(np.exp(order * logs[1:] + (1 - order) * logs[:-1]).sum()) / (order - 1)
        assert total <= order * float(rho) * (1 + 1e-6)
        assert total > 0.99 * order * float(rho)  # a planted twin with less noise by 2 % would not pass


def _law(sigma_squared: float, cells: int) -> Any:
    """Of one noise, or of the difference of two: a row moves it by one."""
    reach = int(16 * sqrt(sigma_squared)) + 20
    single = np.array([exp(-z * z / (2 * sigma_squared)) for z in range(-reach, reach + 1)])
    single /= single.sum()
    law = single if cells == 1 else np.convolve(single, single)
    return law[law > 1e-280]


def test_parts_hold_no_more_than_differences() -> None:
    """What all values of a column have in common leaves by the totals alone, if the bits are the same."""
    found = small()
    noise = {part: Fraction(50) for part in found.parts}

    first = estimates(found, exact([(0, 0)]), noise, Same(7), finer=1, scale=1)
    second = estimates(
        found, exact([(0, 0), *[(c, s) for c in range(3) for s in range(2)] * 9]), noise, Same(7), finer=1, scale=1
    )
    for level in range(3):
        assert first.values[level, (0,)] == pytest.approx(second.values[level, (0,)])
        assert first.values[level, ()] != pytest.approx(second.values[level, ()])


def test_estimates_are_unbiased_with_the_stated_variance() -> None:
    """4,000 releases: means within 6 standard errors, variances within 20 % (6 standard errors are 13 %), so the
    false-alarm rate is below 1e-7 for all 22 numbers together.
    """
    found = small()
    rows = [(0, 0)] * 3 + [(1, 1)] * 5 + [(2, 0)] * 2
    counted, noise, runs = exact(rows), found.noise(ONE, Fraction(1, 2)), 4000
    drawn = [estimates(found, counted, noise, SystemBits(), finer=1, scale=1) for _ in range(runs)]
    for table in found.tables:
        truth = counted.table(table.level, table.columns)
        seen = np.stack([one.table(table.level, table.columns) for one in drawn])
        variance = found.table_variance(table, drawn[0].spread).reshape(-1, *(1,) * len(table.columns))
        assert (np.abs(seen.mean(axis=0) - truth) < 6 * np.sqrt(variance / runs)).all()
        assert np.broadcast_to(seen.var(axis=0) / variance, truth.shape) == pytest.approx(1, abs=0.2)
