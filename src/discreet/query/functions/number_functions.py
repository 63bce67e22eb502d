"""The functions of numbers, one record each; ``arithmetic.py`` has their type rules."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import partial, reduce
from typing import Any

from discreet.query.functions import arithmetic, curves, dates, durations
from discreet.query.functions.arithmetic import call
from discreet.query.functions.comparison import unify
from discreet.query.functions.record import ATOM, FACTOR, TERM, Build, Function, Reading, T, placed
from discreet.query.functions.released_values import (
    LARGEST_FLOAT,
    LEAST_FLOAT,
    as_float,
    as_moment,
    compared,
    is_number,
    numeric,
)
from discreet.query.functions.typed_values import Typed, expect
from discreet.query.plan.evaluate import add_days
from discreet.query.plan.expressions import Literal
from discreet.query.plan.types import Date, Number, Seconds, Temporal, Text

_MOST_DIGITS = 400


def _add(x: Typed, y: Typed) -> Typed:
    """A sum; of a date and a number of days, a date."""
    if isinstance(y.kind, Date) and isinstance(x.kind, Number):
        x, y = y, x
    if isinstance(x.kind, Seconds) or isinstance(y.kind, Seconds):
        return durations.total("add", x, y)
    return dates.later(x, y) if isinstance(x.kind, Date) else arithmetic.add(x, y)


def _sub(x: Typed, y: Typed) -> Typed:
    """A difference; of two dates in days, of a date and a number of days a date."""
    if isinstance(x.kind, Date) and isinstance(y.kind, Date):
        return dates.days_between(y, x)
    if isinstance(x.kind, Seconds) or isinstance(y.kind, Seconds):
        return durations.total("sub", x, y)
    if isinstance(x.kind, Temporal) and isinstance(y.kind, Temporal):
        return durations.difference(x, y)
    return dates.later(x, y, sign=-1) if isinstance(x.kind, Date) else arithmetic.sub(x, y)


def _clamp(x: Typed, low: Typed, high: Typed) -> Typed:
    if isinstance(x.kind, Temporal):
        return dates.clamp_date(x, low, high)
    return arithmetic.clamp(x, low, high)


def _outermost(name: str, *parts: Typed) -> Typed:
    """LEAST, GREATEST: of numbers, or of text, dates or times."""
    ordered = (Text, Temporal)
    if not any(isinstance(x.kind, ordered) for x in parts):
        return (arithmetic.least if name == "least" else arithmetic.greatest)(*parts)
    for x in parts:
        expect(x, ordered, name.upper(), "text, dates or times, as beside it")
    _, unified = unify(parts, name.upper())
    pick, kind = (min, max)[name == "greatest"], unified[0].kind
    if isinstance(kind, Temporal):
        ends = (pick(x.kind.low for x in unified), pick(x.kind.high for x in unified))  # type: ignore[union-attr]
        kind = type(kind)(*ends)  # type: ignore[arg-type]
    lowered = reduce(lambda a, b: call(name, a, b), [x.lowered for x in unified])
    return Typed(kind, any(x.nullable for x in unified), lowered=lowered)


# --- on plain values --------------------------------------------------------------------------------------------------


def _divided(x: Any, y: Any) -> Any:
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
    """Exact for small whole powers; otherwise a float, or NULL where there is no real number."""
    if n in range(1, 9):
        return x ** int(n)
    if x == 0 or (x < 0 and n != int(n)):
        return None if x != 0 or n < 0 else float(n == 0)
    size = _exponential(as_float(n) * _of_any_size(math.log, abs(x)))
    with suppress(ArithmeticError):
        size = abs(float(x)) ** float(n) or size
    return -size if x < 0 and int(n) % 2 else size


def _exponential(x: Any) -> float:
    """e to the power of x, within the floats: never 0, nor infinite."""
    try:
        return max(math.exp(as_float(x)), LEAST_FLOAT)
    except OverflowError:
        return LARGEST_FLOAT


def _of_any_size(logarithm: Callable[[Any], float], x: Any) -> float:
    """The logarithm of a number above 0 that need not fit into a float."""
    if _LEAST <= x <= LARGEST_FLOAT:
        return logarithm(x)
    exact = Fraction(x)
    return logarithm(exact.numerator) - logarithm(exact.denominator)


def _root(x: Any) -> Any:
    """The root of a number from 0 on that need not fit into a float."""
    if x == 0 or _LEAST <= x <= LARGEST_FLOAT:
        return math.sqrt(x)
    exact = Fraction(x)
    return Fraction(math.isqrt(exact.numerator << _ROOT_BITS), math.isqrt(exact.denominator << _ROOT_BITS))


_LEAST, _ROOT_BITS = sys.float_info.min, 256


def _logarithm(function: Callable[[Any], float]) -> Callable[..., Any]:
    """A logarithm; NULL from 0 down."""
    return numeric(lambda x: _of_any_size(function, x) if x > 0 else None)


def _round(x: Any, digits: Any = 0) -> Any:
    """Halves away from zero. No float has more digits than the most that are looked at."""
    places = min(max(math.trunc(digits), -_MOST_DIGITS), _MOST_DIGITS)
    step = Fraction(10) ** -places
    cells = math.floor(abs(Fraction(x)) / step + Fraction(1, 2))
    exact = cells * step if x >= 0 else -cells * step
    return float(exact) if isinstance(x, float) else exact


def _whole(function: Callable[[Any], int]) -> Callable[..., Any]:
    return numeric(lambda x: float(function(x)) if isinstance(x, float) else function(x))


def _width_bucket(x: Any, low: Any, high: Any, buckets: Any) -> Any:
    n = int(buckets)
    if n != buckets or n < 1 or low >= high:
        return None
    share = (Fraction(x) - Fraction(low)) / (Fraction(high) - Fraction(low))
    return min(max(math.floor(share * n) + 1, 0), n + 1)


def _total(x: Any, y: Any) -> Any:
    """A sum; of a day and a number of days, a day."""
    if type(y) is date:
        x, y = y, x
    if type(x) is date and is_number(y):
        return add_days(x, math.trunc(y)) if y == math.trunc(y) else None
    return numeric(lambda a, b: a + b)(x, y)


def _difference(x: Any, y: Any) -> Any:
    """A difference; of two days, in days; of a day and a number of days, a day."""
    if type(x) is date and type(y) is date:
        return (x - y).days
    if isinstance(x, date) and isinstance(y, date):
        x, y = as_moment(x, y), as_moment(y, x)
        return abs(x - y) // timedelta(seconds=1) * (1 if x >= y else -1)
    return _total(x, -y) if type(x) is date and is_number(y) else numeric(lambda a, b: a - b)(x, y)


def _extreme(name: str, *values: Any) -> Any:
    """The outermost of values that can be compared with each other."""
    outermost = values[0]
    for value in values[1:]:
        further = compared(name, as_moment(value, outermost), outermost)
        if further is None or isinstance(value, bool):
            return None
        outermost = as_moment(value, outermost) if further else as_moment(outermost, value)
    return None if isinstance(outermost, bool) else outermost


# --- records ----------------------------------------------------------------------------------------------------------

_Operator = partial(Function, arguments=(2, 2), sql=())
NUMBERS = (
    _Operator("add", "x + y", "The sum; of a date and an integer, so many days later.", _add, ("2 + 0.5", 2.5),
              meaning=_total, sign=("+", TERM), method="__add__"),
    _Operator("sub", "x - y",
              "The difference; of two dates in days, of two times a duration; of a date and a number, days earlier.",
              _sub, ("2 - 0.5", 1.5), meaning=_difference, sign=("-", TERM), method="__sub__"),
    _Operator("mul", "x * y", "The product.", arithmetic.mul, ("2 * 0.5", 1),
              meaning=numeric(lambda x, y: x * y), sign=("*", FACTOR), method="__mul__"),
    _Operator("div", "x / y", "The quotient; NULL where y is 0.", arithmetic.div, ("1 / 4", 0.25),
              meaning=numeric(_divided), sign=("/", FACTOR), method="__truediv__"),
    _Operator("quotient", "x // y", "The whole quotient, towards zero; NULL where y is 0.", arithmetic.quotient,
              ("-7 // 2", -3), meaning=numeric(_quotient), sign=("//", FACTOR), method="__floordiv__"),
    _Operator("mod", "x % y", "What the whole quotient leaves over, with the sign of x.", arithmetic.mod,
              ("-7 % 2", -1), meaning=numeric(_mod), sql=("mod",), sign=("%", FACTOR), method="__mod__"),
    Function("neg", "-x", "With the other sign.", arithmetic.neg, ("-(2 + 1)", -3), meaning=numeric(lambda x: -x),
             sql=(), form=lambda _, inside: (f"-{placed(ATOM, inside[0])}", FACTOR), method="__neg__"),
    _Operator("power", "POWER(x, n)",
              "x to a constant power, or a constant above 0 to the power of x; exact for whole powers from 1 to 8.",
              curves.power, ("POWER(2, 3)", 8), meaning=numeric(_power), sql=("power", "pow"), method="__pow__",
              more=(("POWER(4, 1.5)", 8), ("POWER(2, -2)", 0.25), ("POWER(2.5, 0)", 1), ("POWER(49, 0.5)", 7))),
    Function("sqrt", "SQRT(x)", "The root, down to its step; NULL below 0.", curves.square_root, ("SQRT(49)", 7),
             meaning=numeric(lambda x: _root(x) if x >= 0 else None), method="sqrt()",
             more=(("SQRT(0)", 0), ("SQRT(0.25)", 0.5))),
    Function("ln", "LN(x)", "The natural logarithm; NULL from 0 down.", curves.natural_logarithm, ("LN(1)", 0),
             meaning=_logarithm(math.log), method="ln()"),
    Function("log10", "LOG10(x)", "The logarithm to base 10; NULL from 0 down.", partial(curves.logarithm, 10),
             ("LOG10(1000)", 3), meaning=_logarithm(math.log10), method="log10()", more=(("LOG10(0.01)", -2),)),
    Function("log2", "LOG2(x)", "The logarithm to base 2; NULL from 0 down.", partial(curves.logarithm, 2),
             ("LOG2(8)", 3), meaning=_logarithm(math.log2), method="log2()"),
    Function("exp", "EXP(x)", "e to the power of x.", curves.exponential, ("EXP(0)", 1), meaning=numeric(_exponential),
             method="exp()"),
    Function("abs", "ABS(x)", "Without its sign.", arithmetic.absolute, ("ABS(-3)", 3), meaning=numeric(abs),
             method="abs()"),
    Function("sign", "SIGN(x)", "-1, 0 or 1.", arithmetic.sign, ("SIGN(-3)", -1),
             meaning=numeric(lambda x: (x > 0) - (x < 0)), method="sign()"),
    Function("least", "LEAST(x, y, ...)", "The least of numbers, texts, dates or times; NULL if one is NULL.",
             partial(_outermost, "least"), ("LEAST(3, 1, 2)", 1), (1, None), partial(_extreme, "lt"),
             method="least(*others: Self | Plain)",
             more=(("LEAST('b', 'a ', 'a')", "a"), ("LEAST(DATE '2024-01-02', DATE '2024-01-01')", date(2024, 1, 1)))),
    Function("greatest", "GREATEST(x, y, ...)", "The greatest of numbers, texts, dates or times; NULL if one is NULL.",
             partial(_outermost, "greatest"), ("GREATEST(3, 1, 2)", 3), (1, None), partial(_extreme, "gt"),
             method="greatest(*others: Self | Plain)",
             more=(("GREATEST('b', 'B')", "b"),
                   ("GREATEST(DATE '2024-01-02', TIMESTAMP '2024-01-01 12:00')", datetime(2024, 1, 2)))),
    Function("round", "ROUND(x, digits)", "Rounded to so many digits after the point; halves away from zero.",
             arithmetic.rounded, ("ROUND(2.25, 1)", 2.3), (1, 2), numeric(_round),
             method="round(digits: int | None = None)"),
    Function("floor", "FLOOR(x)", "The largest integer that is not above it.", arithmetic.floored,
             ("FLOOR(-0.5)", -1), meaning=_whole(math.floor), method="floor()"),
    Function("ceil", "CEIL(x)", "The smallest integer that is not below it.", arithmetic.ceiled,
             ("CEIL(-0.5)", 0), meaning=_whole(math.ceil), sql=("ceil", "ceiling"), method="ceil()"),
    Function("trunc", "TRUNC(x)", "The integer next to it towards zero.", arithmetic.truncated,
             ("TRUNC(-1.5)", -1), meaning=_whole(math.trunc), sql=("trunc", "truncate"), method="truncate()"),
    Function("clamp", "CLAMP(x, low, high)", "Beyond the constant bounds, the nearest of them.", _clamp,
             ("CLAMP(7, 0, 5)", 5), (3, 3),
             numeric(lambda x, low, high: max(low, min(x, high)) if low <= high else None),
             method="clamp(low: Plain, high: Plain)"),
    Function("width_bucket", "WIDTH_BUCKET(x, low, high, n)",
             "The number of its bucket among n of equal width, from 1; 0 below them, n + 1 above.",
             arithmetic.width_bucket, ("WIDTH_BUCKET(7, 0, 10, 5)", 4), (4, 4), numeric(_width_bucket),
             method="bucket(low: Plain, high: Plain, buckets: int)"),
)  # fmt: skip


def _log(apply: Build[T], x: T, y: T | None = None) -> T:
    """LOG(x) is of base 10, as in PostgreSQL and DuckDB; in LOG(b, x) the base comes first."""
    base = x.value if isinstance(x, Literal) else None
    if y is None:
        return apply("log10", x)
    if base in (2, 10):
        return apply(f"log{base}", y)
    return apply("div", apply("ln", y), apply("ln", x))


def _or_zero(apply: Build[T], x: T, y: T) -> T:
    zero = Literal(Fraction(0))
    return apply("case", apply("eq", y, zero), zero, apply("div", x, y))


NUMBER_READINGS = {
    "log": Reading("LOG(x), LOG(b, x)", "LOG10(x); with a base before it, LN(x) / LN(b).", (1, 2), _log),
    "div0": Reading("DIV0(x, y)", "x / y, and 0 where y is 0.", (2, 2), _or_zero),
    "zeroifnull": Reading(
        "ZEROIFNULL(x)", "COALESCE(x, 0).", (1, 1), lambda apply, x: apply("coalesce", x, Literal(Fraction(0)))
    ),
    "safe_divide": Reading("SAFE_DIVIDE(x, y)", "x / y.", (2, 2), lambda apply, x, y: apply("div", x, y)),
}
