"""The functions of dates and times, one record each; ``dates.py`` has their type rules."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from fractions import Fraction
from typing import Any

from discreet.query.functions import dates
from discreet.query.functions.record import Build, Function, Reading, T, unit_call
from discreet.query.functions.released_values import as_moment, primitive
from discreet.query.plan.evaluate import date_trunc
from discreet.query.plan.expressions import Literal

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


# --- records ----------------------------------------------------------------------------------------------------------

_DAY, _TIME = "DATE '2024-02-29'", "TIMESTAMP '2024-02-29 13:05:09'"


def _part(name: str, low: int, high: int, doc: str, value: int, *also: str, parts: tuple[str, ...] = ()) -> Function:
    clock = name in ("hour", "minute", "second")
    return Function(name, f"{name.upper()}(x)", doc, dates.part(name, low, high, clock=clock),
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
    Function("date_diff", "DATE_DIFF('day', x, y)",
             "How many beginnings of the unit lie between it and a later date or time.", dates.date_diff,
             (f"DATE_DIFF('day', {_DAY}, DATE '2024-03-02')", 2), (3, 3), _distance, sql=("date_diff", "datediff"),
             unit_first=True, form=unit_call("DATE_DIFF"), method="until"),
    Function("days_between", "DAYS_BETWEEN(x, y)", "The days from one date to another.", dates.days_between,
             (f"DAYS_BETWEEN({_DAY}, DATE '2024-03-02')", 2), (2, 2), method="until"),
    Function("seconds_between", "SECONDS_BETWEEN(x, y)", "The whole seconds from one time to another, towards zero.",
             dates.seconds_between, (f"SECONDS_BETWEEN({_DAY}, {_TIME})", 47109), (2, 2), method="until"),
    Function("add_days", "ADD_DAYS(x, n)", "So many constant days later, within years 1 to 9999.", dates.later,
             (f"ADD_DAYS({_DAY}, 2)", date(2024, 3, 2)), (2, 2), method="add_days(days: int)"),
)  # fmt: skip


def _from_sunday(apply: Build[T], x: T) -> T:
    return apply("mod", apply("day_of_week", x), Literal(Fraction(7)))


DATE_READINGS = {
    "dayofweek": Reading("DAYOFWEEK(x)", "0 for Sunday to 6, as EXTRACT(dow FROM x).", (1, 1), _from_sunday),
    "weekday": Reading("WEEKDAY(x)", "The same.", (1, 1), _from_sunday),
}
