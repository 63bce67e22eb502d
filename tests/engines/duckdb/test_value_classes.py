"""The class of each number is the one that the expression gives, at every end and beyond what a double holds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.engines.duckdb.value_classes import Classes, classes_of
from discreet.query.plan.evaluate import program
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.types import Date, Number
from discreet.query.profile.classes import size_class, value_class

X = Column("x")
WHOLE = Number(Fraction(1), 0, 1)


def tree(*ends: int) -> Expression:
    """A chain of comparisons in this order."""
    found: Expression = Literal(len(ends))
    for label, end in reversed(list(enumerate(ends))):
        found = Call("case", (Call("lt", (X, Literal(end))), Literal(label), found))
    return Call("case", (Call("is_null", (X,)), Literal(99), found))


def _numbers(ends: tuple[int, ...]) -> list[int]:
    near = {end + d for end in ends for d in (-1, 0, 1)} | {0, 1, -1, -(1 << 63), (1 << 63) - 1}
    return sorted(x for x in near if -(1 << 63) <= x < 1 << 63)


@pytest.mark.parametrize(
    "key", [value_class("x", WHOLE).lowered, tree(-5, 0, 3, 1000), tree(7), tree(1, 2, 4, 8, 1 << 40)]
)
def test_the_class_is_that_of_the_expression(key: Expression) -> None:
    classes = classes_of(key)
    assert classes is not None
    label = program(key)
    for beyond in (True, False):
        numbers = [x for x in _numbers(classes.ends) if beyond or abs(x) < 1 << 53]
        found = [classes.labels[place] for place in classes.places(np.array(numbers, dtype=np.int64))]
        name = classes.x.name if isinstance(classes.x, Column) else ""
        assert found == [label({name: x}) for x in numbers]
        assert label({name: None}) == classes.null


def test_powers_of_two_need_no_search() -> None:
    """A planted error in the table of exponents shows, so that it is the table which was used above."""
    classes = classes_of(value_class("x", WHOLE).lowered)
    assert classes is not None
    table = classes._table
    assert table is not None
    before = classes.places(np.array([5]))
    table[1023 + 2] += 1
    assert classes.places(np.array([5])) == before + 1


@pytest.mark.parametrize(
    "key",
    [
        X,
        tree(3, 2),  # out of order: no sorted classes
        tree(),
        size_class(X).lowered,  # NULL has no label
        value_class("x", Date()).lowered,
        Call("case", (Call("is_null", (Column("y"),)), Literal(1), tree(2))),  # another column
        Call("case", (Call("is_null", (X,)), Literal(1), Call("case", (Call("lt", (Column("y"), Literal(2))), X, X)))),
    ],
)
def test_what_is_no_sorted_class_of_a_number_is_none(key: Expression) -> None:
    assert classes_of(key) is None


def test_ends_that_are_no_powers_of_two_are_searched_for() -> None:
    assert Classes(X, (3,), (0, 1), 2)._table is None
