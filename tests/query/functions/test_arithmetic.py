"""Arithmetic on cells of a grid: exact, inside the claimed range, within 64 bits."""

import re
from fractions import Fraction
from itertools import product

import pytest

from discreet.errors import BadQuestion
from discreet.query.plan.expressions import Expression
from discreet.query.plan.types import LARGEST, Number
from discreet.query.typing.infer import typed
from tests.helpers.surface import FIELDS, KINDS
from tests.helpers.typing_checks import call, check_meaning, check_range, col


@pytest.mark.slow
@pytest.mark.parametrize(
    "function",
    ["add", "sub", "mul", "div", "quotient", "mod", "least", "nullif", "coalesce", "eq", "lt", "le"],
)
def test_the_corners_of_every_pair_of_numbers(function: str) -> None:
    numbers = {name: kind for name, kind in KINDS.items() if isinstance(kind, Number)}
    for a, b in product(numbers, repeat=2):
        asked = call(function, col(a), call("sub", 0, col(b)) if a == b else col(b))
        corners = [sorted({k.low, min(1, k.high), max(0, k.low), k.high}) for k in (numbers[a], numbers[b])]
        for x, y in product(*corners):
            check_range(asked, {a: x, b: y})
            check_meaning(asked, {a: x, b: y})


@pytest.mark.parametrize(
    ("asked", "step", "low", "high"),
    [
        (call("add", col("age"), 1), 1, 1, 121),
        (call("mul", col("age"), 10**6), 10**6, 0, 120),
        (call("div", col("age"), 10), Fraction(1, 10), 0, 120),
        (call("mul", col("money"), -1), Fraction(1, 100), -500_000, 50),
        (call("add", col("money"), Fraction(1, 8)), Fraction(1, 200), -100 + 25, 1_000_025),
        (call("mul", col("age"), col("age")), 1, 0, 14_400),
        (call("mul", col("delta"), col("delta")), 1, 0, 1_000_000),
        (call("mul", col("age"), col("money")), Fraction(1, 100), -6_000, 60_000_000),
        (call("floor", call("div", col("age"), 10)), 1, 0, 12),
        (call("mod", col("delta"), 7), 1, -6, 6),
        (call("mod", col("wide"), 10), 1, -9, 9),
        (call("clamp", col("wide"), Fraction(1, 2), 20), Fraction(1, 2), 1, 40),
        (call("clamp", col("age"), Fraction(1, 3), Fraction(1, 2)), Fraction(1, 6), 2, 3),
        (call("clamp", col("age"), -1, Fraction(241, 2)), 1, 0, 120),
        (call("clamp", col("age"), Fraction(401, 2), 300), Fraction(1, 2), 401, 401),
        (call("clamp", call("mul", col("age"), 1000), 0, 1500), 500, 0, 3),
        (call("clamp", col("wide"), 0, Fraction(10**18 + 1, 10**9)), Fraction(1, 10**9), 0, 10**18 + 1),
        (call("clamp", col("real"), 0, Fraction(1, 10)), Fraction(1, 5 << 24), 0, 1 << 23),
        (call("clamp", col("wide"), Fraction(1, 2), 2**61), 1, 1, 2**61),
        (call("width_bucket", col("wide"), 0, 100, 10), 1, 0, 11),
        (call("sub", col("wide"), 1), 1, -LARGEST, LARGEST),
        (call("round", col("money"), 1), Fraction(1, 10), -5, 50_000),
        (call("round", col("age"), 1), 1, 0, 120),
        (call("year", col("day")), 1, 2019, 2024),
        (call("days_between", col("day"), col("day")), 1, -1523, 1523),
        (call("sign", col("age")), 1, 0, 1),
        (call("case", col("flag"), 10, 20), 1, 10, 20),
        (call("case", col("flag"), col("age"), Fraction(-1, 2)), Fraction(1, 2), -1, 240),
        (call("least", col("age"), 18), 1, 0, 18),
        (
            call("div", call("clamp", col("age"), 1, 2), call("clamp", col("age"), 1, 4)),
            Fraction(1, 1 << 60),
            1 << 58,
            1 << 61,
        ),
    ],
)
def test_the_grid_of_a_result(asked: Expression, step: Fraction, low: int, high: int) -> None:
    assert typed(asked, FIELDS).kind == Number(Fraction(step), low, high)


def test_a_million_steps_of_a_fine_number_are_refused_not_overflowed() -> None:
    fine: Expression = col("age")
    for _ in range(5):
        fine = call("mul", fine, Fraction(1, 2**62 - 57))
    with pytest.raises(BadQuestion, match="ROUND"):
        typed(fine, FIELDS)


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        (call("add", col("age"), col("name")), "text"),
        (call("div", col("age"), 0), "0"),
        (call("div", col("age"), call("sub", 1, 1)), "0"),
        (call("mul", col("wide"), col("age")), "CLAMP"),
        (call("div", col("wide"), col("age")), "CLAMP"),
        (call("div", col("age"), col("wide")), "CLAMP"),
        (call("add", col("wide"), col("real")), "CLAMP"),
        (call("ceil", call("mul", col("huge"), Fraction(10**6 + 1, 2))), "CLAMP"),
        (call("clamp", col("age"), 3, 1), "low not above high"),
        (call("clamp", col("age"), col("delta"), 1), "constant"),
        (call("clamp", col("age"), Fraction(1, 2**61 - 1), Fraction(1, 2**61 - 3)), "between"),
        (call("round", col("age"), col("delta")), "whole constant"),
        (call("width_bucket", col("age"), 3, 3, 2), "low below high"),
        (call("width_bucket", col("age"), 0, 3, 10**6), "buckets"),
        (call("power", col("delta"), 9), "a base of 0 or more"),
    ],
)
def test_refused_by_typing(asked: Expression, word: str) -> None:
    with pytest.raises(BadQuestion, match=re.escape(word)) as caught:
        typed(asked, FIELDS)
    assert len(str(caught.value)) < 400
