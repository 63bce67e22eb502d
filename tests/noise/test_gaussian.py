"""Discrete Gaussian draws: bounds, every branch of the scalar sampler, chi-square from end to end."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.noise import discrete_gaussian, gaussian
from discreet.noise.blocks import Blocks
from discreet.noise.gaussian import GaussianLaw, draw_gaussian
from discreet.randomness import Bits, SystemBits
from tests.helpers.gates import distance_from, sign_imbalance
from tests.helpers.tapes import NoBits
from tests.helpers.truth import exp_minus, gaussian_blocks, gaussian_pmf, gaussian_spread, laplace_pmf, precise

SIGMAS = ["0.5", "1", "10", "1e3", "1e6", "1e12"]


@pytest.mark.slow
@given(st.fractions(Fraction(1, 50), 10**8, max_denominator=10**6), st.sampled_from([8, 12, 18, 64, 128]))
@example(Fraction(4096), 64)
@example(Fraction(1, 50), 8)
@example(Fraction(37, 100), 64)
@settings(max_examples=25, deadline=None)
def test_thresholds_enclose_the_truth(sigma_squared: Fraction, n: int) -> None:
    law = GaussianLaw(sigma_squared)
    low, high = law.thresholds(n)
    assert low == sorted(low)
    assert high == sorted(high)
    floors = gaussian_blocks(law).floors(n)[: len(low)]
    assert all(a <= f < b for a, f, b in zip(low, floors, high, strict=False))
    assert max(b - a for a, b in zip(low, high, strict=True)) <= 3
    assert (1 << n) - high[-1] <= 1  # nothing that counts at n bits is left out


@pytest.mark.parametrize(
    ("sigma_squared", "n"),
    [("971/100", 6), ("5199/500", 8), ("5199/500", 9), ("5199/500", 10), ("14869/500", 4), ("28771/1000", 8)],
)
def test_the_tail_counts_in_the_normaliser(sigma_squared: str, n: int) -> None:
    """Here a threshold lies so close above a multiple of 2^-n that bounds without the tail would be wrong."""
    law = GaussianLaw(Fraction(sigma_squared))
    low, high = law.thresholds(n)
    floors = gaussian_blocks(law).floors(n)[: len(low)]
    assert all(a <= f < b for a, f, b in zip(low, floors, high, strict=False))


@pytest.mark.parametrize("sigma_squared", ["1e-6", "1e-300", "1e-600", "1e-1200", "1e24", str(1 << 108)])
def test_thresholds_keep_their_order_at_every_scale(sigma_squared: str) -> None:
    for n in (8, 64, 128):
        low, high = GaussianLaw(Fraction(sigma_squared)).thresholds(n)
        assert low == sorted(low)
        assert high == sorted(high)
        assert all(0 <= a <= b for a, b in zip(low, high, strict=True))
        assert max(low) <= 1 << n


def constant_ratio(s2: Fraction, meant: Fraction, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether every proposal y is kept with probability proportional to Gaussian(y) / proposal law(y).

    The proposal and the coin are noted, not drawn: they are tested by themselves.
    """
    noted: dict[str, Fraction] = {}
    ratios = []

    def heads(top: int, bottom: int, bits: Bits) -> bool:
        noted["exponent"] = Fraction(top, bottom)
        return True

    monkeypatch.setattr(gaussian, "flip_exp", heads)
    reach = math.isqrt(int(meant)) * 5 + 20
    target = gaussian_pmf(meant)
    for y in range(-reach, reach + 1):

        def propose(scale: Fraction, bits: Bits, y: int = y) -> int:
            noted["scale"] = scale
            return y

        monkeypatch.setattr(gaussian, "draw_laplace", propose)
        assert draw_gaussian(s2, NoBits()) == y
        with precise():
            ratios.append(laplace_pmf(noted["scale"])(y) * exp_minus(noted["exponent"]) / target(y))
    with precise():
        return all(abs(ratio / ratios[0] - 1) < 1e-60 for ratio in ratios)


@pytest.mark.parametrize("sigma_squared", ["1/1000", "1/4", "0.37", "1", "2", "9/4", "4", "22500/7", "22500"])
def test_the_coin_of_a_draw_turns_the_proposal_into_the_law(
    sigma_squared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    s2 = Fraction(sigma_squared)
    assert constant_ratio(s2, s2, monkeypatch)


def test_another_variance_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted twin, off by a millionth."""
    assert not constant_ratio(Fraction(4) + Fraction(1, 10**6), Fraction(4), monkeypatch)


def test_a_refused_proposal_is_replaced_by_a_fresh_one(monkeypatch: pytest.MonkeyPatch) -> None:
    proposals, coins = iter([5, -3, 7]), iter([False, True])
    monkeypatch.setattr(gaussian, "draw_laplace", lambda scale, bits: next(proposals))
    monkeypatch.setattr(gaussian, "flip_exp", lambda top, bottom, bits: next(coins))
    assert draw_gaussian(Fraction(9), NoBits()) == -3


# --- chi-square: false alarm 1e-9 at each gate --------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("sigma", SIGMAS)
def test_vectors_at_1e6(sigma: str) -> None:
    """And the planted twin: 2 % more noise must not pass."""
    s = Fraction(sigma)
    law = gaussian_spread(s * s)
    draws = discrete_gaussian(s, size=10**6)
    assert distance_from(draws, law) < 1
    assert sign_imbalance(draws.tolist()) < 1
    assert distance_from(discrete_gaussian(s * Fraction(51, 50), size=10**6), law) > 1


@pytest.mark.slow
def test_the_square_may_be_given_instead() -> None:
    draws = discrete_gaussian(sigma_squared="0.37", size=10**6)
    assert distance_from(draws, gaussian_spread(Fraction("0.37"))) < 1
    singles = np.array([discrete_gaussian(sigma_squared=2) for _ in range(20_000)])
    assert distance_from(singles, gaussian_spread(Fraction(2))) < 1


@pytest.mark.slow
@pytest.mark.parametrize("sigma", ["0.5", "1", "1e3", "1e12"])
def test_single_draws_with_and_without_a_table(sigma: str) -> None:
    s2, bits = Fraction(sigma) ** 2, SystemBits()
    law = gaussian_spread(s2)
    assert distance_from(np.array([draw_gaussian(s2, bits) for _ in range(40_000)]), law) < 1
    table = Blocks(GaussianLaw(s2))
    assert distance_from(np.array([table.draw(bits) for _ in range(100_000)]), law) < 1


@pytest.mark.slow
def test_more_noise_in_single_draws_is_caught() -> None:
    bits = SystemBits()
    off = np.array([draw_gaussian(Fraction(36, 25), bits) for _ in range(40_000)])
    assert distance_from(off, gaussian_spread(Fraction(1))) > 1


@pytest.mark.slow
def test_every_integer_of_a_small_scale() -> None:
    """One bin for each integer: sigma 100 has blocks of 2. False alarm 1e-9."""
    assert distance_from(discrete_gaussian(100, size=2 * 10**6), gaussian_spread(Fraction(10**4)), bins=100) < 1


# --- the far ends of the scales -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", ["1e-6", "1e-160", "1e-300", "1e-1000"])
def test_tiny_scales_give_zero(sigma: str) -> None:
    assert not discrete_gaussian(sigma, size=5000).any()
    assert discrete_gaussian(sigma) == 0


HUGE: list[Any] = [1 << 53, (1 << 54) - 1, 1 << 54, (1 << 54) + 1, 1 << 60, 10**30]


@pytest.mark.slow
@pytest.mark.parametrize("sigma", HUGE, ids=lambda s: f"about 2^{s.bit_length()}")
def test_huge_scales_neither_wrap_nor_lean(sigma: int) -> None:
    """Range, sign and law; false alarm 1e-9 each."""
    n = 10_000 if sigma > 1 << 54 else 200_000
    draws = discrete_gaussian(sigma, size=n)
    assert draws.dtype == (object if sigma > 1 << 54 else np.int64)
    values = [int(x) for x in draws.tolist()]
    assert all(type(x) is int for x in draws.tolist())
    assert max(abs(x) for x in values) < 9 * sigma  # 2 n exp(-81/2) < 1e-9
    assert sign_imbalance(values) < 1
    assert distance_from(values, gaussian_spread(Fraction(sigma) ** 2), bins=4) < 1
    assert distance_from([2 * x for x in values], gaussian_spread(Fraction(sigma) ** 2), bins=4) > 1
    assert sign_imbalance([2 * (x & 1) - 1 for x in values]) < 1


def test_the_gate_itself() -> None:
    """The cumulative law used by the gates sums the mass function, on both sides of where its formula changes."""
    for sigma_squared in (Fraction(1, 4), Fraction(9), Fraction(9990), Fraction(10**4)):
        law, pmf = gaussian_spread(sigma_squared), gaussian_pmf(sigma_squared)
        for k in (-200, -7, -1, 0, 1, 2, 9, 250):
            assert math.isclose(law.below(k + 1) - law.below(k), float(pmf(k)), rel_tol=2e-4, abs_tol=1e-12)
        reach = range(-40, 41)
        assert math.isclose(law.below(41) - law.below(-40), sum(float(pmf(k)) for k in reach), rel_tol=1e-5)


@pytest.mark.parametrize("sigma_squared", [Fraction(10**6), Fraction(12345678, 7)])
def test_the_exponent_of_a_place_in_its_block_is_what_it_is_farther_out(sigma_squared: Fraction) -> None:
    """((start + low)² - start²)/2σ², where block h of one sign begins at h 2^r and of the other one later."""
    law = GaussianLaw(sigma_squared)
    assert law.r > 0
    for h, negative, low in ((0, 0, 1), (3, 0, (1 << law.r) - 1), (5, 1, 2), (0, 1, 0)):
        start = h * (1 << law.r) + negative
        top, bottom = law.exponent(h, negative, low)
        exact = Fraction((start + low) ** 2 - start**2) / (2 * sigma_squared)
        assert Fraction(top, bottom) == exact
        many = law.exponents(np.array([h]), np.array([negative]), np.array([low]))
        assert float(many[0]) == pytest.approx(float(exact), rel=2.0**-49)
