"""Keys that the conditions of a question exclude: no row can have them, so no group is answered for them.

Promise: from the plan and public metadata alone. A key is left out only if every row with it fails a condition, or has
a value that is in no group anyway, as it is beyond its declared bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, time, timedelta

from discreet.query.functions.typed_values import Typed, TypedColumn
from discreet.query.plan.evaluate import program
from discreet.query.plan.expressions import Call, Column, Expression, columns, walk
from discreet.query.plan.nodes import Filter, How, Join, Project, Relation
from discreet.query.plan.types import Timestamp, Value
from discreet.query.typing.declared_bounds import declared_kind
from discreet.query.typing.key_domains import MOST_DAYS, MOST_WORK, implied_keys
from discreet.query.typing.refine import conjuncts

_OF_DAYS = frozenset({"year", "quarter", "month", "day", "day_of_week", "day_of_year", "timestamp_to_date"})
"""What is the same at all times of a day."""
_MARK = "#"


def conditions(relation: Relation) -> list[Expression]:
    """What is true of every row of a lowered relation, in terms of its columns."""
    match relation:
        case Filter(source=source, predicate=predicate):
            return [*conditions(source), *conjuncts(predicate)]
        case Project(source=source, columns=made):
            return [part for below in conditions(source) if (part := _in_terms_of(below, made)) is not None]
        case Join(left=left, right=right, how=how):
            return [*conditions(left), *(conditions(right) if how is How.INNER else ())]
        case _:
            return []


def _in_terms_of(expression: Expression, made: Iterable[tuple[str, Expression]]) -> Expression | None:
    """The expression over these columns, each computed as said; None if it reads anything else."""
    places = {e: Column(_MARK + name) for name, e in made}
    marked = _replaced(expression, places)
    if not all(name.startswith(_MARK) for name in columns(marked)):
        return None
    return _replaced(marked, {place: Column(place.name.removeprefix(_MARK)) for place in places.values()})


def _replaced(expression: Expression, places: Mapping[Expression, Column]) -> Expression:
    if expression in places:
        return places[expression]
    if isinstance(expression, Call):
        return Call(expression.function, tuple(_replaced(a, places) for a in expression.arguments))
    return expression


def narrow_key(x: Typed, relation: Relation, fields: Mapping[str, TypedColumn]) -> Typed:
    """A key of a lowered relation without those of its listed values that no row can have."""
    if x.keys is None:
        return x
    parts = conditions(relation)
    of_key = [
        part
        for condition in parts
        if (part := _in_terms_of(condition, [("x", x.lowered)])) is not None and columns(part)
    ]
    keys = x.keys
    if of_key and len(keys) * _size(of_key) <= MOST_WORK:
        runs = [program(part) for part in of_key]
        keys = tuple(key for key in keys if all(run({"x": key}) is True for run in runs))
    possible = _image(x, parts, fields)
    return replace(x, keys=keys if possible is None else tuple(key for key in keys if key in possible))


def _image(x: Typed, parts: list[Expression], fields: Mapping[str, TypedColumn]) -> set[Value] | None:
    """What an expression of one column leads to from the values that the conditions on that column allow."""
    read = columns(x.lowered)
    if len(read) != 1 or isinstance(x.lowered, Column):
        return None
    (name,) = read
    field = fields[name]
    alone = [part for part in parts if columns(part) == read]
    values: tuple[Value, ...] | None = implied_keys(field)
    if values is None and _reads_days(x.lowered, name):
        values, alone = _days(field), [part for part in alone if _reads_days(part, name)]
    elif not alone:
        return None
    if values is None or len(values) * _size([x.lowered, *alone]) > MOST_WORK:
        return None
    run, tests = program(x.lowered), [program(part) for part in alone]
    rows = [{name: value} for value in (*values, *([None] if field.nullable else []))]
    return {run(row) for row in rows if all(test(row) is True for test in tests)}


def _days(field: TypedColumn) -> tuple[datetime, ...] | None:
    """A moment of each day on which a time can lie."""
    match declared_kind(field):
        case Timestamp(low=low, high=high) if (high - low).days < MOST_DAYS:
            count = (high.date() - low.date()).days + 1
            return tuple(datetime.combine(low.date() + timedelta(days=n), time()) for n in range(count))
        case _:
            return None


def _reads_days(expression: Expression, name: str) -> bool:
    """Whether only the day of a time matters."""
    match expression:
        case Call(function=function, arguments=(Column(name=column),)) if column == name and function in _OF_DAYS:
            return True
        case Call(arguments=arguments):
            return all(_reads_days(a, name) for a in arguments)
        case Column(name=column):
            return column != name
        case _:
            return True


def _size(parts: Iterable[Expression]) -> int:
    return sum(1 for part in parts for _ in walk(part))


def combinations_allowed(
    keys: Mapping[str, Expression], relation: Relation
) -> Callable[[tuple[Value, ...]], bool] | None:
    """Whether rows can have a combination of keys, in their order; None if no condition speaks of several of them."""
    parts = [part for condition in conditions(relation) if (part := _in_terms_of(condition, keys.items())) is not None]
    tests = [program(part) for part in parts if len(columns(part)) > 1]
    if not tests:
        return None

    def is_allowed(combination: tuple[Value, ...]) -> bool:
        row = dict(zip(keys, combination, strict=True))
        return all(test(row) is True for test in tests)

    return is_allowed
