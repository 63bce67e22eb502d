"""What a condition tells about the rows that it keeps: narrower ranges, fewer keys, no NULL.

Only conditions on one column (or one expression) that must hold by themselves count: the parts of AND. What they say
is true of every row that is left, so bounds and keys that follow from it are as good as declared ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import MAXYEAR, MINYEAR, date, datetime, time, timedelta

from discreet.query.functions.typed_values import TypedColumn
from discreet.query.plan.evaluate import program
from discreet.query.plan.expressions import Call, Column, Expression, Literal, columns, walk
from discreet.query.plan.types import Kind, Temporal, Value
from discreet.query.typing.key_domains import MOST_WORK


def conjuncts(condition: Expression) -> list[Expression]:
    """The conditions that a lowered condition joins by AND."""
    if isinstance(condition, Call) and condition.function == "and":
        return [part for a in condition.arguments for part in conjuncts(a)]
    return [condition]


def listed(condition: Expression) -> tuple[Expression, tuple[Value, ...]] | None:
    """The expression and its values, if the condition is x = constant, x IN (constants), or an OR of such."""
    match condition:
        case Call(function="eq", arguments=(x, Literal(value=value))):
            return x, (value,)
        case Call(function="eq", arguments=(Literal(value=value), x)):
            return x, (value,)
        case Call(function="in", arguments=(x, *values)):
            return x, tuple(v.value for v in values if isinstance(v, Literal))
        case Call(function="or", arguments=arguments):
            listings = [listed(a) for a in arguments]
            first = listings[0]
            if first is None or any(f is None or f[0] != first[0] for f in listings):
                return None
            return first[0], tuple(dict.fromkeys(v for f in listings if f is not None for v in f[1]))
        case _:
            return None


def listings(condition: Expression) -> dict[Expression, tuple[Value, ...]]:
    """Keys of expressions that the condition lists, such as those of YEAR(x) in WHERE YEAR(x) IN (2024, 2025)."""
    by_expression: dict[Expression, tuple[Value, ...]] = {}
    for part in conjuncts(condition):
        listing = listed(part)
        if listing is not None:
            by_expression[listing[0]] = meet(by_expression.get(listing[0]), listing[1])
    return by_expression


def meet(keys: tuple[Value, ...] | None, others: tuple[Value, ...]) -> tuple[Value, ...]:
    """The keys that are in both lists; None is the list of all."""
    if keys is None:
        return others
    both = set(others)
    return tuple(k for k in keys if k in both)


def narrowed(fields: Mapping[str, TypedColumn], condition: Expression) -> dict[str, TypedColumn]:
    """The columns as they are known in the rows for which a lowered condition is true."""
    narrower = dict(fields)
    alone = [(part, columns(part)) for part in conjuncts(condition)]
    for part, read in alone * 2:  # twice: a list of keys is also held against what was said before it
        if len(read) == 1:
            (name,) = read
            narrower[name] = _narrow(name, narrower[name], part)
    return narrower


def _narrow(name: str, field: TypedColumn, part: Expression) -> TypedColumn:
    run = program(part)
    if run({name: None}) is not True:
        field = replace(field, nullable=False)
    keys = field.keys
    listing = listed(part)
    if listing is not None and listing[0] == Column(name):
        keys = meet(keys, listing[1])
    elif keys is not None and len(keys) * sum(1 for _ in walk(part)) <= MOST_WORK:
        keys = tuple(key for key in keys if run({name: key}) is True)
    if keys is not None:
        keys = tuple(key for key in keys if field.kind.holds(key))
    declared = None if field.declared is None else _range(field.declared, name, part)
    kind = _range(field.kind, name, part)
    return replace(field, keys=keys, kind=kind, declared=None if declared == kind else declared)


def _range(kind: Kind, name: str, part: Expression) -> Kind:
    """The kind with the ends that a comparison with constants proves; as it is where no value would be left."""
    match part:
        case Call(function="in", arguments=(x, *values)):
            constants = [v.value for v in values if isinstance(v, Literal)]
            if any(c is None or isinstance(c, (bool, str)) for c in constants):
                return kind
            low, high = min(constants), max(constants)  # type: ignore[type-var]
        case Call(function=function, arguments=(x, Literal(value=value))):
            low, high = _ends(function, value)
        case _:
            return kind
    match x:
        case Column(name=column) if column == name:
            pass
        case Call(function="year", arguments=(Column(name=column),)) if column == name:
            first, last = _year(low), _year(high)
            assert isinstance(kind, Temporal)  # noqa: S101
            low = None if first is None else kind.begins(date(first, 1, 1))
            high = None if last is None else kind.ends(date(last, 12, 31))
        case Call(function="timestamp_to_date", arguments=(Column(name=column),)) if column == name:
            low = datetime.combine(low, time.min) if isinstance(low, date) else None
            high = datetime.combine(high, time.max) if isinstance(high, date) else None
        case _:
            return kind
    return kind.within(low, high)


def _year(year: Value) -> int | None:
    return year if isinstance(year, int) and MINYEAR <= year <= MAXYEAR else None


def _ends(function: str, value: Value) -> tuple[Value, Value]:
    """The least and the largest x with ``x <function> value``; None where there is no end."""
    match function:
        case "eq":
            return value, value
        case "ge":
            return value, None
        case "le":
            return None, value
        case "gt":
            return _next(value, 1), None
        case "lt":
            return None, _next(value, -1)
        case _:
            return None, None


def _next(value: Value, by: int) -> Value:
    """The next integer, day or microsecond; the value itself at the end of all days."""
    try:
        match value:
            case bool() | str() | None:
                return value
            case datetime():
                return value + timedelta(microseconds=by)
            case date():
                return value + timedelta(days=by)
            case int():
                return value + by
    except OverflowError:
        return value
    return value
