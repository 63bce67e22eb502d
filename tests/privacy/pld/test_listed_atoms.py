"""The curve of a list of losses, against exact rational sums."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.exact import exp_down, exp_up
from discreet.privacy.pld.atoms import box, listed, response
from discreet.privacy.pld.listed_atoms import ListedTotal
from tests.helpers.exact_pairs import ListedPair, hockey

F = Fraction


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=5), st.fractions(-3, 4))
def test_both_bounds_enclose_the_exact_curve(weights: list[tuple[int, int]], epsilon: Fraction) -> None:
    pair = ListedPair(weights)
    total = ListedTotal(listed(pair))
    at = float(epsilon)
    low, high = total.delta_below(at), total.delta_above(at)
    assert F(low) <= hockey(pair.exact, exp_down(F(at)))
    assert F(high) >= hockey(pair.exact, exp_up(F(at)))
    assert high - low <= 1e-11


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=5))
def test_the_curve_at_all_losses_is_a_lower_bound(weights: list[tuple[int, int]]) -> None:
    pair = ListedPair(weights)
    losses, delta = ListedTotal(listed(pair)).curve_below()
    for loss, value in zip(losses, delta, strict=True):
        assert F(float(value)) <= hockey(pair.exact, exp_down(F(float(loss))))


def test_infinite_mass_is_added() -> None:
    total = ListedTotal(box(F(1), F(1, 10)))
    assert F(total.infinite_below) <= F(1, 10) <= F(total.infinite_above)
    assert F(total.delta_below(5.0)) <= F(1, 10) <= F(total.delta_above(5.0))
    assert total.delta_above(-800.0) == 1.0


def test_the_slope_is_that_of_the_curve() -> None:
    total = ListedTotal(response(F(2), 3))
    value, slope = total.value_and_slope(0.5)
    step = 1e-6
    assert (value - total.value_and_slope(0.5 + step)[0]) / step == pytest.approx(slope, rel=1e-5)
    assert np.allclose(total.ends, (-2.0, 2.0))
