"""Laws on grids: raised ones lie above the true hockey-stick curve, lowered ones below it, everywhere."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy.pld.dominate import pair_of
from discreet.privacy.pld.law import Grid, Law, raised
from discreet.privacy.pld.lower import centred, lowered
from discreet.privacy.promises import events
from tests.helpers import hockey as ref
from tests.helpers.exact_pairs import ListedPair
from tests.privacy.pld.cases import GRID_PAIR, PAIRS, grid_for, holds, one_step

F = Fraction


@pytest.fixture(autouse=True)
def _precise() -> None:
    ctx.prec = 160


@pytest.mark.slow
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


@pytest.mark.slow
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


def _law_with(change: Callable[[Law], Law]) -> Callable[..., Law]:
    return lambda pair, grid: change(raised(pair, grid))


def _swap_masses(law: Law) -> Law:
    mass = law.mass.copy()
    mass[1:-1:2], mass[2::2][: len(mass[1:-1:2])] = law.mass[2::2][: len(mass[1:-1:2])], law.mass[1:-1:2]
    return replace(law, mass=mass)


@pytest.mark.parametrize(
    "bug",
    [
        lambda law: one_step(law, -1),
        _swap_masses,
        lambda law: replace(law, infinite=0.0),
        lambda law: replace(law, mass=law.mass * (1 - 1e-4)),
    ],
    ids=["losses a cell down", "masses of cells swapped", "tail forgotten", "mass lost"],
)
def test_a_bug_on_the_upper_side_is_seen(bug: Callable[[Law], Law]) -> None:
    pair, curve = PAIRS[GRID_PAIR]
    assert not holds(pair, curve, grid_for(pair, 400, tail=1e-4), _law_with(bug), lowered)


@pytest.mark.parametrize(("sigma", "rate"), [("0.4", "2e-4"), ("0.2", "1e-4"), ("1", "1e-3")])
def test_a_heap_at_the_end_of_the_grid_is_counted_once(sigma: str, rate: str) -> None:
    """Nearly all samples lack the unit: their losses are one heap, and the grid is moved to its middle."""
    pair = pair_of(events.Subsampled(events.Gaussian(sigma=sigma), rate))
    grid = Grid.cover(2e-3, pair.anchor, *pair.reach(1e-16))
    law = raised(pair, centred(pair, grid))
    assert 1 - 1e-9 < law.mass.sum() + law.infinite < 1 + 1e-9
