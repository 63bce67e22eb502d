"""Durations: differences of times and INTERVAL, on every engine as in plain Python."""

from __future__ import annotations

from datetime import datetime, timedelta
from fractions import Fraction
from itertools import product

import pytest

import discreet as dp
from discreet.engines.memory.row import evaluate as oracle
from discreet.errors import BadQuestion
from discreet.query.functions.typed_values import TypedColumn
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.types import Duration, Number, Timestamp
from discreet.query.typing.infer import typed
from tests.helpers.examples import read

FIELDS = {"a": TypedColumn(Timestamp()), "b": TypedColumn(Timestamp()), "n": TypedColumn(Number(Fraction(1), 0, 9))}
MOMENTS = [
    None, datetime.min, datetime(2024, 2, 29), datetime(2024, 2, 29, 0, 0, 0, 1), datetime(2024, 3, 2, 0, 0, 0, 1),
    datetime(2024, 3, 1, 23, 59, 59, 999_999), datetime(2025, 2, 28, 12), datetime.max,
]  # fmt: skip
PAIRS = list(product(MOMENTS, repeat=2))
TWO_DAYS = timedelta(days=2)


def over(text: str, a: datetime | None, b: datetime | None) -> object:
    """The value of a text, the same by both evaluators."""
    lowered = typed(read(text), FIELDS).lowered
    row = {"a": a, "b": b, "n": 1}
    found = evaluate(lowered, row)
    assert oracle(lowered, row) == found
    return found


def towards_zero(x: timedelta, unit: timedelta) -> int:
    return abs(x) // unit * (1 if x >= timedelta(0) else -1)


@pytest.mark.parametrize(
    ("sign", "holds"),
    [
        (">", lambda d: d > TWO_DAYS),
        (">=", lambda d: d >= TWO_DAYS),
        ("<", lambda d: d < TWO_DAYS),
        ("=", lambda d: d == TWO_DAYS),
    ],
)
def test_a_comparison_with_an_interval_is_exact_to_the_microsecond(sign: str, holds: object) -> None:
    far = {datetime.max}  # two days later than the last moment there is none
    for a, b in PAIRS:
        wanted = None if a is None or b is None else holds(a - b)  # type: ignore[operator]
        assert over(f"a - b {sign} INTERVAL '2 days'", a, b) is wanted or {a, b} <= far
        assert over(f"INTERVAL '1 day 24 hours' {_turned(sign)} a - b", a, b) is wanted or {a, b} <= far


def _turned(sign: str) -> str:
    return sign.translate(str.maketrans("<>", "><"))


@pytest.mark.parametrize(
    ("text", "unit", "per"),
    [
        ("EXTRACT(EPOCH FROM a - b)", timedelta(seconds=1), None),
        ("EXTRACT(DAY FROM a - b)", timedelta(days=1), None),
        ("EXTRACT(HOUR FROM a - b)", timedelta(hours=1), 24),
        ("EXTRACT(MINUTE FROM a - b)", timedelta(minutes=1), 60),
        ("DATE_PART('second', a - b)", timedelta(seconds=1), 60),
        ("TIMESTAMPDIFF('hour', b, a)", timedelta(hours=1), None),
        ("DATESUB('week', b, a)", timedelta(days=7), None),
    ],
)
def test_parts_of_a_difference(text: str, unit: timedelta, per: int | None) -> None:
    for a, b in PAIRS:
        if a is None or b is None:
            assert over(text, a, b) is None
            continue
        whole = towards_zero(a - b, unit)
        assert over(text, a, b) == (whole if per is None else abs(whole) % per * (1 if whole >= 0 else -1))


def full_months(x: datetime, y: datetime) -> int:
    """By counting: the last month after x (or before it) that has not begun beyond y, to the second."""
    sign = 1 if y >= x else -1
    months = abs((y.year - x.year) * 12 + y.month - x.month)
    first, second = ((z.day, z.hour, z.minute, z.second) for z in (x, y))
    return sign * (months - (second < first if sign > 0 else second > first))


@pytest.mark.parametrize(("unit", "per"), [("month", 1), ("quarter", 3), ("year", 12)])
def test_full_months_quarters_and_years(unit: str, per: int) -> None:
    for a, b in PAIRS:
        if a is None or b is None:
            continue
        months = full_months(b, a)
        assert over(f"TIMESTAMPDIFF('{unit}', b, a)", a, b) == abs(months) // per * (1 if months >= 0 else -1)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("INTERVAL '1 day 90 minutes'", 91_800), ("INTERVAL '-2 hours'", -7_200), ("INTERVAL 3 WEEK", 1_814_400),
        ("INTERVAL '01:02:03'", 3_723), ("INTERVAL '2' DAY", 172_800),
        ("INTERVAL '1 hour' - INTERVAL '1 minute'", 3_540),
    ],
)  # fmt: skip
def test_intervals(text: str, seconds: int) -> None:
    found = typed(read(text), {})
    assert isinstance(found.kind, Duration)
    assert evaluate(found.lowered, {}) == seconds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(a - b) * 2 > 1", "EXTRACT\\(EPOCH FROM x\\)"),
        ("a - b > 5", "a duration cannot be compared with a number"),
        ("n > INTERVAL '1 day'", "by a number of days"),
        ("a - b > INTERVAL '1 month'", "INTERVAL '30 days'"),
        ("EXTRACT(YEAR FROM a - b) = 1", "needs a date or a time|of a duration"),
        ("(a - b) + n > INTERVAL '1 day'", "added to durations only"),
        ("TIMESTAMPDIFF('decade', a, b) = 1", "the unit of this TIMESTAMPDIFF"),
    ],
)
def test_refused_by_name(text: str, said: str) -> None:
    with pytest.raises(BadQuestion, match=said):
        typed(read(text), FIELDS)


def test_choices_of_durations_are_durations() -> None:
    found = typed(read("COALESCE(a - b, INTERVAL '1 day')"), FIELDS)
    assert isinstance(found.kind, Duration)
    assert evaluate(found.lowered, {"a": None, "b": None}) == 86_400


def test_totals_of_durations_are_seconds() -> None:
    start = [datetime(2025, 1, day) for day in (1, 2, 3)]
    january = dp.bounds("2025-01-01", "2025-01-31")
    rows = {"id": [1, 2, 3], "a": [m + timedelta(hours=2) for m in start], "b": start}
    stays = dp.table(rows, unit="id", max_rows=1, columns={"a": january, "b": january})
    session = dp.Session(stays=stays, budget=dp.Pure(10**9))
    answer = session.sql(
        "SELECT AVG(a - b) AS mean, EPOCH(AVG(a - b)) / 3600 AS hours, MAX(a) - MIN(b) > INTERVAL '1 day' AS long "
        "FROM stays"
    ).release(epsilon=10**8)
    (row,) = answer.rows
    assert row["mean"] == pytest.approx(7200, abs=5)
    assert row["hours"] == pytest.approx(2, abs=0.01)
    assert row["long"] is True
