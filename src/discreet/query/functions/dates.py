"""Dates and times: parts of them, beginnings of units, distances."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, date, datetime, timedelta
from fractions import Fraction
from functools import lru_cache, reduce

from discreet.errors import BadQuestion
from discreet.query.functions.arithmetic import add, call, made, mul, sub
from discreet.query.functions.comparison import as_timestamp, read_as
from discreet.query.functions.typed_values import (
    Typed,
    constant,
    expect,
    integer_literal,
    is_wide,
    number,
    refuse,
    text_literal,
)
from discreet.query.plan.evaluate import add_days, add_seconds, date_trunc
from discreet.query.plan.expressions import Call, Expression, Literal
from discreet.query.plan.types import Date, Number, Temporal, Timestamp, Value

MOST_KEYS = 9_900
"""More keys than this are not listed on the side (not all years that there are); the owner can still declare them."""
MOST_SHIFTS = 100
"""A number of days that is not constant has at most so many values."""
_CLOCK = ("hour", "minute")
_DAY = 24 * 60 * 60
_LONGEST = {
    "year": timedelta(days=366),
    "quarter": timedelta(days=92),
    "month": timedelta(days=31),
    "week": timedelta(days=7),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
}


@dataclass(frozen=True, slots=True)
class Span:
    """What the days of an aggregate are counted from, and where they end: two days, or two times."""

    first: date
    last: date


# --- parts ----------------------------------------------------------------------------------------------------------


def part(name: str, low: int, high: int, *, clock: bool = False) -> Callable[[Typed], Typed]:
    """A rule for MONTH(x), HOUR(x) and the like: a whole number between two ends."""

    def rule(x: Typed) -> Typed:
        wanted = Timestamp if clock else Temporal
        expect(x, wanted, name.upper(), "a time" if clock else "a date or a time")
        return made(Fraction(1), low, high, call(name, x.lowered), x)

    return rule


def year(x: Typed) -> Typed:
    """YEAR(x): from the year of the lower end to that of the upper."""
    expect(x, Temporal, "YEAR", "a date or a time")
    assert isinstance(x.kind, Temporal)  # noqa: S101
    return made(Fraction(1), x.kind.low.year, x.kind.high.year, call("year", x.lowered), x)


def week(x: Typed) -> Typed:
    """WEEK(x): the ISO week, 1 to 53; it belongs to the year of its Thursday."""
    expect(x, Temporal, "WEEK", "a date or a time")
    thursday = call("add_days", Call("date_trunc", (Literal("week"), date_of(x).lowered)), 3)
    weeks = call("floor_div", call("sub", call("day_of_year", thursday), 1), 7)
    return made(Fraction(1), 1, 53, call("add", weeks, 1), x)


def iso_year(x: Typed) -> Typed:
    """ISOYEAR(x): the year that the ISO week belongs to, that of its Thursday."""
    expect(x, Temporal, "ISOYEAR", "a date or a time")
    assert isinstance(x.kind, Temporal)  # noqa: S101
    thursday = call("add_days", Call("date_trunc", (Literal("week"), date_of(x).lowered)), 3)
    low, high = max(x.kind.low.year - 1, MINYEAR), min(x.kind.high.year + 1, MAXYEAR)
    return made(Fraction(1), low, high, call("year", thursday), x)


def years(count: int, more: int) -> Callable[[Typed], Typed]:
    """A rule for DECADE(x) and CENTURY(x): so many years, of which the first one may be counted as if it were later."""

    def rule(x: Typed) -> Typed:
        in_years = year(x)
        kind = number(in_years, "YEAR")
        cells = call("floor_div", call("add", in_years.lowered, more) if more else in_years.lowered, count)
        return made(Fraction(1), (kind.low + more) // count, (kind.high + more) // count, cells, x)

    return rule


# --- beginnings -----------------------------------------------------------------------------------------------------


def trunc(unit: Typed, x: Typed) -> Typed:
    """DATE_TRUNC(unit, x): the beginning of the year, quarter, month, week (Monday), day, hour or minute."""
    name = text_literal(unit, "the unit of DATE_TRUNC").lower()
    if name not in _LONGEST:
        refuse(f"the unit of DATE_TRUNC must be one of {', '.join(_LONGEST)}")
    expect(x, Timestamp if name in _CLOCK else Temporal, f"DATE_TRUNC('{name}')", "a time")
    lowered: Expression = Call("date_trunc", (Literal(name), x.lowered))
    if isinstance(x.kind, Date):
        ends = date_trunc(name, x.kind.low), date_trunc(name, x.kind.high)
        return Typed(Date(*ends), x.nullable, _beginnings(name, *ends), lowered=lowered)
    assert isinstance(x.kind, Timestamp)  # noqa: S101
    low, high = date_trunc(name, x.kind.low), date_trunc(name, x.kind.high)
    assert isinstance(low, datetime)  # noqa: S101
    assert isinstance(high, datetime)  # noqa: S101
    return Typed(Timestamp(low, high), x.nullable, _beginnings(name, low, high), lowered=lowered)


@lru_cache(maxsize=64)
def _beginnings(unit: str, low: date, high: date) -> tuple[Value, ...] | None:
    """All beginnings of units between two of them, unless they are too many."""
    # From one beginning, a stride of the longest such unit reaches into the next one, and never beyond it.
    stride = _LONGEST[unit]
    if (high - low) / stride > MOST_KEYS:
        return None
    beginnings: list[Value] = [low]
    last = low
    while last < high:
        last = date_trunc(unit, last + stride)
        beginnings.append(last)
    return tuple(beginnings)


PARTED = {"minute": ("hour", 60), "hour": ("day", 24)}
"""The unit that holds so many of them."""


def bucket_of(unit: str, amount: int, x: datetime) -> datetime:
    """The beginning of the part of an hour or a day, so many minutes or hours long, that holds a moment."""
    whole, start = (date_trunc(name, x) for name in (unit, PARTED[unit][0]))
    assert isinstance(whole, datetime)  # noqa: S101
    assert isinstance(start, datetime)  # noqa: S101
    return start + (whole - start) // (amount * _LONGEST[unit]) * (amount * _LONGEST[unit])


def bucket(unit: Typed, amount: Typed, x: Typed) -> Typed:
    """TIME_BUCKET: one of the few parts of its hour or day."""
    name = text_literal(unit, "the unit of TIME_BUCKET")
    whole, many = PARTED[name]
    length = integer_literal(amount, "the width of TIME_BUCKET", 1, many)
    expect(x, Timestamp, "TIME_BUCKET", "a time")
    assert isinstance(x.kind, Timestamp)  # noqa: S101
    start, number, parts = Call("date_trunc", (Literal(whole), x.lowered)), call(name, x.lowered), list[Expression]()
    for place in range(0, many, length):
        later = place * int(_LONGEST[name].total_seconds())
        parts += [call("lt", number, place + length), call("add_seconds", start, later) if place else start]
    low, high = (bucket_of(name, length, end) for end in (x.kind.low, x.kind.high))
    few = (high - low) / (length * _LONGEST[name]) <= MOST_KEYS
    keys = (
        tuple(low + n * length * _LONGEST[name] for n in range((high - low) // (length * _LONGEST[name]) + 1))
        if few
        else None
    )
    return Typed(Timestamp(low, high), x.nullable, keys, lowered=Call("case", (*parts, Literal(None))))


# --- distances ------------------------------------------------------------------------------------------------------


def days_between(x: Typed, y: Typed) -> Typed:
    """The days from x to y."""
    for day in (x, y):
        expect(day, Date, "DAYS_BETWEEN", "a date")
    assert isinstance(x.kind, Date)  # noqa: S101
    assert isinstance(y.kind, Date)  # noqa: S101
    low, high = (y.kind.low - x.kind.high).days, (y.kind.high - x.kind.low).days
    return made(Fraction(1), low, high, call("days_between", x.lowered, y.lowered), x, y)


def seconds_between(x: Typed, y: Typed) -> Typed:
    """The whole seconds from x to y, towards zero."""
    x, y = as_timestamp(x), as_timestamp(y)
    for moment in (x, y):
        expect(moment, Timestamp, "SECONDS_BETWEEN", "a time")
    assert isinstance(x.kind, Timestamp)  # noqa: S101
    assert isinstance(y.kind, Timestamp)  # noqa: S101
    second = timedelta(seconds=1)
    low, high = (y.kind.low - x.kind.high) // second, -((x.kind.low - y.kind.high) // second)
    return made(Fraction(1), low, high, call("seconds_between", x.lowered, y.lowered), x, y)


def later(x: Typed, days: Typed, sign: int = 1) -> Typed:
    """ADD_DAYS(x, n): n days later (sign -1: earlier), a constant or one of few, within years 1 to 9999."""
    x = read_as(x, Date())
    expect(x, Temporal, "ADD_DAYS", "a date or a time")
    if isinstance(days.kind, Number) and constant(days) is None and not is_wide(days):
        return _later_by_few(x, days, sign)
    n = sign * integer_literal(days, "the days of ADD_DAYS", -3_700_000, 3_700_000)
    if isinstance(x.kind, Timestamp):
        return _seconds_later(x, n * _DAY)
    assert isinstance(x.kind, Date)  # noqa: S101
    return Typed(
        Date(add_days(x.kind.low, n), add_days(x.kind.high, n)), x.nullable, lowered=call("add_days", x.lowered, n)
    )


def _later_by_few(x: Typed, days: Typed, sign: int) -> Typed:
    """Days later, as one of the few numbers that there can be."""
    kind = number(days, "ADD_DAYS")
    if kind.step != 1 or kind.high - kind.low >= MOST_SHIFTS:
        refuse(f"the days of ADD_DAYS must be a constant, or an integer of at most {MOST_SHIFTS} values")
    shifted = {n: later(x, _whole(n), sign) for n in range(kind.low, kind.high + 1)}
    cases = [part for n, moved in shifted.items() for part in (call("eq", days.lowered, n), moved.lowered)]
    together = reduce(lambda a, b: a.joined(b), (moved.kind for moved in shifted.values()))
    return Typed(together, x.nullable or days.nullable, lowered=Call("case", (*cases, Literal(None))))


def seconds_later(x: Typed, seconds: Typed) -> Typed:
    """ADD_SECONDS(x, n): n constant seconds later, within years 1 to 9999; of a date, from its midnight."""
    expect(x, Temporal, "ADD_SECONDS", "a date or a time")
    most = 3_700_000 * _DAY
    return _seconds_later(as_timestamp(x), integer_literal(seconds, "the seconds of ADD_SECONDS", -most, most))


def _seconds_later(x: Typed, n: int) -> Typed:
    assert isinstance(x.kind, Timestamp)  # noqa: S101
    kind = Timestamp(add_seconds(x.kind.low, n), add_seconds(x.kind.high, n))
    return Typed(kind, x.nullable, lowered=call("add_seconds", x.lowered, n))


def months_later(x: Typed, months: Typed) -> Typed:
    """ADD_MONTHS(x, n): n constant months later, at most on the last day of the month; within years 1 to 9999.

    A time keeps its clock: it is moved by as many days as its day.
    """
    expect(x, Temporal, "ADD_MONTHS", "a date or a time")
    if isinstance(x.kind, Date):
        return _months_later(x, months)
    assert isinstance(x.kind, Timestamp)  # noqa: S101
    n, day = integer_literal(months, "the months of ADD_MONTHS", -120_000, 120_000), date_of(x)
    gap, moved = call("days_between", day.lowered, _months_later(day, months).lowered), list[Expression]()
    for days in sorted({days - cut for days in _gaps(n) for cut in range(4)}):
        moved += [call("eq", gap, days), call("add_seconds", x.lowered, days * _DAY)]
    beyond = Literal(datetime.max if n > 0 else datetime.min)
    lowered = Call("case", (call("is_null", x.lowered), Literal(None), *moved, beyond))
    ends = (move_months(end, n) for end in (x.kind.low, x.kind.high))
    return Typed(Timestamp(*ends), x.nullable, lowered=lowered)


def move_months(x: datetime, n: int) -> datetime:
    """n months later, at the same time of day; the first or last moment where there is none."""
    if not 12 <= x.year * 12 + x.month - 1 + n < (MAXYEAR + 1) * 12:
        return datetime.max if n > 0 else datetime.min
    return datetime.combine(add_months(x.date(), n), x.time())


def _months_later(x: Typed, months: Typed) -> Typed:
    """n constant months after a date.

    Moved from the first of its month into the middle of the month that is meant, which is so many days away wherever
    the month lies; then by the days from first to first, of which there are few cases.
    """
    assert isinstance(x.kind, Date)  # noqa: S101
    n = integer_literal(months, "the months of ADD_MONTHS", -120_000, 120_000)
    first = _month(x.lowered)
    target = _month(call("add_days", first, n * _CYCLE_DAYS // _CYCLE_MONTHS + 15))
    gap, moved = call("days_between", first, target), list[Expression]()
    for days in _gaps(n):
        moved += [call("eq", gap, days), call("add_days", x.lowered, days)]
    near = Call("case", (*moved, call("is_null", x.lowered), Literal(None), Literal(date.max if n > 0 else date.min)))
    # Beyond the last day of its month, it is in the next one: back to the day before that begins.
    lowered = Call("case", (call("ne", _month(near), target), call("add_days", _month(near), -1), near))
    return Typed(Date(add_months(x.kind.low, n), add_months(x.kind.high, n)), x.nullable, lowered=lowered)


def _month(x: Expression) -> Expression:
    return Call("date_trunc", (Literal("month"), x))


_CYCLE_MONTHS, _CYCLE_DAYS = 4_800, 146_097
"""The calendar repeats after 400 years."""


@lru_cache(maxsize=256)
def _gaps(n: int) -> tuple[int, ...]:
    """How many days n months can be, from first to first."""
    cycles, rest = divmod(n, _CYCLE_MONTHS)
    firsts = [date(2000 + m // 12, m % 12 + 1, 1).toordinal() for m in range(2 * _CYCLE_MONTHS)]
    gaps = {firsts[m + rest] - firsts[m] for m in range(_CYCLE_MONTHS)}
    return tuple(sorted(days + cycles * _CYCLE_DAYS for days in gaps))


def add_months(x: date, n: int) -> date:
    """n months later, at most on the last day of the month, within years 1 to 9999."""
    months = x.year * 12 + x.month - 1 + n
    if not 12 <= months < (MAXYEAR + 1) * 12:
        return date.max if n > 0 else date.min
    start = date(months // 12, months % 12 + 1, 1)
    last = monthrange(start.year, start.month)[1]
    return start.replace(day=min(x.day, last))


def date_of(x: Typed) -> Typed:
    """The day of a time; a date as it is."""
    if not isinstance(x.kind, Timestamp):
        return x
    ends = x.kind.low.date(), x.kind.high.date()
    return Typed(Date(*ends), x.nullable, lowered=call("timestamp_to_date", x.lowered))


def date_diff(unit: Typed, x: Typed, y: Typed) -> Typed:
    """DATE_DIFF(unit, x, y): how many beginnings of the unit lie between x and y (below 0 if y is earlier)."""
    name = text_literal(unit, "the unit of DATE_DIFF").lower()
    x, y = read_as(x, Date()), read_as(y, Date())
    for moment in (x, y):
        expect(moment, Temporal, "DATE_DIFF", "a date or a time")
    match name:
        case "day":
            return days_between(date_of(x), date_of(y))
        case "week":
            weeks = days_between(*(trunc(_text("week"), date_of(p)) for p in (x, y)))
            return _exactly(weeks, 7)
        case "year":
            return sub(year(y), year(x))
        case "quarter" | "month":
            per = 4 if name == "quarter" else 12
            rule = part(name, 1, per)
            first, second = (add(mul(year(p), _whole(per)), rule(p)) for p in (x, y))
            return sub(second, first)
        case "hour" | "minute":
            starts = (trunc(_text(name), as_timestamp(p)) for p in (x, y))
            return _exactly(seconds_between(*starts), 3600 if name == "hour" else 60)
        case "second":
            x, y = as_timestamp(x), as_timestamp(y)
            minutes = seconds_between(*(trunc(_text("minute"), p) for p in (x, y)))
            rule = part("second", 0, 59, clock=True)
            return add(minutes, sub(rule(y), rule(x)))
    raise BadQuestion(f"the unit of DATE_DIFF must be one of {', '.join(_LONGEST)}, second")


def _exactly(x: Typed, by: int) -> Typed:
    """A number that is a multiple of ``by``, divided by it."""
    kind = number(x, "DATE_DIFF")
    return made(Fraction(1), -(-kind.low // by), kind.high // by, call("div", x.lowered, by), x)


def _text(value: str) -> Typed:
    return Typed(Date(), lowered=Literal(value))  # only its value is looked at


def _whole(value: int) -> Typed:
    return Typed(Number(Fraction(1), value, value), nullable=False, lowered=Literal(value))


# --- aggregates -----------------------------------------------------------------------------------------------------


OPEN_DAYS = date(1899, 1, 1), date(2101, 12, 31)
OPEN_TIMES = datetime(1899, 1, 1), datetime(2101, 12, 31, 23, 59, 59)
"""Dates and times that nobody bounded are read within these."""


def has_bounds(x: Typed) -> bool:
    """Whether both ends of a date or a time were said."""
    assert isinstance(x.kind, Temporal)  # noqa: S101
    return not {x.kind.low, x.kind.high} & {date.min, date.max, datetime.min, datetime.max}


def since(x: Typed, what: str) -> tuple[Typed, Span]:
    """A date or a time as days from its lower bound, whole ones or to the second, and what they are counted from.

    Counted from the bound, not from some year 0: noise is in proportion to the bounds.
    """
    assert isinstance(x.kind, Temporal)  # noqa: S101
    kind: Temporal = x.kind
    if not has_bounds(x):
        ends = OPEN_DAYS if isinstance(kind, Date) else OPEN_TIMES
        kind = clamped(kind, *ends)
        x = replace(x, kind=kind, lowered=clamped_lowered(x.lowered, *ends))
    low, high = kind.low, kind.high
    first = Typed(kind, nullable=False, lowered=Literal(low))
    days = days_between(first, x) if isinstance(kind, Date) else seconds_between(first, x)
    step = Fraction(1) if isinstance(kind, Date) else Fraction(1, 24 * 60 * 60)
    return replace(days, kind=Number(step, 0, number(days, what).high)), Span(low, high)


def clamp_date(x: Typed, low: Typed, high: Typed) -> Typed:
    """CLAMP(x, low, high) of dates and times."""
    a, b = constant(low), constant(high)
    same = type(low.kind) is type(high.kind) is type(x.kind)
    if not (same and isinstance(a, date) and isinstance(b, date) and a <= b):
        refuse("CLAMP(x, low, high) needs two constants of the kind of x, low not above high")
    return Typed(clamped(x.kind, a, b), x.nullable, lowered=clamped_lowered(x.lowered, a, b))


def clamped(kind: object, low: date, high: date) -> Temporal:
    """The kind of a date or a time after it was clamped."""
    if isinstance(kind, Timestamp):
        assert isinstance(low, datetime)  # noqa: S101
        assert isinstance(high, datetime)  # noqa: S101
        return Timestamp(min(max(kind.low, low), high), min(max(kind.high, low), high))
    assert isinstance(kind, Date)  # noqa: S101
    return Date(min(max(kind.low, low), high), min(max(kind.high, low), high))


def clamped_lowered(x: Expression, low: date, high: date) -> Expression:
    """The nearest date (or time) between two; NULL stays NULL."""
    a, b = Literal(low), Literal(high)
    return Call("case", (Call("lt", (x, a)), a, Call("gt", (x, b)), b, x))
