"""Means of groups that borrow from each other: those that are noisy move towards what all groups have in common.

A group's mean m with noise of deviation d becomes c + (m - c)·t²/(t² + d²): c is the middle of all groups, t² how much
groups differ beyond their noise, both from released numbers (empirical Bayes; DerSimonian and Laird 1986). Groups whose
means are well known stay where they are. No mean moves farther than its own interval of ``LIMIT`` reaches, so a group
that is unlike all others loses little (limited translation, Efron and Morris 1972). A sum is then the count times the
mean: the count is far less noisy than a sum whose values lie well below their bound.

Promise: after the noise, so it costs nothing. Intervals do not become shorter: they still hold for the reason for which
they did before, and are stretched to the value where it lies outside. The mean of all rows at a large cap, which is
there where counts are corrected by a total, corrects the means too, as far as noise does not explain the difference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from discreet.query.estimate.estimators import Estimates, Floats, Mean, Plain, Recipe, SumFrom
from discreet.query.estimate.two_sided_sums import Count, Sum
from discreet.query.estimate.two_sided_sums import Mean as SidesMean
from discreet.query.profile.rescale import Rescaled, Wrapped
from discreet.query.run import Released

DEVIATION = 0.32
LIMIT = 0.1
LEAST_GROUPS = 5
"""Of fewer groups nobody can tell how much they differ."""


@dataclass(frozen=True, slots=True)
class Common:
    """What the means of all groups have in common."""

    centre: float
    between: float
    """The variance of the exact means, about."""
    factor: float = 1.0
    """By how much the mean of all rows is larger than that of the rows that count, about."""


@dataclass(frozen=True, slots=True)
class Shrunk(Wrapped):
    """A mean of each group, moved towards what all have in common."""

    common: Common

    def value(self, noisy: Estimates) -> Floats:
        """The moved means."""
        return self.moved(noisy) * self.common.factor

    def moved(self, noisy: Estimates) -> Floats:
        """Before they are corrected by a factor."""
        found, deviation = _means(self.inner, noisy)
        share = self.common.between / np.maximum(self.common.between + deviation**2, 1e-300)
        low, high = self.inner.ends(noisy, LIMIT)
        return np.clip(self.common.centre + (found - self.common.centre) * share, low, high)

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """Those of the mean as it was, stretched to the value, and to twice the correction."""
        low, high = self.inner.ends(noisy, miss)
        value, twice = self.value(noisy), self.common.factor**2
        return np.minimum(np.minimum(low, low * twice), value), np.maximum(np.maximum(high, high * twice), value)


@dataclass(frozen=True, slots=True)
class CountTimesMean(Wrapped):
    """A sum of each group: how many rows it has, times their mean."""

    count: Recipe
    mean: Shrunk
    by: Rescaled | None = None
    """What the count is multiplied by, if it is: the factors of this."""

    def value(self, noisy: Estimates) -> Floats:
        """The product."""
        found = self.count.value(noisy) * self.mean.value(noisy)
        found = found if self.by is None else found * self.by.factors(noisy)
        return np.round(found) if self.inner.whole else found

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """Those of the sum as it was, stretched to the value."""
        low, high = self.inner.ends(noisy, miss)
        value = self.value(noisy)
        return np.minimum(low, value), np.maximum(high, value)


def shrunk(
    groups: Released, total: Released | None, factors: Mapping[str, Rescaled]
) -> tuple[Released, tuple[str, ...]]:
    """The groups with means and sums that borrow from each other, and which columns these are."""
    if len(groups.keys) < LEAST_GROUPS or not groups.part.keys:
        return groups, ()
    counted = {_bare(r): factors[n] for n, r in _named(groups) if n in factors}
    recipes, names = [], []
    for name, recipe in _named(groups):
        mean = _mean_of(_bare(recipe))
        if mean is None:
            recipes.append(recipe)
            continue
        common = _common(mean, groups.estimates)
        if total is not None:
            common = replace(common, factor=_factor(mean, groups, total))
        made = Shrunk(mean, common)
        count = _count_of(_bare(recipe))
        if count is None:
            recipes.append(made)
        elif (more := _counted(count, counted)) is not None or name not in factors:
            recipes.append(CountTimesMean(recipe, count, made, more))
        else:
            plain = replace(made, common=replace(common, factor=1.0))
            recipes.append(CountTimesMean(recipe, count, plain, factors[name]))
        names.append(name)
    return replace(groups, part=replace(groups.part, recipes=tuple(recipes))), tuple(names)


def _named(released: Released) -> list[tuple[str, Recipe]]:
    return list(zip(released.part.names, released.part.recipes, strict=True))


def _bare(recipe: Recipe) -> Recipe:
    return recipe.inner if isinstance(recipe, Rescaled) else recipe


def _mean_of(recipe: Recipe) -> Recipe | None:
    """The mean that goes with a mean or a sum beside a count."""
    match recipe:
        case Mean() | SidesMean():
            return recipe
        case Sum(sides=sides):
            return SidesMean(sides)
        case SumFrom(x=x, centred=centred, count=count):
            return Mean(x, centred, count)
        case _:
            return None


def _count_of(recipe: Recipe) -> Recipe | None:
    match recipe:
        case Sum(sides=sides):
            return Count(sides)
        case SumFrom(count=count):
            return Plain(count, True)
        case _:
            return None


def _counted(count: Recipe, counted: Mapping[Recipe, Rescaled]) -> Rescaled | None:
    """The count as it was multiplied, or the count of all rows, with and without a value."""
    every = replace(count, all_rows=True) if isinstance(count, Count) else count
    return counted.get(count, counted.get(every))


def _means(mean: Recipe, noisy: Estimates) -> tuple[Floats, Floats]:
    """The means as they were released, and the deviation of their noise."""
    low, high = mean.ends(noisy, DEVIATION)
    return mean.value(noisy), np.maximum((high - low) / 2, 1e-12)


def _common(mean: Recipe, noisy: Estimates) -> Common:
    """The middle of the groups, and how much they differ beyond their noise."""
    found, deviation = _means(mean, noisy)
    weight = deviation**-2.0
    first = float(weight @ found / weight.sum())
    spread = float(weight @ (found - first) ** 2) - (len(found) - 1)
    between = max(spread / float(weight.sum() - weight @ weight / weight.sum()), 0.0)
    share = 1 / (between + deviation**2)
    return Common(float(share @ found / share.sum()), between)


def _factor(mean: Recipe, groups: Released, total: Released) -> float:
    """The mean of all rows at a large cap beside that of the groups together: as far as noise does not explain it."""
    whole = next((m for _, r in _named(total) if (m := _mean_of(r)) is not None and type(m) is type(mean)), None)
    count = _count_of(Sum(mean.sides)) if isinstance(mean, SidesMean) else None
    if whole is None or count is None:
        return 1.0
    (top,), (off,) = _means(whole, total.estimates)
    found, deviation = _means(mean, groups.estimates)
    rows = np.maximum(count.value(groups.estimates), 0.0)
    many = float(rows.sum()) or 1.0
    below, error = float(rows @ found) / many, math.sqrt(float((rows * deviation) @ (rows * deviation))) / many
    if top <= 0 or below <= 0:
        return 1.0
    more, noise = top / below - 1, math.hypot(off / top, error / below)
    return 1 + more * max(0.0, 1 - (noise / more) ** 2) if more else 1.0
