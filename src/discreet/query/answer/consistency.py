"""Released numbers made to agree: nothing below 0 that cannot be, and totals that are the sums of their parts.

Promise: post-processing of released numbers and public metadata; it costs nothing. Error bars stay true where no unit
is above its caps: the least-squares fit is a known linear function of the noisy numbers, so its law is known
(``error_bounds.py``), and what is moved afterwards keeps the fit's interval. Where units are above their caps, each
grouping set weighs them down in its own way; the error bars are those of the same fit to the exact bounded sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from discreet.query.answer.least_squares import Totals, on_grid
from discreet.query.estimate import two_sided_sums
from discreet.query.estimate.error_bounds import Share, sum_error
from discreet.query.estimate.estimators import (
    Dated,
    Estimate,
    Estimates,
    Fitted,
    Floats,
    Limit,
    Mean,
    Plain,
    Recipe,
    SumFrom,
)
from discreet.query.estimate.selected import Selected
from discreet.query.estimate.statistics import Rows, Statistic
from discreet.query.lower.bounding import each_counts_once
from discreet.query.run import Released

ALONE = "made consistent: counts not below 0, sums and averages within their bounds (post-processing, free)"
TOGETHER = "made to agree by least squares: totals are the sums of their parts (post-processing, free)"


def agreeing(released: tuple[Released, ...]) -> tuple[tuple[Released, ...], tuple[str, ...]]:
    """The grouping sets of one answer made consistent, and the lines that say so."""
    finest = _finest(released)
    if finest is None:
        return tuple(_alone(part) for part in released), (ALONE,)
    return _together(released, finest), (TOGETHER, ALONE)


def _finest(released: Sequence[Released]) -> int | None:
    """The grouping set that all others are totals of, if there is one, and if totals are sums at all."""
    if len(released) < 2 or any(part.part.selects or each_counts_once(part.part.caps) for part in released):
        return None
    names = [_names(part) for part in released]
    return next((i for i, mine in enumerate(names) if all(set(other) <= set(mine) for other in names)), None)


def _names(part: Released) -> tuple[str, ...]:
    return tuple(key.name for key in part.part.keys)


def _limits(part: Released) -> dict[Statistic, Limit]:
    """Counts first: the limits of sums may need them."""
    found = [limit for recipe in part.part.recipes for limit in recipe.limits]
    found.sort(key=lambda limit: limit.count is not None)
    return {limit.statistic: limit for limit in found}


def _ends(limit: Limit, counts: Mapping[Statistic, Floats], like: Floats) -> tuple[Floats, Floats]:
    many = np.ones_like(like) if limit.count is None else counts[limit.count]
    low, high = (end * many if np.isfinite(end) else np.full_like(many, end) for end in (limit.low, limit.high))
    return low, high


def _public(limit: Limit | None) -> tuple[float, float]:
    """What is known of the exact number whatever was released."""
    return (limit.low, limit.high) if limit is not None and limit.count is None else (-np.inf, np.inf)


# --- one grouping set -------------------------------------------------------------------------------------------------


def _alone(part: Released) -> Released:
    return _shown([replace(part, estimates=_cut(part))], [None])[0]


def _cut(part: Released) -> Estimates:
    """Each number within its limits."""
    values: dict[Statistic, Floats] = {}
    estimates = dict(part.estimates)
    for statistic, limit in _limits(part).items():
        noisy = part.estimates[statistic]
        if isinstance(noisy, Selected):  # it is at least its threshold, and its interval is made for that
            values[statistic] = noisy.values
            continue
        values[statistic] = np.clip(noisy.values, *_ends(limit, values, noisy.values))
        estimates[statistic] = _moved(noisy, values[statistic], noisy.middle, limit)
    return estimates


def _moved(noisy: Estimate, values: Floats, centre: Floats, limit: Limit | None) -> Fitted:
    least, most = _public(limit)
    return Fitted(values, noisy.error, noisy.noised, noisy.law, centre=centre, least=least, most=most)


# --- a finest grouping set and its totals -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """Where each grouping set's rows stand in the table of the finest one."""

    sizes: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]
    """The axes of each set, in the order of the finest; the finest is the first."""
    orders: tuple[tuple[int, ...], ...]
    """The axes of each set in its own order."""

    def table(self, which: int, values: Floats) -> Floats:
        """Rows in order of the set's keys as a table with the axes in the order of the finest."""
        mine = self.orders[which]
        cube = values.reshape([self.sizes[i] for i in mine])
        return np.transpose(cube, [mine.index(i) for i in sorted(mine)])

    def rows(self, which: int, table: Floats) -> Floats:
        """Back again."""
        mine = self.orders[which]
        return np.transpose(table, [sorted(mine).index(i) for i in mine]).reshape(-1)


def _shape(released: Sequence[Released]) -> Shape:
    names = _names(released[0])
    sizes = tuple(len(key.typed.keys or ()) for key in released[0].part.keys)
    orders = tuple(tuple(names.index(name) for name in _names(part)) for part in released)
    return Shape(sizes, tuple(tuple(sorted(order)) for order in orders), orders)


def _together(released: tuple[Released, ...], finest: int) -> tuple[Released, ...]:
    order = [finest, *(i for i in range(len(released)) if i != finest)]
    parts = [released[i] for i in order]
    shape = _shape(parts)
    limits = _limits(parts[0])
    summed = [s for s in parts[0].estimates if isinstance(s, Rows) and all(s in part.estimates for part in parts)]
    summed.sort(key=lambda s: s in limits and limits[s].count is not None)
    values: dict[Statistic, Floats] = {}
    estimates = [_cut(part) for part in parts]  # what does not add up, such as units, stays so
    for statistic in summed:
        noisy = [part.estimates[statistic] for part in parts]
        fit = _fit(shape, noisy)
        fitted = fit.fit([shape.table(i, e.values) for i, e in enumerate(noisy)])
        inside, limit = fitted, limits.get(statistic)
        if limit is not None:
            inside = fit.between(fitted, *_ends(limit, values, fitted))
        values[statistic] = on_grid(inside)
        for i, e in enumerate(noisy):
            centre, moved = (shape.rows(i, fit.totals(t, i)) for t in (fitted, values[statistic]))
            law = _law(fit, noisy, i)
            estimates[i][statistic] = _moved(replace(e, error=partial(sum_error, law), law=law), moved, centre, limit)
    shown = _shown(
        [replace(part, estimates=e) for part, e in zip(parts, estimates, strict=True)], _totals(shape, parts)
    )
    return tuple(shown[order.index(i)] for i in range(len(released)))


def _fit(shape: Shape, noisy: Sequence[Estimate]) -> Totals:
    return Totals(shape.sizes, shape.sets, tuple(e.noised.variance for e in noisy if e.noised is not None))


def _law(fit: Totals, noisy: Sequence[Estimate], which: int) -> tuple[Share, ...]:
    """The noises in each fitted number of one grouping set."""
    shares = []
    for term in fit.law(which):
        noised = noisy[term.set].noised
        assert noised is not None  # noqa: S101
        shares.append(Share(noised, float(term.coefficient), term.many))
    return tuple(shares)


def _totals(shape: Shape, parts: Sequence[Released]) -> list[Callable[[Floats], Floats] | None]:
    """For each grouping set, how its values follow from those of the finest."""
    fit = Totals(shape.sizes, shape.sets, ())

    def total(which: int, finest: Floats) -> Floats:
        return shape.rows(which, fit.totals(shape.table(0, finest), which))

    return [partial(total, i) for i in range(len(parts))]


# --- what is shown ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Settled(Recipe):
    """A recipe whose values are settled; its intervals are the recipe's own, stretched to the values."""

    inner: Recipe
    values: Floats
    is_whole: bool

    @property
    def needs(self) -> dict[Statistic, float]:
        """As before."""
        return self.inner.needs

    def value(self, noisy: Estimates) -> Floats:
        """As settled."""
        return self.values

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """The recipe's interval; it holds the value."""
        low, high = self.inner.ends(noisy, miss)
        return np.minimum(low, self.values), np.maximum(high, self.values)

    @property
    def whole(self) -> bool:
        """Where nothing had to agree."""
        return self.is_whole


def _shown(parts: Sequence[Released], totals: Sequence[Callable[[Floats], Floats] | None]) -> list[Released]:
    """Sums and counts of the finest set on a grid on which sums are exact; those of the others are their totals."""

    def settled(
        recipe: Recipe, finest: Recipe, estimates: Estimates, total: Callable[[Floats], Floats] | None
    ) -> Recipe:
        if isinstance(recipe, Dated):
            return replace(recipe, inner=settled(recipe.inner, finest, estimates, None))
        if isinstance(recipe, Mean | two_sided_sums.Mean):
            return Settled(recipe, _mean(recipe, estimates), False)
        if total is None or not _adds_up(recipe):
            return recipe
        return Settled(_unrounded(recipe), total(on_grid(_unrounded(finest).value(parts[0].estimates))), False)

    out = []
    for part, total in zip(parts, totals, strict=True):
        pairs = zip(part.part.recipes, parts[0].part.recipes, strict=True)
        recipes = tuple(settled(recipe, finest, part.estimates, total) for recipe, finest in pairs)
        out.append(replace(part, part=replace(part.part, recipes=recipes)))
    return out


def _adds_up(recipe: Recipe) -> bool:
    if isinstance(recipe, Plain):
        return isinstance(recipe.statistic, Rows)
    return isinstance(recipe, SumFrom | two_sided_sums.Combined)


def _unrounded(recipe: Recipe) -> Recipe:
    return replace(recipe, is_whole=False) if isinstance(recipe, Plain | SumFrom | two_sided_sums.Combined) else recipe


def _mean(recipe: Mean | two_sided_sums.Mean, estimates: Estimates) -> Floats:
    """The sum by the count, as they are now; the middle of the bounds where nothing is counted."""
    if isinstance(recipe, two_sided_sums.Mean):
        above, below = recipe.both(estimates)
        return recipe.ratio(above.values, below.values)
    top, many = estimates[recipe.centred].values, estimates[recipe.count].values
    distance = np.divide(top, many, out=np.zeros_like(top), where=many > 0)
    return np.clip(float(recipe.x.centre) + distance, float(recipe.x.low), float(recipe.x.high))
