"""Text of files without types (CSV): as numbers, dates, times or truth. What cannot be read so is NULL.

Promise: what a text is read as follows from the owner's declarations and from the query alone. No value can make a
query fail, or change how another value is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from discreet.errors import BadQuestion
from discreet.query.functions.typed_values import Typed
from discreet.query.plan.evaluate import DIGITS
from discreet.query.plan.expressions import Call, Expression, Literal
from discreet.query.plan.schema import UNTYPED_DIGITS, Stored, StoredKind
from discreet.query.plan.types import LARGEST, Boolean, Date, Kind, Number, Real, Seconds, Temporal, Timestamp

_TRUE, _FALSE = ("true", "t", "yes", "1"), ("false", "f", "no", "0")
_ORDERED = frozenset({"lt", "le", "gt", "ge", "least", "greatest"})


def read_from_text(text: Expression, stored: Stored, kind: Kind) -> Expression:
    """Text as what its column is declared to hold; spaces around it do not count, unless it is text."""
    bare = Call("trim", (text,))
    match stored.kind, kind:
        case StoredKind.INTEGER, _:
            return Call("text_to_integer", (bare,))
        case StoredKind.DECIMAL, Number(step=step, low=low, high=high):
            ends = (Literal(-_power(step)), Literal(low), Literal(high))
            return Call("read_coarse", (Call("text_to_decimal", (bare,)), Literal(DIGITS), *ends))
        case StoredKind.DATE, _:
            return Call("timestamp_to_date", (Call("text_to_timestamp", (bare,)),))
        case StoredKind.TIMESTAMP, _:
            return Call("text_to_timestamp", (bare,))
        case StoredKind.BOOLEAN, _:
            word = Call("lower", (bare,))
            is_true, is_false = (Call("in", (word, *map(Literal, words))) for words in (_TRUE, _FALSE))
            return Call("case", (is_true, Literal(True), is_false, Literal(False), Literal(None)))
        case _:
            return text


def _power(step: Fraction) -> int:
    """Digits after the point of a power of ten; below 0 for 10, 100, ..."""
    return len(str(step.denominator)) - len(str(step.numerator))


def as_number(x: Typed) -> Typed:
    """Text of nobody's declaration as a number without bounds, of six digits after the point."""
    step = Fraction(1, 10**UNTYPED_DIGITS)
    kind = Number(step, -LARGEST, LARGEST)
    lowered = read_from_text(x.lowered, Stored(StoredKind.DECIMAL, UNTYPED_DIGITS, untyped=True), kind)
    return Typed(kind, nullable=True, lowered=lowered)


def as_moment(x: Typed) -> Typed:
    """Text of nobody's declaration as a time; a day is its midnight."""
    lowered = read_from_text(x.lowered, Stored(StoredKind.TIMESTAMP, untyped=True), Timestamp())
    return Typed(Timestamp(), nullable=True, lowered=lowered)


def as_truth(x: Typed) -> Typed:
    """Text of nobody's declaration as true or false."""
    lowered = read_from_text(x.lowered, Stored(StoredKind.BOOLEAN, untyped=True), Boolean())
    return Typed(Boolean(), nullable=True, lowered=lowered)


def as_kind(x: Typed, kind: Kind) -> Typed:
    """Text of nobody's declaration beside a value of this kind; all else as it is."""
    if not x.untyped:
        return x
    match kind:
        case Seconds():
            return x
        case Number():
            return as_number(x)
        case Temporal():
            return as_moment(x)
        case Boolean():
            return as_truth(x)
        case _:
            return x


def key_of_kind(x: Typed, kind: Kind) -> Typed:
    """Text of nobody's declaration as a value that equals one of this kind; whole numbers, dates and times are exact.

    >>> from discreet.query.plan.expressions import Column
    >>> from discreet.query.plan.types import Text
    >>> key_of_kind(Typed(Text(), untyped=True, lowered=Column("id")), Number(Fraction(1), 0, 9)).lowered
    Call(function='text_to_integer', arguments=(Call(function='trim', arguments=(Column(name='id'),)),))
    """
    match kind:
        case Number(step=step) if x.untyped and step == 1:
            whole = Number(step, -LARGEST, LARGEST)
            return Typed(whole, lowered=read_from_text(x.lowered, Stored(StoredKind.INTEGER, untyped=True), whole))
        case Date() if x.untyped:
            return Typed(Date(), lowered=read_from_text(x.lowered, Stored(StoredKind.DATE, untyped=True), Date()))
        case Timestamp():
            return as_kind(x, kind)
        case _:
            return x


FINE, FARTHEST = -20, 1 << 60
"""Floats of nobody's declaration are read on steps of 2^-20, up to 2^40 in size."""


def as_cells(x: Typed) -> Typed:
    """A float of nobody's declaration as a number without bounds, on a public grid; all else as it is."""
    if not isinstance(x.kind, Real):
        return x
    lowered = Call("read_real", (x.lowered, Literal(FINE), Literal(-FARTHEST), Literal(FARTHEST)))
    return Typed(Number(Fraction(2) ** FINE, -LARGEST, LARGEST), nullable=True, lowered=lowered)


_READINGS = (as_number, as_moment, as_truth)


def as_used(name: str, parts: Sequence[Typed], apply: Callable[[str, Sequence[Typed]], Typed]) -> Typed:
    """What a function makes of the parts. Floats without bounds are read on a public grid, where the function needs
    numbers; what a function does to floats as they are (CLAMP, COUNT, IS NULL) stays as fine as they are stored.
    """
    try:
        return _with_readings(name, parts, apply)
    except BadQuestion as refused:
        if not any(isinstance(part.kind, Real) for part in parts):
            raise
        try:
            return _with_readings(name, [as_cells(part) for part in parts], apply)
        except BadQuestion:
            raise refused from None


def _with_readings(name: str, parts: Sequence[Typed], apply: Callable[[str, Sequence[Typed]], Typed]) -> Typed:
    """What a function makes of the parts: untyped ones are text if that is allowed, or numbers, times or truth.

    Text has no order that anybody means where all parts are untyped: those are compared as numbers.
    """
    conditions = {"and": parts, "or": parts, "not": parts, "case": parts[:-1:2]}.get(name, ())
    parts = [
        as_truth(part) if part.untyped and any(part is condition for condition in conditions) else part
        for part in parts
    ]
    if not any(part.untyped for part in parts):
        return apply(name, parts)
    texts: list[Sequence[Typed]] = [parts]
    readings = [[read(part) if part.untyped else part for part in parts] for read in _READINGS]
    if name in _ORDERED and all(part.untyped for part in parts):
        texts = []
    first: BadQuestion | None = None
    for given in (*texts, *readings):
        try:
            return apply(name, given)
        except BadQuestion as error:
            first = first or error
    raise first or BadQuestion("this cannot be asked")
