"""Rows for which a condition holds: a condition that fails is false, and planted bugs are refuted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet import stable
from discreet.errors import BadParameter
from discreet.privacy.promises.neighbours import Neighbours
from discreet.stable import ADD_REMOVE, CHANGE, EDIT, IN_PLACE, RowMetric, units
from discreet.stable.core.domains import Groups, Rows, Whole
from tests.helpers.stability import claim_of, refute


def inverse_is_positive(row: Any) -> Any:
    return 1 // row > 0


def test_a_condition_that_fails_on_a_row_is_false_there() -> None:
    assert stable.filter(inverse_is_positive)([1, 0, None, "x", -3, 1]) == [1, 1]
    assert stable.filter(lambda row: np.array([True, True]))([1, 2]) == []  # an array has no truth
    assert stable.filter(lambda row: row)([0, 2, "", "a", None]) == [2, "a"]


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        (ADD_REMOVE, ADD_REMOVE), (CHANGE, EDIT), (EDIT, EDIT), (IN_PLACE, EDIT), (units("id"), units("id")),
        (units("id", Neighbours.CHANGE_ONE), RowMetric(EDIT.how, "id")),
    ],
    ids=str,
)  # fmt: skip
def test_a_change_may_become_an_addition_or_a_removal(before: RowMetric, behind: RowMetric) -> None:
    filtered = stable.filter(bool, neighbours=before)
    assert filtered.output_metric == behind
    assert filtered.stability(4) == 4


def test_the_number_of_rows_is_private_behind_it() -> None:
    filtered = stable.filter(bool, neighbours=CHANGE)
    assert filtered.after(Rows(Whole(0, 1), 5), CHANGE).output_domain == Rows(Whole(0, 1))
    grouped = filtered.after(Groups(("a", "b")), CHANGE)
    assert grouped({"a": [0, 1], "b": [0]}) == {"a": [1], "b": []}
    assert grouped.output_domain == Groups(("a", "b"))
    assert grouped.story() == ("kept rows where bool holds",)


def the_odd_row_dropped(rows: list[Any]) -> list[Any]:
    ordered = sorted(rows)
    return ordered[: len(ordered) // 2 * 2]


def fails_on_a_person(rows: list[Any]) -> list[Any]:
    return [row for row in rows if 1 // row > 0]


@pytest.mark.parametrize(
    ("planted", "values", "most"), [(the_odd_row_dropped, [1, 2, 3], 3), (fails_on_a_person, [0, 1, 2], 1)]
)  # C11 and B2 of the attack catalogue
def test_a_planted_bug_is_refuted(planted: Callable[[list[Any]], list[Any]], values: list[Any], most: int) -> None:
    assert refute(claim_of(stable.filter(bool), planted), values, most=most)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: stable.filter(5), "condition"),  # type: ignore[arg-type]
        (lambda: stable.filter(bool, neighbours=CHANGE) >> stable.count(neighbours=CHANGE), "leave out neighbours"),
        (lambda: stable.filter(bool, neighbours=units("id")) >> stable.count(), "insert cap_rows"),
    ],
)
def test_what_is_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        build()
