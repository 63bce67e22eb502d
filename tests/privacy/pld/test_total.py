"""Sums of losses: exact rational products of small pairs lie between the two sides, always."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import gammaln

from discreet.exact import float_down, float_up
from discreet.privacy.accountants.conversions import gdp_delta, gdp_epsilon
from discreet.privacy.pld import certify
from discreet.privacy.pld import total as total_module
from discreet.privacy.pld.beliefs import FOURIER
from discreet.privacy.pld.certify import Workload
from discreet.privacy.pld.continuous import GaussianPair, LaplacePair
from discreet.privacy.pld.law import Grid, Law, raised
from discreet.privacy.pld.lower import lowered
from discreet.privacy.pld.total import Tilted, Total, Window, total
from discreet.privacy.promises.measures import GDP
from tests.privacy.pld.cases import delta_is_enclosed, exact_product, workload_of

F = Fraction

# --- planted bugs -------------------------------------------------------------------------------------------------


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


def test_a_loss_that_is_nearly_always_the_same_has_a_small_error() -> None:
    """10^6 coins: the sum is binomial. The bound in l2 alone was n·‖x‖₂, as if all frequencies mattered alike."""
    times, rare = 10**6, 1e-3
    coin = Law(Grid(0.01, 0.0, 0, 2), np.array([1.0 - rare, rare]), 0.0, 0.0)
    made = total([(coin, times)], 0.0)
    k = np.rint((made.origin + made.step * np.arange(len(made.y))) / made.step)
    log_mass = gammaln(times + 1) - gammaln(k + 1) - gammaln(times - k + 1)
    truth = np.exp(log_mass + k * np.log(rare) + (times - k) * np.log1p(-rare))
    assert np.linalg.norm(truth - made.y) <= made.error + 2e-11 + 1e-8 * np.linalg.norm(truth)
    assert made.error < 1e-8 < FOURIER * 8 * times


def test_a_float_of_a_fraction_goes_the_right_way() -> None:
    assert F(float_down(F(1, 3))) <= F(1, 3) <= F(float_up(F(1, 3)))


# --- continuous losses, whose sums are known ----------------------------------------------------------------------


@pytest.mark.slow
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


def test_a_law_without_mass_leaves_nothing_but_infinity() -> None:
    """A lowered law may have nothing left: the sum is then nowhere, and not a number that 0/0 makes."""
    grid = Grid(0.01, 0.0, 0, 2)
    empty, coin = Law(grid, np.zeros(2), 0.25, 0.0), Law(grid, np.array([0.5, 0.25]), 0.25, 0.0)
    for laws in ([(empty, 1)], [(coin, 2), (empty, 1)]):
        made = total(laws, 0.5)
        assert made.y.tolist() == [0.0]
        assert made.infinite == pytest.approx(1 - 0.75 ** sum(times for _, times in laws))
        assert made.error == 0.0
    assert total([(coin, 2)], 0.5).y.sum() > 0


@pytest.mark.parametrize("theta", [0.0, 0.01, 0.3, 1.0, 7.5])
def test_the_largest_weight_of_a_tail_is_the_largest(theta: float) -> None:
    """max over d >= 0 of e^{-θd}(1 - e^{-d}), against a fine grid of d."""
    places = np.linspace(0.0, 60.0, 600_001)
    largest = float((np.exp(-theta * places) * -np.expm1(-places)).max())
    assert largest <= total_module._largest_weight(theta) <= largest * (1 + 1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_length_of_an_error_is_not_below_its_own(seed: int) -> None:
    x = np.random.default_rng(seed).lognormal(0.0, 9.0, 1 + 100 * seed)
    exact = sum((Fraction(float(value)) ** 2 for value in x), Fraction(0))
    assert exact <= Fraction(total_module._norm(x)) ** 2 <= exact * (1 + Fraction(1, 10**5))
