"""renyi.py against sums, integrals and dp_accounting; the lemma on the second direction against numbers."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from discreet.errors import BadParameter, NoPrice, NotATheorem
from discreet.privacy.accountants.conversions import renyi_to_approx
from discreet.privacy.accountants.renyi import ORDERS, price_renyi
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Sampling
from discreet.privacy.promises.measures import Renyi
from discreet.privacy.promises.neighbours import Neighbours


@pytest.fixture(autouse=True, scope="module")
def _precise() -> Iterator[None]:
    with mpmath.workdps(40):
        yield


def real(x: Any) -> Any:
    return mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mpf(x)


def price(event: events.Event, order: Any) -> Any:
    return real(price_renyi(event, [order]).epsilon(order))


def close(bound: Any, truth: Any, slack: str = "1e-12") -> None:
    """Above the truth, and so close that one per cent less would be below it."""
    assert truth <= bound * (1 + mpf(10) ** -15)
    assert bound * mpf("0.99") < truth
    assert bound <= truth * (1 + mpf(slack))


@pytest.mark.slow
@pytest.mark.parametrize("order", ["1.5", 2, 7])
@pytest.mark.parametrize("scale", ["0.5", 1, 10])
def test_laplace(scale: Any, order: Any) -> None:
    b, a = mpf(scale), mpf(order)

    def density(z: Any) -> Any:
        return mpmath.exp(-abs(z) / b) / (2 * b)

    moment = mpmath.quad(
        lambda z: density(z) ** a * density(z - 1) ** (1 - a), [-mpmath.inf, 0, mpf(1) / 2, 1, mpmath.inf]
    )
    close(price(events.Laplace(scale), order), mpmath.log(moment) / (a - 1))


@pytest.mark.parametrize("order", ["1.5", 2, 7])
@pytest.mark.parametrize(("scale", "shift"), [("0.5", 1), (1, 3), (10, 7), (5, 2)])
def test_discrete_laplace(scale: Any, shift: int, order: Any) -> None:
    b, a = mpf(scale), mpf(order)
    reach = range(-int(100 * b) - 100, int(100 * b) + 100)
    total = sum(mpmath.exp(-abs(z) / b) for z in reach)
    moment = sum(mpmath.exp(-a * abs(z) / b - (1 - a) * abs(z - shift) / b) for z in reach) / total
    close(price(events.DiscreteLaplace(scale, shift), order), mpmath.log(moment) / (a - 1))


@pytest.mark.parametrize("k", [2, 3, 10])
def test_randomized_response(k: int) -> None:
    e = mpmath.exp(mpf(2))
    p = [e / (e + k - 1)] + [1 / (e + k - 1)] * (k - 1)
    q = [p[1], p[0], *p[2:]]
    for order in (mpf("1.5"), mpf(2), mpf(9)):
        truth = mpmath.log(sum(x**order * y ** (1 - order) for x, y in zip(p, q, strict=True))) / (order - 1)
        close(price(events.RandomizedResponse(2, k), str(order)), truth)


def test_simple_prices() -> None:
    assert price_renyi(events.Gaussian(2), [2, 4]) == Renyi({2: "1/4", 4: "1/2"})
    assert price_renyi(events.DiscreteGaussian(2), [2]) == price_renyi(events.Gaussian(2), [2])
    assert price_renyi(events.ZCDP("0.1"), [3]).epsilon(3) == Fraction(3, 10)
    assert price_renyi(events.Exponential(1), [2]).epsilon(2) == Fraction(1, 4)
    assert price_renyi(events.Exponential(100), [50]).epsilon(50) <= 100
    assert price_renyi(events.PermuteAndFlip(1), [2]) == price_renyi(events.Pure(1), [2])
    assert price_renyi(events.Parallel([events.Gaussian(1), events.Gaussian(2)]), [2]).epsilon(2) == 1
    assert price_renyi(events.Composed([]), [2]).epsilon(2) == 0
    assert len(price_renyi(events.Gaussian(1)).orders) == len(ORDERS)


@pytest.mark.parametrize("event", [events.Approx(1, "1e-6"), events.Threshold(1, "1e-6"), events.ZCDP(1, "1e-6")])
def test_no_bound_with_delta(event: Any) -> None:
    with pytest.raises(NoPrice):
        price_renyi(event, [2])


@pytest.mark.parametrize("order", [1, 0, -2, "inf", None])
def test_bad_orders(order: Any) -> None:
    with pytest.raises(BadParameter):
        price_renyi(events.Gaussian(1), [order])


# --- Poisson sampling ---------------------------------------------------------------------------------------------


def both_directions(density: Any, rate: Any, order: Any, points: list[Any]) -> tuple[Any, Any]:
    q, a = mpf(rate), mpf(order)

    def mixed(z: Any) -> Any:
        return (1 - q) * density(z) + q * density(z - 1)

    there = mpmath.quad(lambda z: mixed(z) ** a * density(z) ** (1 - a), points)
    back = mpmath.quad(lambda z: density(z) ** a * mixed(z) ** (1 - a), points)
    return mpmath.log(there) / (a - 1), mpmath.log(back) / (a - 1)


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "order"), [("0.1", 2), ("0.5", 3), ("0.01", 8), ("0.3", "2.5")])
def test_sampled_gaussian(rate: str, order: Any) -> None:
    def density(z: Any) -> Any:
        return mpmath.npdf(z, 0, 1)

    truth, back = both_directions(density, rate, order, [-12, -4, 0, 1, 4, 8, 14, 22])
    assert back <= truth
    bound = price(events.Subsampled(events.Gaussian(1), rate), order)
    assert truth <= bound * (1 + mpf(10) ** -15)  # the integral has its own error
    if isinstance(order, int):  # between whole orders the chord is above the truth by more
        close(bound, truth, slack="1e-6")


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "order"), [("0.1", 2), ("0.5", 3), ("0.01", 8)])
def test_sampled_laplace(rate: str, order: int) -> None:
    def density(z: Any) -> Any:
        return mpmath.exp(-abs(z)) / 2

    truth, back = both_directions(density, rate, order, [-60, -10, 0, mpf(1) / 2, 1, 10, 60])
    assert back <= truth
    close(price(events.Subsampled(events.Laplace(1), rate), order), truth, slack="1e-6")


@pytest.mark.slow
@given(
    st.floats(min_value=1e-4, max_value=1.0),
    st.floats(min_value=1.0, max_value=64.0),
    st.floats(min_value=1.0, max_value=1e4),
)
@settings(max_examples=300, deadline=None)
def test_the_lemma_point_by_point(q: float, order: float, ratio: float) -> None:
    """φ(u) + L φ(v) >= 0, the inequality to which the second direction comes down."""
    s, a, big = mpf(q), mpf(order), mpf(ratio)
    u, v = 1 - s + s * big, 1 - s + s / big

    def phi(y: Any) -> Any:
        return y**a - y ** (1 - a)

    assert phi(u) + big * phi(v) >= -(mpf(10) ** -20) * phi(u)


@pytest.mark.parametrize(("rate", "sigma", "steps"), [("0.01", "0.8", 10_000), ("0.004", "1.1", 14_062)])
def test_beside_dp_accounting(rate: str, sigma: str, steps: int) -> None:
    event = events.Repeat(events.Subsampled(events.Gaussian(sigma), rate), steps)
    orders = list(range(2, 65))
    ours = renyi_to_approx(price_renyi(event, orders), delta=1e-5).epsilon
    accountant = RdpAccountant(orders)
    sampled = dp_event.PoissonSampledDpEvent(float(rate), dp_event.GaussianDpEvent(float(sigma)))
    accountant.compose(sampled, steps)
    assert float(ours) == pytest.approx(accountant.get_epsilon(1e-5), rel=1e-6)


@pytest.mark.slow
@given(st.fractions(min_value=Fraction(1, 100), max_value=1, max_denominator=100), st.integers(2, 12))
@settings(max_examples=30, deadline=None)
def test_a_smaller_sample_costs_less(rate: Fraction, order: int) -> None:
    inner = events.Gaussian(1)
    assert price(events.Subsampled(inner, rate / 2), order) <= price(events.Subsampled(inner, rate), order)
    assert price(events.Subsampled(inner, rate), order) <= price(inner, order) * (1 + mpf(10) ** -30)
    for noisy in (events.Laplace(1), events.DiscreteLaplace(1), events.DiscreteGaussian(1)):
        assert price(events.Subsampled(noisy, rate), order) <= price(noisy, order) * (1 + mpf(10) ** -30)


def test_between_whole_orders() -> None:
    event = events.Subsampled(events.Gaussian(1), "0.1")
    orders = ["1.25", "2", "2.25", "2.75", "3"]
    prices = [price_renyi(event, orders).epsilon(order) for order in orders]
    assert prices == sorted(prices)


@pytest.mark.parametrize("inner", [events.Gaussian(1), events.Laplace(1), events.DiscreteGaussian(1)])
def test_other_samples_are_refused(inner: Any) -> None:
    for how, relation in (
        (Sampling.POISSON, Neighbours.CHANGE_ONE),
        (Sampling.WITHOUT_REPLACEMENT, Neighbours.ADD_REMOVE),
    ):
        with pytest.raises((NotATheorem, NoPrice)):
            price_renyi(events.Subsampled(inner, "0.1", how, relation), [2])
    with pytest.raises(NoPrice):
        price_renyi(events.Subsampled(events.Gaussian(1), "0.1", Sampling.WITHOUT_REPLACEMENT), [2])
    with pytest.raises(NoPrice):
        price_renyi(events.Subsampled(events.Gaussian(1), "0.1"), [5000])
