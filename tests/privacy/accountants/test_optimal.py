"""optimal.py against exact convolution of the boxes, and against the printed formula."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from discreet.errors import BadParameter, NoPrice
from discreet.privacy.accountants.compose import compose
from discreet.privacy.accountants.optimal import BoundedRange, Optimal, _game, price_optimal
from discreet.privacy.pld.certify import Effort, Workload
from discreet.privacy.pld.dominate import pair_of
from discreet.privacy.promises import events
from discreet.privacy.promises.bound import Bound
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


@pytest.mark.slow
@given(epsilons, deltas, st.integers(1, 4), st.fractions(min_value=0, max_value=1, max_denominator=20))
@settings(max_examples=40, deadline=None)
def test_delta_encloses_the_convolution(epsilon: Fraction, delta: Fraction, k: int, share: Fraction) -> None:
    at = share * k * epsilon
    bound = Optimal(epsilon, delta, k).delta_at(at)
    truth = convolved(epsilon, delta, k, at)
    assert bound.lower <= truth + mpf(10) ** -50
    assert truth <= bound.upper + mpf(10) ** -50
    assert bound.width <= 1e-15


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "k"), [(1, 100_000), (100, 10_000), pytest.param(4096, 100_000, marks=only_in_audit)]
)
def test_many_large_boxes_do_not_write_their_powers_out(epsilon: int, k: int) -> None:
    boxes = Optimal(epsilon, 0, k)
    bound = boxes.epsilon_at("1e-6")
    assert bound.width <= 1e-14 * bound.upper
    assert boxes.delta_at(Fraction(bound.upper)).upper <= 1.001e-6
    assert boxes.delta_at(Fraction(bound.lower) - Fraction(1, 10**4)).lower >= 1e-6


# --- boxes of bounded range ------------------------------------------------------------------------------------------


def two_points(t: float, epsilon: float) -> list[tuple[float, float]]:
    """(mass under P, loss) of the box with losses t - ε and t."""
    up, down = t, epsilon - t
    high = -math.expm1(-down) / -math.expm1(-epsilon)
    return [(high, up), (1 - high, -down)]


def brute(epsilon: float, times: int, x: float, ts: list[float]) -> float:
    """The best of an adversary who chooses among these t after each answer."""
    if not times:
        return max(-math.expm1(x), 0.0)
    return max(sum(p * brute(epsilon, times - 1, x - loss, ts) for p, loss in two_points(t, epsilon)) for t in ts)


@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize("x", [0.0, 0.3, 0.9, 1.4])
def test_no_adaptive_choice_of_boxes_of_bounded_range_is_worse_than_said(times: int, x: float) -> None:
    ts = [0.7 * (i + 0.5) / 17 for i in range(17)]  # between grid points, whatever the grid
    found = compose([events.Repeat(events.Exponential("0.7"), times)]).delta(x)
    reached = brute(0.7, times, x, ts)
    assert found.lower - 1e-3 <= reached <= found.upper
    assert found.upper - found.lower <= 0.02 * found.upper + 1e-12
    coarse = [_game(0.7 / 5, 5, times, wider=wider) for wider in (1, 0)]
    values = [float(np.interp(x, step * (np.arange(len(v)) - len(v) // 2), v)) for step, v in coarse]
    assert values[1] <= values[0]
    assert reached <= values[0]


def test_a_grid_that_leaves_out_what_is_between_would_be_seen() -> None:
    """The planted twin: the best t between the points of a coarse grid beats all on it."""
    step, value = _game(0.7 / 2, 2, 2, wider=0)
    assert brute(0.7, 2, 0.0, [0.7 * (i + 0.5) / 17 for i in range(17)]) > 0
    assert (
        max(
            brute(0.7, 2, x, [0.7 * (i + 0.5) / 17 for i in range(17)])
            - float(value[len(value) // 2 + round(x / step)])
            for x in (0.35, 0.7, 1.05)
        )
        > 1e-4
    )


def test_a_coarse_grid_is_not_below_what_a_fine_one_reaches() -> None:
    """The upper bound is for all t between its points: without that (``wider=0``) it would be 1 % too low here."""
    coarse, fine = (BoundedRange(Fraction(4), 3, Effort(absolute=a)) for a in (1.0, 1 / 400))
    between = False
    for k in range(1, 50):
        x = Fraction(4 * k, 20)
        reached = fine.delta(x)[0]
        assert reached <= coarse.delta(x)[1]
        between = between or reached > 1.001 * coarse.delta(x)[0]
    assert between, "no t between the points beats those on them: the test would see nothing"


def test_bounded_range_costs_less_than_one_pair_for_all() -> None:
    found = compose([events.Repeat(events.Exponential("0.1"), 200)])
    one_pair = Workload([(pair_of(events.Exponential("0.1")), 200)])
    assert found.delta(2).upper < 0.4 * one_pair.delta(Fraction(2))[0]
    assert found.epsilon("1e-3").upper < 0.95 * one_pair.epsilon(Fraction(1, 1000))[0]
    assert found.epsilon("1e-3").upper <= 1.03 * found.epsilon("1e-3").lower
    assert compose([events.Repeat(events.Exponential("0.1"), 10**5)]).epsilon("1e-6").upper > 1, "too many: one pair"


def test_the_ends_of_the_curve() -> None:
    found = compose([events.Exponential(1), events.Exponential(1)])
    assert found.delta(2) == Bound(0.0, 0.0)
    assert found.epsilon(0).upper == 2
    assert found.epsilon("1e-280").upper <= 2
    assert found.epsilon("0.9").upper == 0
