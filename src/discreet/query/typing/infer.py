"""From what an analyst wrote to what an engine computes: kind, range, keys and lowered form of an expression.

Promise: pure and deterministic, from public metadata alone. The lowered form uses primitives only, is total, computes
in 64 bits, and its value always lies in the range that the kind claims. Whatever is not proven is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from difflib import get_close_matches
from fractions import Fraction

from discreet.errors import BadQuestion
from discreet.query.functions.comparison import literal_date, literal_time, truth_of
from discreet.query.functions.typed_values import Typed, TypedColumn, at, plain, refuse
from discreet.query.plan.evaluate import evaluate, is_plain_text
from discreet.query.plan.expressions import Call, Column, Expression, Literal, columns
from discreet.query.plan.names import quoted
from discreet.query.plan.types import LARGEST, Boolean, Number, Real, Text
from discreet.query.typing.declared_bounds import apply
from discreet.query.typing.key_domains import keys_of, may_select
from discreet.query.typing.untyped import as_kind, as_used

__all__ = ["Typed", "TypedColumn", "no_such", "predicate", "typed"]

DEEPEST = 100
MOST_NODES = 10_000
MOST_LOWERED = 50_000
DEEPEST_LOWERED = 400
LONGEST_LITERAL = 10_000
MOST_COPIES = 256


def typed(expression: Expression, fields: Mapping[str, TypedColumn], *, keyed: bool = True) -> Typed:
    """The expression over these columns, typed and lowered. Without ``keyed``, nobody asks for its keys.

    >>> from discreet.query.plan.types import Number
    >>> age = TypedColumn(Number(Fraction(1), 0, 120))
    >>> found = typed(Call("floor", (Call("div", (Column("age"), Literal(10))),)), {"age": age})
    >>> found.kind
    Number(step=Fraction(1, 1), low=0, high=12)
    >>> found.lowered
    Call(function='floor_div', arguments=(Column(name='age'), Literal(value=10)))
    >>> found.keys
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
    """
    check_size(expression)
    work = _Typing(fields)
    typed_ = work.visit(expression)
    if isinstance(expression, Literal):
        return typed_
    if not isinstance(expression, Column):
        never = reads_never(expression, fields)
        typed_ = replace(plain(typed_), unknown=may_select(typed_, fields), never=never)
    if isinstance(typed_.kind, Real) or typed_.is_unit:
        return typed_
    keys = keys_of(typed_, work.size(typed_.lowered), fields) if keyed else None
    return replace(typed_, keys=keys, copies=work.copies(typed_.lowered))


NEVER_HINT = (
    'the owner has declared dp.bounds("never"): nothing is chosen by these values. COUNT counts them; for more, the '
    "owner declares bounds or keys, and max_rows"
)


def reads_never(expression: Expression, fields: Mapping[str, TypedColumn]) -> bool:
    """Whether it is made of a column by whose values nothing may be chosen."""
    return any(field.never for field in fields.values()) and any(
        name in fields and fields[name].never for name in columns(expression)
    )


def predicate(expression: Expression, fields: Mapping[str, TypedColumn], what: str) -> Typed:
    """A condition: an expression that must be true or false."""
    condition = truth_of(as_kind(typed(expression, fields, keyed=False), Boolean()))
    if not isinstance(condition.kind, Boolean) or condition.lowered == Literal(None):
        refuse(f"{what} needs a condition that is true or false")
    return condition


class _Typing:
    """One expression. Lowered parts may be shared, so their sizes are kept by identity, not counted again."""

    def __init__(self, fields: Mapping[str, TypedColumn]) -> None:
        self._fields = fields
        self._measured: dict[int, tuple[int, int, int, Expression]] = {}

    def visit(self, expression: Expression) -> Typed:
        match expression:
            case Column(name=name):
                return self._column(name)
            case Literal():
                return literal(expression)
            case Call(function=name, arguments=arguments):
                parts = [self.visit(a) for a in arguments]
                typed_ = as_used(name, parts, apply)
                if all(isinstance(part.lowered, Literal) for part in parts):
                    typed_ = _folded(typed_)
                size, depth, copies, _ = self._measure(typed_.lowered)
                if size > MOST_LOWERED or depth > DEEPEST_LOWERED:
                    refuse("this expression is too large; write it in steps, or simpler")
                if copies > MOST_COPIES:
                    refuse(
                        f"CONCAT of more than {MOST_COPIES} texts, or REPLACE that makes one as long, cannot be asked"
                    )
                return typed_
        raise BadQuestion("an expression is made of columns, literals and calls")

    def _column(self, name: str) -> Typed:
        field = self._fields.get(name)
        if field is None:
            refuse(f"there is no column {name}{no_such(name, self._fields)}")
        return at(name, field)

    def size(self, lowered: Expression) -> int:
        return self._measure(lowered)[0]

    def copies(self, lowered: Expression) -> int:
        return self._measure(lowered)[2]

    def _measure(self, lowered: Expression) -> tuple[int, int, int, Expression]:
        """Nodes, depth, and how many texts a value may hold in a row; the node is kept so that its id stays its own."""
        measured = self._measured.get(id(lowered))
        if measured is None:
            measured = self._measured[id(lowered)] = self._count(lowered)
        return measured

    def _count(self, lowered: Expression) -> tuple[int, int, int, Expression]:
        if isinstance(lowered, Column):
            return 1, 1, self._fields[lowered.name].copies, lowered
        if isinstance(lowered, Literal):
            return 1, 1, 1, lowered
        parts = [self._measure(a) for a in lowered.arguments]
        copies = [p[2] for p in parts]
        together = sum(copies) if lowered.function == "concat" else max(copies)
        match lowered:
            case Call(function="replace", arguments=(_, Literal(value=str(old)), Literal(value=str(new)))):
                together *= max(1, -(-len(new.encode()) // len(old.encode())))
        return 1 + sum(p[0] for p in parts), 1 + max(p[1] for p in parts), together, lowered


def _folded(x: Typed) -> Typed:
    """A function of constants is a constant (unless it is NULL, which has no kind of its own)."""
    value = evaluate(x.lowered, {})
    if value is None:
        return x
    kind = replace(x.kind, low=value, high=value) if isinstance(x.kind, Number) else x.kind
    return replace(x, kind=kind, declared=None, nullable=False, keys=(value,), lowered=Literal(value))


# --- literals -------------------------------------------------------------------------------------------------------


def literal(expression: Literal) -> Typed:
    """A constant: numbers are exact, whole ones on step 1."""
    value: object = expression.value
    match value:
        case None:
            return Typed(Boolean(), True, (None,), lowered=expression)
        case bool():
            return Typed(Boolean(), False, (value,), lowered=expression)
        case int() | Fraction():
            exact = Fraction(value)
            if max(abs(exact.numerator), exact.denominator) > LARGEST:
                refuse("a number of more than 2^62, or with as fine a fraction, cannot be used")
            cells = exact.numerator
            step = Fraction(1, exact.denominator)
            return Typed(Number(step, cells, cells), False, (cells,), lowered=Literal(cells))
        case str():
            if len(value) > LONGEST_LITERAL:
                refuse(f"a text of more than {LONGEST_LITERAL:,} characters cannot be used")
            if not is_plain_text(value):
                refuse("a text with a zero character or half a character cannot be used")
            return Typed(Text(len(value)), False, (value,), lowered=expression)
        case datetime():
            if value.tzinfo is not None:
                refuse("a time with a time zone cannot be used; write it as UTC, without the zone")
            return literal_time(value)
        case date():
            return literal_date(value)
    raise BadQuestion(f"a {type(value).__name__} cannot be used as a constant")


# --- limits ---------------------------------------------------------------------------------------------------------


def check_size(expression: Expression) -> None:
    """Refuses what is too deep or too large, without recursion, and before anything else looks at it."""
    stack = [(expression, 1)]
    nodes = 0
    while stack:
        part, depth = stack.pop()
        nodes += 1
        if depth > DEEPEST:
            refuse(f"an expression nested more than {DEEPEST} deep cannot be asked")
        if nodes + len(stack) > MOST_NODES:
            refuse(f"an expression of more than {MOST_NODES:,} parts cannot be asked")
        if isinstance(part, Call):
            stack += [(a, depth + 1) for a in part.arguments]


def no_such(name: str, names: Mapping[str, object] | frozenset[str]) -> str:
    """The end of a sentence that names the nearest of the names that there are."""
    folded = {n.lower(): n for n in sorted(names)}
    near = get_close_matches(name.lower(), folded, n=1)
    if near:
        return f"; did you mean {quoted(folded[near[0]])}?"
    shown = ", ".join(map(quoted, sorted(names)[:20]))
    return f"; there are {shown}" if shown else ""
