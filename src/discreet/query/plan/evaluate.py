"""The primitives on plain Python values: what a lowered expression means, without any engine.

Typing uses it to fold constants and to carry declared keys through a function; tests hold the engines against it.
Promise: exact and total, as ``primitives.py`` says: no well-typed expression raises, whatever the row holds.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from datetime import MAXYEAR, date, datetime, time, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from discreet.query.plan.expressions import Call, Column, Expression, Literal

Row: TypeAlias = Mapping[str, Any]
Program: TypeAlias = Callable[[Row], Any]

DIGITS = 20
"""Digits after the point of a number that is read from text."""
_WIDE = Context(prec=60)
_ORDINALS = 1, date(MAXYEAR, 12, 31).toordinal()
_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_TO_LOWER, _TO_UPPER = str.maketrans(_UPPER, _LOWER), str.maketrans(_LOWER, _UPPER)
_INTEGER = re.compile("[+-]?[0-9]{1,18}")
_DECIMAL = re.compile(
    "[+-]?(?:[0-9]{1,18}(?:[.][0-9]{0,20})?|[0-9](?:[.][0-9]{0,17})?[eE](?:[+]?(?:0?[0-9]|1[0-7])|-[0-9]{1,2}))"
)
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?")


def evaluate(expression: Expression, row: Row) -> Any:
    """The value of a lowered expression on one row.

    >>> evaluate(Call("floor_div", (Column("x"), Literal(10))), {"x": -1})
    -1
    >>> evaluate(Call("or", (Literal(None), Literal(True))), {})
    True
    """
    return program(expression)(row)


def program(expression: Expression) -> Program:
    """The expression as a function of a row: for many rows, built once."""
    match expression:
        case Column(name=name):
            return lambda row: row[name]
        case Literal(value=value):
            return lambda row: value
        case Call(function=function, arguments=arguments):
            parts = tuple(program(a) for a in arguments)
            if function in _LAZY:
                return _LAZY[function](parts)
            return _strict(_STRICT[function], parts)
    raise TypeError("not an expression")


def _strict(function: Callable[..., Any], parts: tuple[Program, ...]) -> Program:
    """NULL if an argument is. One and two arguments are by far the most frequent, so they are written out."""
    if len(parts) == 1:
        (argument,) = parts

        def unary(row: Row) -> Any:
            x = argument(row)
            return None if x is None else function(x)

        return unary
    if len(parts) == 2:
        first, second = parts

        def binary(row: Row) -> Any:
            x = first(row)
            y = second(row)
            return None if x is None or y is None else function(x, y)

        return binary

    def any_number(row: Row) -> Any:
        values = [part(row) for part in parts]
        return None if any(v is None for v in values) else function(*values)

    return any_number


# --- not strict -----------------------------------------------------------------------------------------------------


def _is_null(parts: tuple[Program, ...]) -> Program:
    (x,) = parts
    return lambda row: x(row) is None


def _and(parts: tuple[Program, ...]) -> Program:
    def run(row: Row) -> Any:
        result: bool | None = True
        for part in parts:
            value = part(row)
            if value is False:
                return False
            if value is None:
                result = None
        return result

    return run


def _or(parts: tuple[Program, ...]) -> Program:
    def run(row: Row) -> Any:
        result: bool | None = False
        for part in parts:
            value = part(row)
            if value is True:
                return True
            if value is None:
                result = None
        return result

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
            value = part(row)
            if value is not None:
                return value
        return None

    return run


_LAZY: dict[str, Callable[[tuple[Program, ...]], Program]] = {
    "is_null": _is_null,
    "and": _and,
    "or": _or,
    "case": _case,
    "coalesce": _coalesce,
}


# --- integers -------------------------------------------------------------------------------------------------------


def _clamp(x: int, low: int, high: int) -> int:
    return low if x < low else min(x, high)


def _read_decimal(x: Decimal | int, scale: int, low: int, high: int) -> int:
    return _clamp(int(Fraction(x) * 10**scale), low, high)


def _read_coarse(x: Decimal | int, scale: int, power: int, low: int, high: int) -> int:
    whole = round_div(int(Fraction(x) * 10**scale), 10 ** (scale + min(power, 0)))
    return _clamp(_div(whole, 10 ** max(power, 0)) or 0, low, high)


def _read_real(x: float, exponent: int, low: int, high: int) -> int | None:
    if math.isnan(x):
        return None
    if math.isinf(x):
        return high if x > 0 else low
    return _clamp(math.floor(Fraction(x) / Fraction(2) ** exponent + Fraction(1, 2)), low, high)


def _read_whole(x: float) -> int | None:
    return int(x) if abs(x) < 1 << 53 and x == int(x) else None  # NaN is not below


def _div(x: int, y: int) -> int | None:
    if y == 0:
        return None
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _mod(x: int, y: int) -> int | None:
    if y == 0:
        return None
    remainder = abs(x) % abs(y)
    return -remainder if x < 0 else remainder


def round_div(x: int, n: int) -> int:
    """x / n, halves away from zero.

    >>> round_div(5, 2), round_div(-5, 2), round_div(4, 3)
    (3, -3, 1)
    """
    rounded = (2 * abs(x) + n) // (2 * n)
    return -rounded if x < 0 else rounded


def _curve(x: int, *pieces: int) -> int:
    at = 6 * (bisect_right(pieces[::6], x) - 1)
    start, value, slope, bend, divisor, by = pieces[at : at + 6]
    i = (x - start) // by
    return value + i * (slope - bend * i) // divisor


# --- text -----------------------------------------------------------------------------------------------------------


def like(x: str, pattern: str) -> bool:
    """The classic two pointers: never more than len(x) * len(pattern) steps, whatever the pattern."""
    i = j = 0
    star, mark = -1, 0
    while i < len(x):
        if j < len(pattern) and pattern[j] == "%":
            star, mark = j, i
            j += 1
        elif j < len(pattern) and pattern[j] in ("_", x[i]):
            i, j = i + 1, j + 1
        elif star >= 0:
            mark += 1
            i, j = mark, star + 1
        else:
            return False
    return all(c == "%" for c in pattern[j:])


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern in the normal form of ``functions/pattern_parts.py``; its last $ is the end of all of the text."""
    return re.compile(re.sub(r"\$\Z", r"\\Z", pattern), re.DOTALL)


def _regexp_extract(x: str, pattern: str) -> str:
    match = _compiled(pattern).search(x)
    return "" if match is None else match[1] or ""


def _regexp_replace(x: str, pattern: str, new: str, every: bool) -> str:
    return _compiled(pattern).sub(new, x, count=0 if every else 1)


def _text_to_integer(x: str) -> int | None:
    return int(x) if _INTEGER.fullmatch(x) else None


def _text_to_decimal(x: str) -> Decimal | None:
    if not _DECIMAL.fullmatch(x):
        return None
    exact = Fraction(x)
    cells = round_div(exact.numerator * 10**DIGITS, exact.denominator)
    return Decimal(cells).scaleb(-DIGITS, _WIDE)


def _text_to_timestamp(x: str) -> datetime | None:
    read = text_to_moment(x)
    return read if read is None or isinstance(read, datetime) else datetime.combine(read, time())


def text_to_date(x: str) -> date | None:
    """A day written YYYY-MM-DD, or None."""
    if not _DATE.fullmatch(x):
        return None
    try:
        return date.fromisoformat(x)
    except ValueError:
        return None


def text_to_moment(x: str) -> date | None:
    """A day written YYYY-MM-DD, or a time YYYY-MM-DD HH:MM, with seconds and up to six digits of them; or None."""
    day = text_to_date(x)
    if day is not None or not _MOMENT.fullmatch(x):
        return day
    try:
        return datetime.fromisoformat(x)
    except ValueError:
        return None


def is_plain_text(x: str) -> bool:
    """Whether every engine can hold it: no NUL character, no half of a surrogate pair."""
    return "\0" not in x and not any("\ud800" <= c <= "\udfff" for c in x)


# --- dates and times ------------------------------------------------------------------------------------------------


def date_trunc(unit: str, x: date) -> date:
    """The beginning of the unit that holds x; a time gives a time, a date a date."""
    if isinstance(x, datetime):
        match unit:
            case "hour":
                return x.replace(minute=0, second=0, microsecond=0)
            case "minute":
                return x.replace(second=0, microsecond=0)
            case _:
                return datetime.combine(date_trunc(unit, x.date()), time())
    match unit:
        case "year":
            return x.replace(month=1, day=1)
        case "quarter":
            return x.replace(month=x.month - (x.month - 1) % 3, day=1)
        case "month":
            return x.replace(day=1)
        case "week":
            return date.fromordinal(x.toordinal() - x.weekday())  # year 1 began on a Monday
        case _:
            return x


def add_days(x: date, n: int) -> date:
    """n days later, within years 1 to 9999."""
    return date.fromordinal(_clamp(x.toordinal() + n, *_ORDINALS))


def add_seconds(x: datetime, n: int) -> datetime:
    """n seconds later, within years 1 to 9999."""
    try:
        return x + timedelta(seconds=n)
    except OverflowError:
        return datetime.max if n > 0 else datetime.min


def _seconds_between(x: datetime, y: datetime) -> int:
    seconds = abs(y - x) // timedelta(seconds=1)
    return seconds if y >= x else -seconds


def _same(x: Any) -> Any:
    return x


_STRICT: dict[str, Callable[..., Any]] = {
    "read_integer": _clamp,
    "read_decimal": _read_decimal,
    "read_coarse": _read_coarse,
    "read_real": _read_real,
    "read_whole": _read_whole,
    "read_text": _same,
    "read_boolean": _same,
    "read_date": _same,
    "read_timestamp": _same,
    "read_float": _same,
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "neg": lambda x: -x,
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "least": min,
    "greatest": max,
    "div": _div,
    "mod": _mod,
    "round_div": round_div,
    "floor_div": lambda x, n: x // n,
    "ceil_div": lambda x, n: -(-x // n),
    "root": math.isqrt,
    "curve": _curve,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "in": lambda x, *listed: x in listed,
    "not": lambda x: not x,
    "like": like,
    "lower": lambda x: x.translate(_TO_LOWER),
    "upper": lambda x: x.translate(_TO_UPPER),
    "trim": lambda x: x.strip(" "),
    "ltrim": lambda x: x.lstrip(" "),
    "rtrim": lambda x: x.rstrip(" "),
    "length": len,
    "substring": lambda x, start, count: x[start - 1 : start - 1 + count],
    "split_part": lambda x, separator, n: (x.split(separator) + [""] * n)[n - 1],
    "right": lambda x, count: x[max(len(x) - count, 0) :],
    "replace": lambda x, old, new: x.replace(old, new),
    "regexp_extract": _regexp_extract,
    "regexp_replace": _regexp_replace,
    "concat": lambda *x: "".join(x),
    "starts_with": lambda x, part: x.startswith(part),
    "ends_with": lambda x, part: x.endswith(part),
    "contains": lambda x, part: part in x,
    "text_to_integer": _text_to_integer,
    "integer_to_text": str,
    "date_to_text": lambda x: x.isoformat(),
    "boolean_to_integer": int,
    "text_to_decimal": _text_to_decimal,
    "text_to_date": text_to_date,
    "text_to_timestamp": _text_to_timestamp,
    "timestamp_to_date": lambda x: x.date(),
    "date_to_timestamp": lambda x: datetime.combine(x, time()),
    "year": lambda x: x.year,
    "quarter": lambda x: (x.month - 1) // 3 + 1,
    "month": lambda x: x.month,
    "day": lambda x: x.day,
    "day_of_week": lambda x: x.isoweekday(),
    "day_of_year": lambda x: x.timetuple().tm_yday,
    "hour": lambda x: x.hour,
    "minute": lambda x: x.minute,
    "second": lambda x: x.second,
    "date_trunc": date_trunc,
    "days_between": lambda x, y: y.toordinal() - x.toordinal(),
    "add_days": add_days,
    "seconds_between": _seconds_between,
    "add_seconds": add_seconds,
}
NAMES = frozenset({*_LAZY, *_STRICT})
"""All primitives."""
