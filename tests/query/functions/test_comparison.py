"""Comparisons are exact, also with constants that are not on the grid."""

import re
from datetime import date, datetime
from fractions import Fraction
from itertools import product

import pytest

from discreet.errors import BadQuestion
from discreet.query.plan.expressions import Expression, Literal
from discreet.query.typing.infer import typed
from tests.helpers.surface import FIELDS
from tests.helpers.typing_checks import call, check_meaning, col


@pytest.mark.parametrize("function", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_numbers_that_never_meet_compare_as_they_lie(function: str) -> None:
    below = call("sub", col("share"), 7)
    for share, money in product((0, 1, 1 << 30), (-50, 0, 500_000)):
        check_meaning(call(function, below, col("money")), {"share": share, "money": money})
        check_meaning(call(function, col("money"), below), {"share": share, "money": money})


@pytest.mark.parametrize(
    ("asked", "lowered"),
    [
        (call("le", col("age"), Fraction(1, 2)), call("le", col("age"), 0)),
        (call("lt", col("age"), Fraction(1, 2)), call("lt", col("age"), 1)),
        (call("gt", col("age"), Fraction(1, 2)), call("gt", col("age"), 0)),
        (call("ge", Fraction(1, 2), col("age")), call("le", col("age"), 0)),
        (call("eq", col("age"), Fraction(1, 2)), call("lt", col("age"), 0)),
        (call("ne", col("age"), Fraction(1, 2)), call("ge", col("age"), 0)),
        (call("eq", col("age"), 500), call("lt", col("age"), 0)),
        (call("le", col("age"), 10**18), call("le", col("age"), 121)),
        (call("in", col("age"), 3, Fraction(1, 2), 500, 3), call("in", col("age"), 3)),
        (call("in", col("age"), Fraction(1, 2)), call("lt", col("age"), 0)),
        (call("eq", col("money"), Fraction(1, 2)), call("eq", col("money"), 50)),
        (call("ge", col("day"), "2024-01-01"), call("ge", col("day"), date(2024, 1, 1))),
        (call("lt", col("moment"), "2024-01-01 10:00"), call("lt", col("moment"), datetime(2024, 1, 1, 10))),
        (call("add", 1, call("mul", 2, 3)), Literal(7)),
        (call("ilike", col("name"), "A%"), call("like", call("lower", col("name")), "a%")),
        (call("mul", col("age"), Fraction(1, 3)), col("age")),
    ],
)
def test_the_lowered_form(asked: Expression, lowered: Expression) -> None:
    assert typed(asked, FIELDS).lowered == lowered


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        (call("eq", col("age"), "seven"), "must be a number"),
        (call("eq", col("age"), True), "cannot be compared"),
        (call("eq", col("age"), None), "IS NULL"),
        (call("in", col("age"), 1, None), "NULL"),
        (call("in", col("age"), col("delta")), "constants"),
        (call("lt", col("flag"), True), "order"),
        (call("ge", col("day"), "yesterday"), "2024-12-31"),
        (call("ge", col("moment"), "2024-01-01T00:00:00+02:00"), "2024-12-31"),
    ],
)
def test_refused_by_typing(asked: Expression, word: str) -> None:
    with pytest.raises(BadQuestion, match=re.escape(word)) as caught:
        typed(asked, FIELDS)
    assert len(str(caught.value)) < 400


NUMBERS_AS_TEXT = [
    ("eq", "8", 8), ("eq", "08", 8), ("eq", " 8", 8), ("eq", "8.0 ", 8), ("lt", "8.5", Fraction(17, 2)),
    ("ge", "1e1", 10), ("ne", "-0", 0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "value"), NUMBERS_AS_TEXT)
def test_a_text_constant_beside_a_number_is_one(name: str, text: str, value: Fraction) -> None:
    for asked, plain in (
        (call(name, col("age"), text), call(name, col("age"), value)),
        (call(name, text, col("age")), call(name, value, col("age"))),
        (call("in", col("age"), text, 9), call("in", col("age"), value, 9)),
        (call("and", call("ge", col("age"), text), call("le", col("age"), "20")),
         call("and", call("ge", col("age"), value), call("le", col("age"), 20))),
        (call("coalesce", col("age"), text), call("coalesce", col("age"), value)),
    ):  # fmt: skip
        assert typed(asked, FIELDS).lowered == typed(plain, FIELDS).lowered


@pytest.mark.parametrize("text", ["x", "", "8x", "0x8", "٨", "1e999", "9" * 30, "NaN", "Infinity"])
def test_a_text_constant_that_is_no_number_is_refused_beside_one(text: str) -> None:
    for asked in (call("eq", col("age"), text), call("in", col("age"), text), call("le", text, col("age"))):
        with pytest.raises(BadQuestion, match="must be a number"):
            typed(asked, FIELDS)


@pytest.mark.parametrize("name", ["eq", "lt"])
def test_a_text_column_keeps_its_text_and_wants_quotes(name: str) -> None:
    """'8', '08' and ' 8' are three texts; a number beside a text column is a mistake that a hint mends."""
    lowered = [typed(call(name, col("name"), text), FIELDS).lowered for text in ("8", "08", " 8")]
    assert len(set(lowered)) == 3
    for asked in (call(name, col("name"), 8), call("in", col("name"), 8)):
        with pytest.raises(BadQuestion, match="the number in quotes"):
            typed(asked, FIELDS)
