"""What ran, written down: one frozen record per kind of release. Accountants price them; they know no price.

Promise: the meaning of an event never changes. A new meaning is a new class.
Believes: whoever writes an event down ran a mechanism whose pair of laws is at most as far apart as the event's.

P and Q are the laws of the output on two neighbouring inputs. The caller fixes which inputs are neighbours, and a
sensitivity is stated for that relation: how far the exact answer moves between two neighbours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, TypeVar

from discreet.errors import BadParameter
from discreet.exact import Number, integer, non_negative, number, positive, probability, sqrt_up
from discreet.privacy.promises.measures import small_probability, square_of
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.record import Record

_E = TypeVar("_E", bound=Enum)
_WHOLE = "must be a whole number: the noise lives on the integers, so the answer moves in whole steps"


class Event(Record):
    """Something that was released. Equal events have equal laws."""

    __slots__ = ()


# --- additive noise -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Laplace(Event):
    """The answer plus noise of density e^{-|z|/scale}/(2 scale) in each coordinate; sensitivity is in L1.

    The pair is noise around 0 against noise around ``sensitivity`` on the line. It dominates every move of L1
    length ``sensitivity`` in any dimension: the noise is log-concave, so the largest power of a test after a move by
    a and then by b is the largest power after a move by a + b, and coordinates may be moved one after the other.

    >>> Laplace(scale=10)
    Laplace(scale=10, sensitivity=1)
    """

    scale: Fraction
    sensitivity: Fraction

    def __init__(self, scale: Number, sensitivity: Number = 1) -> None:
        self.fill(scale=positive(scale, "scale"), sensitivity=positive(sensitivity, "sensitivity"))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class DiscreteLaplace(Event):
    """A whole-number answer plus noise P(z) ∝ e^{-|z|/scale} in each coordinate; sensitivity is in L1, and whole.

    The pair is noise around 0 against noise around ``sensitivity`` on the integers; it dominates as in Laplace.

    >>> DiscreteLaplace(scale="1/2", sensitivity=3)
    DiscreteLaplace(scale='1/2', sensitivity=3)
    """

    scale: Fraction
    sensitivity: Fraction

    def __init__(self, scale: Number, sensitivity: Number = 1) -> None:
        moved = positive(sensitivity, "sensitivity")
        if moved.denominator != 1:
            raise BadParameter("sensitivity", sensitivity, _WHOLE)
        self.fill(scale=positive(scale, "scale"), sensitivity=moved)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Gaussian(Event):
    """The answer plus independent N(0, σ²) in each coordinate; sensitivity is in L2.

    The pair is N(0, σ²) against N(sensitivity, σ²) on the line, in any dimension, since the noise is round.
    Squares are kept, since σ or the sensitivity may be a root such as √2.

    >>> Gaussian(sigma=10), Gaussian(sigma_squared=2, sensitivity_squared=2).mu_squared
    (Gaussian(sigma_squared=100, sensitivity_squared=1), Fraction(1, 1))
    """

    sigma_squared: Fraction
    sensitivity_squared: Fraction

    def __init__(
        self,
        sigma: Number | None = None,
        sensitivity: Number | None = None,
        *,
        sigma_squared: Number | None = None,
        sensitivity_squared: Number | None = None,
    ) -> None:
        self.fill(
            sigma_squared=square_of("sigma", sigma, sigma_squared, positive),
            sensitivity_squared=_moved_squared(sensitivity, sensitivity_squared),
        )

    @property
    def mu_squared(self) -> Fraction:
        """(sensitivity / σ)², all that the pair of laws depends on."""
        return self.sensitivity_squared / self.sigma_squared

    @property
    def sigma(self) -> Fraction:
        """The standard deviation, exact or rounded up."""
        return sqrt_up(self.sigma_squared)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class DiscreteGaussian(Event):
    """A whole-number answer plus noise P(z) ∝ e^{-z²/(2σ²)} in each of ``dimension`` coordinates; sensitivity is in L2.

    In one dimension the pair is noise around 0 against noise around ``sensitivity``, on the integers. In more, the
    answer moves by any vector of integers of that length at most (its square is whole), and no one pair is known to
    dominate, except when the length is 1: then one coordinate moves by one. σ² is the parameter, not the variance.

    >>> DiscreteGaussian(sigma=10, sensitivity=2)
    DiscreteGaussian(sigma_squared=100, sensitivity_squared=4, dimension=1)
    """

    sigma_squared: Fraction
    sensitivity_squared: Fraction
    dimension: int

    def __init__(
        self,
        sigma: Number | None = None,
        sensitivity: Number | None = None,
        dimension: int = 1,
        *,
        sigma_squared: Number | None = None,
        sensitivity_squared: Number | None = None,
    ) -> None:
        moved = _moved_squared(sensitivity, sensitivity_squared)
        dimension = integer(dimension, "dimension", at_least=1)
        if moved.denominator != 1 or (dimension == 1 and math.isqrt(moved.numerator) ** 2 != moved):
            raise BadParameter("sensitivity", sensitivity if sensitivity is not None else sensitivity_squared, _WHOLE)
        self.fill(
            sigma_squared=square_of("sigma", sigma, sigma_squared, positive),
            sensitivity_squared=moved,
            dimension=dimension,
        )

    @property
    def shift(self) -> int | None:
        """How far the one coordinate that moves can move, or None where several may move together."""
        if self.dimension == 1 or self.sensitivity_squared == 1:
            return math.isqrt(self.sensitivity_squared.numerator)
        return None

    @property
    def sigma(self) -> Fraction:
        """The parameter σ, exact or rounded up."""
        return sqrt_up(self.sigma_squared)


def _moved_squared(sensitivity: Number | None, squared: Number | None) -> Fraction:
    if sensitivity is None and squared is None:
        return Fraction(1)
    return square_of("sensitivity", sensitivity, squared, positive)


# --- choosing -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, init=False, repr=False)
class RandomizedResponse(Event):
    """One unit's value among ``categories``: kept with p = e^ε/(e^ε + k - 1), else one of the others, all alike.

    The pair is the report of one value against that of another: probabilities (p, r, r, ...) against
    (r, p, r, ...), with r = 1/(e^ε + k - 1). Neighbours differ in that unit's value.

    >>> RandomizedResponse(epsilon=1, categories=5)
    RandomizedResponse(epsilon=1, categories=5)
    """

    epsilon: Fraction
    categories: int

    def __init__(self, epsilon: Number, categories: int = 2) -> None:
        self.fill(epsilon=positive(epsilon, "epsilon"), categories=integer(categories, "categories", at_least=2))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Exponential(Event):
    """A choice by the exponential mechanism: the privacy loss has *range* ε, so it is ε-differentially private too.

    Range ε: log P(i)/Q(i) - log P(j)/Q(j) <= ε for all candidates i, j. So it is for P(i) ∝ e^{ε u_i/(2Δ)}, where
    Δ is how far any score moves between neighbours, and for e^{ε u_i/Δ} when scores all move the same way.
    """

    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        self.fill(epsilon=positive(epsilon, "epsilon"))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PermuteAndFlip(Event):
    """A choice by permute-and-flip: ε-differentially private, but its loss does *not* have range ε.

    Candidates come in random order; i is taken with probability e^{ε (u_i - max u)/(2Δ)} (McKenna, Sheldon 2020).

    >>> PermuteAndFlip("1/2")
    PermuteAndFlip(epsilon='1/2')
    """

    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        self.fill(epsilon=positive(epsilon, "epsilon"))


class MaxNoise(Enum):
    """The noise that a noisy maximum adds to each score."""

    LAPLACE = "laplace"
    EXPONENTIAL = "exponential"
    GUMBEL = "gumbel"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class NoisyMax(Event):
    """The candidate with the largest noisy score (its name alone), noise of scale 2Δ/ε, or Δ/ε for monotone scores.

    ε-differentially private for each noise. With GUMBEL noise it has the law of Exponential, and so range ε; with
    EXPONENTIAL noise that of PermuteAndFlip; with LAPLACE noise a law of its own. Neither has range ε.

    >>> NoisyMax("1/2").noise
    <MaxNoise.LAPLACE: 'laplace'>
    """

    epsilon: Fraction
    noise: MaxNoise

    def __init__(self, epsilon: Number, noise: MaxNoise = MaxNoise.LAPLACE) -> None:
        self.fill(epsilon=positive(epsilon, "epsilon"), noise=_member(noise, MaxNoise, "noise"))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Threshold(Event):
    """Which keys exist, by a noisy count at least a threshold: (ε, δ) for the whole set of keys together.

    >>> Threshold(1, "1e-6")
    Threshold(epsilon=1, delta='1/1000000')
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        self.fill(epsilon=non_negative(epsilon, "epsilon"), delta=small_probability(delta))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class AboveThreshold(Event):
    """A whole run of the sparse vector technique, all questions and its last positive answer: ε in total.

    Interactive: the analyst chooses the next question after seeing the last answer (Lyu, Su and Li 2017, Alg. 1).

    >>> AboveThreshold(1)
    AboveThreshold(epsilon=1)
    """

    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        self.fill(epsilon=positive(epsilon, "epsilon"))


# --- black boxes --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Pure(Event):
    """Anything ε-differentially private; nothing else is known of it.

    Dominated by randomized response on two values (Kairouz, Oh and Viswanath 2015).
    """

    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        self.fill(epsilon=non_negative(epsilon, "epsilon"))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Approx(Event):
    """Anything (ε, δ)-differentially private; nothing else is known of it.

    Dominated by: with probability δ say which input it was, else randomized response on two values.
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        self.fill(epsilon=non_negative(epsilon, "epsilon"), delta=small_probability(delta))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ZCDP(Event):
    """Anything that is (δ-approximately) ρ-zero-concentrated differentially private; nothing else is known of it."""

    rho: Fraction
    delta: Fraction

    def __init__(self, rho: Number, delta: Number = 0) -> None:
        self.fill(rho=non_negative(rho, "rho"), delta=small_probability(delta))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class TradeOff(Event):
    """Anything f-differentially private for the f with these knots; nothing else is known of it (Dong, Roth, Su 2022).

    f(a) is the least rate of misses of a test between neighbours that raises false alarms at rate a. The knots
    (a, f(a)) start at a = 0 and go no further than f(a) = a; f is linear between them, and its own mirror image beyond,
    since neighbours may be exchanged. It must be convex and at most 1 - a.

    >>> TradeOff({0: 1, "0.1": "0.5", "0.25": "0.25"}).steepest
    Fraction(5, 1)
    """

    knots: tuple[tuple[Fraction, Fraction], ...]

    def __init__(self, knots: Mapping[Any, Any] | Iterable[tuple[Number, Number]]) -> None:
        given: Any = knots
        listed = given.items() if isinstance(given, Mapping) else given
        if not isinstance(listed, Iterable) or isinstance(listed, (str, bytes)):
            raise BadParameter("knots", given, 'must be pairs of rates, as in {0: 1, "0.1": "0.5", "0.25": "0.25"}')
        pairs = [tuple(pair) if isinstance(pair, (tuple, list)) else () for pair in listed]
        if not all(len(pair) == 2 for pair in pairs):
            raise BadParameter("knots", given, "must be pairs: a rate of false alarms and the least rate of misses")
        self.fill(knots=_curve(tuple((probability(a, "knots"), probability(b, "knots")) for a, b in pairs)))

    @property
    def line(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """All knots, those of the mirror image too."""
        mirrored = tuple((b, a) for a, b in reversed(self.knots))
        return self.knots + (mirrored[1:] if self.knots[-1] == mirrored[0] else mirrored)

    @property
    def steepest(self) -> Fraction:
        """e^ε of the steepest part: by so much at most one rate can grow faster than the other."""
        (a, b), (c, d) = self.line[:2]
        return (b - d) / (c - a)

    @property
    def lost(self) -> Fraction:
        """1 - f(0): what is found without any false alarm."""
        return 1 - self.knots[0][1]


# --- events made of events ----------------------------------------------------------------------------------------


class Sampling(Enum):
    """How a sample of the units is drawn before a mechanism sees it."""

    POISSON = "each unit by itself with probability rate"
    WITHOUT_REPLACEMENT = "a uniform subset of exactly rate times n units, n public"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Subsampled(Event):
    """``event`` ran once on a secret random sample of the units.

    The inner event is stated for the same relation, between two samples. POISSON with ADD_REMOVE (its default): if
    P is the law with the unit in the sample and Q without it, the pairs are ((1-q)Q + qP, Q) and (Q, (1-q)Q + qP),
    both (Zhu, Dong and Wang 2022). WITHOUT_REPLACEMENT defaults to CHANGE_ONE, where n is public. A shuffled and
    cut deck is neither.

    >>> Subsampled(Gaussian(sigma=1), rate="0.01").neighbours
    <Neighbours.ADD_REMOVE: 'add or remove one unit'>
    """

    event: Event
    rate: Fraction
    how: Sampling
    neighbours: Neighbours

    def __init__(
        self, event: Event, rate: Number, how: Sampling = Sampling.POISSON, neighbours: Neighbours | None = None
    ) -> None:
        how = _member(how, Sampling, "how")
        natural = Neighbours.ADD_REMOVE if how is Sampling.POISSON else Neighbours.CHANGE_ONE
        q = number(rate, "rate")
        if not 0 < q <= 1:
            raise BadParameter("rate", rate, "must be above 0 and at most 1")
        relation = natural if neighbours is None else _member(neighbours, Neighbours, "neighbours")
        self.fill(event=_event(event), rate=q, how=how, neighbours=relation)
        _agree([self.event], relation)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Repeat(Event):
    """``event`` ran ``times`` times on the same data, with fresh randomness, one after the other."""

    event: Event
    times: int

    def __init__(self, event: Event, times: int) -> None:
        self.fill(event=_event(event), times=integer(times, "times", at_least=1))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Composed(Event):
    """All of ``events`` ran on the same data, one after the other; all were declared in advance.

    What each one asks may depend on earlier answers; which events they are may not. None at all costs nothing.

    >>> Composed([Pure("0.1"), Gaussian(sigma=2)])
    Composed(events=[Pure(epsilon='1/10'), Gaussian(sigma_squared=4, sensitivity_squared=1)])
    """

    events: tuple[Event, ...]

    def __init__(self, events: Iterable[Event]) -> None:
        self.fill(events=_events(events))
        _agree(self.events)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Interactive(Event):
    """``event`` describes all answers of a mechanism that stays open, with hidden randomness, while others are asked.

    Its price is that of ``event``; a budget whose theorem does not cover interleaving refuses it, or keeps it alone.

    >>> Interactive(ZCDP("1/2", "1e-9"))
    Interactive(event=ZCDP(rho='1/2', delta='1/1000000000'))
    """

    event: Event

    def __init__(self, event: Event) -> None:
        self.fill(event=_event(event))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Parallel(Event):
    """Each of ``events`` ran on its own part of the data; the parts are disjoint and fixed without looking.

    Stated for ADD_REMOVE: one unit is in one part. When units may *change*, one can leave a part and enter another:
    price the change as two steps, with ``group(2)`` on the price.

    >>> len(Parallel([Laplace(scale=2), Laplace(scale=4)]).events)
    2
    """

    events: tuple[Event, ...]

    def __init__(self, events: Iterable[Event]) -> None:
        self.fill(events=_events(events))
        _agree(self.events, Neighbours.ADD_REMOVE)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Stated(Event):
    """``event`` ran, and is known to be (ε, δ)-differentially private: a Gaussian with the (ε, δ) it was made for.

    Both are true of the same release, so an accountant takes the one that it can add up. Whoever writes it down has a
    proof of the (ε, δ), for the relation between neighbours that ``event`` is stated for; it is not checked here.

    >>> Stated(DiscreteGaussian(sigma=5), epsilon=1, delta="1e-6")
    Stated(event=DiscreteGaussian(sigma_squared=25, sensitivity_squared=1, dimension=1), epsilon=1, delta='1/1000000')
    """

    event: Event
    epsilon: Fraction
    delta: Fraction

    def __init__(self, event: Event, epsilon: Number, delta: Number) -> None:
        self.fill(event=_event(event), epsilon=non_negative(epsilon, "epsilon"), delta=small_probability(delta))


def stated_for(event: Event) -> Neighbours | None:
    """The relation that an event names itself, if it does: that of its samples, or ADD_REMOVE for parallel parts.

    >>> stated_for(Parallel([Pure(1), Pure(1)]))
    <Neighbours.ADD_REMOVE: 'add or remove one unit'>
    """
    match event:
        case Subsampled(neighbours=relation):
            return relation
        case Parallel():
            return Neighbours.ADD_REMOVE
        case Repeat(event=inner) | Stated(event=inner) | Interactive(event=inner):
            return stated_for(inner)
        case Composed(events=parts):
            return next((named for named in map(stated_for, parts) if named is not None), None)
        case _:
            return None


def _agree(parts: Iterable[Event], relation: Neighbours | None = None) -> None:
    """Refuse parts that name different relations: their prices together would hold for neither."""
    for part in parts:
        named = stated_for(part)
        if relation is not None and named not in (None, relation):
            raise BadParameter("event", part, f"must be stated for {relation.value!r}, as what surrounds it is")
        relation = relation or named


def _event(event: Event) -> Event:
    given: object = event
    if not isinstance(given, Event):
        raise BadParameter("event", given, "must be an event, such as events.Gaussian(sigma=10)")
    return given


def _events(events: Iterable[Event]) -> tuple[Event, ...]:
    given: object = events
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes)):
        raise BadParameter("events", given, "must be a sequence of events")
    return tuple(_event(event) for event in given)


def _member(value: _E, kind: type[_E], name: str) -> _E:
    given: object = value
    if not isinstance(given, kind):
        raise BadParameter(name, given, f"must be one of {', '.join(f'{kind.__name__}.{m.name}' for m in kind)}")
    return given


def _curve(knots: tuple[tuple[Fraction, Fraction], ...]) -> tuple[tuple[Fraction, Fraction], ...]:
    """The knots, if they and their mirror image are a convex curve below 1 - a."""
    if not knots or knots[0][0] or not knots[0][1]:
        raise BadParameter("knots", knots, "must start at 0 false alarms, with some misses")
    line = [*knots, *((b, a) for a, b in reversed(knots) if a != b)]
    steps = [(c - a, b - d) for (a, b), (c, d) in itertools.pairwise(line)]
    falls = all(right > 0 and down > 0 for right, down in steps)
    bends = all(down * right2 >= down2 * right for (right, down), (right2, down2) in itertools.pairwise(steps))
    if not falls or not bends or any(a > b or a + b > 1 for a, b in knots):
        raise BadParameter(
            "knots", knots, "must be a convex curve with its mirror image, at most 1 - a, up to where it meets f(a) = a"
        )
    return knots
