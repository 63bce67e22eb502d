"""Which keys an expression can have, from public metadata: what a GROUP BY answers, also where nobody has the key.

- A column has its declared keys; a number or a date with few values between its declared bounds has those; truth has
  two. A row whose value is another one is in no group.
- A function of such columns has the image of their keys (of all combinations, if there are few). CASE has what its
  branches have. A function of the day, month and so on of a time, and of nothing else of it, has the image of the days
  or months within its bounds.
- NULL is a key if the owner listed it, or if a listed key leads to it (a CASE without ELSE). That rows with NULL where
  nobody listed NULL fall into no group is the owner's policy; a COALESCE that names a value for them makes it a key.
- Years of a date without declared bounds, and whatever else has too many keys, have none: list them with IN.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from datetime import timedelta
from itertools import product
from math import prod

from discreet.query.functions.dates import date_of, trunc
from discreet.query.functions.typed_values import Typed, TypedColumn, at
from discreet.query.plan.evaluate import program
from discreet.query.plan.expressions import Call, Column, Expression, columns, walk
from discreet.query.plan.types import Boolean, Date, Number, Text, Timestamp, Value
from discreet.query.typing.declared_bounds import declared_kind

_PARTS = frozenset({"date_trunc", "timestamp_to_date"})
_PART = "#part"
MOST_CELLS = 9_998
"""Numbers with at most so many values list them; one fewer than there are years, which nobody wants to see."""
MOST_DAYS = 10_000
MOST_WORK = 200_000
"""Keys times nodes of an expression: more is not computed on the side."""


def implied_keys(x: TypedColumn) -> tuple[Value, ...] | None:
    """The keys that follow from what is declared or from the kind."""
    if x.keys is not None:
        return x.keys
    match declared_kind(x):
        case Boolean():
            return False, True
        case Number(low=low, high=high) if high - low < MOST_CELLS:
            return tuple(range(low, high + 1))
        case Date(low=low, high=high) if (high - low).days < MOST_DAYS:
            return tuple(low + timedelta(days=n) for n in range((high - low).days + 1))
        case _:
            return None


def keys_of(x: Typed, size: int, fields: Mapping[str, TypedColumn]) -> tuple[Value, ...] | None:
    """The keys of an expression of so many nodes over these columns."""
    read = columns(x.lowered)
    if len(read) != 1 or isinstance(x.lowered, Column):
        declared = implied_keys(x)
        names = dict.fromkeys(part.name for part in walk(x.lowered) if isinstance(part, Column))  # always in one order
        return _of_several(x.lowered, size, {name: fields[name] for name in names}) if declared is None else declared
    (name,) = read
    field = fields[name]
    if field.keys is None and x.keys is not None and isinstance(x.kind, Timestamp):
        return x.keys
    match x.lowered:
        case Call(function="date_trunc", arguments=(_, Column())) if field.keys is None:
            return x.keys  # its rule has listed them without looking at every day
        case Call(function="year", arguments=(Column(),)) if field.keys is None and implied_keys(x) is not None:
            return implied_keys(x)  # all from the first to the last
    lowered: Expression = x.lowered
    keys = implied_keys(field)
    if keys is None:
        lowered, keys = _by_part(name, field, x.lowered)
    if keys is None or len(keys) * size > MOST_WORK:
        return implied_keys(x)
    return _image(lowered, {name: keys}, {name} if field.nullable else set())


def _by_part(name: str, field: TypedColumn, lowered: Expression) -> tuple[Expression, tuple[Value, ...] | None]:
    """The expression as one of a part of a date or time, and the keys of that part, where nothing else of it is read.

    So STRFTIME(at, '%Y-%m') has the months of the days on which ``at`` can lie.
    """
    column = Column(name)
    parts = {p for p in walk(lowered) if isinstance(p, Call) and p.function in _PARTS and p.arguments[-1] == column}
    if len(parts) != 1:
        return lowered, None
    (part,) = parts
    rest = _replaced(lowered, part, Column(_PART))
    if columns(rest) != {_PART}:
        return lowered, None
    inner = at(name, replace(field, kind=declared_kind(field), declared=None))
    part_of_date = date_of(inner) if part.function == "timestamp_to_date" else trunc(_text(part.arguments[0]), inner)
    return _replaced(rest, Column(_PART), column), implied_keys(part_of_date)


def _text(unit: Expression) -> Typed:
    return Typed(Text(), lowered=unit)


def _replaced(expression: Expression, part: Expression, by: Expression) -> Expression:
    if expression == part:
        return by
    if isinstance(expression, Call):
        return Call(expression.function, tuple(_replaced(a, part, by) for a in expression.arguments))
    return expression


def _of_several(lowered: Expression, size: int, fields: Mapping[str, TypedColumn]) -> tuple[Value, ...] | None:
    """Of several columns, each with keys: as CONCAT(clinic, ' / ', ward)."""
    listed = {name: implied_keys(field) for name, field in fields.items()}
    keys = {name: some for name, some in listed.items() if some is not None}
    if len(keys) < max(len(listed), 2) or prod(len(some) + 1 for some in keys.values()) * size > MOST_WORK:
        return None
    return _image(lowered, keys, {name for name, field in fields.items() if field.nullable})


def _image(lowered: Expression, keys: Mapping[str, tuple[Value, ...]], nullable: Set[str]) -> tuple[Value, ...]:
    """What listed keys lead to; and what an unlisted NULL leads to, if that is a value."""
    run = program(lowered)
    image: dict[Value, None] = dict.fromkeys(
        run(dict(zip(keys, some, strict=True))) for some in product(*keys.values())
    )
    more = [(*some, None) if name in nullable and None not in some else some for name, some in keys.items()]
    if any(None in some and None not in keys[name] for name, some in zip(keys, more, strict=True)):
        everything = (run(dict(zip(keys, some, strict=True))) for some in product(*more))
        image |= dict.fromkeys(key for key in everything if key is not None)
    return tuple(image)


_FEW = frozenset({
    "eq", "ne", "lt", "le", "gt", "ge", "in", "is_null", "and", "or", "not", "like", "starts_with", "ends_with",
    "contains", "boolean_to_integer", "sign", "quarter", "month", "day", "day_of_week", "day_of_year", "hour", "minute",
    "second",
})  # fmt: skip
"""Primitives whose few values everyone knows, whatever they are of."""


def may_select(x: Typed, fields: Mapping[str, TypedColumn]) -> bool:
    """Whether keys that nobody listed may be selected: the owner allowed it for a column, and the rest is listed.

    Conditions, months and the like have listed values whatever they read: CASE WHEN cost > 9 THEN product END may be
    selected if ``product`` may.
    """

    def allowed(part: Expression) -> bool:
        match part:
            case Column(name=name):
                return fields[name].unknown or implied_keys(fields[name]) is not None
            case Call(function=function, arguments=arguments):
                return function in _FEW or all(map(allowed, arguments))
            case _:
                return True

    return any(fields[name].unknown for name in columns(x.lowered)) and allowed(x.lowered)
