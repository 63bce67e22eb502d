"""Intervals of rationals: the truth stays inside whatever is done with them."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.base.span import Span

F = Fraction


def test_spans_hold_the_truth() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        a, b = (
            Span(Fraction(int(lo)), Fraction(int(lo + w)))
            for lo, w in zip(rng.integers(-9, 9, 2), rng.integers(0, 9, 2), strict=True)
        )
        for x in (a.low, a.middle, a.high):
            for y in (b.low, b.middle, b.high):
                for span, value in ((a + b, x + y), (a - b, x - y), (a * b, x * y), (a.square(), x * x)):
                    assert span.low <= value <= span.high
                if b.low > 0:
                    assert (a / b).low <= x / y <= (a / b).high
            if x >= 0:
                assert a.root().low ** 2 <= x <= a.root().high ** 2
            assert a.within(-2, 3).low <= min(max(x, Fraction(-2)), Fraction(3)) <= a.within(-2, 3).high
    assert Span.at(2).wider(Fraction(1)) == Span(Fraction(1), Fraction(3))


def test_by_hand() -> None:
    a, b = Span(F(-1), F(2)), Span(F(3), F(5))
    assert a + b == Span(F(2), F(7))
    assert a - b == Span(F(-6), F(-1))
    assert a * b == Span(F(-5), F(10))
    assert a / b == Span(F(-1, 3), F(2, 3))
    assert a.square() == Span(F(0), F(4))
    assert Span(F(-3), F(-2)).square() == Span(F(4), F(9))
    assert Span(F(-4), F(9)).root() == Span(F(0), F(3))
    assert (a.middle, Span.at(7)) == (F(1, 2), Span(F(7), F(7)))


@pytest.mark.parametrize(
    ("low", "high", "moved"), [(0, 1, (0, 1)), (-9, 9, (-1, 2)), (3, 4, (3, 3)), (-4, -3, (-3, -3)), (2, 2, (2, 2))]
)
def test_a_known_range_cuts_a_span(low: int, high: int, moved: tuple[int, int]) -> None:
    assert Span(F(-1), F(2)).within(low, high) == Span(F(moved[0]), F(moved[1]))


def test_a_span_that_touches_a_range_does_not_miss_it() -> None:
    span = Span(F(-1), F(2))
    assert [span.misses(*ends) for ends in ((2, 3), (-5, -1), (0, 1), (3, 4), (-5, -2))] == [
        False, False, False, True, True,
    ]  # fmt: skip
