"""basic.py, advanced.py, zcdp.py and gdp.py: prices against brute force, and refusals."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from discreet.errors import BadParameter, DiscreetError, NoPrice, NotATheorem
from discreet.privacy import events
from discreet.privacy.advanced import price_advanced
from discreet.privacy.basic import price_basic
from discreet.privacy.events import MaxNoise, Sampling
from discreet.privacy.gdp import price_gdp
from discreet.privacy.measures import GDP, ZCDP, Approx
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.optimal import price_optimal
from discreet.privacy.renyi import price_renyi
from discreet.privacy.zcdp import price_zcdp

numbers = st.fractions(min_value=Fraction(1, 10), max_value=20, max_denominator=100)
PRICES: list[Any] = [price_basic, price_zcdp, price_gdp, lambda e: price_renyi(e, [2, 5])]
LAPLACE = events.Laplace(scale=4)


def laplace_law(scale: int, shift: int, reach: int = 60) -> list[Any]:
    weights = [mpmath.exp(-mpf(abs(z - shift)) / scale) for z in range(-reach, reach + 1)]
    return [w / mpmath.nsum(lambda z: mpmath.exp(-abs(z) / mpf(scale)), [-mpmath.inf, mpmath.inf]) for w in weights]


# --- basic --------------------------------------------------------------------------------------------------------


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
        (events.Composed([]), Approx(0, 0)),
        (events.Parallel([]), Approx(0, 0)),
        (events.Parallel([events.Approx(1, "1e-9"), events.Approx("0.5", "1e-6")]), Approx(1, "1e-6")),
        (events.Repeat(events.Parallel([LAPLACE, LAPLACE]), 2), Approx("1/2", 0)),
    ],
)
def test_basic_prices(event: Any, price: Approx) -> None:
    assert price_basic(event) == price


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


def test_unlike_denominators_stay_short() -> None:
    parts = [events.Laplace(Fraction(p + 1, p)) for p in range(1000, 2000)]
    price = price_basic(events.Composed(parts)).epsilon
    truth = sum((1 / part.scale for part in parts), Fraction(0))
    assert truth <= price < truth + Fraction(1, 2**1000)
    assert price_zcdp(events.Composed(parts)).rho > 0


# --- zCDP ---------------------------------------------------------------------------------------------------------


def test_discrete_gaussian_is_attained() -> None:
    """At whole orders D_α is exactly αρ, so one per cent less is false; summed over the integers, orders 2 to 4."""
    for sigma_squared, shift in ((Fraction(1), 1), (Fraction(9, 4), 2), (Fraction(1, 4), 1)):
        rho = price_zcdp(events.DiscreteGaussian(sigma_squared=sigma_squared, sensitivity=shift)).rho
        s = mpf(sigma_squared.numerator) / sigma_squared.denominator
        p = {z: mpmath.exp(-mpf(z * z) / (2 * s)) for z in range(-60, 61)}
        total = sum(p.values())
        for order in (mpf("1.5"), 2, 3, 4):
            moments = sum(
                mpmath.exp(-order * mpf(z * z) / (2 * s) - (1 - order) * mpf((z - shift) ** 2) / (2 * s))
                for z in range(-300, 301)
            )
            divergence = mpmath.log(moments / total) / (order - 1)
            bound = mpf(rho.numerator) / rho.denominator * order
            assert divergence <= bound * (1 + mpf(10) ** -12)
            if order == int(order):
                assert divergence > bound * mpf("0.99")


def test_zcdp_prices() -> None:
    assert price_zcdp(events.Gaussian(2, 3)) == ZCDP("9/8")
    assert price_zcdp(events.Repeat(events.Gaussian(sigma=10), 100)) == ZCDP("1/2")
    assert price_zcdp(events.Composed([events.Gaussian(1), events.ZCDP("1/2", "1e-6")])) == ZCDP(1, "1e-6")
    assert price_zcdp(events.Parallel([events.Gaussian(1), events.Gaussian(2)])) == ZCDP("1/2")
    assert price_zcdp(events.Exponential(1)) == ZCDP("1/8") == price_zcdp(events.NoisyMax(1, MaxNoise.GUMBEL))
    assert price_zcdp(events.Approx(1, "1e-6")).delta == Fraction(1, 10**6)


@pytest.mark.parametrize(
    "event",
    [events.PermuteAndFlip(1), events.NoisyMax(1), events.NoisyMax(1, MaxNoise.EXPONENTIAL), events.Pure(1)],
)
def test_never_borrow_bounded_range(event: Any) -> None:
    rho = price_zcdp(event).rho
    assert Fraction(46, 100) < rho <= Fraction(1, 2)


def test_permute_and_flip_is_not_of_bounded_range() -> None:
    """A pair of scores for which ε²/8 would be false: exact law for two candidates, found by enumeration."""
    epsilon = mpf(3)

    def law(scores: tuple[int, int]) -> list[Any]:  # sensitivity 1, P(take i) = e^{ε(u_i - max)/2}
        take = [mpmath.exp(epsilon * (u - max(scores)) / 2) for u in scores]
        first = (take[0] + (1 - take[1]) * take[0]) / 2 if min(take) < 1 else mpf(1) / 2
        return [first, 1 - first]

    worst = mpf(0)
    for a, b in product(range(-3, 4), repeat=2):
        for c, d in product((-1, 0, 1), repeat=2):
            p, q = law((a, b)), law((a + c, b + d))
            for order in (mpf("1.01"), 2, 8):
                moment = sum(x**order * y ** (1 - order) for x, y in zip(p, q, strict=True))
                worst = max(worst, mpmath.log(moment) / (order - 1) / order)
    assert worst > epsilon**2 / 8 * mpf("0.5")
    rho = price_zcdp(events.PermuteAndFlip(3)).rho
    assert worst < mpf(rho.numerator) / rho.denominator


# --- GDP ----------------------------------------------------------------------------------------------------------


def test_gdp_prices() -> None:
    assert price_gdp(events.Gaussian(2, 3)) == GDP("1.5")
    assert price_gdp(events.Composed([events.Gaussian(1, 3), events.Gaussian(1, 4)])) == GDP(5)
    assert price_gdp(events.Parallel([events.Gaussian(1), events.Gaussian(2)])) == GDP(1)
    assert GDP("1.232") < price_gdp(events.Pure(1)) < GDP("1.233")


@pytest.mark.parametrize(
    "event",
    [
        events.DiscreteGaussian(1),
        events.Approx(1, "1e-6"),
        events.ZCDP(1),
        events.Subsampled(events.Gaussian(1), "0.1"),
    ],
)
def test_gdp_refuses(event: Any) -> None:
    with pytest.raises(NoPrice):
        price_gdp(event)


# --- all of them --------------------------------------------------------------------------------------------------


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


# --- advanced -----------------------------------------------------------------------------------------------------


def test_advanced_formula() -> None:
    got = price_advanced(events.Repeat(events.Approx("0.1", "1e-9"), 100), slack="1e-6")
    truth = mpf("0.1") * mpmath.sqrt(200 * mpmath.log(10**6)) + 10 * (mpmath.exp(mpf("0.1")) - 1)
    assert truth <= mpf(got.epsilon.numerator) / got.epsilon.denominator < truth * (1 + mpf(10) ** -20)
    assert got.delta == Fraction(1, 10**6) + Fraction(100, 10**9)


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
