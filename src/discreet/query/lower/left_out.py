"""Rows that are in no group because keys are listed: said with every answer, unless the list surely has all keys."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.messages import Message, message
from discreet.query.functions.typed_values import Typed
from discreet.query.lower.lower import LoweredKey
from discreet.query.plan.expressions import Call, Expression, Literal
from discreet.query.plan.nodes import Filter, Relation
from discreet.query.plan.types import Boolean, Date, Number


def rows_left_out(keys: Sequence[LoweredKey], rows: Relation) -> Message | None:
    """Which rows are in none of the groups of listed keys; None if there are no such rows, or nobody listed keys."""
    listed = [key for key in keys if key.typed.keys is not None and not _asked_for(key.typed.lowered, rows)]
    others = [key.name for key in listed if not _has_all_values(key.typed)]
    nulls = [key.name for key in listed if key.typed.nullable and None not in (key.typed.keys or ())]
    if not others and not nulls:
        return None
    both, names = [name for name in others if name in nulls], list(dict.fromkeys([*others, *nulls]))
    what = "NULL or none of the listed keys" if both else "none of the listed keys" if others else "NULL"
    return message("left_out", columns=tuple(names), what=what)


def _has_all_values(key: Typed) -> bool:
    """Whether every value but NULL is surely listed."""
    some = set(key.keys or ()) - {None}
    match key.kind:
        case _ if key.keys_from is not None:
            return True
        case Boolean():
            return len(some) == 2
        case Number(low=low, high=high):
            return high - low + 1 == len(some)
        case Date(low=low, high=high):
            return (high - low).days + 1 == len(some)
        case _:
            return _is_one_of_literals(key.lowered)


def _is_one_of_literals(expression: Expression) -> bool:
    """CASE ... THEN 'a' ... ELSE 'b' END has no other values."""
    match expression:
        case Literal():
            return True
        case Call("case", arguments):
            return all(map(_is_one_of_literals, [*arguments[1::2], arguments[-1]]))
        case _:
            return False


def _asked_for(key: Expression, rows: Relation) -> bool:
    """Whether a condition of the question itself says which keys there are."""
    while isinstance(rows, Filter):
        match rows.predicate:
            case Call("and", parts):
                pass
            case part:
                parts = (part,)
        if any(
            isinstance(condition, Call) and condition.function in ("in", "eq") and condition.arguments[0] == key
            for condition in parts
        ):
            return True
        rows = rows.source
    return False
