"""interval.py: enclosures stay enclosures."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from discreet.privacy.interval import ZERO, Interval, power

positive = st.builds(
    lambda p, q, e: Fraction(p, q) * Fraction(2) ** e,
    st.integers(1, 10**12),
    st.integers(1, 10**12),
    st.integers(-900, 900),
)


def holds(interval: Interval, truth: Fraction) -> None:
    assert interval.lower <= truth <= interval.upper
    assert interval.upper - interval.lower <= Fraction(truth, 2**150) + 0


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
