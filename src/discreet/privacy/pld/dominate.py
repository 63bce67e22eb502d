"""Which pair stands for an event: one rule per event, and a refusal for the rest.

Promise: the pair returned dominates the event's mechanism, in both directions and under adaptive composition. For
Laplace, Gaussian, their discrete forms in one dimension, randomized response and black boxes it is attained; for the
others it is a pair that holds for every mechanism the event describes.
Believes: events for the pairs; Zhu, Dong and Wang 2022 (Poisson sampling, and that dominating pairs compose);
Kairouz, Oh and Viswanath 2015 (black boxes); pld.md for the exponential mechanism.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import NoPrice
from discreet.privacy.pld.atoms import box, discrete_gaussian, discrete_laplace, response, trade_off
from discreet.privacy.pld.continuous import (
    BoundedRangePair,
    GaussianPair,
    LaplacePair,
    WideDiscreteGaussianPair,
    WideDiscreteLaplacePair,
)
from discreet.privacy.pld.pair import Pair, as_float
from discreet.privacy.pld.subsampled import RemovedPair
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event, MaxNoise, Sampling
from discreet.privacy.promises.neighbours import Neighbours

Leaves = dict[Event, int]

_LISTED = 1 << 12  # losses of discrete noise that are written out one by one
_NARROW = Fraction(2000**2)
_CHOICES = 64


def pair_of(event: Event) -> Pair:
    """The dominating pair of one event that is not made of others, the unit present in P.

    >>> type(pair_of(events.Laplace(scale=10))).__name__
    'LaplacePair'
    """
    match event:
        case events.Laplace(scale=b, sensitivity=d):
            return LaplacePair(d / b, as_float(d / b, "sensitivity/scale"))
        case events.Gaussian():
            return gaussian_pair(event.mu_squared)
        case events.DiscreteLaplace(scale=b, sensitivity=d):
            if d <= _LISTED:
                return discrete_laplace(b, int(d))
            return WideDiscreteLaplacePair(
                d / b, as_float(d / b, "sensitivity/scale"), as_float(b, "scale"), as_float(d, "sensitivity")
            )
        case events.DiscreteGaussian(sigma_squared=v):
            return _discrete_gaussian(event, v)
        case events.RandomizedResponse(epsilon=e, categories=k):
            return response(e, k)
        case events.Exponential(epsilon=e) | events.NoisyMax(epsilon=e, noise=MaxNoise.GUMBEL):
            return BoundedRangePair(e, as_float(e, "epsilon"))
        case (
            events.PermuteAndFlip(epsilon=e)
            | events.NoisyMax(epsilon=e)
            | events.AboveThreshold(epsilon=e)
            | events.Pure(epsilon=e)
        ):
            return box(e, Fraction(0))
        case events.Approx(epsilon=e, delta=d) | events.Threshold(epsilon=e, delta=d):
            return box(e, d)
        case events.TradeOff():
            return trade_off(event)
        case events.Stated():
            return pair_of(_with_pair(event))
        case events.Subsampled():
            return _subsampled(event)
        case events.ZCDP():
            raise NoPrice("a zCDP promise has no single dominating pair: price it with zCDP, or name the mechanism")
        case _:
            raise NoPrice(f"no dominating pair is known for {event!r}")


def gaussian_pair(mu_squared: Fraction) -> GaussianPair:
    """N(0, 1) against N(μ, 1), μ rounded."""
    return GaussianPair(as_float(mu_squared, "(sensitivity/sigma)²") ** 0.5)


def _discrete_gaussian(event: events.DiscreteGaussian, variance: Fraction) -> Pair:
    shift = event.shift
    if shift is None:
        raise NoPrice(
            "no one pair is known to dominate discrete Gaussian noise when several coordinates move: use zCDP"
        )
    if variance <= _NARROW and shift <= _LISTED:
        return discrete_gaussian(variance, shift)
    if variance < _NARROW:
        raise NoPrice("this discrete Gaussian noise is too narrow for its sensitivity to say anything: use zCDP")
    return WideDiscreteGaussianPair(
        as_float(variance, "sigma_squared") ** 0.5, as_float(Fraction(shift), "sensitivity")
    )


def _subsampled(event: events.Subsampled) -> Pair:
    if event.how is not Sampling.POISSON:
        raise NoPrice("samples without replacement have no proven dominating pair here: price them with Rényi or basic")
    if event.neighbours is not Neighbours.ADD_REMOVE:
        raise NoPrice("the pairs of Poisson sampling are proven for adding or removing a unit, not for changing one")
    rate, inner = event.rate, event.event
    while isinstance(inner, events.Subsampled):
        if inner.how is not Sampling.POISSON or inner.neighbours is not Neighbours.ADD_REMOVE:
            return _subsampled(inner)  # refuses, and says why
        rate, inner = rate * inner.rate, inner.event
    if isinstance(inner, (events.Repeat, events.Composed, events.Parallel)):
        raise NoPrice("several releases from one secret sample have no pair here: sample anew for each, or use Rényi")
    pair = pair_of(inner)
    return pair if rate == 1 else RemovedPair(pair, rate)


def _with_pair(event: events.Stated) -> Event:
    """The event itself where a pair is known for it, else anything that keeps the (ε, δ) stated."""
    try:
        pair_of(event.event)
    except NoPrice:
        return events.Approx(event.epsilon, event.delta)
    return event.event


def lost_mass(event: Event) -> Fraction:
    """The probability that this event gives the input away: the mass at infinite loss, exactly."""
    match event:
        case events.Approx(delta=d) | events.Threshold(delta=d):
            return d
        case events.TradeOff():
            return event.lost
        case events.Stated():
            return lost_mass(_with_pair(event))
        case events.Subsampled(event=inner, rate=r):
            return r * lost_mass(inner)
        case _:
            return Fraction(0)


# --- events made of events ----------------------------------------------------------------------------------------


def alternatives(given: list[tuple[Event, int]]) -> list[Leaves]:
    """Which leaves one unit can meet, and how often each: one dictionary per way through the parallel parts."""
    sums: list[Leaves] = [{}]
    for event, times in given:
        options = _options(event, times)
        sums = _distinct([_sum(a, b) for a in sums for b in options])
        if len(sums) > _CHOICES:
            raise NoPrice("the parts that ran in parallel differ in too many ways: price the worst part by itself")
    return sums


def _options(event: Event, times: int) -> list[Leaves]:
    match event:
        case events.Stated(event=inner):
            return _options(inner if _has_pairs(inner) else _with_pair(event), times)
        case events.Repeat(event=inner, times=k):
            return _options(inner, times * k)
        case events.Composed(events=parts):
            return _powers(alternatives([(part, 1) for part in parts]), times)
        case events.Parallel(events=parts):
            return _powers(_worst(_distinct([leaves for part in parts for leaves in _options(part, 1)])), times)
        case _:
            return [{event: times}]


def _has_pairs(event: Event) -> bool:
    try:
        for leaf in {leaf for leaves in _options(event, 1) for leaf in leaves}:
            pair_of(leaf)
    except NoPrice:
        return False
    return True


def _powers(options: list[Leaves], times: int) -> list[Leaves]:
    """Every way to pick one option ``times`` times, in any order."""
    if len(options) <= 1:
        return [{event: n * times for event, n in leaves.items()} for leaves in options] or [{}]
    sums: list[Leaves] = [{}]
    for _ in range(times):
        sums = _distinct([_sum(a, b) for a in sums for b in options])
        if len(sums) > _CHOICES:
            raise NoPrice("the parts that ran in parallel differ in too many ways: price the worst part by itself")
    return sums


def _worst(options: list[Leaves]) -> list[Leaves]:
    """Leave out an option that is one event, when another is the same kind of event with less noise."""
    best: dict[object, Leaves] = {}
    rest: list[Leaves] = []
    for leaves in options:
        kind = _strength(leaves)
        if kind is None:
            rest.append(leaves)
            continue
        name, strength = kind
        other = best.get(name)
        stronger = _strength(other) if other is not None else None
        if stronger is None or strength > stronger[1]:
            best[name] = leaves
    return [*best.values(), *rest]


def _strength(leaves: Leaves) -> tuple[object, Fraction] | None:
    """A family in which a larger number dominates a smaller one, and that number."""
    if len(leaves) != 1:
        return None
    ((event, times),) = leaves.items()
    match event:
        case events.Gaussian():
            return "gaussian", times * event.mu_squared
        case events.Laplace(scale=b, sensitivity=d) if times == 1:
            return "laplace", d / b
        case events.Pure(epsilon=e) if times == 1:
            return "pure", e
        case events.Exponential(epsilon=e) if times == 1:
            return "range", e
        case events.RandomizedResponse(epsilon=e, categories=k) if times == 1:
            return ("response", k), e
        case _:
            return None


def _sum(a: Leaves, b: Leaves) -> Leaves:
    result = dict(a)
    for event, times in b.items():
        result[event] = result.get(event, 0) + times
    return result


def _distinct(options: list[Leaves]) -> list[Leaves]:
    if len(options) == 1:
        return options
    seen: dict[frozenset[tuple[Event, int]], Leaves] = {}
    for leaves in options:
        seen.setdefault(frozenset(leaves.items()), leaves)
    return list(seen.values())
