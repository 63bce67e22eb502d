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

from discreet.arrays import Floats
from discreet.messages import Message, message
from discreet.query.answer.least_squares import Totals, on_grid, whole_in_turn
from discreet.query.estimate import two_sided_sums
from discreet.query.estimate.error_bounds import Share, sum_error
from discreet.query.estimate.estimators import Dated, Estimate, Estimates, Fitted, Limit, Mean, Plain, Recipe, SumFrom
from discreet.query.estimate.selected import Selected
from discreet.query.estimate.statistics import Rows, Statistic, Units, count
from discreet.query.lower.bounding import each_counts_once, rows
from discreet.query.run import Released

ALONE = "made consistent: counts not below 0, sums and averages within their bounds (post-processing, free)"
TOGETHER = "made to agree by least squares: totals are the sums of their parts (post-processing, free)"


def agreeing(released: tuple[Released, ...]) -> tuple[tuple[Released, ...], tuple[str, ...], Message | None]:
    """The grouping sets of one answer made consistent, the lines that say so, and why totals are left alone, if so."""
    why = _why_apart(released)
    if why is not None or len(released) < 2:
        return tuple(_alone(part) for part in released), (ALONE,), why
    return _together(released), (TOGETHER, ALONE), None


def _why_apart(released: Sequence[Released]) -> Message | None:
    """Why the totals of several grouping sets cannot be made the sums of their parts."""
    if len(released) < 2:
        return None
    if any(part.part.selects for part in released):
        return message("not_consistent_unlisted")
    if any(each_counts_once(part.part.caps) and not _is_in_one_group(part) for part in released):
        return message("not_consistent_once")
    if _finest(released) is None:
        return message("not_consistent_keys")
    return None


def _is_in_one_group(part: Released) -> bool:
    """Whether a unit weighs no more than one row in all groups together: then units and rows are the same number."""
    return rows(part.part.caps) == 1


def _finest(released: Sequence[Released]) -> int | None:
    """The grouping set that all others are totals of, if there is one."""
    names = [_names(part) for part in released]
    return next((i for i, mine in enumerate(names) if all(set(other) <= set(mine) for other in names)), None)


def _names(part: Released) -> tuple[str, ...]:
    return tuple(key.name for key in part.part.keys)


def _limits(part: Released) -> dict[Statistic, Limit]:
    """Counts first: the limits of sums may need them."""
    limits = [limit for recipe in part.part.recipes for limit in recipe.limits]
    limits.sort(key=lambda limit: limit.count is not None)
    return {limit.statistic: limit for limit in limits}


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


def _as_in(part: Released, statistic: Statistic) -> Statistic | None:
    """The same sum in another grouping set: where a unit is in one group, all rows are as many as all units."""
    same = [statistic, *(_ALL if statistic in _ALL and _is_in_one_group(part) else ())]
    adds_up = isinstance(statistic, Rows) or _is_in_one_group(part)
    return next((s for s in same if s in part.estimates and isinstance(s, Rows | Units)), None) if adds_up else None


_ALL: tuple[Statistic, ...] = (Units(), count(None, None))


def _together(released: tuple[Released, ...]) -> tuple[Released, ...]:
    finest = _finest(released)
    assert finest is not None  # noqa: S101
    order = [finest, *(i for i in range(len(released)) if i != finest)]
    parts = [released[i] for i in order]
    shape = _shape(parts)
    limits = _limits(parts[0])
    places = {s: [_as_in(part, s) for part in parts] for s in parts[0].estimates}
    summed = [s for s, some in places.items() if None not in some]
    summed.sort(key=lambda s: s in limits and limits[s].count is not None)
    values: dict[Statistic, Floats] = {}
    estimates = [_cut(part) for part in parts]  # what does not add up, such as different values, stays so
    for statistic in summed:
        where = [place for place in places[statistic] if place is not None]
        noisy = [part.estimates[place] for part, place in zip(parts, where, strict=True)]
        fit = _fit(shape, noisy)
        fitted = fit.fit([shape.table(i, e.values) for i, e in enumerate(noisy)])
        inside, limit = fitted, limits.get(statistic)
        if limit is not None:
            inside = fit.between(fitted, *_ends(limit, values, fitted))
        values[statistic] = on_grid(inside)
        for i, e in enumerate(noisy):
            centre, moved = (shape.rows(i, fit.totals(t, i)) for t in (fitted, values[statistic]))
            law = _law(fit, noisy, i)
            estimates[i][where[i]] = _moved(replace(e, error=partial(sum_error, law), law=law), moved, centre, limit)
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
    """Whether the values are whole numbers."""

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
        """As said."""
        return self.is_whole


def _shown(parts: Sequence[Released], totals: Sequence[Callable[[Floats], Floats] | None]) -> list[Released]:
    """Sums and counts of the finest set on a grid on which sums are exact; those of the others are their totals. Whole
    numbers stay whole.
    """
    first = parts[0].part.recipes
    finest = [] if totals[0] is None else _of_the_finest(parts[0])

    def settled(i: int, recipe: Recipe, estimates: Estimates, total: Callable[[Floats], Floats] | None) -> Recipe:
        if isinstance(recipe, Dated):
            return replace(recipe, inner=settled(i, recipe.inner, estimates, None))
        if isinstance(recipe, Mean | two_sided_sums.Mean):
            values, (added, many) = (
                _mean(recipe, estimates),
                (_beside(first[i], first, kind) for kind in (_SUMS, _COUNTS)),
            )
            if total is not None and added is not None and many is not None:
                top, bottom = total(finest[added][0]), total(finest[many][0])
                values = np.divide(top, bottom, out=values, where=bottom > 0)
            return Settled(recipe, values, False)
        if total is None or not _adds_up(recipe, parts[0]):
            return recipe
        values, whole = finest[i]
        return Settled(_unrounded(recipe), total(values), whole)

    out = []
    for part, total in zip(parts, totals, strict=True):
        recipes = tuple(settled(i, recipe, part.estimates, total) for i, recipe in enumerate(part.part.recipes))
        out.append(replace(part, part=replace(part.part, recipes=recipes)))
    return out


def _of_the_finest(part: Released) -> list[tuple[Floats, bool]]:
    """For each recipe of the finest set: its values, and whether they are whole. Sums are what so many values make."""
    recipes = part.part.recipes
    made = []
    for recipe in recipes:
        values = on_grid(_unrounded(recipe).value(part.estimates))
        whole = recipe.whole and float(np.abs(values).sum()) < _MOST_WHOLE
        made.append((whole_in_turn(values) if whole else values, whole))
    for i, recipe in enumerate(recipes):
        many = _beside(recipe, recipes, _COUNTS)
        if isinstance(recipe, _SUMS) and many is not None:
            low, high = _bounds(recipe)
            made[i] = on_grid(np.clip(made[i][0], low * made[many][0], high * made[many][0])), made[i][1]
    return made


_SUMS = (SumFrom, two_sided_sums.Sum)
_COUNTS = (Plain, two_sided_sums.Count)


def _bounds(recipe: Recipe) -> tuple[float, float]:
    """Between which ends each value of a sum lies."""
    if isinstance(recipe, SumFrom):
        return float(recipe.x.low), float(recipe.x.high)
    assert isinstance(recipe, two_sided_sums.FromSides)  # noqa: S101
    return float(recipe.sides.low), float(recipe.sides.low + recipe.sides.range)


def _beside(recipe: Recipe, recipes: Sequence[Recipe], kinds: tuple[type[Recipe], ...]) -> int | None:
    """Where the sum or the count that a sum or mean is about stands, if it is there: made of the same numbers."""

    def is_it(other: Recipe) -> bool:
        match recipe, other:
            case (SumFrom() | Mean(), Plain(statistic=statistic)):
                return statistic == recipe.count
            case (SumFrom() | Mean(), SumFrom()):
                return (recipe.centred, recipe.count) == (other.centred, other.count)
            case (two_sided_sums.FromSides(sides=sides), two_sided_sums.FromSides()):
                return sides == other.sides and not getattr(other, "all_rows", False)
            case _:
                return False

    return next((i for i, other in enumerate(recipes) if isinstance(other, kinds) and is_it(other)), None)


_MOST_WHOLE = 2.0**50
"""Below it, sums of whole numbers are exact as floats."""


def _adds_up(recipe: Recipe, finest: Released) -> bool:
    if isinstance(recipe, Plain):
        return isinstance(recipe.statistic, Rows) or (recipe.statistic == Units() and _is_in_one_group(finest))
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
