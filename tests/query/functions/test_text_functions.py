"""The functions of text, on code points."""

import re
from fractions import Fraction
from typing import Any

import pytest

import discreet as dp
from discreet.errors import BadQuestion
from discreet.query.functions.catalogue import FUNCTIONS
from discreet.query.functions.typed_values import TypedColumn
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Call, Expression
from discreet.query.plan.types import LARGEST, Date, Number
from discreet.query.typing.infer import typed
from tests.helpers.surface import FIELDS
from tests.helpers.typing_checks import call, col


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        (call("substring", col("name"), 0, 1), "from 1"),
        (call("like", col("name"), col("code")), "constant text"),
        (call("like", col("name"), "%" * 9), "8 percent"),
        (call("contains", col("name"), col("code")), "constant text"),
        (call("replace", col("name"), "", "a"), "1 to 100 characters"),
        (call("replace", col("name"), "a", col("code")), "constant text"),
        (call("replace", col("name"), "a", "b" * 257), "REPLACE that makes one as long"),
        (call("lpad", col("name"), 3, "ab"), "one character"),
        (call("rpad", col("name"), 101), "100"),
        (call("right", col("name"), -1), "from 0"),
    ],
)
def test_refused_by_typing(asked: Expression, word: str) -> None:
    with pytest.raises(BadQuestion, match=re.escape(word)) as caught:
        typed(asked, FIELDS)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("substring", ("日本語", 2, 1), "本"), ("substring", ("abc", 0, 2), "a"), ("substring", ("abc", 2), "bc"),
        ("concat", ("a", "b"), "ab"), ("concat", ("a", 1), "a1"),
        ("ilike", ("AbC", "a%c"), True), ("ilike", ("É", "é"), False), ("like", ("a", 3), None),
        ("regexp_matches", ("abc", "^a"), True), ("regexp_matches", ("abc", "(a+)+"), None),
        ("split_part", ("a,b", ",", 2), "b"), ("split_part", ("a,b", ",", 3), ""), ("split_part", ("a", "", 1), None),
        ("split_part", ("a", ",", 0), None),
        ("replace", ("a", "", "b"), None), ("replace", ("a", "a", "b" * 257), None), ("right", ("abc", 1.5), None),
        ("lpad", ("abc", 2, "x"), "ab"), ("lpad", (7, 2, "0"), None), ("rpad", ("a", 2, "xy"), None),
    ],
)  # fmt: skip
def test_on_released_values(name: str, values: tuple[Any, ...], expected: Any) -> None:
    meaning = FUNCTIONS[name].meaning
    assert meaning is not None
    assert meaning(*values) == expected


def test_a_text_grows_by_what_is_joined() -> None:
    assert typed(call("concat", col("name"), col("code")), FIELDS).copies == 2
    assert typed(call("replace", col("name"), "ab", "abcde"), FIELDS).copies == 3
    assert typed(call("replace", col("name"), "ab", ""), FIELDS).copies == 1
    assert typed(call("length", col("name")), FIELDS).kind == Number(Fraction(1), 0, LARGEST)


@pytest.mark.parametrize(
    ("text", "most"),
    [
        (call("left", col("name"), 4), 4), (call("substring", col("name"), 3, 2), 2),
        (call("cast_text", col("day")), 10),
        (call("concat", call("left", col("name"), 4), "abc"), 7), (call("strftime", col("day"), "%Y"), 10),
        (call("upper", call("left", call("left", col("name"), 4), 9)), 4), (call("cast_text", col("n")), 3),
        (call("replace", call("left", col("name"), 5), "ab", "xyz"), 7), (call("right", col("name"), 3), 3),
        (call("replace", call("left", col("name"), 5), "a", ""), 5), (call("lpad", col("name"), 8, "0"), 8),
        (call("coalesce", call("left", col("name"), 4), "abcdef"), 6), (call("substring", col("name"), 3), None),
    ],
)  # fmt: skip
def test_the_length_of_a_text_is_what_is_known_of_it(text: Call, most: int | None) -> None:
    """Once it was 2^31 for every text, and noise was made for that."""
    fields = {**FIELDS, "n": TypedColumn(Number(Fraction(1), -10, 9)), "day": TypedColumn(Date())}
    assert typed(call("length", text), fields).kind == Number(Fraction(1), 0, LARGEST if most is None else most)


def test_letters_are_those_of_ascii() -> None:
    assert evaluate(typed(call("lower", "ÀB"), {}).lowered, {}) == "Àb"
    assert evaluate(typed(call("ilike", col("name"), "A_"), FIELDS).lowered, {"name": "aB"}) is True


@pytest.mark.parametrize("pattern", ["5", "name", "NULL"])
def test_a_pattern_of_the_whole_text_is_a_constant_text(pattern: str) -> None:
    with pytest.raises(BadQuestion):
        lowered(f"REGEXP_FULL_MATCH(name, {pattern})")


@pytest.mark.parametrize(("pattern", "whole"), [("a|b", "^(?:a|b)$"), ("(?i)a|b", "(?i)^(?:a|b)$")])
def test_a_pattern_of_the_whole_text_begins_and_ends_it(pattern: str, whole: str) -> None:
    matched = [lowered(f"{function}(name, '{text}')") for function, text in
               (("REGEXP_FULL_MATCH", pattern), ("REGEXP_MATCHES", whole))]  # fmt: skip
    assert matched[0] == matched[1]


def lowered(condition: str) -> Any:
    """The measure of a query with this condition."""
    rows = {"who": [1, 2], "name": ["a", "b"]}
    session = dp.Session(t=dp.table(rows, unit="who", max_rows=1), budget=dp.Pure(1))
    return session.sql(f"SELECT COUNT(*) AS n FROM t WHERE {condition}").prepared.parts[0].whole
