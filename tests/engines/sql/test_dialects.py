"""Quoting: every text, name and constant comes back as it was, or is refused."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from typing import Any

import duckdb as driver
import pytest
import sqlglot
import sqlglot.expressions as exp
from hypothesis import given, settings

from discreet.engines.sql.dialects import DUCKDB, POSTGRES, SPARK
from discreet.errors import Unsupported
from tests.helpers.works import ANY_TEXT, DIALECTS


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(ANY_TEXT)
def test_text_comes_back_as_it_was(text: str) -> None:
    assert driver.execute(f"SELECT {DUCKDB.text(text)}").fetchall() == [(text,)]
    (literal,) = sqlglot.parse_one(f"SELECT {SPARK.text(text)}", dialect="spark").expressions
    assert isinstance(literal, exp.Literal)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(ANY_TEXT.filter(lambda text: text and "\0" not in text))
def test_a_name_comes_back_as_it_was(name: str) -> None:
    assert driver.execute(f"SELECT 1 AS {DUCKDB.identifier(name)}").description[0][0] == name
    for dialect in (POSTGRES, SPARK):
        (column,) = sqlglot.parse_one(f"SELECT 1 AS {dialect.identifier(name)}", dialect=dialect.name).expressions
        assert column.alias == name


def test_what_cannot_be_written_is_refused() -> None:
    for dialect in DIALECTS:
        for value in ("\ud800", 1 << 63, -(1 << 63) - 1, Fraction(1, 3)):
            with pytest.raises(Unsupported):
                dialect.literal(value)
        with pytest.raises(Unsupported):
            dialect.identifier("a\0b")
    with pytest.raises(Unsupported):
        POSTGRES.text("a\0b")


@pytest.mark.parametrize(
    "value",
    [0, -1, (1 << 63) - 1, -(1 << 63), True, False, None, date.min, date.max, datetime.min, datetime.max,
     Fraction(-3, 4), Fraction(7)],
)  # fmt: skip
def test_a_constant_comes_back_as_it_was(value: Any) -> None:
    assert driver.execute(f"SELECT {DUCKDB.literal(value)}").fetchall() == [(value,)]


@pytest.mark.parametrize(
    "value", [5e-324, 1.7976931348623157e308, -0.0, 0.1, float("inf"), float("-inf"), float("nan")]
)
def test_a_double_comes_back_as_it_was(value: float) -> None:
    ((found,),) = driver.execute(f"SELECT {DUCKDB.real(value)}").fetchall()
    assert repr(found) == repr(value)
