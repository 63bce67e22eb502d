"""The privacy loss: how much one output speaks for one of two inputs, as a random variable that one can hold.

L = ln(P[M(x) = y] / P[M(x') = y]) for y drawn from M(x). Pure ε says that L is at most ε; (ε, δ) that E max(0, 1 -
e^(ε - L)) is at most δ; ρ-zCDP that E e^((α-1) L) is at most e^((α-1) α ρ) for all α > 1, as for a normal L with mean ρ
and variance 2ρ.

Promise: every ``Bound`` encloses the truth. Of an event it is the loss of its dominating pair, attained by the
mechanism itself for Laplace and Gaussian noise in one dimension, randomized response and black boxes.
Believes: exact.py, numerics/normal.py, and for several events together accountants/compose.py. Proof: loss.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Any, Protocol

from discreet.errors import BadParameter, NoPrice
from discreet.exact import Number, exp_down, exp_up, log_down, log_up, non_negative, number, sqrt_down, sqrt_up
from discreet.picture import new_figure
from discreet.privacy.accountants import discrete_gaussian as normal_law
from discreet.privacy.accountants.compose import Composition, compose
from discreet.privacy.accountants.conversions import gdp_delta
from discreet.privacy.numerics import normal
from discreet.privacy.promises import events
from discreet.privacy.promises.bound import Bound
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import GDP

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Interval = tuple[Fraction, Fraction]
Law = Mapping[Any, "Number | tuple[Number, Number]"]


class WithLaw(Protocol):
    """What is needed of a mechanism or a randomizer: how it reads a value, and the law of its output."""

    def read(self, value: Any, /) -> Any:
        """The exact input."""

    def law(self, value: Any, /) -> Mapping[Any, Any]:
        """The probability of each output, or bounds of it."""


_WIDEST = 4096  # shifts of discrete Laplace noise that are listed
_STEPS = tuple(Fraction(4, 1 << k) for k in range(9))
_ZERO = Fraction(0)
_SURE = (Fraction(1), Fraction(1))
_UNLISTED = Fraction(1, 1 << 100)  # what the law of a mechanism may leave out, unless it lists all outputs


class PrivacyLoss(ABC):
    """The law of a privacy loss. Made by ``privacy_loss``."""

    @property
    @abstractmethod
    def mean(self) -> Bound:
        """E L: the Kullback-Leibler divergence of the two laws."""

    @property
    @abstractmethod
    def variance(self) -> Bound:
        """Of L."""

    @abstractmethod
    def tail(self, epsilon: Number) -> Bound:
        """P[L > ε]."""

    @abstractmethod
    def delta(self, epsilon: Number) -> Bound:
        """E max(0, 1 - e^(ε - L)): the least δ at this ε, in this direction. At most the tail."""

    @abstractmethod
    def renyi(self, order: Number) -> Bound:
        """ln E e^((α-1) L) / (α - 1): the Rényi divergence of order α > 1. ρ-zCDP: at most ρα for all of them."""

    @property
    @abstractmethod
    def largest(self) -> Bound:
        """The largest loss that can occur: the pure ε."""

    def __repr__(self) -> str:
        """Short: exact probabilities may have thousands of digits each."""
        return f"{type(self).__name__}(largest={self.largest.upper:.6g})"

    def _middle(self) -> tuple[float, float]:
        """About the mean and the deviation, for a picture; 0 and 1 where they are infinite."""
        mean, variance = self.mean.upper, self.variance.upper
        return (float(mean), math.sqrt(variance)) if math.isfinite(variance) else (0.0, 1.0)

    def plot(self) -> Figure:
        """P[L > ε] against ε, and δ(ε) below it, both certified upper bounds."""
        middle, deviation = self._middle()
        spread = 4 * deviation
        places = [Fraction(middle + spread * (i - 40) / 40).limit_denominator(10**6) for i in range(81)]
        figure = new_figure(6, 4)
        axes = figure.subplots()
        axes.step([float(x) for x in places], [float(self.tail(x).upper) for x in places], label="P[loss > ε]")
        above = [x for x in places if x >= 0]
        axes.plot([float(x) for x in above], [float(self.delta(x).upper) for x in above], label="δ(ε)")
        axes.set_xlabel("ε")
        axes.set_title("Privacy loss")
        axes.grid(alpha=0.3)
        axes.legend()
        return figure


@dataclass(frozen=True, slots=True)
class Atom:
    """A loss with its probabilities under both inputs, each enclosed; the loss is None where it is infinite."""

    loss: Interval | None
    probability: Interval
    other: Interval


@dataclass(frozen=True, repr=False)
class FiniteLoss(PrivacyLoss):
    """A loss with finitely many values. ``missing``: at most so much probability was left out of the law."""

    atoms: tuple[Atom, ...]
    missing: Fraction = _ZERO

    def law(self) -> list[tuple[float, float]]:
        """The values and their probabilities, the largest loss first, each rounded to the middle of its bounds.

        >>> privacy_loss(events.RandomizedResponse(epsilon=1)).law()
        [(1.0, 0.731...), (-1.0, 0.268...)]
        """
        merged: dict[Interval | None, Fraction] = {}
        for atom in self.atoms:
            merged[atom.loss] = merged.get(atom.loss, _ZERO) + (atom.probability[0] + atom.probability[1]) / 2
        pairs = [(math.inf if loss is None else float((loss[0] + loss[1]) / 2), float(p)) for loss, p in merged.items()]
        return sorted(pairs, reverse=True)

    def _middle(self) -> tuple[float, float]:
        """Of the values that are listed, if something was left out of the law."""
        if not self.missing:
            return super()._middle()
        finite = [(loss, p) for loss, p in self.law() if math.isfinite(loss)]
        mean = sum(loss * p for loss, p in finite)
        return mean, math.sqrt(sum((loss - mean) ** 2 * p for loss, p in finite)) or 1.0

    def _sum(self, value: Callable[[Interval], Interval]) -> Bound:
        """The sum of p f(loss), where ``value`` encloses f on an interval."""
        if self.missing:
            raise NoPrice(
                f"the loss of outputs that are not listed may be any, and they have a probability of"
                f" {float(self.missing):g}: ask for the tail or δ, or for the loss of an event"
            )
        low = high = _ZERO
        for atom in self.atoms:
            if atom.loss is None:
                return Bound(math.inf, math.inf) if atom.probability[0] else Bound(-math.inf, math.inf)
            products = [p * v for p in atom.probability for v in value(atom.loss)]
            low, high = low + min(products), high + max(products)
        return Bound.outwards(low, high)

    @property
    def mean(self) -> Bound:
        """The sum over the values."""
        return self._sum(lambda loss: loss)

    @property
    def variance(self) -> Bound:
        """E L² - (E L)²."""
        mean = self.mean
        if math.isinf(mean.upper):
            return mean
        second = self._sum(_square)
        squares = _square((Fraction(mean.lower), Fraction(mean.upper)))
        low, high = Fraction(second.lower) - squares[1], Fraction(second.upper) - squares[0]
        return Bound.outwards(max(low, _ZERO), max(high, _ZERO))

    def tail(self, epsilon: Number) -> Bound:
        """Certain losses above ε, and possible ones."""
        place = number(epsilon, "epsilon")
        low = sum((a.probability[0] for a in self.atoms if a.loss is None or a.loss[0] > place), _ZERO)
        high = sum((a.probability[1] for a in self.atoms if a.loss is None or a.loss[1] > place), self.missing)
        return Bound.outwards(low, min(high, Fraction(1)))

    def delta(self, epsilon: Number) -> Bound:
        """The sum of max(0, p - e^ε p')."""
        place = number(epsilon, "epsilon")
        power = exp_down(place), exp_up(place)
        low = sum((max(_ZERO, a.probability[0] - power[1] * a.other[1]) for a in self.atoms), _ZERO)
        high = sum((max(_ZERO, a.probability[1] - power[0] * a.other[0]) for a in self.atoms), self.missing)
        return Bound.outwards(low, min(high, Fraction(1)))

    def renyi(self, order: Number) -> Bound:
        """From the sum of p e^((α-1) loss)."""
        step = _order(order) - 1
        moment = self._sum(lambda loss: (exp_down(step * loss[0]), exp_up(step * loss[1])))
        if math.isinf(moment.upper):
            return moment
        return Bound.outwards(log_down(Fraction(moment.lower)) / step, log_up(Fraction(moment.upper)) / step)

    @property
    def largest(self) -> Bound:
        """Over all values of positive probability."""
        if self.missing or any(a.loss is None and a.probability[0] for a in self.atoms):
            return Bound(_highest(self.atoms, 0), math.inf) if self.missing else Bound(math.inf, math.inf)
        return Bound(_highest(self.atoms, 0), _highest(self.atoms, 1))


def _highest(atoms: Sequence[Atom], side: int) -> float:
    values = [a.loss[side] for a in atoms if a.loss is not None and a.probability[1]]
    bound = Bound.outwards(max(values), max(values))
    return float((bound.lower, bound.upper)[side])


def _square(loss: Interval) -> Interval:
    low, high = sorted(x * x for x in loss)
    return (_ZERO if loss[0] < 0 < loss[1] else low), high


def _order(order: Number) -> Fraction:
    alpha = number(order, "order")
    if alpha <= 1:
        raise BadParameter("order", order, "must be above 1")
    return alpha


@dataclass(frozen=True, repr=False)
class GaussianLoss(PrivacyLoss):
    """Of Gaussian noise: itself normal, with mean μ²/2 and variance μ², μ the sensitivity over σ."""

    mu_squared: Fraction

    @property
    def mean(self) -> Bound:
        """μ²/2."""
        return Bound.outwards(self.mu_squared / 2, self.mu_squared / 2)

    @property
    def variance(self) -> Bound:
        """μ²: twice the mean."""
        return Bound.outwards(self.mu_squared, self.mu_squared)

    def tail(self, epsilon: Number) -> Bound:
        """Φ(μ/2 - ε/μ)."""
        off = self.mu_squared / 2 - number(epsilon, "epsilon")
        ends = sorted((off / sqrt_down(self.mu_squared), off / sqrt_up(self.mu_squared)))
        return Bound.outwards(normal.cdf_down(ends[0]), normal.cdf_up(ends[1]))

    def delta(self, epsilon: Number) -> Bound:
        """Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ)."""
        exact = gdp_delta(GDP(mu_squared=self.mu_squared), non_negative(epsilon, "epsilon"))
        return Bound.outwards(Fraction(exact.lower), Fraction(exact.upper))

    def renyi(self, order: Number) -> Bound:
        """αμ²/2."""
        value = _order(order) * self.mu_squared / 2
        return Bound.outwards(value, value)

    @property
    def largest(self) -> Bound:
        """Infinite: the loss may be any number."""
        return Bound(math.inf, math.inf)


@dataclass(frozen=True, repr=False)
class DiscreteGaussianLoss(PrivacyLoss):
    """Of discrete Gaussian noise Z moved by d: d²/2σ² - dZ/σ², which has no end."""

    sigma_squared: Fraction
    moved: int

    def law(self) -> list[tuple[float, float]]:
        """The values and their probabilities, the largest loss first; what is left out has mass below 2^-100.

        >>> privacy_loss(events.DiscreteGaussian(sigma=1)).law()[15:18]
        [(1.5, 0.241...), (0.5, 0.398...), (-0.5, 0.241...)]
        """
        reach = 1
        while normal_law.tail_up(self.sigma_squared, reach + 1) > _UNLISTED / 2:
            reach *= 2
        if reach > _WIDEST:
            raise NoPrice(f"the loss has more than {2 * _WIDEST} values: ask for its mean, variance, tail and δ")
        values = [(self._value(z), normal_law.pmf(self.sigma_squared, z)) for z in range(-reach, reach + 1)]
        return [(float(loss), float((low + high) / 2)) for loss, (low, high) in values]

    def _value(self, z: int) -> Fraction:
        return (self.moved**2 - 2 * self.moved * z) / (2 * self.sigma_squared)

    @property
    def mean(self) -> Bound:
        """d²/2σ², as of the normal law: E Z = 0."""
        return Bound.outwards(self._value(0), self._value(0))

    @property
    def variance(self) -> Bound:
        """d²/σ⁴ times that of Z, which is below σ²."""
        each = self.moved**2 / self.sigma_squared**2
        low, high = normal_law.variance(self.sigma_squared)
        return Bound.outwards(each * low, each * high)

    def tail(self, epsilon: Number) -> Bound:
        """P[Z < d/2 - εσ²/d] = P[Z > εσ²/d - d/2]."""
        first = self._first(number(epsilon, "epsilon"))
        low, high = normal_law.tail_down(self.sigma_squared, first), normal_law.tail_up(self.sigma_squared, first)
        return Bound.outwards(low, high)

    def _first(self, epsilon: Fraction) -> int:
        """The least z = -Z whose loss is above ε."""
        return floor(epsilon * self.sigma_squared / self.moved - Fraction(self.moved, 2)) + 1

    def delta(self, epsilon: Number) -> Bound:
        """P[L > ε] - e^ε P'[L > ε], where Z is moved by d."""
        place = number(epsilon, "epsilon")
        first, tail_down, tail_up = self._first(place), normal_law.tail_down, normal_law.tail_up
        other = first + self.moved
        low = tail_down(self.sigma_squared, first) - exp_up(place) * tail_up(self.sigma_squared, other)
        high = tail_up(self.sigma_squared, first) - exp_down(place) * tail_down(self.sigma_squared, other)
        return Bound.outwards(max(low, _ZERO), max(high, _ZERO))

    def renyi(self, order: Number) -> Bound:
        """αd²/2σ² for whole (α - 1)d, less in between: see ``overlap``."""
        alpha = _order(order)
        low, high = normal_law.overlap(self.sigma_squared, (alpha - 1) * self.moved)
        normal_part = alpha * self._value(0)
        return Bound.outwards(
            max(_ZERO, normal_part + log_down(low) / (alpha - 1)), normal_part + log_up(high) / (alpha - 1)
        )

    @property
    def largest(self) -> Bound:
        """Infinite: the loss may be any number."""
        return Bound(math.inf, math.inf)


@dataclass(frozen=True, repr=False)
class LaplaceLoss(PrivacyLoss):
    """Of continuous Laplace noise: ε with probability 1/2, -ε with e^-ε/2, and a density in between."""

    epsilon: Fraction

    @property
    def mean(self) -> Bound:
        """ε - 1 + e^-ε."""
        return Bound.outwards(self.epsilon - 1 + exp_down(-self.epsilon), self.epsilon - 1 + exp_up(-self.epsilon))

    @property
    def variance(self) -> Bound:
        """3 - e^-ε (2 + 4ε + e^-ε)."""
        e = self.epsilon
        low, high = exp_down(-e), exp_up(-e)
        return Bound.outwards(max(_ZERO, 3 - high * (2 + 4 * e + high)), 3 - low * (2 + 4 * e + low))

    def tail(self, epsilon: Number) -> Bound:
        """1 - e^((t - ε)/2)/2 for t from -ε up to ε."""
        place = number(epsilon, "epsilon")
        if place >= self.epsilon:
            return Bound(0.0, 0.0)
        if place < -self.epsilon:
            return Bound(1.0, 1.0)
        half = (place - self.epsilon) / 2
        return Bound.outwards(1 - exp_up(half) / 2, 1 - exp_down(half) / 2)

    def delta(self, epsilon: Number) -> Bound:
        """1 - e^((t - ε)/2) for t from 0 up to ε."""
        place = non_negative(epsilon, "epsilon")
        half = (min(place, self.epsilon) - self.epsilon) / 2
        return Bound.outwards(max(_ZERO, 1 - exp_up(half)), 1 - exp_down(half))

    def renyi(self, order: Number) -> Bound:
        """ln(α/(2α-1) e^((α-1)ε) + (α-1)/(2α-1) e^(-αε)) / (α - 1)."""
        a, e = _order(order), self.epsilon
        first, second = a / (2 * a - 1), (a - 1) / (2 * a - 1)
        low = first * exp_down((a - 1) * e) + second * exp_down(-a * e)
        high = first * exp_up((a - 1) * e) + second * exp_up(-a * e)
        return Bound.outwards(log_down(low) / (a - 1), log_up(high) / (a - 1))

    @property
    def largest(self) -> Bound:
        """ε."""
        return Bound.outwards(self.epsilon, self.epsilon)


@dataclass(frozen=True, repr=False)
class SumOfLosses(PrivacyLoss):
    """Of several events: independent losses that add up."""

    parts: tuple[PrivacyLoss, ...]
    together: Composition

    def _total(self, bounds: Iterable[Bound]) -> Bound:
        listed = list(bounds)
        if any(math.isinf(b.upper) for b in listed):
            return Bound(-math.inf if any(math.isinf(b.lower) and b.lower < 0 for b in listed) else math.inf, math.inf)
        return Bound.outwards(
            sum((Fraction(b.lower) for b in listed), _ZERO), sum((Fraction(b.upper) for b in listed), _ZERO)
        )

    @property
    def mean(self) -> Bound:
        """Means add up."""
        return self._total(part.mean for part in self.parts)

    @property
    def variance(self) -> Bound:
        """Variances of independent losses add up."""
        return self._total(part.variance for part in self.parts)

    def tail(self, epsilon: Number) -> Bound:
        """δ(ε) <= P[L > ε] <= δ(ε - h)/(1 - e^-h), for the best of a few h."""
        place = number(epsilon, "epsilon")
        if place < 0:
            raise BadParameter("epsilon", epsilon, "must be at least 0 for several events together")
        lower = self.together.delta(epsilon=place).lower
        tops = [Fraction(self.together.delta(epsilon=place - h).upper) / (1 - exp_up(-h)) for h in _STEPS if h <= place]
        return Bound(float(lower), Bound.outwards(_ZERO, min([*tops, Fraction(1)])).upper)

    def delta(self, epsilon: Number) -> Bound:
        """As ``compose`` has it: the larger of both directions."""
        return self.together.delta(epsilon=epsilon)

    def renyi(self, order: Number) -> Bound:
        """Rényi divergences add up."""
        return self._total(part.renyi(order) for part in self.parts)

    @property
    def largest(self) -> Bound:
        """All at their largest."""
        return self._total(part.largest for part in self.parts)


def privacy_loss(
    first: Event | Iterable[Event] | Law | WithLaw, second: Law | None = None, *, on: tuple[Any, Any] | None = None
) -> PrivacyLoss:
    """The law of the privacy loss: of an event, of several together, of a mechanism on two values, or of two laws.

    ``on`` names the two values of a mechanism; outputs are drawn for the first. Laplace and Gaussian noise on a number,
    and mechanisms with finitely many outputs, have all of it; what releases noisy numbers of several keys, or only now
    and then, has its tail and its δ(ε), enclosed. A law is a dict from outputs to
    probabilities, each a number or a pair that encloses it, as ``mechanism.law(value)`` and ``randomness.exact_law``
    give it. Outputs are drawn from the first; both laws list all of theirs.

    >>> loss = privacy_loss(events.Gaussian(sigma=2))
    >>> loss.mean, loss.variance
    (Bound(lower=0.125, upper=0.125), Bound(lower=0.25, upper=0.25))
    >>> loss.tail(1), loss.delta(1)
    (Bound(lower=0.0400591..., upper=0.0400591...), Bound(lower=0.0068..., upper=0.0068...))
    >>> coin = privacy_loss({"yes": "3/4", "no": "1/4"}, {"yes": "1/4", "no": "3/4"})
    >>> coin.largest, coin.tail(1), coin.delta(1)
    (Bound(lower=1.0986..., upper=1.0986...), Bound(lower=0.75, upper=0.75), Bound(lower=0.0704..., upper=0.0704...))

    Of a mechanism: ``privacy_loss(dp.laplace(sensitivity=1, epsilon=1), on=(3, 4))``. The discrete Gaussian is nearly
    normal: its mean is d²/2σ², its variance a little below twice that.

    >>> narrow = privacy_loss(events.DiscreteGaussian(sigma="1/2"))
    >>> narrow.mean, narrow.variance
    (Bound(lower=2.0, upper=2.0), Bound(lower=3.44020280..., upper=3.44020280...))
    """
    if hasattr(first, "law") and hasattr(first, "read"):
        if not isinstance(on, tuple) or len(on) != 2 or second is not None:
            raise BadParameter("on", on, "must be the two values of the mechanism: on=(3, 4)")
        return _of_mechanism(first, *on)
    if on is not None:
        raise BadParameter("on", on, "goes with a mechanism; an event and two laws have no values")
    if isinstance(first, Event) and second is None:
        return _of_event(first)
    if isinstance(first, Mapping):
        if not isinstance(second, Mapping):
            raise BadParameter("second", second, "must be the output law of the other input: a dict of probabilities")
        return _of_laws(first, second)
    if second is not None or not isinstance(first, Iterable):
        raise BadParameter("first", first, "must be an event, a list of events, or two output laws")
    together = compose(given := list(first))
    return SumOfLosses(tuple(_of_event(event) for event in given), together)


def _of_mechanism(mechanism: Any, first: Any, second: Any) -> PrivacyLoss:
    if not hasattr(mechanism, "lists_all_outputs"):  # a randomizer of reports, which reads many values at once
        places = (mechanism.read([value])[0].item() for value in (first, second))
        return _of_laws(*(mechanism.law(place) for place in places))
    values = mechanism.read(first), mechanism.read(second)
    event = mechanism.event
    if isinstance(event, events.Stated):
        event = event.event
    if mechanism.adds_noise and isinstance(values[0], int):
        moved = abs(values[0] - values[1])
        if not moved:
            return FiniteLoss((Atom((_ZERO, _ZERO), _SURE, _SURE),))
        if isinstance(event, events.DiscreteGaussian):
            return DiscreteGaussianLoss(event.sigma_squared, moved)
        if moved > _WIDEST:
            raise NoPrice(f"the values are {moved} cells apart, too many to list: ask for the loss of events.Laplace")
        return _discrete_laplace(event.scale, moved)
    own, other = (mechanism.law(value) for value in values)
    return _of_laws(own, other) if mechanism.lists_all_outputs else _of_listed(own, other)


def _of_listed(own: dict[Any, Interval], other: dict[Any, Interval]) -> FiniteLoss:
    """Of laws that leave out a little: what only one of them lists counts as missing, whatever its loss."""
    both = {y for y, p in own.items() if p[0] and y in other and other[y][0]}
    missing = sum((p[1] for y, p in own.items() if y not in both), _UNLISTED)
    if not both:
        return FiniteLoss((), Fraction(1))
    laws = ({y: law[y] for y in own if y in both} for law in (own, other))
    return replace(_of_laws(*laws), missing=min(missing, Fraction(1)))


def _of_laws(first: Law, second: Law) -> FiniteLoss:
    outputs: list[Hashable] = list(first)
    own, other = ({y: _interval(p) for y, p in law.items()} for law in (first, second))
    totals = [
        (sum((p[0] for p in law.values()), _ZERO), sum((p[1] for p in law.values()), _ZERO)) for law in (own, other)
    ]
    if not outputs or any(low > 1 for low, _ in totals):
        raise BadParameter("law", "a dict", "must hold probabilities that add up to 1")
    missing = [max(_ZERO, 1 - high) if high < 1 else _ZERO for _, high in totals]
    atoms = []
    for output in outputs:
        p, q = own[output], other.get(output, (_ZERO, missing[1]))
        if not p[1]:
            continue
        if not q[0]:
            if q[1]:
                raise NoPrice("the second law leaves out probability, so that the loss of an output is not known")
            atoms.append(Atom(None, p, q))
            continue
        if not p[0]:
            raise NoPrice("the probability of an output may be 0, so that its loss is not known: give closer bounds")
        atoms.append(Atom((log_down(p[0] / q[1]), log_up(p[1] / q[0])), p, q))
    return FiniteLoss(tuple(atoms), missing[0])


def _interval(given: Any) -> Interval:
    low, high = given if isinstance(given, tuple) else (given, given)
    ends = non_negative(low, "probability"), non_negative(high, "probability")
    if ends[0] > ends[1]:
        raise BadParameter("probability", "a pair", "must be enclosed by a lower and an upper end")
    return ends


def _of_event(event: Event) -> PrivacyLoss:
    match event:
        case events.Gaussian():
            return GaussianLoss(event.mu_squared)
        case events.Laplace(scale=b, sensitivity=d):
            return LaplaceLoss(d / b)
        case events.DiscreteLaplace(scale=b, sensitivity=d) if d <= _WIDEST:
            return _discrete_laplace(b, int(d))
        case events.DiscreteGaussian(sigma_squared=v) if event.shift is not None:
            return DiscreteGaussianLoss(v, event.shift)
        case events.RandomizedResponse(epsilon=e, categories=k):
            return _response(e, k, _ZERO)
        case events.Pure(epsilon=e):
            return _response(e, 2, _ZERO)
        case events.Approx(epsilon=e, delta=d):
            return _response(e, 2, d)
        case events.ZCDP():
            raise NoPrice("a zCDP promise bounds all Rényi divergences of a loss, and does not say which loss it is")
        case _:
            raise NoPrice(
                f"the loss of {event!r} has no law here: give two output laws, or ask dp.compose for its δ(ε)"
            )


def _response(epsilon: Fraction, categories: int, lost: Fraction) -> FiniteLoss:
    """The truth is kept with e^ε/(e^ε + k - 1), any other value has 1/(e^ε + k - 1); δ is lost."""
    whole = exp_down(epsilon) + categories - 1, exp_up(epsilon) + categories - 1
    other = (1 - lost) / whole[1], (1 - lost) / whole[0]
    kept = exp_down(epsilon) * other[0], exp_up(epsilon) * other[1]
    atoms = [Atom((epsilon, epsilon), kept, other), Atom((-epsilon, -epsilon), other, kept)]
    if categories > 2:
        rest = (categories - 2) * other[0], (categories - 2) * other[1]
        atoms.insert(1, Atom((_ZERO, _ZERO), rest, rest))
    if lost:
        atoms.insert(0, Atom(None, (lost, lost), (_ZERO, _ZERO)))
    return FiniteLoss(tuple(atoms))


def _discrete_laplace(scale: Fraction, shift: int) -> FiniteLoss:
    """Of Z against Z + d: ε for Z <= 0, (d - 2z)/b for z in between, -ε for Z >= d."""
    q = exp_down(-1 / scale), exp_up(-1 / scale)
    head = 1 / (1 + q[1]), 1 / (1 + q[0])
    end = q[0] ** shift / (1 + q[1]), q[1] ** shift / (1 + q[0])
    epsilon = shift / scale
    atoms = [Atom((epsilon, epsilon), head, end)]
    for z in range(1, shift):
        masses = [((1 - q[1]) * head[0] * q[0] ** k, (1 - q[0]) * head[1] * q[1] ** k) for k in (z, shift - z)]
        loss = (shift - 2 * z) / scale
        atoms.append(Atom((loss, loss), masses[0], masses[1]))
    atoms.append(Atom((-epsilon, -epsilon), end, head))
    return FiniteLoss(tuple(atoms))
