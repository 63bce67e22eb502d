"""amplification.py: pairs that attain the theorem, refusals elsewhere."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from discreet.errors import BadParameter, NotATheorem
from discreet.privacy.accountants.amplification import amplified
from discreet.privacy.promises.events import Sampling
from discreet.privacy.promises.measures import Approx
from discreet.privacy.promises.neighbours import Neighbours

ADD, CHANGE = Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE
POISSON, FIXED = Sampling.POISSON, Sampling.WITHOUT_REPLACEMENT
epsilons = st.fractions(min_value=Fraction(1, 1000), max_value=10, max_denominator=1000)
rates = st.fractions(min_value=Fraction(1, 10**6), max_value=1)


@pytest.fixture(autouse=True, scope="module")
def _precise() -> Iterator[None]:
    with mpmath.workdps(70):
        yield


def real(x: Any) -> Any:
    return mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mpf(x)


@pytest.mark.slow
@given(epsilons, rates)
@settings(max_examples=60, deadline=None)
def test_poisson_is_attained(epsilon: Fraction, rate: Fraction) -> None:
    """The mechanism answers a biased coin that knows whether the unit is in the sample."""
    e, q = mpmath.exp(real(epsilon)), real(rate)
    inside, outside = e / (1 + e), 1 / (1 + e)
    seen = (1 - q) * outside + q * inside
    truth = mpmath.log(seen / outside)
    got = amplified(Approx(epsilon, "1e-6"), rate, POISSON, ADD)
    assert truth <= real(got.epsilon) * (1 + mpf(10) ** -30)
    assert real(got.epsilon) * mpf("0.99") < truth
    assert got.epsilon <= epsilon
    assert got.delta == rate / 10**6


def test_without_replacement_is_attained() -> None:
    """One of two people is drawn and answers by randomized response; the other one has the changed value."""
    e = mpmath.exp(mpf(1))
    yes, no = e / (1 + e), 1 / (1 + e)
    truth = mpmath.log((yes / 2 + no / 2) / no)
    got = real(amplified(Approx(1, 0), "1/2", FIXED, CHANGE).epsilon)
    assert mpf("0.99") * got < truth <= got * (1 + mpf(10) ** -30)


@pytest.mark.parametrize(("how", "relation"), [(POISSON, CHANGE), (FIXED, ADD)])
def test_no_theorem(how: Sampling, relation: Neighbours) -> None:
    with pytest.raises(NotATheorem, match="Poisson"):
        amplified(Approx(1, 0), "0.1", how, relation)


@pytest.mark.parametrize("rate", [0, -1, "1.1", math.nan])
def test_bad_rates(rate: Any) -> None:
    with pytest.raises(BadParameter, match="rate"):
        amplified(Approx(1, 0), rate, POISSON, ADD)


def test_all_of_the_data() -> None:
    assert amplified(Approx("0.1", "1e-6"), 1, POISSON, ADD) == Approx("0.1", "1e-6")
    assert amplified(Approx(0, "1e-6"), "0.5", POISSON, ADD) == Approx(0, "5e-7")
