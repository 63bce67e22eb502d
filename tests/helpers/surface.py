"""Questions at random: surface expressions over odd columns, rows for them, and what functions of numbers mean.

``meaning`` is the exact value on Fractions, written without the code under test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from fractions import Fraction
from math import ceil, floor, trunc
from random import Random
from typing import Any

from discreet.query.functions import catalogue
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.types import LARGEST, Boolean, Date, Duration, Kind, Number, Text, TimeOfDay, Timestamp
from discreet.query.typing.infer import TypedColumn, typed
from tests.helpers.examples import COLUMNS, over_columns
from tests.helpers.examples import FIELDS as EXAMPLE_FIELDS

ONE = Fraction(1)
KINDS: dict[str, Kind] = {
    "age": Number(ONE, 0, 120),
    "delta": Number(ONE, -1000, 1000),
    "money": Number(Fraction(1, 100), -50, 500_000),
    "real": Number(Fraction(1, 1 << 24), -5 << 24, 100 << 24),
    "sure": Number(ONE, -3, 3),
    "share": Number(Fraction(1, 1 << 30), 0, 1 << 30),
    "huge": Number(ONE, -(10**13), 10**13),
    "wide": Number(ONE, -LARGEST, LARGEST),
    "wide_money": Number(Fraction(1, 100), -LARGEST, LARGEST),
    "name": Text(),
    "code": Text(),
    "flag": Boolean(),
    "day": Date(date(2019, 12, 30), date(2024, 3, 1)),
    "any_day": Date(),
    "moment": Timestamp(),
    "recent": Timestamp(datetime(2023, 1, 1), datetime(2023, 12, 31, 23, 59, 59)),
}
FIELDS = {name: TypedColumn(kind, nullable=name != "sure") for name, kind in KINDS.items()}
TEXTS = ["", " ", "a", "A", "Ab%", "a_b", "\\", "7", "-12", "+7", "007", "1" * 18, "9" * 19, "2024-02-29", "2023-02-29",
         "0000-01-01", "9999-12-31", "É", "日本", " x "]  # fmt: skip


Row = dict[str, Any]


def row(dice: Random) -> Row:
    """A row of odd values."""
    return {
        name: None if FIELDS[name].nullable and dice.random() < 0.15 else value(kind, dice)
        for name, kind in KINDS.items()
    }


def value(kind: Kind, dice: Random) -> Any:
    match kind:
        case Number(low=low, high=high):
            near = [n for n in (low, low + 1, -1, 0, 1, high - 1, high) if low <= n <= high]
            small = dice.randint(max(low, -200), min(high, 200))
            return dice.choice([dice.choice(near), dice.randint(low, high), small])
        case Text():
            return dice.choice(TEXTS)
        case Boolean():
            return dice.random() < 0.5
        case Date(low=low, high=high):
            return dice.choice([low, high, date.fromordinal(dice.randint(low.toordinal(), high.toordinal()))])
        case Timestamp(low=low, high=high):
            return dice.choice([low, high, low + (high - low) * dice.random()])
    raise TypeError


# --- expressions ------------------------------------------------------------------------------------------------------

DAYS = (date(2024, 2, 29), date.min, date.max)
MOMENTS = (datetime(2024, 2, 29, 12, 30), datetime.min, datetime.max)
CONSTANTS = [0, 1, -1, 7, 100, 10**6, 2**40, LARGEST, -LARGEST, *(Fraction(n, d) for n, d in
             ((1, 10), (1, 3), (-5, 2), (1, 1 << 30), (1, 2), (99, 100), (7, 1000)))]  # fmt: skip
SORTS: tuple[type, ...] = (Number, Boolean, Text, Date, Timestamp)
UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")

# The sorts of arguments; a tuple is a choice of constants, a list a choice of sorts.
_TEMPLATES: dict[type, list[tuple[str, list[Any]]]] = {
    Number: [
        *((f, [Number, Number]) for f in ("add", "sub", "mul", "div", "quotient", "mod", "nullif", "add", "mul")),
        *((f, [Number, Number, Number]) for f in ("least", "greatest")),
        *((f, [Number]) for f in ("neg", "abs", "sign", "floor", "ceil", "trunc", "round", "cast_integer")),
        *((f, [Number]) for f in ("cast_decimal", "cast_real")),
        ("round", [Number, (0, 1, 2, -1, 5)]),
        ("cast_decimal", [Number, (0, 2)]),
        ("power", [Number, (1, 2, 3)]),
        ("clamp", [Number, (-3, 0, Fraction(1, 2)), (3, 100, Fraction(21, 2))]),
        ("width_bucket", [Number, (0, Fraction(-7, 3)), (10, 100), (1, 7, 100)]),
        ("case", [Boolean, Number, Boolean, Number, Number]),
        ("case", [Boolean, Number, (None,)]),
        ("coalesce", [Number, Number]),
        ("length", [Text]),
        ("cast_integer", [[Text, Boolean]]),
        *((f, [[Date, Timestamp]]) for f in ("year", "quarter", "week", "month", "day", "day_of_week")),
        ("day_of_year", [[Date, Timestamp]]),
        *((f, [Timestamp]) for f in ("hour", "minute", "second")),
        ("date_diff", [UNITS, [Date, Timestamp], [Date, Timestamp]]),
        ("days_between", [Date, Date]),
        ("seconds_between", [[Date, Timestamp], Timestamp]),
    ],
    Boolean: [
        *((f, [Number, Number]) for f in ("eq", "ne", "lt", "le", "gt", "ge", "lt", "eq")),
        *((f, [Text, Text]) for f in ("eq", "ne", "lt", "le", "gt", "ge")),
        *((f, [[Date, Timestamp], [Date, Timestamp]]) for f in ("eq", "lt", "ge")),
        ("ge", [Date, ("2020-02-29", "2020-02-29 12:00")]),
        ("eq", [Boolean, Boolean]),
        ("and", [Boolean, Boolean]),
        ("or", [Boolean, Boolean, Boolean]),
        ("not", [Boolean]),
        *(("is_null", [sort]) for sort in SORTS),
        ("in", [Number, tuple(CONSTANTS), tuple(CONSTANTS), tuple(CONSTANTS)]),
        ("in", [Text, tuple(TEXTS), tuple(TEXTS)]),
        ("in", [Date, DAYS, ("2020-01-01",)]),
        ("like", [Text, ("%", "a%", "_", "%_b", "A\\%", "", "%a%b%")]),
        ("ilike", [Text, ("A%", "%B%")]),
        *((f, [Text, ("", "a", "7")]) for f in ("starts_with", "ends_with", "contains")),
        ("cast_boolean", [[Number, Boolean]]),
        ("coalesce", [Boolean, Boolean]),
    ],
    Text: [
        *((f, [Text]) for f in ("lower", "upper", "trim", "ltrim", "rtrim", "cast_text")),
        ("substring", [Text, (1, 2, 9), (0, 1, 3)]),
        ("substring", [Text, (1, 3)]),
        ("left", [Text, (0, 2)]),
        ("concat", [Text, Text]),
        ("cast_text", [[Date, Boolean]]),
        ("case", [Boolean, Text, Text]),
        ("case", [Boolean, Text, (None,)]),
        ("coalesce", [Text, Text]),
        ("nullif", [Text, Text]),
    ],
    Date: [
        ("add_days", [Date, (-1, 1, 400, -3_700_000, 3_700_000)]),
        ("date_trunc", [UNITS[:5], Date]),
        ("cast_date", [[Date, Timestamp, Text]]),
        ("clamp", [Date, (date(2020, 1, 1),), (date(2021, 1, 1), date(2020, 1, 1))]),
        ("case", [Boolean, Date, Date]),
        ("coalesce", [Date, Date]),
    ],
    Timestamp: [
        ("date_trunc", [UNITS[:7], Timestamp]),
        ("cast_timestamp", [[Date, Timestamp]]),
        ("clamp", [Timestamp, (datetime(2020, 1, 1),), (datetime(2021, 1, 1, 12),)]),
        ("coalesce", [Timestamp, [Date, Timestamp]]),
    ],
    Duration: [],  # asked by test_durations.py
    TimeOfDay: [],  # asked by test_times_of_day.py
}
_OF = {name: type(kind) for name, kind in COLUMNS.items()}
for _name in sorted(set(catalogue.FUNCTIONS) - {name for some in _TEMPLATES.values() for name, _ in some}):
    for _call in over_columns(_name):  # what has no template here is asked as in its examples
        _wanted = [_OF[a.name] if isinstance(a, Column) else (a.value,) for a in _call.arguments]  # type: ignore[union-attr]
        _TEMPLATES[type(typed(_call, EXAMPLE_FIELDS).kind)].append((_name, _wanted))
FUNCTIONS = {name for some in _TEMPLATES.values() for name, _ in some}
_LITERALS: dict[type, Sequence[Any]] = {
    Number: CONSTANTS,
    Boolean: (True, False),
    Text: TEXTS,
    Date: DAYS,
    Timestamp: MOMENTS,
}


def expression(dice: Random, sort: type, depth: int) -> Expression:
    """An expression of a sort, at most so deep."""
    if depth == 0 or dice.random() < 0.1:
        if dice.random() < 0.25:
            return Literal(dice.choice(_LITERALS[sort]))
        return Column(dice.choice([name for name, kind in KINDS.items() if isinstance(kind, sort)]))
    name, wanted = dice.choice(_TEMPLATES[sort])
    return Call(name, tuple(_argument(dice, one, depth - 1) for one in wanted))


def _argument(dice: Random, wanted: Any, depth: int) -> Expression:
    if isinstance(wanted, tuple):
        return Literal(dice.choice(wanted))
    return expression(dice, dice.choice(wanted) if isinstance(wanted, list) else wanted, depth)


# --- meaning ----------------------------------------------------------------------------------------------------------


def _away(x: Fraction) -> int:
    return floor(x + Fraction(1, 2)) if x >= 0 else -floor(-x + Fraction(1, 2))


def _bucket(x: Fraction, low: Fraction, high: Fraction, n: Fraction) -> Fraction:
    if x < low:
        return Fraction(0)
    return n + 1 if x >= high else Fraction(floor((x - low) * n / (high - low)) + 1)


def _round(x: Fraction, digits: Fraction = Fraction(0)) -> Fraction:
    return _away(x * Fraction(10) ** int(digits)) / Fraction(10) ** int(digits)


MEANING: dict[str, Callable[..., Any]] = {
    "nullif": lambda x, y: None if x == y else x,
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: None if y == 0 else x / y,
    "quotient": lambda x, y: None if y == 0 else Fraction(trunc(x / y)),
    "mod": lambda x, y: None if y == 0 else x - y * trunc(x / y),
    "neg": lambda x: -x,
    "abs": abs,
    "sign": lambda x: Fraction((x > 0) - (x < 0)),
    "least": min,
    "greatest": max,
    "floor": lambda x: Fraction(floor(x)),
    "ceil": lambda x: Fraction(ceil(x)),
    "trunc": lambda x: Fraction(trunc(x)),
    "round": _round,
    "cast_integer": lambda x: Fraction(_away(x)),
    "width_bucket": _bucket,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "in": lambda x, *listed: x in listed,
    "cast_boolean": bool,
}
"""Functions of numbers that are never NULL themselves unless a divisor is 0."""


def meaning(function: str, values: list[Any]) -> Any:
    """The exact value of a function of exact numbers."""
    if function == "nullif":
        return None if values[0] == values[1] else values[0]
    return None if any(v is None for v in values) else MEANING[function](*values)
