"""Bounds chosen for a column from its released values: what they cut of the total, and the noise that they allow.

Promise: a function of released numbers and public metadata alone. ``NoEstimate`` if no value stands out from the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import NoEstimate
from discreet.exact import significant
from discreet.query.answer.suggest import SIGNED_POWERS
from discreet.query.estimate.error_bounds import weighted_error
from discreet.query.plan.schema import Declared, bounds
from discreet.query.profile.classes import FIRST_YEAR, value_ends
from discreet.query.profile.histogram import Floats, Histogram

GROUPS = 20
"""A sum is mostly asked by group: in so many, the noise of a sum whose bound is the mean is so many parts of all units.
A bound of ten times the mean has ten times as much."""
_SURE = 0.001
_WINDOWS = (1, 2, 4, 8)
_GUESSED = 6
_FALLING = 0.6
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ChosenBounds:
    """Bounds for a column, and the share of the total (of the sizes of its values) that lies beyond, about."""

    column: str
    declared: Declared
    cut: float

    def __str__(self) -> str:
        low, high = self.declared.low, self.declared.high
        ends = [f"{significant(float(end), 6)}" if isinstance(end, Fraction) else str(end) for end in (low, high)]
        return (
            f"bounds of {self.column} chosen from the profile: {ends[0]} to {ends[1]}; "
            f"about {self.cut:.1%} of the total of the values lies beyond, if values too rare for the profile grow "
            "rarer as the others do; that is not in the error bars"
        )


def choose_bounds(values: Histogram, *, nullable: bool = True, noise: float | None = None) -> ChosenBounds:
    """The bounds for which noise and what is cut together are least; of dates, the years that stand out.

    ``noise``: beside the total of the values, of a sum whose bound is 1; by default that of ``GROUPS`` groups at ε = 1.
    """
    counts = values.values[:-1]  # without NULL
    first, last = _range(values, counts)
    if values.labels[0] == FIRST_YEAR:
        days = date(FIRST_YEAR + first, 1, 1), date(FIRST_YEAR + last, 12, 31)
        return ChosenBounds(values.column, bounds(*days, nullable=nullable), 0.0)
    ends, there, size = _sizes(values, first, last)
    total = float(there @ size) or 1.0
    sign = np.sign([float(a + b) for a, b in ends])
    if noise is None:
        noise = GROUPS / total
    low, below = _end([-a for a, _ in ends], there, np.where(sign < 0, size, 0.0), total, noise)
    high, above = _end([b for _, b in ends], there, np.where(sign > 0, size, 0.0), total, noise)
    if low == high == 0:
        high = values.step
    return ChosenBounds(values.column, bounds(-low, high, nullable=nullable), below + above)


def typical_size(values: Histogram) -> float:
    """How far from 0 a value is, on average; ``NoEstimate`` if none stands out from the noise."""
    _, there, size = _sizes(values, *_range(values, values.values[:-1]))
    return float(there @ size) / (float(there.sum()) or 1.0) or float(values.step)


def _sizes(values: Histogram, first: int, last: int) -> tuple[list[tuple[Fraction, Fraction]], Floats, Floats]:
    """Classes from the first to the last one and some beyond: their ends, how many values, a typical size of each."""
    counts = values.values[:-1]
    powers, there = _guessed(np.array(SIGNED_POWERS[first : last + 1]), np.maximum(counts[first : last + 1], 0.0))
    ends = [value_ends(power, values.step) for power in powers]
    return ends, there, np.array([np.sqrt(float(abs(a)) * float(abs(b))) for a, b in ends])


def _range(values: Histogram, counts: Floats) -> tuple[int, int]:
    """The first and the last class that surely hold something, alone or with some of those beyond them."""
    surely = [i for i in range(len(counts)) if _stands_out(values, counts[i:])]
    before = [i for i in range(len(counts)) if _stands_out(values, counts[i::-1])]
    if not surely or not before:
        raise NoEstimate
    return min(before[0], surely[-1]), max(before[0], surely[-1])


def _stands_out(values: Histogram, outward: Floats) -> bool:
    """Whether the first of these classes, or the first few together, hold more than noise; all tests of a column
    together are wrong with a chance of ``_SURE``.
    """
    return any(
        outward[:many].sum() > _error_of_sum(values.scale, many, len(values.counts), values.gaussian)
        for many in _WINDOWS
        if many <= len(outward)
    )


@lru_cache(maxsize=256)
def _error_of_sum(scale: float, many: int, classes: int, gaussian: bool) -> float:
    miss = _SURE / (len(_WINDOWS) * classes)  # a sum that is too large is half of what is missed
    return weighted_error(scale, [1.0] * many, miss, gaussian=gaussian)


def _guessed(powers: Integers, counts: Floats) -> tuple[list[int], Floats]:
    """Classes and their numbers of values, with some beyond on both sides, within the public ones."""
    below, above = (_continued(counts[powers * sign > 0][::sign]) for sign in (-1, 1))
    first, last = int(powers[0]), int(powers[-1])
    below, above = below[: first - SIGNED_POWERS[0]], above[: SIGNED_POWERS[-1] - last]
    found = range(first - len(below), last + len(above) + 1)
    return list(found), np.concatenate([below[::-1], counts, above])


def _continued(outward: Floats) -> Floats:
    """How many values the classes beyond the last one have, about: they grow rarer as they did, or faster.

    None if the last one does not have far fewer than the one before it: there values end.
    """
    if len(outward) < 3 or not (outward[-3:] > 0).all() or outward[-1] > _FALLING * outward[-2]:
        return np.zeros(0)
    ratio = outward[-1] / outward[-2]
    bend = min(ratio * outward[-3] / outward[-2], 1.0)
    return np.asarray(outward[-1] * np.cumprod(ratio * bend ** np.arange(1, _GUESSED + 1)))


def _end(ends: list[Fraction], counts: Floats, sizes: Floats, total: float, noise: float) -> tuple[Fraction, float]:
    """The end on one side, and the share of the total beyond it; 0 if there is nothing on that side."""
    if not sizes.any():
        return Fraction(0), 0.0

    def cut(end: Fraction) -> float:
        return float(counts @ np.maximum(sizes - float(end), 0.0)) / total

    best = min((end for end in ends if end > 0), key=lambda end: cut(end) + noise * float(end))
    return best, cut(best)
