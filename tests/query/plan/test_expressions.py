"""Expressions are values: equal ones are equal, and true is not 1."""

import pickle
from datetime import date, datetime
from fractions import Fraction
from itertools import combinations
from typing import Any

from discreet.query.plan.expressions import Call, Column, Literal, columns, walk


def test_constants_of_different_kinds_are_different() -> None:
    different: list[Any] = [True, 1, "1", date(2024, 1, 1), datetime(2024, 1, 1), None, False]
    for one, other in combinations(different, 2):
        assert Literal(one) != Literal(other)
    assert Literal(False) != Literal(0)
    assert Call("eq", (Column("x"), Literal(True))) != Call("eq", (Column("x"), Literal(1)))
    assert len({Literal(True), Literal(1), Literal(Fraction(1))}) == 2


def test_equal_expressions_are_one_key() -> None:
    made = [Call("add", (Column("x"), Literal(Fraction(2, 4)))), Call("add", (Column("x"), Literal(Fraction(1, 2))))]
    assert made[0] == made[1]
    assert hash(made[0]) == hash(made[1])


def test_all_parts_are_walked_from_the_outside_in() -> None:
    inner = Call("neg", (Column("y"),))
    asked = Call("add", (inner, Call("add", (Column("x"), Column("y")))))
    assert list(walk(asked))[:3] == [asked, inner, Column("y")]
    assert len(list(walk(asked))) == 6
    assert columns(asked) == {"x", "y"}
    assert columns(Literal("x")) == frozenset()


def test_a_remembered_hash_stays_in_its_process() -> None:
    """Hashes of text differ between processes: a call that is sent must compute its own."""
    call = Call("add", (Column("x"), Literal(1)))
    assert hash(call) == hash(Call("add", (Column("x"), Literal(1))))
    sent = pickle.loads(pickle.dumps(call))  # noqa: S301
    assert sent == call
    assert not hasattr(sent, "_hash")
