"""Which estimator each aggregate gets: measures that can share released statistics do.

A count with one sum or mean of the same rows comes from the two sides of the range (``two_sided_sums.py``). Where
several sums, or variances, need the same count, it is a statistic of its own, released once. A mean beside a variance
or correlation of the same rows is read off their sum.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import datetime
from fractions import Fraction
from functools import lru_cache

from discreet.query.estimate import statistics as st
from discreet.query.estimate import two_sided_sums
from discreet.query.estimate.estimators import Dated, Mean, Nothing, Plain, Quantile, Recipe, SumFrom
from discreet.query.estimate.moments import Moment
from discreet.query.estimate.noise_plan import tree_of
from discreet.query.estimate.quantile_search import is_better
from discreet.query.estimate.searched_quantile import SearchedQuantile
from discreet.query.estimate.statistics import Sides, Statistic
from discreet.query.functions.dates import Span
from discreet.query.lower.bounding import Noise
from discreet.query.lower.lower import LoweredMeasure
from discreet.query.plan.expressions import Call, Expression, Literal
from discreet.query.plan.nodes import Aggregate
from discreet.query.plan.types import Number
from discreet.query.typing.infer import Typed

_MOST_SEARCHED = 256
"""So many quantiles are searched for at most, in all groups together."""
_ADDED = (Aggregate.SUM, Aggregate.AVG)
BY_TYPICAL_ROWS = frozenset(
    {
        Aggregate.QUANTILE,
        Aggregate.MIN,
        Aggregate.MAX,
        Aggregate.VARIANCE,
        Aggregate.STDDEV,
        Aggregate.COVARIANCE,
        Aggregate.CORRELATION,
    }
)
"""What says how values are spread, not how many rows there are: units with many rows may weigh less in it."""


@lru_cache(maxsize=256)
def recipes(
    measures: tuple[LoweredMeasure, ...],
    *,
    once: bool = False,
    selects: bool = False,
    gaussian: bool = False,
    groups: int | None = None,
) -> tuple[Recipe, ...]:
    """The recipe of each measure.

    ``once``: a unit counts once in each of its groups, so the number of rows is the number of units; ``selects``: that
    number is released anyway; ``gaussian``: all noise will be Gaussian; ``groups``: how many, if that is known.
    """
    apart = [_has_own_clip(m) or bool(m.unknown) for m in measures]
    if any(apart):
        alone = [m for m, own in zip(measures, apart, strict=True) if own]
        together = tuple(m for m, own in zip(measures, apart, strict=True) if not own)
        counted = None if once else _counted(alone, together)
        clipped = iter([_clipped(m, counted) for m in alone])
        others = recipes(together, once=once, selects=selects, gaussian=gaussian, groups=groups)
        rest = iter(others if counted is None else [_all_rows(counted)] * len(together))
        return tuple(next(clipped) if own else next(rest) for own in apart)
    first = _from_moments(measures, [_recipe(m, once) for m in measures])
    if groups is not None:
        first = _searched(first, groups, gaussian)
    from_sides = _sides(measures, first, once, selects, gaussian)
    shared = {
        s for m, r in zip(measures, first, strict=True) if m.measure.aggregate is not Aggregate.SUM for s in r.needs
    }
    made = (
        _from_sides(m, from_sides[n]) if n in from_sides else _sum(m, n, shared, r)
        for m, r in zip(measures, first, strict=True)
        for n in [_count(m, once)]
    )
    return tuple(r if m.span is None else _dated(m, r, m.span) for m, r in zip(measures, made, strict=True))


def _has_own_clip(measure: LoweredMeasure) -> bool:
    """Whether its units are scaled down to a total of their own, or keep so many distinct values."""
    return measure.clip is not None and measure.measure.aggregate not in BY_TYPICAL_ROWS


def _counted(alone: list[LoweredMeasure], together: tuple[LoweredMeasure, ...]) -> st.CountParts | None:
    """Rows with and without a value as two parts that cost as one: where all rows are counted, and rows with a value
    for means and sums of one column whose units are clipped; None elsewhere.
    """
    centred = [m for m in alone if m.clip is not None and m.centre]
    columns = {(m.arguments[0], m.where) for m in centred}
    counts = {(m.measure.aggregate, m.arguments, m.where) for m in together}
    if len(columns) != 1:
        return None
    ((x, where),) = columns
    return st.count_parts(x, where) if x.nullable and counts == {(Aggregate.COUNT, (), where)} else None


def _all_rows(counted: st.CountParts) -> Recipe:
    """All rows: those with a value, and those without."""
    sides = st.Sides(counted.present, counted.absent, Fraction(0), Fraction(1), whole=True)
    return two_sided_sums.Count(sides)


def _clipped(measure: LoweredMeasure, counted: st.CountParts | None) -> Recipe:
    """Sums and means whose units are scaled down to a total, and what nobody can know."""
    if measure.clip is None:
        return Nothing(measure.unknown)
    if measure.measure.aggregate is Aggregate.COUNT_DISTINCT:
        return Plain(_distinct(measure, measure.clip), True)
    x = measure.arguments[0]
    clipped = st.clipped_total(x, measure.where, measure.clip, measure.centre)
    sums, step = measure.measure.aggregate is Aggregate.SUM, clipped.total.step
    if sums and not measure.centre:
        return Plain(clipped.total, step.denominator == 1, is_count=False, sign=_sign(x))
    count = st.count(x, measure.where) if counted is None else counted.present
    if sums:
        return SumFrom(clipped.x, clipped.total, count, step.denominator == 1 and clipped.x.centre.denominator == 1)
    mean = Mean(clipped.x, clipped.total, count)
    return mean if measure.span is None else _dated(measure, mean, measure.span)


def _from_moments(measures: tuple[LoweredMeasure, ...], chosen: list[Recipe]) -> list[Recipe]:
    """Means of values whose rounded sums a variance or correlation releases anyway, with the same count: from these.

    A value is rounded by half a step at most, and so is their mean. Sums, in which that adds up, stay as they are, and
    so do means beside them.
    """
    released = {s for r in chosen if isinstance(r, Moment) for s in r.needs}
    summed = {(m.arguments[0].lowered, m.where) for m in measures if m.measure.aggregate is Aggregate.SUM}
    made: list[Recipe] = []
    for measure, recipe in zip(measures, chosen, strict=True):
        if isinstance(recipe, Mean) and recipe.centred not in released and recipe.count in released:
            x = st.centred(measure.arguments[0], "AVG", st.COARSE)
            total = st.centred_total(x, measure.where)
            if total in released and (measure.arguments[0].lowered, measure.where) not in summed:
                made.append(Mean(x, total, recipe.count, rounding=float(x.step) / 2))
                continue
        made.append(recipe)
    return made


def _searched(chosen: list[Recipe], groups: int, gaussian: bool) -> list[Recipe]:
    """The quantiles of a column by a search for their places, where that is predicted to be better.

    Otherwise all of them are read off one tree, which costs no more than one of them, and so are MIN and MAX.
    """
    of: dict[st.Bins, set[Quantile]] = {}
    for recipe in chosen:
        if isinstance(recipe, Quantile):
            of.setdefault(recipe.bins, set()).add(recipe)
    noise = Noise.GAUSSIAN if gaussian else Noise.LAPLACE
    cells = {}
    for bins, some in of.items():
        levels = tuple(sorted(r.level for r in some))
        inside = groups * len(levels) <= _MOST_SEARCHED and not any(r.extreme for r in some)
        if inside and is_better(bins.bins, levels, tree_of(bins, noise), gaussian=gaussian):
            cells[bins] = st.QuantileCells(bins, levels)
    return [
        SearchedQuantile(cells[r.bins], r.level) if isinstance(r, Quantile) and r.bins in cells else r for r in chosen
    ]


def _dated(measure: LoweredMeasure, recipe: Recipe, span: Span) -> Dated:
    return Dated(recipe, span, isinstance(span.first, datetime) or measure.measure.aggregate is Aggregate.AVG)


def _count(measure: LoweredMeasure, once: bool) -> Statistic | None:
    """The number of rows that a count, a sum or a mean is about."""
    if measure.measure.aggregate not in (*_ADDED, Aggregate.COUNT):
        return None
    return st.count(measure.arguments[0] if measure.arguments else None, measure.where, once=once)


def _sides(
    measures: tuple[LoweredMeasure, ...], first: Iterable[Recipe], once: bool, selects: bool, gaussian: bool
) -> dict[Statistic | None, Recipe]:
    """The counts that come from two sides, each with its recipe: those that are needed beside one sum or mean, and
    nowhere else. Where rows may have no value and all rows are counted too, the sides have a third part for that.
    """
    taken: set[Statistic] = {st.Units()} if selects else set()
    beside: dict[Statistic, dict[Sides, LoweredMeasure]] = {}
    whole_counts, counted = set(), set()
    for measure, recipe in zip(measures, first, strict=True):
        n, aggregate = _count(measure, once), measure.measure.aggregate
        if n is None:
            taken |= set(recipe.needs)
            continue
        if aggregate is not Aggregate.SUM:
            whole_counts.add(n)
        if aggregate is Aggregate.COUNT:
            counted.add(n)
        if aggregate in _ADDED:
            some = beside.setdefault(n, {})
            some.setdefault(st.sides(measure.arguments[0], measure.where, aggregate.name), measure)
    sided: dict[Statistic | None, Recipe] = {}
    for n, some in beside.items():
        if len(some) > 1 or n not in whole_counts or n in taken:
            continue
        ((sides, measure),) = some.items()
        everything = st.count(None, measure.where, once=once)
        free = everything in counted and not {everything} & (taken | sided.keys() | beside.keys())
        if free and measure.arguments[0].nullable:
            name = measure.measure.aggregate.name
            sides = st.sides(measure.arguments[0], measure.where, name, absent=True, by_length=gaussian)
            sided[everything] = two_sided_sums.Count(sides, all_rows=True)
        sided[n] = two_sided_sums.Count(sides)
    return sided


def _from_sides(measure: LoweredMeasure, count: Recipe) -> Recipe:
    assert isinstance(count, two_sided_sums.Count)  # noqa: S101
    match measure.measure.aggregate:
        case Aggregate.SUM:
            return two_sided_sums.Sum(count.sides, count.sides.whole)
        case Aggregate.AVG:
            return two_sided_sums.Mean(count.sides)
        case _:
            return count


def _sum(measure: LoweredMeasure, n: Statistic | None, shared: set[Statistic], alone: Recipe) -> Recipe:
    """A sum alone is one statistic; beside a count or mean of the same rows it is made of theirs."""
    if measure.measure.aggregate is not Aggregate.SUM or n not in shared:
        return alone
    assert isinstance(n, st.Rows | st.Units)  # noqa: S101
    x = st.centred(measure.arguments[0], "SUM")
    whole = x.step.denominator == 1 and x.centre.denominator == 1
    return SumFrom(x, st.centred_total(x, measure.where), n, whole)


def _recipe(measure: LoweredMeasure, once: bool) -> Recipe:
    recipe = _unlimited(measure, once)
    if measure.clip is None:
        return recipe
    statistics = {f.name: getattr(recipe, f.name) for f in fields(recipe)}  # type: ignore[arg-type]
    return replace(recipe, **{name: _limited(part, measure.clip) for name, part in statistics.items()})  # type: ignore[type-var]


def _limited(part: object, most: int) -> object:
    """A statistic in which so many rows of a unit count; all else as it is."""
    match part:
        case st.Rows() | st.Bins():
            return replace(part, most=most)
        case st.Product(statistic=statistic):
            return replace(part, statistic=replace(statistic, most=most))
        case _:
            return part


def _unlimited(measure: LoweredMeasure, once: bool) -> Recipe:
    where = measure.where
    aggregate, arguments = measure.measure.aggregate, measure.arguments
    match aggregate:
        case Aggregate.COUNT:
            return Plain(st.count(arguments[0] if arguments else None, where, once=once), True)
        case Aggregate.COUNT_UNITS:
            return Plain(st.Units(), True)
        case Aggregate.COUNT_DISTINCT:
            return Plain(_distinct(measure), True)
        case Aggregate.SUM:
            statistic = st.total(arguments[0], where, "SUM")
            return Plain(statistic, statistic.step.denominator == 1, is_count=False, sign=_sign(arguments[0]))
        case Aggregate.AVG:
            x = st.centred(arguments[0], "AVG")
            return Mean(x, st.centred_total(x, where), st.count(arguments[0], where, once=once))
        case Aggregate.VARIANCE | Aggregate.STDDEV:
            x = st.centred(arguments[0], aggregate.name, st.COARSE)
            total = st.centred_total(x, where)
            n = st.count(arguments[0], where, once=once)
            return Moment(aggregate, x, x, n, total, total, st.product(x, x, where))
        case Aggregate.COVARIANCE | Aggregate.CORRELATION:
            return _pair(measure, once)
        case Aggregate.QUANTILE:
            level = measure.measure.level
            assert level is not None  # noqa: S101
            return Quantile(st.bins(arguments[0], where, "QUANTILE"), level)
        case Aggregate.MIN | Aggregate.MAX:
            low = aggregate is Aggregate.MIN
            return Quantile(st.bins(arguments[0], where, aggregate.name), Fraction(0 if low else 1), -1 if low else 1)


def _distinct(measure: LoweredMeasure, most: int | None = None) -> st.Distinct:
    x = measure.arguments[0]
    value = x.lowered if measure.where is None else _null_unless(measure.where, x.lowered)
    return st.Distinct(value, x.is_unit, most)


def _pair(measure: LoweredMeasure, once: bool) -> Moment:
    """Only rows count in which both are there."""
    first, second = measure.arguments
    name = measure.measure.aggregate.name
    where = measure.where
    for argument in (first, second):
        if argument.nullable:
            here: Expression = Call("not", (Call("is_null", (argument.lowered,)),))
            where = here if where is None else Call("and", (where, here))
    x, y = st.centred(first, name, st.COARSE), st.centred(second, name, st.COARSE)
    squares = measure.measure.aggregate is Aggregate.CORRELATION
    return Moment(
        measure.measure.aggregate,
        x,
        y,
        st.count(None, where, once=once),
        st.centred_total(x, where),
        st.centred_total(y, where),
        st.product(x, y, where),
        st.product(x, x, where) if squares else None,
        st.product(y, y, where) if squares else None,
    )


def _sign(x: Typed) -> int:
    kind = x.kind
    return (kind.low >= 0) - (kind.high <= 0) if isinstance(kind, Number) else 0


def _null_unless(where: Expression, value: Expression) -> Expression:
    return Call("case", (where, value, Literal(None)))
