"""The discrete Laplace law from both sides, against ball arithmetic; and the least whole number that fits."""

from fractions import Fraction

import pytest

from discreet.mechanisms.base.laplace_law import exp_bounds, laplace_at, laplace_below, laplace_from
from tests.helpers.truth import ball, exp_minus, laplace_pmf, precise, surely_outside

SCALES = [Fraction(1, 9), Fraction(1), Fraction(7, 3), Fraction(1000)]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("k", [-50, -3, -1, 0, 1, 2, 17])
def test_the_bounds_hold_the_truth_and_are_tight(scale: Fraction, k: int) -> None:
    pmf = laplace_pmf(scale)
    at, above, below = laplace_at(scale, k), laplace_from(scale, k), laplace_below(scale, k)
    assert not surely_outside(at.lower, pmf(k), at.upper)
    with precise():
        q = exp_minus(1 / scale)
        tail = q**k / (1 + q) if k >= 1 else 1 - q ** (1 - k) / (1 + q)
    assert not surely_outside(above.lower, tail, above.upper)
    with precise():
        assert not surely_outside(below.lower, 1 - tail, below.upper)
    for found in (at, above, below):
        assert found.upper - found.lower <= Fraction(1, 1 << 170)


def test_pieces_add_up() -> None:
    scale = Fraction(3, 2)
    for k in range(-4, 5):
        step = laplace_at(scale, k) + laplace_from(scale, k + 1)
        whole_tail = laplace_from(scale, k)
        assert step.lower <= whole_tail.upper
        assert whole_tail.lower <= step.upper


@pytest.mark.parametrize("x", [Fraction(0), Fraction(-3), Fraction(1, 7), Fraction(-500)])
def test_exp(x: Fraction) -> None:
    found = exp_bounds(x)
    with precise():
        assert not surely_outside(found.lower, ball(x).exp(), found.upper)
