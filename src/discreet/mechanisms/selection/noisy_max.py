"""Report noisy max: add noise to every score, and name the candidate with the largest; never its score.

Guarantee: if neighbours move each score by at most ``sensitivity``, a release is ε-differentially private with
ε = 2 sensitivity / scale; for monotone scores ε = sensitivity / scale. Proof: noisy_max.md.

Gumbel noise has the law of the exponential mechanism, and so range ε; exponential noise has that of permute-and-flip;
both are drawn as such, exactly. Laplace noise is discrete, on whole scores, and ties are broken by a fair draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import floor
from typing import Any, overload

import numpy as np

from discreet.errors import BadData, BadParameter
from discreet.exact import Number, exp_down, exp_up, positive
from discreet.mechanisms.base.inputs import least_whole
from discreet.mechanisms.base.laplace_law import ONE, laplace_at, laplace_below, laplace_from
from discreet.mechanisms.base.sensitivity import Sensitivity
from discreet.mechanisms.selection.exponential import exponential_gap, exponential_law
from discreet.mechanisms.selection.permute_and_flip import permute_and_flip_law
from discreet.mechanisms.selection.shared import (
    Scores,
    Selection,
    SelectionFor,
    level_and_count,
    read_scores,
    relation_of,
    score_coins,
    score_moves,
    two_of,
    waits,
)
from discreet.noise import additive as noise
from discreet.noise.selection import exponential_choice, permute_and_flip_choice
from discreet.privacy.numerics.interval import ZERO, Interval
from discreet.privacy.promises import events
from discreet.privacy.promises.events import MaxNoise
from discreet.privacy.promises.record import show
from discreet.randomness import Bits

_SATURATE = 1 << 61
_NEGLIGIBLE = Fraction(1, 1 << 160)


@dataclass(frozen=True, slots=True)
class NoisyMax(Selection):
    """Made by ``noisy_max(...)``."""

    sensitivity: Fraction
    scale: Fraction
    noise: MaxNoise
    monotone: bool = False

    @property
    def rate(self) -> Fraction:
        """One over the scale of the noise."""
        return 1 / self.scale

    @property
    def event(self) -> events.NoisyMax:
        """What a release writes into the ledger."""
        return events.NoisyMax(self.epsilon, self.noise).about(relation_of(self.monotone))

    def event_at(self, sensitivity: Sensitivity) -> events.NoisyMax:
        """The event if neighbours move the scores further, or less, than the mechanism was made for."""
        return events.NoisyMax(self._epsilon_at(score_moves(sensitivity)), self.noise).about(relation_of(self.monotone))

    def story(self) -> str:
        """One line on what was done."""
        return f"largest score after {self.noise.value} noise of scale {show(self.scale)}"

    def read(self, value: Any) -> Scores:
        """The scores, exactly; for Laplace noise whole numbers, saturated at ±2^61, which moves none further."""
        scores = read_scores(value)
        if self.noise is not MaxNoise.LAPLACE:
            return scores
        if isinstance(scores, tuple):
            if any(s.denominator != 1 for s in scores):
                raise BadData("scores must be integers for Laplace noise; other noise takes Fractions too")
            return np.array([min(max(int(s), -_SATURATE), _SATURATE) for s in scores], dtype=np.int64)
        if scores.dtype == np.uint64:
            return np.minimum(scores, np.uint64(_SATURATE)).astype(np.int64)
        return np.clip(scores, -_SATURATE, _SATURATE)

    def draw(self, value: Scores, bits: Bits) -> int:
        """One index."""
        if self.noise is MaxNoise.GUMBEL:
            return exponential_choice(score_coins(value, self.rate), bits)
        if self.noise is MaxNoise.EXPONENTIAL:
            return permute_and_flip_choice(score_coins(value, self.rate), bits)
        noisy = np.asarray(value) + noise.laplace(self.scale, len(value), bits)
        ties = np.flatnonzero(noisy == noisy.max())
        return int(ties[bits.below(len(ties))])

    def law(self, value: Scores) -> dict[int, tuple[Fraction, Fraction]]:
        """Bounds of each index's probability."""
        if self.noise is MaxNoise.GUMBEL:
            return exponential_law(value, self.rate)
        if self.noise is MaxNoise.EXPONENTIAL:
            return permute_and_flip_law(value, self.rate)
        return laplace_max_law([int(s) for s in value], self.scale)

    def gap_at(self, confidence: Number, candidates: int) -> float:
        """The chosen score is at most this far below the best one, with the given confidence, whatever the scores."""
        if self.noise is not MaxNoise.LAPLACE:
            return exponential_gap(self.rate, confidence, candidates)
        level, n = level_and_count(confidence, candidates)
        return float(least_whole(lambda g: (n - 1) * difference_tail_up(self.scale, g + 1) <= 1 - level))


@overload
def noisy_max(
    *,
    sensitivity: Number,
    epsilon: Number | None = ...,
    scale: Number | None = ...,
    noise: MaxNoise = ...,
    monotone: bool = ...,
) -> NoisyMax: ...
@overload
def noisy_max(*, epsilon: Number, scale: Number, noise: MaxNoise = ..., monotone: bool = ...) -> NoisyMax: ...
@overload
def noisy_max(*, epsilon: Number, noise: MaxNoise = ..., monotone: bool = ...) -> SelectionFor[NoisyMax]: ...
@overload
def noisy_max(*, scale: Number, noise: MaxNoise = ..., monotone: bool = ...) -> SelectionFor[NoisyMax]: ...
def noisy_max(
    *,
    sensitivity: Number | None = None,
    epsilon: Number | None = None,
    scale: Number | None = None,
    noise: MaxNoise = MaxNoise.LAPLACE,
    monotone: bool = False,
) -> NoisyMax | SelectionFor[NoisyMax]:
    """Report noisy max, from two of sensitivity, epsilon and scale; with one, it waits for its sensitivity.

    >>> m = noisy_max(sensitivity=1, epsilon="1/2")
    >>> m.scale, m.event
    (Fraction(4, 1), NoisyMax(epsilon='1/2', noise=MaxNoise.LAPLACE))
    >>> m.release([0, 1000, 0]).value
    1
    """
    events.NoisyMax(1, noise)  # refuses what is not a MaxNoise
    if waits(sensitivity, epsilon, scale, monotone):
        return SelectionFor(partial(_made, epsilon=epsilon, scale=scale, noise=noise, monotone=monotone), monotone)
    return _made(sensitivity, epsilon=epsilon, scale=scale, noise=noise, monotone=monotone)


def _made(
    sensitivity: Number | None, *, epsilon: Number | None, scale: Number | None, noise: MaxNoise, monotone: bool
) -> NoisyMax:
    rate = None if scale is None else 1 / positive(scale, "scale")
    moved, rate = two_of("noisy_max", sensitivity, epsilon, rate, monotone)
    if noise is MaxNoise.LAPLACE and moved.denominator != 1:
        if sensitivity is not None or moved < 1:
            raise BadParameter("sensitivity", sensitivity, "must be an integer for Laplace noise on whole scores")
        moved = Fraction(floor(moved))
    return NoisyMax(moved, 1 / rate, noise, monotone)


def laplace_max_law(scores: list[int], scale: Fraction) -> dict[int, tuple[Fraction, Fraction]]:
    """Bounds of P[i wins]: i lands on v, k of the others land on v too and the rest below it, 1/(k+1) for the tie.

    Values further than ``reach`` from the best score matter only if some noise is that large.
    """
    best = max(scores)
    reach = least_whole(lambda r: len(scores) * laplace_from(scale, r + 1).upper <= _NEGLIGIBLE)
    rest = len(scores) * laplace_from(scale, reach + 1).upper
    law = {}
    for i, s in enumerate(scores):
        others = [t for j, t in enumerate(scores) if j != i]
        chance = ZERO
        for v in range(best - reach, best + reach + 1):
            chance += laplace_at(scale, v - s) * _shared(others, v, scale)
        law[i] = chance.lower, chance.upper + rest
    return law


def _shared(others: list[int], v: int, scale: Fraction) -> Interval:
    """E[1/(k+1); none above v], k the number of the others that land on v."""
    ties = [ONE]
    for t in others:
        below, on = laplace_below(scale, v - t), laplace_at(scale, v - t)
        ties = [a * below + b * on for a, b in zip([*ties, ZERO], [ZERO, *ties], strict=True)]
    return sum((p.times(1, 1 + k) for k, p in enumerate(ties)), ZERO)


def difference_tail_up(scale: Fraction, k: int) -> Fraction:
    """An upper bound of P[Z - Z' >= k], k >= 1, for two independent discrete Laplace draws.

    It is q^k ((k + A)(1 - q) + q) / (1 + q)^2 with A = (1 + q^2)/(1 - q^2), and (1 - q) A = (1 + q^2)/(1 + q).

    >>> float(difference_tail_up(Fraction(1), 1))
    0.35979...
    """
    low, high = exp_down(-1 / scale), exp_up(-1 / scale)
    return exp_up(-k / scale) * (k * (1 - low) + (1 + high * high) / (1 + low) + high) / (1 + low) ** 2
