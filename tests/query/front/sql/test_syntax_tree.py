"""From text to a syntax tree: limits of size, nesting and time; names that are words of SQL."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from discreet.errors import BadQuestion
from discreet.query.front.sql.parse import question
from discreet.query.plan.expressions import Call, Column
from discreet.query.plan.nodes import (
    Aggregate,
    Key,
    Measure,
    Scan,
)
from tests.helpers.sql_questions import TABLES, V, read, where

WORDS = ["day", "month", "year", "date", "time", "timestamp", "key", "value", "name", "type", "user", "index", "count",
         "left", "first", "row", "rows", "range", "interval", "text", "int", "number", "level", "sum", "if",
         "current", "object", "map", "list", "format", "filter", "over", "end", "case", "group", "order",
         "select"]  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_reserved_words_can_be_columns(word: str) -> None:
    text = f'SELECT "{word}", COUNT(*), SUM(t."{word}") FROM t GROUP BY "{word}"'
    assert question(text, {"t": [word]}).keys == (Key(word, Column(word)),)


@pytest.mark.parametrize("word", WORDS[:13])
def test_common_words_need_no_quotes(word: str) -> None:
    text = f"SELECT {word}, COUNT(*) AS n, SUM({word}) FROM t WHERE {word} > 1 GROUP BY {word} ORDER BY {word}"
    assert question(text, {"t": [word]}).keys == (Key(word, Column(word)),)


def test_a_computed_key_of_a_cube_needs_parentheses() -> None:
    for sets in ("CUBE", "ROLLUP", "GROUPING SETS"):
        text = f"SELECT clinic, COUNT(*) FROM visits GROUP BY {sets} (clinic, %s)"
        with pytest.raises(BadQuestion, match=r"not SQL .* a computed key needs parentheses: ROLLUP\(a, \(b > 1\)\)"):
            read(text % "cost > 50")
        read(text % "(cost > 50)")
        with pytest.raises(BadQuestion, match=r"not SQL .* column \d+$"):
            read(text % "cost)")


def test_a_column_that_is_called_like_a_word_of_sql_needs_quotes() -> None:
    for name in ("when", "CASE"):
        tables = {"visits": ["clinic", name, "values"]}
        for text in (
            f"SELECT {name}, COUNT(*) FROM visits GROUP BY 1",
            f"SELECT EXTRACT(hour FROM {name}) FROM visits",
        ):
            with pytest.raises(BadQuestion, match=f'the column {name} is called like a word of SQL: .*, "{name}"'):
                question(text, tables)
        question(f'SELECT "{name}", COUNT(*) FROM visits GROUP BY 1', tables)
    with pytest.raises(BadQuestion, match=r"column [0-9]+$"):
        question("SELECT COUNT(* FROM visits", {"visits": ["clinic", "when"]})


@pytest.mark.parametrize("given", [None, 1, b"SELECT 1", ["SELECT 1"]])
def test_a_question_is_a_text(given: Any) -> None:
    with pytest.raises(BadQuestion, match="must be a text"):
        read(given)


def nest(before: str, after: str, times: int) -> str:
    return f"{V} WHERE {before * times}cost{after * times} > 1"


NESTS = [("(", ")"), ("ABS(", ")"), ("CASE WHEN paid THEN ", " END"), ("COALESCE(1, ", ")"), ("CAST(", " AS INT)")]


@pytest.mark.parametrize(("before", "after"), NESTS)
def test_nesting_up_to_the_limit_is_read(before: str, after: str) -> None:
    deep = 32 if before == "(" else 31
    assert read(nest(before, after, deep)).measures
    for times in (33, 100, 10_000):
        with pytest.raises(BadQuestion, match=r"nested more than 32 deep|100,000 characters"):
            read(nest(before, after, times))


LONG = [
    ("- ", "", 5_000),
    ("NOT ", "", 5_000),
    ("", " + 1", 5_000),
    ("", " IS NULL", 5_000),
    ("", "::INT", 5_000),
    ("", " = 1", 5_000),
]


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after", "times"), LONG)
def test_long_chains_are_refused(before: str, after: str, times: int) -> None:
    with pytest.raises(BadQuestion, match="nested"):
        read(nest(before, after, times))
    if after != "::INT":
        assert read(nest(before, after, 50)).measures


@pytest.mark.slow
def test_long_lists_are_read() -> None:
    many = " OR ".join(f"cost = {i}" for i in range(1_000))
    found = where(many)
    assert isinstance(found, Call)
    assert len(found.arguments) == 1_000
    listed = where(f"cost IN ({', '.join(str(i) for i in range(5_000))})")
    assert isinstance(listed, Call)
    assert len(listed.arguments) == 5_001


def calls_during(work: Callable[[], object], most: int) -> int:
    """How many Python functions were called: a measure of time that no machine changes. Stops soon after ``most``."""
    count = 0

    def seen(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "call"
        if count > most:
            raise TimeoutError

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def refused_within(text: str, most: int) -> bool:
    def work() -> None:
        with pytest.raises(BadQuestion):
            read(text)

    return calls_during(work, most) <= most


BACKTRACKING = [
    "timestamp(", "date(", "decimal(", "int(", "varchar(", "time(", "enum(", "array(", "map(", "struct(", "nullable(",
    "vector(", "(date ", "interval (", "cast(1 as decimal(", "x::decimal(", "array<", "struct<a ", "map<", "trim(",
    "(select ", "((select 1) union all ", "any(", "exists(", "lambda x: (", "((x, y) -> ", "case (case ", "not (",
    "sum(distinct ", "grouping sets (", "extract(day from ", "substring(x from ", "row(", "x in (", "x between (",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", BACKTRACKING)
def test_reading_takes_time_in_proportion_to_the_text(piece: str) -> None:  # F6
    """Without a limit on nodes, 31 times ``timestamp(`` would take sqlglot longer than a person lives."""
    for closing in (")", " ", ") from t", " as int)"):
        text = f"SELECT {piece * 31}1{closing * 31} FROM visits"
        assert refused_within(text, 200 * len(text) + 50_000)


@pytest.mark.slow
def test_joins_without_a_condition_are_read_in_bounded_time() -> None:  # F6: sqlglot tries each of them many times
    for piece in (" JOIN visits", " LEFT JOIN visits", " JOIN (visits"):
        text = f"SELECT COUNT(*) FROM visits{piece * 100}"
        assert refused_within(text, 1_000 * len(text))


def test_a_name_in_quotes_is_not_read_as_a_text_of_its_own() -> None:  # F6: that reading would have no limit
    inner = "timestamp(" * 31 + "1" + ")" * 31
    assert refused_within(f'SELECT SUM(CAST(cost AS "{inner}")) FROM visits', 100_000)
    assert refused_within(f'SELECT SUM(cost::"{inner}") FROM visits', 100_000)
    assert refused_within(f'SELECT COUNT(*) FROM visits t(a "{inner}")', 100_000)
    assert refused_within(f'SELECT COUNT(*) FROM visits t(a VECTOR("{inner}", 3))', 100_000)
    assert refused_within(f'WITH t(a "{inner}") AS (SELECT cost FROM visits) SELECT COUNT(*) FROM t', 100_000)


def test_names_in_quotes_are_just_names() -> None:
    odd = ['a "b" c', "timestamp(timestamp(1))", "count", "SELECT 1; --", "é😀", "int", "a.b", "\n", "'", " "]
    for name in odd:
        quoted = '"' + name.replace('"', '""') + '"'
        found = question(f"SELECT SUM(t.{quoted}) AS {quoted} FROM {quoted} t", {name: [name]})
        assert found.source == Scan(name)
        assert found.measures == (Measure(name, Aggregate.SUM, (Column(name),)),)
        found = question(
            f"WITH {quoted}({quoted}) AS (SELECT cost FROM visits) SELECT SUM({quoted}) FROM {quoted}", TABLES
        )
        assert found.measures == (Measure(f"sum_{name}", Aggregate.SUM, (Column(name),)),)
