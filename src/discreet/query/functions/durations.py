"""Durations: the difference of two times, and INTERVAL; and what they share with times of day.

To an engine they are whole seconds, like any other number. A duration is compared with durations, added to them, and
read by EXTRACT; where a number is wanted it is refused, with EPOCH as the way out. Its aggregates are released as
numbers of seconds.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from fractions import Fraction

from discreet.query.functions import arithmetic, dates
from discreet.query.functions.arithmetic import made
from discreet.query.functions.comparison import literal_time
from discreet.query.functions.typed_values import Typed, integer_literal, refuse, text_literal, words
from discreet.query.plan.expressions import Literal
from discreet.query.plan.types import Duration, Number, Seconds, TimeOfDay

SECONDS = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
_MOST = 3_700_000 * SECONDS["day"]
"""More than all years have."""


def lasting(x: Typed) -> Typed:
    """A number of seconds as a duration."""
    assert isinstance(x.kind, Number)  # noqa: S101
    return replace(x, kind=Duration(x.kind.step, x.kind.low, x.kind.high))


def seconds(x: Typed) -> Typed:
    """A duration, or a time of day, as its number of seconds; anything else as it is."""
    if not isinstance(x.kind, Seconds):
        return x
    return replace(x, kind=Number(x.kind.step, x.kind.low, x.kind.high))


def difference(x: Typed, y: Typed) -> Typed:
    """x - y of two times, in whole seconds towards zero."""
    return lasting(dates.seconds_between(y, x))


def total(name: str, x: Typed, y: Typed) -> Typed:
    """x + y or x - y of two durations; x - y of two times of day."""
    if name == "sub" and isinstance(x.kind, TimeOfDay) and isinstance(y.kind, TimeOfDay):
        return lasting(arithmetic.sub(seconds(x), seconds(y)))
    if not (isinstance(x.kind, Duration) and isinstance(y.kind, Duration)):
        refuse("a duration is added to durations only; EXTRACT(EPOCH FROM x) is its number of seconds")
    return lasting((arithmetic.add if name == "add" else arithmetic.sub)(seconds(x), seconds(y)))


def interval(unit: Typed, amount: Typed) -> Typed:
    """INTERVAL '2 days': a constant duration. Months have no fixed length."""
    name = text_literal(unit, "the unit of INTERVAL").lower()
    if name not in SECONDS:
        refuse("as a duration, an interval has weeks, days, hours, minutes or seconds: write INTERVAL '30 days'")
    n = integer_literal(amount, "the number of INTERVAL", -_MOST // SECONDS[name], _MOST // SECONDS[name])
    cells = n * SECONDS[name]
    return Typed(Duration(Fraction(1), cells, cells), False, (cells,), lowered=Literal(cells))


def part_of(name: str, x: Typed) -> Typed:
    """The whole days of a duration, or the hours, minutes and seconds that are left over, all with its sign."""
    length, days = SECONDS.get(name, 0), "" if isinstance(x.kind, TimeOfDay) else "days, "
    if not length or name == "week" or (name == "day" and not days):
        refuse(f"{name.upper()} of {words(x)}: it has {days}hours, minutes, seconds and epoch")
    whole = arithmetic.quotient(seconds(x), _constant(length))
    per = {"hour": 24, "minute": 60, "second": 60}.get(name)
    return whole if per is None else arithmetic.mod(whole, _constant(per))


def epoch(x: Typed) -> Typed:
    """The whole seconds of a duration, or since 1970 began."""
    if isinstance(x.kind, Seconds):
        return made(Fraction(1), x.kind.low, x.kind.high, x.lowered, x)
    return dates.seconds_between(_START, x)


def _constant(value: int) -> Typed:
    return Typed(Number(Fraction(1), value, value), False, (value,), lowered=Literal(value))


_START = literal_time(datetime(1970, 1, 1))
