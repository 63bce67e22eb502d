"""Comparing and choosing: both need values of one kind, numbers on one step.

Comparisons are exact, also between a column and a constant that is not on the column's grid: ``x <= 0.5`` of whole
numbers is ``x <= 0``. A text constant beside a date or a time is read as one; a date beside a time is its midnight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from fractions import Fraction
from functools import reduce
from math import ceil, floor

from discreet.query.functions.arithmetic import align, call, common_step, made, value_of, within
from discreet.query.functions.released_values import as_number
from discreet.query.functions.typed_values import (
    DECLARE_ITS_BOUNDS,
    Typed,
    bound,
    constant,
    is_null_literal,
    refuse,
    shown,
    words,
)
from discreet.query.plan.evaluate import text_to_moment
from discreet.query.plan.expressions import Call, Expression, Literal
from discreet.query.plan.types import (
    LARGEST,
    Boolean,
    Date,
    Duration,
    Kind,
    Number,
    Real,
    Seconds,
    Temporal,
    Text,
    Timestamp,
    Value,
)

_QUOTED = {Text, Number}
FLIPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def compare(name: str, x: Typed, y: Typed) -> Typed:
    """x = y, x < y and so on; NULL if one of them is."""
    if is_null_literal(x) or is_null_literal(y):
        refuse("a comparison with NULL is never true; write IS NULL or IS NOT NULL")
    x, y = _met(x, y)
    if isinstance(x.kind, Duration):
        moved = _later_by(name, x, y) or _later_by(FLIPPED[name], y, x)
        if moved is not None:
            return _truth(moved, x, y)
    if isinstance(x.kind, Number) and isinstance(y.kind, Number):
        return _truth(_compare_numbers(name, x, y), x, y)
    if isinstance(x.kind, Boolean) and name not in ("eq", "ne"):
        refuse("true and false have no order; compare them with = or <>")
    return _truth(call(name, x.lowered, y.lowered), x, y)


def _later_by(name: str, x: Typed, y: Typed) -> Expression | None:
    """``a - b`` against a constant duration, as a against b moved by it: to the microsecond, which seconds are not."""
    match x.lowered:
        case Call("seconds_between", (b, a)) if (n := constant(y)) is not None and not isinstance(b, Literal):
            return call(name, a, call("add_seconds", b, n))
    return None


def is_in(x: Typed, *listed: Typed) -> Typed:
    """x IN (constants); a constant that x cannot be is left out."""
    if not listed:
        refuse("IN needs at least one constant")
    values: list[Value] = []
    for constant_ in listed:
        if is_null_literal(constant_):
            refuse("NULL in the list of IN matches nothing; leave it out, or write OR x IS NULL")
        if constant(constant_) is None:
            refuse("IN needs constants; write x = y OR x = z for others")
        a, b = _met(x, constant_)
        if type(a.kind) is not type(x.kind):
            refuse("IN needs constants of the column's own kind")
        value: Value = constant(b)
        if isinstance(a.kind, Number):
            cells = (value_of(b) or Fraction(0)) / a.kind.step
            if cells.denominator != 1 or not a.kind.low <= cells <= a.kind.high:
                continue
            value = int(cells)
        if value not in values:
            values.append(value)
    if values:
        return _truth(Call("in", (x.lowered, *map(Literal, values))), x)
    assert isinstance(x.kind, Number)  # noqa: S101
    return _truth(call("lt", x.lowered, x.kind.low), x)  # never true, and NULL where x is


def _truth(lowered: Expression, *parts: Typed) -> Typed:
    return Typed(Boolean(), any(p.nullable for p in parts), lowered=lowered)


# --- numbers --------------------------------------------------------------------------------------------------------


def _compare_numbers(name: str, x: Typed, y: Typed) -> Expression:
    if value_of(x) is not None and value_of(y) is None:
        name, x, y = FLIPPED[name], y, x
    assert isinstance(x.kind, Number)  # noqa: S101
    assert isinstance(y.kind, Number)  # noqa: S101
    if (value := value_of(y)) is not None:
        return _compare_with(name, x, x.kind, value / x.kind.step)
    # What lies beyond the other's range compares as its edge does: so only the common part must fit onto one step.
    # One after the other: moved at once, two numbers far apart would change places.
    step = common_step(x.kind.step, y.kind.step)
    first, left = _near(x.lowered, x.kind, y.kind, step)
    _, right = _near(y.lowered, y.kind, first, step)
    return call(name, left, right)


def _near(x: Expression, kind: Number, other: Number, step: Fraction) -> tuple[Number, Expression]:
    """x moved next to the range of the other, which changes no comparison with it; its kind there, and its cells."""
    times = int(kind.step / step)
    if times == 1:
        return kind, x
    low, high = (end / kind.step for end in other.ends)
    edge = floor(low) - 1, ceil(high) + 1
    near = Number(kind.step, *(min(max(end, edge[0]), edge[1]) for end in (kind.low, kind.high)))
    if max(abs(n) for n in (*edge, near.low * times, near.high * times, times)) >= 2 * LARGEST:
        refuse("the numbers of a comparison are too far apart in size", DECLARE_ITS_BOUNDS)
    return near, call("mul", within(x, kind.low, kind.high, edge), times)


def _compare_with(name: str, x: Typed, kind: Number, cells: Fraction) -> Expression:
    """Cells against a number of cells that need not be whole."""
    below, above = kind.low - 1, kind.high + 1
    match name:
        case "eq" | "ne" if cells.denominator != 1 or not kind.low <= cells <= kind.high:
            return call("lt" if name == "eq" else "ge", x.lowered, kind.low)  # never, always; NULL where x is
        case "lt" | "ge":
            limit = ceil(cells)
        case _:
            limit = floor(cells)
    return call(name, x.lowered, min(max(limit, below), above))


def as_integer(x: Typed) -> Typed:
    """True as 1, false as 0."""
    return made(Fraction(1), 0, 1, call("boolean_to_integer", x.lowered), x)


def truth_of(x: Typed) -> Typed:
    """A number as whether it is not 0; anything else as it is."""
    if not isinstance(x.kind, Number) or isinstance(x.kind, Seconds):
        return x
    return _truth(_compare_numbers("ne", x, Typed(Number(Fraction(1), 0, 0), False, lowered=Literal(0))), x)


# --- one kind -------------------------------------------------------------------------------------------------------


def _met(x: Typed, y: Typed) -> tuple[Typed, Typed]:
    """Both as values of one kind, or a refusal."""
    x, y = read_as(x, y.kind), read_as(y, x.kind)
    if isinstance(x.kind, Date) and isinstance(y.kind, Timestamp):
        x = as_timestamp(x)
    if isinstance(y.kind, Date) and isinstance(x.kind, Timestamp):
        y = as_timestamp(y)
    if isinstance(x.kind, Real) or isinstance(y.kind, Real):
        refuse("a number without bounds cannot be compared", bound(x, y))
    if type(x.kind) is not type(y.kind):
        refuse(f"{words(x)} cannot be compared with {words(y)}{_how_to_compare(x, y)}")
    return x, y


def _how_to_compare(*parts: Typed) -> str:
    """What to write instead."""
    match {type(part.kind) for part in parts}:
        case kinds if kinds == _QUOTED:
            text = next(shown(part) for part in parts if isinstance(part.kind, Text))
            return f"; write the number in quotes, '8', or CAST({text} AS BIGINT)"
        case kinds if kinds == {Duration, Number}:
            return "; two dates differ by a number of days, as in > 2, and two times by an INTERVAL '2 days'"
        case kinds if Number in kinds and kinds & {Date, Timestamp}:
            moment = next(shown(part) for part in parts if isinstance(part.kind, Temporal))
            return f"; write DATE '2025-01-31', or take a part: YEAR({moment})"
    return ""


def read_as(x: Typed, kind: Kind) -> Typed:
    """A constant text beside a number, a date or a time, as one."""
    text = constant(x)
    if isinstance(kind, Boolean) and isinstance(x.kind, Number) and value_of(x) in (0, 1):
        return Typed(kind, nullable=False, keys=(bool(text),), lowered=Literal(bool(text)))
    if isinstance(text, str) and isinstance(kind, Seconds):
        cells = kind.cells_of(text)
        if cells is None:
            refuse(f"a text beside {words(replace(x, kind=kind))} must be written as {kind.WRITTEN}")
        return Typed(type(kind)(Fraction(1), cells, cells), False, (cells,), lowered=Literal(cells))
    if isinstance(text, str) and isinstance(kind, Number):
        return _literal_number(text)
    if not isinstance(text, str) or not isinstance(kind, Temporal):
        return x
    moment = text_to_moment(text)
    if moment is None:
        refuse("a text beside a date or a time must be written as 2024-12-31 or 2024-12-31 23:59:59")
    return literal_time(moment) if isinstance(moment, datetime) else literal_date(moment)


def _literal_number(text: str) -> Typed:
    """A constant number that is written as text."""
    exact = as_number(text)
    if exact is None or max(abs(exact.numerator), exact.denominator) > LARGEST:
        refuse("a text beside a number must be a number, such as '8' or '0.5'")
    cells = exact.numerator
    kind = Number(Fraction(1, exact.denominator), cells, cells)
    return Typed(kind, nullable=False, keys=(cells,), lowered=Literal(cells))


def _is_number(text: str) -> bool:
    return as_number(text) is not None


def literal_date(day: date) -> Typed:
    """A constant date."""
    return Typed(Date(day, day), nullable=False, keys=(day,), lowered=Literal(day))


def literal_time(moment: datetime) -> Typed:
    """A constant time."""
    return Typed(Timestamp(moment, moment), nullable=False, keys=(moment,), lowered=Literal(moment))


def as_timestamp(x: Typed) -> Typed:
    """A date as its midnight; a time as it is."""
    if not isinstance(x.kind, Date):
        return x
    low, high = (datetime.combine(end, time()) for end in (x.kind.low, x.kind.high))
    day = constant(x)
    if isinstance(day, date):
        return literal_time(low)
    return Typed(Timestamp(low, high), x.nullable, lowered=call("date_to_timestamp", x.lowered))


# --- choosing -------------------------------------------------------------------------------------------------------


def unify(parts: Sequence[Typed], what: str) -> tuple[Kind, tuple[Typed, ...]]:
    """The parts of CASE or COALESCE as values of one kind (NULL is of any), and that kind."""
    real = [p for p in parts if not is_null_literal(p)]
    if not real:
        refuse(f"{what} of nothing but NULL has no kind")
    for kind in (Date(), Timestamp()):
        if any(isinstance(p.kind, type(kind)) for p in real):
            real = [read_as(p, kind) for p in real]
    if any(isinstance(p.kind, Timestamp) for p in real):
        real = [as_timestamp(p) for p in real]
    if any(isinstance(p.kind, Number) for p in real):
        real = [as_integer(p) if isinstance(p.kind, Boolean) else p for p in real]
        real = [_literal_number(text) if isinstance(text := constant(p), str) and _is_number(text) else p for p in real]
    first = real[0].kind
    for p in real:
        if isinstance(p.kind, Real):
            refuse(f"{what} needs numbers with bounds", bound(p))
        if type(p.kind) is not type(first):
            refuse(f"{what} cannot mix {words(real[0])} and {words(p)}")
    if isinstance(first, Number):
        plain = [replace(p, kind=Number(p.kind.step, *_cells(p.kind))) for p in real if isinstance(p.kind, Number)]
        real = list(align(plain, what))
        if isinstance(first, Seconds):
            kind_of_all = type(first)
            real = [
                replace(p, kind=kind_of_all(p.kind.step, *_cells(p.kind))) for p in real if isinstance(p.kind, Number)
            ]
    unified = iter(real)
    return union([p.kind for p in real]), tuple(p if is_null_literal(p) else next(unified) for p in parts)


def _cells(kind: Number) -> tuple[int, int]:
    return kind.low, kind.high


def union(kinds: Sequence[Kind]) -> Kind:
    """The least kind that holds them all; they are of one sort, numbers on one step."""
    return reduce(lambda a, b: a.joined(b), kinds)


def longest(kinds: Sequence[Kind], together: Callable[[Iterable[int]], int]) -> int | None:
    """How long texts of these kinds are together; None if one of them has no end."""
    lengths = [k.longest for k in kinds if isinstance(k, Text)]
    ended = [n for n in lengths if n is not None]
    return together(ended) if len(ended) == len(lengths) else None
