"""Clopper and Pearson's bounds: by their definition, exactly, for small samples."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.checking.sampling.binomial import lower, tail, upper


def at_least(k: int, n: int, p: Fraction) -> Fraction:
    return sum((comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1)), Fraction(0))


@pytest.mark.parametrize("failure", [0.25, 1e-3, 1e-9])
@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 20), (1, 20), (10, 20), (19, 20), (20, 20)])
def test_the_bounds_are_those_of_the_definition(k: int, n: int, failure: float) -> None:
    """At the lower bound, k or more are at most that likely; a little higher they are likelier. So from above, too."""
    low, high = Fraction(float(lower(k, n, failure))), Fraction(float(upper(k, n, failure)))
    room = 1 + Fraction(1, 10**6)
    if k:
        assert at_least(k, n, low) <= Fraction(failure) < at_least(k, n, low * room)
    else:
        assert low == 0
    if k < n:
        assert 1 - at_least(k + 1, n, high) <= Fraction(failure) * room
        assert 1 - at_least(k + 1, n, high - Fraction(3, 10**9)) > Fraction(failure)
    else:
        assert high == 1


def test_many_at_once_and_an_independent_implementation() -> None:
    seen = np.array([0, 3, 50, 97, 100])
    lows, highs = lower(seen, 100, 0.005), upper(seen, 100, 0.005)
    for k, low, high in zip(seen.tolist(), lows, highs, strict=True):
        other = binomtest(k, 100).proportion_ci(0.99, "exact")
        assert low == pytest.approx(other.low, rel=1e-6, abs=1e-12)
        assert high == pytest.approx(other.high, rel=1e-6)


@pytest.mark.parametrize(("k", "n", "p"), [(0, 5, 0.5), (-1, 5, 0.5), (3, 5, 0.5), (5, 5, 0.25), (6, 5, 0.5)])
def test_tails(k: int, n: int, p: float) -> None:
    assert tail(k, n, p) == pytest.approx(float(at_least(max(k, 0), n, Fraction(p))), rel=1e-12)


def test_bounds_that_miss_too_often_are_seen() -> None:
    """Exact coverage: the chance, over all outcomes, that the truth lies below the lower bound is at most ``failure``;
    the planted twin, the plain share seen, misses half of the time."""
    n, failure = 30, 0.01
    for p in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)):
        chance = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        missed = sum(c for k, c in enumerate(chance) if Fraction(float(lower(k, n, failure))) > p)
        planted = sum(c for k, c in enumerate(chance) if Fraction(k, n) > p)
        assert missed <= Fraction(failure) < planted
