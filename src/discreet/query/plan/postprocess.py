"""Post-processing of released values: computed columns, HAVING, ORDER BY, LIMIT. It never sees anything else.

Promise: total. Whatever was released, each expression has a value or NULL: NULL if an argument is (unless the function
says otherwise), for a division by 0, for kinds that do not fit together, and for what is too large for a float. Whole
numbers and fractions are computed exactly, floats as floats; an exact fraction leaves as the nearest float.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

from discreet.query.plan.evaluate import date_trunc, text_to_date
from discreet.query.plan.evaluate import program as primitive
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Outcome

Row: TypeAlias = Mapping[str, Any]
Program: TypeAlias = Callable[[Row], Any]

PRESENT = "#keys"
"""The hidden column that says which keys the grouping set of a row has."""
_UNITS = frozenset({"year", "quarter", "month", "week", "day"})
_CLOCK = frozenset({"hour", "minute", "second"})
_MOST_DIGITS = 30
_TOO_LARGE = 1 << 1024
_LONG = 1 << 2048
"""An exact fraction with a longer denominator than this goes on as a float."""


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
    for order in reversed(outcome.order):  # the last one first: each sort keeps what the later ones did
        kept = _sorted(kept, program(order.expression), order.descending)
    columns = [(name, program(column)) for name, column in outcome.columns]
    return [{name: _leaving(column(row)) for name, column in columns} for row in kept[: outcome.limit]]


def evaluate(expression: Expression, row: Row) -> Any:
    """The value of one expression on one released row; None for NULL.

    >>> evaluate(Call("div", (Literal(Fraction(1)), Column("n"))), {"n": 0}) is None
    True
    """
    return _leaving(program(expression)(row))


def _leaving(value: Any) -> Any:
    if not isinstance(value, Fraction):
        return value
    if value.denominator == 1:
        return int(value)
    try:
        return float(value)
    except OverflowError:
        return None


def _sorted(rows: list[Row], by: Program, descending: bool) -> list[Row]:
    keyed = [(_rank(by(row)), row) for row in rows]
    known = [(rank, row) for rank, row in keyed if rank is not None]
    known.sort(key=lambda pair: pair[0], reverse=descending)  # equal ones keep their order, also in reverse
    return [row for _, row in known] + [row for rank, row in keyed if rank is None]


def _rank(value: Any) -> tuple[int, Any] | None:
    """What values are sorted by: kinds one after the other, NULL and what has no order last."""
    value = _known(value)
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
        case Call(function=function, arguments=arguments):
            parts = tuple(program(a) for a in arguments)
            if function in _LAZY:
                return _LAZY[function](parts)
            return _strict(_STRICT[function], parts)


def _strict(function: Callable[..., Any], parts: tuple[Program, ...]) -> Program:
    def run(row: Row) -> Any:
        values = [_known(part(row)) for part in parts]
        if any(value is None for value in values):
            return None
        try:
            return _known(function(*values))
        except (ArithmeticError, ValueError, TypeError):
            return None

    return run


def _known(value: Any) -> Any:
    """NaN and the infinities are NULL; a numpy number is the number that it is."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Fraction | int):
        return _exact(value)
    if isinstance(value, str | date):
        return value
    if hasattr(value, "item") and callable(value.item):
        return _known(value.item())
    return None


def _exact(value: int | Fraction) -> int | float | Fraction | None:
    """A whole number or fraction; NULL if no float is that large, a float if it is too long to go on exactly."""
    if not -_TOO_LARGE < value < _TOO_LARGE:
        return None
    return _leaving(value) if isinstance(value, Fraction) and value.denominator > _LONG else value


def _grouping(names: Sequence[str]) -> Program:
    """A bit for each key, the last one the lowest: 1 where the row is a total over it."""

    def run(row: Row) -> int:
        found = 0
        for name in names:
            found = 2 * found + (name not in row[PRESENT])
        return found

    return run


# --- not strict -------------------------------------------------------------------------------------------------------


def _is_null(parts: tuple[Program, ...]) -> Program:
    (x,) = parts
    return lambda row: _known(x(row)) is None


def _logic(decides: bool, parts: tuple[Program, ...]) -> Program:
    """AND is decided by one false, OR by one true; otherwise NULL wins over the rest."""

    def run(row: Row) -> bool | None:
        found: bool | None = not decides
        for part in parts:
            value: object = part(row)
            if value is decides:
                return decides
            if value is not (not decides):
                found = None
        return found

    return run


def _not(parts: tuple[Program, ...]) -> Program:
    (x,) = parts

    def run(row: Row) -> bool | None:
        value: object = x(row)
        return not value if isinstance(value, bool) else None

    return run


def _case(parts: tuple[Program, ...]) -> Program:
    *pairs, otherwise = parts
    branches = tuple(zip(pairs[::2], pairs[1::2], strict=True))

    def run(row: Row) -> Any:
        for when, then in branches:
            if when(row) is True:
                return then(row)
        return otherwise(row)

    return run


def _coalesce(parts: tuple[Program, ...]) -> Program:
    def run(row: Row) -> Any:
        for part in parts:
            value = _known(part(row))
            if value is not None:
                return value
        return None

    return run


def _in(parts: tuple[Program, ...]) -> Program:
    x, *listed = parts

    def run(row: Row) -> bool | None:
        value = x(row)
        found = [_compared("eq", _known(value), _known(one(row))) for one in listed]
        return True if True in found else None if None in found else False

    return run


def _nullif(parts: tuple[Program, ...]) -> Program:
    x, y = parts

    def run(row: Row) -> Any:
        value = _known(x(row))
        return None if _compared("eq", value, _known(y(row))) is True else value

    return run


# --- comparing --------------------------------------------------------------------------------------------------------


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float | Fraction) and not isinstance(x, bool)


def _compared(name: str, x: Any, y: Any) -> bool | None:
    """NULL for NULL, and for values that cannot be compared."""
    if x is None or y is None:
        return None
    x, y = _as_moment(x, y), _as_moment(y, x)
    alike = (_is_number(x) and _is_number(y)) or type(x) is type(y)
    if not alike or (isinstance(x, bool) and name not in ("eq", "ne")):
        return None
    try:
        return _COMPARING[name](x, y)
    except TypeError:  # times with and without a zone
        return None


def _as_moment(x: Any, beside: Any) -> Any:
    """A text beside a date or a time as one; a date beside a time as its midnight."""
    if isinstance(x, str) and isinstance(beside, date):
        day = text_to_date(x)
        if day is None and isinstance(beside, datetime):
            try:
                return datetime.fromisoformat(x)
            except ValueError:
                return x
        x = x if day is None else day
    if isinstance(beside, datetime) and isinstance(x, date) and not isinstance(x, datetime):
        return datetime.combine(x, time())
    return x


_COMPARING: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda x, y: bool(x == y),
    "ne": lambda x, y: bool(x != y),
    "lt": lambda x, y: bool(x < y),
    "le": lambda x, y: bool(x <= y),
    "gt": lambda x, y: bool(x > y),
    "ge": lambda x, y: bool(x >= y),
}

# --- numbers ----------------------------------------------------------------------------------------------------------


def _numeric(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers; NULL for anything else. Whole results of exact arithmetic are integers."""

    def run(*values: Any) -> Any:
        if not all(_is_number(value) for value in values):
            return None
        found = function(*values)
        return int(found) if isinstance(found, Fraction) and found.denominator == 1 else found

    return run


def _div(x: Any, y: Any) -> Any:
    if y == 0:
        return None
    return x / y if isinstance(x, float) or isinstance(y, float) else Fraction(x) / Fraction(y)


def _quotient(x: Any, y: Any) -> Any:
    return None if y == 0 else math.trunc(Fraction(x) / Fraction(y))


def _mod(x: Any, y: Any) -> Any:
    if y == 0:
        return None
    exact = Fraction(x) - Fraction(y) * math.trunc(Fraction(x) / Fraction(y))
    return float(exact) if isinstance(x, float) or isinstance(y, float) else exact


def _power(x: Any, n: Any) -> Any:
    return x ** int(n) if n in range(1, 9) else None


def _round(x: Any, digits: Any = 0) -> Any:
    """Halves away from zero."""
    places = int(digits)
    if places != digits or abs(places) > _MOST_DIGITS:
        return None
    step = Fraction(10) ** -places
    cells = math.floor(abs(Fraction(x)) / step + Fraction(1, 2))
    exact = cells * step if x >= 0 else -cells * step
    return float(exact) if isinstance(x, float) else exact


def _like_float(function: Callable[[Any], int], x: Any) -> Any:
    return float(function(x)) if isinstance(x, float) else function(x)


def _clamp(x: Any, low: Any, high: Any) -> Any:
    return max(low, min(x, high)) if low <= high else None


def _width_bucket(x: Any, low: Any, high: Any, buckets: Any) -> Any:
    n = int(buckets)
    if n != buckets or n < 1 or low >= high:
        return None
    share = (Fraction(x) - Fraction(low)) / (Fraction(high) - Fraction(low))
    return min(max(math.floor(share * n) + 1, 0), n + 1)


# --- text and dates ---------------------------------------------------------------------------------------------------


def _of(kinds: tuple[type | tuple[type, ...], ...], function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of values of these kinds; NULL for others."""

    def run(*values: Any) -> Any:
        fits = len(values) == len(kinds) and all(map(isinstance, values, kinds))
        return function(*values) if fits else None

    return run


def _shared(name: str, many: int) -> Callable[..., Any]:
    """The primitive of that name: released values and rows mean the same by it."""
    names = [str(i) for i in range(many)]
    run = primitive(Call(name, tuple(Column(n) for n in names)))
    return lambda *values: run(dict(zip(names, values, strict=True)))


def _text(name: str, many: int = 1) -> Callable[..., Any]:
    return _of((str,) * many, _shared(name, many))


def _ilike(x: str, pattern: str) -> Any:
    lower, like = _shared("lower", 1), _shared("like", 2)
    return like(lower(x), lower(pattern))


def _substring(x: Any, start: Any, count: Any = 1_000_000_000) -> Any:
    if not isinstance(x, str) or not (_is_number(start) and _is_number(count)):
        return None
    first, many = int(start), int(count)
    return x[first - 1 : first - 1 + many] if first == start >= 1 and many == count >= 0 else None


def _concat(*parts: Any) -> Any:
    return "".join(parts) if all(isinstance(part, str) for part in parts) else None


def _trunc_date(unit: Any, x: Any) -> Any:
    clock = isinstance(x, datetime) and unit in _CLOCK - {"second"}
    return date_trunc(unit, x) if isinstance(x, date) and (unit in _UNITS or clock) else None


def _sub(x: Any, y: Any) -> Any:
    """A difference; of two days, in days."""
    days = type(x) is date and type(y) is date
    return (x - y).days if days else _numeric(lambda a, b: a - b)(x, y)


def _date_diff(unit: Any, x: Any, y: Any) -> Any:
    """How many beginnings of the unit lie between two dates or times."""
    if not (isinstance(x, date) and isinstance(y, date)):
        return None
    x, y = _as_moment(x, y), _as_moment(y, x)
    match unit:
        case "year" | "quarter" | "month":
            per = {"year": 12, "quarter": 3, "month": 1}[unit]
            first, second = ((z.year * 12 + z.month - 1) // per for z in (x, y))
            return second - first
        case "week" | "day":
            days = [date_trunc(unit, z).toordinal() for z in (x, y)]
            return (days[1] - days[0]) // (7 if unit == "week" else 1)
        case "hour" | "minute" | "second":
            x, y = (datetime.combine(z, time()) if not isinstance(z, datetime) else z for z in (x, y))
            length = timedelta(seconds={"hour": 3600, "minute": 60, "second": 1}[unit])
            start = datetime.combine(min(x, y).date(), time())
            return (y - start) // length - (x - start) // length
        case _:
            return None


_LAZY: dict[str, Callable[[tuple[Program, ...]], Program]] = {
    "and": partial(_logic, False),
    "case": _case,
    "coalesce": _coalesce,
    "in": _in,
    "is_null": _is_null,
    "not": _not,
    "nullif": _nullif,
    "or": partial(_logic, True),
}
_STRICT: dict[str, Callable[..., Any]] = {
    **{name: partial(_compared, name) for name in _COMPARING},
    **{name: _of((date,), _shared(name, 1)) for name in ("year", "quarter", "month", "day")},
    **{name: _of((date,), _shared(name, 1)) for name in ("day_of_week", "day_of_year")},
    **{name: _of((datetime,), _shared(name, 1)) for name in _CLOCK},
    **{name: _text(name) for name in ("lower", "upper", "trim", "ltrim", "rtrim", "length")},
    **{name: _text(name, 2) for name in ("like", "starts_with", "ends_with", "contains")},
    "abs": _numeric(abs),
    "add": _numeric(lambda x, y: x + y),
    "ceil": _numeric(partial(_like_float, math.ceil)),
    "clamp": _numeric(_clamp),
    "concat": _concat,
    "date_diff": _date_diff,
    "date_trunc": _trunc_date,
    "div": _numeric(_div),
    "floor": _numeric(partial(_like_float, math.floor)),
    "greatest": _numeric(lambda *values: max(values)),
    "ilike": _of((str, str), _ilike),
    "least": _numeric(lambda *values: min(values)),
    "left": lambda x, count: _substring(x, 1, count),
    "mod": _numeric(_mod),
    "mul": _numeric(lambda x, y: x * y),
    "neg": _numeric(lambda x: -x),
    "power": _numeric(_power),
    "quotient": _numeric(_quotient),
    "round": _numeric(_round),
    "sign": _numeric(lambda x: (x > 0) - (x < 0)),
    "sub": _sub,
    "substring": _substring,
    "trunc": _numeric(partial(_like_float, math.trunc)),
    "width_bucket": _numeric(_width_bucket),
}
FUNCTIONS = frozenset({*_LAZY, *_STRICT})
"""What may be computed from released values; and ``grouping``, which is of their keys."""
