"""The functions of dates and times, one record each; ``dates.py`` has their type rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from functools import partial, reduce
from typing import Any, TypeAlias

from discreet.errors import Unsupported
from discreet.query.functions import dates, durations
from discreet.query.functions.arithmetic import call
from discreet.query.functions.record import ATOM, Arguments, Build, Function, Reading, T, Written, unit_call
from discreet.query.functions.released_values import as_moment, is_number, primitive
from discreet.query.functions.typed_values import Typed, expect, refuse, text_literal
from discreet.query.plan.evaluate import add_days, add_seconds, date_trunc
from discreet.query.plan.expressions import Call, Expression, Literal
from discreet.query.plan.types import Seconds, Temporal, Text

_UNITS = frozenset({"year", "quarter", "month", "week", "day"})

# --- on plain values --------------------------------------------------------------------------------------------------


def _beginning(unit: Any, x: Any) -> Any:
    clock = isinstance(x, datetime) and unit in ("hour", "minute")
    return date_trunc(unit, x) if isinstance(x, date) and (unit in _UNITS or clock) else None


def _distance(unit: Any, x: Any, y: Any) -> Any:
    """How many beginnings of the unit lie between two dates or times."""
    if not (isinstance(x, date) and isinstance(y, date)):
        return None
    x, y = as_moment(x, y), as_moment(y, x)
    match unit:
        case "year" | "quarter" | "month":
            per = {"year": 12, "quarter": 3, "month": 1}[unit]
            first, second = ((z.year * 12 + z.month - 1) // per for z in (x, y))
            return second - first
        case "week" | "day":
            days = [date_trunc(unit, z).toordinal() for z in (x, y)]
            return (days[1] - days[0]) // (7 if unit == "week" else 1)
        case "hour" | "minute" | "second":
            x, y = (datetime.combine(z, time()) if not isinstance(z, datetime) else z for z in (x, y))
            length = timedelta(seconds={"hour": 3600, "minute": 60, "second": 1}[unit])
            start = datetime.combine(min(x, y).date(), time())
            return (y - start) // length - (x - start) // length
        case _:
            return None


def _months_later(x: Any, n: Any) -> Any:
    if not (isinstance(x, date) and is_number(n) and int(n) == n):
        return None
    months = min(max(int(n), -120_000), 120_000)  # beyond all years there are
    return dates.move_months(x, months) if isinstance(x, datetime) else dates.add_months(x, months)


def _days_later(x: Any, n: Any) -> Any:
    if not (isinstance(x, date) and is_number(n) and int(n) == n):
        return None
    days = min(max(int(n), -_DAYS), _DAYS)
    return add_seconds(x, days * 86_400) if isinstance(x, datetime) else add_days(x, days)


def _seconds_later(x: Any, n: Any) -> Any:
    if not (isinstance(x, date) and is_number(n) and int(n) == n):
        return None
    seconds = min(max(int(n), -_DAYS * 86_400), _DAYS * 86_400)
    return add_seconds(x if isinstance(x, datetime) else datetime.combine(x, time()), seconds)


def _epoch(x: Any) -> Any:
    if is_number(x):  # of a duration, which is released as seconds
        return int(x)
    if not isinstance(x, date):
        return None
    since = (x if isinstance(x, datetime) else datetime.combine(x, time())) - datetime(1970, 1, 1)
    return abs(since) // timedelta(seconds=1) * (1 if since >= timedelta(0) else -1)


def _seconds(unit: Any, amount: Any) -> Any:
    return amount * durations.SECONDS[unit] if unit in durations.SECONDS and is_number(amount) else None


_DAYS = 3_700_000
"""More than all years have."""


# --- as text ----------------------------------------------------------------------------------------------------------

_MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December"]  # fmt: skip
_WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_Code: TypeAlias = tuple[Callable[[Typed], Expression], Callable[[date], str]]


def _iso(start: int, count: int) -> Callable[[Typed], Expression]:
    return lambda x: call("substring", call("date_to_text", dates.date_of(x).lowered), start, count)


def _padded(rule: Callable[[Typed], Typed], digits: int) -> Callable[[Typed], Expression]:
    """A number with zeros in front: that of 10^digits more, without its first digit."""
    return lambda x: call("substring", call("integer_to_text", call("add", rule(x).lowered, 10**digits)), 2, digits)


def _named(part: str, names: Sequence[str]) -> Callable[[Typed], Expression]:
    def lowered(x: Typed) -> Expression:
        number = call(part, x.lowered)
        whens = [branch for i, name in enumerate(names, 1) for branch in (call("eq", number, i), Literal(name))]
        return Call("case", (*whens, Literal(None)))

    return lowered


def _clock(name: str) -> Callable[[Typed], Typed]:
    return dates.part(name, 0, 59, clock=True)


_CODES: dict[str, _Code] = {
    "Y": (_iso(1, 4), lambda x: f"{x.year:04}"),
    "y": (_iso(3, 2), lambda x: f"{x.year % 100:02}"),
    "m": (_iso(6, 2), lambda x: f"{x.month:02}"),
    "d": (_iso(9, 2), lambda x: f"{x.day:02}"),
    "F": (_iso(1, 10), lambda x: x.isoformat()[:10]),
    "j": (_padded(dates.part("day_of_year", 1, 366), 3), lambda x: f"{x.timetuple().tm_yday:03}"),
    "u": (_padded(dates.part("day_of_week", 1, 7), 1), lambda x: str(x.isoweekday())),
    "V": (_padded(dates.week, 2), lambda x: f"{x.isocalendar().week:02}"),
    "B": (_named("month", _MONTHS), lambda x: _MONTHS[x.month - 1]),
    "b": (_named("month", [name[:3] for name in _MONTHS]), lambda x: _MONTHS[x.month - 1][:3]),
    "A": (_named("day_of_week", _WEEKDAYS), lambda x: _WEEKDAYS[x.weekday()]),
    "a": (_named("day_of_week", [name[:3] for name in _WEEKDAYS]), lambda x: _WEEKDAYS[x.weekday()][:3]),
    "H": (_padded(_clock("hour"), 2), lambda x: f"{x.hour:02}" if isinstance(x, datetime) else ""),
    "M": (_padded(_clock("minute"), 2), lambda x: f"{x.minute:02}" if isinstance(x, datetime) else ""),
    "S": (_padded(_clock("second"), 2), lambda x: f"{x.second:02}" if isinstance(x, datetime) else ""),
}
_LONGEST_CODE = 10
_OF_MYSQL = {f"%{word}": code for word, code in zip("YymdjHisSMbWa", "YymdjHMSSBbAa", strict=True)}
_OF_SPARK = {"yyyy": "Y", "yy": "y", "MM": "m", "MMM": "b", "MMMM": "B", "dd": "d", "DDD": "j", "HH": "H", "mm": "M",
             "ss": "S", "E": "a", "EEE": "a", "EEEE": "A"}  # fmt: skip
_OF_TO_CHAR = {"YYYY": "Y", "YY": "y", "MM": "m", "DDD": "j", "DD": "d", "HH24": "H", "MI": "M", "SS": "S", "ID": "u",
               "IW": "V", "Mon": "b", "Dy": "a"}  # fmt: skip


def _pieces(form: str) -> list[tuple[str, _Code | None]] | None:
    """Plain texts (without a code) and codes; None if there are others."""
    pieces: list[tuple[str, _Code | None]] = []
    for code, text in re.findall(r"%(.?)|([^%]+)", form, re.DOTALL):
        if not text and code != "%" and code not in _CODES:
            return None
        pieces.append((text or "%", None) if text or code == "%" else (code, _CODES[code]))
    return pieces


def _strftime(x: Typed, form: Typed) -> Typed:
    """Text of fixed codes: each is a piece of the ISO text, or a number in a fixed width."""
    expect(x, Temporal, "STRFTIME", "a date or a time")
    pieces = _pieces(text_literal(form, "the form of STRFTIME"))
    if not pieces or not any(code for _, code in pieces):
        refuse(f"the form of STRFTIME is a text with one of {' '.join(f'%{code}' for code in _CODES)}")
    texts = [Literal(text) if code is None else code[0](x) for text, code in pieces]
    most = sum(len(text) if code is None else _LONGEST_CODE for text, code in pieces)
    return Typed(Text(most), x.nullable, lowered=reduce(lambda a, b: call("concat", a, b), texts))


def _formatted(x: Any, form: Any) -> Any:
    pieces = _pieces(form) if isinstance(form, str) else None
    if pieces is None or not isinstance(x, date):
        return None
    texts = [text if code is None else code[1](x) for text, code in pieces]
    return "".join(texts) if all(texts) else None


def _to_char(apply: Build[T], x: T, form: T) -> T:
    """The forms of PostgreSQL that have a code here."""
    return _by_words(apply, x, form, what="TO_CHAR", codes=_OF_TO_CHAR, sign='"')


def _date_format(apply: Build[T], x: T, form: T) -> T:
    """Those of MySQL, and those of Spark, which have no percent signs."""
    mysql = isinstance(form, Literal) and "%" in str(form.value)
    codes, sign = (_OF_MYSQL, "%") if mysql else (_OF_SPARK, "'")
    return _by_words(apply, x, form, what="DATE_FORMAT", codes=codes, sign=sign)


def _by_words(apply: Build[T], x: T, form: T, *, what: str, codes: Mapping[str, str], sign: str) -> T:
    """A form in other words; letters that are none of them, and a sign of other things, are refused."""
    if not isinstance(form, Literal) or not isinstance(form.value, str):
        return apply("strftime", x, form)
    words = "|".join(sorted(codes, key=len, reverse=True))
    tokens = re.findall(rf"({words})|([^A-Za-z{sign}]+)|(.)", form.value, re.DOTALL)
    if any(other for _, _, other in tokens):
        raise Unsupported(f"this form of {what}", f"use {', '.join(codes)} and marks, or STRFTIME(x, '%Y-%m')")
    texts = (f"%{codes[word]}" if word else text.replace("%", "%%") for word, text, _ in tokens)
    return apply("strftime", x, Literal("".join(texts)))


# --- intervals --------------------------------------------------------------------------------------------------------

INTERVALS = {"day": ("add_days", 1), "week": ("add_days", 7), "month": ("add_months", 1), "quarter": ("add_months", 3),
             "year": ("add_months", 12), "hour": ("add_seconds", 3600), "minute": ("add_seconds", 60),
             "second": ("add_seconds", 1)}  # fmt: skip
"""What n units later is, and how many of its own units each one has."""


def _date_add(apply: Build[T], unit: T, number: T, x: T) -> T:
    word = unit.value if isinstance(unit, Literal) else None
    function, times = INTERVALS.get(word if isinstance(word, str) else "", ("", 0))
    if word == "day" and not isinstance(number, Literal):
        return apply(function, x, number)
    if function and not isinstance(number, Literal):
        raise Unsupported("DATEADD of a number that is not constant",
                          "write the number itself; DATE_TRUNC('week', d) is the Monday before d")  # fmt: skip
    if not function or not isinstance(number, Literal) or not isinstance(number.value, Fraction):
        raise Unsupported("this DATEADD", f"write DATEADD('month', 3, d), with one of {', '.join(INTERVALS)}")
    return apply(function, x, Literal(number.value * times))


def _interval_form(arguments: Arguments, inside: list[Written]) -> Written:
    """As SQL reads it; a sum of several is one of each."""
    unit, amount = (argument.value if isinstance(argument, Literal) else None for argument in arguments)
    return f"INTERVAL '{amount} {unit}'", ATOM


def _full_units(apply: Build[T], unit: T, x: T, y: T) -> T:
    """Whole units that have passed from x to y, towards zero; months end on the day and time at which x was."""
    word = unit.value if isinstance(unit, Literal) else None
    if word in durations.SECONDS:
        seconds = apply("seconds_between", x, y)
        return apply("quotient", seconds, Literal(Fraction(durations.SECONDS[str(word)])))
    per = {"month": 1, "quarter": 3, "year": 12}.get(str(word))
    if per is None:
        raise Unsupported(
            "the unit of this TIMESTAMPDIFF", f"use one of month, quarter, year, {', '.join(durations.SECONDS)}"
        )
    month, single, none = Literal("month"), Literal(Fraction(1)), Literal(Fraction(0))
    first, second = (apply("seconds_between", apply("date_trunc", month, z), z) for z in (x, y))
    early = apply("and", apply("le", x, y), apply("lt", second, first))
    late = apply("and", apply("gt", x, y), apply("gt", second, first))
    months = apply("add", apply("date_diff", month, x, y),
                   apply("case", early, apply("neg", single), late, single, none))  # fmt: skip
    return months if per == 1 else apply("quotient", months, Literal(Fraction(per)))


def _name_of(apply: Build[T], unit: T, x: T) -> T:
    """DATENAME of T-SQL: months and days by name, other parts as text."""
    word = unit.value if isinstance(unit, Literal) else None
    if word in ("month", "weekday", "dw"):
        return apply("strftime", x, Literal("%B" if word == "month" else "%A"))
    if word not in ("year", "quarter", "day"):
        raise Unsupported("this DATENAME", "use year, quarter, month, day or weekday")
    return apply("cast_text", apply(str(word), x))


def _constant_date(apply: Build[T], x: T, form: T | None = None) -> T:
    """TO_DATE(x): the day of a time, or of a text written as 2024-12-31; a form may only say just that."""
    if form is not None and (not isinstance(form, Literal) or form.value not in _ISO_FORMS):
        raise Unsupported(
            "text as a date by a form of its own", "CAST(x AS DATE) reads 2024-12-31; SUBSTRING and || can rearrange it"
        )
    return apply("cast_date", x)


_ISO_FORMS = ("YYYY-MM-DD", "yyyy-MM-dd", "%Y-%m-%d")


def _bucket_form(arguments: Arguments, inside: list[Written]) -> Written:
    unit, amount = (argument.value if isinstance(argument, Literal) else None for argument in arguments[:2])
    return f"TIME_BUCKET(INTERVAL '{amount} {unit}', {inside[2][0]})", ATOM


def _part_begins(unit: Any, amount: Any, x: Any) -> Any:
    if unit not in dates.PARTED or not isinstance(x, datetime) or not is_number(amount):
        return None
    return dates.bucket_of(unit, int(amount), x) if int(amount) == amount >= 1 else None


# --- records ----------------------------------------------------------------------------------------------------------

_DAY, _TIME = "DATE '2024-02-29'", "TIMESTAMP '2024-02-29 13:05:09'"


def _part(name: str, low: int, high: int, doc: str, value: int, *also: str, parts: tuple[str, ...] = ()) -> Function:
    clock = name in ("hour", "minute", "second")
    rule = dates.part(name, low, high, clock=clock)
    return Function(name, f"{name.upper()}(x)", doc,
                    lambda x: durations.part_of(name, x) if isinstance(x.kind, Seconds) else rule(x),
                    (f"{name.upper()}({_TIME if clock else _DAY})", value),
                    meaning=primitive(name, datetime if clock else date), sql=(name, *also), parts=parts or (name,),
                    method="part")  # fmt: skip


DATES = (
    Function("year", "YEAR(x)", "The year of a date or a time.", dates.year, (f"YEAR({_DAY})", 2024),
             meaning=primitive("year", date), parts=("year", "years"), method="part"),
    _part("quarter", 1, 4, "1 to 4.", 1),
    _part("month", 1, 12, "1 to 12.", 2, parts=("month", "months")),
    Function("week", "WEEK(x)", "The ISO week, 1 to 53; it belongs to the year of its Thursday.", dates.week,
             (f"WEEK({_DAY})", 9), sql=("week", "weekofyear"), parts=("week", "weeks"), method="part"),
    Function("isoyear", "ISOYEAR(x)", "The year that its ISO week belongs to.", dates.iso_year,
             ("ISOYEAR(DATE '2024-12-30')", 2025), parts=("isoyear",), method="part"),
    Function("decade", "DECADE(x)", "The year divided by ten, whole.", dates.years(10, 0), (f"DECADE({_DAY})", 202),
             parts=("decade", "decades"), method="part"),
    Function("century", "CENTURY(x)", "The 21st begins with 2001.", dates.years(100, 99), (f"CENTURY({_DAY})", 21),
             parts=("century", "centuries"), method="part"),
    _part("day", 1, 31, "1 to 31.", 29, "dayofmonth", parts=("day", "days")),
    _part("day_of_week", 1, 7, "1 for Monday to 7.", 4, "isodow", parts=("isodow",)),
    _part("day_of_year", 1, 366, "1 to 366.", 60, "dayofyear", parts=("doy", "dayofyear")),
    _part("hour", 0, 23, "0 to 23.", 13, parts=("hour", "hours")),
    _part("minute", 0, 59, "0 to 59.", 5, parts=("minute", "minutes")),
    _part("second", 0, 59, "0 to 59.", 9, parts=("second", "seconds")),
    Function("date_trunc", "DATE_TRUNC('month', x)",
             "The beginning of its year, quarter, month, week (Monday), day, hour or minute.", dates.trunc,
             (f"DATE_TRUNC('month', {_DAY})", date(2024, 2, 1)), (2, 2), _beginning, sql=("date_trunc", "datetrunc"),
             unit_first=True, form=unit_call("DATE_TRUNC"), method="trunc"),
    Function("time_bucket", "TIME_BUCKET(INTERVAL '15 minutes', x)",
             "The beginning of its part of an hour or a day, all parts being as long.", dates.bucket,
             (f"TIME_BUCKET(INTERVAL '15 minutes', {_TIME})", datetime(2024, 2, 29, 13)), (3, 3), _part_begins, sql=(),
             form=_bucket_form, method="trunc",
             more=((f"TIME_BUCKET(INTERVAL '6 hours', {_TIME})", datetime(2024, 2, 29, 12)),)),
    Function("date_diff", "DATE_DIFF('day', x, y)",
             "How many beginnings of the unit lie between it and a later date or time.", dates.date_diff,
             (f"DATE_DIFF('day', {_DAY}, DATE '2024-03-02')", 2), (3, 3), _distance, sql=("date_diff", "datediff"),
             unit_first=True, form=unit_call("DATE_DIFF"), method="until"),
    Function("days_between", "DAYS_BETWEEN(x, y)", "The days from one date to another.", dates.days_between,
             (f"DAYS_BETWEEN({_DAY}, DATE '2024-03-02')", 2), (2, 2), method="until"),
    Function("seconds_between", "SECONDS_BETWEEN(x, y)", "The whole seconds from one time to another, towards zero.",
             dates.seconds_between, (f"SECONDS_BETWEEN({_DAY}, {_TIME})", 47109), (2, 2), method="until"),
    Function("epoch", "EPOCH(x)", "The whole seconds since 1970 began, or of a duration; as EXTRACT(epoch FROM x).",
             durations.epoch, (f"EPOCH({_DAY})", 1_709_164_800), meaning=_epoch, parts=("epoch",), method="part"),
    Function("interval", "INTERVAL '2 days'", "A constant duration of weeks, days, hours, minutes or seconds.",
             durations.interval, ("EPOCH(INTERVAL '2 days')", 172_800), (2, 2), _seconds, sql=(), form=_interval_form,
             method="until", more=(("INTERVAL '2 days' > INTERVAL '47 hours'", True),)),
    Function("add_days", "ADD_DAYS(x, n)", "So many constant days later, within years 1 to 9999.", dates.later,
             (f"ADD_DAYS({_DAY}, 2)", date(2024, 3, 2)), (2, 2), _days_later, method="add_days(days: int)",
             more=((f"ADD_DAYS({_TIME}, 1)", datetime(2024, 3, 1, 13, 5, 9)),)),
    Function("add_seconds", "ADD_SECONDS(x, n)", "So many constant seconds later, within years 1 to 9999.",
             dates.seconds_later, (f"ADD_SECONDS({_TIME}, -10)", datetime(2024, 2, 29, 13, 4, 59)), (2, 2),
             _seconds_later, method="add_seconds(seconds: int)",
             more=((f"ADD_SECONDS({_DAY}, 5400)", datetime(2024, 2, 29, 1, 30)),
                   (f"ADD_SECONDS({_TIME}, 300000000000)", datetime.max))),
    Function("add_months", "ADD_MONTHS(x, n)",
             "So many constant months later, at most on the last day of the month, within years 1 to 9999.",
             dates.months_later, ("ADD_MONTHS(DATE '2024-01-31', 1)", date(2024, 2, 29)), (2, 2), _months_later,
             method="add_months(months: int)",
             more=(*((f"ADD_MONTHS({_DAY}, {n})", day) for n, day in
                     ((12, date(2025, 2, 28)), (-1, date(2024, 1, 29)), (0, date(2024, 2, 29)), (-24_288, date.min),
                      (-24_277, date(1, 1, 29)), (95_711, date.max), (95_710, date(9999, 12, 29)))),
                   (f"ADD_MONTHS({_TIME}, 12)", datetime(2025, 2, 28, 13, 5, 9)),
                   (f"ADD_MONTHS({_TIME}, 95711)", datetime.max), (f"ADD_MONTHS({_TIME}, -24288)", datetime.min))),
    Function("strftime", "STRFTIME(x, '%Y-%m')",
             "Text of %Y %y %m %d %F %j %u %V %B %b %A %a, and %H %M %S of a time; names are English.", _strftime,
             (f"STRFTIME({_TIME}, '%b %d, %H:%M')", "Feb 29, 13:05"), (2, 2), _formatted,
             method="strftime(form: str)",
             more=((f"STRFTIME({_DAY}, '%Y/%y/%m-%d %F %j %u %V%%')", "2024/24/02-29 2024-02-29 060 4 09%"),
                   (f"STRFTIME({_DAY}, '%A %a %B')", "Thursday Thu February"),
                   (f"STRFTIME({_TIME}, '%H%M%S')", "130509"))),
)  # fmt: skip


def _from_sunday(apply: Build[T], x: T) -> T:
    return apply("mod", apply("day_of_week", x), Literal(Fraction(7)))


def _as_text(form: str, apply: Build[T], x: T) -> T:
    return apply("strftime", x, Literal(form))


def _bucket(apply: Build[T], width: T, x: T) -> T:
    """The beginning of the part of an hour or a day that x is in, all parts being as long; or of a whole unit."""
    unit, amount = _width(width)
    if amount == 1 and unit in (*_UNITS, "hour", "minute"):
        return apply("date_trunc", Literal(unit), x)
    if unit not in dates.PARTED or dates.PARTED[unit][1] % max(amount, 1):
        raise Unsupported("this width of TIME_BUCKET", "use minutes that divide an hour, hours that divide a day, or "
                          "1 day, week, month, quarter or year")  # fmt: skip
    return apply("time_bucket", Literal(unit), Literal(Fraction(amount)), x)


def _width(width: object) -> tuple[str, int]:
    """The unit of a constant interval, and how many of it."""
    match width:
        case Literal(value=str(text)) if words := re.fullmatch(r"(\d{1,3}) ?([a-z]+?)s?", text.strip().lower()):
            return words[2], int(words[1])
        case _ if (given := getattr(width, "arguments", ())) and getattr(width, "function", "") == "interval":
            return str(given[0].value), int(given[1].value)
    raise Unsupported("this width of TIME_BUCKET", "write TIME_BUCKET(INTERVAL '15 minutes', x)")


def _last_day(apply: Build[T], x: T) -> T:
    first = apply("date_trunc", Literal("month"), apply("cast_date", x))
    return apply("add_days", apply("add_months", first, Literal(Fraction(1))), Literal(Fraction(-1)))


DATE_READINGS = {
    "time_bucket": Reading(
        "TIME_BUCKET(INTERVAL '15 minutes', x)",
        "The beginning of its part of an hour or a day, or of its day, week, month or year.",
        (2, 2),
        _bucket,
    ),
    "last_day": Reading("LAST_DAY(x)", "The last day of its month.", (1, 1), _last_day),
    "monthname": Reading("MONTHNAME(x)", "STRFTIME(x, '%B'): January to December.", (1, 1), partial(_as_text, "%B")),
    "dayname": Reading("DAYNAME(x)", "STRFTIME(x, '%A'): Monday to Sunday.", (1, 1), partial(_as_text, "%A")),
    "dateadd": Reading(
        "DATEADD('month', n, x)",
        "x + INTERVAL n MONTH; of second, minute, hour, day, week, month, quarter or year.",
        (3, 3),
        _date_add,
        unit_first=True,
    ),
    "date_format": Reading(
        "DATE_FORMAT(x, '%Y-%m')",
        "STRFTIME with the codes of MySQL, or with yyyy MM dd HH mm ss MMM MMMM E EEEE.",
        (2, 2),
        _date_format,
    ),
    "to_char": Reading(
        "TO_CHAR(x, 'YYYY-MM')", "STRFTIME with YYYY YY MM DD DDD HH24 MI SS ID IW Mon Dy.", (2, 2), _to_char
    ),
    "dayofweek": Reading("DAYOFWEEK(x)", "0 for Sunday to 6, as EXTRACT(dow FROM x).", (1, 1), _from_sunday),
    **{
        word: Reading(
            f"{word.upper()}('minute', x, y)",
            "How many whole units have passed from x to y, towards zero; of second to week, month, quarter or year.",
            (3, 3),
            _full_units,
            unit_first=True,
        )
        for word in ("timestampdiff", "datesub")
    },
    "eomonth": Reading("EOMONTH(x)", "The same as LAST_DAY.", (1, 1), _last_day),
    "datename": Reading(
        "DATENAME('month', x)", "The name of a month or day, or a part as text.", (2, 2), _name_of, unit_first=True
    ),
    "format_date": Reading(
        "FORMAT_DATE('%Y-%m', x)",
        "STRFTIME with the form first.",
        (2, 2),
        lambda apply, form, x: apply("strftime", x, form),
    ),
    "to_varchar": Reading("TO_VARCHAR(x, 'YYYY-MM')", "TO_CHAR.", (2, 2), _to_char),
    "to_date": Reading("TO_DATE(x)", "CAST(x AS DATE); a form may only be that of 2024-12-31.", (1, 2), _constant_date),
    "weekday": Reading("WEEKDAY(x)", "The same.", (1, 1), _from_sunday),
}
