"""The examples of all functions of the query language: as they are, and over columns instead of constants."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

from discreet.errors import BadQuestion
from discreet.query.front.sql.expressions import expression
from discreet.query.functions.catalogue import FUNCTIONS
from discreet.query.functions.typed_values import TypedColumn
from discreet.query.plan.expressions import Call, Column, Expression, Literal, walk
from discreet.query.plan.types import Boolean, Date, Kind, Number, Text, Timestamp
from discreet.query.resolve.unresolved import Apply, Name, Said
from discreet.query.typing.infer import typed

COLUMNS: dict[str, Kind] = {
    "number": Number(Fraction(1), -1000, 1000),
    "text": Text(),
    "flag": Boolean(),
    "day": Date(),
    "moment": Timestamp(),
}
FIELDS = {name: TypedColumn(kind) for name, kind in COLUMNS.items()}


def read(text: str) -> Expression:
    """SQL as an expression."""
    return _resolved(expression(text).said)


def _resolved(said: Said) -> Expression:
    match said:
        case Apply(function=function, arguments=arguments):
            return Call(function, tuple(map(_resolved, arguments)))
        case Name(column=column):
            return Column(column)
        case Literal():
            return said
    raise TypeError


def examples(name: str) -> list[tuple[str, Any]]:
    """All examples of a function, with their values."""
    return [FUNCTIONS[name].example, *FUNCTIONS[name].more]


def call_in(tree: Expression, name: str) -> Call:
    """The call of this function in an example."""
    return next(part for part in walk(tree) if isinstance(part, Call) and part.function == name)


@cache
def over_columns(name: str) -> tuple[Call, ...]:
    """The examples with a column in every place where typing allows one instead of a constant."""
    return tuple(_opened(call_in(read(text), name)) for text, _ in examples(name))


def _opened(call: Call) -> Call:
    for i, given in enumerate(call.arguments):
        kind = typed(given, FIELDS, keyed=False).kind
        null = isinstance(given, Literal) and given.value is None
        column = next((c for c, k in COLUMNS.items() if type(k) is type(kind) or (null and c == "number")), None)
        if column is None:  # of a duration there are no columns
            continue
        opened = Call(call.function, (*call.arguments[:i], Column(column), *call.arguments[i + 1 :]))
        try:
            typed(opened, FIELDS, keyed=False)
        except BadQuestion:
            continue
        call = opened
    return call
