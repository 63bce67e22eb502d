"""Recipes: how each aggregate is made of released statistics, and how far off it may then be.

Everything here happens after the noise: any function of released numbers is free. An error holds with probability at
least 1 - miss, by the union bound over the statistics that it uses; it speaks of the noise, not of what bounding left
out.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.query.estimate import statistics as st
from discreet.query.estimate.error_bounds import Share
from discreet.query.estimate.inversion import Line, combined_error, ratio
from discreet.query.estimate.noise_plan import Noised
from discreet.query.estimate.statistics import Bins, Centred, Statistic
from discreet.query.functions.dates import Span


def possible(low: Floats, high: Floats, least: float, most: float) -> tuple[Floats, Floats]:
    """An interval cut to what is publicly possible.

    Where nothing of it is, the noise was larger than its bar, and to cut would leave a point that looks certain. There
    it is the whole range, or as much of an endless one as the interval is long: it only holds the truth more often.
    """
    whole = math.isfinite(most - least)
    reach = most - least if whole else high - low
    slack = 1e-9 * (most - least) if whole else 0.0  # an end that is off by the rounding of floats misses nothing
    under, over = high < least - slack, low > most + slack
    first = np.where(over, np.maximum(most - reach, least), np.clip(low, least, most))
    last = np.where(under, np.minimum(least + reach, most), np.clip(high, least, most))
    return first, last


@dataclass(frozen=True, slots=True)
class Estimate:
    """A released statistic: its value for each group (for bins: groups × bins, fitted), and its error for a miss."""

    values: Floats
    error: Callable[[float], float]
    """The largest error with probability 1 - miss, of one entry (for bins: of any one prefix sum)."""
    noised: Noised | None = None
    """The noise that is in it."""
    law: tuple[Share, ...] = ()
    """The noises whose weighted sum the error of one entry is; none for bins."""

    @property
    def middle(self) -> Floats:
        """The numbers that the error is about."""
        return self.values

    @property
    def possible(self) -> tuple[float, float]:
        """Ends beyond which its intervals do not go."""
        return -math.inf, math.inf

    @property
    def own_noise(self) -> Noised | None:
        """The noise that alone is in each entry, and there independent of others; None where it was selected for its
        noise, fitted from several, or is common to entries.
        """
        alone = len(self.law) == 1 and self.law[0].weight == 1 and not self.law[0].noise.common
        return self.noised if alone else None

    def ends(self, miss: float) -> tuple[Floats, Floats]:
        """An interval for each entry that holds the exact one with probability 1 - miss."""
        error = self.error(miss)
        return self.values - error, self.values + error


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted(Estimate):
    """An estimate that was moved after the noise; the error is still that of ``centre``, from which it was moved."""

    centre: Floats
    least: float
    most: float
    """Public: the exact number lies between the two."""

    @property
    def middle(self) -> Floats:
        """Before it was moved."""
        return self.centre

    @property
    def possible(self) -> tuple[float, float]:
        """Where the exact number is known to lie."""
        return self.least, self.most

    def ends(self, miss: float) -> tuple[Floats, Floats]:
        """The interval around the centre, cut to what is possible, and stretched to the value if that lies outside."""
        error = self.error(miss)
        low, high = possible(self.centre - error, self.centre + error, self.least, self.most)
        return np.minimum(low, self.values), np.maximum(high, self.values)


Estimates = dict[Statistic, Estimate]


class Recipe(ABC):
    """One aggregate of a question."""

    @property
    @abstractmethod
    def needs(self) -> dict[Statistic, float]:
        """The statistics that it is made of, and how much the noise of each (squared, relative) matters to it."""

    @abstractmethod
    def value(self, noisy: Estimates) -> Floats:
        """The answer for each group; NaN where there is none."""

    @abstractmethod
    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """An interval for each group that holds the exact bounded aggregate with probability 1 - miss."""

    def may_be_null(self, noisy: Estimates, ends: tuple[Floats, Floats], miss: float) -> NDArray[np.bool_]:
        """For each group, whether the exact aggregate may be NULL because no row has a value; ``ends`` are its
        intervals for this miss. Where it is NULL, this is true with probability 1 - miss. A count, and a sum, which is
        0 of no rows, are never NULL; a recipe around another (``inner``) is where that one is.
        """
        inner: Recipe | None = getattr(self, "inner", None)
        return np.zeros(len(ends[0]), dtype=bool) if inner is None else inner.may_be_null(noisy, ends, miss)

    def error_if(self, noise: Callable[[Statistic, Floats], Estimate], rows: float, miss: float) -> float:
        """The expected error bar in a group of so many rows, before data is touched; whole numbers are shown rounded,
        which moves them by half at most.
        """
        return self.bar({s: noise(s, self._typical(s, rows)) for s in self.needs}, miss)

    def error_at_most(self, noise: Callable[[Statistic, Floats], Estimate], rows: float, miss: float) -> float:
        """The same, wherever in their bounds the values of such a group lie."""
        return self.error_if(noise, rows, miss)

    def bar(self, noisy: Estimates, miss: float) -> float:
        """The longest error bar of some groups."""
        low, high = self.ends(noisy, miss)
        middle = self.value(noisy)
        return float(np.max(np.maximum(high - middle, middle - low))) + (0.5 if self.whole else 0.0)

    def size_if(self, noise: Callable[[Statistic, Floats], Estimate], rows: float) -> float:
        """The size of the answer in such a group, for values spread over their bounds; 0 where it cannot be said."""
        value = self.value({s: noise(s, self._typical(s, rows)) for s in self.needs})
        spread = (float(s.bound * s.step) * rows / 2 for s in self.needs if isinstance(s, st.Rows))
        return float(np.max(np.abs(value))) or max(spread, default=0.0)

    def _typical(self, statistic: Statistic, rows: float) -> Floats:
        if isinstance(statistic, Bins):
            return np.full((1, statistic.bins), rows / statistic.bins)
        if isinstance(statistic, st.Rows) and statistic.beside:
            return np.array([rows * float(statistic.bound * statistic.step) / 2])
        counted = isinstance(statistic, st.Units) or (isinstance(statistic, st.Rows) and statistic.bound == 1)
        return np.array([rows if counted else 0.0])

    @property
    def whole(self) -> bool:
        """Whether the answer is shown as a whole number."""
        return False

    @property
    def limits(self) -> tuple[Limit, ...]:
        """What is publicly known of the statistics in it."""
        return ()

    @property
    def of_all_groups(self) -> bool:
        """Whether it holds numbers of all groups, so that it cannot be made of some of them."""
        return False

    @property
    def depends_on_rows(self) -> bool:
        """Whether the error bar depends on how many rows a group has."""
        return True

    @property
    def depends_on_values(self) -> bool:
        """Whether it may be many times longer than ``error_if`` says, where values are not spread over their bounds."""
        return False


@dataclass(frozen=True, slots=True)
class Limit:
    """The statistic lies between ``low`` and ``high`` (times the count, if there is one)."""

    statistic: Statistic
    low: float
    high: float
    count: Statistic | None = None


@dataclass(frozen=True, slots=True)
class Plain(Recipe):
    """One statistic as it is: a count, a number of units, a sum asked alone."""

    statistic: Statistic
    is_whole: bool
    is_count: bool = True
    sign: int = 0
    """Of a sum: 1 if no value is below 0, -1 if none is above."""

    @property
    def needs(self) -> dict[Statistic, float]:
        """Itself. A count weighs more: a sum of values within bounds is further off anyway. One with a clip is not."""
        clipped = isinstance(self.statistic, st.Rows) and self.statistic.clip is not None
        return {self.statistic: 4.0 if self.is_count or clipped else 1.0}

    def value(self, noisy: Estimates) -> Floats:
        """The released number."""
        values = noisy[self.statistic].values
        return np.round(values) if self.is_whole else values

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """The released number, before it is rounded to be shown, less and more its error."""
        estimate = noisy[self.statistic]
        low, high = rounded(estimate.values, *estimate.ends(miss), self.is_whole)
        return np.maximum(low, estimate.possible[0]), np.minimum(high, estimate.possible[1])

    @property
    def whole(self) -> bool:
        """Counts are."""
        return self.is_whole

    @property
    def limits(self) -> tuple[Limit, ...]:
        """A count is not below 0."""
        least = 0.0 if self.is_count or self.sign > 0 else -np.inf
        return (Limit(self.statistic, least, 0.0 if self.sign < 0 else np.inf),)

    @property
    def depends_on_rows(self) -> bool:
        """The noise is all."""
        return False


@dataclass(frozen=True, slots=True)
class Nothing(Recipe):
    """What cannot be known from what was released: NULL in every group, with the reason."""

    why: str

    @property
    def needs(self) -> dict[Statistic, float]:
        """No statistic."""
        return {}

    def value(self, noisy: Estimates) -> Floats:
        """NULL, as often as there are groups."""
        return np.full(groups_of(noisy), np.nan)

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """Nothing is known."""
        return np.full(groups_of(noisy), -np.inf), np.full(groups_of(noisy), np.inf)

    @property
    def depends_on_rows(self) -> bool:
        """Nothing does."""
        return False


def groups_of(noisy: Estimates) -> int:
    """How many groups there are, by whatever was released for them; one where nothing was."""
    return max((len(estimate.values) for estimate in noisy.values()), default=1)


def rounded(values: Floats, low: Floats, high: Floats, whole: bool) -> tuple[Floats, Floats]:
    """An interval around values, stretched to what is shown: they are rounded if they are whole.

    The interval itself is not: what it holds, it holds whatever is shown.
    """
    shown = np.round(values) if whole else values
    return np.minimum(low, shown), np.maximum(high, shown)


@dataclass(frozen=True, slots=True)
class SumFrom(Recipe):
    """A sum from the centred sum and the count: Σx = Σ(x - c) + c·n, as exact as a sum asked alone."""

    x: Centred
    centred: st.Rows
    count: st.Rows | st.Units
    is_whole: bool

    @property
    def needs(self) -> dict[Statistic, float]:
        """In proportion to what each adds to the squared error; a clip is of distances, and the count adds more."""
        if self.centred.clip is not None:
            return {self.centred: 1 / 4, self.count: 4.0}
        reach, centre = float(self.centred.bound * self.centred.step), abs(float(self.x.centre))
        scale = (reach + centre) ** 2 or 1.0
        return {self.centred: reach**2 / scale, self.count: centre**2 / scale}

    def value(self, noisy: Estimates) -> Floats:
        """Σ(x - c) + c·n."""
        values = noisy[self.centred].values + float(self.x.centre) * noisy[self.count].values
        return np.round(values) if self.is_whole else values

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """By the law of both noises together; where one was selected or fitted, the two errors add up."""
        top, many, centre = noisy[self.centred], noisy[self.count], float(self.x.centre)
        values = top.values + centre * many.values
        if top.own_noise is not None and many.own_noise is not None:
            noises, weights = (top.own_noise, many.own_noise), (np.ones(1), np.array([centre]))
            middle, error = top.middle + centre * many.middle, combined_error(noises, weights, miss)
            return rounded(values, middle - error, middle + error, self.is_whole)
        (low, high), (least, most) = top.ends(miss / 2), many.ends(miss / 2)
        around = np.minimum(centre * least, centre * most), np.maximum(centre * least, centre * most)
        return rounded(values, low + around[0], high + around[1], self.is_whole)

    @property
    def whole(self) -> bool:
        """Sums of whole numbers are."""
        return self.is_whole

    @property
    def limits(self) -> tuple[Limit, ...]:
        """As many values as are counted, each within its bounds."""
        return _per_row(self.x, self.centred, self.count)

    @property
    def depends_on_rows(self) -> bool:
        """The noise is all."""
        return False


@dataclass(frozen=True, slots=True)
class Mean(Recipe):
    """c + Σ(x - c) / n, within the bounds of x."""

    x: Centred
    centred: st.Rows
    count: st.Rows | st.Units
    rounding: float = 0.0
    """By so much the mean of the rounded values may be off that of the stored ones."""

    @property
    def needs(self) -> dict[Statistic, float]:
        """The count matters less: it multiplies the distance of the mean from the centre, which is small if chosen."""
        return {self.centred: 1.0, self.count: 1 / 3 if self.centred.clip is None else 1 / 8}

    def value(self, noisy: Estimates) -> Floats:
        """The ratio, clamped."""
        return _clamp(
            float(self.x.centre) + noisy[self.centred].values / np.maximum(noisy[self.count].values, 1.0), self.x
        )

    def error_at_most(self, noise: Callable[[Statistic, Floats], Estimate], rows: float, miss: float) -> float:
        """The noise of the count matters most where the mean lies at an end of its bounds."""
        many = noise(self.count, np.array([rows]))
        tops = [noise(self.centred, np.array([rows * float(end - self.x.centre)])) for end in (self.x.low, self.x.high)]
        at_ends = [self.bar({self.centred: top, self.count: many}, miss) for top in tops]
        return max(self.error_if(noise, rows, miss), *at_ends)

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """The means for which the sum is near enough to so many times them, and what rounding may add."""
        low, high = self._ends(noisy, miss)
        return _clamp(low - self.rounding, self.x), _clamp(high + self.rounding, self.x)

    def _ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        top, many = noisy[self.centred], noisy[self.count]
        least, most = float(self.x.low), float(self.x.high)
        if top.own_noise is not None and many.own_noise is not None:
            centre = float(self.x.centre)
            lines = (Line(1.0, 0.0), Line(0.0, -1.0))
            noises = (top.own_noise, many.own_noise)
            low, high = ratio((top.middle, many.middle), noises, lines, (least - centre, most - centre), miss)
            value = self.value(noisy)
            return np.minimum(centre + low, value), np.maximum(centre + high, value)
        low, high = (float(self.x.centre) + end for end in _ratio(top, many, miss))
        low, high = possible(low, high, least, most)
        missed = misses(noisy[self.count], miss / 2)
        return np.where(missed, least, low), np.where(missed, most, high)

    def may_be_null(self, noisy: Estimates, ends: tuple[Floats, Floats], miss: float) -> NDArray[np.bool_]:
        """Without rows the inverted test holds for each mean, so for the least; otherwise the count tells."""
        if noisy[self.centred].own_noise is not None and noisy[self.count].own_noise is not None:
            return reaches(-ends[0], -float(self.x.low), float(self.x.high - self.x.low))
        return np.asarray(noisy[self.count].ends(miss / 2)[0] <= 0)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """As many values as are counted, each within its bounds."""
        return _per_row(self.x, self.centred, self.count)


def _per_row(x: Centred, centred: st.Rows, count: st.Rows | st.Units) -> tuple[Limit, ...]:
    ends = float(x.low - x.centre), float(x.high - x.centre)
    return Limit(count, 0.0, np.inf), Limit(centred, *ends, count)


def reaches(ends: Floats, end: float, length: float) -> NDArray[np.bool_]:
    """Where intervals reach the upper end of what is possible, but for the rounding of floats."""
    return np.asarray(ends >= end - 1e-9 * length)


def misses(count: Estimate, miss: float) -> NDArray[np.bool_]:
    """Where the interval of what is not below 0 lies below 0."""
    return count.middle + count.error(miss) < 0


def _clamp(values: Floats, x: Centred) -> Floats:
    return np.clip(values, float(x.low), float(x.high))


def _ratio(top: Estimate, bottom: Estimate, miss: float) -> tuple[Floats, Floats]:
    """The range of top/bottom when each moves within its error, bottom at least 1."""
    a, b = top.ends(miss / 2)
    c, d = (np.maximum(end, 1.0) for end in bottom.ends(miss / 2))
    corners = np.stack([a / c, a / d, b / c, b / d])
    return corners.min(axis=0), corners.max(axis=0)


@dataclass(frozen=True, slots=True)
class Quantile(Recipe):
    """The value below which a share of the rows lies, from noisy bins; MIN and MAX are its safe extremes."""

    bins: Bins
    level: Fraction
    extreme: int = 0
    """-1 for MIN, 1 for MAX: the first and last value beyond which there are surely rows."""

    @property
    def depends_on_values(self) -> bool:
        """Where there are few values, the next one may be far."""
        return True

    @property
    def needs(self) -> dict[Statistic, float]:
        """The bins."""
        return {self.bins: 1.0}

    def value(self, noisy: Estimates) -> Floats:
        """Where the noisy distribution function passes the level, as nearly as can be: see ``passing``."""
        estimate = noisy[self.bins]
        below = np.cumsum(estimate.values, axis=1)
        targets = self._targets(below[:, -1], estimate)
        return np.minimum([self._at(f, t) for f, t in zip(below, targets, strict=True)], self._most)

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """From the first bin that may hold the quantile to the last.

        Let t be the level's share of the total, and b the true bin: F(b) >= t >= F(b - 1). At these two fixed places
        F^ - t^ is off by at most e of that place (each on one side only), so F^(b) >= t^ - e(b) and F^(b - 1) <= t^ +
        e(b - 1): the interval has all b of which that may be true. Of the least
        and the largest value only one of the two says anything: a single row may lie anywhere beyond all others. So
        the outer end of their interval is that of the bounds, and the inner one may miss with the whole chance.
        """
        estimate = noisy[self.bins]
        below = np.cumsum(estimate.values, axis=1)
        target = below[:, -1] * float(self.level)
        if estimate.noised is None:  # F at both places and the total, each within its error
            error = np.full(self.bins.bins, (1 + float(self.level)) * estimate.error(miss / 3))
        else:
            error = estimate.noised.share_errors(self.level, min(2 * miss, 1.0) if self.extreme else miss)
        low, width = float(self.bins.low), float(self.bins.width)
        first = np.array([first_at_least(f + error, t) for f, t in zip(below, target, strict=True)])
        last = np.array(
            [self.bins.bins - first_at_least((error - f)[::-1], -t) for f, t in zip(below, target, strict=True)]
        )
        last = np.minimum(np.maximum(last, first), self.bins.bins - 1)
        missed = below[:, -1] + estimate.error(miss) < 0  # surely fewer rows than none: it says nothing
        first, last = np.where(missed, 0, first), np.where(missed, self.bins.bins - 1, last)
        if self.extreme:
            first, last = (
                (np.zeros_like(first), last) if self.extreme < 0 else (first, np.full_like(last, self.bins.bins - 1))
            )
        beyond = 0.0 if self.bins.whole else width
        most = self._most
        ends = np.minimum(low + first * width, most), np.minimum(low + last * width + beyond, most)
        if not self.extreme:
            return ends
        value = self.value(noisy)
        return np.minimum(ends[0], value), np.maximum(ends[1], value)

    def may_be_null(self, noisy: Estimates, ends: tuple[Floats, Floats], miss: float) -> NDArray[np.bool_]:
        """Without rows it may be in each bin: in the first; of MIN, whose intervals all begin there, in the last."""
        low, length = float(self.bins.low), float(self.bins.width * (self.bins.bins - self.bins.whole))
        if self.extreme < 0:
            return reaches(ends[1], min(low + length, self._most), length)
        return reaches(-ends[0], -low, length)

    @property
    def _most(self) -> float:
        """The last bin may end beyond the largest value."""
        return math.inf if self.bins.high is None else float(self.bins.high)

    def _targets(self, whole: Floats, estimate: Estimate) -> Floats:
        """How many rows lie below what is asked for; of extremes what noise may feign, and half a row at least."""
        if not self.extreme:
            return np.maximum(whole, 0.0) * float(self.level)
        safe = np.minimum(max(estimate.error(0.05), 0.5), np.maximum(whole, 0.0) / 2)
        return safe if self.extreme < 0 else np.maximum(whole, 0.0) - safe

    def _at(self, below: Floats, wanted: float) -> float:
        """The value at which a distribution function passes a target."""
        low, width = float(self.bins.low), float(self.bins.width)
        place = passing(below, wanted)
        if self.bins.whole:
            return low + place * width
        before = below[place - 1] if place else 0.0
        inside = below[place] - before
        share = min(max((wanted - before) / inside, 0.0), 1.0) if inside > 0 else 0.5
        return low + (place + share) * width


def passing(values: Floats, wanted: float) -> int:
    """Where noisy values that should rise pass a target: the place that makes Σ (value - target) before it least.

    For rising values this is the first that is at least the target. For noisy ones it is where their least-squares
    rising fit passes it: the first passage would be too early, and the last one too late.
    """
    sums = np.cumsum(values - wanted)
    return min(int(np.argmin(np.concatenate([[0.0], sums]))), len(values) - 1)


def first_at_least(values: Floats, wanted: float) -> int:
    """The first place with at least the wanted value; the last place if there is none."""
    reached = np.flatnonzero(values >= wanted)
    return int(reached[0]) if len(reached) else len(values) - 1


@dataclass(frozen=True, slots=True)
class Dated(Recipe):
    """A date or a time, as days from the first one that there can be; errors are in days."""

    inner: Recipe
    span: Span
    to_seconds: bool
    """An average, and what is made of times; otherwise it is a day."""

    @property
    def needs(self) -> dict[Statistic, float]:
        """Those of the days."""
        return self.inner.needs

    def value(self, noisy: Estimates) -> Floats:
        """Days."""
        return self.inner.value(noisy)

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """Days."""
        return self.inner.ends(noisy, miss)

    def error_if(self, noise: Callable[[Statistic, Floats], Estimate], rows: float, miss: float) -> float:
        """Days."""
        return self.inner.error_if(noise, rows, miss)

    def error_at_most(self, noise: Callable[[Statistic, Floats], Estimate], rows: float, miss: float) -> float:
        """Days."""
        return self.inner.error_at_most(noise, rows, miss)

    def size_if(self, noise: Callable[[Statistic, Floats], Estimate], rows: float) -> float:
        """A date has none."""
        return 0.0

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Those of the days."""
        return self.inner.limits

    @property
    def depends_on_values(self) -> bool:
        """As the days do."""
        return self.inner.depends_on_values

    def moment(self, days: float, rounding: Callable[[float], int] = round) -> date | None:
        """The day, or second, that is so many days after the first."""
        if not math.isfinite(days):
            return None
        first, last = self.span.first, self.span.last
        if self.to_seconds:
            start, end = (m if isinstance(m, datetime) else datetime.combine(m, time()) for m in (first, last))
            seconds = min(max(rounding(days * _SECONDS), 0), math.floor((end - start).total_seconds()))
            return start + timedelta(seconds=seconds)
        return first + timedelta(days=min(max(rounding(days), 0), (last - first).days))


_SECONDS = 24 * 60 * 60
