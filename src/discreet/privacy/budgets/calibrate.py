"""The least noise that fits a budget, and the least budget that covers an event.

Promise: the event returned was priced, with rounding against us, and fits; one with a relative ``tolerance`` less noise
was tried too and does not. Closed forms are used where there are any.
Believes: the accountants, and that more noise never costs more (each of them is tested for that).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TypeAlias

from discreet.errors import BadParameter, NoPrice, NotATheorem
from discreet.exact import Number, positive
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.compose import compose
from discreet.privacy.accountants.conversions import (
    gdp_to_approx,
    largest_gdp,
    largest_zcdp,
    renyi_to_approx,
    zcdp_to_approx,
)
from discreet.privacy.accountants.gaussian_vectors import vectors_delta_up
from discreet.privacy.accountants.gdp import price_gdp
from discreet.privacy.accountants.renyi import price_renyi
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.numerics.search import least
from discreet.privacy.promises.events import Composed, DiscreteGaussian, Event, Gaussian, Repeat
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Measure, Promise, Pure, Renyi, small_probability
from discreet.privacy.promises.record import brief

Fits: TypeAlias = Callable[[Event, Measure], bool]


def calibrate(
    make: Callable[[Fraction], Event], budget: Measure, *, fits: Fits | None = None, tolerance: Number | None = None
) -> Event:
    """The event with the least noise that fits the budget; ``make`` turns a noise scale into an event.

    Guarantee: the event fits. ``fits`` may be given to price by another accountant; it must never say yes when the
    truth is no. By default closed forms decide where they are exact (to 1e-12), and elsewhere, for (ε, δ) budgets, the
    composition of privacy loss distributions (to 1e-5 at best). An (ε, δ) budget that is spent in steps is charged for
    such an event as ``Stated(event, epsilon, delta)``, with the (ε, δ) that it was calibrated to.

    >>> from discreet.privacy.promises.events import Laplace
    >>> calibrate(lambda s: Laplace(scale=s), Pure("1/2"))
    Laplace(scale=2, sensitivity=1)
    >>> event = calibrate(lambda s: Repeat(Gaussian(sigma=s), 1000), Approx(1, 1e-6))
    >>> float(event.event.sigma)
    133.59607...
    """
    given: object = make
    if not callable(given):
        raise BadParameter("make", given, "must be a function of the noise scale, such as lambda s: events.Laplace(s)")
    if not isinstance(budget, Promise):
        raise BadParameter("budget", budget, "must be a promise, such as Approx(1, 1e-6)")
    accept = _covers_closed if fits is None else fits
    width = positive(tolerance, "tolerance") if tolerance is not None else None
    fine = _bits(width or _FINE)

    def closed(bits: int) -> Fraction:
        try:
            return least(lambda s: bool(s) and accept(make(s), budget), bits=bits)
        except NotATheorem:
            raise BadParameter(
                "budget", budget, "must be one that some noise can meet; no scale up to 2^2000 does"
            ) from None

    if fits is None and isinstance(budget, Approx) and budget.delta and not _is_gaussian(make(Fraction(1))):
        scale = _sharpened(make, budget, closed(_ROUGH), max(width or _COARSE, _COARSE))
        if scale is not None:
            return make(scale)
    return make(closed(fine))


_FINE = Fraction(1, 10**12)
_COARSE = Fraction(1, 10**5)
_ROUGH = 4  # bits of a first guess
_NO_NUMBERS = (NoPrice, BadParameter)  # what the numerical accountant says when it cannot help


def _bits(width: Fraction) -> int:
    return max(1, (width.denominator // width.numerator).bit_length())


def _sharpened(make: Callable[[Fraction], Event], budget: Approx, good: Fraction, width: Fraction) -> Fraction | None:
    """A smaller scale that still fits, by privacy loss distributions; ``good`` fits already. None if they cannot tell.

    δ is about e^{-something smooth} in the scale, so a secant in its logarithm lands close; each step keeps one scale
    that fits and one that does not.
    """
    try:
        at_good = _excess(make(good), budget)
        bad = good / 2
        while (at_bad := _excess(make(bad), budget)) <= 0:
            good, at_good, bad = bad, at_bad, bad / 2
    except _NO_NUMBERS:
        return None  # no pair is known, or a parameter is beyond the floats
    while good - bad > width * good:
        share = 0.5 if at_good > 0 or at_bad - at_good > 50 else at_bad / (at_bad - at_good)
        middle = bad + (good - bad) * Fraction(min(max(share, 0.02), 0.98)).limit_denominator(1 << 20)
        middle = Fraction(round(middle * (1 << 64)), 1 << 64) if middle > Fraction(1, 1 << 20) else middle
        if not bad < middle < good:
            break
        here = _excess(make(middle), budget)
        nudge = width * good / 4
        if here <= 0:
            good, at_good = middle, here
            if good - bad > width * good and _excess(make(good - nudge), budget) > 0:
                bad, at_bad = good - nudge, 0.1
        else:
            bad, at_bad = middle, here
            if good - bad > width * good and _excess(make(bad + nudge), budget) <= 0:
                good, at_good = bad + nudge, -0.1
    return good


def _excess(event: Event, budget: Approx) -> float:
    """log of the certified δ over the budget's δ: at most 0 where the event fits."""
    upper = float(compose(event).delta(budget.epsilon).upper)
    allowed = math.log(budget.delta.numerator) - math.log(budget.delta.denominator)  # δ itself may be below all floats
    if Fraction(upper) <= budget.delta:
        return min(-1e-9, math.log(max(upper, 1e-300)) - allowed)
    return max(1e-9, math.log(upper) - allowed)


def budget_for(event: Event, *, delta: Number = 0) -> Approx:
    """The least ε at this δ that is certified for an event, by closed forms or by its privacy loss distribution.

    >>> from discreet.privacy.promises.events import Laplace
    >>> budget_for(Laplace(scale=2))
    Approx(epsilon='1/2', delta=0)
    >>> float(budget_for(Gaussian(sigma=1), delta=1e-6).epsilon)
    4.886554...
    """
    d = small_probability(delta)
    epsilons = [price.epsilon for price in _prices(event, d)]
    try:
        upper = compose(event).epsilon(d).upper if d else math.inf
    except _NO_NUMBERS:
        upper = math.inf
    if math.isfinite(upper):
        epsilons.append(Fraction(upper))
    if not epsilons:
        raise NoPrice(f"no accountant has a price at this delta for {brief(event)}")
    return Approx(min(epsilons), d)


def covers(event: Event, budget: Measure) -> bool:
    """Whether it is certified that the event keeps the budget; NoPrice if no accountant has a price for it.

    >>> from discreet.privacy.promises.events import Laplace
    >>> covers(Laplace(scale=2), Pure("1/2")), covers(Laplace(scale=2), Approx("0.49", 0))
    (True, False)
    """
    try:
        if _covers_closed(event, budget):
            return True
    except NoPrice:
        if not isinstance(budget, Approx):
            raise
        return _excess(event, budget) <= 0
    try:
        return isinstance(budget, Approx) and bool(budget.delta) and _excess(event, budget) <= 0
    except _NO_NUMBERS:
        return False


def _covers_closed(event: Event, budget: Measure) -> bool:
    """The same by closed forms alone."""
    match budget:
        case Pure(epsilon=e):
            price = price_basic(event)
            return not price.delta and price.epsilon <= e
        case ZCDP():
            return price_zcdp(event) <= budget
        case GDP():
            return price_gdp(event) <= budget
        case Renyi():
            return price_renyi(event, budget.orders) <= budget
        case Approx():
            return _covers_approx(event, budget)


def _covers_approx(event: Event, budget: Approx) -> bool:
    if _is_gaussian(event):
        return _by_gdp(event, budget)  # exact: no other route can say more
    priced = False
    for verdict in (_by_basic, _by_gdp, _by_zcdp, _by_renyi, _by_vectors):
        try:
            if verdict(event, budget):
                return True
            priced = True
        except NoPrice:
            continue
    if not priced:
        raise NoPrice(f"no closed form has a price for {brief(event)}; compose it numerically")
    return False


def _is_gaussian(event: Event) -> bool:
    match event:
        case Gaussian():
            return True
        case Repeat(event=inner):
            return _is_gaussian(inner)
        case Composed(events=parts):
            return all(map(_is_gaussian, parts))
        case _:
            return False


def _by_basic(event: Event, budget: Approx) -> bool:
    return price_basic(event) <= budget


def _by_gdp(event: Event, budget: Approx) -> bool:
    return price_gdp(event) <= largest_gdp(budget)


def _by_zcdp(event: Event, budget: Approx) -> bool:
    price = price_zcdp(event)
    if price.delta:
        return budget.delta > price.delta and zcdp_to_approx(price, delta=budget.delta).epsilon <= budget.epsilon
    return price <= largest_zcdp(budget)


def _by_vectors(event: Event, budget: Approx) -> bool:
    """Discrete Gaussian noise by its distance from continuous noise; what ran beside it by its (ε, δ)."""
    noises, others = _parted(event)
    if not noises:
        raise NoPrice("no discrete Gaussian noise is among what ran")
    box = price_basic(Composed(others))
    left = budget.epsilon - box.epsilon
    return left > 0 and vectors_delta_up(noises, left) + box.delta <= budget.delta


def _parted(event: Event) -> tuple[list[DiscreteGaussian], list[Event]]:
    """The discrete Gaussians among what ran one after the other, and the rest."""
    match event:
        case DiscreteGaussian():
            return [event], []
        case Composed(events=parts):
            parted = [_parted(part) for part in parts]
            return [noise for noises, _ in parted for noise in noises], [noise for _, rest in parted for noise in rest]
        case _:
            return [], [event]


def _by_renyi(event: Event, budget: Approx) -> bool:
    return bool(budget.delta) and renyi_to_approx(price_renyi(event), delta=budget.delta).epsilon <= budget.epsilon


def _prices(event: Event, delta: Fraction) -> Iterator[Approx]:
    """The ε of every closed form that has a price at this δ."""
    routes: list[Callable[[], Approx]] = [lambda: price_basic(event)]
    if delta:
        routes += [
            lambda: gdp_to_approx(price_gdp(event), delta=delta),
            lambda: zcdp_to_approx(price_zcdp(event), delta=delta),
            lambda: renyi_to_approx(price_renyi(event), delta=delta),
        ]
    for route in routes:
        try:
            price = route()
        except (NoPrice, BadParameter):  # no rule for the event, or its own δ is above this one
            continue
        if price.delta <= delta:
            yield price
