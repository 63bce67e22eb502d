"""Randomized response: each person's value is kept with a known chance, else replaced by any of the others.

Guarantee: a report is ε-differentially private for the person whose value it is, whoever holds the data: one of k
values is kept with p = e^ε / (e^ε + k - 1), exactly, and each other one is reported with 1 / (e^ε + k - 1). In a
vector every entry belongs to another person. Proof: randomized_response.md.

``estimate`` turns reports into frequencies without bias: the average of ((e^ε + k - 1) y - 1) / (e^ε - 1), where y says
whether a report names the value; for bits ((e^ε + 1) y - 1) / (e^ε - 1).
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from discreet.answer import CONFIDENCE, confidence_level
from discreet.errors import BadData, BadParameter
from discreet.exact import (
    Number,
    exp_down,
    exp_fixed,
    exp_up,
    float_down,
    float_up,
    integer,
    log_down,
    log_up,
    positive,
    probability,
    significant,
    sqrt_up,
)
from discreet.mechanisms.base.laplace_law import ONE, exp_bounds
from discreet.mechanisms.base.mechanism import Mechanism, Priced
from discreet.noise.coin import flip, flips
from discreet.noise.lazy import Probability
from discreet.noise.uniform import uniforms
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Pure
from discreet.privacy.promises.record import show
from discreet.randomness import Bits

_GUARD = 16
_STEP = Fraction(1, 1 << 50)
_LOG_BITS = 96
_MOST = 1 << 31
_DIGITS = 10**9

Values = int | NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Estimated frequencies of all values, and intervals that hold all true ones at once with ``confidence``."""

    values: tuple[float, ...]
    """Without bias; so they may lie below 0 or above 1."""
    low: tuple[float, ...]
    high: tuple[float, ...]
    confidence: Fraction
    labels: tuple[Hashable, ...] = ()
    """What the values are called, if they have names."""

    def __str__(self) -> str:
        names = [f"{label}: " for label in self.labels] or [""] * len(self.values)
        ends = zip(names, self.values, self.low, self.high, strict=True)
        bars = (f"{name}{significant(v, 4)} in [{significant(a, 4)}, {significant(b, 4)}]" for name, v, a, b in ends)
        return f"{'; '.join(bars)} ({float(100 * self.confidence):g} %)"


@dataclass(frozen=True, slots=True)
class RandomizedResponse(Priced[Values, Values]):
    """Made by ``randomized_response(...)``; values are 0, 1, ..., categories - 1."""

    lists_all_outputs = True
    epsilon: Fraction
    categories: int = 2

    @property
    def price(self) -> Pure:
        """The price as a promise."""
        return Pure(self.epsilon)

    @property
    def event(self) -> events.RandomizedResponse:
        """What a release writes into the ledger, for each person."""
        return events.RandomizedResponse(self.epsilon, self.categories)

    def story(self) -> str:
        """One line on what was done."""
        return f"randomized response on {self.categories} values at epsilon {show(self.epsilon)}"

    def read(self, value: Any) -> Values:
        """One value, or a flat vector with one value for each person."""
        if isinstance(value, (np.bool_, numbers.Integral)):
            return int(self._checked(np.array([int(value)], dtype=object))[0])
        try:
            array = np.asarray(value)
        except ValueError:  # lists of unlike lengths
            raise BadData("the values must be integers: one, or a flat list") from None
        if array.ndim != 1 or (array.dtype.kind not in "biuO" and array.size):
            raise BadData("the values must be integers: one, or a flat list")
        if array.dtype == object and not all(isinstance(v, numbers.Integral) for v in array):
            raise BadData("the values must be integers: one, or a flat list")
        return self._checked(array)

    def _checked(self, array: NDArray[Any]) -> NDArray[np.int64]:
        if not len(array):
            raise BadData("the values must be at least one")
        if not (array.min() >= 0 and array.max() < self.categories):
            raise BadData(f"the values must be integers from 0 to {self.categories - 1}")
        return array.astype(np.int64)

    def draw(self, value: Values, bits: Bits) -> Values:
        """One report for each value: with probability k / (e^ε + k - 1) a uniform one of all k, else the value."""
        if isinstance(value, int):
            return bits.below(self.categories) if flip(self._replaced(), bits) else value
        replaced = np.flatnonzero(flips(self._replaced(), len(value), bits))
        reports = value.copy()
        reports[replaced] = uniforms(self.categories, len(replaced), bits)
        return reports

    def _replaced(self) -> Probability:
        return replaced(self.epsilon, self.categories)

    def law(self, value: Values) -> dict[int, tuple[Fraction, Fraction]]:
        """Bounds of the probability of each report of one value: 1 and e^ε over e^ε + k - 1."""
        if not isinstance(value, int):
            raise BadParameter("value", "a vector", "must be one value: entries are independent")
        grown = exp_bounds(self.epsilon)
        others = ONE.times(self.categories - 1)
        other = ONE / (grown + others)
        kept = ONE / (ONE + others / grown)
        return {v: ((kept if v == value else other).lower, (kept if v == value else other).upper)
                for v in range(self.categories)}  # fmt: skip

    # --- from reports back to frequencies ---------------------------------------------------------------------------

    def estimate(self, reports: Any, confidence: Number = CONFIDENCE) -> Frequencies:
        """Frequencies of all values among the people who reported: post-processing, free.

        Guarantee: unbiased; and all intervals hold at once with at least the given confidence. Reports are independent
        but not alike, so their number is no binomial; Chernoff's bound for such sums is inverted instead (Hoeffding
        1963, theorem 1).

        >>> m = randomized_response(epsilon=2)
        >>> m.estimate([0] * 300 + [1] * 700).values[1]
        0.762607...
        """
        level = confidence_level(confidence)
        array = self.read(reports)
        if isinstance(array, int):
            raise BadData("reports must be a list of reports")
        n, counts = len(array), np.bincount(array, minlength=self.categories).tolist()
        tails = 2 if self.categories == 2 else 2 * self.categories  # for bits one count says the other
        allowed = log_up(tails / (1 - level), _LOG_BITS)
        ends = [_mean_bounds(count, n, allowed) for count in counts]
        return Frequencies(
            values=tuple(float(self._frequency(Fraction(count, n))[0]) for count in counts),
            low=tuple(float_down(_clipped(self._frequency(a)[0])) for a, _ in ends),
            high=tuple(float_up(_clipped(self._frequency(b)[1])) for _, b in ends),
            confidence=level,
        )

    def _frequency(self, mean: Fraction) -> tuple[Fraction, Fraction]:
        """((e^ε + k - 1) y - 1)/(e^ε - 1) = y + (k y - 1)/(e^ε - 1), from both sides."""
        bits = _LOG_BITS + max(0, self.epsilon.denominator.bit_length() - self.epsilon.numerator.bit_length())
        over = self.categories * mean - 1
        most, least = over / (exp_down(self.epsilon, bits) - 1), over / (exp_up(self.epsilon, bits) - 1)
        return mean + min(most, least), mean + max(most, least)

    def error_at(self, confidence: Number, people: int) -> float:
        """All estimated frequencies are within this of the true ones, with the given confidence: Hoeffding's bound.

        >>> randomized_response(epsilon=1).error_at(0.95, people=10_000)
        0.0293886...
        """
        level, n = confidence_level(confidence), integer(people, "people", at_least=1)
        tails = 2 if self.categories == 2 else 2 * self.categories
        away = sqrt_up(log_up(tails / (1 - level)) / (2 * n))
        bits = _LOG_BITS + max(0, self.epsilon.denominator.bit_length() - self.epsilon.numerator.bit_length())
        return float_up(away * (1 + self.categories / (exp_down(self.epsilon, bits) - 1)))


@dataclass(frozen=True, slots=True)
class LabelledResponse(Mechanism[Values, Any]):
    """Made by ``randomized_response(categories=["yes", "no"], ...)``: randomized response on values with names."""

    lists_all_outputs = True
    response: RandomizedResponse
    labels: tuple[Hashable, ...]

    @property
    def epsilon(self) -> Fraction:
        """That of each report."""
        return self.response.epsilon

    @property
    def event(self) -> events.RandomizedResponse:
        """What a release writes into the ledger, for each person."""
        return self.response.event

    @property
    def cost(self) -> str:
        """The price as text."""
        return self.response.cost

    def story(self) -> str:
        """One line on what was done."""
        return self.response.story()

    def read(self, value: Any) -> Values:
        """The place of one label, or of each in a list, a tuple or an array."""
        places = {label: i for i, label in enumerate(self.labels)}
        several = isinstance(value, list | np.ndarray) or (isinstance(value, tuple) and value not in places)
        try:
            codes = [places[label] for label in (value if several else [value])]
        except (KeyError, TypeError):
            raise BadData("the values must be among the labels that were given") from None
        return self.response.read(codes if several else codes[0])

    def draw(self, value: Values, bits: Bits) -> Any:
        """One label, or a list with one for each person."""
        drawn = self.response.draw(value, bits)
        return self.labels[drawn] if isinstance(drawn, int) else [self.labels[i] for i in drawn.tolist()]

    def law(self, value: Values) -> dict[Any, tuple[Fraction, Fraction]]:
        """Bounds of the probability of each label."""
        return {self.labels[i]: p for i, p in self.response.law(value).items()}

    def estimate(self, reports: Any, confidence: Number = CONFIDENCE) -> Frequencies:
        """Frequencies of all labels among the people who reported; see ``RandomizedResponse.estimate``."""
        return replace(self.response.estimate(self.read(reports), confidence), labels=self.labels)

    def error_at(self, confidence: Number, people: int) -> float:
        """All estimated frequencies are within this of the true ones, with the given confidence."""
        return self.response.error_at(confidence, people)


@overload
def randomized_response(
    *, epsilon: Number | None = None, categories: int = 2, p: Number | None = None
) -> RandomizedResponse: ...
@overload
def randomized_response(
    *, epsilon: Number | None = None, categories: Sequence[Hashable], p: Number | None = None
) -> LabelledResponse: ...
def randomized_response(
    *, epsilon: Number | None = None, categories: int | Sequence[Hashable] = 2, p: Number | None = None
) -> RandomizedResponse | LabelledResponse:
    """Randomized response on bits, on ``categories`` values (0, 1, ...), or on a list of labels.

    In place of epsilon, ``p`` is the probability with which a value is kept: epsilon = ln(p (k - 1)/(1 - p)), rounded
    up to nine digits, so that a value is kept with p and at most 1e-9 more.

    >>> m = randomized_response(epsilon=1, categories=3)
    >>> m.release(2).value in {0, 1, 2}, m.release([0, 1, 2, 2]).value.shape, m.event
    (True, (4,), RandomizedResponse(epsilon=1, categories=3))
    >>> survey = randomized_response(p="3/4", categories=["yes", "no"])
    >>> survey.release("yes").value in {"yes", "no"}, float(survey.epsilon)
    (True, 1.098612289)
    """
    labels = tuple(categories) if isinstance(categories, list | tuple) else None
    if labels is not None and len(set(labels)) != len(labels):
        raise BadParameter("categories", "a label twice", "must be a number, or a list of different labels")
    k = integer(categories if labels is None else len(labels), "categories", at_least=2)  # type: ignore[arg-type]
    if k > _MOST:
        raise BadParameter("categories", categories, "must be at most 2^31")
    if (epsilon is None) == (p is None):
        raise BadParameter("epsilon", epsilon, "must be given, or p in its place: the probability to keep a value")
    response = RandomizedResponse(positive(epsilon, "epsilon") if epsilon is not None else _epsilon_of(p or 0, k), k)
    return response if labels is None else LabelledResponse(response, labels)


def _epsilon_of(p: Number, k: int) -> Fraction:
    """The ε at which one of k values is kept with this probability, rounded up."""
    kept = probability(p, "p")
    if not Fraction(1, k) < kept < 1:
        raise BadParameter("p", p, f"must be above 1/{k}, which says nothing of the value, and below 1")
    return Fraction(ceil(log_up(kept * (k - 1) / (1 - kept), _LOG_BITS) * _DIGITS), _DIGITS)


def replaced(epsilon: Fraction, categories: int) -> Probability:
    """Bounds of 2^n k / (e^ε + k - 1) = 2^n k q / (1 + (k - 1) q), q = e^-ε, which grows with q.

    >>> low, high = replaced(Fraction(1), 2)(64)
    >>> high - low <= 2
    True
    """
    k = categories

    def bounds(n: int) -> tuple[int, int]:
        w = n + _GUARD + k.bit_length()
        low, high = exp_fixed(-epsilon, w)
        one = 1 << w
        return (k * low << n) // (one + (k - 1) * low), -((-k * high << n) // (one + (k - 1) * high))

    return bounds


def _mean_bounds(count: int, n: int, allowed: Fraction) -> tuple[Fraction, Fraction]:
    """An interval for the mean of n independent bits of which ``count`` are 1: all m with n KL(count/n, m) <= allowed.

    >>> low, high = _mean_bounds(0, 100, Fraction(3))
    >>> float(low), 0.02955 < high < 0.02956  # 1 - e^(-3/100)
    (0.0, True)
    """
    seen = Fraction(count, n)
    return 1 - _end(1 - seen, allowed / n), _end(seen, allowed / n)


def _end(seen: Fraction, allowed: Fraction) -> Fraction:
    """The upper end: a float guesses it, then it is moved up until it is certainly too far."""
    s, low, high, most = float(seen), float(seen), 1.0, float(allowed)
    for _ in range(60):
        m = (low + high) / 2
        near = (s * math.log(s / m) if s else 0.0) + ((1 - s) * math.log((1 - s) / (1 - m)) if s < 1 > m else 0.0)
        low, high = (m, high) if near <= most else (low, m)
    end = Fraction(high)
    step = max((end - seen) / (1 << 24), _STEP)
    while end + step < 1:
        end, step = end + step, 2 * step
        if _surely_far(seen, end, allowed):
            return end
    return Fraction(1)


def _surely_far(seen: Fraction, mean: Fraction, allowed: Fraction) -> bool:
    """Whether KL(seen, mean) = seen ln(seen/mean) + (1 - seen) ln((1 - seen)/(1 - mean)) is certainly above."""
    divergence = Fraction(0)
    for s, m in ((seen, mean), (1 - seen, 1 - mean)):
        if s and not m:
            return True
        if s:
            divergence += s * log_down(s / m, _LOG_BITS)
    return divergence > allowed


def _clipped(frequency: Fraction) -> Fraction:
    return min(max(frequency, Fraction(0)), Fraction(1))
