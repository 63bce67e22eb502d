"""Times of day: a column of type TIME, or CAST(x AS TIME). To an engine they are whole seconds since midnight.

A time of day is compared with times of day and with texts such as '22:30', read by EXTRACT, subtracted from another,
and is a group key as text, '22:30:00'. Parts of a second are cut off when it is read.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

from discreet.errors import BadQuestion
from discreet.query.functions.arithmetic import call
from discreet.query.functions.durations import part_of
from discreet.query.functions.record import ATOM, Arguments, Function, Written
from discreet.query.functions.typed_values import Typed, expect, plain
from discreet.query.plan.expressions import Expression, Literal
from discreet.query.plan.types import Text, TimeOfDay, Timestamp

DAY = 86_400
OF_DAY = TimeOfDay(Fraction(1), 0, DAY - 1)
"""All there are."""


def read(stored: Expression) -> Expression:
    """A stored time, or a moment, as seconds since midnight; 24:00 is the last second."""
    minutes = call("add", call("mul", call("hour", stored), 60), call("minute", stored))
    return call("least", call("add", call("mul", minutes, 60), call("second", stored)), DAY - 1)


def as_text(x: Typed) -> Typed:
    """22:30:00."""
    parts = [call("add", part_of(name, x).lowered, 100) for name in ("hour", "minute", "second")]
    digits = [call("substring", call("integer_to_text", part), 2, 2) for part in parts]
    lowered = reduce(lambda a, b: call("concat", call("concat", a, Literal(":")), b), digits)
    return Typed(Text(8), x.nullable, lowered=lowered)


def as_key(x: Typed) -> Typed:
    """A group key: as text, in the order of the day."""
    return as_text(x) if isinstance(x.kind, TimeOfDay) else x


def constant_time(text: str) -> str:
    """A constant as it is written after TIME, checked."""
    if TimeOfDay.cells_of(text) is None:
        raise BadQuestion(f"a time of day must be written as {TimeOfDay.WRITTEN}")
    return text


def _cast_time(x: Typed) -> Typed:
    if isinstance(x.kind, TimeOfDay):
        return plain(x)
    if isinstance(x.kind, Text):
        moment = call("text_to_timestamp", call("concat", Literal("2000-01-01 "), x.lowered))
        return Typed(OF_DAY, True, lowered=read(moment))
    expect(x, Timestamp, "CAST AS TIME", "a time, or text such as 22:30")
    return Typed(OF_DAY, x.nullable, lowered=read(x.lowered))


def _form(arguments: Arguments, inside: list[Written]) -> Written:
    match arguments:
        case (Literal(value=str(text)),) if TimeOfDay.cells_of(text) is not None:
            return f"TIME '{text}'", ATOM
        case (Literal(),):
            return f"CAST(({inside[0][0]}) AS TIME)", ATOM
        case _:
            return f"CAST({inside[0][0]} AS TIME)", ATOM


TIMES_OF_DAY = (
    Function("cast_time", "CAST(x AS TIME)", "The time of day of a time, to the second; of text, one written as 22:30.",
             _cast_time, ("EXTRACT(EPOCH FROM CAST(TIMESTAMP '2024-02-29 13:05:09' AS TIME))", 47_109), (1, 1),
             sql=(), types=("TIME",), form=_form, method="cast",
             more=(("CAST('22:' || '30' AS TIME) > TIME '22:00'", True),
                   ("TIME '22:30' BETWEEN '22:00' AND '23:00'", True), ("CAST(TIME '09:05' AS TEXT)", "09:05:00"))),
)  # fmt: skip
