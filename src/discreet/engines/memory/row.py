"""The primitives on one row, in plain Python: each line follows ``plan/primitives.py``; clarity before speed.

Promise: this is the meaning. It shares no code with the typing of questions or with any other engine, so that the
three can be held against each other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from functools import reduce
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from discreet.query.plan.expressions import Call, Column, Expression, Literal

Row = Mapping[str, Any]

DAY_ONE = date.min
SECOND = timedelta(seconds=1)
SMALL = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
LARGE = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")


def evaluate(expression: Expression, row: Row) -> Any:
    """The value of a lowered expression on one row.

    >>> evaluate(Call("div", (Column("x"), Literal(2))), {"x": -7})
    -3
    >>> evaluate(Call("and", (Literal(None), Literal(False))), {})
    False
    """
    match expression:
        case Column(name):
            return row[name]
        case Literal(value):
            return value
        case Call("is_null", (x,)):
            return evaluate(x, row) is None
        case Call("coalesce", arguments):
            return next((v for v in (evaluate(a, row) for a in arguments) if v is not None), None)
        case Call("case", arguments):
            pairs, otherwise = zip(arguments[:-1:2], arguments[1:-1:2], strict=True), arguments[-1]
            return evaluate(next((then for when, then in pairs if evaluate(when, row) is True), otherwise), row)
        case Call("and", arguments):
            values = [evaluate(a, row) for a in arguments]
            return False if False in values else None if None in values else True
        case Call("or", arguments):
            values = [evaluate(a, row) for a in arguments]
            return True if True in values else None if None in values else False
        case Call(function, arguments):
            values = [evaluate(a, row) for a in arguments]
            return None if any(v is None for v in values) else STRICT[function](*values)


# --- reading --------------------------------------------------------------------------------------------------------


def clamp(x: int, low: int, high: int) -> int:
    """The nearest integer of low to high."""
    return min(max(x, low), high)


def read_decimal(x: Decimal | int, scale: int, low: int, high: int) -> int:
    """The cells of a stored decimal; what has more digits than its type says is no decimal of that type."""
    cells = Fraction(x) * 10**scale
    if cells.denominator != 1:
        raise ValueError("more digits than the column has")
    return clamp(cells.numerator, low, high)


def read_coarse(x: Decimal | int, scale: int, power: int, low: int, high: int) -> int:
    """The cells of 10^power of a stored integer or decimal, that of ``scale`` digits: see ``plan/primitives.py``."""
    stored = read_decimal(x, scale, -(10**39), 10**39)
    if power <= 0:
        return clamp(round_div(stored, 10 ** (scale + power)), low, high)
    return clamp(div(round_div(stored, 10**scale), 10**power) or 0, low, high)


def read_real(x: float, exponent: int, low: int, high: int) -> int | None:
    """The nearest cell of width 2^exponent, halves up, computed exactly."""
    if math.isnan(x):
        return None
    if math.isinf(x):
        return high if x > 0 else low
    return clamp(math.floor(Fraction(x) / Fraction(2) ** exponent + Fraction(1, 2)), low, high)


def read_whole(x: float) -> int | None:
    """The whole number, if every one of its size is a float of its own; None for all else."""
    return int(x) if x.is_integer() and -(2**53) < x < 2**53 else None


# --- integers -------------------------------------------------------------------------------------------------------


def div(x: int, y: int) -> int | None:
    """x / y towards zero."""
    if y == 0:
        return None
    return abs(x) // abs(y) if (x < 0) == (y < 0) else -(abs(x) // abs(y))


def mod(x: int, y: int) -> int | None:
    """What ``div`` leaves over."""
    whole = div(x, y)
    return None if whole is None else x - whole * y


def round_div(x: int, n: int) -> int:
    """x / n to the nearest integer, halves away from zero."""
    size = (2 * abs(x) + n) // (2 * n)
    return size if x >= 0 else -size


def root(x: int) -> int:
    """The largest integer whose square is not above x, found by halving."""
    low, high = 0, 1 << 31
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle * middle <= x else (low, middle)
    return low


def curve(x: int, *literals: int) -> int:
    """The last piece that starts at x or before it."""
    pieces = [literals[i : i + 6] for i in range(0, len(literals), 6)]
    start, value, a, b, d, n = [piece for piece in pieces if piece[0] <= x][-1]
    i = (x - start) // n
    return value + (i * (a - b * i)) // d


# --- text -----------------------------------------------------------------------------------------------------------


def like(x: str, pattern: str) -> bool:
    """Whether the whole text fits: % is any text, _ is one code point, all else is itself."""
    parts = {"%": ".*", "_": "."}
    return re.fullmatch("".join(parts.get(c, re.escape(c)) for c in pattern), x, re.DOTALL) is not None


def split_part(x: str, separator: str, n: int) -> str:
    """What lies between the separators number n - 1 and n."""
    for _ in range(n - 1):
        _, separated, x = x.partition(separator)
        if not separated:
            return ""
    return x.partition(separator)[0]


def right(x: str, count: int) -> str:
    """The last characters, in order."""
    return x[::-1][:count][::-1]


def replaced(x: str, old: str, new: str) -> str:
    """What lies between the old ones, with the new one between."""
    parts = []
    while old in x:
        before, _, x = x.partition(old)
        parts.append(before)
    return new.join([*parts, x])


def first_match(x: str, pattern: str, begin: int = 0) -> re.Match[str] | None:
    """The match that begins first, and of those the longest: every part of the text is tried."""
    body = re.compile(pattern.removeprefix("^").removesuffix("$"), re.DOTALL)
    at = re.compile(body.pattern.replace("(?:^|", "(?:\\A|", 1).replace("(^|", "(\\A|", 1), re.DOTALL)
    for start in range(begin, 1 if pattern.startswith("^") else len(x) + 1):
        for end in (len(x),) if pattern.endswith("$") else range(len(x), start - 1, -1):
            if match := at.fullmatch(x, start, end):
                return match
    return None


def regexp_extract(x: str, pattern: str) -> str:
    """The capture of the first match."""
    match = first_match(x, pattern)
    return (match[1] or "") if match else ""


def regexp_replace(x: str, pattern: str, new: str, every: bool) -> str:
    """Match by match, from the left."""
    made, begin = "", 0
    while match := first_match(x, pattern, begin):
        captures = [capture or "" for capture in match.groups()]
        pieces = re.findall(r"\\(\d)|\\(\\)|([^\\]+)", new)
        text = "".join(captures[int(place) - 1] if place else mark + plain for place, mark, plain in pieces)
        made, begin = made + x[begin : match.start()] + text, match.end()
        if not every:
            break
    return made + x[begin:]


def text_to_integer(x: str) -> int | None:
    """The whole text as a decimal integer of up to 18 digits."""
    return int(x) if re.fullmatch("[+-]?[0-9]{1,18}", x) else None


def text_to_decimal(x: str) -> Decimal | None:
    """The whole text as a number, in plain notation or with an exponent; 20 digits after the point."""
    plain, short = r"[+-]?[0-9]{1,18}(\.[0-9]{0,20})?", r"[+-]?[0-9](\.[0-9]{0,17})?[eE][+-]?[0-9]{1,2}"
    if not re.fullmatch(plain, x) and not (re.fullmatch(short, x) and int(re.split("[eE]", x)[1]) <= 17):
        return None
    with localcontext(prec=150):
        return Decimal(x).quantize(Decimal(1).scaleb(-20), ROUND_HALF_UP)


def text_to_timestamp(x: str) -> datetime | None:
    """The whole text as YYYY-MM-DD, or with a time."""
    day = text_to_date(x[:10])
    clock = re.fullmatch(r"(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?)?", x[10:])
    if day is None or clock is None:
        return None
    digits = zip(clock.groups(), (2, 2, 2, 6), strict=True)
    hour, minute, second, part = (int((text or "0").ljust(width, "0")) for text, width in digits)
    return None if hour > 23 or minute > 59 or second > 59 else datetime.combine(day, time(hour, minute, second, part))


def text_to_date(x: str) -> date | None:
    """The whole text as YYYY-MM-DD."""
    if not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", x):
        return None
    try:
        return date(int(x[:4]), int(x[5:7]), int(x[8:]))
    except ValueError:  # no such day
        return None


# --- dates and times ------------------------------------------------------------------------------------------------


def date_trunc(unit: str, x: date) -> date:
    """The start of the year, ..., minute in which x lies: a day if x is a day, a moment if x is a moment."""
    clock = time()
    if isinstance(x, datetime):
        clock = {"hour": time(x.hour), "minute": time(x.hour, x.minute)}.get(unit, clock)
    elif unit in ("hour", "minute"):
        raise ValueError("a day has no hours")
    starts = {
        "year": date(x.year, 1, 1),
        "quarter": date(x.year, 3 * (quarter(x) - 1) + 1, 1),
        "month": date(x.year, x.month, 1),
        "week": date.fromordinal(x.toordinal() - x.weekday()),
    }
    day = starts.get(unit, date.fromordinal(x.toordinal()))
    return datetime.combine(day, clock) if isinstance(x, datetime) else day


def quarter(x: date) -> int:
    """1 to 4."""
    return (x.month + 2) // 3


def add_days(x: date, n: int) -> date:
    """The day n days later, in years 1 to 9999."""
    return date.fromordinal(clamp(x.toordinal() + n, DAY_ONE.toordinal(), date.max.toordinal()))


def seconds_between(x: datetime, y: datetime) -> int:
    """Whole seconds from x to y, towards zero."""
    return (y - x) // SECOND if y >= x else -((x - y) // SECOND)


def add_seconds(x: datetime, n: int) -> datetime:
    """The moment n seconds later; the last or first one where there is none."""
    if n > 0:
        return x + n * SECOND if (datetime.max - x) // SECOND >= n else datetime.max
    return x + n * SECOND if (x - datetime.min) // SECOND >= -n else datetime.min


STRICT: dict[str, Callable[..., Any]] = {
    # reading; moments were already made UTC and days put into range by whoever opened the source
    "read_integer": clamp,
    "read_decimal": read_decimal,
    "read_coarse": read_coarse,
    "read_real": read_real,
    "read_whole": read_whole,
    "read_text": lambda x: x,
    "read_boolean": lambda x: x,
    "read_date": lambda x: x,
    "read_timestamp": lambda x: x,
    "read_float": lambda x: x,
    # integers
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "neg": lambda x: -x,
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "least": min,
    "greatest": max,
    "div": div,
    "mod": mod,
    "round_div": round_div,
    "floor_div": lambda x, n: x // n,
    "ceil_div": lambda x, n: -(-x // n),
    "root": root,
    "curve": curve,
    # comparing and logic
    "eq": eq,
    "ne": ne,
    "lt": lt,
    "le": le,
    "gt": gt,
    "ge": ge,
    "in": lambda x, *literals: x in literals,
    "not": lambda x: not x,
    # text
    "like": like,
    "lower": lambda x: x.translate(SMALL),
    "upper": lambda x: x.translate(LARGE),
    "trim": lambda x: x.strip(" "),
    "ltrim": lambda x: x.lstrip(" "),
    "rtrim": lambda x: x.rstrip(" "),
    "length": len,
    "substring": lambda x, start, count: x[start - 1 : start - 1 + count],
    "split_part": split_part,
    "right": right,
    "replace": replaced,
    "regexp_extract": regexp_extract,
    "regexp_replace": regexp_replace,
    "concat": lambda *x: reduce(str.__add__, x),
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": lambda x, part: part in x,
    # turning
    "text_to_integer": text_to_integer,
    "integer_to_text": str,
    "date_to_text": lambda x: x.isoformat(),
    "boolean_to_integer": int,
    "text_to_decimal": text_to_decimal,
    "text_to_date": text_to_date,
    "text_to_timestamp": text_to_timestamp,
    "timestamp_to_date": lambda x: x.date(),
    "date_to_timestamp": lambda x: datetime.combine(x, time()),
    # dates
    "year": lambda x: x.year,
    "quarter": quarter,
    "month": lambda x: x.month,
    "day": lambda x: x.day,
    "day_of_week": lambda x: x.isoweekday(),
    "day_of_year": lambda x: x.toordinal() - date(x.year, 1, 1).toordinal() + 1,
    "hour": lambda x: x.hour,
    "minute": lambda x: x.minute,
    "second": lambda x: x.second,
    "date_trunc": date_trunc,
    "days_between": lambda x, y: y.toordinal() - x.toordinal(),
    "add_days": add_days,
    "seconds_between": seconds_between,
    "add_seconds": add_seconds,
}
