"""Groups made to agree with a total: what caps cut of the groups is put back in the proportion in which it is missing.

A total is one number, so a cap that hardly cuts costs it little; groups are counted with a small cap and multiplied by
total / (sum of the groups). This happens after the noise: it costs nothing beyond the total itself.

The interval does not rest on the model. Nobody knows from a small cap how much of *one* group is cut, so the groups are
released once more with a cap as large as units are, for a small part of the price: noisier, and a bound on what is
missing of each. A group has at least what counts of it, and at most what the larger cap allows. Proof: rescale.md.

The values use both: where the larger cap shows that groups differ, they move towards what it says. Where it is known
how units are spread over the groups, ``compositions`` tells how large the units of each group are: if groups differ by
far more than noise and chance explain, the factor of each is its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from discreet.query.estimate.estimators import Estimate, Estimates, Floats, Limit, Plain, Recipe, SumFrom
from discreet.query.estimate.statistics import Rows, Statistic
from discreet.query.estimate.two_sided_sums import Count, Sum
from discreet.query.lower.bounding import rows as rows_of_caps
from discreet.query.plan.schema import Caps
from discreet.query.profile.predict import ONE_DEVIATION, Known, clustering, is_count
from discreet.query.profile.sizes import UnitSizes
from discreet.query.run import Released

ALIKE = 0.1
"""Groups differ by about so much, before anything is known: none is weighed as if it were exact."""
SURELY = 3.0
"""Deviations by which groups must differ more than by noise."""
FAR = 3.0
"""Groups have few units, so they differ by chance: only if they differ by so many times that, each has a factor."""
SEEN = 4
"""Units with more than so many times the cap look alike in what a cap leaves of them."""
OTHERS = 0.1
"""Of the chance that an interval misses: so much is for the numbers whose noise is small beside that of a large cap."""
LIMIT = 0.05
SQUARED_NOISE, STEPS = 5.0, 5
"""The variance of squared Laplace noise, in units of the fourth power of its deviation."""
LEAST_GROUPS, MOST_GROUPS = 5, 1000
"""Of fewer groups nobody can tell how much they differ; answers with more are written piece by piece."""


@dataclass(frozen=True, slots=True)
class Wrapped(Recipe):
    """Another recipe, with something changed."""

    inner: Recipe

    @property
    def needs(self) -> dict[Statistic, float]:
        """Those of the other."""
        return self.inner.needs

    def value(self, noisy: Estimates) -> Floats:
        """That of the other."""
        return self.inner.value(noisy)

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """Those of the other."""
        return self.inner.ends(noisy, miss)

    def error_if(self, noise: Callable[[Statistic, Floats], Estimate], rows: float, miss: float) -> float:
        """That of the other: before the data is read nobody knows by how much it will be changed."""
        return self.inner.error_if(noise, rows, miss)

    def error_at_most(self, noise: Callable[[Statistic, Floats], Estimate], rows: float, miss: float) -> float:
        """The same, wherever the values lie."""
        return self.inner.error_at_most(noise, rows, miss)

    @property
    def whole(self) -> bool:
        """As the other."""
        return self.inner.whole

    @property
    def limits(self) -> tuple[Limit, ...]:
        """As the other."""
        return self.inner.limits

    @property
    def of_all_groups(self) -> bool:
        """As the other."""
        return self.inner.of_all_groups

    @property
    def holds_cut(self) -> bool:
        """As the other."""
        return self.inner.holds_cut

    @property
    def depends_on_rows(self) -> bool:
        """As the other."""
        return self.inner.depends_on_rows


@dataclass(frozen=True, eq=False)
class Compositions:
    """How large the units of each group are beside all units, and what that means for what is cut of it."""

    middle: Floats
    """The logarithm of the mean capped size beside that of all, about."""
    sizes: Floats
    """Logarithms of mean capped sizes beside that of all, ..."""
    factors: Floats
    """... and of the factor that goes with each."""

    def of_groups(self, common: float, counts: Floats) -> Floats:
        """The factor of each group: at least 1, and such that all together have the common one."""
        more = np.maximum(common * self._factor(self.middle) - 1, 0.0)
        return np.asarray(1 + more * ((common - 1) * counts.sum() / max(float(counts @ more), 1e-9)))

    def _factor(self, middle: Floats) -> Floats:
        return np.asarray(np.exp(np.interp(middle, self.sizes, self.factors)))


def bounded_cut(sizes: UnitSizes, cap: int, value: float, left: Floats, miss: float) -> Floats:
    """At most so much does a cap cut of groups of which this is left: no more than of all groups, where a row adds no
    more than ``value``; and of each unit it leaves cap / reach.
    """
    every = value * sizes.rows_beyond(cap, miss)
    return np.minimum(every, np.maximum(left, 0.0) * (max(sizes.reach / cap, 1.0) - 1))


@dataclass(frozen=True, eq=False)
class Wider:
    """The same groups counted with a cap that hardly cuts: noisier, and so a bound on what is missing of each."""

    recipe: Recipe
    noisy: Estimates
    cap: int
    sizes: UnitSizes
    value: float
    """The largest size of what is summed of one row."""
    more: float = 1.0
    """How many times as much the cap of the total leaves, about."""

    @property
    def seen(self) -> tuple[Floats, Floats]:
        """The groups as the total would have them, and one deviation of their noise."""
        error = _deviation(self.recipe.ends(self.noisy, ONE_DEVIATION))
        return self.more * self.recipe.value(self.noisy), self.more * error

    def ends(self, miss: float, sign: float) -> tuple[Floats, Floats]:
        """Between which numbers all rows lie that belong to units within the reach of the sizes; times a sign."""
        low, high = _turned(self.recipe.ends(self.noisy, (1 - OTHERS) * miss), sign)
        return low, high + bounded_cut(self.sizes, self.cap, self.value, high, OTHERS * miss)


@dataclass(frozen=True, slots=True)
class Rescaled(Wrapped):
    """A count or sum of each group, multiplied by a factor of at least 1: one for all, or its own."""

    factor: float
    left: float
    """What the caps leave at least of each row of a unit within the reach, as a share."""
    wider: Wider = field(compare=False)
    sign: float = 1.0
    groups: Compositions | None = field(default=None, compare=False)

    @property
    def of_all_groups(self) -> bool:
        """What the larger cap says of each is in it."""
        return True

    @property
    def holds_cut(self) -> bool:
        """The interval is about all rows."""
        return True

    def factors(self, noisy: Estimates) -> Floats:
        """By how much each group is multiplied: so that it lies within its interval, where it is not below 0."""
        found = self.sign * self.inner.value(noisy)
        there = np.maximum(found, 1e-9)
        low, high = self._within(noisy, LIMIT)
        nearest = np.clip(self._moved(noisy, found) / there, low / there, high / there)
        return np.where(found > 0, np.maximum(nearest, 1.0), self.factor)

    def _moved(self, noisy: Estimates, found: Floats) -> Floats:
        """The groups as the factors of all have them, moved to what the larger cap says as far as that is known."""
        factor = self.factor if self.groups is None else self.groups.of_groups(self.factor, found)
        made, noise = np.maximum(found, 0.0) * factor, factor * _deviation(self.inner.ends(noisy, ONE_DEVIATION))
        wide, error = self.wider.seen
        return moved(made, self.sign * wide, error**2 + noise**2)

    def value(self, noisy: Estimates) -> Floats:
        """The groups, multiplied."""
        found = self.inner.value(noisy) * self.factors(noisy)
        return np.round(found) if self.inner.whole else found

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """What holds whatever is cut of each group: at least what counts, at most what the larger cap allows."""
        low, high = _turned(self._within(noisy, miss), self.sign)
        value = self.value(noisy)
        return np.minimum(low, value), np.maximum(high, value)

    def _within(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """What is cut of a row's weight is unknown, and its sign is not; times the sign. Where noise was beyond its bar
        so that nothing is left, what lies between the two ends.
        """
        least, most = _turned(self.inner.ends(noisy, OTHERS * miss), self.sign)
        low, high = self.wider.ends((1 - OTHERS) * miss, self.sign)
        farthest = np.where(most > 0, most, most - least) / max(self.left, 1e-300)
        low, high = np.maximum(np.maximum(least, low), 0.0), np.minimum(high, farthest)
        return np.minimum(low, high), np.maximum(low, high)


def moved(made: Floats, wide: Floats, variance: Floats) -> Floats:
    """Groups that were made by one factor, moved towards noisy numbers of the same groups that need none.

    How much groups differ, as a share of their size, is estimated over all of them, and taken for what it is at least
    (one deviation of squared Laplace noise less): groups that seem alike stay where they are.

    >>> moved(np.full(4, 100.0), np.array([90.0, 110.0, 95.0, 105.0]), np.full(4, 400.0)).tolist()
    [100.0, 100.0, 100.0, 100.0]
    >>> [round(x) for x in moved(np.full(4, 100.0), np.array([10.0, 400.0, 15.0, 20.0]), np.full(4, 400.0))]
    [11, 396, 16, 21]
    """
    scale = float(np.sqrt(np.max(made**2 + variance, initial=1e-300)))  # fourth powers of large sums are no floats
    made, wide, variance, apart = made / scale, wide / scale, variance / scale / scale, 0.0
    off = wide - made
    for _ in range(STEPS):
        weights = made**2 / (variance + apart * made**2) ** 2
        more = weights @ (off**2 - variance) - np.sqrt(SQUARED_NOISE * weights**2 @ variance**2)
        apart = max(float(more) / max(float(weights @ made**2), 1e-300), 0.0)
    return scale * (made + apart * made**2 / (apart * made**2 + variance) * off)


def _deviation(ends: tuple[Floats, Floats]) -> Floats:
    return np.maximum((ends[1] - ends[0]) / 2, 1e-9)


def _turned(ends: tuple[Floats, Floats], sign: float) -> tuple[Floats, Floats]:
    """An interval times 1 or -1."""
    return ends if sign > 0 else (-ends[1], -ends[0])


def compositions(counts: Floats, deviations: Floats, units: Floats, known: Known, cap: int) -> Compositions | None:
    """What numbers of units say about groups that are counted with a cap; None where groups seem alike.

    ``units``: noisy, each unit weighing one in all. A group in which units of n rows are n^t times as frequent as among
    all has a mean capped size and a factor that both grow with t: one gives the other. Beyond ``SEEN`` caps size is
    taken to make no difference. How much groups differ is estimated over all of them (DerSimonian and Laird 1986).
    """
    noise = known.keys.variance if known.keys is not None else np.inf
    there = (counts > 3 * deviations) & (units > 3 * noise**0.5)
    if there.sum() < LEAST_GROUPS or len(counts) > MOST_GROUPS:
        return None
    found = np.zeros(len(counts))
    found[there] = np.log(counts[there] / units[there] * (units.sum() / counts.sum()))
    variance = (deviations[there] / counts[there]) ** 2 + noise / units[there] ** 2
    weights = 1 / (variance + ALIKE**2)
    found[there] -= weights @ found[there] / weights.sum()
    free = weights * (1 - weights / weights.sum())
    more = weights @ found[there] ** 2 - free @ variance
    share = np.maximum(counts, 1.0) / np.maximum(counts, 1.0).sum()
    spread = np.array([known.sizes.expected(known.sizes.spread_errors(cap, p, clustering(known))) for p in share])
    between = more / free.sum()
    chance = (FAR * float(np.median(spread))) ** 2
    if more <= SURELY * np.sqrt(2 * free**2 @ variance**2) or between <= chance:
        return None
    middle = np.zeros(len(counts))
    middle[there] = found[there] * between / (between + variance)
    return Compositions(middle, *_tilted(known.sizes, cap))


def _tilted(sizes: UnitSizes, cap: int) -> tuple[Floats, Floats]:
    """Mean capped sizes and factors, beside those of all units, where larger units are more or less frequent."""
    size, many = sizes.all_classes
    tilts = np.log(np.minimum(size, SEEN * cap)) * np.linspace(-4, 4, 161)[:, None]
    weights = many * np.exp(tilts - tilts.max(axis=1, keepdims=True))
    kept, every = weights @ np.minimum(size, cap), weights @ size
    mean, factor = np.log(kept / weights.sum(axis=1)), np.log(every / kept)
    return np.maximum.accumulate(mean - mean[80]), factor - factor[80]


def expected_error(size: float, factor: float, noise: float, wide: float, cut: float) -> float:
    """How far the interval of ``Rescaled`` will reach around a count or sum of this size: with this noise of the
    groups, this error of the larger cap, and what that may cut.

    >>> expected_error(1200.0, 1.2, 10.0, 150.0, 20.0), expected_error(1200.0, 1.2, 10.0, 300.0, 0.0)
    (170.0, 300.0)
    """
    return max(wide + cut, min(size - (size / factor - noise), wide))


def can_rescale(recipe: Recipe) -> bool:
    """Whether it adds up over groups and never changes sign: a count, or a sum of numbers of one sign."""
    match recipe:
        case Plain(statistic=Rows(), is_count=is_count, sign=sign):
            return is_count or sign != 0
        case Count():
            return True
        case Sum(sides=sides):
            return sides.low >= 0 or sides.low + sides.range <= 0
        case SumFrom(x=x):
            return x.low >= 0 or x.high <= 0
        case _:
            return False


def rescaled(groups: Released, total: Released, wide: Released, known: Known) -> tuple[Released, dict[str, Rescaled]]:
    """The groups with counts and sums that agree with the total, and those that were changed.

    ``wide``: the same groups with a larger cap; ``known``: what was released about the units.
    """
    each = _compositions(groups, known)
    inside, beside = (dict(zip(one.part.names, one.part.recipes, strict=True)) for one in (total, wide))
    top, large = rows_of_caps(total.part.caps), rows_of_caps(wide.part.caps)
    more = known.sizes.kept(top) / known.sizes.kept(large)
    found: dict[str, Rescaled] = {}
    for name, recipe in zip(groups.part.names, groups.part.recipes, strict=True):
        factor = _factor(recipe, groups.estimates, inside[name], total.estimates) if name in inside else None
        if factor is not None:
            largest = largest_value(recipe)
            other = Wider(beside[name], wide.estimates, large, known.sizes, abs(largest), more)
            sign = -1.0 if largest < 0 else 1.0
            found[name] = Rescaled(recipe, factor, _left(groups.part.caps, known.sizes.reach), other, sign, each)
    recipes = tuple(found.get(n, r) for n, r in zip(groups.part.names, groups.part.recipes, strict=True))
    return replace(groups, part=replace(groups.part, recipes=recipes)), found


def _left(caps: Caps, reach: int) -> float:
    """What caps leave at least of each row of a unit with so many rows: 0 where they are about single groups."""
    by_rows = caps.max_groups is None and caps.max_rows_per_group is None
    return min(rows_of_caps(caps) / reach, 1.0) if by_rows else 0.0


def largest_value(recipe: Recipe) -> float:
    """The number farthest from 0 that one row may add, of numbers of one sign."""
    match recipe:
        case Sum(sides=sides):
            ends = float(sides.low), float(sides.low + sides.range)
        case SumFrom(x=x):
            ends = float(x.low), float(x.high)
        case Plain(statistic=Rows(bound=bound, step=step), is_count=False, sign=sign):
            ends = 0.0, float(sign * bound * step)
        case _:
            ends = 0.0, 1.0
    return max(ends, key=abs)


def _factor(recipe: Recipe, noisy: Estimates, whole: Recipe, once: Estimates) -> float | None:
    """total / sum of the groups; None where the noise hides both."""
    parts, all_ = float(np.sum(recipe.value(noisy))), float(whole.value(once)[0])
    sign = -1.0 if all_ < 0 else 1.0
    parts, all_ = sign * parts, sign * all_
    first, last = recipe.ends(noisy, 0.05)
    each = (
        float(np.mean(last - first)) / 2 * len(first) ** 0.5
    )  # the groups' noises are independent: about 2 deviations
    if parts <= each or all_ <= 0:
        return None
    return max(all_ / parts, 1.0)


def _compositions(groups: Released, known: Known) -> Compositions | None:
    """Those of the groups of one listed key, from their counts."""
    count = next((recipe for recipe in groups.part.recipes if is_count(recipe)), None)
    if known.keys is None or count is None or len(groups.part.keys) != 1 or not len(groups.keys):
        return None
    units = dict(zip(known.keys.labels, known.keys.counts, strict=True))
    if any(key not in units for (key,) in groups.keys):
        return None
    found = count.value(groups.estimates), _deviation(count.ends(groups.estimates, ONE_DEVIATION))
    return compositions(*found, np.array([units[key] for (key,) in groups.keys]), known, rows_of_caps(groups.part.caps))
