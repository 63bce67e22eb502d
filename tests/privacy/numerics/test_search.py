"""search.py: searches return what was tested."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import NotATheorem
from discreet.privacy.numerics.search import largest, least, lowest_point


@pytest.mark.slow
@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**6))
def test_searches(x: Fraction) -> None:
    high = least(lambda t: t >= x, bits=40)
    low = largest(lambda t: t <= x, bits=40)
    assert low <= x <= high
    assert high - low <= x / 2**38


def test_searches_that_fail() -> None:
    assert least(lambda _: True) == 0
    assert least(lambda t: t > 0) < Fraction(1, 2**1000)
    for search, answer in ((least, False), (largest, False), (largest, True)):
        with pytest.raises(NotATheorem):
            search(lambda _, answer=answer: answer)  # type: ignore[misc]


def test_golden_section() -> None:
    assert abs(lowest_point(lambda t: abs(t - 3), 0, 10) - 3) < 1e-9
