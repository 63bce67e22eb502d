"""Post-processing of released values: computed columns, HAVING, windows, ORDER BY, LIMIT. It never sees anything else.

Promise: total. Whatever was released, each expression has a value or NULL: NULL if an argument is (unless the function
says otherwise), for a division by 0 and the like, and for kinds that do not fit together; never because it is large.
Whole numbers and fractions are computed exactly, and floats as floats unless they would become infinite or 0; an exact
fraction leaves as the nearest float, and what is beyond the largest float leaves as that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.query.answer.windows import windowed
from discreet.query.functions.catalogue import FUNCTIONS
from discreet.query.functions.released_values import LARGEST_FLOAT, as_float, extreme, value_or_null
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Outcome, Window

Row: TypeAlias = Mapping[str, Any]
Program: TypeAlias = Callable[[Row], Any]

PRESENT = "#keys"
"""The hidden column that says which keys the grouping set of a row has."""


def apply(outcome: Outcome, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows that HAVING keeps, ordered and cut, with the columns that were asked for.

    >>> twice = Call("mul", (Column("n"), Literal(Fraction(2))))
    >>> apply(Outcome((("clinic", Column("clinic")), ("twice", twice))), [{"clinic": "North", "n": 21}])
    [{'clinic': 'North', 'twice': 42}]
    """
    kept = list(rows)
    if outcome.having is not None:
        passes = program(outcome.having)
        kept = [row for row in kept if passes(row) is True]
    for window in outcome.windows:
        kept = _with_window(kept, window)
    if outcome.qualify is not None:
        chosen = program(outcome.qualify)
        kept = [row for row in kept if chosen(row) is True]
    for order in reversed(outcome.order):  # the last one first: each sort keeps what the later ones did
        kept = _sorted(kept, program(order.expression), order.descending)
    columns = [(name, program(column)) for name, column in outcome.columns]
    return [{name: _leaving(column(row)) for name, column in columns} for row in cut(kept, outcome)]


def _with_window(rows: list[Row], window: Window) -> list[Row]:
    """The rows with a further column: the value of a window function."""
    arguments = [program(argument) for argument in window.arguments]
    columns = [[argument(row) for row in rows] for argument in arguments]
    values = window_values(window, rows, columns)
    return [{**row, window.name: value} for row, value in zip(rows, values, strict=True)]


def window_values(window: Window, rows: Sequence[Row], columns: Sequence[Sequence[Any]]) -> list[Any]:
    """The values of a window function, in the order of the rows; ``columns`` are those of its arguments."""
    in_order: list[Any] = [None] * len(rows)
    for places, equal in window_parts(window, rows):
        inside = [[column[i] for i in places] for column in columns]
        values = windowed(window.function, inside, equal, window.rows, ordered=bool(window.order))
        for i, value in zip(places, values, strict=True):
            in_order[i] = value
    return in_order


def window_parts(window: Window, rows: Sequence[Row]) -> list[tuple[list[int], list[int]]]:
    """For each part: the places of its rows in the order of OVER, and which of them are equal in that order."""
    by = [program(key) for key in window.partition]
    sorting = [(program(order.expression), order.descending) for order in window.order]
    parts: dict[tuple[Any, ...], list[int]] = {}
    for i, row in enumerate(rows):
        parts.setdefault(tuple(_rank(key(row)) for key in by), []).append(i)
    parts_in_order = []
    for part in parts.values():
        places = part
        for order, descending in reversed(sorting):
            keyed = _sorted([{"at": i, "by": order(rows[i])} for i in places], lambda row: row["by"], descending)
            places = [row["at"] for row in keyed]
        ranks = [tuple(_rank(order(rows[i])) for order, _ in sorting) for i in places]
        equal = [0] * len(places)
        for j in range(1, len(places)):
            equal[j] = equal[j - 1] + (ranks[j] != ranks[j - 1])
        parts_in_order.append((places, equal))
    return parts_in_order


def cut(rows: list[Row], outcome: Outcome) -> list[Row]:
    """The rows that LIMIT and OFFSET keep."""
    end = None if outcome.limit is None else outcome.offset + outcome.limit
    return rows[outcome.offset : end]


def evaluate(expression: Expression, row: Row) -> Any:
    """The value of one expression on one released row; None for NULL.

    >>> evaluate(Call("div", (Literal(Fraction(1)), Column("n"))), {"n": 0}) is None
    True
    """
    return _leaving(program(expression)(row))


def _leaving(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        return value
    if isinstance(value, Fraction) and value.denominator != 1:
        return as_float(value)
    return int(value) if -_MOST <= value <= _MOST else as_float(value)


_MOST = int(LARGEST_FLOAT)


def _sorted(rows: list[Row], by: Program, descending: bool) -> list[Row]:
    keyed = [(_rank(by(row)), row) for row in rows]
    ranked = [(rank, row) for rank, row in keyed if rank is not None]
    ranked.sort(key=lambda pair: pair[0], reverse=descending)  # equal ones keep their order, also in reverse
    return [row for _, row in ranked] + [row for rank, row in keyed if rank is None]


def _rank(value: Any) -> tuple[int, Any] | None:
    """What values are sorted by: kinds one after the other, NULL and what has no order last."""
    value = value_or_null(value)
    match value:
        case bool():
            return 2, value
        case int() | Fraction() | float():
            return 0, value
        case str():
            return 1, value
        case datetime():
            return (4, value) if value.tzinfo is None else (5, value.timestamp())
        case date():
            return 3, value
        case _:
            return None


# --- programs ---------------------------------------------------------------------------------------------------------


def program(expression: Expression) -> Program:
    """The expression as a function of a released row: for many rows, built once."""
    match expression:
        case Column(name=name):
            return lambda row: row[name]
        case Literal(value=value):
            return lambda row: value
        case Call(function="grouping", arguments=keys):
            return _grouping([key.name for key in keys if isinstance(key, Column)])
        case Call(function=name, arguments=arguments):
            parts, function = tuple(program(a) for a in arguments), FUNCTIONS[name]
            meaning = function.meaning
            if meaning is None:
                raise KeyError(name)
            return _strict(meaning, parts) if function.strict else lambda row: meaning(*(part(row) for part in parts))


def _strict(meaning: Callable[..., Any], parts: tuple[Program, ...]) -> Program:
    def run(row: Row) -> Any:
        values = [value_or_null(part(row)) for part in parts]
        if any(value is None for value in values):
            return None
        try:
            return value_or_null(_computed(meaning, values))
        except (ArithmeticError, ValueError, TypeError):
            return None

    return run


def _computed(meaning: Callable[..., Any], values: Sequence[Any]) -> Any:
    """The value of a function; once more, exactly, where floats are too small or too large for it."""
    try:
        result = meaning(*values)
    except OverflowError:
        result = math.inf
    if not extreme(result):
        return result
    exact = meaning(*(Fraction(value) if isinstance(value, float) else value for value in values))
    return result if exact == result else exact


def _grouping(names: Sequence[str]) -> Program:
    """A bit for each key, the last one the lowest: 1 where the row is a total over it."""

    def run(row: Row) -> int:
        bits = 0
        for name in names:
            bits = 2 * bits + (name not in row[PRESENT])
        return bits

    return run
