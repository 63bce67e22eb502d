"""The search for the event that tells two inputs apart: planted differences of every kind are found."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.checking.sampling.distinguishers import (
    Question,
    _short,
    best_questions,
    epsilon_from,
    expected,
    negation,
    nested_questions,
)
from discreet.checking.sampling.observed import Raised

N = 600
VECTOR = [(i % 7, i % 5) for i in range(N)]


def best(first: list[Any], second: list[Any]) -> str:
    """The words of the question that is expected to certify most against ε = 0."""
    found = best_questions(first, second, [(0.0, 0.0)], fresh=len(first), failure=1e-6)
    return max(found, key=lambda choice: choice.margin).question.words


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (list(range(N)), list(range(300, N + 300)), ("x <", "x ≥")),
        ([0.5] * N, [0.25] * N, ("x",)),
        ([1.0] * (N // 2) + [math.nan] * (N // 2), [1.0] * N, ("NaN", "x = ", "x <", "x ≥")),
        ([-0.0] * N, [0.0] * N, ("minus zero", "x = ")),
        ([i + 0.5 for i in range(N)], [float(i) for i in range(N)], ("is an integer",)),
        ([2 * i for i in range(N)], list(range(N)), ("multiple of 2", "x <", "x ≥", "likelier")),
        ([Raised("ValueError")] * N, [1] * N, ("it raises", "x")),
        ([{"a": 1}] * N, [{"a": 1, "b": 2}] * N, ("'b' is among the keys", "the number of keys", "x[", "x = ")),
        (["yes"] * N, ["no"] * N, ("x = ", "length of the text")),
        (VECTOR, [(a, b + 20) for a, b in VECTOR], ("x[1]", "the sum", "the largest", "linear")),
    ],
    ids=["threshold", "constant", "nan", "zero", "grid", "parity", "failure", "keys", "text", "vector"],
)
def test_a_planted_difference_is_found(first: list[Any], second: list[Any], words: tuple[str, ...]) -> None:
    found = best_questions(first, second, [(0.0, 0.0)], fresh=N, failure=1e-6)
    choice = max(found, key=lambda each: each.margin)
    assert any(word in choice.question.words for word in words), choice.question.words
    likely, other = (second, first) if choice.swapped else (first, second)
    assert sum(map(choice.question.holds, likely)) > sum(map(choice.question.holds, other))
    assert choice.margin > 0.3


def test_two_equal_samples_promise_nothing() -> None:
    same = list(range(50)) * 12
    for choice in best_questions(same, list(same), [(0.0, 0.0)], fresh=N, failure=1e-6):
        assert choice.margin < 0


@pytest.mark.parametrize("huge", [10**400, -(10**400), Fraction(10**400, 3), Fraction(1, 10**400)])
def test_numbers_beyond_the_floats(huge: Any) -> None:
    """Alone, and in a vector that a linear score is made of."""
    assert "e" in _short(huge)
    assert best([huge] * N, [0] * N)
    assert best([(huge, 1)] * N, [(0, 1)] * N)


def test_short_numbers_are_shown_as_they_are() -> None:
    assert [_short(v) for v in (3, -(10**20), 0.1234567, Fraction(1, 3), True)] == [
        "3", "-100000000000000000000", "0.123457", "1/3", "True",
    ]  # fmt: skip
    assert _short(10**400) == "1.00000e+400"


def test_the_epsilon_of_two_bounds() -> None:
    found = epsilon_from(np.array([0.5, 0.5, 0.1, 0.5]), np.array([0.25, 0.25, 0.2, 0.0]), 0.1)
    assert found.tolist() == pytest.approx([math.log(1.6), math.log(1.6), -math.inf, math.inf])


def test_fresh_samples_are_expected_to_say_less() -> None:
    seen = np.array([300.0]), 600
    p_low, q_up = expected(seen, seen, (0.1, 600, 1e-6))
    assert p_low[0] < 0.5 < q_up[0]
    bold, careful = (expected(seen, seen, (caution, 600, 1e-6))[0][0] for caution in (0.1, 1e-6))
    assert careful < bold


def test_the_opposite_event() -> None:
    positive = Question("x ≥ 0", lambda x: x >= 0)
    opposite = negation(positive)
    assert opposite.words == "not (x ≥ 0)"
    assert [opposite.holds(x) for x in (-1, 0)] == [True, False]


def test_nested_events_lie_within_each_other() -> None:
    first, second = list(range(100, 200)), list(range(100))
    questions = nested_questions(first, second, 8)
    outcomes = sorted({*first, *second})
    held = sorted((frozenset(x for x in outcomes if q.holds(x)) for q in questions), key=len)
    assert all(a <= b for a, b in itertools.pairwise(held))
    assert 2 <= len(questions) <= 16
    assert all(sum(map(q.holds, first)) >= sum(map(q.holds, second)) for q in questions)
