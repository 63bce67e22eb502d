"""Columns that nobody looks at but within their bounds are read so: one comparison instead of two.

Promise: the same numbers. Clamping to a part of a range that a value was clamped to before is clamping to that part;
and a value inside the part, which stands in for NULL, is not moved by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Filter, Project, Relation, Scan

_READS = frozenset({"read_integer", "read_decimal", "read_coarse", "read_real"})
Ends: TypeAlias = tuple[Expression, Expression]


def push_clamps(source: Relation, used: Iterable[Expression]) -> tuple[Relation, Callable[[Expression], Expression]]:
    """The relation with clamps moved into the reading, and what becomes of expressions over it.

    Only of a table that is filtered: other relations are left as they are.
    """
    conditions: list[Expression] = []
    relation = source
    while isinstance(relation, Filter):
        conditions.append(relation.predicate)
        relation = relation.source
    if not isinstance(relation, Project) or not isinstance(relation.source, Scan):
        return source, lambda expression: expression
    seen: dict[str, set[Ends | None]] = {}
    for expression in (*used, *conditions):
        _look(expression, seen)
    ends = {
        name: clamp for name, pushed in seen.items() if len(pushed) == 1 and (clamp := next(iter(pushed))) is not None
    }
    reads = {name: _narrowed(read, ends.get(name)) for name, read in relation.columns}
    moved = {name for name, read in relation.columns if reads[name] != read}
    pushed: Relation = Project(relation.source, tuple(reads.items()))
    for condition in reversed(conditions):
        pushed = Filter(pushed, _without(condition, moved))
    return pushed, lambda expression: _without(expression, moved)


def _clamped(expression: Expression) -> tuple[str, Ends] | None:
    """The column and the ends, if it is a clamped column and nothing more."""
    match expression:
        case Call(function="read_integer", arguments=(Column(name=name), low, high)):
            return name, (low, high)
        case _:
            return None


def _look(expression: Expression, seen: dict[str, set[Ends | None]]) -> None:
    clamp = _clamped(expression)
    if clamp is not None:
        seen.setdefault(clamp[0], set()).add(clamp[1])
    elif isinstance(expression, Column):
        seen.setdefault(expression.name, set()).add(None)
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            _look(argument, seen)


def _narrowed(read: Expression, ends: Ends | None) -> Expression:
    match read:
        case Call("coalesce", (Call() as inner, Literal() as instead)) if ends and _is_within((instead, instead), ends):
            return Call("coalesce", (_narrowed(inner, ends), instead))
    if ends is None or not isinstance(read, Call) or read.function not in _READS:
        return read
    *rest, low, high = read.arguments
    (a, b), wide = ends, (low, high)
    if not _is_within((a, b), wide):
        return read
    return Call(read.function, (*rest, a, b))


def _is_within(ends: Ends, wide: Ends) -> bool:
    numbers = [e.value for e in (*wide, *ends) if isinstance(e, Literal) and isinstance(e.value, int)]
    return len(numbers) == 4 and numbers[0] <= numbers[2] <= numbers[3] <= numbers[1]


def _without(expression: Expression, moved: set[str]) -> Expression:
    clamp = _clamped(expression)
    if clamp is not None and clamp[0] in moved:
        return Column(clamp[0])
    if isinstance(expression, Call):
        return Call(expression.function, tuple(_without(a, moved) for a in expression.arguments))
    return expression
