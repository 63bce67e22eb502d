"""interval.py: enclosures stay enclosures."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.privacy.numerics.interval import ZERO, Interval, _above, power

positive = st.builds(
    lambda p, q, e: Fraction(p, q) * Fraction(2) ** e,
    st.integers(1, 10**12),
    st.integers(1, 10**12),
    st.integers(-900, 900),
)


def holds(interval: Interval, truth: Fraction) -> None:
    assert interval.lower <= truth <= interval.upper
    assert interval.upper - interval.lower <= Fraction(truth, 2**150) + 0


@pytest.mark.slow
@given(positive, positive, st.integers(1, 10**9), st.integers(1, 10**9))
def test_operations_enclose(x: Fraction, y: Fraction, p: int, q: int) -> None:
    a, b = Interval.of(x), Interval.of(y)
    holds(a, x)
    holds(a + b, x + y)
    holds(a * b, x * y)
    holds(a / b, x / y)
    holds(a.times(p, q), x * p / q)
    holds(power(a, 5), x**5)
    difference = a.minus(b)
    assert difference.lower <= max(Fraction(0), x - y) <= difference.upper
    assert (ZERO + a).upper == a.upper
    assert a.minus(ZERO) == a
    assert a.times(0).upper == 0


def test_wide_intervals() -> None:
    wide = Interval.of(Fraction(1, 3), Fraction(1, 2))
    assert wide.lower <= Fraction(1, 3)
    assert wide.upper >= Fraction(1, 2)


def test_far_apart() -> None:
    one, tiny = Interval(1, 1, 0), Interval(3, 5, -(10**12))  # 2^(10^12) would not fit anywhere
    for result in (one + tiny, tiny + one, one.minus(tiny)):
        assert result.lower <= 1 <= result.upper
        assert result.upper - result.lower <= Fraction(1, 2**150)
    assert (one + tiny).lower >= 1
    assert (one + tiny).upper > 1
    assert one.minus(tiny).lower < 1
    assert tiny.minus(one) == ZERO
    assert tiny.minus(Interval(0, 1, 0)).low == 0
    assert tiny.minus(Interval(0, 1, 0)).high == 5


@pytest.mark.slow
@given(positive, positive)
def test_order(x: Fraction, y: Fraction) -> None:
    a, b = Interval.of(x), Interval.of(y)
    assert a.higher(b) == (a.upper > b.upper)
    assert a.surer(b) == (a.lower > b.lower)
    assert a.higher(ZERO)
    assert a.surer(ZERO)
    assert not ZERO.higher(a)
    assert not ZERO.surer(ZERO)
    assert not a.higher(a)


def test_which_of_two_numbers_is_larger_whatever_their_exponents() -> None:
    numbers = [(n, e) for n in (0, 1, 2, 3, 4, 5, 7, 8, 1 << 40, (1 << 40) + 1) for e in (-41, -2, -1, 0, 1, 2, 40)]
    for a, a_exponent in numbers:
        for b, b_exponent in numbers:
            larger = Fraction(a) * Fraction(2) ** a_exponent > Fraction(b) * Fraction(2) ** b_exponent
            assert _above(a, a_exponent, b, b_exponent) is larger
