"""Declared bounds: conditions and keys see values as they are stored, and what is aggregated is moved into its bounds.

An expression has two ranges. Its *kind* holds for every stored value: it is what keeps integers in 64 bits, on every
engine. ``declared`` is the range that it has where all columns are within their declared bounds: narrower, and not
true of all rows. ``bounded`` makes it true, by clamping; an aggregate takes nothing else. Proof: beside this file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from fractions import Fraction

from discreet.errors import BadQuestion
from discreet.messages import Message, message
from discreet.query.functions.arithmetic import call, within
from discreet.query.functions.catalogue import apply as apply_rule
from discreet.query.functions.dates import clamped_lowered
from discreet.query.functions.typed_values import Typed, TypedColumn, constant
from discreet.query.plan.evaluate import text_to_moment
from discreet.query.plan.expressions import Call, Column, Expression, Literal, walk
from discreet.query.plan.types import Kind, Number, Temporal, Text, Value

ROOM = 1 << 30
"""Where the range of all stored values is too large to compute with, so many cells on each side of 0 are tried."""


def bounded(x: Typed) -> Typed:
    """The same within its declared range: beyond it, the nearest end.

    >>> from fractions import Fraction
    >>> from discreet.query.plan.expressions import Column
    >>> code = Typed(Number(Fraction(1), -9, 99), declared=Number(Fraction(1), 0, 98), lowered=Column("code"))
    >>> bounded(code).kind
    Number(step=Fraction(1, 1), low=0, high=98)
    """
    if x.declared is None:
        return x
    return replace(x, kind=x.declared, declared=None, lowered=_moved(x.lowered, x.kind, x.declared))


def _moved(lowered: Expression, kind: Kind, into: Kind) -> Expression:
    if isinstance(kind, Number) and isinstance(into, Number):
        inside = into.low <= kind.low and kind.high <= into.high
        return lowered if inside else call("read_integer", lowered, into.low, into.high)
    if isinstance(into, Temporal):
        return clamped_lowered(lowered, into.low, into.high)
    if isinstance(into, Text) and into.longest is not None:
        return call("substring", lowered, 1, into.longest)
    return lowered


def declared_kind(x: TypedColumn) -> Kind:
    """The range that it has where all columns are within their declared bounds."""
    return x.kind if x.declared is None else x.declared


def apply(name: str, parts: Sequence[Typed]) -> Typed:
    """The typed result of a function, computed from stored values where 64 bits are enough for all of them."""
    return combined(lambda *given: apply_rule(name, given), parts)


def combined(rule: Callable[..., Typed], parts: Sequence[Typed]) -> Typed:
    """What a type rule makes of the parts.

    Tried on the whole range of stored values, then on ``ROOM`` of them. Where neither will do, or the numbers would
    have to be rounded more than within the declared bounds, the parts are clamped first (``clamped`` says so).
    """
    clamped = any(p.clamped for p in parts)
    if all(p.declared is None for p in parts):
        return replace(rule(*parts), clamped=clamped)
    tight: Typed | None = None
    for given in (parts, [_roomy(p) for p in parts]):
        try:
            typed = rule(*given)
        except BadQuestion:
            continue
        if not isinstance(typed.kind, (Number, Temporal, Text)):
            return replace(typed, clamped=clamped)
        tight = tight or rule(*(bounded(p) for p in parts))
        declared = typed.kind.common(tight.kind) if isinstance(tight.kind, type(typed.kind)) else None
        if declared is not None:
            null = typed.nullable or tight.nullable
            return replace(typed, declared=None if declared == typed.kind else declared, keys=tight.keys,
                           nullable=null, clamped=clamped)  # fmt: skip
    tight = tight or rule(*(bounded(p) for p in parts))
    return replace(tight, clamped=True)


def _roomy(x: Typed) -> Typed:
    if not isinstance(x.declared, Number) or not isinstance(x.kind, Number) or constant(x) is not None:
        return x
    low, high = (max(x.kind.low, min(-ROOM, x.declared.low)), min(x.kind.high, max(ROOM, x.declared.high)))
    kind = replace(x.kind, low=low, high=high)
    return replace(x, kind=kind, lowered=within(x.lowered, x.kind.low, x.kind.high, (low, high)))


# --- what to tell -----------------------------------------------------------------------------------------------------

_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "in"})


def notes(condition: Expression, fields: Mapping[str, TypedColumn], typed: Typed | None = None) -> list[Message]:
    """What whoever reads the answer should know of a condition: public words, whatever the data."""
    outside = list[Message]()
    for part in walk(condition):
        if not isinstance(part, Call) or part.function not in _COMPARISONS:
            continue
        names = [a.name for a in part.arguments if isinstance(a, Column)]
        constants = [a.value for a in part.arguments if isinstance(a, Literal)]
        if len(names) == 1 and names[0] in fields and any(_is_outside(fields[names[0]].declared, c) for c in constants):
            outside.append(message("compared_outside", column=names[0]))
    if typed is not None and typed.clamped:
        outside.append(message("clamped_condition"))
    return list(dict.fromkeys(outside))


def _is_outside(declared: Kind | None, value: Value) -> bool:
    if isinstance(declared, Number) and isinstance(value, int | Fraction) and not isinstance(value, bool):
        low, high = declared.ends
        return not low <= value <= high
    if isinstance(declared, Temporal):
        moment = text_to_moment(value) if isinstance(value, str) else value
        if not isinstance(moment, date):
            return False
        return not _midnight(declared.low) <= _midnight(moment) <= _midnight(declared.high)
    return False


def _midnight(day: date) -> datetime:
    return day if isinstance(day, datetime) else datetime.combine(day, time())
