"""Count, sum and mean from the two sides of a range: Σ(x - low) and Σ(high - x), two numbers for the price of one.
Rows without a value are a third one, so that they can be counted too.

A row that adds much to one side adds little to the other, so both together move no further than a single sum
(``bounding.md``). A count and a sum of their own would share the budget instead: with Laplace noise each would be twice
as far off as a number asked alone; here the count is √2 times, and a sum of numbers from 0 upwards not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.query.estimate.error_bounds import sum_error
from discreet.query.estimate.estimators import (
    Estimate,
    Estimates,
    Fitted,
    Floats,
    Limit,
    Recipe,
    misses,
    possible,
    rounded,
)
from discreet.query.estimate.inversion import Line, ratio
from discreet.query.estimate.statistics import Rows, Sides, Statistic


@dataclass(frozen=True, slots=True)
class FromSides(Recipe):
    """What is made of the parts of a range."""

    sides: Sides

    @property
    def parts(self) -> tuple[Rows, ...]:
        """The sums that it is made of."""
        return self.sides.above, self.sides.below

    @property
    def needs(self) -> dict[Statistic, float]:
        """All of them, which are noisy alike."""
        return dict.fromkeys(self.parts, 1.0)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """None is below 0: so a count is not, and a mean lies within the bounds."""
        return tuple(Limit(part, 0.0, np.inf) for part in self.parts)

    def both(self, noisy: Estimates) -> tuple[Estimate, Estimate]:
        """The estimates of the two sides."""
        return noisy[self.sides.above], noisy[self.sides.below]


@dataclass(frozen=True, slots=True)
class Combined(FromSides):
    """Some of each part."""

    is_whole: bool = True

    @property
    def shares(self) -> tuple[float, ...]:
        """How much of each."""
        return (1 / float(self.sides.range),) * len(self.parts)

    def value(self, noisy: Estimates) -> Floats:
        """The combination."""
        values = self._combined([noisy[part].values for part in self.parts])
        return np.round(values) if self.is_whole else values

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """The error of the combined noise, whose law is known."""
        found = [noisy[part] for part in self.parts]
        error = _error(self.shares, found, miss)
        middle, values = self._combined([e.middle for e in found]), self._combined([e.values for e in found])
        if not isinstance(found[0], Fitted):
            return rounded(values, middle - error, middle + error, self.is_whole)
        least, most = 0.0 if min(self.shares) >= 0 else -np.inf, 0.0 if max(self.shares) <= 0 else np.inf
        low, high = possible(middle - error, middle + error, least, most)
        low, high = rounded(values, np.minimum(low, values), np.maximum(high, values), self.is_whole)
        return np.maximum(low, least), np.minimum(high, most)

    def _combined(self, parts: Sequence[Floats]) -> Floats:
        return np.asarray(sum(share * part for share, part in zip(self.shares, parts, strict=True)))

    @property
    def whole(self) -> bool:
        """Counts are, and sums of whole numbers."""
        return self.is_whole

    @property
    def depends_on_rows(self) -> bool:
        """The noise is all."""
        return False


def _error(shares: Sequence[float], parts: Sequence[Estimate], miss: float) -> float:
    """Of Σ share · part."""
    if all(part.law for part in parts):
        law = [one.times(share) for share, part in zip(shares, parts, strict=True) for one in part.law]
        return sum_error([one for one in law if one.weight], miss)
    return sum(abs(share) * part.error(miss / len(parts)) for share, part in zip(shares, parts, strict=True))


@dataclass(frozen=True, slots=True)
class Count(Combined):
    """How many rows have a value: (above + below) / range; or all rows: (above + below + absent) / range."""

    all_rows: bool = False

    @property
    def parts(self) -> tuple[Rows, ...]:
        """Both sides, and the rows without a value if they count."""
        two = self.sides.above, self.sides.below
        return (*two, self.sides.absent) if self.all_rows and self.sides.absent is not None else two


@dataclass(frozen=True, slots=True)
class Sum(Combined):
    """Σx = (high · above + low · below) / range."""

    @property
    def shares(self) -> tuple[float, ...]:
        """One of them is 0 if the range starts or ends there."""
        low, reach = self.sides.low, self.sides.range
        return float((low + reach) / reach), float(low / reach)


@dataclass(frozen=True, slots=True)
class Mean(FromSides):
    """low + range · above / (above + below), within the range."""

    def value(self, noisy: Estimates) -> Floats:
        """The middle of the range, moved by the difference of the sides; as if there were one row at least."""
        above, below = (one.values for one in self.both(noisy))
        low, reach = float(self.sides.low), float(self.sides.range)
        count = np.maximum((above + below) / reach, 1.0)
        return np.clip(low + reach / 2 + (above - below) / 2 / count, low, low + reach)

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """The shares s of the range for which (1 - s) · above is near enough to s · below.

        Where more than one noise is in a side, the mean rises with the one and falls with the other: two corners.
        """
        first, second = self.both(noisy)
        if first.own_noise is not None and second.own_noise is not None:
            lines = (Line(1.0, -1.0), Line(0.0, -1.0))
            noises = (first.own_noise, second.own_noise)
            low, high = ratio((first.middle, second.middle), noises, lines, (0.0, 1.0), miss)
            value, start, reach = self.value(noisy), float(self.sides.low), float(self.sides.range)
            return np.minimum(start + reach * low, value), np.maximum(start + reach * high, value)
        (a, b), (c, d) = (one.ends(miss / 2) for one in self.both(noisy))
        value = self.value(noisy)
        above, below = (misses(one, miss / 2) for one in self.both(noisy))
        least, most = float(self.sides.low), float(self.sides.low + self.sides.range)
        low, high = np.minimum(self.ratio(a, d, 0.0), value), np.maximum(self.ratio(b, c, 1.0), value)
        return np.where(above | below, least, low), np.where(above | below, most, high)

    def ratio(self, above: Floats, below: Floats, empty: float = 0.5) -> Floats:
        """The mean for these sides; where both are 0, at this share of the range."""
        above, below = np.maximum(above, 0.0), np.maximum(below, 0.0)
        both = above + below
        share = np.where(both > 0, above / np.where(both > 0, both, 1.0), empty)
        return float(self.sides.low) + float(self.sides.range) * share
