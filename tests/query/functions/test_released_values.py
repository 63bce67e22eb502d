"""Plain values after a release: NULL for whatever does not fit, never an error."""

from datetime import UTC, date, datetime
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.query.functions.released_values import (
    as_moment,
    compared,
    is_number,
    numeric,
    of,
    primitive,
    value_or_null,
)
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Call, Literal

DAY, NOON = date(2024, 2, 29), datetime(2024, 2, 29, 12)
ODD: list[Any] = [None, True, 0, -7, 2.5, Fraction(1, 3), "", "a", "2024-02-29", DAY, NOON, NOON.replace(tzinfo=UTC)]


def test_nan_and_the_infinities_are_null() -> None:
    assert [value_or_null(x) for x in (float("nan"), float("inf"), -float("inf"), object(), None)] == [None] * 5
    assert value_or_null(np.float64("nan")) is None
    assert (value_or_null(np.int64(7)), type(value_or_null(np.int64(7)))) == (7, int)
    assert value_or_null(True) is True


def test_truth_is_no_number() -> None:
    assert not is_number(True)
    assert is_number(Fraction(1, 3))
    assert numeric(lambda x, y: x + y)(1, True) is None


def test_whole_results_are_integers() -> None:
    found = numeric(lambda x, y: Fraction(x) / y)(6, 3)
    assert (found, type(found)) == (2, int)
    assert numeric(lambda x, y: Fraction(x) / y)(1, 3) == Fraction(1, 3)


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_no_pair_of_values_raises_and_opposites_disagree(name: str) -> None:
    opposite = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}[name]
    answers = set()
    for x, y in product(ODD, repeat=2):
        found, other = compared(name, x, y), compared(opposite, x, y)
        assert (found is None) == (other is None)
        assert found is None or found is not other
        answers.add(found)
    assert answers == {None, True, False}


def test_what_can_be_compared() -> None:
    assert compared("lt", DAY, "2024-03-01") is True
    assert compared("eq", NOON, "2024-02-29T12:00:00") is True
    assert compared("lt", DAY, NOON) is True
    assert compared("lt", True, False) is None
    assert compared("eq", 1, "1.0") is True
    assert compared("eq", 1, "one") is None
    assert compared("lt", NOON, NOON.replace(tzinfo=UTC)) is None
    assert as_moment("noon", DAY) == "noon"


@pytest.mark.parametrize(("name", "kinds", "values"), [("lower", (str,), ("Ab",)), ("like", (str, str), ("ab", "a%"))])
def test_a_primitive_means_what_it_means_on_rows(name: str, kinds: tuple[type, ...], values: tuple[Any, ...]) -> None:
    run = primitive(name, *kinds)
    assert run(*values) == evaluate(Call(name, tuple(Literal(v) for v in values)), {})
    assert run(*[7] * len(kinds)) is None
    assert run(*values, "more") is None


def test_values_of_other_kinds_are_null() -> None:
    twice = of(lambda x: x * 2, str)
    assert (twice("a"), twice(3), twice()) == ("aa", None, None)
