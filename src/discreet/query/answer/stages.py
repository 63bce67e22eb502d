"""Outcomes over outcomes: aggregates, joins and unions of released rows, and where their values lie. All of it is free.

Promise: rows are computed from released rows alone. If every number of the rows at the bottom lies within its interval,
so does every number that is given one here, whichever rows the released values keep: an aggregate that rises with each
of its values lies between what the lower and what the upper ends give. Where released numbers decide which rows there
are (``SUM(DISTINCT x)``, how many groups have over 100 rows), the interval is for all rows that may be there. Where no
rule is known, there is no interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.exact import float_down, float_up
from discreet.query.answer.interval_arithmetic import enclose, may_be_null
from discreet.query.answer.postprocess import Program, apply, program, window_values
from discreet.query.answer.windows import NEIGHBOURS, RISING, TOTALS
from discreet.query.functions.released_values import LARGEST_FLOAT, is_number
from discreet.query.plan.expressions import Column, Expression, walk
from discreet.query.plan.nodes import How, Outcome, Regrouped, ReleasedJoin, ReleasedUnion, Window, outcomes_below
from discreet.query.resolve.build import joined_names

Row: TypeAlias = Mapping[str, Any]
Ends: TypeAlias = tuple[Any, Any] | None
WITHIN = "#within"
"""The hidden column that holds the intervals of a row, by column."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Released rows and what is known of them: each row has, in ``within``, the intervals of its noisy numbers."""

    columns: tuple[str, ...]
    rows: list[dict[str, Any]]
    within: list[dict[str, Ends]]
    chosen: Chosen | None = None
    """Which rows may be there, if released numbers decide about that and nothing else in them is noisy."""
    nullable: frozenset[str] = frozenset()
    """The noisy columns whose exact number may be NULL in some row, such as the average of a group without rows."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows whose exact numbers surely pass a condition, and those whose exact numbers may or may not."""

    sure: list[dict[str, Any]]
    unsure: list[dict[str, Any]]

    def ends(self, measure: Window, within: Callable[[Row], bool]) -> Ends:
        """Where an aggregate of a public column lies, over those of the rows for which ``within`` is true."""
        sure, unsure = ([_value(measure, row) for row in rows if within(row)] for rows in (self.sure, self.unsure))
        sure, unsure = ([v for v in values if v is not None] for values in (sure, unsure))
        if measure.function not in _OF_CHOSEN or not all(is_number(v) for v in (*sure, *unsure)):
            return None
        if not sure and not unsure and measure.function not in ("sum", "count"):
            return None
        low, high = _OF_CHOSEN[measure.function]([Fraction(v) for v in sure], [Fraction(v) for v in unsure])
        return float_down(low), float_up(high)


def _value(measure: Window, row: Row) -> Any:
    return program(measure.arguments[0])(row) if measure.arguments else 1


def _least_mean(sure: list[Fraction], unsure: list[Fraction]) -> Fraction:
    """The least mean of all sure values and some of the others: the smallest, as long as they are below it."""
    total, many = sum(sure, Fraction(0)), len(sure)
    for value in sorted(unsure):
        if many and value * many >= total:
            break
        total, many = total + value, many + 1
    return total / many


_OF_CHOSEN: dict[str, Callable[[list[Fraction], list[Fraction]], tuple[Fraction, Fraction]]] = {
    "count": lambda sure, unsure: (Fraction(len(sure)), Fraction(len(sure) + len(unsure))),
    "sum": lambda sure, unsure: (
        sum(sure, Fraction(0)) + sum(min(v, Fraction(0)) for v in unsure),
        sum(sure, Fraction(0)) + sum(max(v, Fraction(0)) for v in unsure),
    ),
    "avg": lambda sure, unsure: (_least_mean(sure, unsure), -_least_mean([-v for v in sure], [-v for v in unsure])),
    "min": lambda sure, unsure: (min(sure + unsure), min(sure) if sure else max(unsure)),
    "max": lambda sure, unsure: (max(sure) if sure else min(unsure), max(sure + unsure)),
}
"""From the rows that are surely there and those that may be, between which two numbers an aggregate lies."""


def stage(outcome: Outcome, leaf: Callable[[Outcome], Stage]) -> Stage:
    """The rows of an outcome; ``leaf`` gives those of one that is about the released rows of a question."""
    if not outcome.is_nested:
        return leaf(outcome)
    parts = [stage(inner, leaf) for inner in outcomes_below(outcome)]
    match outcome.below:
        case ReleasedUnion():
            staged = _united(parts)
        case ReleasedJoin() as join:
            staged = _joined(join, *parts)
        case Outcome():
            staged = parts[0]
        case None:
            staged = leaf(replace(outcome, regroup=None))
    if outcome.regroup is not None:
        staged = _regrouped(outcome.regroup, staged)
    return _finished(outcome, staged)


def _united(parts: Sequence[Stage]) -> Stage:
    names = parts[0].columns

    def renamed(part: Stage, row: Mapping[str, Any]) -> dict[str, Any]:
        return {new: row[old] for new, old in zip(names, part.columns, strict=True) if old in row}

    noisy = [new for i, new in enumerate(names) if any(p.columns[i] in w for p in parts for w in p.within)]
    rows = [renamed(part, row) for part in parts for row in part.rows]
    within = [renamed(part, w) for part in parts for w in part.within]
    # A public number beside noisy ones lies where it is.
    public = [{name: _point(row[name]) for name in noisy} for row in rows]
    nullable = frozenset(new for i, new in enumerate(names) if any(p.columns[i] in p.nullable for p in parts))
    return Stage(
        names, rows, [known_ends | ends for known_ends, ends in zip(public, within, strict=True)], nullable=nullable
    )


def _joined(join: ReleasedJoin, left: Stage, right: Stage) -> Stage:
    names = dict(zip(right.columns, joined_names(left.columns, right.columns), strict=True))
    partners: dict[tuple[Any, ...], list[int]] = {}
    for i, row in enumerate(right.rows):
        partners.setdefault(tuple(row[b] for _, b in join.on), []).append(i)
    rows, within, paired = [], [], set[int]()
    for row, ends in zip(left.rows, left.within, strict=True):
        key = tuple(row[a] for a, _ in join.on)
        matches = [] if any(value is None for value in key) else partners.get(key, [])
        for i in matches:
            rows.append({**row, **{names[c]: right.rows[i][c] for c in right.columns}})
            within.append({**ends, **{names[c]: e for c, e in right.within[i].items()}})
        paired.update(matches)
        if join.how is not How.INNER and not matches:
            rows.append({**row, **dict.fromkeys(names.values())})
            within.append(dict(ends))
    for i in range(len(right.rows)) if join.how is How.FULL else ():
        if i not in paired:
            rows.append(dict.fromkeys(left.columns) | {names[c]: right.rows[i][c] for c in right.columns})
            within.append({names[c]: e for c, e in right.within[i].items()})
    nullable = left.nullable | {names[c] for c in right.nullable}
    return Stage((*left.columns, *names.values()), rows, within, nullable=nullable)


def _regrouped(regrouped: Regrouped, below: Stage) -> Stage:
    """One row for each combination of keys; without keys one row, also if there is nothing."""
    keys = tuple(key for _, key in regrouped.keys)
    measures = [replace(measure, partition=keys) for measure in regrouped.measures]
    rows, within, nullable = _windowed(below, measures)
    firsts: dict[tuple[Any, ...], int] = {}
    made = [(name, program(key)) for name, key in regrouped.keys]
    for i, row in enumerate(rows):
        firsts.setdefault(tuple(key(row) for _, key in made), i)
    columns = (*(name for name, _ in regrouped.keys), *(measure.name for measure in measures))
    made_rows, ends = [], []
    for values, i in sorted(firsts.items(), key=lambda pair: [(v is None, v) for v in pair[0]]):
        named = dict(zip((name for name, _ in regrouped.keys), values, strict=True))
        made_rows.append(named | {m.name: rows[i][m.name] for m in measures})
        noisy = {
            name: _ends(key, rows[i], within[i], nullable) for name, key in regrouped.keys if _reads(key, within[i])
        }
        noisy |= {m.name: within[i][m.name] for m in measures if m.name in within[i]}
        ends.append(noisy | _ends_of_chosen(below.chosen, measures, made, values))
    if not made_rows and not keys:
        made_rows = [{m.name: 0 if m.function.startswith("count") else None for m in measures}]
        ends = [_ends_of_chosen(below.chosen, measures, made, ())]
    nullable |= _nullable(regrouped.keys, rows, within, nullable)
    return Stage(columns, made_rows, ends, nullable=nullable & {*columns})


def _ends_of_chosen(
    chosen: Chosen | None, measures: Sequence[Window], keys: Sequence[tuple[str, Program]], values: tuple[Any, ...]
) -> dict[str, Ends]:
    """The intervals of one group whose rows released numbers choose."""
    if chosen is None:
        return {}
    return {m.name: chosen.ends(m, lambda row: tuple(key(row) for _, key in keys) == values) for m in measures}


def _finished(outcome: Outcome, below: Stage) -> Stage:
    """HAVING, windows, columns and what else one outcome does."""
    if outcome.having is not None:
        passes = program(outcome.having)
        kept = [i for i, row in enumerate(below.rows) if passes(row) is True]
        below = replace(below, rows=[below.rows[i] for i in kept], within=[below.within[i] for i in kept], chosen=None)
    rows, within, absent = _windowed(below, outcome.windows)
    nullable = _nullable(outcome.columns, rows, within, absent)
    carried = [{**row, WITHIN: ends} for row, ends in zip(rows, within, strict=True)]
    for row, ends in zip(carried, within, strict=True):
        row[WITHIN] = {name: _ends(e, row, ends, absent) for name, e in outcome.columns if _reads(e, ends)}
    shown = replace(outcome, columns=(*outcome.columns, (WITHIN, Column(WITHIN))), having=None, windows=(), below=None,
                    regroup=None)  # fmt: skip
    done = apply(shown, carried)
    ends_of = [row.pop(WITHIN) for row in done]
    return Stage(tuple(name for name, _ in outcome.columns), done, ends_of, nullable=nullable)


def _reads(expression: Expression, within: Mapping[str, Ends]) -> bool:
    """Whether a noisy number stands in it."""
    return any(isinstance(part, Column) and part.name in within for part in walk(expression))


def _ends(expression: Expression, row: Row, within: Mapping[str, Ends], nullable: Collection[str] = ()) -> Ends:
    """Where an expression lies when its noisy columns lie within their intervals."""
    if isinstance(expression, Column):
        return within.get(expression.name)
    intervals = _intervals(expression, within)
    return None if intervals is None else enclose(expression, intervals, row, nullable)


def _intervals(expression: Expression, within: Mapping[str, Ends]) -> dict[str, tuple[Any, Any]] | None:
    """Those of the noisy numbers in an expression; None if one of them has none, or is a date."""
    used = {part.name for part in walk(expression) if isinstance(part, Column) and part.name in within}
    intervals = {name: ends for name in used if (ends := within[name]) is not None}
    dated = any(isinstance(end, date) for ends in intervals.values() for end in ends)
    return None if dated or len(intervals) < len(used) else intervals


def _nullable(
    named: Iterable[tuple[str, Expression]],
    rows: Sequence[Row],
    within: Sequence[Mapping[str, Ends]],
    nullable: Collection[str],
) -> frozenset[str]:
    """Which of these expressions may be NULL in some row in which a noisy number stands in it."""

    def is_nullable(expression: Expression, row: Row, ends: Mapping[str, Ends]) -> bool:
        intervals = _intervals(expression, ends)
        return intervals is None or may_be_null(expression, intervals, row, nullable)

    pairs = list(zip(rows, within, strict=True))
    return frozenset(n for n, e in named if any(_reads(e, ends) and is_nullable(e, row, ends) for row, ends in pairs))


def _windowed(
    below: Stage, windows: Sequence[Window]
) -> tuple[list[dict[str, Any]], list[dict[str, Ends]], frozenset[str]]:
    """The rows with the values of window functions, where those lie, and which noisy columns may be NULL."""
    rows, within, nullable = list(below.rows), [dict(ends) for ends in below.within], below.nullable
    noisy = frozenset().union(*below.within)
    for window in windows:
        arguments = [program(argument) for argument in window.arguments]
        columns = [[argument(row) for row in rows] for argument in arguments]
        if any(part.name in noisy for a in window.arguments for part in walk(a) if isinstance(part, Column)):
            whole = window.function in TOTALS and window.rows is None  # of the row itself too: it is never of nothing
            if not whole or _nullable([("", window.arguments[0])], rows, within, nullable):
                nullable |= {window.name}
            for known_ends, end in zip(within, _window_ends(window, rows, columns, within, nullable), strict=True):
                known_ends[window.name] = end
        values = window_values(window, rows, columns)
        rows = [{**row, window.name: value} for row, value in zip(rows, values, strict=True)]
    return rows, within, nullable


def _window_ends(
    window: Window,
    rows: Sequence[Row],
    columns: Sequence[Sequence[Any]],
    within: Sequence[Mapping[str, Ends]],
    nullable: Collection[str],
) -> list[Ends]:
    """Where the values of one window function lie: it is computed once more of lower and of upper ends."""
    rows_within = list(zip(rows, within, strict=True))
    if window.function not in RISING or any(_reads(a, w) for a in window.arguments[1:] for w in within):
        return [None] * len(rows)
    argument = window.arguments[0]
    ends = [_ends(argument, row, w, nullable) if _reads(argument, w) else _point(value)
            for (row, w), value in zip(rows_within, columns[0], strict=True)]  # fmt: skip
    is_bounded = [
        value is None or (end is not None and _finite(end)) for end, value in zip(ends, columns[0], strict=True)
    ]
    # Whether an unknown end is among those that a value is made of.
    flags, neighbour = [0 if good else 1 for good in is_bounded], window.function in NEIGHBOURS
    rest = [[0] * len(rows) if i > 0 and neighbour else column for i, column in enumerate(columns[1:])]
    lost = (
        window_values(window, rows, [flags, *rest])
        if neighbour
        else window_values(replace(window, function="sum"), rows, [flags])
    )
    sides = [
        window_values(window, rows, [[None if e is None or v is None else e[side]
                                      for e, v in zip(ends, columns[0], strict=True)], *columns[1:]])
        for side in (0, 1)
    ]  # fmt: skip
    return [None if unknown or low is None or high is None else _open_ended(low, high)
            for unknown, low, high in zip(lost, *sides, strict=True)]  # fmt: skip


def _open_ended(low: Any, high: Any) -> tuple[Any, Any]:
    """A total that left as the largest float may be any larger number."""
    return -math.inf if low == -LARGEST_FLOAT else low, math.inf if high == LARGEST_FLOAT else high


def _finite(ends: tuple[Any, Any]) -> bool:
    return all(isinstance(end, date) or math.isfinite(end) for end in ends)


def _point(value: Any) -> Ends:
    """A public value lies where it is."""
    exact = isinstance(value, int | float | date) and not isinstance(value, bool)
    return (value, value) if exact else None
