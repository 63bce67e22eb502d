"""The record of a function: number of arguments, and its printed form with parentheses where needed."""

import pytest

from discreet.errors import BadQuestion, Unsupported
from discreet.query.functions.catalogue import FUNCTIONS
from discreet.query.functions.record import (
    AND,
    ATOM,
    COMPARED,
    FACTOR,
    TERM,
    chained,
    check_count,
    pattern,
    placed,
    unit_call,
)
from discreet.query.plan.expressions import Column, Literal

X, Y = Column("x"), Column("y")


@pytest.mark.parametrize(
    ("given", "wanted", "message"),
    [(0, (1, 1), "takes 1 arguments, not 0"), (4, (1, 3), "takes 1 to 3"), (1, (2, None), "takes at least 2")],
)
def test_a_wrong_number_of_arguments(given: int, wanted: tuple[int, int | None], message: str) -> None:
    with pytest.raises(BadQuestion, match=f"F {message}"):
        check_count("F", given, wanted)


@pytest.mark.parametrize(("given", "wanted"), [(1, (1, 1)), (3, (1, 3)), (99, (2, None))])
def test_a_right_number_of_arguments(given: int, wanted: tuple[int, int | None]) -> None:
    check_count("F", given, wanted)  # raises nothing
    with pytest.raises(BadQuestion):
        check_count("F", wanted[0] - 1, wanted)


def test_looser_parts_get_parentheses() -> None:
    assert placed(FACTOR, ("a + b", TERM)) == "(a + b)"
    assert placed(TERM, ("a * b", FACTOR)) == "a * b"


def test_operators_are_read_from_the_left() -> None:
    sub = FUNCTIONS["sub"]
    assert sub.written((X, Y), [("a - b", TERM), ("c", ATOM)]) == ("a - b - c", TERM)
    assert sub.written((X, Y), [("a", ATOM), ("b - c", TERM)]) == ("a - (b - c)", TERM)
    less = FUNCTIONS["lt"]
    assert less.written((X, Y), [("a < b", COMPARED), ("c", ATOM)]) == ("(a < b) < c", COMPARED)


def test_other_forms() -> None:
    both = chained("AND", AND, COMPARED)
    assert both((X, Y), [("a", ATOM), ("b OR c", AND + 1)]) == ("a AND (b OR c)", AND)
    with pytest.raises(Unsupported, match="AND of one thing"):
        both((X,), [("a", ATOM)])
    assert pattern("{} IS NULL", COMPARED)((X,), [("a + b", TERM)]) == ("(a + b) IS NULL", COMPARED)
    trunc = unit_call("DATE_TRUNC")
    assert trunc((Literal("month"), X), [("'month'", ATOM), ("x", ATOM)]) == ("DATE_TRUNC('month', x)", ATOM)
    with pytest.raises(Unsupported, match="no fixed unit"):
        trunc((X, X), [("x", ATOM), ("x", ATOM)])


def test_a_call_is_written_by_its_name() -> None:
    assert FUNCTIONS["least"].written((X, Y), [("x", ATOM), ("y", ATOM)]) == ("LEAST(x, y)", ATOM)
