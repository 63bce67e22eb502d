"""LEFT JOIN from a public to a private table: public rows without a partner.

Whether such a row is there depends on what people have, and the row is nobody's: no bounding could hold it. So it is
left out, and only what it would not change is asked: aggregates of values that are NULL in it, and conditions that are
not true of it. COUNT(b.id) is one of these, and 0 for a public key that nobody has; COUNT(*) is none, and is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from discreet.errors import Unsupported
from discreet.query.plan.expressions import Call, Column, Expression, Literal

_READ_NULLS = frozenset({"coalesce", "is_null", "and", "or", "case"})


def check_unchanged(what: str, absent: frozenset[str], values: Iterable[Expression], where: Expression | None) -> None:
    """Refuses an aggregate that rows in which these columns are NULL would change."""
    left_out = where is not None and never_true(where, absent)
    if not absent or left_out or any(is_null(value, absent) for value in values):
        return
    raise Unsupported(f"{what} over a LEFT JOIN from a public table, which rows without a partner would change",
                      "count a column of the private table, as in COUNT(b.id), or write JOIN")  # fmt: skip


def is_null(value: Expression, absent: frozenset[str]) -> bool:
    """Whether a lowered value is surely NULL where these columns are.

    >>> is_null(Call("add", (Column("x"), Column("y"))), frozenset({"x"}))
    True
    """
    match value:
        case Column(name=name):
            return name in absent
        case Literal(value=constant):
            return constant is None
        case Call(function="case", arguments=(when, then, *rest)):
            rest_of = rest[0] if len(rest) == 1 else Call("case", tuple(rest))
            return (never_true(when, absent) or is_null(then, absent)) and is_null(rest_of, absent)
        case Call(function="and" | "or" | "coalesce", arguments=arguments):
            return all(is_null(a, absent) for a in arguments)
        case Call(function=function, arguments=arguments):
            return function not in _READ_NULLS and any(is_null(a, absent) for a in arguments)


def never_true(condition: Expression, absent: frozenset[str]) -> bool:
    """Whether a lowered condition is surely false or NULL where these columns are NULL."""
    match condition:
        case Call(function="and", arguments=arguments):
            return any(never_true(a, absent) for a in arguments)
        case Call(function="or", arguments=arguments):
            return all(never_true(a, absent) for a in arguments)
        case Call(function="not", arguments=(Call(function="is_null", arguments=(x,)),)):
            return is_null(x, absent)
        case _:
            return is_null(condition, absent)
