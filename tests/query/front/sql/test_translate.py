"""Calls of other databases, as calls of ours."""

from __future__ import annotations

import pytest

from discreet.errors import Unsupported
from discreet.query.front.sql import parse
from discreet.query.front.sql.dialects import spelling_of
from discreet.query.front.sql.parse import question
from discreet.query.plan.nodes import Question
from tests.helpers.sql_questions import TABLES


def asked(select: str, dialect: str | None = None) -> Question:
    tree = parse._select(f"SELECT COUNT(*) AS n FROM visits WHERE {select}", TABLES, dialect)
    return parse._question(tree, parse._Known(TABLES, {}))


SAME = [
    (
        None,
        "clinic = ANY (ARRAY['a', 'b']) AND cost <> ALL(ARRAY[1, 2])",
        "clinic IN ('a', 'b') AND cost NOT IN (1, 2)",
    ),
    (None, "POSITION('a' IN note) > 0", "STRPOS(note, 'a') > 0"),
    (
        None,
        "at > TO_TIMESTAMP('2025-01-02 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')",
        "at > TIMESTAMP '2025-01-02'",
    ),
    (None, "day > TO_DATE('2025-01-02', 'YYYY-MM-DD')", "day > DATE '2025-01-02'"),
    (None, "day > PARSE_DATE('%Y-%m-%d', '2025-01-02')", "day > DATE '2025-01-02'"),
    (None, "at > TIMESTAMP '2025-01-02' + (INTERVAL '-1 year')", "at > TIMESTAMP '2025-01-02' - INTERVAL 1 YEAR"),
    (None, "DATE_TRUNC(at, MONTH) = at", "DATE_TRUNC('month', at) = at"),
    (None, "DATE_TRUNC(day, MONTH) = day", "DATE_TRUNC('month', day) = day"),
    (None, "DATE_TRUNC(month, day) = day", "DATE_TRUNC('month', day) = day"),
    (None, "DATE_TRUNC('MONTH', day) = day", "DATE_TRUNC('month', day) = day"),
    (None, "DATE_TRUNC(at, ISOWEEK) = at", "DATE_TRUNC('week', at) = at"),
    (None, "DATE_TRUNC(at, WEEK(MONDAY)) = at", "DATE_TRUNC('week', at) = at"),
    (None, "DATE_TRUNC(at, WEEK) = at", "ADD_DAYS(DATE_TRUNC('week', ADD_DAYS(at, 1)), -1) = at"),
    (None, "TIMESTAMP_TRUNC(at, HOUR, 'UTC') = at", "DATE_TRUNC('hour', at) = at"),
    (None, "TRUNC(day, 'MM') = day", "DATE_TRUNC('month', day) = day"),
    (None, "TRUNC(cost) = 1", "TRUNC(cost) = 1"),
    (None, "DATE_DIFF(at, day, DAY) = 1", "DATE_DIFF('day', day, at) = 1"),
    (None, "DATE_DIFF('day', at, day) = 1", "DATE_DIFF('day', at, day) = 1"),
    (None, "DATEDIFF(dd, at, day) = 1", "DATE_DIFF('day', at, day) = 1"),
    (None, "DATEDIFF(at, day) = 1", "DATE_DIFF('day', day, at) = 1"),
    (None, "DATE_DIFF(at, day, WEEK) = 1", "DATE_DIFF('week', ADD_DAYS(day, 1), ADD_DAYS(at, 1)) = 1"),
    ("tsql", "DATEDIFF(week, at, day) = 1", "DATE_DIFF('week', ADD_DAYS(at, 1), ADD_DAYS(day, 1)) = 1"),
    ("snowflake", "DATEDIFF(week, at, day) = 1", "DATE_DIFF('week', at, day) = 1"),
    (None, "TIMESTAMP_DIFF(at, day, HOUR) = 1", "TIMESTAMPDIFF('hour', day, at) = 1"),
    (None, "DATEADD(mm, 2, day) = day", "DATEADD('month', 2, day) = day"),
    (None, "DATE_ADD(day, 7) = day", "ADD_DAYS(day, 7) = day"),
    (None, "DATE_SUB(day, 7) = day", "ADD_DAYS(day, -7) = day"),
    (None, "DATE_SUB(day, INTERVAL 1 MONTH) = day", "day - INTERVAL 1 MONTH = day"),
    (None, "DATEPART(yy, day) = 1", "YEAR(day) = 1"),
    ("tsql", "DATEPART(weekday, day) = 1", "DAYOFWEEK(day) + 1 = 1"),
    ("bigquery", "EXTRACT(DAYOFWEEK FROM day) = 1", "DAYOFWEEK(day) + 1 = 1"),
    (None, "EXTRACT(DAYOFWEEK FROM day) = 1", "DAYOFWEEK(day) = 1"),
    (None, "EXTRACT(ISOWEEK FROM day) = 1", "WEEK(day) = 1"),
    (None, "EXTRACT(DATE FROM at) = day", "CAST(at AS DATE) = day"),
    ("spark", "DAYOFWEEK(day) = 1", "DAYOFWEEK(CAST(day AS DATE)) + 1 = 1"),
    ("mysql", "WEEKDAY(day) = 1", "DAY_OF_WEEK(CAST(day AS DATE)) - 1 = 1"),
    (None, "EXTRACT(YEAR FROM AGE(at, day)) = 1", "TIMESTAMPDIFF('year', day, at) = 1"),
    (None, "DATE_PART('month', AGE(at, day)) = 1", "TIMESTAMPDIFF('month', day, at) % 12 = 1"),
    (None, "CONVERT(int, note) = 1", "CAST(note AS BIGINT) = 1"),
    (None, "CONVERT(varchar(7), at, 23) = 'a'", "LEFT(STRFTIME(at, '%Y-%m-%d'), 7) = 'a'"),
    (None, "CONVERT(decimal(10, 2), cost) = 1", "CAST(cost AS DECIMAL(10, 2)) = 1"),
]


@pytest.mark.parametrize(("dialect", "text", "ours"), SAME, ids=[f"{d}: {t}" for d, t, _ in SAME])
def test_the_same_question(dialect: str | None, text: str, ours: str) -> None:
    assert asked(text, dialect).source == question(f"SELECT COUNT(*) AS n FROM visits WHERE {ours}", TABLES).source


@pytest.mark.parametrize(
    ("dialect", "text", "said"),
    [
        ("bigquery", "EXTRACT(WEEK FROM day) = 1", "use ISOWEEK"),
        ("mysql", "note LIKE 'a\\\\_b'", "a backslash in a pattern"),
        (None, "CONVERT(xml, note) = 'a'", "this CONVERT"),
        (None, "CONVERT(varchar(7), day, 5) = 'a'", "this style of CONVERT"),
        (None, "EXTRACT(DAY FROM AGE(at, day)) = 1", "this part of AGE"),
    ],
)
def test_refused_by_name(dialect: str | None, text: str, said: str) -> None:
    with pytest.raises(Unsupported, match=said):
        asked(text, dialect)


def test_the_default_has_no_weeks_from_sunday() -> None:
    assert not spelling_of(None).from_sunday
