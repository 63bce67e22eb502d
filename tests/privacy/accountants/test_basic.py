"""basic.py against brute force; and what every accountant must do."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from discreet.errors import NoPrice, NotATheorem
from discreet.exact import exp_up
from discreet.privacy.accountants.advanced import price_advanced
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.compose import compose
from discreet.privacy.accountants.gdp import price_gdp
from discreet.privacy.accountants.optimal import price_optimal
from discreet.privacy.accountants.renyi import price_renyi
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Sampling
from discreet.privacy.promises.measures import Approx
from discreet.privacy.promises.neighbours import Neighbours

numbers = st.fractions(min_value=Fraction(1, 10), max_value=20, max_denominator=100)
PRICES: list[Any] = [price_basic, price_zcdp, price_gdp, lambda e: price_renyi(e, [2, 5])]
LAPLACE = events.Laplace(scale=4)


@pytest.fixture(autouse=True, scope="module")
def _precise() -> Iterator[None]:
    with mpmath.workdps(40):
        yield


def laplace_law(scale: int, shift: int, reach: int = 60) -> list[Any]:
    weights = [mpmath.exp(-mpf(abs(z - shift)) / scale) for z in range(-reach, reach + 1)]
    return [w / mpmath.nsum(lambda z: mpmath.exp(-abs(z) / mpf(scale)), [-mpmath.inf, mpmath.inf]) for w in weights]


def test_ten_tenths_are_one() -> None:
    assert price_basic(events.Composed([events.Pure("0.1")] * 10)) == Approx(1, 0)
    assert price_basic(events.Repeat(events.Laplace(scale=10), 10)) == Approx(1, 0)


@pytest.mark.parametrize(
    ("event", "price"),
    [
        (events.Laplace(4, 2), Approx("1/2", 0)),
        (events.DiscreteLaplace(4, 2), Approx("1/2", 0)),
        (events.RandomizedResponse(1, 7), Approx(1, 0)),
        (events.Exponential(1), Approx(1, 0)),
        (events.PermuteAndFlip(1), Approx(1, 0)),
        (events.NoisyMax(1), Approx(1, 0)),
        (events.AboveThreshold(1), Approx(1, 0)),
        (events.Threshold(1, "1e-6"), Approx(1, "1e-6")),
        (events.Stated(events.DiscreteGaussian(5), 1, "1e-6"), Approx(1, "1e-6")),
        (events.Repeat(events.Stated(events.ZCDP("1/50"), 1, "1e-6"), 2), Approx(2, "2e-6")),
        (events.Composed([]), Approx(0, 0)),
        (events.Parallel([]), Approx(0, 0)),
        (events.Parallel([events.Approx(1, "1e-9"), events.Approx("0.5", "1e-6")]), Approx(1, "1e-6")),
        (events.Repeat(events.Parallel([LAPLACE, LAPLACE]), 2), Approx("1/2", 0)),
    ],
)
def test_basic_prices(event: Any, price: Approx) -> None:
    assert price_basic(event) == price


@pytest.mark.slow
def test_laplace_is_attained() -> None:
    """Loss Δ/b with probability above 0: a price one per cent too good is false."""
    p, q = laplace_law(4, 0), laplace_law(4, 2)
    worst = max(mpmath.log(a / b) for a, b in zip(p, q, strict=True))
    assert worst == pytest.approx(float(price_basic(events.DiscreteLaplace(4, 2)).epsilon), rel=1e-12)


@pytest.mark.parametrize("event", [events.Gaussian(1), events.DiscreteGaussian(1), events.ZCDP(1)])
def test_basic_refuses(event: Any) -> None:
    for wrapped in (event, events.Repeat(event, 2), events.Composed([LAPLACE, event]), events.Subsampled(event, "0.1")):
        with pytest.raises(NoPrice):
            price_basic(wrapped)


def test_too_much_delta() -> None:
    event = events.Repeat(events.Approx(1, "0.1"), 10)
    for price in (price_basic, price_zcdp, lambda e: price_advanced(e, "1e-6")):
        with pytest.raises(NoPrice):
            price(event)


@dataclass(frozen=True)
class Stranger(events.Event):
    """An event that nobody has heard of."""


@pytest.mark.parametrize("price", [*PRICES, lambda e: price_advanced(e, "1e-6"), lambda e: price_optimal(e, "1e-6")])
def test_strangers_have_no_price(price: Any) -> None:
    for event in (Stranger(), events.Composed([Stranger()]), events.Subsampled(Stranger(), "0.1")):
        with pytest.raises(NoPrice):
            price(event)


@pytest.mark.slow
def test_unlike_denominators_stay_short() -> None:
    parts = [events.Laplace(Fraction(p + 1, p)) for p in range(1000, 2000)]
    price = price_basic(events.Composed(parts)).epsilon
    truth = sum((1 / part.scale for part in parts), Fraction(0))
    assert truth <= price < truth + Fraction(1, 2**1000)
    assert price_zcdp(events.Composed(parts)).rho > 0


@pytest.mark.slow
@given(numbers, numbers, st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_more_noise_never_costs_more_and_more_events_never_less(a: Fraction, b: Fraction, k: int) -> None:
    low, high = min(a, b), max(a, b)
    makes: list[Any] = [events.Laplace, events.DiscreteLaplace, events.Gaussian, events.DiscreteGaussian]
    for make in makes:
        for price in PRICES:
            try:
                quiet, loud = price(make(high)), price(make(low))
            except NoPrice:
                continue
            assert quiet <= loud
            assert price(events.Repeat(make(low), k)) >= loud
            assert price(events.Composed([make(low)] * k)) == price(events.Repeat(make(low), k))
            assert price(events.Composed([make(low), make(high)])) >= loud
            assert price(events.Parallel([make(low), make(high)])) == loud


def test_samples() -> None:
    for price in PRICES:
        sampled = price(events.Subsampled(LAPLACE, "0.1"))
        assert sampled < price(LAPLACE)
    poisson_change = events.Subsampled(LAPLACE, "0.1", Sampling.POISSON, Neighbours.CHANGE_ONE)
    fixed_add = events.Subsampled(LAPLACE, "0.1", Sampling.WITHOUT_REPLACEMENT, Neighbours.ADD_REMOVE)
    for event in (poisson_change, fixed_add):
        for price in PRICES:
            with pytest.raises((NotATheorem, NoPrice)):
                price(event)


def test_what_stays_open_costs_what_it_answers() -> None:
    inner = events.Approx("1/2", "1e-9")
    assert price_basic(events.Interactive(inner)) == price_basic(inner)


@pytest.mark.parametrize("inner", [events.Gaussian(5), events.Laplace(3), events.Composed([events.Gaussian(5)] * 2)])
def test_what_is_stated_changes_no_other_price(inner: events.Event) -> None:
    """An accountant that does not add up (ε, δ) takes the law itself."""
    stated = events.Stated(inner, 1, "1e-6")
    for price in PRICES[1:]:
        assert price(stated) == price(inner)
    assert compose(stated).delta(1) == compose(inner).delta(1)


def test_what_is_stated_is_all_there_is_where_the_law_has_no_price() -> None:
    several = events.DiscreteGaussian(sigma=50, sensitivity_squared=100, dimension=100)
    stated, box = events.Stated(several, 1, "1e-6"), events.Approx(1, "1e-6")
    assert compose([stated, events.Pure(1)]).delta(2) == compose([box, events.Pure(1)]).delta(2)
    sampled = events.Subsampled(events.Gaussian(1), "0.01")
    assert price_zcdp(events.Stated(sampled, 1, "1e-6")) == price_zcdp(box)


def test_a_trade_off_is_priced_by_its_steepest_part() -> None:
    price = price_basic(events.TradeOff({0: "0.9", "0.1": "0.6"}))
    assert price.delta == Fraction(1, 10)
    assert exp_up(price.epsilon - Fraction(1, 1 << 80)) < 3 <= exp_up(price.epsilon)
    assert price_basic(events.TradeOff({0: "0.9"})) == Approx(0, "0.1")
