"""conversions.py: every theorem against a pair of laws that attains it, so that one per cent too good would fail."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from discreet.errors import BadParameter
from discreet.privacy.accountants import conversions as to
from discreet.privacy.numerics.normal import quantile_up
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Pure, Renyi

epsilons = st.fractions(min_value=Fraction(1, 1000), max_value=10, max_denominator=1000)
SLIGHTLY = mpf(2) ** -83
Law = list[Any]


@pytest.fixture(autouse=True, scope="module")
def _precise() -> Iterator[None]:
    with mpmath.workdps(60):
        yield


def real(x: Any) -> Any:
    return mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mpf(x)


def renyi(p: Law, q: Law, order: Any) -> Any:
    order = real(order)
    return mpmath.log(sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)


def hockey_stick(p: Law, q: Law, epsilon: Any) -> Any:
    return sum(max(mpf(0), a - mpmath.exp(real(epsilon)) * b) for a, b in zip(p, q, strict=True))


def coin(epsilon: Any) -> tuple[Law, Law]:
    """Randomized response on two values: the worst of all ε-private pairs."""
    r = 1 / (1 + mpmath.exp(real(epsilon)))
    return [1 - r, r], [r, 1 - r]


# --- pure ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("convert", "epsilon"),
    [
        (to.pure_to_zcdp, "0.01"),
        (to.pure_to_zcdp_tight, "0.01"),
        (to.pure_to_zcdp_tight, 1),
        (to.pure_to_zcdp_tight, 5),
    ],
)
def test_pure_to_zcdp(convert: Callable[[Pure], ZCDP], epsilon: Any) -> None:
    promise = Pure(epsilon)
    rho = real(convert(promise).rho)
    p, q = coin(promise.epsilon)
    worst = max(renyi(p, q, order) / order for order in (mpf(1) + mpf(10) ** -i for i in range(-3, 9)))
    assert worst <= rho * (1 + SLIGHTLY)
    assert worst > 0.99 * rho


def test_the_tight_one_is_tighter() -> None:
    for e in ("1e-40", "0.1", 1, 50):
        assert to.pure_to_zcdp_tight(Pure(e)) <= to.pure_to_zcdp(Pure(e))
    assert to.pure_to_zcdp_tight(Pure(50)).rho <= 50
    assert to.pure_to_zcdp_tight(Pure(0)) == ZCDP(0)


@pytest.mark.slow
@given(epsilons, st.fractions(min_value=Fraction(101, 100), max_value=50, max_denominator=100))
@settings(deadline=None)
def test_pure_to_renyi(epsilon: Fraction, order: Fraction) -> None:
    bound = real(to.pure_to_renyi(Pure(epsilon), [order]).epsilon(order))
    truth = renyi(*coin(epsilon), order)
    assert truth * (1 - SLIGHTLY) <= bound
    assert bound * 0.99 < truth
    assert bound <= min(real(epsilon), real(to.pure_to_zcdp_tight(Pure(epsilon)).rho * order)) * (1 + SLIGHTLY)


@pytest.mark.parametrize("epsilon", ["0.01", 1, 8])
def test_pure_to_gdp(epsilon: Any) -> None:
    promise = Pure(epsilon)
    mu = real(to.pure_to_gdp(promise).mu)
    c = 1 / (1 + mpmath.exp(real(promise.epsilon)))
    quantile = -real(quantile_up(1 - Fraction(str(c))))

    def power(m: Any) -> Any:  # of the best test at false-positive rate c
        return mpmath.ncdf(quantile + m)

    assert power(mu) >= 1 - c - mpf(10) ** -15
    assert power(mu * mpf("0.99")) < 1 - c
    assert to.pure_to_gdp(Pure(0)) == GDP(0)


def test_bounded_range() -> None:
    e = mpf("0.01")
    p = [mpf(1) / 2, mpf(1) / 2]
    weights = [mpmath.exp(e / 2), mpmath.exp(-e / 2)]
    q = [w / sum(weights) for w in weights]  # a loss of range ε
    rho = real(to.bounded_range_to_zcdp("0.01").rho)
    worst = max(renyi(p, q, order) / order for order in (mpf("1.0001"), 2, 8))
    assert 0.99 * rho < worst <= rho * mpf("1.0000001")


# --- zCDP and Rényi -----------------------------------------------------------------------------------------------


def telling_pair(order: Fraction, divergence: Any, epsilon: Any) -> tuple[Law, Law]:
    """The pair that attains the tight conversion: a rare output of loss ε + log(α/(α-1)), and all the rest."""
    a = real(order)
    loss = real(epsilon) + mpmath.log(a / (a - 1))
    p = mpmath.exp((a - 1) * (real(divergence) - loss))
    return [p, 1 - p], [p * mpmath.exp(-loss), 1 - p * mpmath.exp(-loss)]


def test_renyi_to_approx_is_attained() -> None:
    order, divergence, epsilon = Fraction(5), Fraction(4), Fraction(6)
    p, q = telling_pair(order, divergence, epsilon)
    assert renyi(p, q, order) < real(divergence) + mpf("1e-6")
    assert renyi(q, p, order) < real(divergence)
    truth = hockey_stick(p, q, epsilon)
    claimed = to.renyi_to_approx(Renyi({order: divergence}), epsilon=epsilon)
    assert real(claimed.delta) * mpf("0.99") < truth <= real(claimed.delta) * mpf("1.000001")
    back = to.renyi_to_approx(Renyi({order: divergence}), delta=claimed.delta)
    assert abs(back.epsilon - epsilon) < Fraction(1, 10**30)


def test_zcdp_to_approx_is_attained() -> None:
    """At the best order the loss of the pair is tangent to ρα(α-1), so the pair is ρ-zCDP at all orders."""
    rho, epsilon = Fraction(1), Fraction(10)
    claimed = to.zcdp_to_approx(ZCDP(rho), epsilon=epsilon)

    def log_delta(a: float) -> float:
        return (a - 1) * (float(rho) * a - float(epsilon) + math.log1p(-1 / a)) - math.log(a)

    order = Fraction(min((Fraction(i, 1000) for i in range(1001, 20_000)), key=lambda a: log_delta(float(a))))
    p, q = telling_pair(order, rho * order, epsilon)
    for a in [mpf("1.0001"), mpf("1.1"), 2, 3, 4, 5, 6, 7, 8, 16, 64]:
        assert max(renyi(p, q, a), renyi(q, p, a)) <= real(rho) * a * mpf("1.00001")
    truth = hockey_stick(p, q, epsilon)
    assert real(claimed.delta) * mpf("0.99") < truth <= real(claimed.delta) * mpf("1.0001")


@pytest.mark.slow
@given(epsilons, st.integers(1, 40))
@settings(max_examples=25, deadline=None)
def test_zcdp_to_approx_against_a_search(rho: Fraction, digits: int) -> None:
    """Never below the formula at its best order, and not far above; both directions agree."""
    delta = Fraction(1, 10**digits)
    promise = ZCDP(rho)
    tight = to.zcdp_to_approx(promise, delta=delta)
    classical = to.zcdp_to_approx_classical(promise, delta=delta)
    assert tight.epsilon < classical.epsilon
    back = to.zcdp_to_approx(promise, epsilon=tight.epsilon)
    assert back.delta <= delta * (1 + Fraction(1, 10**6))
    r, log_inverse = real(rho), -mpmath.log(real(delta))

    def epsilon_at(t: Any) -> Any:
        a = 1 + mpmath.exp(t)
        return r * a + (log_inverse - mpmath.log(a)) / (a - 1) + mpmath.log(1 - 1 / a)

    near = min((mpf(i) / 5 for i in range(-25, 75)), key=epsilon_at)
    best = max(mpf(0), min(epsilon_at(near + mpf(i) / 1000) for i in range(-200, 201)))
    assert mpf("0.98") * best - mpf("1e-6") <= real(tight.epsilon) <= best + mpf("1e-12")


def test_classical_formula() -> None:
    got = to.zcdp_to_approx_classical(ZCDP("1/8"), delta="1e-6")
    truth = mpf(1) / 8 + 2 * mpmath.sqrt(mpf(1) / 8 * mpmath.log(10**6))
    assert truth <= real(got.epsilon) < truth * (1 + SLIGHTLY)
    back = to.zcdp_to_approx_classical(ZCDP("1/8"), epsilon=got.epsilon)
    assert 0 <= abs(back.delta - Fraction(1, 10**6)) < Fraction(1, 10**30)
    with pytest.raises(BadParameter):
        to.zcdp_to_approx_classical(ZCDP(1), epsilon=1)


def test_gaussian_noise_keeps_its_zcdp_promise() -> None:
    for rho in ("0.01", "0.5", 3):
        promise = ZCDP(rho)
        exact = to.gdp_to_approx(GDP(mu_squared=2 * promise.rho), delta=1e-6)
        assert exact < to.zcdp_to_approx(promise, delta=1e-6)
        assert to.gdp_to_zcdp(GDP(mu_squared=2 * promise.rho)) == promise


def test_approximate_zcdp() -> None:
    plain = to.zcdp_to_approx(ZCDP("0.1"), delta="1e-6")
    with_slack = to.zcdp_to_approx(ZCDP("0.1", "1e-9"), delta="1e-6")
    assert plain.epsilon < with_slack.epsilon < plain.epsilon * Fraction(1001, 1000)
    aside = Fraction(1, 10**9)
    assert (
        to.zcdp_to_approx(ZCDP("0.1", aside), epsilon=3).delta
        == aside + (1 - aside) * to.zcdp_to_approx(ZCDP("0.1"), epsilon=3).delta
    )
    assert to.zcdp_to_approx(ZCDP(0, "1e-9"), delta="1e-9") == Approx(0, "1e-9")
    assert to.zcdp_to_approx(ZCDP(0), epsilon=1) == Approx(1, 0)
    with pytest.raises(BadParameter, match="sets aside"):
        to.zcdp_to_approx(ZCDP("0.1", "1e-6"), delta="1e-6")
    with pytest.raises(BadParameter):
        to.zcdp_to_renyi(ZCDP("0.1", "1e-6"), [2])
    assert to.zcdp_to_renyi(ZCDP("0.1"), [2]) == Renyi({2: "0.2"})


# --- Gaussian -----------------------------------------------------------------------------------------------------


def gaussian_delta(mu: Any, epsilon: Any) -> Any:
    m, e = real(mu), real(epsilon)
    return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


@pytest.mark.slow
@given(
    st.fractions(min_value=Fraction(1, 4), max_value=10, max_denominator=100),
    st.fractions(min_value=0, max_value=5, max_denominator=100),
)
@settings(max_examples=60, deadline=None)
def test_gdp_delta_encloses(mu: Fraction, epsilon: Fraction) -> None:
    bound = to.gdp_delta(GDP(mu), epsilon)
    with mpmath.workdps(60 + int((epsilon / mu) ** 2)):  # mpmath's far tail needs the digits
        truth = gaussian_delta(mu, epsilon)
        floor = mpf(2) ** -1000
        assert real(bound.lower) <= truth + floor
        assert truth <= real(bound.upper) + floor
        assert real(bound.upper) * mpf("0.99") < truth + floor
    assert bound.width <= Fraction(bound.upper) / 2**40 + Fraction(1, 2**1000)


@pytest.mark.parametrize(
    ("k", "truth"), [(1, "4.886554117"), (100, "96.717272"), (10_000, "5474.3655")]
)  # the figures of the field
def test_gdp_epsilon_encloses(k: int, truth: str) -> None:
    bound = to.gdp_epsilon(GDP(mu_squared=k), 1e-6)
    assert abs(float(bound.upper) - float(truth)) < 1e-6 * float(truth)
    assert Fraction(bound.width) <= Fraction(bound.upper) / 2**50
    assert to.gdp_delta(GDP(mu_squared=k), bound.upper).upper <= Fraction(1, 10**6)
    assert to.gdp_delta(GDP(mu_squared=k), bound.lower).lower >= Fraction(1, 10**6)


def test_gdp_at_the_edges() -> None:
    assert to.gdp_epsilon(GDP(0), 0).upper == 0
    assert to.gdp_epsilon(GDP("0.01"), "0.5").upper == 0
    assert to.gdp_delta(GDP(0), 1).upper == 0
    assert to.gdp_to_approx(GDP(1), epsilon=1).epsilon == 1
    with pytest.raises(BadParameter):
        to.gdp_epsilon(GDP(1), 0)
    for call in (to.gdp_to_approx, to.zcdp_to_approx, to.zcdp_to_approx_classical, to.renyi_to_approx):
        promise: Any = {to.gdp_to_approx: GDP(1), to.renyi_to_approx: Renyi({2: 1})}.get(call, ZCDP(1))
        for given_both in ({}, {"delta": "0.1", "epsilon": 1}, {"delta": 1}, {"epsilon": -1}, {"delta": 0}):
            with pytest.raises(BadParameter):
                call(promise, **given_both)


@pytest.mark.parametrize("budget", [Approx(1, 1e-6), Approx("0.01", "1e-9"), Approx(0, "0.01"), Approx(20, "0.1")])
def test_largest(budget: Approx) -> None:
    mu = to.largest_gdp(budget)
    assert to.gdp_delta(mu, budget.epsilon).upper <= budget.delta
    assert to.gdp_delta(GDP(mu.mu * Fraction(100001, 100000)), budget.epsilon).lower > budget.delta
    rho = to.largest_zcdp(budget)
    assert to.zcdp_to_approx(rho, epsilon=budget.epsilon).delta <= budget.delta
    assert to.zcdp_to_approx(ZCDP(rho.rho * Fraction(1001, 1000)), epsilon=budget.epsilon).delta > budget.delta


def test_nothing_fits_a_pure_budget() -> None:
    assert to.largest_gdp(Approx(1, 0)) == GDP(0)
    assert to.largest_zcdp(Approx(1, 0)) == ZCDP(0)


def test_sigma_for_a_thousand_queries() -> None:
    mu = to.largest_gdp(Approx(1, 1e-6)).mu
    assert math.sqrt(1000) / float(mu) == pytest.approx(133.596077, rel=1e-8)
    assert to.pure_to_approx(Pure(1)) == Approx(1, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("mu", "delta"), [(1000, "1e-1200"), (1, "1e-400"), ("1e-60", "1e-64")])
def test_gaussian_epsilon_at_a_delta_below_all_floats(mu: Any, delta: str) -> None:
    bound = to.gdp_epsilon(GDP(mu), delta)
    with mpmath.workdps(1400):
        m, wanted = real(Fraction(mu)), real(Fraction(delta))

        def truth(e: Fraction) -> Any:
            x = real(e)
            return mpmath.ncdf(m / 2 - x / m) - mpmath.exp(x) * mpmath.ncdf(-m / 2 - x / m)

        assert truth(Fraction(bound.upper)) <= wanted
        assert bound.lower == 0 or truth(Fraction(bound.lower)) >= wanted
