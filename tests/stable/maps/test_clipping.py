"""Rows clamped to public bounds: exact values, planted bugs that the check finds, refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from discreet import stable
from discreet.errors import BadParameter
from discreet.stable.core.domains import Rows, Whole
from tests.helpers.stability import claim_of, refute
from tests.stable.cases import BIG, INF, NAN, NASTY


def test_clamped_and_rounded() -> None:
    clipped = stable.clip(-2, 5, missing=1)
    assert clipped([-3, -2, 0, 5, 6, 2.5, 3.5, INF, -INF, BIG, True]) == [-2, -2, 0, 5, 5, 2, 4, 5, -2, 5, 1]
    assert clipped([None, NAN, "3", [3]]) == [1, 1, 1, 1]
    assert clipped.output_domain == Rows(Whole(-2, 5))
    assert clipped.story() == ("clamped to [-2, 5]",)


def test_the_number_nearest_to_0_stands_for_what_is_missing() -> None:
    assert [stable.clip(low, high)([None]) for low, high in ((-2, 5), (2, 5), (-5, -2))] == [[0], [2], [-2]]


def test_every_result_lies_between_the_bounds() -> None:
    clipped = stable.clip(3, 3)(NASTY)
    assert clipped == [3] * len(NASTY)
    assert {type(row) for row in clipped} == {int}


def null_is_the_widest_bound(rows: list[Any]) -> list[int]:
    return [20 if row is None else min(max(row, 0), 5) for row in rows]


def nan_passes(rows: list[Any]) -> list[Any]:
    return [row if math.isnan(row) else int(min(max(row, 0), 5)) for row in rows]


@pytest.mark.parametrize(
    ("planted", "values"), [(null_is_the_widest_bound, [0, 3, None]), (nan_passes, [0.0, NAN, INF])]
)  # A11 and A10 of the attack catalogue
def test_a_planted_bug_is_refuted(planted: Callable[[list[Any]], list[Any]], values: list[Any]) -> None:
    assert refute(claim_of(stable.clip(0, 5), planted), values, most=1)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: stable.clip(5, 3), "at most high"),
        (lambda: stable.clip(0.5, 3), "must be an integer"),  # type: ignore[arg-type]
        (lambda: stable.clip(0, 3, missing=4), "between low and high"),
        (lambda: stable.clip(0, 1, neighbours=stable.units("id")), "insert cap_rows"),
    ],
)
def test_what_is_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        build()
