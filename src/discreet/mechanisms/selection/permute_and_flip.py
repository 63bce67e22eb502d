"""Permute-and-flip: candidates in random order, each taken with probability e^(rate (score - best)).

Guarantee: if neighbours move each score by at most ``sensitivity``, a release is ε-differentially private with
ε = 2 rate sensitivity; for monotone scores ε = rate sensitivity. Its loss does *not* have range ε, so ρ is that of any
ε-private mechanism, never ε²/8. It chooses at least as well as the exponential mechanism. Proof: permute_and_flip.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import overload

from discreet.exact import Number
from discreet.mechanisms.base.laplace_law import ONE
from discreet.mechanisms.base.sensitivity import Sensitivity
from discreet.mechanisms.selection.exponential import exponential_gap
from discreet.mechanisms.selection.shared import (
    Scores,
    Selection,
    SelectionFor,
    relation_of,
    score_coins,
    score_moves,
    two_of,
    waits,
    weights,
)
from discreet.noise.selection import permute_and_flip_choice
from discreet.privacy.numerics.interval import ZERO, Interval
from discreet.privacy.promises import events
from discreet.privacy.promises.record import show
from discreet.randomness import Bits


@dataclass(frozen=True, slots=True)
class PermuteAndFlip(Selection):
    """Made by ``permute_and_flip(...)``."""

    sensitivity: Fraction
    rate: Fraction
    monotone: bool = False

    @property
    def event(self) -> events.PermuteAndFlip:
        """What a release writes into the ledger."""
        return events.PermuteAndFlip(self.epsilon).about(relation_of(self.monotone))

    def event_at(self, sensitivity: Sensitivity) -> events.PermuteAndFlip:
        """The event if neighbours move the scores further, or less, than the mechanism was made for."""
        return events.PermuteAndFlip(self._epsilon_at(score_moves(sensitivity))).about(relation_of(self.monotone))

    def story(self) -> str:
        """One line on what was done."""
        return f"permute-and-flip of rate {show(self.rate)}"

    def draw(self, value: Scores, bits: Bits) -> int:
        """One index."""
        return permute_and_flip_choice(score_coins(value, self.rate), bits)

    def law(self, value: Scores) -> dict[int, tuple[Fraction, Fraction]]:
        """Bounds of each index's probability."""
        return permute_and_flip_law(value, self.rate)

    def gap_at(self, confidence: Number, candidates: int) -> float:
        """The chosen score is at most this far below the best one, with the given confidence, whatever the scores.

        The exponential mechanism's bound: permute-and-flip is never further off.
        """
        return exponential_gap(self.rate, confidence, candidates)


@overload
def permute_and_flip(
    *, sensitivity: Number, epsilon: Number | None = ..., rate: Number | None = ..., monotone: bool = ...
) -> PermuteAndFlip: ...
@overload
def permute_and_flip(*, epsilon: Number, rate: Number, monotone: bool = ...) -> PermuteAndFlip: ...
@overload
def permute_and_flip(*, epsilon: Number, monotone: bool = ...) -> SelectionFor[PermuteAndFlip]: ...
@overload
def permute_and_flip(*, rate: Number, monotone: bool = ...) -> SelectionFor[PermuteAndFlip]: ...
def permute_and_flip(
    *,
    sensitivity: Number | None = None,
    epsilon: Number | None = None,
    rate: Number | None = None,
    monotone: bool = False,
) -> PermuteAndFlip | SelectionFor[PermuteAndFlip]:
    """Permute-and-flip, from two of sensitivity, epsilon and rate; with one, it waits for its sensitivity.

    >>> m = permute_and_flip(sensitivity=2, epsilon=1)
    >>> m.rate, m.event
    (Fraction(1, 4), PermuteAndFlip(epsilon=1))
    >>> m.release([0, 1000, 0]).value
    1
    """
    if waits(sensitivity, epsilon, rate, monotone):
        return SelectionFor(partial(_made, epsilon=epsilon, rate=rate, monotone=monotone), monotone)
    return _made(sensitivity, epsilon=epsilon, rate=rate, monotone=monotone)


def _made(sensitivity: Number | None, *, epsilon: Number | None, rate: Number | None, monotone: bool) -> PermuteAndFlip:
    return PermuteAndFlip(*two_of("permute_and_flip", sensitivity, epsilon, rate, monotone), monotone)


def permute_and_flip_law(scores: Scores, rate: Fraction) -> dict[int, tuple[Fraction, Fraction]]:
    """Bounds of w_i E[1 / (1 + H)], H the number of heads among the other candidates' coins.

    >>> low, high = permute_and_flip_law((Fraction(0), Fraction(0)), Fraction(1))[0]
    >>> low <= Fraction(1, 2) <= high
    True
    """
    each = weights(scores, rate)
    law = {}
    for i, w in enumerate(each):
        heads = heads_law([other for j, other in enumerate(each) if j != i])
        chance = w * sum((p.times(1, 1 + h) for h, p in enumerate(heads)), ZERO)
        law[i] = chance.lower, chance.upper
    return law


def heads_law(probabilities: list[Interval]) -> list[Interval]:
    """Bounds of P[H = h], H the number of heads of independent coins."""
    law = [ONE]
    for p in probabilities:
        tails = ONE.minus(p)
        law = [a * tails + b * p for a, b in zip([*law, ZERO], [ZERO, *law], strict=True)]
    return law
