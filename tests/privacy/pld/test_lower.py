"""Laws on grids from below: planted bugs are seen, and the repair of a curve that is not convex only lowers it."""

from collections.abc import Callable

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy.pld import lower as lower_module
from discreet.privacy.pld.law import Grid, Law, raised
from discreet.privacy.pld.lower import centred, lowered, repaired
from discreet.privacy.pld.pair import Pair
from tests.helpers import hockey as ref
from tests.privacy.pld.cases import GRID_PAIR, PAIRS, grid_for, holds, one_step


@pytest.fixture(autouse=True)
def _precise() -> None:
    ctx.prec = 160


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
def test_a_centred_grid_is_as_good_as_any(name: str) -> None:
    pair, curve = PAIRS[name]
    for cells in (16, 120):
        grid = grid_for(pair, cells)
        assert holds(pair, curve, grid, raised, lambda p, g: lowered(p, centred(p, g)))


def _whole_cell(pair: Pair, grid: Grid) -> Law:
    """Nearest rounding: the obvious thing to do, and wrong."""
    edges = np.concatenate([grid.losses - grid.step / 2, [grid.losses[-1] + grid.step / 2]])
    return Law(grid, pair.cells(edges).p, 0.0, grid.slip)


@pytest.mark.parametrize(
    "bug",
    [
        _whole_cell,
        lambda pair, grid: one_step(lowered(pair, grid), 1),
        raised,
    ],
    ids=["nearest rounding", "losses a cell up", "the upper law"],
)
def test_a_bug_on_the_lower_side_is_seen(bug: Callable[..., Law]) -> None:
    pair, curve = PAIRS[GRID_PAIR]
    assert not holds(pair, curve, grid_for(pair, 400), raised, bug)


def test_without_the_hull_the_lower_side_would_have_negative_mass(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def look(mass: np.ndarray, error: np.ndarray, step: float) -> np.ndarray:
        seen.append(float(mass.min()))
        return repaired(mass, error, step)

    monkeypatch.setattr(lower_module, "repaired", look)
    pair, curve = PAIRS["laplace 1"]
    assert holds(pair, curve, grid_for(pair, 40, 0.37), raised, lowered)
    assert min(seen) < 0.0


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=12), st.floats(0.01, 1.0))
def test_the_repair_only_lowers_a_curve_that_is_a_minorant(mass: list[float], step: float) -> None:
    """Σ m (1 - t/t_i)_+ falls wherever it is not below 0; a true curve is never below 0, so it stays above both."""
    ctx.prec = 160
    grid = Grid(step, 0.0, -2, len(mass))
    before = np.array(mass)
    after = repaired(before, np.zeros(len(mass)), step)
    assert after.min() >= 0.0
    times = [ref.ball(step * (i - 2 + shift)).exp() for i in range(len(mass)) for shift in (-0.7, 0.0, 0.4)]
    for t in times:
        loss = [ref.ball(grid.step) * (grid.first + i) for i in range(len(mass))]
        old, new = (
            sum(
                (ref.ball(float(m)) * ref.positive(1 - t * (-x).exp()) for m, x in zip(side, loss, strict=True)), arb(0)
            )
            for side in (before, after)
        )
        assert not new > ref.positive(old)


def test_what_is_repaired_is_lessened_by_its_error_first() -> None:
    mass, error = np.array([0.5, 0.25, 0.25]), np.array([0.125, 0.0625, 0.0])
    assert repaired(mass, error, 0.5).tolist() == [0.375, 0.1875, 0.25]
    negative = repaired(np.array([0.5, -0.125, 0.25]), np.full(3, 0.0625), 0.5)
    assert negative.min() >= 0.0
    assert negative.sum() <= 0.5 - 0.125 + 0.25 - 3 * 0.0625 + 1e-12
