"""Laws on grids: raised ones lie above the true hockey-stick curve, lowered ones below it, everywhere."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy.pld import lower as lower_module
from discreet.privacy.pld.atoms import box, discrete_gaussian, discrete_laplace, response
from discreet.privacy.pld.continuous import (
    BoundedRangePair,
    GaussianPair,
    LaplacePair,
    WideDiscreteGaussianPair,
    WideDiscreteLaplacePair,
)
from discreet.privacy.pld.law import Grid, Law, raised
from discreet.privacy.pld.lower import centred, lowered, repaired
from discreet.privacy.pld.pair import Pair
from discreet.privacy.pld.subsampled import AddedPair, RemovedPair
from tests.helpers import hockey as ref
from tests.helpers.exact_pairs import ListedPair

F = Fraction


@pytest.fixture(autouse=True)
def _precise() -> None:
    ctx.prec = 160


def discrete_laplace_curve(scale: Fraction, shift: int) -> ref.Curve:
    a = (-1 / ref.ball(scale)).exp()
    norm = (1 - a) / (1 + a)
    inside = [(norm * a**z, norm * a ** (shift - z)) for z in range(1, shift)]
    end = 1 / (1 + a)
    return ref.listed([(end, end * a**shift), (end * a**shift, end), *inside])


def discrete_gaussian_curve(variance: Fraction, shift: int, wide: int) -> ref.Curve:
    v = ref.ball(variance)
    weight = {z: (-arb(z * z) / (2 * v)).exp() for z in range(-wide - shift, wide + shift + 1)}
    norm = sum(weight.values(), arb(0))
    return ref.listed([(weight[z] / norm, weight[z - shift] / norm) for z in range(-wide, wide + shift + 1)])


def laplace_pair(epsilon: Fraction) -> LaplacePair:
    return LaplacePair(epsilon, float(epsilon))


PAIRS: dict[str, tuple[Pair, ref.Curve]] = {
    "gaussian 1": (GaussianPair(1.0), ref.gaussian(1.0)),
    "gaussian 0.01": (GaussianPair(0.01), ref.gaussian(0.01)),
    "gaussian 60": (GaussianPair(60.0), ref.gaussian(60.0)),
    "laplace 1": (laplace_pair(F(1)), ref.laplace(F(1))),
    "laplace 1/30": (laplace_pair(F(1, 30)), ref.laplace(F(1, 30))),
    "laplace 2000": (laplace_pair(F(2000)), ref.laplace(F(2000))),
    "range 1": (BoundedRangePair(F(1), 1.0), ref.bounded_range(1)),
    "range 1/7": (BoundedRangePair(F(1, 7), 1 / 7), ref.bounded_range(F(1, 7))),
    "response": (response(F(1, 3), 2), ref.response(F(1, 3))),
    "response of 5": (response(F(1, 3), 5), ref.response(F(1, 3), 5)),
    "pure 1000": (box(F(1000), F(0)), ref.response(F(1000))),
    "box": (box(F(1, 2), F(1, 1000)), ref.response(F(1, 2), 2, F(1, 1000))),
    "discrete laplace": (discrete_laplace(F(2), 3), discrete_laplace_curve(F(2), 3)),
    "discrete gaussian": (discrete_gaussian(F(9, 4), 2), discrete_gaussian_curve(F(9, 4), 2, 60)),
    "wide discrete laplace": (
        WideDiscreteLaplacePair(F(40, 90), 40 / 90, 90.0, 40.0),
        discrete_laplace_curve(F(90), 40),
    ),
    "wide discrete gaussian": (WideDiscreteGaussianPair(90.0, 100.0), discrete_gaussian_curve(F(8100), 100, 900)),
    "sampled gaussian, removed": (
        RemovedPair(GaussianPair(1.25), F(1, 100)),
        ref.removed(ref.gaussian(1.25), F(1, 100)),
    ),
    "sampled gaussian, added": (AddedPair(GaussianPair(1.25), F(1, 100)), ref.added(ref.gaussian(1.25), F(1, 100))),
    "narrow sampled gaussian, removed": (
        RemovedPair(GaussianPair(8.0), F(1, 10)),
        ref.removed(ref.gaussian(8.0), F(1, 10)),
    ),
    "narrow sampled gaussian, added": (AddedPair(GaussianPair(8.0), F(1, 10)), ref.added(ref.gaussian(8.0), F(1, 10))),
    "sampled laplace, removed": (RemovedPair(laplace_pair(F(2)), F(3, 4)), ref.removed(ref.laplace(F(2)), F(3, 4))),
    "sampled laplace, added": (AddedPair(laplace_pair(F(2)), F(3, 4)), ref.added(ref.laplace(F(2)), F(3, 4))),
    "sampled box, removed": (
        RemovedPair(box(F(1), F(1, 100)), F(1, 5)),
        ref.removed(ref.response(F(1), 2, F(1, 100)), F(1, 5)),
    ),
    "sampled box, added": (
        AddedPair(box(F(1), F(1, 100)), F(1, 5)),
        ref.added(ref.response(F(1), 2, F(1, 100)), F(1, 5)),
    ),
}


def grid_for(pair: Pair, cells: int, shift: float = 0.0, tail: float = 1e-9) -> Grid:
    low, high = pair.reach(tail)
    step = max(high - low, 1e-3) / cells
    return Grid.cover(step, pair.anchor + shift * step, low, high)


def places(grid: Grid) -> list[arb]:
    """t = e^x on and between the grid points, and outside the grid."""
    ends = np.array([grid.losses[0] - 3 * grid.step, grid.losses[-1] + 3 * grid.step])
    inside = grid.losses[:: max(1, grid.count // 12)]
    parts = [inside, inside + 0.31 * grid.step, inside + 0.5 * grid.step, inside + 0.93 * grid.step, ends]
    return [ref.ball(float(x)).exp() for x in np.concatenate(parts)]


def holds(pair: Pair, curve: ref.Curve, grid: Grid, up: Callable[..., Law], down: Callable[..., Law]) -> bool:
    above, below = up(pair, grid), down(pair, grid)
    high, low = ref.curve_of(above, above.slip), ref.curve_of(below, -below.slip)
    return all(not high(t) < curve(t) and not low(t) > curve(t) for t in places(grid))


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(("cells", "shift"), [(7, 0.0), (40, 0.0), (40, 0.37), (150, 0.8)])
def test_a_law_encloses_its_pair(name: str, cells: int, shift: float) -> None:
    pair, curve = PAIRS[name]
    assert holds(pair, curve, grid_for(pair, cells, shift), raised, lowered)


@pytest.mark.parametrize("name", PAIRS)
def test_a_law_has_about_the_mass_of_its_pair(name: str) -> None:
    pair, _ = PAIRS[name]
    grid = grid_for(pair, 200)
    above, below = raised(pair, grid), lowered(pair, grid)
    room = 1e-4 if name == "wide discrete gaussian" else 1e-8  # sigma = 90 is too narrow to be called wide
    assert above.mass.min() >= 0.0
    assert below.mass.min() >= 0.0
    assert 1.0 - 1e-15 <= above.mass.sum() + above.infinite <= 1.0 + room
    assert 1.0 - room <= below.mass.sum() + below.infinite <= 1.0 + 1e-15


SMOOTH = ["gaussian 1", "gaussian 0.01", "laplace 1", "laplace 1/30", "range 1", "range 1/7"]
SAMPLED = ["sampled gaussian, removed", "sampled gaussian, added"]
NARROW = ["narrow sampled gaussian, removed", "narrow sampled gaussian, added"]


@pytest.mark.parametrize(("name", "cells"), [(n, 64) for n in SMOOTH + NARROW] + [(n, 1000) for n in SAMPLED])
def test_both_sides_are_of_second_order(name: str, cells: int) -> None:
    """The gap between the two curves, summed over fixed losses, falls nearly 16-fold when the step is quartered."""
    pair, _ = PAIRS[name]
    gaps = []
    for count in (cells, 4 * cells):
        grid = grid_for(pair, count)
        x = np.linspace(*pair.reach(1e-4), 50)
        curves = []
        for made in (raised(pair, grid), lowered(pair, centred(pair, grid))):
            w = np.exp(np.minimum(x[:, None] - made.grid.losses[None, :], 0.0))
            curves.append((made.mass * (1.0 - w)).sum(axis=1) + made.infinite)
        gaps.append(float((curves[0] - curves[1]).sum()))
    assert 0.0 <= gaps[1] <= gaps[0] / 7.0


@pytest.mark.parametrize("name", PAIRS)
def test_a_centred_grid_is_as_good_as_any(name: str) -> None:
    pair, curve = PAIRS[name]
    for cells in (16, 120):
        grid = grid_for(pair, cells)
        assert holds(pair, curve, grid, raised, lambda p, g: lowered(p, centred(p, g)))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), min_size=1, max_size=6),
    st.floats(0.05, 1.5),
    st.floats(0.0, 1.0),
)
def test_a_law_encloses_any_list_of_atoms(weights: list[tuple[int, int]], step: float, shift: float) -> None:
    ctx.prec = 160
    pair = ListedPair(weights)
    low, high = pair.reach(0.0)
    grid = Grid.cover(step, shift * step, low, high)
    assert holds(pair, ref.listed([(ref.ball(p), ref.ball(q)) for p, q in pair.exact]), grid, raised, lowered)


# --- planted bugs -------------------------------------------------------------------------------------------------

GRID_PAIR = "gaussian 1"


def _law_with(change: Callable[[Law], Law]) -> Callable[..., Law]:
    return lambda pair, grid: change(raised(pair, grid))


def _one_step(law: Law, by: int) -> Law:
    return replace(law, grid=replace(law.grid, first=law.grid.first + by))


def _swap_masses(law: Law) -> Law:
    mass = law.mass.copy()
    mass[1:-1:2], mass[2::2][: len(mass[1:-1:2])] = law.mass[2::2][: len(mass[1:-1:2])], law.mass[1:-1:2]
    return replace(law, mass=mass)


@pytest.mark.parametrize(
    "bug",
    [
        lambda law: _one_step(law, -1),
        _swap_masses,
        lambda law: replace(law, infinite=0.0),
        lambda law: replace(law, mass=law.mass * (1 - 1e-4)),
    ],
    ids=["losses a cell down", "masses of cells swapped", "tail forgotten", "mass lost"],
)
def test_a_bug_on_the_upper_side_is_seen(bug: Callable[[Law], Law]) -> None:
    pair, curve = PAIRS[GRID_PAIR]
    assert not holds(pair, curve, grid_for(pair, 400, tail=1e-4), _law_with(bug), lowered)


def _whole_cell(pair: Pair, grid: Grid) -> Law:
    """Nearest rounding: the obvious thing to do, and wrong."""
    edges = np.concatenate([grid.losses - grid.step / 2, [grid.losses[-1] + grid.step / 2]])
    return Law(grid, pair.cells(edges).p, 0.0, grid.slip)


@pytest.mark.parametrize(
    "bug",
    [
        _whole_cell,
        lambda pair, grid: _one_step(lowered(pair, grid), 1),
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


def test_cells_of_a_pair_without_a_density_are_empty() -> None:
    assert not Pair().cells(np.array([0.0, 1.0])).p.any()
    assert Pair().above(0.0) == Pair().below(0.0) == (0.0, 0.0)
    assert Pair().top == Pair().bottom == (0, 0)
    assert math.isclose(raised(box(F(0), F(0)), Grid(0.1, 0.0, 0, 1)).mass[0], 1.0)
