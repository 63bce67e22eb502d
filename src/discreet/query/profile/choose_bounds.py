"""Bounds chosen for a column from its released values: what they cut of the total, and the noise that they allow.

Promise: a function of released numbers and public metadata alone. ``NoEstimate`` if no value stands out from the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.errors import NoEstimate
from discreet.query.answer.suggest import SIGNED_POWERS
from discreet.query.estimate.error_bounds import weighted_error
from discreet.query.plan.schema import Declared, bounds
from discreet.query.profile.classes import FIRST_YEAR, value_ends
from discreet.query.profile.histogram import Floats, Histogram

NOISE = 0.005
"""The relative noise of a typical sum whose bound is the mean: a bound of ten times the mean has ten times as much."""
_SURE = 0.001


@dataclass(frozen=True, slots=True)
class ChosenBounds:
    """Bounds for a column, and the share of the total (of the sizes of its values) that lies beyond, about."""

    column: str
    declared: Declared
    cut: float

    def __str__(self) -> str:
        low, high = self.declared.low, self.declared.high
        ends = [f"{float(end):g}" if isinstance(end, Fraction) else str(end) for end in (low, high)]
        return (
            f"bounds of {self.column} chosen from the profile: {ends[0]} to {ends[1]}; "
            f"about {self.cut:.1%} of the total of the values that stood out from the noise lies beyond, and rarer "
            "ones may; that is not in the error bars"
        )


def choose_bounds(values: Histogram, *, nullable: bool = True) -> ChosenBounds:
    """The bounds for which noise and what is cut together are least; of dates, the years that stand out."""
    counts = values.values[:-1]  # without NULL
    first, last = _range(values, counts)
    if values.labels[0] == FIRST_YEAR:
        days = date(FIRST_YEAR + first, 1, 1), date(FIRST_YEAR + last, 12, 31)
        return ChosenBounds(values.column, bounds(*days, nullable=nullable), 0.0)
    there = np.maximum(counts[first : last + 1], 0.0)
    ends = [value_ends(power, values.step) for power in SIGNED_POWERS[first : last + 1]]
    size = np.array([np.sqrt(float(abs(a)) * float(abs(b))) for a, b in ends])
    total = float(there @ size) or 1.0
    mean = total / (float(there.sum()) or 1.0)
    sign = np.sign([float(a + b) for a, b in ends])
    low, below = _end([-a for a, _ in ends], there, np.where(sign < 0, size, 0.0), total, mean)
    high, above = _end([b for _, b in ends], there, np.where(sign > 0, size, 0.0), total, mean)
    if low == high == 0:
        high = values.step
    return ChosenBounds(values.column, bounds(-low, high, nullable=nullable), below + above)


def _range(values: Histogram, counts: Floats) -> tuple[int, int]:
    """The first and the last class from which on, to either side, there surely is something."""
    many = len(counts)
    ones = _errors_of_sums(values.scale, many, values.gaussian)
    last = [i for i in range(many) if counts[i:].sum() > ones[many - i - 1]]
    first = [i for i in range(many) if counts[: i + 1].sum() > ones[i]]
    if not last or not first:
        raise NoEstimate
    return min(first[0], last[-1]), max(first[0], last[-1])


@lru_cache(maxsize=64)
def _errors_of_sums(scale: float, many: int, gaussian: bool) -> tuple[float, ...]:
    """How far off a sum of 1, 2, ... counts may be: the same for every column of a profile."""
    return tuple(weighted_error(scale, [1.0] * k, _SURE, gaussian=gaussian) for k in range(1, many + 1))


def _end(ends: list[Fraction], counts: Floats, sizes: Floats, total: float, mean: float) -> tuple[Fraction, float]:
    """The end on one side, and the share of the total beyond it; 0 if there is nothing on that side."""
    if not sizes.any():
        return Fraction(0), 0.0

    def cut(end: Fraction) -> float:
        return float(counts @ np.maximum(sizes - float(end), 0.0)) / total

    best = min((end for end in ends if end > 0), key=lambda end: cut(end) + NOISE * float(end) / mean)
    return best, cut(best)
