"""shuffling.py against brute force over all outcomes of the pair."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from discreet.errors import BadParameter
from discreet.privacy.accountants.shuffling import _geometric, shuffled, shuffled_delta
from discreet.privacy.promises.measures import Approx

epsilons = st.fractions(min_value=Fraction(1, 1000), max_value=10, max_denominator=1000)


@pytest.fixture(autouse=True, scope="module")
def _precise() -> Iterator[None]:
    with mpmath.workdps(70):
        yield


def real(x: Any) -> Any:
    return mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mpf(x)


def brute_force(local: Any, n: int, epsilon: Any) -> Any:
    """The hockey-stick divergence of the two laws of (first count, second count), outcome by outcome."""
    e0, factor = mpmath.exp(real(local)), mpmath.exp(real(epsilon))
    p, q = e0 / (1 + e0), 1 / (1 + e0)
    total = mpf(0)
    for c in range(n):
        weight = mpmath.binomial(n - 1, c) * (1 / e0) ** c * (1 - 1 / e0) ** (n - 1 - c)
        for a in range(c + 2):
            one = mpmath.binomial(c, a - 1) / 2**c if a >= 1 else mpf(0)
            zero = mpmath.binomial(c, a) / 2**c if a <= c else mpf(0)
            total += weight * max(mpf(0), p * one + q * zero - factor * (q * one + p * zero))
    return total


@pytest.mark.slow
@given(epsilons.filter(lambda e: e < 4), st.integers(1, 25), st.fractions(min_value=0, max_value=1, max_denominator=30))
@settings(max_examples=40, deadline=None)
def test_shuffling_encloses_brute_force(local: Fraction, n: int, share: Fraction) -> None:
    bound = shuffled_delta(local, n, share * local)
    truth = brute_force(local, n, share * local)
    assert real(bound.lower) <= truth + mpf(10) ** -45
    assert truth <= real(bound.upper) + mpf(10) ** -45
    assert bound.width < Fraction(1, 10**40)
    if truth > mpf(10) ** -30:
        assert real(bound.upper) * mpf("0.99") < truth


def test_thresholds_on_whole_numbers() -> None:
    """At ε = 0 the threshold is (c+1)/2, a whole number half of the time."""
    for n in (2, 3, 8):
        bound = shuffled_delta(1, n, 0)
        assert abs(real(bound.upper) - brute_force(1, n, 0)) < mpf(10) ** -40


@pytest.mark.slow
def test_shuffled_price() -> None:
    price = shuffled(1, 1000, delta=1e-6)
    assert shuffled_delta(1, 1000, price.epsilon).upper <= price.delta
    assert shuffled_delta(1, 1000, price.epsilon * Fraction(9999, 10000)).lower > price.delta
    assert Fraction(999, 1000) < shuffled(1, 1, delta="1e-6").epsilon < 1
    assert shuffled(2, 100, delta=0) == Approx(2, 0)
    assert shuffled_delta(1, 10, 1).upper == 0
    assert shuffled(1, 10_000, delta=1e-6).epsilon < shuffled(1, 1000, delta=1e-6).epsilon


def test_far_in_the_tail() -> None:
    bound = shuffled_delta(3, 2000, "2.9")
    assert bound.width < Fraction(1, 10**40)
    assert shuffled_delta(8, 50_000, "0.5").width < Fraction(1, 10**30)


def test_shuffling_bad_input() -> None:
    calls: list[Any] = [
        lambda: shuffled(0, 10, delta=0.1),
        lambda: shuffled(1, 0, delta=0.1),
        lambda: shuffled(1, 10, delta=1),
        lambda: shuffled_delta(1, 10, -1),
    ]
    for call in calls:
        with pytest.raises(BadParameter):
            call()
    assert _geometric(Fraction(1), Fraction(1)) > 10**100
