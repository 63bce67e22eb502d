"""Sums of losses: exact rational products of small pairs lie between the two sides, always."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.exact import exp_down, exp_up, float_down, float_up
from discreet.privacy.accountants.conversions import gdp_delta, gdp_epsilon
from discreet.privacy.pld import certify
from discreet.privacy.pld import total as total_module
from discreet.privacy.pld.atoms import AtomicPair, box, discrete_gaussian, discrete_laplace, pool, power, response
from discreet.privacy.pld.atoms import product as atom_product
from discreet.privacy.pld.certify import Effort, Workload
from discreet.privacy.pld.continuous import BoundedRangePair, GaussianPair, LaplacePair
from discreet.privacy.pld.law import Grid, raised
from discreet.privacy.pld.lower import lowered
from discreet.privacy.pld.total import Tilted, Total, Window, total
from discreet.privacy.promises.measures import GDP
from tests.helpers.exact_pairs import ListedPair, Masses, both_ways, hockey, product

F = Fraction
weights = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=2, max_size=3)
workloads = st.lists(st.tuples(weights, st.integers(1, 4)), min_size=1, max_size=3)
small_workloads = st.lists(st.tuples(weights, st.integers(1, 2)), min_size=1, max_size=2)


def exact_product(work: list[tuple[list[tuple[int, int]], int]]) -> Masses:
    return product([(ListedPair(w).exact, n) for w, n in work])


def workload_of(work: list[tuple[list[tuple[int, int]], int]], *, grid: bool = True) -> Workload:
    """With or without the short cut that lists all losses; a coarse aim, since truth must not depend on it."""
    made = Workload([(ListedPair(w), n) for w, n in work], Effort(absolute=0.05, relative=0.05, delta=0.2, misses=0.1))
    if grid:
        for direction in made.directions:
            direction.list, direction.loose = None, direction.work
    return made


def delta_is_enclosed(workload: Workload, truth: Masses, epsilon: Fraction) -> bool:
    low, high = workload.delta(epsilon)
    return F(low) <= both_ways(truth, exp_down(epsilon)) and F(high) >= both_ways(truth, exp_up(epsilon))


def epsilon_is_enclosed(workload: Workload, truth: Masses, delta: Fraction) -> bool:
    low, high = workload.epsilon(delta)
    enough = high == math.inf or both_ways(truth, exp_up(F(high))) <= delta
    needed = low == 0.0 or both_ways(truth, exp_down(F(low))) >= delta
    return enough and needed


@settings(max_examples=40, deadline=None)
@given(workloads, st.fractions(0, 3, max_denominator=50))
def test_delta_of_any_small_product_is_enclosed(
    work: list[tuple[list[tuple[int, int]], int]], epsilon: Fraction
) -> None:
    for grid in (True, False):
        assert delta_is_enclosed(workload_of(work, grid=grid), exact_product(work), epsilon)


@settings(max_examples=40, deadline=None)
@given(workloads, st.sampled_from([F(1, 2), F(1, 10), F(1, 10**3), F(1, 10**9), F(1, 10**30)]))
def test_epsilon_of_any_small_product_is_enclosed(
    work: list[tuple[list[tuple[int, int]], int]], delta: Fraction
) -> None:
    for grid in (True, False):
        assert epsilon_is_enclosed(workload_of(work, grid=grid), exact_product(work), delta)


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


# --- planted bugs -------------------------------------------------------------------------------------------------

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


def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window that is too small, and does not say so."""
    real = total_module.window

    def window(parts: list[Tilted], theta: float) -> Window:
        view = real(parts, theta)
        return Window(view.first + view.count // 4, view.count // 2, 0.0, 0.0)

    monkeypatch.setattr(total_module, "window", window)


def no_tilt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tilt is not taken back."""
    monkeypatch.setattr(Total, "_scale", lambda self, epsilon: 1.0)


def one_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """One repetition is lost."""
    real = total_module._power
    monkeypatch.setattr(total_module, "_power", lambda x, n: real(x, max(1, n - 1)))


def off_by_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses rounded down by a cell on the upper side."""
    monkeypatch.setattr(certify, "raised", lambda p, g: replace(raised(p, g), grid=replace(g, first=g.first - 1)))


@pytest.mark.parametrize("plant", [small, no_tilt, one_less, off_by_a_cell])
def test_a_bug_in_the_sum_is_seen(plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    work: list[tuple[list[tuple[int, int]], int]] = [([(3, 2), (2, 3)], 12), ([(7, 5), (5, 7)], 3)]
    truth = exact_product(work)
    asked = [F(1, 4), F(1), F(5, 2)]
    assert all(delta_is_enclosed(workload_of(work), truth, e) for e in asked)
    plant(monkeypatch)
    assert not all(delta_is_enclosed(workload_of(work), truth, e) for e in asked)


# --- parts --------------------------------------------------------------------------------------------------------


def test_the_fft_agrees_with_direct_convolution_within_its_bound() -> None:
    law = raised(LaplacePair(F(1), 1.0), Grid.cover(0.01, 1.0, -1.0, 1.0))
    made = total([(law, 8)], 0.7)
    tilted, _, _ = law.tilted(0.7)
    direct = np.ones(1)
    for _ in range(8):
        direct = np.convolve(direct, tilted)
    start = round((made.origin - 8 * (law.grid.origin + law.grid.step * law.grid.first)) / law.grid.step)
    seen = direct[start : start + len(made.y)]
    assert np.linalg.norm(seen - made.y[: len(seen)]) <= made.error + 2e-11
    assert made.error < 1e-10


def test_pooling_keeps_the_product() -> None:
    pairs = [(response(F(1, 10 + k), 2 + k % 2), 1 + k % 3) for k in range(9)]
    pooled = pool(pairs, most=64)
    assert len(pooled) < len(pairs)
    theta = 1.7

    def log_moment(work: list[tuple[AtomicPair, int]]) -> float:
        return sum(n * math.log(float((p.atoms.p * np.exp(theta * p.atoms.loss)).sum())) for p, n in work)

    assert math.isclose(log_moment(pooled), log_moment(pairs), rel_tol=1e-12)


def test_powers_and_products_carry_infinite_mass() -> None:
    one = box(F(1, 2), F(1, 100))
    three = power(one, 3)
    assert three is not None
    assert F(three.infinite.low) <= 1 - F(99, 100) ** 3 <= F(three.infinite.high)
    assert three.top == (F(3, 2), F(3, 2))
    assert atom_product(one, three).infinite.high >= 1 - 0.99**4
    assert abs(three.atoms.p.sum() - 0.99**3) < 1e-14


@pytest.mark.parametrize("shift", [1, 2, 7])
def test_discrete_noise_has_its_masses(shift: int) -> None:
    for pair in (discrete_laplace(F(3, 2), shift), discrete_gaussian(F(5), shift)):
        assert abs(pair.atoms.p.sum() - 1.0) < 1e-14
        assert np.allclose(pair.atoms.p * np.exp(-pair.atoms.loss), pair.atoms.q, rtol=1e-12, atol=1e-250)
        assert (np.diff(pair.atoms.loss) > 0).all()


def test_a_float_of_a_fraction_goes_the_right_way() -> None:
    assert F(float_down(F(1, 3))) <= F(1, 3) <= F(float_up(F(1, 3)))


# --- continuous losses, whose sums are known ----------------------------------------------------------------------


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


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8, 1.0])
def test_bounded_range_covers_its_members(share: float) -> None:
    """Mechanisms of range ε with losses t and t - ε, composed with themselves, cost no more than the pair says."""
    e, k = 0.8, 6
    t = share * e
    top = (1.0 - math.exp(t - e)) / (1.0 - math.exp(-e))
    workload = Workload([(BoundedRangePair(F(4, 5), e), k)])
    for epsilon in (0.3, 1.0, 2.0, 3.0):
        member = sum(
            math.comb(k, j) * top**j * (1 - top) ** (k - j) * max(0.0, 1.0 - math.exp(epsilon - (k * (t - e) + j * e)))
            for j in range(k + 1)
        )
        assert member <= workload.delta(F(epsilon))[1] + 1e-15


def test_a_window_that_would_be_too_long_is_cut_and_stays_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(total_module, "LARGEST", 1 << 8)
    truth = gdp_epsilon(GDP(mu_squared=4), F(1, 10**6))
    low, high = Workload([(GaussianPair(1.0), 4)]).epsilon(F(1, 10**6))
    assert F(low) <= truth.upper
    assert F(high) >= truth.lower


def test_long_losses_are_folded_into_a_short_window() -> None:
    """A loss that reaches further than the window of the sum."""
    pair = GaussianPair(1.0)
    grid = Grid.cover(0.01, 0.0, -40.0, 40.0)
    above, below = total([(raised(pair, grid), 2)], 0.5), total([(lowered(pair, grid), 2)], 0.5)
    assert grid.count > 2 * len(above.y)
    truth = gdp_delta(GDP(mu_squared=2), 1)
    assert F(below.delta_below(1.0)) <= truth.upper
    assert F(above.delta_above(1.0)) >= truth.lower
    assert above.delta_above(1.0) - below.delta_below(1.0) < 1e-4
