"""Rényi accounting: at each order, divergences add up.

Promise: the price bounds D_α in both directions, rounded up, at each order asked for.
Believes: Mironov 2017 (composition, Laplace, randomized response), Canonne, Kamath, Steinke 2020 (discrete Gaussian),
Cesar and Rogers 2021 (bounded range), Zhu, Dong and Wang 2022 (the pair of Poisson sampling), and this

Lemma (Mironov, Talwar and Zhang 2019, Theorem 5, for any symmetric pair). Let the loss log P/Q under P have the law of
log Q/P under Q. Then D_α(Q ‖ (1-q)Q + qP) <= D_α((1-q)Q + qP ‖ Q) for every α >= 1.
Proof. Write L = P/Q. By symmetry E_Q h(L) = E_Q L h(1/L), so it is enough that φ(u) + L φ(v) >= 0 for L >= 1, where
φ(y) = y^α - y^{1-α}, u = 1-q + qL and v = 1-q + q/L. With m = (1-q)L + q we have u = 1 + L - m, v = m/L and
φ(1/y) = -φ(y)/y, so this says φ(u) >= m φ(L/m), that is, with s = α - 1/2,
√u sinh(s log u) >= √(mL) sinh(s log(L/m)). As u >= L/m >= 1 and x coth x grows, sinh(s log u)/sinh(s log(L/m)) grows
with s, and at s = 1/2 both sides are (u - 1)/2 = (L - m)/2. ∎
So for additive noise, which is symmetric, one direction is enough, and for whole α it is a binomial sum:
E_Q((1-q) + qL)^α = Σ_k C(α,k) (1-q)^{α-k} q^k E_Q L^k. Between whole orders (α-1) D_α is convex in α.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from discreet.errors import NoPrice
from discreet.exact import BITS, Number, exp_down, exp_up, log_up
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.conversions import pure_to_renyi
from discreet.privacy.numerics.interval import ZERO, Interval, power
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event, MaxNoise, Sampling
from discreet.privacy.promises.measures import HUGE, Pure, Renyi, check_order
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.record import brief, short_up

ORDERS: tuple[Number, ...] = (
    "1.1", "1.25", "1.5", "1.75", 2, "2.5", 3, "3.5", 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64, 96,
    128, 256,
)  # fmt: skip
"""Orders that serve most uses: the best order for (ε, δ) is about 1 + log(1/δ)/ε."""

_HIGHEST = 1024


def price_renyi(event: Event, orders: Iterable[Number] = ORDERS) -> Renyi:
    """A bound of D_α for the event at each of the orders.

    >>> price_renyi(events.Gaussian(sigma=2), [2, 8])
    Renyi({2: '1/4', 8: 1})
    >>> sampled = events.Subsampled(events.Gaussian(sigma=2), rate="0.01")
    >>> float(price_renyi(sampled, [2]).epsilon(2))
    2.840...e-05
    """
    return Renyi({order: short_up(_moment(event, order) / (order - 1)) for order in map(check_order, orders)})


def _moment(event: Event, order: Fraction) -> Fraction:
    """An upper bound of (α-1) D_α, which is log E_Q (P/Q)^α."""
    match event:
        case (
            events.Gaussian(sigma_squared=s, sensitivity_squared=d)
            | events.DiscreteGaussian(sigma_squared=s, sensitivity_squared=d)
        ):
            return order * (order - 1) * d / (2 * s)
        case events.Laplace(scale=b, sensitivity=d):
            return _laplace(d / b, order)
        case events.DiscreteLaplace(scale=b, sensitivity=d):
            return _discrete_laplace(1 / b, d.numerator, order)
        case events.RandomizedResponse(epsilon=e, categories=k):
            if order * e > HUGE:
                return (order - 1) * e
            top = exp_up(order * e) + exp_up((1 - order) * e) + k - 2
            return min((order - 1) * e, log_up(top / (exp_down(e) + k - 1)))
        case events.Exponential(epsilon=e) | events.NoisyMax(epsilon=e, noise=MaxNoise.GUMBEL):
            return min(order * (order - 1) * e**2 / 8, _pure(e, order))
        case events.ZCDP(rho=rho, delta=delta) if not delta:
            return order * (order - 1) * rho
        case events.Stated(event=inner):
            return _moment(inner, order)
        case events.Repeat(event=inner, times=k):
            return k * _moment(inner, order)
        case events.Composed(events=parts):
            return sum((_moment(part, order) for part in parts), Fraction(0))
        case events.Parallel(events=parts):
            return max((_moment(part, order) for part in parts), default=Fraction(0))
        case events.Subsampled(
            event=events.Gaussian() | events.DiscreteGaussian() as inner,
            rate=q,
            how=Sampling.POISSON,
            neighbours=Neighbours.ADD_REMOVE,
        ):
            return _sampled(inner, q, order)
        case events.Subsampled(
            event=events.Laplace() | events.DiscreteLaplace() as inner,
            rate=q,
            how=Sampling.POISSON,
            neighbours=Neighbours.ADD_REMOVE,
        ):
            return min(_sampled(inner, q, order), _boxed(event, order))
        case _:
            return _boxed(event, order)


def _boxed(event: Event, order: Fraction) -> Fraction:
    """The bound for anything as private as this event is purely."""
    box = price_basic(event)
    if box.delta:
        raise NoPrice(f"no Rényi divergence is bounded for an event with delta above 0: {brief(event)}")
    return _pure(box.epsilon, order)


def _pure(epsilon: Fraction, order: Fraction) -> Fraction:
    return (order - 1) * pure_to_renyi(Pure(epsilon), [order]).epsilon(order)


def _laplace(t: Fraction, order: Fraction) -> Fraction:
    """(α e^{(α-1)t} + (α-1) e^{-αt})/(2α-1), logged (Mironov 2017, Proposition 6)."""
    if order * t > HUGE:
        return (order - 1) * t
    bits = _bits(t)
    top = order * exp_up((order - 1) * t, bits) + (order - 1) * exp_up(-order * t, bits)
    return min((order - 1) * t, log_up(top / (2 * order - 1)))


def _discrete_laplace(t: Fraction, shift: int, order: Fraction) -> Fraction:
    """The sum over the integers: those below both centres, those above both, and the shift - 1 between them."""
    d = shift * t
    if order * d > HUGE:
        return (order - 1) * d
    bits = _bits(t) + shift.bit_length()
    x = exp_down(-t, bits)
    outer = (exp_up((order - 1) * d, bits) + exp_up(-order * d, bits)) / (1 + x)
    # between: e^{(α-1)d} Σ_{0<z<shift} e^{-(2α-1)zt} (1-x)/(1+x)
    step, last = (2 * order - 1) * t, (2 * order - 1) * (d - t)
    between = (
        exp_up((order - 1) * d, bits) * (1 - exp_down(-last, bits)) / (exp_down(step, bits) - 1) if shift > 1 else 0
    )
    return min((order - 1) * d, log_up(outer + between * (1 - x) / (1 + x)))


def _bits(t: Fraction) -> int:
    """Enough bits for differences that vanish as t does."""
    return BITS + 3 * max(0, t.denominator.bit_length() - t.numerator.bit_length())


# --- Poisson sampling ---------------------------------------------------------------------------------------------


def _sampled(inner: Event, rate: Fraction, order: Fraction) -> Fraction:
    """The binomial sum at whole orders, the chord between them: (α-1) D_α is convex in α and 0 at 1."""
    if order > _HIGHEST:
        raise NoPrice(f"orders of a sampled event go up to {_HIGHEST}")
    floor = math.floor(order)
    if floor == order:
        return _binomial_sum(inner, rate, floor)
    part = order - floor
    below = _binomial_sum(inner, rate, floor) if floor > 1 else Fraction(0)
    return (1 - part) * below + part * _binomial_sum(inner, rate, floor + 1)


@lru_cache(maxsize=4096)
def _binomial_sum(inner: Event, q: Fraction, n: int) -> Fraction:
    """log Σ_k C(n,k) (1-q)^{n-k} q^k E_Q L^k, rounded up.

    The weights add up to 1 and E_Q L^k is 1 for k = 0 and 1, so only the excess over 1 of the others is summed.
    """
    unsampled = _moment(inner, Fraction(n))
    if unsampled > HUGE or q == 1:
        return unsampled  # the mean of (1-q+qL)^n is at most that of L^n
    inside, outside = Interval.of(q), Interval.of(1 - q)
    total = ZERO
    for k in range(2, n + 1):
        weight = (power(inside, k) * power(outside, n - k)).times(math.comb(n, k))
        total = total + weight * Interval.of(_excess_up(inner, k))
    return min(unsampled, log_up(1 + total.upper))


@lru_cache(maxsize=4096)
def _excess_up(inner: Event, k: int) -> Fraction:
    """An upper bound of E_Q L^k - 1."""
    moment = _moment(inner, Fraction(k))
    bits = BITS + max(0, moment.denominator.bit_length() - moment.numerator.bit_length())
    return exp_up(moment, bits) - 1
