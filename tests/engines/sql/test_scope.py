"""A piece that is needed twice is written once, under a name."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from typing import Any

import duckdb as driver
import pytest

from discreet.engines.experimental.sqlserver import SQLSERVER
from discreet.engines.sql.dialects import DUCKDB, Sort
from discreet.engines.sql.primitives import write
from discreet.engines.sql.scope import (
    NOTHING,
    UNBOUNDED,
    Piece,
    Scope,
    as_condition,
    as_value,
    condition,
    constant,
    truth,
    typed,
)
from tests.helpers.works import X, f


def test_a_named_piece_means_the_same() -> None:
    scope = Scope(DUCKDB, {"x": Piece('"c0"', Sort.INTEGER, simple=True)})
    nested = f("round_div", f("greatest", f("least", f("add", X, 1), f("neg", X)), f("round_div", X, 3)), 2)
    piece = write(nested, scope)
    sql = f"SELECT {piece.sql} FROM {scope.around('(SELECT unnest([-9, -4, 0, 5, 8, NULL]) AS c0)')} AS t"
    # x: least(x + 1, -x), greatest(that, x / 3 rounded), half of it, halves away from zero
    assert driver.execute(sql).fetchall() == [(-2,), (-1,), (0,), (1,), (2,), (None,)]


def test_names_of_pieces_are_free_whatever_the_columns_are_called() -> None:
    scope = Scope(DUCKDB, {"x": Piece('"X0_0"', Sort.INTEGER, simple=True)})
    named = scope.named(Piece('("X0_0" + 1)', Sort.INTEGER))
    assert named.sql == '"x_0_0"'
    assert scope.named(Piece('("X0_0" + 1)', Sort.INTEGER)) == named, "the same text has the same name"
    assert scope.named(Piece("7", Sort.INTEGER, simple=True)).sql == "7"


def test_pieces_of_pieces_stand_in_further_selects() -> None:
    scope = Scope(DUCKDB, {})
    first = scope.named(Piece("(1 + 1)", Sort.INTEGER))
    second = scope.named(Piece(f"({first.sql} * 3)", Sort.INTEGER, level=first.level))
    assert (first.level, second.level) == (1, 2)
    assert driver.execute(f"SELECT {second.sql} FROM {scope.around('(SELECT 0 AS c0)')} AS t").fetchall() == [(6,)]


@pytest.mark.parametrize(
    ("value", "sort", "reach"),
    [
        (True, Sort.BOOLEAN, 1),
        (-7, Sort.INTEGER, 7),
        (Fraction(6, 2), Sort.INTEGER, 3),
        (Fraction(1, 2), Sort.REAL, UNBOUNDED),
        ("a", Sort.TEXT, UNBOUNDED),
        (datetime(2024, 1, 1), Sort.TIMESTAMP, UNBOUNDED),
        (date(2024, 1, 1), Sort.DATE, UNBOUNDED),
    ],
)
def test_a_constant_knows_what_it_is(value: Any, sort: Sort, reach: int) -> None:
    piece = constant(value, DUCKDB)
    assert (piece.sort, piece.reach, piece.simple) == (sort, reach, True)
    assert constant(None, DUCKDB) is NOTHING


def test_where_conditions_are_no_values_they_are_turned_into_one_another() -> None:
    plain, condition_ = truth("(a = b)", DUCKDB), truth("(a = b)", SQLSERVER)
    assert (plain.condition, condition_.condition) == (False, True)
    assert as_value(plain, DUCKDB).sql == as_condition(plain, DUCKDB) == "(a = b)"
    assert as_condition(condition_, SQLSERVER) == "(a = b)"
    bit = as_value(condition_, SQLSERVER)
    assert bit.sql == "CASE WHEN (a = b) THEN CAST(1 AS BIT) WHEN NOT (a = b) THEN CAST(0 AS BIT) END"
    assert as_condition(bit, SQLSERVER) == f"({bit.sql} = 1)"
    assert (condition(NOTHING, DUCKDB), condition(NOTHING, SQLSERVER)) == ("FALSE", "(1 = 0)")
    assert typed(NOTHING, DUCKDB) == "CAST(NULL AS BIGINT)"
