"""How large units are, from a released histogram, and what a cap would cut of them.

Promise: every number follows from released ones. A cut is an estimate with an interval for units of up to ``reach``
rows; how many units may have more than that is stated beside it, because no noisy number can rule out one giant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.answer import CONFIDENCE, confidence_level, how_many
from discreet.arrays import Floats
from discreet.exact import Number
from discreet.query.profile.classes import STARTS
from discreet.query.profile.histogram import UnitHistogram
from discreet.query.profile.tails import Tails, tails

_SURE = 3e-5
"""There are some thirty classes: the chance that noise alone looks like units in any of them is a thousandth."""
_WINDOWS = (1, 2, 4, 8, 1000)
"""So many classes are looked at together, the last one standing for all."""
_STEPS = 9
_MANY = 1 / 3
"""Beside so many times the units that are seen, those that noise may hide can be most of the table."""
_HIDDEN = ": they may hold most of the table, since noise hides large units; a profile at a higher cost sees more"


@dataclass(frozen=True, slots=True)
class RowsCut:
    """The estimated share of rows (or groups) that a cap leaves out, with an interval."""

    cap: int
    share: float
    low: float
    high: float
    confidence: float
    reach: int
    """The estimate is about units with up to so many rows."""
    beyond: int
    """At most so many units have more, with the same confidence."""
    what: str = "rows"
    within: float = 0.0
    """How many units are within the reach, about."""

    def __str__(self) -> str:
        ends = f"{self.low:.1%} to {self.high:.1%}, {self.confidence:.0%}"
        cuts = f"about {self.share:.1%} of their {self.what} ({ends})" if self.high else "nothing"
        return (
            f"of units with up to {how_many(self.reach, self.what)}, a cap of {how_many(self.cap, self.what)} cuts "
            f"{cuts}; at most {self.beyond:,} units have more, and what is cut of theirs is unknown"
        ) + (_HIDDEN if self.beyond > _MANY * self.within else "")


@dataclass(frozen=True)
class UnitSizes:
    """Rows per unit, or groups per unit."""

    histogram: UnitHistogram

    @cached_property
    def _last(self) -> int:
        """The last class with which units begin that surely are there, in few classes or in many; else the first one.

        Noise adds up over classes: units that are much alike stand out in one or two, a long tail in all together.
        """
        counts = self.histogram.values
        for place in range(len(counts) - 1, 0, -1):
            if any(self._there(counts[place:][:many]) for many in _WINDOWS):
                return place
        return 0

    def _there(self, counts: Floats) -> bool:
        return bool(counts.sum() > self.histogram.error(np.ones(len(counts)), _SURE / len(_WINDOWS)))

    @property
    def reach(self) -> int:
        """The largest size that the estimates are about."""
        place = self._last
        return STARTS[place + 1] - 1 if place + 1 < len(STARTS) else STARTS[place]

    @property
    def empty(self) -> bool:
        """Whether no unit stands out from the noise."""
        return self._last == 0 and not any(self._there(self.histogram.values[:many]) for many in _WINDOWS)

    def _ends(self) -> tuple[Floats, Floats]:
        """The least and the largest size of each class that is looked at."""
        last = self._last
        low = np.array(STARTS[: last + 1], dtype=float)
        high = np.array([*(s - 1 for s in STARTS[1 : last + 1]), self.reach], dtype=float)
        return low, high

    @property
    def typical(self) -> Floats:
        """A size for each class that is looked at."""
        low, high = self._ends()
        return np.sqrt(low * high)

    @property
    def counts(self) -> Floats:
        """The noisy number of units in each of these classes."""
        return self.histogram.values[: self._last + 1]

    @cached_property
    def _tails(self) -> Tails:
        """Units beyond the reach: a guess, for choices."""
        return tails(self.histogram, self._last)

    def rows_between(self, confidence: Number = CONFIDENCE) -> tuple[float, float]:
        """Between these ends lie all rows of units within the reach: the noise and the width of the classes."""
        miss = float(1 - confidence_level(confidence))
        least, most = self._ends()
        low = float(self.counts @ least) - self.histogram.error(least, miss)
        return max(low, 0.0), max(float(self.counts @ most) + self.histogram.error(most, miss), 0.0)

    def kept(self, cap: int) -> float:
        """Rows that a cap leaves, about: of units within the reach, and a guess of the rest."""
        return max(self.sum_of(lambda sizes: np.minimum(sizes, cap)), 1.0)

    def sum_of(self, what: Callable[[Floats], Floats]) -> float:
        """The sum of a function of their size over all units, about: within the reach, and a guess of the rest."""
        return self._tails.middle(self.sums_of(what))

    def sums_of(self, what: Callable[[Floats], Floats]) -> Floats:
        """The same for each of the ways in which units beyond the reach may be distributed."""
        return float(self.counts @ what(self.typical)) + self._tails.units @ what(self._tails.sizes)

    def shares_cut(self, cap: int) -> Floats:
        """The share of all rows that a cap cuts, for each of these ways."""
        every, kept = self.sums_of(lambda n: n), self.sums_of(lambda n: np.minimum(n, cap))
        return np.clip(1 - np.maximum(kept, 1.0) / np.maximum(every, 1.0), 0.0, 1.0)

    def middle(self, values: Floats) -> float:
        """One number for those that these ways have: the weighted median."""
        return self._tails.middle(values)

    def cut(self, cap: int, confidence: Number = CONFIDENCE, what: str = "rows") -> RowsCut:
        """What a cap cuts: the share s for which Σ N_j ((m_j - cap)+ - s m_j) is 0, and those that noise allows."""
        level = confidence_level(confidence)
        miss = float(1 - level) / 2
        (low, high), counts = self._ends(), self.counts
        points = [(m, np.maximum(m - cap, 0.0)) for m in (self.typical, low, high, np.clip(cap, low, high))]
        share, first, last = share_beyond(self.histogram, counts, points, miss)
        above = self.histogram.values[self._last + 1 :]

        beyond = 0.0
        if len(above):
            beyond = max(0.0, float(above.sum()) + self.histogram.error(np.ones(len(above)), 2 * miss))
        return RowsCut(
            cap,
            share,
            first,
            last,
            float(level),
            self.reach,
            int(np.ceil(beyond)),
            what,
            float(np.maximum(counts, 0.0).sum()),
        )


def share_beyond(
    histogram: UnitHistogram, counts: Floats, points: Sequence[tuple[Floats, Floats]], miss: float
) -> tuple[float, float, float]:
    """The share of all sizes that lies beyond something, and an interval: those shares s that the noise of the counts
    and the width of the classes allow, Σ N_j (beyond_j - s size_j) = 0.

    ``points``: sizes, and what of them is beyond, in the middle of each class, at its ends and where that bends.
    """
    if not any(beyond.any() for _, beyond in points):
        return 0.0, 0.0, 0.0
    middle, there = points[0], np.maximum(counts, 0.0)
    share = min(max(float(counts @ middle[1]) / max(float(counts @ middle[0]), 1e-9), 0.0), 1.0)

    def possible(s: float) -> bool:
        weights, *others = (beyond - s * size for size, beyond in points)
        slack = float(there @ np.max([np.abs(changed - weights) for changed in others], axis=0))
        return abs(float(counts @ weights)) <= slack + histogram.error(weights, miss)

    return share, _farthest(possible, share, 0.0), _farthest(possible, share, 1.0)


def _farthest(possible: Callable[[float], bool], near: float, far: float) -> float:
    """The possible value nearest to ``far``, to 1/512 of the way and never too near: those in between are possible."""
    if possible(far):
        return far
    for _ in range(_STEPS):
        middle = (near + far) / 2
        near, far = (middle, far) if possible(middle) else (near, middle)
    return far
