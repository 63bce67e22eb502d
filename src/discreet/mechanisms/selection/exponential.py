"""The exponential mechanism: a candidate with probability proportional to e^(rate * score).

Guarantee: if neighbours move each score by at most ``sensitivity``, a release is ε-differentially private with
ε = 2 rate sensitivity, and its loss has range ε (so ρ = ε²/8); for monotone scores ε = rate sensitivity. Exactly: no
weight is ever rounded, added up or normalised. Proof: exponential.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import overload

from discreet.exact import Number, float_up, log_up
from discreet.mechanisms.base.sensitivity import Sensitivity
from discreet.mechanisms.selection.shared import (
    Scores,
    Selection,
    SelectionFor,
    level_and_count,
    relation_of,
    score_coins,
    score_moves,
    two_of,
    waits,
    weights,
)
from discreet.noise.selection import exponential_choice
from discreet.privacy.numerics.interval import ZERO, Interval
from discreet.privacy.promises import events
from discreet.privacy.promises.record import show
from discreet.randomness import Bits


@dataclass(frozen=True, slots=True)
class Exponential(Selection):
    """Made by ``exponential(...)``: index i with probability e^(rate s_i) / sum_j e^(rate s_j)."""

    sensitivity: Fraction
    rate: Fraction
    monotone: bool = False

    @property
    def event(self) -> events.Exponential:
        """What a release writes into the ledger."""
        return events.Exponential(self.epsilon).about(relation_of(self.monotone))

    def event_at(self, sensitivity: Sensitivity) -> events.Exponential:
        """The event if neighbours move the scores further, or less, than the mechanism was made for."""
        return events.Exponential(self._epsilon_at(score_moves(sensitivity))).about(relation_of(self.monotone))

    def story(self) -> str:
        """One line on what was done."""
        return f"exponential mechanism of rate {show(self.rate)}"

    def draw(self, value: Scores, bits: Bits) -> int:
        """One index."""
        return exponential_choice(score_coins(value, self.rate), bits)

    def law(self, value: Scores) -> dict[int, tuple[Fraction, Fraction]]:
        """Bounds of each index's probability."""
        return exponential_law(value, self.rate)

    def gap_at(self, confidence: Number, candidates: int) -> float:
        """The chosen score is at most this far below the best one, with the given confidence, whatever the scores.

        >>> exponential(sensitivity=1, epsilon=2).gap_at(0.95, candidates=100) < 7.54
        True
        """
        return exponential_gap(self.rate, confidence, candidates)


@overload
def exponential(
    *, sensitivity: Number, epsilon: Number | None = ..., rate: Number | None = ..., monotone: bool = ...
) -> Exponential: ...
@overload
def exponential(*, epsilon: Number, rate: Number, monotone: bool = ...) -> Exponential: ...
@overload
def exponential(*, epsilon: Number, monotone: bool = ...) -> SelectionFor[Exponential]: ...
@overload
def exponential(*, rate: Number, monotone: bool = ...) -> SelectionFor[Exponential]: ...
def exponential(
    *,
    sensitivity: Number | None = None,
    epsilon: Number | None = None,
    rate: Number | None = None,
    monotone: bool = False,
) -> Exponential | SelectionFor[Exponential]:
    """The exponential mechanism, from two of sensitivity, epsilon and rate; with one, it waits for its sensitivity.

    >>> m = exponential(sensitivity=1, epsilon=1)
    >>> m.rate, m.event
    (Fraction(1, 2), Exponential(epsilon=1))
    >>> m.release([0, 1000, 0], candidates=["red", "green", "blue"]).value
    'green'
    >>> exponential(epsilon=1).at(3).rate
    Fraction(1, 6)
    """
    if waits(sensitivity, epsilon, rate, monotone):
        return SelectionFor(partial(_made, epsilon=epsilon, rate=rate, monotone=monotone), monotone)
    return _made(sensitivity, epsilon=epsilon, rate=rate, monotone=monotone)


def _made(sensitivity: Number | None, *, epsilon: Number | None, rate: Number | None, monotone: bool) -> Exponential:
    return Exponential(*two_of("exponential", sensitivity, epsilon, rate, monotone), monotone)


def exponential_law(scores: Scores, rate: Fraction) -> dict[int, tuple[Fraction, Fraction]]:
    """Bounds of w_i / sum_j w_j: a larger w_i and smaller others give more.

    >>> low, high = exponential_law((Fraction(0), Fraction(0)), Fraction(1))[0]
    >>> low <= Fraction(1, 2) <= high
    True
    """
    each = weights(scores, rate)
    law = {}
    for i, w in enumerate(each):
        others = sum((other for j, other in enumerate(each) if j != i), ZERO)
        smallest = Interval.of(w.lower) / Interval.of(w.lower + others.upper)
        largest = Interval.of(w.upper) / Interval.of(w.upper + others.lower)
        law[i] = smallest.lower, largest.upper
    return law


def exponential_gap(rate: Fraction, confidence: Number, candidates: int) -> float:
    """ln((n - 1) c / (1 - c)) / rate: the others weigh at most (n - 1) e^(-rate g) when they are more than g below."""
    level, n = level_and_count(confidence, candidates)
    odds = (n - 1) * level / (1 - level)
    return float_up(log_up(odds) / rate) if odds > 1 else 0.0
