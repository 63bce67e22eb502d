"""Primitives in SQL: every one in every dialect; NULL of no type; the text grows no faster than the question."""

from __future__ import annotations

from itertools import product

import duckdb as driver
import pytest
import sqlglot
import sqlglot.expressions as exp

from discreet.engines.sql.dialects import COMMON, DUCKDB, POSTGRES, SPARK, Dialect, Sort
from discreet.engines.sql.primitives import WRITTEN, is_one_of, write
from discreet.engines.sql.scope import Piece, Scope
from discreet.query.plan.expressions import Column, Expression
from discreet.query.plan.primitives import PRIMITIVES
from tests.helpers.works import DIALECTS, EXPERIMENTAL, PARSERS, X, f

OF_THREE = {"regexp_extract", "regexp_replace_first", "regexp_replace_all", "unnest", "unnest_outer", "element"}
"""What other databases refuse by name; Spark has no word for the first match alone."""


def test_every_primitive_is_written_in_every_dialect() -> None:
    assert WRITTEN == PRIMITIVES
    words = set(DUCKDB.templates) | set(POSTGRES.templates) | set(SPARK.templates)
    for dialect in DIALECTS:
        assert words - set(dialect.templates) <= {"in_many"} | OF_THREE
        assert set(COMMON) <= set(dialect.templates)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS + EXPERIMENTAL, ids=lambda d: d.name)
@pytest.mark.parametrize("function", ["least", "greatest", "div", "round_div", "floor_div", "ceil_div", "add_days"])
def test_the_text_grows_with_the_question_and_no_faster(function: str, dialect: Dialect) -> None:
    def text(depth: int) -> str:
        day = function == "add_days"
        scope = Scope(dialect, {"x": Piece('"c0"', Sort.DATE if day else Sort.INTEGER, simple=True)})
        nested: Expression = X
        for n in range(depth):
            nested = f(function, f("add_days", nested, 1) if day else f("add", nested, n), 3)
        piece = write(nested, scope)
        return f"SELECT {piece.sql} AS r FROM {scope.around('(SELECT 1 AS c0)')} AS t"

    assert len(text(40)) < 50 * len(text(1))
    assert isinstance(sqlglot.parse_one(text(5), dialect=PARSERS.get(dialect.name, dialect.name)), exp.Select)


def test_functions_of_nothing_are_nothing() -> None:
    scope = Scope(POSTGRES, {"x": Piece('"c0"', Sort.INTEGER, simple=True), "n": Piece('"c1"', Sort.NULL, simple=True)})
    for nothing in (
        f("abs", None),
        f("lower", Column("n")),
        f("year", None),
        f("least", X, None),
        f("like", None, "a%"),
    ):
        assert write(nothing, scope).sql == "NULL"
    assert write(f("coalesce", Column("n"), X), scope).sort is Sort.INTEGER


@pytest.mark.slow
@pytest.mark.parametrize(
    "function",
    [
        "add",
        "sub",
        "mul",
        "neg",
        "abs",
        "sign",
        "div",
        "mod",
        "least",
        "greatest",
        "round_div",
        "floor_div",
        "ceil_div",
    ],
)
def test_no_integer_is_farther_from_0_than_its_reach(function: str) -> None:
    """Products in 64 bits stand on it. Values are taken at the ends of what is declared."""
    literal = function.endswith("_div")
    for a, b in product([1, 2, 7, 1000], [1, 3, 7]):
        columns = {name: Piece(f'"{name}"', Sort.INTEGER, reach, simple=True) for name, reach in (("x", a), ("y", b))}
        scope = Scope(DUCKDB, columns)
        arguments = (X, b) if literal else (X,) if function in ("neg", "abs", "sign") else (X, Column("y"))
        piece = write(f(function, *arguments), scope)
        for x, y in product([-a, -1, 0, 1, a], [-b, 0, b]):
            rows = f"(SELECT CAST({x} AS BIGINT) AS x, CAST({y} AS BIGINT) AS y)"
            ((found,),) = driver.execute(f"SELECT {piece.sql} FROM {scope.around(rows)} AS t").fetchall()
            assert found is None or abs(found) <= piece.reach


def test_a_long_list_of_constants_is_one_text() -> None:
    scope = Scope(DUCKDB, {"x": Piece('"x"', Sort.INTEGER, simple=True)})
    many = is_one_of(scope, scope.columns["x"], *range(0, 3000, 2)).sql
    assert "'0\ue0002\ue0004" in many
    rows = driver.execute(f"SELECT {many} FROM (VALUES (4), (5), (2998), (3000), (NULL)) AS t(x)").fetchall()
    assert rows == [(True,), (False,), (True,), (False,), (None,)]
