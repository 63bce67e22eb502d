"""Plain Python values as functions of released values meet them: which are known, which are alike, how they compare.

Promise: NULL (None) for whatever does not fit together; nothing here raises but what ``postprocess.py`` catches. No
number is NULL because it is large: exact numbers go on exactly, far beyond what a float holds.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from datetime import date, datetime, time
from fractions import Fraction
from typing import Any

from discreet.query.plan.evaluate import program, text_to_date
from discreet.query.plan.expressions import Call, Column

LARGEST_FLOAT = sys.float_info.max
LEAST_FLOAT = math.ulp(0.0)
SMALL_FLOAT = 1e-300
"""Below it floats lose digits, at last all of them."""
_BITS = 1 << 14
"""Beyond 2^_BITS, and below its inverse, an exact number goes on as that: it only leaves as a float anyway."""
_KEPT = 1 << 10
"""Of a fraction that is longer than 2 · _KEPT bits, so many go on."""


def value_or_null(value: Any) -> Any:
    """NaN and the infinities are NULL; a numpy number is the number that it is."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, bool):
        return value
    if isinstance(value, Fraction | int):
        return _exact(value)
    if isinstance(value, str | date):
        return value
    if hasattr(value, "item") and callable(value.item):
        return value_or_null(value.item())
    return None


def _exact(value: int | Fraction) -> int | Fraction:
    """A whole number or fraction, cut to what is computed with: 0 alone is 0, and the sign stays."""
    if isinstance(value, int):
        return value if value.bit_length() <= _BITS else (1 if value > 0 else -1) << _BITS
    size = value.numerator.bit_length() - value.denominator.bit_length()
    if abs(size) > _BITS:
        sign = 1 if value > 0 else -1
        return sign << _BITS if size > 0 else Fraction(sign, 1 << _BITS)
    if value.denominator.bit_length() <= 2 * _KEPT:
        return value
    unit = Fraction(2) ** (size - _KEPT)
    return round(value / unit) * unit


def as_float(value: float | Fraction) -> float:
    """The nearest float; beyond the largest, that one with the sign.

    >>> as_float(Fraction(1, 4)), as_float(-(10**400)) == -LARGEST_FLOAT
    (0.25, True)
    """
    try:
        return float(value)
    except OverflowError:
        return LARGEST_FLOAT if value > 0 else -LARGEST_FLOAT


def extreme(value: Any) -> bool:
    """Whether floats cannot tell a result from infinity, or from 0."""
    return isinstance(value, float) and not SMALL_FLOAT < abs(value) < math.inf


def is_number(x: Any) -> bool:
    """Whether it is a number; true and false are none."""
    return isinstance(x, int | float | Fraction) and not isinstance(x, bool)


def numeric(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers; NULL for anything else. Whole results of exact arithmetic are integers."""

    def run(*values: Any) -> Any:
        if not all(is_number(value) for value in values):
            return None
        result = function(*values)
        return int(result) if isinstance(result, Fraction) and result.denominator == 1 else result

    return run


def of(function: Callable[..., Any], *kinds: type) -> Callable[..., Any]:
    """A function of values of these kinds; NULL for others."""

    def run(*values: Any) -> Any:
        fits = len(values) == len(kinds) and all(map(isinstance, values, kinds))
        return function(*values) if fits else None

    return run


def primitive(name: str, *kinds: type) -> Callable[..., Any]:
    """The primitive of that name: released values and rows mean the same by it."""
    names = [str(i) for i in range(len(kinds))]
    run = program(Call(name, tuple(Column(n) for n in names)))
    return of(lambda *values: run(dict(zip(names, values, strict=True))), *kinds)


_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?\s*", re.ASCII)
_LONGEST_NUMBER = 60


def as_number(text: str) -> Fraction | None:
    """The number that a text says, exactly; None if it says none.

    >>> as_number("-1.50"), as_number("8 or so")
    (Fraction(-3, 2), None)
    """
    fits = len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text)
    return Fraction(text.strip()) if fits else None


def as_text(value: Any) -> str | None:
    """A released value as text: whole numbers without a point, dates as 2024-12-31, times as 2024-12-31 23:59:59."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case Fraction():
            return str(value.numerator) if value.denominator == 1 else repr(as_float(value))
        case float():
            return repr(value)
        case datetime():
            return value.isoformat(sep=" ")
        case date():
            return value.isoformat()
        case _:
            return None


def _beside(x: Any, y: Any) -> Any:
    """A text beside a number, as one."""
    return as_number(x) if isinstance(x, str) and is_number(y) else as_moment(x, y)


def compared(name: str, x: Any, y: Any) -> bool | None:
    """NULL for NULL, and for values that cannot be compared."""
    if x is None or y is None:
        return None
    x, y = _beside(x, y), _beside(y, x)
    alike = (is_number(x) and is_number(y)) or type(x) is type(y)
    if not alike or (isinstance(x, bool) and name not in ("eq", "ne")):
        return None
    try:
        return _COMPARING[name](x, y)
    except TypeError:  # times with and without a zone
        return None


def as_moment(x: Any, beside: Any) -> Any:
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
