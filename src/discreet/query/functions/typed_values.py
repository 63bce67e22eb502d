"""What typing knows of an expression or a column, and the words in which it refuses."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, NoReturn

from discreet.errors import BadQuestion
from discreet.messages import Message, message
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.names import quoted
from discreet.query.plan.types import (
    LARGEST,
    Kind,
    Number,
    Real,
    Seconds,
    Temporal,
    Text,
    Value,
)

DECLARE_ITS_BOUNDS = message("declare_its_bounds")


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """A column of a relation, as everyone may know it.

    ``keys`` lists all values that it can have as a group key (cells, for numbers; None inside: NULL is one).
    """

    kind: Kind
    nullable: bool = True
    keys: tuple[Value, ...] | None = None
    unknown: bool = False
    """Whether keys that nobody listed may be selected privately."""
    is_unit: bool = False
    """Whether it is the unit itself, under whatever name; no function of it is."""
    origin: tuple[str, str] | None = None
    """(table, column) if it is a stored column, under whatever name."""
    keys_from: tuple[str, str] | None = None
    """The public (table, column) whose values are its keys, where nobody listed them."""
    copies: int = 1
    """How many stored texts a text may hold one after the other: what CONCAT can do to its length."""
    declared: Kind | None = None
    """The range that it has where all columns are within their declared bounds, if that is narrower than ``kind``."""
    clamped: bool = False
    """Whether it was computed from values that were moved into their declared bounds."""
    untyped: bool = False
    """Whether it is text of a file without types, of which nobody said anything: how it is used decides its kind."""
    never: bool = False
    """Whether it is made of a column by whose values nothing may be chosen."""


@dataclass(frozen=True, slots=True)
class Typed(TypedColumn):
    """An expression with its kind and its lowered form."""

    lowered: Expression = field(kw_only=True)

    @property
    def column(self) -> TypedColumn:
        """What is known of it once it is a column of a relation above."""
        facts = {f.name: getattr(self, f.name) for f in fields(TypedColumn)}
        return TypedColumn(**facts)


def at(name: str, column: TypedColumn) -> Typed:
    """A column of the relation below, by its name there."""
    facts = {f.name: getattr(column, f.name) for f in fields(TypedColumn)}
    return Typed(**facts, lowered=Column(name))


def plain(x: Typed) -> Typed:
    """The same value, but no longer the column itself: a cast of the unit is not the unit."""
    return replace(x, is_unit=False, origin=None, keys_from=None)


# --- what it is -----------------------------------------------------------------------------------------------------


def is_null_literal(x: Typed) -> bool:
    """Whether it is the word NULL."""
    return isinstance(x.lowered, Literal) and x.lowered.value is None


def constant(x: Typed) -> Any:
    """The value of a literal (cells, for a number), or None if it is no literal."""
    return x.lowered.value if isinstance(x.lowered, Literal) else None


def is_wide(x: Typed) -> bool:
    """Whether it is a number whose bounds nobody declared: it reaches as far as cells can.

    Sums keep this mark (they saturate there); products and quotients refuse it.
    """
    return isinstance(x.kind, Number) and constant(x) is None and reach(x.kind) >= LARGEST


def reach(kind: Number) -> int:
    """The largest distance of its cells from 0."""
    return max(abs(kind.low), abs(kind.high))


def words(x: TypedColumn) -> str:
    """Its kind in plain words."""
    return x.kind.WORDS


def shown(x: Typed, otherwise: str = "x") -> str:
    """The name of the column that it is, as it stands in a message."""
    return quoted(x.lowered.name) if isinstance(x.lowered, Column) else otherwise


# --- refusing -------------------------------------------------------------------------------------------------------


def refuse(text: str, fix: Message | None = None) -> NoReturn:
    """A question that cannot be asked."""
    raise BadQuestion(text, fix)


def bound(*parts: Typed) -> Message:
    """What to do where bounds are missing, with the name of the first column among the parts that has none; only
    stored ones have any to declare.
    """
    for x in parts:
        if isinstance(x.lowered, Column) and (isinstance(x.kind, Real) or is_wide(x)):
            name = quoted(x.lowered.name)
            if x.origin is None:
                return message("clamp", expression=name)
            return message("declare_bounds", column=quoted(x.origin[1]), expression=name)
        match x.lowered:
            case Call("read_coarse", (Call("text_to_decimal", (Call("trim", (Column(read),)),)), *_)) if is_wide(x):
                return message("declare_bounds", column=quoted(read), expression=quoted(read))
    return DECLARE_ITS_BOUNDS


def number(x: Typed, what: str) -> Number:
    """Its kind, which must be a number."""
    if is_null_literal(x):
        refuse(f"{what} of NULL is always NULL; leave it out, or write IS NULL")
    if isinstance(x.kind, Real):
        refuse(f"{what} needs a number with bounds", bound(x))
    if isinstance(x.kind, Seconds):
        refuse(f"{what} needs a number, and this is {words(x)}; EXTRACT(EPOCH FROM x) is its number of seconds")
    if not isinstance(x.kind, Number):
        refuse(f"{what} needs a number, and this is {words(x)}")
    return x.kind


def expect(x: Typed, kinds: type | tuple[type, ...], what: str, wanted: str) -> None:
    """Refuses another kind, and the word NULL."""
    if is_null_literal(x):
        refuse(f"{what} of NULL is always NULL; leave it out, or write IS NULL")
    if not isinstance(x.kind, kinds):
        of_time = any(issubclass(kind, Temporal) for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
        cast = f"; write CAST({shown(x)} AS DATE)" if of_time and isinstance(x.kind, Text) else ""
        refuse(f"{what} needs {wanted}, and this is {words(x)}{cast}")


def integer_literal(x: Typed, what: str, low: int, high: int) -> int:
    """The value of a whole constant between two ends."""
    value = constant(x)
    whole = isinstance(x.kind, Number) and isinstance(value, int) and (x.kind.step * value).denominator == 1
    if not whole or not isinstance(x.kind, Number) or not low <= x.kind.step * value <= high:
        refuse(f"{what} must be a whole constant from {low} to {high}")
    return int(x.kind.step * value)


def text_literal(x: Typed, what: str) -> str:
    """The value of a constant text."""
    value = constant(x)
    if not isinstance(value, str):
        refuse(f"{what} must be a constant text")
    return value
