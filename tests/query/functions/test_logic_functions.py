"""Logic with NULL, CASE and COALESCE."""

import re
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from discreet.errors import BadQuestion
from discreet.query.functions.catalogue import FUNCTIONS
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Expression
from discreet.query.plan.types import Number
from discreet.query.typing.infer import typed
from tests.helpers.surface import FIELDS
from tests.helpers.typing_checks import call, col


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        (call("case", col("name"), 1, 2), "true or false"),
        (call("case", col("flag"), 1, "x"), "mix"),
        (call("case", col("flag"), None, None), "NULL"),
        (call("case", col("flag"), 1, col("flag"), 2), "CASE"),
        (call("and", col("flag"), col("name")), "true or false"),
    ],
)
def test_refused_by_typing(asked: Expression, word: str) -> None:
    with pytest.raises(BadQuestion, match=re.escape(word)) as caught:
        typed(asked, FIELDS)
    assert len(str(caught.value)) < 400


THREE = (True, False, None)


def test_and_or_and_not_are_those_of_three_values() -> None:
    """By the definition with the order false < NULL < true: AND is the least, OR the largest."""
    order = {False: 0, None: 1, True: 2}
    for x, y in product(THREE, repeat=2):
        for name, pick in (("and", min), ("or", max)):
            expected = pick((x, y), key=order.__getitem__)
            meaning = FUNCTIONS[name].meaning
            assert meaning is not None
            assert meaning(x, y) is expected
            asked = typed(call(name, col("flag"), call("eq", col("age"), 1)), FIELDS).lowered
            assert evaluate(asked, {"flag": x, "age": None if y is None else int(y)}) is expected


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("case", (False, 1, None, 2, True, 3, 4), 3), ("case", (None, 1, None), None),
        ("coalesce", (None, None, 7), 7), ("nullif", (3, 3), None), ("nullif", (3, "3"), None), ("nullif", (3, "x"), 3),
        ("in", (1, 2, 1), True), ("in", (1, 2, None), None), ("in", (1, 2, 3), False),
    ],
)  # fmt: skip
def test_on_released_values(name: str, values: tuple[Any, ...], expected: Any) -> None:
    meaning = FUNCTIONS[name].meaning
    assert meaning is not None
    assert meaning(*values) is expected


def test_a_choice_has_the_keys_of_its_branches_and_the_widest_range() -> None:
    asked = typed(call("coalesce", col("age"), -5), FIELDS)
    assert (asked.kind, asked.nullable) == (Number(Fraction(1), -5, 120), False)
    assert typed(call("nullif", col("sure"), 1), FIELDS).nullable
