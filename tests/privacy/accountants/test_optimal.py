"""optimal.py against exact convolution of the boxes, and against the printed formula."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import pytest
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from discreet.errors import BadParameter, NoPrice
from discreet.privacy.accountants.optimal import Optimal, price_optimal
from discreet.privacy.promises import events
from tests.helpers.extent import only_in_audit

epsilons = st.fractions(min_value=Fraction(1, 50), max_value=4, max_denominator=50)
deltas = st.sampled_from([Fraction(0), Fraction(1, 1000), Fraction(1, 10)])


@pytest.fixture(autouse=True, scope="module")
def _precise() -> Iterator[None]:
    with mpmath.workdps(60):
        yield


def real(x: Any) -> Any:
    return mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mpf(x)


def convolved(epsilon: Fraction, delta: Fraction, k: int, at: Fraction) -> Any:
    """δ(ε') of k boxes by walking all 4^k outputs of the four-valued box."""
    e, d = mpmath.exp(real(epsilon)), real(delta)
    p = [d, (1 - d) * e / (1 + e), (1 - d) / (1 + e), mpf(0)]
    q = [mpf(0), (1 - d) / (1 + e), (1 - d) * e / (1 + e), d]
    factor = mpmath.exp(real(at))
    total = mpf(0)
    for outputs in product(range(4), repeat=k):
        total += max(mpf(0), mpmath.fprod(p[o] for o in outputs) - factor * mpmath.fprod(q[o] for o in outputs))
    return total


@given(epsilons, deltas, st.integers(1, 4), st.fractions(min_value=0, max_value=1, max_denominator=20))
@settings(max_examples=40, deadline=None)
def test_delta_encloses_the_convolution(epsilon: Fraction, delta: Fraction, k: int, share: Fraction) -> None:
    at = share * k * epsilon
    bound = Optimal(epsilon, delta, k).delta_at(at)
    truth = convolved(epsilon, delta, k, at)
    assert bound.lower <= truth + mpf(10) ** -50
    assert truth <= bound.upper + mpf(10) ** -50
    assert bound.width <= 1e-15


@given(epsilons, deltas, st.integers(1, 200), st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_epsilon_and_delta_agree(epsilon: Fraction, delta: Fraction, k: int, digits: int) -> None:
    curve = Optimal(epsilon, delta, k)
    wanted = Fraction(curve.lost.upper) + Fraction(1, 10**digits)
    if wanted >= 1:
        return
    bound = curve.epsilon_at(wanted)
    assert bound.width <= 1e-9 * max(1.0, float(bound.upper))
    assert curve.delta_at(bound.upper).lower <= wanted
    assert curve.delta_at(bound.upper).upper <= float(wanted) * (1 + 1e-9)
    if bound.lower > 0:
        assert curve.delta_at(bound.lower).upper >= float(wanted) * (1 - 1e-9)


@pytest.mark.parametrize(("k", "i"), [(10, 0), (10, 3), (11, 5), (100, 26)])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**4)])
def test_the_printed_formula(k: int, i: int, delta: Fraction) -> None:
    """Kairouz, Oh and Viswanath, Theorem 3.3, at ε = (k - 2i)ε₀."""
    epsilon = Fraction(1, 10)
    e = mpmath.exp(real(epsilon))
    inner = sum(mpmath.binomial(k, j) * (e ** (k - j) - e ** (k - 2 * i + j)) for j in range(i)) / (1 + e) ** k
    truth = 1 - (1 - real(delta)) ** k * (1 - inner)
    bound = Optimal(epsilon, delta, k).delta_at((k - 2 * i) * epsilon)
    assert bound.lower <= truth + mpf(10) ** -50
    assert truth - mpf(10) ** -50 <= bound.upper


def test_known_figures() -> None:
    bound = Optimal("0.1", 0, 100).epsilon_at(1e-6)
    assert bound.lower <= 4.774567588 + 1e-9
    assert bound.upper >= 4.774567588 - 1e-9
    assert bound.width < 1e-12
    assert Optimal(5, 0, 20).epsilon_at(1e-6).upper <= 100
    assert Optimal(5, 0, 20).epsilon_at(1e-6).lower > 99.9  # others certify 70
    assert Optimal(10, 0, 5).epsilon_at(1e-6).lower > 49.9
    assert Optimal(1, 0, 3).epsilon_at(0).upper == 3
    assert Optimal(0, 0, 5).epsilon_at(0).upper == 0


def test_one_per_cent_too_good_is_caught() -> None:
    curve = Optimal("0.5", "0.001", 4)
    truth = convolved(Fraction(1, 2), Fraction(1, 1000), 4, Fraction(3, 4))
    assert curve.delta_at("0.75").upper * 0.99 < truth


def test_below_their_numerical_upper_bound() -> None:
    theirs = pld.from_privacy_parameters(
        common.DifferentialPrivacyParameters(0.1, 0), value_discretization_interval=1e-3
    )
    upper = theirs.self_compose(100).get_epsilon_for_delta(1e-6)
    assert Optimal("0.1", 0, 100).epsilon_at(1e-6).upper <= upper + 1e-9


def test_many_boxes() -> None:
    bound = Optimal("0.01", 0, 5000).epsilon_at(1e-9)
    assert bound.width < 1e-9
    assert 3 < bound.upper < 6


def test_prices() -> None:
    event = events.Repeat(events.Composed([events.Laplace(10)] * 10), 10)
    assert price_optimal(event, 1e-6) == price_optimal(events.Repeat(events.Pure("0.1"), 100), 1e-6)
    assert price_optimal(events.Approx(1, "1e-6"), "1e-6").epsilon == 1
    with pytest.raises(NoPrice, match="equal"):
        price_optimal(events.Composed([events.Pure(1), events.Pure(2)]), 1e-6)
    with pytest.raises(BadParameter, match="delta"):
        price_optimal(events.Repeat(events.Approx(1, "1e-6"), 10), "1e-6")


def test_bad_input() -> None:
    bad_calls: list[Any] = [
        lambda: Optimal(-1, 0, 1), lambda: Optimal(1, 1, 1), lambda: Optimal(1, 0, 0), lambda: Optimal(math.nan, 0, 1),
        lambda: Optimal(1, 0, 2).delta_at(-1), lambda: Optimal(1, 0, 2).epsilon_at(1),
    ]  # fmt: skip
    for call in bad_calls:
        with pytest.raises(BadParameter):
            call()


@pytest.mark.parametrize(
    ("epsilon", "k"), [(1, 100_000), (100, 10_000), pytest.param(4096, 100_000, marks=only_in_audit)]
)
def test_many_large_boxes_do_not_write_their_powers_out(epsilon: int, k: int) -> None:
    boxes = Optimal(epsilon, 0, k)
    bound = boxes.epsilon_at("1e-6")
    assert bound.width <= 1e-14 * bound.upper
    assert boxes.delta_at(Fraction(bound.upper)).upper <= 1.001e-6
    assert boxes.delta_at(Fraction(bound.lower) - Fraction(1, 10**4)).lower >= 1e-6
