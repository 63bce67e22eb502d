"""bound.py: two sides, rounded outwards."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadParameter
from discreet.privacy.promises.bound import Bound


@pytest.mark.slow
@given(st.fractions(), st.fractions())
def test_outwards(a: Fraction, b: Fraction) -> None:
    low, high = min(a, b), max(a, b)
    bound = Bound.outwards(low, high)
    assert low in bound
    assert high in bound
    assert Fraction(bound.width) >= high - low
    assert Bound(low, high).width == high - low


def test_widths() -> None:
    assert Bound(1.0, 1.0).width == 0
    assert Bound(1.0, math.inf).width == math.inf
    assert Bound(math.inf, math.inf).width == 0
    assert math.inf in Bound(0.0, math.inf)
    assert Bound(0.25, Fraction(1, 2)).width == 0.25


def test_bad_bounds() -> None:
    for low, high in ((1.0, 0.0), (math.nan, 1.0), (0.0, math.nan)):
        with pytest.raises(BadParameter):
            Bound(low, high)
