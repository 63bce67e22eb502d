"""Workloads of pairs: exact products of small pairs lie between both bounds, and so do closed forms."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadParameter, NoPrice
from discreet.exact import exp_down, exp_up
from discreet.privacy.accountants.conversions import gdp_epsilon
from discreet.privacy.pld.atoms import box, response
from discreet.privacy.pld.certify import Direction, Effort, Plan, Sums, Workload, _around
from discreet.privacy.pld.continuous import GaussianPair, LaplacePair
from discreet.privacy.pld.dominate import pair_of
from discreet.privacy.pld.law import Grid, Law, raised
from discreet.privacy.pld.lower import centred
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import GDP
from tests.helpers.exact_pairs import Masses, both_ways, hockey
from tests.privacy.pld.cases import delta_is_enclosed, exact_product, workload_of

F = Fraction


weights = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=2, max_size=3)


workloads = st.lists(st.tuples(weights, st.integers(1, 4)), min_size=1, max_size=3)


small_workloads = st.lists(st.tuples(weights, st.integers(1, 2)), min_size=1, max_size=2)


def epsilon_is_enclosed(workload: Workload, truth: Masses, delta: Fraction) -> bool:
    low, high = workload.epsilon(delta)
    enough = high == math.inf or both_ways(truth, exp_up(F(high))) <= delta
    needed = low == 0.0 or both_ways(truth, exp_down(F(low))) >= delta
    return enough and needed


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(workloads, st.fractions(0, 3, max_denominator=50))
def test_delta_of_any_small_product_is_enclosed(
    work: list[tuple[list[tuple[int, int]], int]], epsilon: Fraction
) -> None:
    for grid in (True, False):
        assert delta_is_enclosed(workload_of(work, grid=grid), exact_product(work), epsilon)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(workloads, st.sampled_from([F(1, 2), F(1, 10), F(1, 10**3), F(1, 10**9), F(1, 10**30)]))
def test_epsilon_of_any_small_product_is_enclosed(
    work: list[tuple[list[tuple[int, int]], int]], delta: Fraction
) -> None:
    for grid in (True, False):
        assert epsilon_is_enclosed(workload_of(work, grid=grid), exact_product(work), delta)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(small_workloads, st.fractions(F(1, 1000), F(999, 1000), max_denominator=1000))
def test_misses_of_any_small_product_are_enclosed(
    work: list[tuple[list[tuple[int, int]], int]], alpha: Fraction
) -> None:
    """The exact trade-off, by its formula as a supremum of lines."""
    truth = exact_misses(exact_product(work), alpha)
    for grid in (True, False):
        low, high = workload_of(work, grid=grid).misses(alpha)
        assert F(low) <= truth <= F(high)


def exact_misses(masses: Masses, alpha: Fraction) -> Fraction:
    """sup over t of 1 - H(t) - tα, at the kinks of H; the smaller of both directions."""
    sides = (masses, [(q, p) for p, q in masses])
    return min(max(1 - hockey(side, t) - t * alpha for t in [F(0), *(p / q for p, q in side)]) for side in sides)


ASYMMETRIC: list[tuple[list[tuple[int, int]], int]] = [([(1, 9), (29, 21)], 6)]


def test_one_direction_alone_is_seen() -> None:
    truth = exact_product(ASYMMETRIC)
    seen = []
    for keep in (0, 1):
        workload = workload_of(ASYMMETRIC)
        assert len(workload.directions) == 2
        workload.directions = [workload.directions[keep]]
        seen.append(delta_is_enclosed(workload, truth, F(1)))
    assert seen.count(False) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "parts",
    [[(0.3, 50)], [(1.0, 3), (0.5, 7), (0.125, 40)], [(0.01, 10_000)], [(0.002, 100), (3.0, 2)]],
    ids=["equal", "different", "many and small", "small and large"],
)
@pytest.mark.parametrize("delta", [F(1, 10), F(1, 10**6), F(1, 10**15), F(1, 10**40)])
def test_sums_of_gaussians_are_gaussian(parts: list[tuple[float, int]], delta: Fraction) -> None:
    """As if nothing were known of Gaussians: each on the grid, summed by FFT; the truth is the closed form."""
    truth = gdp_epsilon(GDP(mu_squared=sum((n * F(mu) ** 2 for mu, n in parts), F(0))), delta)
    workload = Workload([(GaussianPair(mu), n) for mu, n in parts])
    low, high = workload.epsilon(delta)
    assert F(low) <= truth.upper
    assert F(high) >= truth.lower
    assert high - low <= 2e-3
    below, above = workload.delta(F(truth.upper))
    assert F(below) <= delta <= F(above) * F(1000001, 1000000)
    assert above - below <= 0.01 * above


def test_an_effort_asks_for_a_finer_mesh() -> None:
    rough = Workload([(LaplacePair(F(1, 3), 1 / 3), 5)], Effort(absolute=0.3, relative=0.3))
    fine = Workload([(LaplacePair(F(1, 3), 1 / 3), 5)], Effort(absolute=1e-5, relative=1e-6))
    widths = []
    for workload in (rough, fine):
        low, high = workload.epsilon(F(1, 10**5))
        widths.append(high - low)
    assert widths[1] < 3e-5
    assert widths[1] < widths[0]


def test_beyond_the_largest_loss_only_infinite_mass_is_left() -> None:
    workload = Workload([(box(F(1), F(1, 100)), 2)])
    low, high = workload.delta(F(2))
    assert F(low) <= 1 - F(99, 100) ** 2 <= F(high)
    assert high - low < 1e-12
    assert workload.epsilon(F(1, 100)) == (math.inf, math.inf)  # more than that is lost for certain


def test_two_responses_by_hand() -> None:
    """Twice ε = 1: losses -2, 0, 2; δ(0) is the total variation distance, (e² - 1)/(e + 1)² = (e - 1)/(e + 1)."""
    low, high = Workload([(response(F(1), 2), 2)]).delta(F(0))
    truth = (math.e - 1) / (math.e + 1)
    assert low <= truth <= high
    assert high - low < 1e-12


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("name", ["absolute", "relative", "delta", "misses"])
def test_efforts_that_make_no_sense(name: str, bad: float) -> None:
    arguments: dict[str, Any] = {name: bad}
    with pytest.raises(BadParameter, match=name):
        Effort(**arguments)


def test_noise_that_protects_nobody_is_refused() -> None:
    with pytest.raises(NoPrice, match="gives no protection"):
        Workload([(GaussianPair(1e8), 1)]).epsilon(F(1, 10**6))


def test_a_heap_at_the_top_of_a_grid_that_was_moved_is_not_infinite() -> None:
    """The loss of a rare sample, removed, ends in a heap narrower than a step; its upper half was lost above the grid,
    so that 10^6 steps at σ = 0.5 and rate 1e-6 had no upper bound.
    """
    pair = pair_of(events.Subsampled(events.Gaussian(sigma="0.5"), rate="1e-6")).reverse
    grid = Grid.cover(1.8e-6, pair.anchor, *pair.reach(1e-7))
    assert raised(pair, centred(pair, grid)).infinite > 0.1, "the grid was moved away from the heap"
    sums, step, _ = Direction([(pair, 100)]).sums(Plan(theta=500.0, tail=1e-7, spread=1e-4, step=1.8e-6))
    assert step == 1.8e-6
    assert sums.above.delta_above(1.0) < 1e-4


def test_a_heap_at_the_bottom_of_a_grid_that_was_moved_keeps_its_mean() -> None:
    """Its lower half was lifted to the middle: an error of the first order in each of 10^6 steps."""
    pair = pair_of(events.Subsampled(events.Gaussian(sigma="0.5"), rate="1e-5"))
    grid = Grid.cover(2.5e-5, pair.anchor, *pair.reach(1e-9))
    lifted = raised(pair, centred(pair, grid))
    assert _q_mass(lifted) < 1.0 - 1e-7, "the grid was moved to the middle of the heap"
    assert _q_mass(raised(pair, _around(centred(pair, grid), grid))) > 1.0 - 1e-10


def _q_mass(law: Law) -> float:
    return float((law.mass * np.exp(-law.grid.losses)).sum())


def test_one_large_loss_that_makes_delta_is_found_by_a_second_tilt(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tilt for a sum of many small losses puts the sum far above ε: the second one is centred at what was found."""
    sample = pair_of(events.Subsampled(events.Gaussian(sigma="0.5"), rate="1e-6"))
    seen: list[float] = []
    real = Direction.sums

    def spied(self: Direction, plan: Plan) -> tuple[Sums, float, bool]:
        if self.work[0][0] is sample:
            seen.append(plan.theta)
        return real(self, plan)

    monkeypatch.setattr(Direction, "sums", spied)
    low, high = Workload([(sample, 100_000)], Effort(absolute=0.05)).epsilon(F(1, 10**7))
    assert seen[1] < seen[0]
    assert 0.9 * high < low < high  # one large loss alone: 10^5 E[(1 - e^{ε - L})_+] = 1e-7 at ε = 0.058
