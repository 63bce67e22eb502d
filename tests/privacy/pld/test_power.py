"""Misses against false alarms, from curves of lists of losses, against the best test by hand."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy.pld.atoms import box, listed, response
from discreet.privacy.pld.listed_atoms import ListedTotal
from discreet.privacy.pld.power import misses
from tests.helpers.exact_pairs import ListedPair, neyman_pearson

F = Fraction


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=2, max_size=5),
    st.floats(min_value=1e-6, max_value=1 - 1e-6),
)
def test_the_best_test_lies_between_both_bounds(weights: list[tuple[int, int]], alpha: float) -> None:
    """The smaller of the two directions: false alarms are counted under Q, or under P."""
    pair = ListedPair(weights)
    curves = [ListedTotal(listed(each)) for each in (pair, pair.reverse)]
    p, q = ([float(x) for x in side] for side in zip(*pair.exact, strict=True))
    truth = min(1 - neyman_pearson(p, q, alpha), 1 - neyman_pearson(q, p, alpha))
    low, high = misses(list(curves), list(curves), alpha)
    assert low <= truth + 1e-9
    assert truth <= high + 1e-9
    assert high - low <= 1e-6


@pytest.mark.parametrize("alpha", [0.01, 0.2, 0.5, 0.9])
def test_a_symmetric_pair_needs_one_curve(alpha: float) -> None:
    """Response: max(1 - δ - e^ε α, e^{-ε}(1 - δ - α), 0) by Wasserman and Zhou."""

    for delta in (0.0, 0.1):
        curve = ListedTotal(box(F(1), F(delta)) if delta else response(F(1), 2))
        low, high = misses([curve], [curve], alpha)
        truth = max(0.0, 1 - delta - math.e * alpha, math.exp(-1) * (1 - delta - alpha))
        assert low <= truth <= high + 1e-12
        assert high - low < 1e-6


def test_bounds_stay_rates() -> None:
    curve = ListedTotal(response(F(30), 2))
    low, high = misses([curve], [curve], 0.25)
    assert 0.0 <= low <= high <= 0.75 + 1e-12
