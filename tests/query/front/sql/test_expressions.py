"""Expressions of SQL, and what they become in the plan."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from discreet.query.functions.catalogue import FUNCTIONS, PARTS
from discreet.query.plan.expressions import Call, Expression, Literal
from tests.helpers.sql_questions import call, number, where

EXPRESSIONS: list[tuple[str, Expression]] = [
    ("cost + 1 > 2 * 3", call("gt", call("add", "cost", 1), call("mul", 2, 3))),
    ("cost / 2 - 1 = -1", call("eq", call("sub", call("div", "cost", 2), 1), number(-1))),
    ("-cost < +1", call("lt", call("neg", "cost"), 1)),
    ("cost // 2 = cost % 3", call("eq", call("quotient", "cost", 2), call("mod", "cost", 3))),
    ("cost <> 1.50", call("ne", "cost", number("1.5"))),
    ("cost != 1e3", call("ne", "cost", 1000)),
    ("cost != 1_000", call("ne", "cost", 1000)),
    ("NOT paid", call("not", "paid")),
    ("paid AND paid AND NOT paid", call("and", "paid", "paid", call("not", "paid"))),
    ("paid AND paid OR paid", call("or", call("and", "paid", "paid"), "paid")),
    ("paid = TRUE", call("eq", "paid", Literal(True))),
    ("paid IS TRUE", call("coalesce", "paid", Literal(False))),
    ("paid IS NOT FALSE", call("not", call("coalesce", call("not", "paid"), Literal(False)))),
    ("note IS NULL", call("is_null", "note")),
    ("note IS NOT NULL", call("not", call("is_null", "note"))),
    ("year IN (2024, 2025)", call("in", "year", 2024, 2025)),
    ("clinic NOT IN ('a')", call("not", call("in", "clinic", Literal("a")))),
    ("cost BETWEEN 1 AND 2", call("and", call("ge", "cost", 1), call("le", "cost", 2))),
    ("cost NOT BETWEEN 1 AND 2", call("not", call("and", call("ge", "cost", 1), call("le", "cost", 2)))),
    ("note LIKE 'a%'", call("like", "note", Literal("a%"))),
    ("note NOT LIKE 'it''s'", call("not", call("like", "note", Literal("it's")))),
    ("note ILIKE 'a_'", call("ilike", "note", Literal("a_"))),
    ("note NOT ILIKE 'a_'", call("not", call("ilike", "note", Literal("a_")))),
    ("CASE WHEN paid THEN year = 1 END", call("case", "paid", call("eq", "year", 1), Literal(None))),
    (
        "CASE year WHEN 1 THEN paid WHEN 2 THEN NOT paid ELSE FALSE END",
        call("case", call("eq", "year", 1), "paid", call("eq", "year", 2), call("not", "paid"), Literal(False)),
    ),
    ("IF(paid, paid, paid)", call("case", "paid", "paid", "paid")),
    ("day = DATE '2024-02-29'", call("eq", "day", Literal(date(2024, 2, 29)))),
    ("day = CAST('2024-02-29' AS DATE)", call("eq", "day", Literal(date(2024, 2, 29)))),
    ("at < TIMESTAMP '2024-02-29 12:30:00'", call("lt", "at", Literal(datetime(2024, 2, 29, 12, 30)))),
    ("EXTRACT(month FROM day) = 2", call("eq", call("month", "day"), 2)),
    ("EXTRACT(isodow FROM day) = 2", call("eq", call("day_of_week", "day"), 2)),
    ("EXTRACT(dow FROM day) = 0", call("eq", call("mod", call("day_of_week", "day"), 7), 0)),
    ("DATE_PART('year', day) = 2", call("eq", call("year", "day"), 2)),
    ("DATE_TRUNC('MONTH', day) = day", call("eq", call("date_trunc", Literal("month"), "day"), "day")),
    ("DATE_TRUNC(week, day) = day", call("eq", call("date_trunc", Literal("week"), "day"), "day")),
    ("DATE_DIFF('day', day, at) > 3", call("gt", call("date_diff", Literal("day"), "day", "at"), 3)),
    ("day + INTERVAL 3 DAY > day", call("gt", call("add_days", "day", 3), "day")),
    ("day - INTERVAL '2' WEEKS > day", call("gt", call("add_days", "day", -14), "day")),
    ("CAST(note AS INTEGER) > 1", call("gt", call("cast_integer", "note"), 1)),
    ("TRY_CAST(note AS BIGINT) > 1", call("gt", call("cast_integer", "note"), 1)),
    ("note::int > 1", call("gt", call("cast_integer", "note"), 1)),
    ("CAST(cost AS DECIMAL(10, 2)) > 1", call("gt", call("cast_decimal", "cost", 2, 10), 1)),
    ("CAST(cost AS DECIMAL) > cost::NUMERIC(9)", call("gt", call("cast_decimal", "cost"),
                                                      call("cast_decimal", "cost", 0, 9))),
    ("CAST(cost AS DOUBLE) > 1", call("gt", call("cast_real", "cost"), 1)),
    ("CAST(year AS VARCHAR) = 'x'", call("eq", call("cast_text", "year"), Literal("x"))),
    ("CAST(note AS DATE) = day", call("eq", call("cast_date", "note"), "day")),
    ("CAST(day AS TIMESTAMP) = at", call("eq", call("cast_timestamp", "day"), "at")),
    ("CAST(year AS BOOLEAN)", call("cast_boolean", "year")),
    ("note || clinic || 'x' = 'y'", call("eq", call("concat", "note", "clinic", Literal("x")), Literal("y"))),
    (
        "CONCAT(note, 'x') = 'y'",
        call("eq", call("concat", call("coalesce", call("cast_text", "note"), Literal("")), Literal("x")),
             Literal("y")),
    ),
    ("LOWER(TRIM(note)) = UPPER(LTRIM(note))", call("eq", call("lower", call("trim", "note")),
                                                    call("upper", call("ltrim", "note")))),
    ("TRIM(BOTH ' ' FROM note) = note", call("eq", call("trim", "note"), "note")),
    ("TRIM(TRAILING FROM note) = note", call("eq", call("rtrim", "note"), "note")),
    ("LEN(note) > LENGTH(note)", call("gt", call("length", "note"), call("length", "note"))),
    ("SUBSTRING(note FROM 2 FOR 3) = note", call("eq", call("substring", "note", 2, 3), "note")),
    ("SUBSTR(note, 2) = LEFT(note, 3)", call("eq", call("substring", "note", 2), call("left", "note", 3))),
    ("STARTS_WITH(note, 'a')", call("starts_with", "note", Literal("a"))),
    ("COALESCE(cost, 0) > NULLIF(cost, 1)", call("gt", call("coalesce", "cost", 0), call("nullif", "cost", 1))),
    ("ROUND(cost, 1) > FLOOR(cost)", call("gt", call("round", "cost", 1), call("floor", "cost"))),
    ("GREATEST(cost, 1) > LEAST(cost, 1, 2)", call("gt", call("greatest", "cost", 1), call("least", "cost", 1, 2))),
    ("WIDTH_BUCKET(cost, 0, 100, 10) = 3", call("eq", call("width_bucket", "cost", 0, 100, 10), 3)),
    ("CLAMP(cost, 0, 100) = 3", call("eq", call("clamp", "cost", 0, 100), 3)),
    ("cost = 1 IS NULL", call("is_null", call("eq", "cost", 1))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), EXPRESSIONS, ids=[text for text, _ in EXPRESSIONS])
def test_expressions(text: str, expected: Expression) -> None:
    assert where(text) == expected


def test_every_function_that_sql_makes_is_one_that_typing_knows() -> None:
    emitted = set(PARTS.values())
    emitted |= {part.function for _, tree in EXPRESSIONS for part in _calls(tree)}
    assert emitted <= set(FUNCTIONS)


def _calls(expression: Expression) -> list[Call]:
    if not isinstance(expression, Call):
        return []
    return [expression, *(inner for a in expression.arguments for inner in _calls(a))]


def test_numbers_are_exact() -> None:
    assert where("cost > 0.1") == call("gt", "cost", number("1/10"))
    assert where("cost > 123456789012345678901234567890") == call("gt", "cost", 123456789012345678901234567890)
