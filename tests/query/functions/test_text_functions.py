"""The functions of text, on code points."""

import re
from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import BadQuestion
from discreet.query.functions.catalogue import FUNCTIONS
from discreet.query.functions.text_functions import LONGEST_TEXT
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Expression
from discreet.query.plan.types import Number
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
    ],
)
def test_refused_by_typing(asked: Expression, word: str) -> None:
    with pytest.raises(BadQuestion, match=re.escape(word)) as caught:
        typed(asked, FIELDS)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("substring", ("日本語", 2, 1), "本"), ("substring", ("abc", 0, 1), None), ("substring", ("abc", 2), "bc"),
        ("concat", ("a", "b"), "ab"), ("concat", ("a", 1), None),
        ("ilike", ("AbC", "a%c"), True), ("ilike", ("É", "é"), False), ("like", ("a", 3), None),
        ("regexp_matches", ("abc", "^a"), True), ("regexp_matches", ("abc", "(a+)+"), None),
        ("split_part", ("a,b", ",", 2), "b"), ("split_part", ("a,b", ",", 3), ""), ("split_part", ("a", "", 1), None),
        ("split_part", ("a", ",", 0), None),
    ],
)  # fmt: skip
def test_on_released_values(name: str, values: tuple[Any, ...], expected: Any) -> None:
    meaning = FUNCTIONS[name].meaning
    assert meaning is not None
    assert meaning(*values) == expected


def test_a_text_grows_by_what_is_joined() -> None:
    assert typed(call("concat", col("name"), col("code")), FIELDS).copies == 2
    assert typed(call("length", col("name")), FIELDS).kind == Number(Fraction(1), 0, LONGEST_TEXT)


def test_letters_are_those_of_ascii() -> None:
    assert evaluate(typed(call("lower", "ÀB"), {}).lowered, {}) == "Àb"
    assert evaluate(typed(call("ilike", col("name"), "A_"), FIELDS).lowered, {"name": "aB"}) is True
