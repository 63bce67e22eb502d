"""advanced.py: the formula, and never below the optimum."""

import math
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from discreet.errors import BadParameter, DiscreetError
from discreet.privacy.accountants.advanced import price_advanced
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.optimal import price_optimal
from discreet.privacy.promises import events


@pytest.fixture(autouse=True, scope="module")
def _precise() -> Iterator[None]:
    with mpmath.workdps(40):
        yield


def test_advanced_formula() -> None:
    got = price_advanced(events.Repeat(events.Approx("0.1", "1e-9"), 100), slack="1e-6")
    truth = mpf("0.1") * mpmath.sqrt(200 * mpmath.log(10**6)) + 10 * (mpmath.exp(mpf("0.1")) - 1)
    assert truth <= mpf(got.epsilon.numerator) / got.epsilon.denominator < truth * (1 + mpf(10) ** -20)
    assert got.delta == Fraction(1, 10**6) + Fraction(100, 10**9)


@pytest.mark.slow
@given(st.integers(1, 60), st.fractions(min_value=Fraction(1, 100), max_value=2, max_denominator=100))
@settings(max_examples=30, deadline=None)
def test_advanced_is_above_the_optimum(k: int, epsilon: Fraction) -> None:
    event = events.Repeat(events.Pure(epsilon), k)
    assert price_optimal(event, "1e-6").epsilon <= price_advanced(event, "1e-6").epsilon
    assert price_optimal(event, "1e-6").epsilon <= price_basic(event).epsilon


def test_advanced_of_unlike_parts() -> None:
    unlike = events.Composed([events.Pure("0.1"), events.Repeat(events.Pure("0.2"), 3)])
    alike = events.Composed([events.Repeat(events.Pure("0.2"), 3), events.Pure("0.1")])
    assert price_advanced(unlike, "1e-6") == price_advanced(alike, "1e-6")
    for bad in (0, 1, -1, math.nan):
        with pytest.raises((BadParameter, DiscreetError)):
            price_advanced(unlike, bad)
