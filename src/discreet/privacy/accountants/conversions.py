"""From one promise to another: one function per theorem, every result rounded against us.

Promise: what comes back is implied by what was given. Nothing here guesses: floats may pick the free parameter of a
theorem, and then the theorem is evaluated at that parameter in exact arithmetic.
Believes: the theorems cited, exact.py and normal.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache

from discreet.errors import BadParameter
from discreet.exact import (
    BITS,
    Number,
    exp_down,
    exp_up,
    log_down,
    log_up,
    non_negative,
    sqrt_down,
    sqrt_up,
)
from discreet.privacy.numerics import normal
from discreet.privacy.numerics.search import largest, least, lowest_point
from discreet.privacy.promises.bound import Bound
from discreet.privacy.promises.measures import GDP, HUGE, ZCDP, Approx, Pure, Renyi, check_order, small_probability
from discreet.privacy.promises.record import short_down, short_up, show

_HUGE_EPSILON = 10**5

# --- from pure ----------------------------------------------------------------------------------------------------


def pure_to_approx(promise: Pure) -> Approx:
    """ε-DP is (ε, 0)-DP, by definition."""
    return Approx(promise.epsilon, 0)


def pure_to_zcdp(promise: Pure) -> ZCDP:
    """ε-DP is ρ-zCDP with ρ = ε²/2, exactly rational (Bun and Steinke 2016, Proposition 1.4).

    >>> pure_to_zcdp(Pure("0.1"))
    ZCDP(rho='1/200', delta=0)
    """
    return ZCDP(promise.epsilon**2 / 2)


def pure_to_zcdp_tight(promise: Pure) -> ZCDP:
    """ε-DP is ρ-zCDP with ρ = ε tanh(ε/2), the least such ρ.

    Proof. An ε-DP pair is a post-processing of randomized response (Kairouz, Oh, Viswanath 2015), for which
    (α-1) D_α = log cosh(sε) - log cosh(ε/2), s = α - 1/2. The function g(u) = log cosh √u is concave, as its slope
    tanh(√u)/(2√u) falls, so (α-1) D_α <= g'(ε²/4) (s² - 1/4) ε² = ε tanh(ε/2) α(α-1). As α → 1, D_α tends to
    ε tanh(ε/2), so no smaller ρ will do.

    >>> float(pure_to_zcdp_tight(Pure(1)).rho)
    0.46211715726000...
    """
    epsilon = promise.epsilon
    if not epsilon or epsilon > HUGE:
        return ZCDP(epsilon)  # tanh is below 1
    bits = BITS + max(0, epsilon.denominator.bit_length() - epsilon.numerator.bit_length())
    tanh = (exp_up(epsilon, bits) - 1) / (exp_up(epsilon, bits) + 1)  # grows with e^ε
    return ZCDP(min(epsilon**2 / 2, short_up(epsilon * tanh)))


def pure_to_renyi(promise: Pure, orders: Iterable[Number]) -> Renyi:
    """ε-DP has D_α <= log((e^{αε} + e^{(1-α)ε})/(1 + e^ε))/(α - 1), attained by randomized response.

    Cited: Mironov 2017, Proposition 5; the pair dominates by Kairouz, Oh and Viswanath 2015.

    >>> float(pure_to_renyi(Pure(1), [2]).epsilon(2))
    0.735325...
    """
    epsilon = promise.epsilon
    return Renyi({order: min(epsilon, _pure_renyi_up(epsilon, order)) for order in map(check_order, orders)})


def _pure_renyi_up(epsilon: Fraction, order: Fraction) -> Fraction:
    if order * epsilon > HUGE:
        return epsilon
    bits = BITS + 2 * max(0, epsilon.denominator.bit_length() - epsilon.numerator.bit_length())
    top = exp_up(order * epsilon, bits) + exp_up((1 - order) * epsilon, bits)
    return short_up(log_up(top / (1 + exp_down(epsilon, bits))) / (order - 1))


def pure_to_gdp(promise: Pure) -> GDP:
    """ε-DP is μ-GDP with μ = -2 Φ⁻¹(1/(1 + e^ε)), the least such μ.

    Proof. The trade-off curve of ε-DP is two straight lines, from (0, 1) to (c, c) with c = 1/(1 + e^ε) and on to
    (1, 0). The curve of μ-GDP is convex and runs through the same three points, since Φ(-μ/2) = c: it lies below.

    >>> float(pure_to_gdp(Pure(1)).mu)
    1.2320...
    """
    if not promise.epsilon:
        return GDP(0)
    if promise.epsilon > HUGE:
        raise BadParameter("epsilon", show(promise.epsilon), f"must be at most {HUGE} for a Gaussian promise")
    return GDP(-2 * normal.quantile_down(1 / (1 + exp_up(promise.epsilon))))


def bounded_range_to_zcdp(epsilon: Number) -> ZCDP:
    """A privacy loss of range ε (the exponential mechanism's) is ρ-zCDP with ρ = ε²/8 (Cesar and Rogers 2021).

    Permute-and-flip and Laplace noisy max are *not* of bounded range: use the pure bounds for them.

    >>> bounded_range_to_zcdp(1)
    ZCDP(rho='1/8', delta=0)
    """
    return ZCDP(non_negative(epsilon, "epsilon") ** 2 / 8)


# --- from zCDP and Rényi ------------------------------------------------------------------------------------------


def zcdp_to_renyi(promise: ZCDP, orders: Iterable[Number]) -> Renyi:
    """ρ-zCDP has D_α <= ρα at every order, by definition; for δ = 0 only."""
    if promise.delta:
        raise BadParameter("delta", promise.delta, "must be 0: approximate zCDP bounds no Rényi divergence")
    return Renyi({order: promise.rho * order for order in map(check_order, orders)})


def zcdp_to_approx(promise: ZCDP, *, delta: Number | None = None, epsilon: Number | None = None) -> Approx:
    """The (ε, δ) that ρ-zCDP implies, given either of the two: the least over α of the tight Rényi conversion.

    Guarantee: δ = e^{(α-1)(ρα-ε)} (1 - 1/α)^{α-1} / α for the best α > 1 (Canonne, Kamath and Steinke 2020,
    Proposition 12). δ₀-approximate zCDP adds up as δ₀ + (1 - δ₀)δ (Bun and Steinke 2016, Lemma 8.8).

    >>> float(zcdp_to_approx(ZCDP("1/2"), delta=1e-6).epsilon)
    5.221...
    """
    return _with_slack(promise, delta, epsilon, _zcdp_epsilon_up, _zcdp_delta_up)


def zcdp_to_approx_classical(promise: ZCDP, *, delta: Number | None = None, epsilon: Number | None = None) -> Approx:
    """The (ε, δ) of ρ-zCDP by the simple bound ε = ρ + 2√(ρ log(1/δ)) (Bun and Steinke 2016, Proposition 1.3).

    >>> float(zcdp_to_approx_classical(ZCDP("1/2"), delta=1e-6).epsilon)
    5.756...
    """

    def epsilon_up(rho: Fraction, d: Fraction) -> Fraction:
        return rho + 2 * sqrt_up(rho * log_up(1 / d))

    def delta_up(rho: Fraction, e: Fraction) -> Fraction:
        return _small_exp_up(-((e - rho) ** 2) / (4 * rho)) if e > rho else Fraction(1)

    return _with_slack(promise, delta, epsilon, epsilon_up, delta_up)


def renyi_to_approx(promise: Renyi, *, delta: Number | None = None, epsilon: Number | None = None) -> Approx:
    """The (ε, δ) that Rényi bounds imply, given either of the two: the best over the orders given.

    Guarantee: δ = e^{(α-1)(D_α-ε)} (1 - 1/α)^{α-1} / α for each order α (Canonne, Kamath, Steinke 2020, Prop. 12).

    >>> float(renyi_to_approx(Renyi({10: 5}), delta=1e-6).epsilon)
    6.173853...
    """
    d, e = _one_of(delta, epsilon)
    if d is not None:
        if d == 0:
            raise BadParameter("delta", delta, "must be above 0: Rényi bounds imply no pure promise")
        return Approx(max(Fraction(0), min(_epsilon_at(a, r, d) for a, r in promise.bounds)), d)
    return Approx(e, short_up(_below_one(min(_delta_at(a, r, e) for a, r in promise.bounds))))


def _epsilon_at(order: Fraction, renyi: Fraction, delta: Fraction) -> Fraction:
    """The tight conversion at one order, solved for ε and rounded up."""
    gain = (order - 1) * log_up(1 - 1 / order) - log_down(order)
    return short_up(renyi + (log_up(1 / delta) + gain) / (order - 1))


def _delta_at(order: Fraction, renyi: Fraction, epsilon: Fraction) -> Fraction:
    """The tight conversion at one order, rounded up."""
    gain = (order - 1) * log_up(1 - 1 / order) - log_down(order)
    return _small_exp_up((order - 1) * (renyi - epsilon) + gain)


def _small_exp_up(x: Fraction) -> Fraction:
    """An upper bound of min(1, e^x)."""
    return exp_up(max(x, Fraction(-HUGE))) if x < 0 else Fraction(1)


def _zcdp_epsilon_up(rho: Fraction, delta: Fraction) -> Fraction:
    r, log_inverse = _guide(rho), _guide(log_up(1 / delta))

    def guide(t: float) -> float:  # ε at order 1 + e^t
        order = 1 + math.exp(t)
        return r * order + (log_inverse - math.log(order)) / math.exp(t) + math.log1p(-1 / order)

    order = _order_near(lowest_point(guide, -30.0, 60.0))
    return max(Fraction(0), _epsilon_at(order, rho * order, delta))


def _zcdp_delta_up(rho: Fraction, epsilon: Fraction) -> Fraction:
    r, e = _guide(rho), _guide(epsilon)

    def guide(t: float) -> float:  # log δ at order 1 + e^t
        order = 1 + math.exp(t)
        return math.exp(t) * (r * order - e + math.log1p(-1 / order)) - math.log(order)

    order = _order_near(lowest_point(guide, -30.0, 60.0))
    return min(Fraction(1), _delta_at(order, rho * order, epsilon))


def _guide(x: Fraction) -> float:
    """About x, for choosing a parameter only."""
    return float(min(x, Fraction(10**250)))


def _order_near(t: float) -> Fraction:
    """The order 1 + e^t with some twenty digits of the float left out: any order is valid."""
    x = Fraction(math.exp(t))
    return 1 + x.limit_denominator(10**12) if x > Fraction(1, 10**6) else 1 + x


# --- Gaussian differential privacy --------------------------------------------------------------------------------


def gdp_to_zcdp(promise: GDP) -> ZCDP:
    """μ-GDP is μ²/2-zCDP: D_α(N(0,1)‖N(μ,1)) = αμ²/2, and the pair dominates (Dong, Roth, Su 2022, Corollary B.6)."""
    return ZCDP(promise.mu_squared / 2)


def gdp_to_approx(promise: GDP, *, delta: Number | None = None, epsilon: Number | None = None) -> Approx:
    """The (ε, δ) that μ-GDP implies, given either of the two; no better one is implied.

    Guarantee: δ = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ) (Balle and Wang 2018; Dong, Roth and Su 2022, Corollary 1).

    >>> float(gdp_to_approx(GDP(1), delta=1e-6).epsilon)
    4.886554...
    """
    d, e = _one_of(delta, epsilon)
    if d is not None:
        return Approx(gdp_epsilon(promise, d).upper, d)
    return Approx(e, gdp_delta(promise, e).upper)


def gdp_delta(promise: GDP, epsilon: Number) -> Bound:
    """The exact δ of μ-GDP at ε, enclosed in Fractions.

    >>> float(gdp_delta(GDP(1), 1).upper)
    0.126936737...
    """
    e = non_negative(epsilon, "epsilon")
    low, high = _gaussian_delta_down(promise.mu_squared, e), _gaussian_delta_up(promise.mu_squared, e)
    return Bound(short_down(low), short_up(high))


def gdp_epsilon(promise: GDP, delta: Number) -> Bound:
    """The exact ε of μ-GDP at δ, enclosed in Fractions within a relative 2^-60.

    >>> bound = gdp_epsilon(GDP(mu_squared=10_000), 1e-6)
    >>> float(bound.upper), bound.width < 1e-12
    (5474.3655..., True)
    """
    d = small_probability(delta)
    if not promise.mu_squared:
        return Bound(Fraction(0), Fraction(0))
    if not d:
        raise BadParameter("delta", delta, "must be above 0: Gaussian noise keeps no pure promise")
    m = promise.mu_squared
    upper = least(lambda e: _gaussian_delta_up(m, e) <= d, start=_power_of_two(sqrt_up(m) + m / 2))
    if not upper:
        return Bound(Fraction(0), Fraction(0))
    lower = upper * (1 - Fraction(1, 1 << 58))  # one step below what was just seen to be about the least
    while lower and _gaussian_delta_down(m, lower) < d:
        lower = max(Fraction(0), 2 * lower - upper)
    return Bound(lower, upper)


def _gaussian_delta_up(mu_squared: Fraction, epsilon: Fraction) -> Fraction:
    if not mu_squared:
        return Fraction(0)
    mu = sqrt_up(mu_squared, 2 * BITS)  # δ grows with μ
    bits = _gaussian_bits(mu)
    here = normal.cdf_up(mu / 2 - epsilon / mu, bits)
    if epsilon > _HUGE_EPSILON:
        return here  # the second term is left out, which is against us
    return min(Fraction(1), here - exp_down(epsilon, bits) * normal.cdf_down(-mu / 2 - epsilon / mu, bits))


def _gaussian_delta_down(mu_squared: Fraction, epsilon: Fraction) -> Fraction:
    if not mu_squared or epsilon > _HUGE_EPSILON:
        return Fraction(0)
    mu = sqrt_down(mu_squared, 2 * BITS)
    bits = _gaussian_bits(mu)
    here = normal.cdf_down(mu / 2 - epsilon / mu, bits)
    there = normal.cdf_up(-mu / 2 - epsilon / mu, bits)
    return max(Fraction(0), here - exp_up(epsilon, bits) * there)


def _power_of_two(x: Fraction) -> Fraction:
    """One of about this size: a place to start a search, short to write."""
    return Fraction(2) ** (x.numerator.bit_length() - x.denominator.bit_length())


def _gaussian_bits(mu: Fraction) -> int:
    """The two terms nearly cancel when μ is small: this many more bits make up for it."""
    return 80 + 3 * max(0, mu.denominator.bit_length() - mu.numerator.bit_length())


# --- the largest promise that fits a budget -----------------------------------------------------------------------


@lru_cache(maxsize=256)
def largest_gdp(budget: Approx) -> GDP:
    """The largest μ such that μ-GDP implies the budget, rounded down.

    >>> float(1 / largest_gdp(Approx(1, 1e-6)).mu_squared * 1000) ** 0.5
    133.59607...
    """
    if not budget.delta:
        return GDP(0)
    return GDP(largest(lambda mu: _gaussian_delta_up(mu * mu, budget.epsilon) <= budget.delta))


@lru_cache(maxsize=256)
def largest_zcdp(budget: Approx) -> ZCDP:
    """The largest ρ such that ρ-zCDP implies the budget by the tight conversion, rounded down.

    >>> float(largest_zcdp(Approx(1, 1e-6)).rho)
    0.0243...
    """
    if not budget.delta:
        return ZCDP(0)
    return ZCDP(largest(lambda rho: _zcdp_delta_up(rho, budget.epsilon) <= budget.delta))


# --- shared -------------------------------------------------------------------------------------------------------


def _one_of(delta: Number | None, epsilon: Number | None) -> tuple[Fraction | None, Fraction]:
    """The one of the two that was given; the other is None, or 0 for ε."""
    if delta is not None and epsilon is None:
        return small_probability(delta), Fraction(0)
    if epsilon is not None and delta is None:
        return None, non_negative(epsilon, "epsilon")
    raise BadParameter("delta", delta, "must be given, or epsilon in its place, and not both")


def _below_one(delta: Fraction) -> Fraction:
    if delta >= 1:
        raise BadParameter("epsilon", show(delta), "must be larger: at this epsilon delta would reach 1")
    return delta


Solve = Callable[[Fraction, Fraction], Fraction]


def _with_slack(
    promise: ZCDP, delta: Number | None, epsilon: Number | None, epsilon_up: Solve, delta_up: Solve
) -> Approx:
    """A conversion of zCDP, with the δ₀ of approximate zCDP set aside: δ₀ + (1 - δ₀)δ."""
    d, e = _one_of(delta, epsilon)
    aside = promise.delta
    if d is None:
        free = delta_up(promise.rho, e) if promise.rho else Fraction(0)
        return Approx(e, short_up(_below_one(aside + (1 - aside) * free)))
    if not promise.rho and aside <= d:
        return Approx(0, d)
    if d <= aside:
        raise BadParameter("delta", delta, f"must be above {show(aside)}, which the promise itself sets aside")
    return Approx(short_up(epsilon_up(promise.rho, (d - aside) / (1 - aside))), d)
