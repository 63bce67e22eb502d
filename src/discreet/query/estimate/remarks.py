"""What a reader must be told beside an answer: that a column is of no use, and from how many units on keys are named.

Promise: a function of released numbers and public metadata; it costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.messages import Message, message
from discreet.query.estimate.estimators import Estimates, Mean, Quantile, Recipe, groups_of
from discreet.query.estimate.moments import Moment
from discreet.query.estimate.prepare import Part
from discreet.query.estimate.searched_quantile import SearchedQuantile
from discreet.query.estimate.selected import Selected
from discreet.query.estimate.statistics import QuantileCells, Units
from discreet.query.estimate.two_sided_sums import Mean as SidesMean
from discreet.query.plan.expressions import columns
from discreet.query.plan.nodes import Aggregate, Outcome, outcomes_below

MISS = 0.05
NEARLY_ALL = 0.9
"""An interval over this much of all that is possible says nothing."""
_WITHOUT_EMPTY = ("sum", "max")
"""What groups without rows do not change."""


def possible_range(recipe: Recipe) -> float | None:
    """How long its interval can be at most, from declared bounds; None where nothing limits it.

    >>> from fractions import Fraction
    >>> from discreet.query.estimate.statistics import sides
    >>> from discreet.query.plan.expressions import Column
    >>> from discreet.query.functions.typed_values import Typed
    >>> from discreet.query.plan.types import Number
    >>> age = Typed(Number(Fraction(1), 0, 100), nullable=False, lowered=Column("age"))
    >>> possible_range(SidesMean(sides(age, None, "AVG")))
    100.0
    """
    inner = getattr(recipe, "inner", recipe)
    match inner:
        case Mean(x=x):
            return float(x.high - x.low)
        case SidesMean(sides=sides):
            return float(sides.range)
        case Quantile(bins=bins) | SearchedQuantile(cells=QuantileCells(bins=bins)):
            return float(bins.width * (bins.bins - bins.whole))
        case Moment(aggregate=Aggregate.CORRELATION):
            return 2.0
        case Moment(aggregate=aggregate, x=x, y=y):
            most = float(x.high - x.low) * float(y.high - y.low) / 2
            return float({Aggregate.STDDEV: most**0.5, Aggregate.COVARIANCE: 2 * most}.get(aggregate, most))
        case _:
            return None


def without_use(name: str, recipe: Recipe, error: float) -> Message | None:
    """For a preview: what to say of a column whose expected error bar reaches as far as values can."""
    most = possible_range(recipe)
    if most is None or error < NEARLY_ALL * most * _farther_end(recipe):
        return None
    return message("would_say_nothing", column=name)


def _farther_end(recipe: Recipe) -> float:
    """How far the farther end of all that is possible is expected to be, as a share of it: half, or where it lies."""
    match getattr(recipe, "inner", recipe):
        case Quantile(level=level) | SearchedQuantile(level=level):
            return float(max(level, 1 - level))
        case _:
            return 0.5


def remarks(outcome: Outcome, part: Part, estimates: Estimates) -> tuple[Message, ...]:
    """All that there is to say of an answer whose finest groups are those of a part."""
    shown = {name for name, _ in outcome.columns}
    both = zip(part.names, part.recipes, strict=True)
    notes = [
        _without_use(name, recipe, estimates, is_null=name in part.bounded) for name, recipe in both if name in shown
    ]
    notes += [_named_from(estimates), _with_empty_groups(outcome, part), _limited_to_empty_groups(outcome, part)]
    if outcome.asked_at is not None:
        notes.append(message("asked_at", moment=outcome.asked_at.isoformat(sep=" ")))
    return tuple(note for note in notes if note is not None)


def _with_empty_groups(outcome: Outcome, part: Part) -> Message | None:
    """Aggregates of all listed groups: an average, a least value or a number of them has those that nobody is in."""
    if outcome.regroup is None or not part.keys or part.group_count is None or part.named is not None:
        return None
    if outcome.having is not None or any(below.having is not None for below in outcomes_below(outcome)):
        return None
    touched = [
        measure.function.upper() for measure in outcome.regroup.measures if measure.function not in _WITHOUT_EMPTY
    ]
    if not touched:
        return None
    return message("empty_groups", aggregates=tuple(dict.fromkeys(touched)), groups=part.group_count)


def _limited_to_empty_groups(outcome: Outcome, part: Part) -> Message | None:
    """LIMIT over listed groups in the order of their keys: those that nobody is in take places."""
    many = part.group_count if part.named is None else None
    if outcome.limit is None or outcome.is_nested or outcome.having is not None or not part.keys or many is None:
        return None
    if many <= outcome.limit or any(columns(order.expression) & {*part.names} for order in outcome.order):
        return None
    return message("limit_empty_groups", groups=many)


def says_nothing(recipe: Recipe, estimates: Estimates) -> NDArray[np.bool_]:
    """For each group, whether an interval is as long as all that is possible, or nearly."""
    most = possible_range(recipe)
    if most is None:
        return np.zeros(groups_of(estimates), dtype=bool)
    low, high = recipe.ends(estimates, MISS)
    return np.asarray(high - low >= NEARLY_ALL * most)


def _without_use(name: str, recipe: Recipe, estimates: Estimates, *, is_null: bool) -> Message | None:
    nothing = says_nothing(recipe, estimates)
    bad, many = int(np.sum(nothing)), len(nothing)
    if not bad:
        return None
    return message("null_too_few_rows" if is_null else "says_nothing", column=name, groups=(bad, many))


def without_bars(name: str, values: Sequence[Any], bars: Sequence[float | None]) -> Message | None:
    """What to say of a column computed of released numbers, some of which may be anything within their error bars.

    >>> print(without_bars("share", [0.5, 3.0, None], [0.1, None, None]))
    share has no ± in 1 of 3 rows: it may be any number within the intervals it is computed from.
    """
    bad = sum(value is not None and bar is None for value, bar in zip(values, bars, strict=True))
    if not bad:
        return None
    return message("no_interval", column=name, rows=(bad, len(bars)))


def null_quotients(name: str, nulls: Sequence[bool]) -> Message | None:
    """What to say of a column that is NULL in some rows because its divisor may be 0.

    >>> print(null_quotients("share", [False, True, False]))
    share is NULL in 1 of 3 rows: its divisor may be 0 within its 95% confidence interval.
    """
    if not any(nulls):
        return None
    return message("null_quotient", column=name, rows=(sum(nulls), len(nulls)))


def _named_from(estimates: Estimates) -> Message | None:
    units = estimates.get(Units())
    if not isinstance(units, Selected) or units.noised is None:
        return None
    return message("named_from", units=-(-units.threshold // units.noised.scale))
