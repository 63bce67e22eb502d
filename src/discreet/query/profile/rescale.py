"""Groups made to agree with a total: what caps cut of the groups is put back in the proportion in which it is missing.

A total is one number, so a cap that hardly cuts costs it little; groups are counted with a small cap and multiplied by
total / (sum of the groups). This happens after the noise: it costs nothing beyond the total itself.

The interval is honest about the model. Nobody knows how much of *one* group is cut, so a group may be anything between
not cut at all (factor 1) and cut twice over (the square of the factor); noise is added on both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from discreet.query.estimate.estimators import Estimate, Estimates, Floats, Limit, Plain, Recipe, SumFrom
from discreet.query.estimate.statistics import Rows, Statistic
from discreet.query.estimate.two_sided_sums import Count, Sum
from discreet.query.run import Released


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


@dataclass(frozen=True, slots=True)
class Rescaled(Wrapped):
    """A count or sum of each group, multiplied by one factor of at least 1."""

    factor: float
    largest: float
    """What the factor may be, given the noise of the total and of the groups."""

    def value(self, noisy: Estimates) -> Floats:
        """The groups, multiplied."""
        found = self.factor * self.inner.value(noisy)
        return np.round(found) if self.inner.whole else found

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """From a group that is not cut at all to one that is cut twice over, with the noise on both sides."""
        low, high = self.inner.ends(noisy, miss / 2)
        most = self.largest**2
        value = self.value(noisy)
        return np.minimum(np.minimum(low, low * most), value), np.maximum(np.maximum(high, high * most), value)


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


def rescaled(groups: Released, total: Released) -> tuple[Released, dict[str, float]]:
    """The groups with counts and sums that agree with the total, and the factor of each that was changed."""
    inside = dict(zip(total.part.names, total.part.recipes, strict=True))
    factors: dict[str, float] = {}
    recipes = []
    for name, recipe in zip(groups.part.names, groups.part.recipes, strict=True):
        found = _factor(recipe, groups.estimates, inside[name], total.estimates) if name in inside else None
        if found is None:
            recipes.append(recipe)
        else:
            recipes.append(Rescaled(recipe, *found))
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
