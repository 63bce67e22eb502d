"""Chances on a dyadic grid, rounded to the private side."""

from fractions import Fraction

import pytest

from discreet.exact import exp_down, exp_up
from discreet.local.chances import FINE, down, flip_chance, grown, up

STEP = Fraction(1, 1 << FINE)


@pytest.mark.parametrize("x", [Fraction(1, 3), Fraction(0), Fraction(1), STEP, STEP / 2, Fraction(2, 7), 1 - STEP / 3])
def test_rounding_goes_to_the_stated_side_and_no_farther(x: Fraction) -> None:
    assert x <= up(x) < x + STEP
    assert x - STEP < down(x) <= x
    for found in (up(x), down(x)):
        assert (found * (1 << FINE)).denominator == 1
        assert 0 <= found <= 1


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(5), Fraction(16)])
def test_a_bit_that_is_turned_over_is_private_and_hardly_more(epsilon: Fraction) -> None:
    turned = flip_chance(epsilon)
    assert (1 - turned) / turned <= exp_down(epsilon) <= grown(epsilon) <= exp_up(epsilon)
    less = turned - STEP
    assert (1 - less) / less > exp_up(epsilon), "one step less would break the promise"
