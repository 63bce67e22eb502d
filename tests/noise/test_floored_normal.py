"""The normal law rounded down: certified bounds, the exact coins, and a fit test with a twin that must fail."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from mpmath import mp, mpf

from discreet.errors import BadParameter
from discreet.noise import floored_normal as module
from discreet.noise.floored_normal import (
    HalfGaussianLaw,
    _power,
    draw_picked,
    floored_normal,
    geometric_skip,
    refused_places,
)
from discreet.randomness import SystemBits
from tests.helpers.tapes import Prefix

BITS = SystemBits()


def cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def distance(draws: np.ndarray, sigma: float, shift: float = 0.0) -> float:
    """Chi-square over cells with an expected count above 20, minus its mean, in deviations."""
    reach = int(6 * sigma) + 2
    edges = np.unique(np.linspace(-reach, reach, min(2 * reach, 200)).astype(int))
    expected = np.diff([cdf((e + shift) / sigma) for e in edges]) * len(draws)
    seen = np.histogram(draws, bins=edges)[0]
    keep = expected > 20
    chi = float((((seen - expected) ** 2) / np.where(keep, expected, 1))[keep].sum())
    freedom = int(keep.sum())
    return (chi - freedom) / math.sqrt(2 * freedom)


@pytest.mark.slow
@pytest.mark.parametrize("sigma", ["1/2", "3", "50", "1000"])
def test_draws_fit_the_law(sigma: str) -> None:
    """Twelve deviations of chi-square with four or more degrees of freedom: a false alarm below 1e-6."""
    s = Fraction(sigma)
    draws = floored_normal(s * s, 20_000, BITS)
    assert distance(draws, float(s)) < 12
    assert distance(draws, float(s), shift=max(0.25, float(s) / 8)) > 12  # a shifted law is caught


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "times", "n"), [(1, 5, 40), (7, 1000, 64), (30, 75_000, 96), (200, 3, 64)])
def test_powers_are_enclosed(rate: int, times: int, n: int) -> None:
    low, high = _power(rate, times, n)
    truth = (1 - Fraction(1, 1 << rate)) ** times * (1 << n)
    assert low <= truth <= high
    assert high - low <= 2 or rate > n


def test_thresholds_enclose_the_truth() -> None:
    mp.dps = 60
    for sigma_squared in (Fraction(1, 3), Fraction(100), Fraction(123_457, 10), Fraction(1 << 40)):
        law = HalfGaussianLaw(sigma_squared)
        low, high = law.thresholds(64)
        m = 1 << law.r
        over = mpf(sigma_squared.denominator) / (2 * sigma_squared.numerator)
        weights = [mp.exp(-((h * m) ** 2) * over) for h in range(len(low) + 200)]
        whole, total = mp.fsum(weights), mpf(0)
        for h, (a, b) in enumerate(zip(low, high, strict=True)):
            total += weights[h]
            assert a <= total / whole * (1 << 64) + mpf(10) ** -20
            assert b >= total / whole * (1 << 64) - mpf(10) ** -20


def test_gaps_between_picked_places_are_geometric() -> None:
    """P[gap >= 4] = (3/4)^4: a binomial count within 6 deviations (false alarm below 1e-8)."""
    gaps = [geometric_skip(2, 10, BITS) for _ in range(20_000)]
    for m in (1, 4, 9):
        p = 0.75**m
        assert abs(sum(g >= m for g in gaps) / 20_000 - p) < 6 * math.sqrt(p * (1 - p) / 20_000)
    assert max(gaps) <= 10


@pytest.mark.slow
def test_sizes_are_refused_as_often_as_they_should() -> None:
    """Sizes of 20 with sigma 8 are refused with 1 - E e^{-(40u + u²)/128}; within 6 deviations."""
    size = 4000
    refused = len(refused_places(Fraction(64), size, BITS, largest=20, size_at=lambda i: 20, beyond=lambda far: []))
    u = (np.arange(10_000) + 0.5) / 10_000
    p = 1 - float(np.exp(-(40 * u + u * u) / 128).mean())
    assert abs(refused / size - p) < 6 * math.sqrt(p * (1 - p) / size)


def test_bad_parameters_are_refused() -> None:
    for sigma_squared, size in ((0, 3), (Fraction(1 << 120), 3), (1, -1)):
        with pytest.raises(BadParameter):
            floored_normal(Fraction(sigma_squared), size, BITS)


@pytest.mark.parametrize("rate", [1, 3, 40])
def test_a_gap_is_where_the_uniform_number_lies(rate: int) -> None:
    """Bit by bit: the gap is m where (1 - p)^(m + 1) <= U < (1 - p)^m, and the longest one below all of them."""
    p, depth = Fraction(1, 1 << rate), 300
    for most in (0, 1, 2, 5):
        for m in range(most):
            end = (1 - p) ** m
            inside = int(end * (1 << depth)) - 1  # just below the upper end
            assert geometric_skip(rate, most, Prefix(inside, depth, 0)) == m
        past = int((1 - p) ** most * (1 << depth)) - 1
        assert geometric_skip(rate, most, Prefix(past, depth, 0)) == most
        assert geometric_skip(rate, most, Prefix(0, depth, 0)) == most


@pytest.mark.parametrize(("sign", "drawn"), [(0, 3), (1, -4)])
def test_a_draw_for_a_picked_place_takes_its_sign_from_one_bit(
    monkeypatch: pytest.MonkeyPatch, sign: int, drawn: int
) -> None:
    """A size that is kept stays, or becomes the negative number of its pair: ~3 is -4."""
    monkeypatch.setattr(module, "_table", lambda _: SimpleNamespace(sample=lambda *_: [3]))
    monkeypatch.setattr(module, "refused", lambda *_: False)
    monkeypatch.setattr(module, "usual_size", lambda _: 2)
    assert draw_picked(Fraction(4), SimpleNamespace(bits=lambda _: sign)) == drawn
