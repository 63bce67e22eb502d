"""What typing promises, on random expressions and rows: exact meaning, true ranges, 64 bits, no error, true keys."""

import re
from collections import Counter
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadQuestion, Unsupported
from discreet.query.functions import catalogue
from discreet.query.plan.expressions import Call, Expression, Literal, walk
from discreet.query.plan.types import Boolean, Number
from discreet.query.typing.infer import _Typing, typed
from tests.helpers.extent import extent
from tests.helpers.surface import FIELDS, FUNCTIONS, SORTS, expression, row
from tests.helpers.typing_checks import call, check_meaning, check_range, col

MANY = settings(max_examples=extent(15, 60), deadline=None)
SEEDS = st.integers(0, 1 << 64)


# --- properties -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("sort", SORTS)
@given(SEEDS)
@MANY
def test_values_lie_in_the_claimed_range_and_nothing_leaves_64_bits(sort: type, seed: int) -> None:
    dice = Random(seed)
    for _ in range(20):
        check_range(expression(dice, sort, dice.randint(1, 3)), row(dice))


@pytest.mark.slow
@pytest.mark.parametrize("sort", [Number, Boolean])
@given(SEEDS)
@MANY
def test_every_function_of_numbers_means_what_it_says(sort: type, seed: int) -> None:
    dice = Random(seed)
    for _ in range(20):
        check_meaning(expression(dice, sort, dice.randint(1, 3)), row(dice))


@pytest.mark.slow
def test_most_random_expressions_are_understood() -> None:
    """Else the two tests above would test little."""
    dice = Random(1)
    understood: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for _ in range(3000):
        for part in walk(expression(dice, dice.choice(SORTS), 2)):
            if isinstance(part, Call):
                try:
                    typed(part, FIELDS, keyed=False)
                    understood[part.function] += 1
                except BadQuestion:
                    refused[part.function] += 1
    assert set(understood) == FUNCTIONS - {"interval", "cast_time"}
    assert set(FUNCTIONS) <= set(catalogue.FUNCTIONS)
    assert set(catalogue.FUNCTIONS) <= FUNCTIONS  # durations and times of day have tests of their own
    assert sum(refused.values()) * 5 < sum(understood.values())


@pytest.mark.slow
def test_typing_is_a_function_of_the_question() -> None:
    def once(asked: Expression) -> object:
        try:
            return typed(asked, FIELDS)
        except BadQuestion as error:
            return str(error)

    dice = Random(2)
    for _ in range(300):
        asked = expression(dice, dice.choice(SORTS), 3)
        assert once(asked) == once(asked)


# --- chosen numbers -------------------------------------------------------------------------------------------------


# --- keys -----------------------------------------------------------------------------------------------------------


# --- refusals -------------------------------------------------------------------------------------------------------

DEEP: Expression = col("age")
for _ in range(101):
    DEEP = call("neg", DEEP)
SHARED: Expression = col("age")
for _ in range(60):
    SHARED = call("least", SHARED, SHARED)
NULLED: Expression = col("age")
for n in range(60):
    NULLED = call("nullif", NULLED, n)
LONGER: Expression = col("name")
for _ in range(9):
    LONGER = call("concat", LONGER, LONGER)


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        (call("nosuch", col("age")), "nosuch"),
        (call("regexp_replace", col("name"), "a"), "regexp_replace"),
        (call("error", "x"), "error"),
        (call("least"), "argument"),
        (call("abs", col("age"), col("age")), "abs takes 1"),
        (col("agge"), "did you mean age"),
        (Literal(2**62 + 1), "2^62"),
        (Literal(Fraction(1, 2**63)), "2^62"),
        (Literal("x" * 10_001), "10,000"),
        (Literal("a\x00"), "zero"),
        (Literal("\ud800"), "half"),
        (Literal(1.5), "float"),  # type: ignore[arg-type]
        (DEEP, "100 deep"),
        (SHARED, "parts"),
        (NULLED, "too large"),
        (LONGER, "CONCAT"),
        (call("in", col("age"), *range(10_001)), "parts"),
    ],
)
def test_refused_by_name(asked: Expression, word: str) -> None:
    with pytest.raises(BadQuestion, match=re.escape(word)) as caught:
        typed(asked, FIELDS)
    assert len(str(caught.value)) < 400


def test_an_unknown_function_is_unsupported_with_a_hint() -> None:
    with pytest.raises(Unsupported, match="did you mean upper"):
        typed(call("uper", col("name")), FIELDS)


def test_how_large_an_expression_is() -> None:
    """Parts, depth, and how many texts it may hold; a part that is shared counts wherever it stands."""
    longer = call("replace", col("name"), "ab", "abcde")
    made = (col("name"), Literal(1), longer, call("concat", col("name"), longer), call("least", longer, longer))
    sizes = [_Typing(FIELDS)._measure(one)[:3] for one in made]
    assert sizes == [(1, 1, 1), (1, 1, 1), (4, 2, 3), (6, 3, 4), (9, 3, 3)]
