"""Window functions over released rows: ranks, running totals, shares, the row before. Post-processing, so free.

Promise: total, as ``postprocess.py`` is. Rows are in the order that OVER says; equal ones keep the order they have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from discreet.query.functions.catalogue import FUNCTIONS
from discreet.query.functions.released_values import as_float, value_or_null

RANKS = frozenset({"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"})
NEIGHBOURS = frozenset({"lag", "lead", "first_value", "last_value", "nth_value"})
TOTALS = frozenset({"count", "sum", "avg", "min", "max"})
ALL = RANKS | NEIGHBOURS | TOTALS
RISING = NEIGHBOURS | {"sum", "avg", "min", "max", "quantile"}
"""Those that rise with each of their values: ends of intervals give an end of the result."""


def windowed(
    function: str,
    arguments: Sequence[Sequence[Any]],
    equal: Sequence[int],
    frame: tuple[int | None, int | None] | None,
    *,
    ordered: bool,
) -> list[Any]:
    """The values of one part, whose rows are in order; ``equal[i]`` counts the different places of the order up to i.

    >>> windowed("sum", [[3, 4, 5]], [0, 1, 2], None, ordered=True)
    [3, 7, 12]
    >>> windowed("rank", [], [0, 0, 1], None, ordered=True)
    [1, 1, 3]
    """
    many = len(equal)
    if function in RANKS:
        return [_rank(function, arguments, equal, i) for i in range(many)]
    if function in ("lag", "lead"):
        return [_beside(function, arguments, i, many) for i in range(many)]
    return [_framed(function, arguments, _frame(equal, frame, i, ordered)) for i in range(many)]


def _rank(function: str, arguments: Sequence[Sequence[Any]], equal: Sequence[int], i: int) -> Any:
    many, first = len(equal), equal.index(equal[i])
    match function:
        case "row_number":
            return i + 1
        case "rank":
            return first + 1
        case "dense_rank":
            return equal[i] + 1
        case "percent_rank":
            return first / (many - 1) if many > 1 else 0.0
        case "cume_dist":
            return (many - list(reversed(equal)).index(equal[i])) / many
        case _:
            parts = int(arguments[0][i])
            size, larger = divmod(many, parts)
            edge = larger * (size + 1)
            return i // (size + 1) + 1 if i < edge else larger + (i - edge) // max(size, 1) + 1


def _beside(function: str, arguments: Sequence[Sequence[Any]], i: int, many: int) -> Any:
    steps = int(arguments[1][i]) if len(arguments) > 1 else 1
    place = i - steps if function == "lag" else i + steps
    if 0 <= place < many:
        return arguments[0][place]
    return arguments[2][i] if len(arguments) > 2 else None


def _frame(equal: Sequence[int], frame: tuple[int | None, int | None] | None, i: int, ordered: bool) -> range:
    many = len(equal)
    if frame is not None:
        first = 0 if frame[0] is None else max(0, i + frame[0])
        last = many if frame[1] is None else min(many, i + frame[1] + 1)
        return range(first, last)
    if not ordered:
        return range(many)
    return range(next((j for j in range(i, many) if equal[j] != equal[i]), many))


def _framed(function: str, arguments: Sequence[Sequence[Any]], places: range) -> Any:
    if function in NEIGHBOURS:
        at = 0 if function == "first_value" else len(places) - 1
        if function == "nth_value":
            at = int(arguments[1][places[0]]) - 1 if len(places) else 0
        return arguments[0][places[at]] if 0 <= at < len(places) else None
    if function == "count" and not arguments:
        return len(places)
    values = [value for i in places if (value := value_or_null(arguments[0][i])) is not None]
    if function == "count":
        return len(values)
    if function == "count_distinct":
        return len(set(values))
    if function == "quantile":
        return _quantile(values, Fraction(arguments[1][places[0]])) if values else None
    return _TOTALS[function](values) if values else None


def _sum(values: list[Any]) -> Any:
    exact = all(isinstance(value, int | Fraction) for value in values)
    return value_or_null(sum(values) if exact else as_float(sum(Fraction(value) for value in values)))


def _average(values: list[Any]) -> Any:
    return value_or_null(as_float(sum(Fraction(value) for value in values) / len(values)))


def _quantile(values: list[Any], level: Fraction) -> Any:
    """Between the two values around the place that the level names, as PERCENTILE_CONT says."""
    exact = sorted(Fraction(value) for value in values)
    place = level * (len(exact) - 1)
    low = int(place)
    above = exact[min(low + 1, len(exact) - 1)]
    return value_or_null(as_float(exact[low] + (place - low) * (above - exact[low])))


def _variance(values: list[Any]) -> float | None:
    """The sample variance; NULL of one value."""
    if len(values) < 2:
        return None
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    variance: float | None = value_or_null(as_float(sum((x - mean) ** 2 for x in exact) / (len(exact) - 1)))
    return variance


def _stddev(values: list[Any]) -> float | None:
    variance = _variance(values)
    return None if variance is None else math.sqrt(variance)


def _outermost(name: str) -> Callable[[list[Any]], Any]:
    meaning = FUNCTIONS[name].meaning
    assert meaning is not None  # noqa: S101
    return lambda values: meaning(*values)


_TOTALS: dict[str, Callable[[list[Any]], Any]] = {
    "sum": _sum,
    "avg": _average,
    "min": _outermost("least"),
    "max": _outermost("greatest"),
    "variance": _variance,
    "stddev": _stddev,
}
