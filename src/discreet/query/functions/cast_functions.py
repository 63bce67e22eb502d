"""Casts, one record each. All of them are tries: what does not fit is NULL."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime, time
from fractions import Fraction
from typing import Any

from discreet.errors import Unsupported
from discreet.query.functions import arithmetic, dates, times_of_day
from discreet.query.functions.arithmetic import call, made
from discreet.query.functions.comparison import as_integer, as_timestamp, truth_of
from discreet.query.functions.record import ATOM, Arguments, Form, Function, Written
from discreet.query.functions.released_values import as_text, primitive
from discreet.query.functions.typed_values import Typed, bound, integer_literal, is_null_literal, plain, refuse, words
from discreet.query.plan.expressions import Call, Literal
from discreet.query.plan.types import LARGEST, Boolean, Date, Number, Real, Temporal, Text, TimeOfDay, Timestamp

_DIGITS = 17
"""So many digits, and one more to round by, are cells below 2^62."""

# --- type rules -------------------------------------------------------------------------------------------------------


def _no_cast(x: Typed, target: str) -> Typed:
    if is_null_literal(x):
        refuse(f"CAST of NULL AS {target} is always NULL; leave it out")
    if isinstance(x.kind, Real):
        refuse(f"CAST AS {target} needs a number with bounds", bound(x))
    hint = "compare it, or aggregate it as it is"
    if isinstance(x.kind, Text):
        hint = "CAST(x AS BIGINT), CAST(x AS DECIMAL(10, 2)) and CAST(x AS DATE) read text"
    raise Unsupported(f"CAST of {words(x)} AS {target}", hint)


def _cast_integer(x: Typed) -> Typed:
    match x.kind:
        case Text() if not is_null_literal(x):
            # The digits allowed stay below 10^18; claimed is what marks a number that nobody bounded.
            return made(Fraction(1), -LARGEST, LARGEST, call("text_to_integer", x.lowered), nullable=True)
        case Boolean() if not is_null_literal(x):
            return as_integer(x)
        case Number():
            return arithmetic.whole(x, "CAST AS INTEGER")
        case _:
            return _no_cast(x, "INTEGER")


def _cast_decimal(x: Typed, digits: Typed | None = None, precision: Typed | None = None) -> Typed:
    """Exact numbers stay exact; with digits, they are rounded to as many, and NULL beyond what fits."""
    if isinstance(x.kind, Boolean) and not is_null_literal(x):
        x = as_integer(x)
    if isinstance(x.kind, Text) and digits is not None and precision is not None and not is_null_literal(x):
        return _decimal_of_text(x, digits, precision)
    if not isinstance(x.kind, Number):
        return _no_cast(x, "DECIMAL")
    if digits is None:
        return plain(x)
    rounded = arithmetic.rounded(x, digits)
    if precision is None:
        return rounded
    places = integer_literal(precision, "the digits of DECIMAL(p, s)", 1, 38)
    after = integer_literal(digits, "the digits after the point of DECIMAL(p, s)", 0, places)
    return _fitting(rounded, Fraction(10**places - 1, 10**after))


def _decimal_of_text(x: Typed, digits: Typed, precision: Typed) -> Typed:
    """Text such as -12.345: the whole part, and one digit more after the point than is kept, which rounds the last."""
    places = integer_literal(precision, "the digits of DECIMAL(p, s) of text", 1, _DIGITS)
    after = integer_literal(digits, "the digits after the point of DECIMAL(p, s)", 0, places)
    before, behind = (call("split_part", x.lowered, Literal("."), n) for n in (1, 2))
    number, most, finer = call("text_to_integer", before), 10 ** (places - after), 10 ** (after + 1)
    near = call("least", call("greatest", number, -most), most)  # what is beyond is NULL, and must not overflow before
    zeros = Literal("0" * (after + 1))
    part = call("text_to_integer", call("substring", call("concat", behind, zeros), 1, after + 1))
    part = Call("case", (call("starts_with", x.lowered, Literal("-")), call("neg", part), part))
    together = call("concat", call("concat", before, Literal(".")), behind)
    good = Call("and", (
        Call("or", (call("eq", before, x.lowered), call("eq", together, x.lowered))),  # there is one point at most
        Call("not", (call("is_null", call("text_to_integer", call("concat", Literal("1"), behind))),)),  # no sign
        call("eq", near, number),
    ))  # fmt: skip
    cells = Call("case", (good, call("add", call("mul", near, finer), part), Literal(None)))
    exact = made(Fraction(1, finer), -(most + 1) * finer, (most + 1) * finer, cells, nullable=True)
    rounded = _fitting(arithmetic.rounded(exact, digits), Fraction(10**places - 1, 10**after))
    assert isinstance(rounded.kind, Number)  # noqa: S101
    # What digits allow is no bound that anybody declared: claimed is what marks a number without one.
    return made(rounded.kind.step, -LARGEST, LARGEST, rounded.lowered, nullable=True)


def _fitting(x: Typed, most: Fraction) -> Typed:
    """NULL where it is larger in size."""
    assert isinstance(x.kind, Number)  # noqa: S101
    end, low, high = int(most / x.kind.step), x.kind.low, x.kind.high
    if -end <= low and high <= end:
        return x
    outside = (call("lt", x.lowered, -end), Literal(None), call("gt", x.lowered, end), Literal(None))
    low, high = (min(max(e, -end), end) for e in (low, high))
    return made(x.kind.step, low, high, Call("case", (*outside, x.lowered)), nullable=True)


def _cast_real(x: Typed) -> Typed:
    if isinstance(x.kind, Real):
        return plain(x)
    return _cast_decimal(x)


def _cast_text(x: Typed) -> Typed:
    match x.kind:
        case Text() if not is_null_literal(x):
            return plain(x)
        case TimeOfDay():
            return times_of_day.as_text(x)
        case Number(step=step) if step == 1:
            digits = max(len(str(end)) for end in (x.kind.low, x.kind.high))
            return Typed(Text(digits), x.nullable, lowered=call("integer_to_text", x.lowered))
        case Date():
            return Typed(Text(10), x.nullable, lowered=call("date_to_text", x.lowered))
        case Boolean() if not is_null_literal(x):
            texts = (x.lowered, Literal("true"), call("is_null", x.lowered), Literal(None), Literal("false"))
            return Typed(Text(5), x.nullable, lowered=Call("case", texts))
        case _:
            return _no_cast(x, "TEXT")


def _cast_date(x: Typed) -> Typed:
    match x.kind:
        case Date():
            return plain(x)
        case Timestamp():
            return dates.date_of(x)
        case Text() if not is_null_literal(x):
            return Typed(Date(), True, lowered=call("text_to_date", x.lowered))
        case _:
            return _no_cast(x, "DATE")


def _cast_timestamp(x: Typed) -> Typed:
    if isinstance(x.kind, Temporal):
        return plain(as_timestamp(x))
    return _no_cast(x, "TIMESTAMP")


def _cast_boolean(x: Typed) -> Typed:
    match x.kind:
        case Boolean() if not is_null_literal(x):
            return plain(x)
        case Number():
            return truth_of(x)
        case _:
            return _no_cast(x, "BOOLEAN")


# --- records ----------------------------------------------------------------------------------------------------------


def _form(kind: str) -> Form:
    def write(arguments: Arguments, inside: list[Written]) -> Written:
        text = inside[0][0]
        if isinstance(arguments[0], Literal):  # CAST('2024-01-31' AS DATE) is a constant, and this is a function
            text = f"({text})"
        if len(inside) > 1:
            digits = inside[2][0] if len(inside) > 2 else "38"
            return f"CAST({text} AS {kind}({digits}, {inside[1][0]}))", ATOM
        return f"CAST({text} AS {kind})", ATOM

    return write


def _whole(x: Any) -> Any:
    if isinstance(x, str):
        return _INTEGER(x)
    return math.floor(abs(Fraction(x)) + Fraction(1, 2)) * (1 if x >= 0 else -1)


def _decimal(x: Any, digits: Any = None, precision: Any = 38) -> Any:
    if isinstance(x, str):
        if digits is None or re.fullmatch(r"[+-]?[0-9]{1,18}(\.[0-9]{0,17})?", x) is None:
            return None
        x = Fraction(x.removesuffix("."))
    if digits is None:
        return int(x) if isinstance(x, bool) else x
    step = Fraction(10) ** -int(digits)
    cells = _whole(Fraction(x) / step)
    exact = cells * step if abs(cells) < 10 ** int(precision) else None
    return exact if exact is None or not isinstance(x, float) else float(exact)


def _day(x: Any) -> Any:
    return x.date() if isinstance(x, datetime) else _TO_DATE(x) if isinstance(x, str) else x


def _moment(x: Any) -> Any:
    return x if isinstance(x, datetime) else datetime.combine(x, time())


_INTEGER, _TO_DATE = primitive("text_to_integer", str), primitive("text_to_date", str)


def _cast(
    name: str, rule: Callable[..., Typed], doc: str, example: tuple[str, Any], meaning: Callable[..., Any],
    *types: str, most: int = 1, sql: tuple[str, ...] = (), more: tuple[tuple[str, Any], ...] = (),
) -> Function:  # fmt: skip
    text, value = example
    return Function(f"cast_{name}", f"CAST(x AS {types[0]})", doc, rule, (f"CAST({text} AS {types[0]})", value),
                    (1, most), meaning, sql=sql, types=types, form=_form(types[0]), method="cast",
                    more=more)  # fmt: skip


CASTS = (
    _cast("integer", _cast_integer, "An integer; text of up to 18 digits, a number rounded, true as 1.",
          ("'12' || '3'", 123), _whole, "BIGINT", "INT"),
    _cast("decimal", _cast_decimal,
          "A number as it is; with DECIMAL(p, s), rounded to s digits, and NULL if it has more than p in all. "
          "Text needs both, p up to 17.",
          ("TRUE", 1), _decimal, "DECIMAL", "BIGDECIMAL", most=3,
          more=(("CAST(2.345 AS DECIMAL(4, 2))", 2.35), ("CAST(123 AS DECIMAL(4))", 123),
                ("CAST('-12' || '.345' AS DECIMAL(4, 2))", -12.35), ("CAST('1.2' || '.3' AS DECIMAL(4, 2))", None))),
    _cast("real", _cast_real, "A number as it is.", ("FALSE", 0), _decimal, "DOUBLE", "FLOAT"),
    _cast("text", _cast_text, "An integer, a date (as 2024-12-31), true or false as text.", ("7", "7"), as_text,
          "TEXT", "VARCHAR"),
    _cast("date", _cast_date, "The day of a time; of text, a real day written as 2024-12-31.",
          ("'2024-02' || '-29'", date(2024, 2, 29)), _day, "DATE", sql=("date",)),
    _cast("timestamp", _cast_timestamp, "A date as its midnight.", ("DATE '2024-02-29'", datetime(2024, 2, 29)),
          _moment, "TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"),
    _cast("boolean", _cast_boolean, "True for every number but 0.", ("2", True), bool, "BOOLEAN"),
)  # fmt: skip
