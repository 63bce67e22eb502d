"""Bounds chosen for a column from its released values: what they cut of the total, and the noise that they allow.

Promise: a function of released numbers and public metadata alone. ``NoEstimate`` if no value stands out from the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.arrays import Floats
from discreet.errors import NoEstimate
from discreet.exact import significant
from discreet.query.choose.classes import SIGNED_POWERS
from discreet.query.estimate.error_bounds import weighted_error
from discreet.query.plan.schema import Declared, bounds
from discreet.query.profile.classes import FIRST_YEAR, value_ends
from discreet.query.profile.histogram import UnitHistogram
from discreet.query.profile.tails import Tails, beyond

GROUPS = 20
"""A sum is mostly asked by group: in so many, the noise of a sum whose bound is the mean is so many parts of all units.
A bound of ten times the mean has ten times as much."""
FARTHER = "values lie farther out than a profile looks, so what is cut of them is unknown"
_SURE = 0.001
_WINDOWS = (1, 2, 4, 8)
_GUESSED = 6
"""Classes beyond those that surely hold something that may be within bounds."""


@dataclass(frozen=True, slots=True)
class ChosenBounds:
    """Bounds for a column, and the share of the total (of the sizes of its values) that lies beyond, about."""

    column: str
    declared: Declared
    cut: float
    farther: bool = False
    """Whether values surely lie in the outermost classes of a profile, which have no end: then nobody knows the cut."""

    def __str__(self) -> str:
        low, high = self.declared.low, self.declared.high
        ends = [significant(float(end), 6) if isinstance(end, Fraction) else str(end) for end in (low, high)]
        words = f"bounds of {self.column} chosen from the profile: {ends[0]} to {ends[1]}; "
        if self.farther:
            return f"{words}{FARTHER}; the intervals leave it out: declare bounds of {self.column} if you know some"
        return (
            f"{words}about {self.cut:.1%} of the total of the values lies beyond, if values too rare for the profile "
            "grow rarer as the others do; the confidence intervals leave it out"
        )


def choose_bounds(values: UnitHistogram, *, nullable: bool = True, noise: float | None = None) -> ChosenBounds:
    """The bounds for which noise and what is cut together are least; of dates, the years that stand out.

    ``noise``: beside the total of the values, of a sum whose bound is 1; by default that of ``GROUPS`` groups at ε = 1.
    """
    counts = values.values[:-1]  # without NULL
    first, last = _range(values, counts)
    farther = first == 0 or last == len(counts) - 1
    if values.labels[0] == FIRST_YEAR:
        days = date(FIRST_YEAR + first, 1, 1), date(FIRST_YEAR + last, 12, 31)
        return ChosenBounds(values.column, bounds(*days, nullable=nullable), 0.0, farther)
    below, above = (_side(values, sign, sign * SIGNED_POWERS[end]) for sign, end in ((-1, first), (1, last)))
    total = sum(side.total for side in (below, above)) or 1.0
    if noise is None:
        noise = GROUPS / total
    low, under = below.best(total, noise)
    high, over = above.best(total, noise)
    if low == high == 0:
        high = values.step
    return ChosenBounds(values.column, bounds(-low, high, nullable=nullable), under + over, farther)


@dataclass(frozen=True, slots=True)
class _Side:
    """The values on one side of 0: classes outwards, and how many values each has, in several ways."""

    ends: tuple[Fraction, ...]
    sizes: Floats
    counts: Floats
    """One line for each way."""
    ways: Tails

    @property
    def total(self) -> float:
        """Of the sizes of all values, about."""
        return self.ways.middle(self.counts @ self.sizes)

    def best(self, total: float, noise: float) -> tuple[Fraction, float]:
        """The end for which noise and cut together are least, and the share of the total beyond it."""
        if not self.ends:
            return Fraction(0), 0.0
        every = np.maximum(self.counts @ self.sizes + total - self.total, 1e-300)

        def cut(end: Fraction) -> Floats:
            return np.asarray(self.counts @ np.maximum(self.sizes - float(end), 0.0) / every)

        best = min(self.ends, key=lambda end: self.ways.mean_by_ratio(cut(end) + noise * float(end)))
        return best, self.ways.middle(cut(best))


def _side(values: UnitHistogram, sign: int, last: int) -> _Side:
    """Up to the class ``last``, which surely holds something, and some beyond; nothing if that is not on this side."""
    if last < 1:
        return _Side((), np.zeros(0), np.zeros((1, 0)), Tails(np.zeros(0), np.zeros((1, 0)), np.ones(1)))
    outward = range(1, SIGNED_POWERS[-1] + 1)
    counts = values.values[[SIGNED_POWERS.index(sign * power) for power in outward]]
    ends = [value_ends(power, values.step) for power in outward]
    sizes = np.array([float(near) * 2**0.5 for near, _ in ends])
    ways = beyond(counts, sizes, np.full(len(sizes), np.log(2)), values.variance, last - 1, may_end=True)
    far = min(last + _GUESSED, len(sizes))
    counted = np.broadcast_to(np.maximum(counts[:last], 0.0), (len(ways.weights), last))
    units = np.hstack([counted, ways.units[:, : far - last]])
    return _Side(tuple(end for _, end in ends[:far]), sizes[:far], units, ways)


def _range(values: UnitHistogram, counts: Floats) -> tuple[int, int]:
    """The first and the last class that surely hold something, alone or with some of those beyond them."""
    surely = [i for i in range(len(counts)) if _stands_out(values, counts[i:])]
    before = [i for i in range(len(counts)) if _stands_out(values, counts[i::-1])]
    if not surely or not before:
        raise NoEstimate
    return min(before[0], surely[-1]), max(before[0], surely[-1])


def _stands_out(values: UnitHistogram, outward: Floats) -> bool:
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
