"""Conditions and keys see stored values; what is aggregated is within its declared bounds."""

from datetime import date, datetime
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

import discreet as dp
from discreet.query.functions.typed_values import Typed, TypedColumn
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.types import LARGEST, Date, Number, Text, Timestamp
from discreet.query.typing.declared_bounds import bounded, declared_kind, notes
from discreet.query.typing.infer import typed

WHOLE = Number(Fraction(1), -LARGEST, LARGEST)
FIELDS = {
    "a": TypedColumn(WHOLE, declared=Number(Fraction(1), 0, 98)),
    "b": TypedColumn(WHOLE, declared=Number(Fraction(1), -5, 5)),
    "x": TypedColumn(Number(Fraction(1, 2**24), -(2**59), 2**59), declared=Number(Fraction(1, 2**24), 0, 100 * 2**24)),
    "day": TypedColumn(Date(), declared=Date(date(2024, 1, 1), date(2024, 12, 31))),
    "word": TypedColumn(Text(), declared=Text(3)),
}
CODES = [7 if n % 4 else 99 for n in range(40)] + [40] * 40
ROWS = {"id": list(range(80)), "h": CODES, "word": ["ab", "abcdef"] * 40,
        "day": [date(2024, 3, 1), date(2031, 1, 1)] * 40}  # fmt: skip


def call(name: str, *arguments: Any) -> Call:
    return Call(name, tuple(a if isinstance(a, Expression) else Literal(a) for a in arguments))


def session() -> dp.Session:
    columns = {"h": dp.bounds(0, 98), "word": dp.keys(["ab", "b"]), "day": dp.bounds("2024-01-01", "2024-12-31")}
    return dp.Session(t=dp.table(ROWS, unit="id", columns=columns), budget=dp.Pure(10**15))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("SELECT COUNT(*) FROM t WHERE h <> 99", 70),
        ("SELECT COUNT(*) FROM t WHERE h * h > 98 * 98", 10),
        ("SELECT COUNT(*) FROM t WHERE h + 1 = 100", 10),
        ("SELECT COUNT(*) FILTER (WHERE h = 99) FROM t", 10),
        ("SELECT SUM(h) FROM t WHERE h <> 99", 30 * 7 + 40 * 40),
        ("SELECT SUM(h) FROM t WHERE h = 99", 10 * 98),
        ("SELECT SUM(CASE WHEN h = 99 THEN 0 ELSE h END) FROM t", 30 * 7 + 40 * 40),
        ("SELECT COUNT(DISTINCT h) FROM t", 3),
        ("SELECT COUNT(*) FROM t WHERE day > DATE '2030-01-01'", 40),
        ("SELECT COUNT(*) FROM (SELECT id, MAX(h) AS m FROM t GROUP BY id) AS s WHERE m > 98", 10),
        ("SELECT SUM(m) FROM (SELECT id, MAX(h) AS m FROM t GROUP BY id) AS s WHERE m > 98", 10 * 98),
        ("SELECT SUM(g) FROM (SELECT h + 1 AS g FROM t UNION ALL SELECT h AS g FROM t WHERE h = 99) AS s",
         30 * 8 + 40 * 41 + 10 * 99 + 10 * 99),
        ("SELECT SUM(LENGTH(word)) FROM t", 160),
        ("SELECT COUNT(*) FROM t WHERE LENGTH(word) > 5", 40),
    ],
)  # fmt: skip
def test_conditions_see_what_is_stored(asked: str, expected: int) -> None:
    found = session().sql(asked).release(epsilon=10**9).rows[0]
    assert round(next(iter(found.values()))) == expected


def test_a_value_beyond_the_bounds_is_in_no_group() -> None:
    answer = session().sql("SELECT h, COUNT(*) AS n FROM t GROUP BY h HAVING COUNT(*) > 0").release(epsilon=10**9)
    assert {row["h"]: row["n"] for row in answer.rows} == {7: 30, 40: 40}
    listed = session().sql("SELECT h, COUNT(*) AS n FROM t WHERE h IN (40, 99) GROUP BY h").release(epsilon=10**9)
    assert {row["h"]: row["n"] for row in listed.rows} == {40: 40, 99: 10}


@pytest.mark.slow
def test_a_constant_beyond_the_bounds_is_pointed_out() -> None:
    for asked in ("SELECT COUNT(*) FROM t WHERE h <> 99", "SELECT SUM(CASE WHEN h = 99 THEN 0 ELSE h END) FROM t",
                  "SELECT COUNT(*) FROM t WHERE day > '2030-01-01'"):  # fmt: skip
        query = session().sql(asked)
        assert "outside its bounds" in str(query.preview(epsilon=1))
        assert "outside its bounds" in str(query.release(epsilon=1).notes)
    assert "outside its bounds" not in str(session().sql("SELECT COUNT(*) FROM t WHERE h <= 98").preview(epsilon=1))
    clamped = session().sql("SELECT COUNT(*) FROM t WHERE h / (h + 1) > 0.5").preview(epsilon=1)
    assert "clamped to their declared bounds" in str(clamped.notes)
    assert notes(call("eq", Column("a"), True), FIELDS) == []


EDGES = [None, -(2**62), -(2**31), -6, -1, 0, 1, 5, 98, 99, 2**30 + 7, 2**62]


@pytest.mark.parametrize(
    "expression",
    [
        call("add", Column("a"), Column("b")), call("sub", Column("b"), Column("a")),
        call("mul", Column("a"), Column("b")),
        call("div", Column("a"), Column("b")), call("mod", Column("a"), Column("b")), call("quotient", Column("a"), 7),
        call("mul", call("mul", Column("a"), Column("b")), Column("a")), call("abs", call("add", Column("a"), 1)),
        call("case", call("eq", Column("a"), 99), Column("b"), call("mul", Column("a"), Literal(Fraction(1, 3)))),
        call("least", Column("a"), Column("b"), 3), call("round", call("div", Column("a"), 7), 1),
        call("clamp", Column("a"), 50, 200), call("width_bucket", Column("a"), 0, 100, 10), call("sign", Column("a")),
        call("coalesce", Column("a"), Column("b")), call("greatest", call("mul", Column("a"), 1000), Column("b")),
    ],
)  # fmt: skip
def test_both_ranges_hold_on_every_stored_value(expression: Expression) -> None:
    found = typed(expression, FIELDS)
    tight = bounded(found)
    assert isinstance(found.kind, Number)
    assert isinstance(tight.kind, Number)
    for a, b in product(EDGES, repeat=2):
        for x in (found, tight):
            cells = evaluate(x.lowered, {"a": a, "b": b})
            assert isinstance(x.kind, Number)
            assert cells is None or x.kind.low <= cells <= x.kind.high
        inside = all(v is None or 0 <= v <= 5 for v in (a, b))
        if inside:
            assert evaluate(found.lowered, {"a": a, "b": b}) == evaluate(tight.lowered, {"a": a, "b": b})


def test_the_range_of_other_kinds() -> None:
    later = typed(call("add_days", Column("day"), 1), FIELDS)
    assert declared_kind(later) == Date(date(2024, 1, 2), date(2025, 1, 1))
    assert later.kind == Date(date(1, 1, 2), date.max)
    assert evaluate(bounded(later).lowered, {"day": date(2031, 1, 1)}) == date(2025, 1, 1)
    assert typed(call("length", Column("word")), FIELDS).declared == Number(Fraction(1), 0, 3)
    assert evaluate(bounded(typed(call("lower", Column("word")), FIELDS)).lowered, {"word": "ABCDE"}) == "abc"
    moment = TypedColumn(Timestamp(), declared=Timestamp(datetime(2024, 1, 1), datetime(2024, 1, 2)))
    assert isinstance(declared_kind(typed(call("hour", Column("m")), {"m": moment})), Number)


def test_finer_grids_are_kept() -> None:
    """Three factors leave no room for all stored values: then the bounds come first, and nothing is rounded for it."""
    alone = {name: TypedColumn(declared_kind(column)) for name, column in FIELDS.items()}
    expression = call("mul", call("mul", Column("x"), Column("a")), call("add", 1, Column("a")))
    found = typed(expression, FIELDS)
    assert found.clamped
    assert isinstance(found.kind, Number)
    assert found.kind == typed(expression, alone).kind


def test_what_has_no_bounds_is_as_it_was() -> None:
    assert bounded(Typed(WHOLE, lowered=Column("a"))) == Typed(WHOLE, lowered=Column("a"))
