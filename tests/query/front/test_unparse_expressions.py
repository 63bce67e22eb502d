"""Expressions as SQL text: read again, the text is the same expression."""

from __future__ import annotations

from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import Unsupported
from discreet.query.front.unparse_expressions import aggregated, expressed, identified, tight
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Aggregate, Measure
from tests.helpers.sql_questions import call, number, where

SPELLED = {"cost": "cost", "year": "year", "note": "note", "paid": "paid"}


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (call("sub", "cost", call("sub", "year", 1)), "cost - (year - 1)"),
        (call("sub", call("sub", "cost", "year"), 1), "cost - year - 1"),
        (call("mul", call("add", "cost", 1), "year"), "(cost + 1) * year"),
        (call("add", call("mul", "cost", 2), "year"), "cost * 2 + year"),
        (call("neg", call("add", "cost", 1)), "-(cost + 1)"),
        (call("abs", call("sub", "cost", "year")), "ABS(cost - year)"),
    ],
)
def test_parentheses_stand_where_they_are_needed_and_nowhere_else(expression: Expression, text: str) -> None:
    assert expressed(expression, SPELLED) == text
    assert where(f"{text} > 0") == call("gt", expression, 0)


def test_tight_text_may_stand_beside_any_operator() -> None:
    both = call("add", "cost", 1)
    assert tight(both, SPELLED) == "(cost + 1)"
    assert tight(Column("cost"), SPELLED) == "cost"
    assert where(f"{tight(both, SPELLED)} * 2 > 0") == call("gt", call("mul", both, 2), 0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        ("it's", "'it''s'"),
        (date(2024, 2, 29), "DATE '2024-02-29'"),
        (datetime(2024, 2, 29, 12, 30), "TIMESTAMP '2024-02-29 12:30:00'"),
        (Fraction(-5, 2), "-2.5"),
        (Fraction(1, 1000), "0.001"),
        (Fraction(7), "7"),
    ],
)
def test_constants(value: Any, text: str) -> None:
    assert expressed(Literal(value), {}) == text
    assert where(f"note = {text}") == call("eq", "note", Literal(value))


@pytest.mark.parametrize("value", ["1/100000000000000000000000000000000000000000000000000", 10**55, "-1/1099511627776"])
def test_numbers_keep_every_digit(value: int | str) -> None:
    assert where(f"cost < {expressed(number(value), {})}") == call("lt", "cost", number(value))


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(1, 1 << 300), datetime(2024, 1, 1, tzinfo=UTC)])
def test_constants_without_an_exact_text_are_refused(value: Any) -> None:
    with pytest.raises(Unsupported, match="as SQL text"):
        expressed(Literal(value), {})


def test_a_primitive_has_no_text() -> None:
    with pytest.raises(Unsupported, match="read_real"):
        expressed(Call("read_real", (Column("cost"),)), SPELLED)


@pytest.mark.parametrize("name", ["clinic", "order", "a b", 'q"q', "é", "1st"])
def test_names_have_quotes_where_they_need_them(name: str) -> None:
    assert (identified(name) == name) == (name == "clinic")
    assert identified('q"q') == '"q""q"'


def test_aggregates() -> None:
    cost = (Column("cost"),)
    for measure, text in [
        (Measure("n", Aggregate.COUNT), "COUNT(*)"),
        (Measure("n", Aggregate.COUNT_UNITS, cost), "COUNT(DISTINCT cost)"),
        (Measure("n", Aggregate.QUANTILE, cost, level=Fraction(1, 2)), "MEDIAN(cost)"),
        (Measure("n", Aggregate.QUANTILE, cost, level=Fraction(9, 10)), "QUANTILE(cost, 0.9)"),
        (Measure("n", Aggregate.SUM, cost, Column("paid")), "SUM(cost) FILTER (WHERE paid)"),
    ]:
        assert aggregated(measure, SPELLED) == text
