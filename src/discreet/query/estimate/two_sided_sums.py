"""Count, sum and mean from the two sides of a range: Σ(x - low) and Σ(high - x), two numbers for the price of one.
Rows without a value are a third one, so that they can be counted too.

A row that adds much to one side adds little to the other, so both together move no further than a single sum
(``bounding.md``). A count and a sum of their own would share the budget instead: with Laplace noise each would be twice
as far off as a number asked alone; here the count is √2 times, and a sum of numbers from 0 upwards not at all.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.query.estimate.error_bounds import sum_error
from discreet.query.estimate.estimators import (
    Estimate,
    Estimates,
    Fitted,
    Limit,
    Recipe,
    misses,
    possible,
    reaches,
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
        """The sums that it is made of: the third one too, where rows without a value are in all of them."""
        two = self.sides.above, self.sides.below
        return (*two, self.sides.absent) if self.sides.null_side and self.sides.absent is not None else two

    @property
    def null_share(self) -> float:
        """How much of the third sum is in each of the others."""
        return float(self.sides.null_side / self.sides.null_absent)

    @property
    def needs(self) -> dict[Statistic, float]:
        """All of them, which are noisy alike."""
        return dict.fromkeys(self.parts, 1.0)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """None is below 0: so a count is not, and a mean lies within the bounds. Where rows without a value are in the
        sides too, none is below their part of it.
        """
        if not self.sides.null_side or self.sides.absent is None:
            return tuple(Limit(part, 0.0, np.inf) for part in self.parts)
        above, below, absent = self.sides.above, self.sides.below, self.sides.absent
        more = (Limit(side, self.null_share, np.inf, absent) for side in (above, below))
        return Limit(absent, 0.0, np.inf), *more

    def _typical(self, statistic: Statistic, rows: float) -> Floats:
        """Every row has a value, in the middle of the range."""
        return np.array([0.0 if statistic == self.sides.absent else rows * float(self.sides.range) / 2])

    def both(self, noisy: Estimates) -> tuple[Estimate, Estimate]:
        """The estimates of the two sides."""
        return noisy[self.sides.above], noisy[self.sides.below]


@dataclass(frozen=True, slots=True)
class Combined(FromSides):
    """Some of each part."""

    is_whole: bool = True

    @property
    @abstractmethod
    def shares(self) -> tuple[float, ...]:
        """How much of each part."""

    def value(self, noisy: Estimates) -> Floats:
        """The combination."""
        values = self._combined([noisy[part].values for part in self.parts])
        if isinstance(noisy[self.parts[0]], Fitted):  # these are within their limits, but for the rounding of floats
            values = np.clip(values, *self._possible)
        return np.round(values) if self.is_whole else values

    @property
    def _possible(self) -> tuple[float, float]:
        """What follows from the signs of the values: a count is not below 0."""
        two = self.shares[:2]  # of what rows with a value add
        return 0.0 if min(two) >= 0 else -np.inf, 0.0 if max(two) <= 0 else np.inf

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """The error of the combined noise, whose law is known."""
        estimates = [noisy[part] for part in self.parts]
        error = _error(self.shares, estimates, miss)
        middle, values = self._combined([e.middle for e in estimates]), self._combined([e.values for e in estimates])
        if not isinstance(estimates[0], Fitted):
            return rounded(values, middle - error, middle + error, self.is_whole)
        least, most = self._possible
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
        law = [noise.times(share) for share, part in zip(shares, parts, strict=True) for noise in part.law]
        return sum_error([noise for noise in law if noise.weight], miss)
    return sum(abs(share) * part.error(miss / len(parts)) for share, part in zip(shares, parts, strict=True))


@dataclass(frozen=True, slots=True)
class Count(Combined):
    """How many rows have a value: (above + below) / range; or all rows: (above + below + absent) / range."""

    all_rows: bool = False

    @property
    def parts(self) -> tuple[Rows, ...]:
        """Both sides, and the rows without a value if they count."""
        two = self.sides.above, self.sides.below
        third = self.all_rows or self.sides.null_side
        return (*two, self.sides.absent) if third and self.sides.absent is not None else two

    @property
    def shares(self) -> tuple[float, ...]:
        """(above + below)/range is the number of rows, and 2·``null_side``/range for each row without a value."""
        per_row = 1 / float(self.sides.range)
        absent = (1 / float(self.sides.null_absent) if self.all_rows else 0.0) - 2 * self.null_share * per_row
        return (per_row, per_row, absent)[: len(self.parts)]


@dataclass(frozen=True, slots=True)
class Sum(Combined):
    """Σx = (high · above + low · below) / range."""

    @property
    def shares(self) -> tuple[float, ...]:
        """One of them is 0 if the range starts or ends there."""
        low, reach = self.sides.low, self.sides.range
        both = float((low + reach) / reach), float(low / reach)
        return (*both, -sum(both) * self.null_share)[: len(self.parts)]


@dataclass(frozen=True, slots=True)
class Mean(FromSides):
    """low + range · above / (above + below), within the range."""

    def value(self, noisy: Estimates) -> Floats:
        """The middle of the range, moved by the difference of the sides; as if there were one row at least."""
        above, below = (side.values for side in self.both(noisy))
        low, reach = float(self.sides.low), float(self.sides.range)
        absent = [noisy[part].values for part in self.parts[2:]]
        count = np.maximum((above + below - 2 * self.null_share * sum(absent)) / reach, 1.0)
        return np.clip(low + reach / 2 + (above - below) / 2 / count, low, low + reach)

    def error_at_most(self, noise: Callable[[Statistic, Floats], Estimate], rows: float, miss: float) -> float:
        """Both noises matter most where all values lie at one end of the range."""
        every, none = np.array([rows * float(self.sides.range)]), np.zeros(1)
        errors = [self.error_if(noise, rows, miss)]
        for at_end in (self.sides.above, self.sides.below):
            noisy: Estimates = {part: noise(part, every if part == at_end else none) for part in self.parts}
            errors.append(self.bar(noisy, miss))
        return max(errors)

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """The shares s of the range for which (1 - s) · above is near enough to s · below, both without the part of the
        rows that have no value.

        Where more than one noise is in a side, the mean rises with the one and falls with the other: two corners.
        """
        estimates = [noisy[part] for part in self.parts]
        value, start, reach = self.value(noisy), float(self.sides.low), float(self.sides.range)
        noises = [estimate.own_noise for estimate in estimates if estimate.own_noise is not None]
        if len(noises) == len(estimates):
            lines = (Line(1.0, -1.0), Line(0.0, -1.0), Line(-self.null_share, 2 * self.null_share))[: len(estimates)]
            low, high = ratio([estimate.middle for estimate in estimates], noises, lines, (0.0, 1.0), miss)
            return np.minimum(start + reach * low, value), np.maximum(start + reach * high, value)
        each = miss / len(estimates)
        (a, b), (c, d), *third = (estimate.ends(each) for estimate in estimates)
        for least, most in third:
            a, c = (end - self.null_share * most for end in (a, c))
            b, d = (end - self.null_share * least for end in (b, d))
        missed = np.logical_or.reduce([misses(estimate, each) for estimate in estimates])
        low, high = np.minimum(self.ratio(a, d, 0.0), value), np.maximum(self.ratio(b, c, 1.0), value)
        return np.where(missed, start, low), np.where(missed, start + reach, high)

    def may_be_null(self, noisy: Estimates, ends: tuple[Floats, Floats], miss: float) -> NDArray[np.bool_]:
        """Without rows the test holds for each share of the range, so for the least."""
        return reaches(-ends[0], -float(self.sides.low), float(self.sides.range))

    def ratio(self, above: Floats, below: Floats, empty: float = 0.5) -> Floats:
        """The mean for these sides; where both are 0, at this share of the range."""
        above, below = np.maximum(above, 0.0), np.maximum(below, 0.0)
        both = above + below
        share = np.where(both > 0, above / np.where(both > 0, both, 1.0), empty)
        return float(self.sides.low) + float(self.sides.range) * share
