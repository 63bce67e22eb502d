"""Months later, dates as text: against the calendar of Python, month by month."""

import locale
import re
from datetime import date, datetime, timedelta
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from discreet.errors import BadQuestion, Unsupported
from discreet.query.front.sql.expressions import expression
from discreet.query.functions import dates
from discreet.query.functions.date_functions import _CODES
from discreet.query.functions.typed_values import TypedColumn
from discreet.query.plan.evaluate import evaluate, program
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.types import Date, Timestamp
from discreet.query.typing.infer import typed
from tests.helpers import surface
from tests.helpers.examples import read
from tests.helpers.typing_checks import call, col

FIELDS = {"d": TypedColumn(Date()), "m": TypedColumn(Timestamp())}
EDGES = [date.min, date(1, 1, 31), date(1, 2, 28), date(4, 2, 29), date(1900, 2, 28), date(2000, 2, 29),
         date(2023, 12, 31), date(9999, 11, 30), date(9999, 12, 1), date.max]  # fmt: skip


# --- months -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_middle_of_the_month_is_always_met() -> None:
    """The claim of ``months_later``: so many days from any first of a month lie in the month that is meant."""
    firsts = np.array([date(2000 + m // 12, m % 12 + 1, 1).toordinal() for m in range(9601)])
    starts = np.arange(4800)
    for n in range(4800):  # the calendar repeats after 4800 months, and so does the number of days
        middle = firsts[starts] + n * 146_097 // 4_800 + 15
        assert np.all(firsts[starts + n] <= middle)
        assert np.all(middle < firsts[starts + n + 1])


@pytest.mark.slow
def test_what_is_cut_off_at_the_ends_of_the_calendar_is_no_number_of_months() -> None:
    """From the first to the cut-off month lie fewer days than n months ever have, so the last branch is taken."""
    for n in (*range(1, 60), 4799, 4800, 4801, 119_988):
        assert dates._gaps(n - 1)[-1] < dates._gaps(n)[0]
        assert dates._gaps(-n)[-1] < dates._gaps(-n + 1)[0]


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 1, -1, 2, 11, 12, -12, 13, 1199, -4801, 48_000, 119_999, -119_999, 120_000])
def test_months_later_is_what_the_calendar_says(n: int) -> None:
    dice = Random(n)
    x = typed(Call("add_months", (Column("d"), Literal(n))), FIELDS, keyed=False)
    days = [*EDGES, *(date.fromordinal(dice.randint(1, date.max.toordinal())) for _ in range(200))]
    for day in days:
        assert evaluate(x.lowered, {"d": day}) == _by_steps(day, n), day
    assert evaluate(x.lowered, {"d": None}) is None


def _by_steps(day: date, n: int) -> date:
    """Another way: whole months by number, then the latest day that there is."""
    year, month = divmod(day.year * 12 + day.month - 1 + n, 12)
    for last in range(day.day, 0, -1):
        try:
            return date(year, month + 1, last)
        except ValueError:
            if not 1 <= year <= 9999:
                return date.max if n > 0 else date.min
    raise AssertionError


def test_months_later_keeps_the_order() -> None:
    for n in (1, -1, 12, 25):
        days = [date(2023, 1, 1) + timedelta(days=i) for i in range(800)]
        later = [dates.add_months(day, n) for day in days]
        assert all(a <= b for a, b in pairwise(later))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("d + INTERVAL 3 MONTH", "ADD_MONTHS(d, 3)"),
        ("d - INTERVAL '2' YEAR", "ADD_MONTHS(d, -24)"),
        ("d + INTERVAL 1 QUARTER", "ADD_MONTHS(d, 3)"),
        ("d - INTERVAL 2 WEEKS", "ADD_DAYS(d, -14)"),
        ("DATE_ADD(d, INTERVAL 1 MONTH)", "ADD_MONTHS(d, 1)"),
        ("DATE_SUB(d, INTERVAL 1 DAY)", "ADD_DAYS(d, -1)"),
        ("DATEADD(month, 5, d)", "ADD_MONTHS(d, 5)"),
        ("m - INTERVAL '90 minutes'", "ADD_SECONDS(m, -5400)"),
        ("d + INTERVAL 3 HOUR", "ADD_SECONDS(d, 10800)"),
        ("DATEADD('second', 3, m)", "ADD_SECONDS(m, 3)"),
        ("'2024-01-31' + INTERVAL 1 MONTH", "ADD_MONTHS(DATE '2024-01-31', 1)"),
        ("EXTRACT(century FROM d)", "CENTURY(d)"),
        ("TO_CHAR(d, 'YYYY-MM')", "STRFTIME(d, '%Y-%m')"),
        ("TO_CHAR(m, 'DD.MM.YY HH24:MI %')", "STRFTIME(m, '%d.%m.%y %H:%M %%')"),
        ("REGEXP_FULL_MATCH(t, '(?i)a|b')", "REGEXP_MATCHES(t, '(?i)^(?:a|b)$')"),
    ],
)
def test_other_ways_to_write_it(text: str, same: str) -> None:
    assert read(text) == read(same)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("m + INTERVAL 'some time'", "an interval"),
        ("m + INTERVAL '1 hour or so'", "an interval"),
        ("m + INTERVAL '1 day 02:00:00'", "an interval"),
        ("m + INTERVAL '1 hour 30'", "an interval"),
        ("d + INTERVAL 1.5 MONTH", "an interval"),
        ("DATE_ADD(d)", "this DATE_ADD"),
        ("DATEADD('millennium', 3, d)", "this DATEADD"),
        ("DATEADD('month', x, d)", "not constant"),
        ("TO_CHAR(d, 'Month')", "this form of TO_CHAR"),
        ("TO_CHAR(d, '\"on\" DD')", "this form of TO_CHAR"),
    ],
)
def test_other_intervals_and_forms_are_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(Unsupported, match=words):
        expression(text)


@pytest.mark.parametrize(
    "text",
    ["ADD_MONTHS('x', 1)", "ADD_SECONDS(m, 0.5)", "ADD_SECONDS(1, 1)",
     "ADD_MONTHS(d, 1.5)", "ADD_MONTHS(d, 120001)", "STRFTIME(d, '%H')", "STRFTIME(d, '%x')",
     "STRFTIME(d, 'x')", "STRFTIME(d, '%')", "STRFTIME(d, '')", "STRFTIME('x', '%Y')", "LEAST(d, 1)",
     "LEAST(d, NULL)", "GREATEST('a', 1)", "LEAST(TRUE, FALSE)", "SPLIT_PART('a', '', 1)", "SPLIT_PART('a', 'b', 0)"],
)  # fmt: skip
def test_typing_refuses_what_does_not_fit(text: str) -> None:
    with pytest.raises(BadQuestion):
        typed(read(text), FIELDS)


@pytest.mark.parametrize("n", [1, -1, 12, -13, 4800])
def test_a_time_moves_by_as_many_months_as_its_day_and_keeps_its_clock(n: int) -> None:
    lowered = typed(read(f"ADD_MONTHS(m, {n})"), {"m": TypedColumn(Timestamp())}).lowered
    run, dice = program(lowered), Random(n)
    for _ in range(300):
        moment = datetime.min + timedelta(microseconds=dice.randrange(315_537_897_600 * 10**6))
        for x in (moment, moment.replace(day=1) - timedelta(seconds=1) if moment.year > 1 else moment):
            assert run({"m": x}) == dates.move_months(x, n)
    assert run({"m": None}) is None
    assert [run({"m": x}) for x in (datetime.min, datetime.max)] == [
        dates.move_months(x, n) for x in (datetime.min, datetime.max)
    ]


# --- text -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", sorted(_CODES))
def test_a_code_is_what_python_writes(code: str) -> None:
    assert locale.setlocale(locale.LC_TIME) in ("C", "POSIX", "en_US.UTF-8", "C.UTF-8")
    dice = Random(code)
    clock = code in "HMS"
    x = typed(Call("strftime", (Column("m" if clock else "d"), Literal(f"<%{code}>"))), FIELDS, keyed=False)
    for _ in range(300):
        day = date.fromordinal(dice.randint(1, date.max.toordinal()))
        moment = datetime(day.year, day.month, day.day, dice.randrange(24), dice.randrange(60), dice.randrange(60))
        said = {"Y": f"{day.year:04}", "F": day.isoformat()}.get(code) or moment.strftime(f"%{code}")
        assert evaluate(x.lowered, {"d": day, "m": moment}) == f"<{said}>"


def test_months_as_text_are_keys() -> None:
    year = {"d": TypedColumn(Date(date(2024, 1, 1), date(2024, 12, 31)), nullable=False)}
    keys = typed(read("STRFTIME(d, '%Y-%m')"), year).keys
    assert keys == tuple(f"2024-{month:02}" for month in range(1, 13))


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        (call("date_trunc", "century", col("day")), "unit"),
        (call("date_trunc", "hour", col("day")), "time"),
        (call("date_trunc", col("name"), col("day")), "constant text"),
        (call("date_diff", "eon", col("day"), col("day")), "unit"),
        (call("hour", col("day")), "time"),
        (call("add_days", col("day"), col("age")), "constant"),
    ],
)
def test_refused_by_typing(asked: Expression, word: str) -> None:
    with pytest.raises(BadQuestion, match=re.escape(word)) as caught:
        typed(asked, surface.FIELDS)
    assert len(str(caught.value)) < 400
