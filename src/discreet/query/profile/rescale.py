"""Groups made to agree with a total: what caps cut of the groups is put back in the proportion in which it is missing.

A total is one number, so a cap that hardly cuts costs it little; groups are counted with a small cap and multiplied by
total / (sum of the groups). This happens after the noise: it costs nothing beyond the total itself.

The interval is honest about the model. Nobody knows how much of *one* group is cut, so a group may be anything between
not cut at all (factor 1) and cut twice over (the square of the factor); noise is added on both sides. Where it is known
how units are spread over the groups, ``compositions`` tells how large the units of each group are: if groups differ by
far more than noise and chance explain, the factor of each is its own, and the interval reaches as far as it may.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import NormalDist

import numpy as np

from discreet.query.estimate.estimators import Estimate, Estimates, Floats, Limit, Plain, Recipe, SumFrom
from discreet.query.estimate.statistics import Rows, Statistic
from discreet.query.estimate.two_sided_sums import Count, Sum
from discreet.query.lower.bounding import rows as rows_of_caps
from discreet.query.profile.predict import ONE_DEVIATION, Known, clustering
from discreet.query.profile.sizes import UnitSizes
from discreet.query.run import Released

ALIKE = 0.1
"""Groups differ by about so much, before anything is known: none is weighed as if it were exact."""
SURELY = 3.0
"""Deviations by which groups must differ more than by noise."""
LIKELY = 1.645
FAR = 3.0
"""Groups have few units, so they differ by chance: only if they differ by so many times that, each has a factor."""
SEEN = 4
"""Units with more than so many times the cap look alike in what a cap leaves of them."""
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
    def depends_on_rows(self) -> bool:
        """As the other."""
        return self.inner.depends_on_rows


@dataclass(frozen=True, eq=False)
class Compositions:
    """How large the units of each group are beside all units, and what that means for what is cut of it."""

    middle: Floats
    """The logarithm of the mean capped size beside that of all, about."""
    deviation: Floats
    """How far off that may be: one deviation, from noise and from how much groups may differ."""
    spread: Floats
    """By how much the factor of a group is off although its units are like all: they are few."""
    sizes: Floats
    """Logarithms of mean capped sizes beside that of all, ..."""
    factors: Floats
    """... and of the factor that goes with each."""

    def of_groups(self, common: float, counts: Floats) -> Floats:
        """The factor of each group: at least 1, and such that all together have the common one."""
        more = np.maximum(common * self._factor(self.middle) - 1, 0.0)
        return np.asarray(1 + more * ((common - 1) * counts.sum() / max(float(counts @ more), 1e-9)))

    def most(self, miss: float) -> Floats:
        """What it may be at most, but for a chance of ``miss`` that it is off on either side."""
        z = NormalDist().inv_cdf(1 - miss / 2)
        return self._factor(self.middle + z * self.deviation) * np.exp(z * self.spread)

    def _factor(self, middle: Floats) -> Floats:
        return np.asarray(np.exp(np.interp(middle, self.sizes, self.factors)))


@dataclass(frozen=True, slots=True)
class Rescaled(Wrapped):
    """A count or sum of each group, multiplied by a factor of at least 1: one for all, or its own."""

    factor: float
    largest: float
    """What the factor may be, given the noise of the total and of the groups."""
    groups: Compositions | None = field(default=None, compare=False)

    def value(self, noisy: Estimates) -> Floats:
        """The groups, multiplied."""
        found = self.inner.value(noisy)
        found = found * (self.factor if self.groups is None else self.groups.of_groups(self.factor, found))
        return np.round(found) if self.inner.whole else found

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """From a group that is not cut at all to one that is cut twice over, or more, with the noise on both sides."""
        low, high = self.inner.ends(noisy, miss / 2)
        most = np.full_like(low, self.largest**2)
        if self.groups is not None:
            most = np.maximum(most, self.largest * self.groups.most(miss / 2))
        value = self.value(noisy)
        return np.minimum(np.minimum(low, low * most), value), np.maximum(np.maximum(high, high * most), value)


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
    most = between + LIKELY * np.sqrt(2 * free**2 @ (variance + between) ** 2) / free.sum()
    middle, deviation = np.zeros(len(counts)), np.full(len(counts), most**0.5)
    middle[there] = found[there] * between / (between + variance)
    deviation[there] = np.sqrt(most * variance / (most + variance))
    return Compositions(middle, deviation, spread, *_tilted(known.sizes, cap))


def _tilted(sizes: UnitSizes, cap: int) -> tuple[Floats, Floats]:
    """Mean capped sizes and factors, beside those of all units, where larger units are more or less frequent."""
    size, many = sizes.all_classes
    tilts = np.log(np.minimum(size, SEEN * cap)) * np.linspace(-4, 4, 161)[:, None]
    weights = many * np.exp(tilts - tilts.max(axis=1, keepdims=True))
    kept, every = weights @ np.minimum(size, cap), weights @ size
    mean, factor = np.log(kept / weights.sum(axis=1)), np.log(every / kept)
    return np.maximum.accumulate(mean - mean[80]), factor - factor[80]


def expected_error(noise: float, rows: float, factor: float, largest: float) -> float:
    """How far the interval of a count will reach, in a group of so many rows: that of ``Rescaled`` for this noise.

    >>> round(expected_error(10.0, 1200.0, 1.2, 1.2), 6), expected_error(10.0, 1000.0, 1.0, 1.0)
    (254.4, 10.0)
    """
    kept = rows / factor
    return max(rows - (kept - noise), (kept + noise) * largest**2 - rows)


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


def is_count(recipe: Recipe) -> bool:
    """Whether it is a number of rows."""
    return isinstance(recipe, Count) or (isinstance(recipe, Plain) and recipe.is_count)


def rescaled(groups: Released, total: Released, known: Known | None = None) -> tuple[Released, dict[str, float]]:
    """The groups with counts and sums that agree with the total, and the factor of each that was changed.

    ``known``: what was released about the units.
    """
    each = None if known is None else _compositions(groups, known)
    inside = dict(zip(total.part.names, total.part.recipes, strict=True))
    factors: dict[str, float] = {}
    recipes = []
    for name, recipe in zip(groups.part.names, groups.part.recipes, strict=True):
        found = _factor(recipe, groups.estimates, inside[name], total.estimates) if name in inside else None
        if found is None:
            recipes.append(recipe)
        else:
            recipes.append(Rescaled(recipe, *found, each))
            factors[name] = found[0]
    return replace(groups, part=replace(groups.part, recipes=tuple(recipes))), factors


def _factor(recipe: Recipe, noisy: Estimates, whole: Recipe, once: Estimates) -> tuple[float, float] | None:
    """total / sum of the groups, and how large it may be; None where the noise hides both."""
    parts, all_ = float(np.sum(recipe.value(noisy))), float(whole.value(once)[0])
    sign = -1.0 if all_ < 0 else 1.0
    parts, all_ = sign * parts, sign * all_
    low, high = whole.ends(once, 0.025)
    most = float(max(sign * low[0], sign * high[0]))
    first, last = recipe.ends(noisy, 0.05)
    each = (
        float(np.mean(last - first)) / 2 * len(first) ** 0.5
    )  # the groups' noises are independent: about 2 deviations
    least = parts - each
    if parts <= 0 or least <= 0 or all_ <= 0:
        return None
    factor = max(all_ / parts, 1.0)
    return factor, max(most / least, factor)


def _compositions(groups: Released, known: Known) -> Compositions | None:
    """Those of the groups of one listed key, from their counts."""
    count = next((recipe for recipe in groups.part.recipes if is_count(recipe)), None)
    if known.keys is None or count is None or len(groups.part.keys) != 1 or not len(groups.keys):
        return None
    units = dict(zip(known.keys.labels, known.keys.counts, strict=True))
    if any(key not in units for (key,) in groups.keys):
        return None
    low, high = count.ends(groups.estimates, ONE_DEVIATION)
    found = count.value(groups.estimates), np.maximum((high - low) / 2, 1e-9)
    return compositions(*found, np.array([units[key] for (key,) in groups.keys]), known, rows_of_caps(groups.part.caps))
