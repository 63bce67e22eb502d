"""A public number of rows: exactly that many, by content and not by order; planted bugs are refuted."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

from discreet import stable
from discreet.errors import BadParameter
from discreet.stable import ADD_REMOVE, CHANGE, EDIT, IN_PLACE, RowMetric, units
from discreet.stable.core.canonical import code, shuffled_place
from discreet.stable.core.domains import Rows, Whole
from tests.helpers.stability import attained, claim_of, refute


@pytest.mark.parametrize("d", [1, 2])
def test_the_stability_is_attained(d: int) -> None:
    resized = stable.resize(2, fill=0)
    assert attained(claim_of(resized), [0, 1, 2], d=d) == resized.stability(d) == d


@pytest.mark.parametrize("before", [ADD_REMOVE, CHANGE, EDIT], ids=str)
def test_rows_are_changed_behind_it_whatever_came_before(before: RowMetric) -> None:
    assert stable.resize(2, fill=0, neighbours=before).output_metric == CHANGE


def test_a_fixed_number_of_rows_is_known_behind_it() -> None:
    chain = stable.clip(2, 5) >> stable.resize(10, fill=2) >> stable.sum()
    assert chain.maps[1].output_domain == Rows(Whole(2, 5), 10)
    assert chain.stability(1) == 3
    assert chain([4, 100]) == 4 + 5 + 8 * 2
    assert chain.story()[1] == "cut or filled up to 10 rows"


def test_cut_by_hash_and_not_by_order() -> None:
    rows = ["d", "b", "a", "c", "e"]
    by_hash = sorted(rows, key=lambda row: shuffled_place(code(row) or b"", b"salt"))
    for order in permutations(rows):
        assert sorted(stable.resize(3, fill="", salt=b"salt")(list(order))) == sorted(by_hash[:3])


def test_rows_without_a_code_are_replaced() -> None:
    assert sorted(stable.resize(3, fill=0)([5, object(), 6])) == [0, 5, 6]
    assert stable.resize(2, fill=None)([]) == [None, None]


def resized_in_row_order(rows: list[Any]) -> list[Any]:
    return rows[:2] + [0] * (2 - len(rows))


def test_a_cut_in_row_order_is_refuted() -> None:  # E5 of the attack catalogue
    assert "order" in str(refute(claim_of(stable.resize(2, fill=0), resized_in_row_order), [1, 2, 3], most=3))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: stable.resize(0, fill=0), "at least 1"),
        (lambda: stable.resize(1, fill=object()), "made of numbers"),
        (lambda: stable.resize(1, fill=0, salt="x"), "bytes"),  # type: ignore[arg-type]
        (lambda: stable.resize(3, fill=0, neighbours=units("id")), "insert cap_rows"),
        (lambda: stable.resize(3, fill=0, neighbours=IN_PLACE), "first"),
        (lambda: stable.group_by(["a"]) >> stable.resize(3, fill=0), "takes rows, not groups"),
        (lambda: stable.clip(1, 5) >> stable.resize(3, fill=0), "must be a row like"),
        (lambda: stable.clip(0, 5) >> stable.resize(3, fill=True), "must be a row like"),
        (lambda: stable.clip(0, 5) >> stable.resize(3, fill=6), "must be a row like"),
        (lambda: stable.cast(str) >> stable.resize(3, fill=0), "must be a row like"),
        (lambda: stable.cast(bool) >> stable.resize(3, fill="x"), "must be a row like"),
    ],
)
def test_what_is_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        build()


@pytest.mark.parametrize(
    ("fill", "fits"), [(2, True), (5, True), (1, False), (6, False), (2.5, False), (True, False), ("2", False)]
)
def test_a_fill_is_a_row_like_those_before_it(fill: Any, fits: bool) -> None:
    """Both ends of what a clip leaves are; whatever counts rows behind it takes each for one of them."""
    clipped = stable.clip(2, 5)
    if fits:
        assert (clipped >> stable.resize(3, fill=fill))([9]) in ([5, fill, fill], [fill, fill, 5])
    else:
        with pytest.raises(BadParameter, match="fill"):
            clipped >> stable.resize(3, fill=fill)
