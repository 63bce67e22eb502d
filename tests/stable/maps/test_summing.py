"""Sums between public bounds: exact totals, the attained stability, planted bugs and cheaper prices refuted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from discreet import stable
from discreet.errors import BadParameter
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.privacy.promises.neighbours import Neighbours
from discreet.stable import ADD_REMOVE, CHANGE, EDIT, Moves, RowMetric, StableMap
from discreet.stable.core.domains import Number, Vector
from discreet.stable.core.metrics import NUMBER
from tests.helpers.stability import Claim, attained, claim_of, refute
from tests.stable.cases import BIG, NUMBERS, PLACED


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize(
    ("tested", "values"),
    [
        (stable.sum(bounds=(-2, 5)), NUMBERS),
        (stable.sum(bounds=(-2, 5), neighbours=CHANGE), NUMBERS),
        (stable.sum(bounds=(-2, 5), neighbours=EDIT), NUMBERS),
        (stable.sum(bounds=(3, 5), neighbours=CHANGE), NUMBERS),
        (stable.sum(bounds=(3, 5), neighbours=EDIT), NUMBERS),
        (stable.sum_by(["a", "b"], by=0, of=1, bounds=(-3, 5)), PLACED),
        (stable.sum_by(["a", "b"], by=0, of=1, bounds=(-3, 5), neighbours=CHANGE), PLACED),
        (stable.sum_by(["a"], by=0, of=1, bounds=(-3, 5), neighbours=CHANGE), PLACED),
    ],
)
def test_the_stability_is_attained(tested: StableMap, values: list[Any], d: int) -> None:
    assert attained(claim_of(tested), values, most=3, d=d) == tested.stability(d)


def test_three_rows() -> None:
    """m = 5, high - low = 7; in groups an edit moves one number out of one group and one into another."""
    alone = [stable.sum(bounds=(-2, 5), neighbours=how).stability(3) for how in (ADD_REMOVE, CHANGE, EDIT)]
    assert alone == [15, 21, 21]
    assert [stable.sum(bounds=(3, 5), neighbours=how).stability(3) for how in (ADD_REMOVE, CHANGE, EDIT)] == [15, 6, 15]
    grouped = stable.sum_by(["a", "b"], by=0, of=1, bounds=(-2, 5))
    assert grouped.stability(3) == Moves(l1=15, l2_squared=225, linf=15)
    edited = stable.sum_by(["a", "b"], by=0, of=1, bounds=(-2, 5), neighbours=EDIT)
    assert edited.stability(3) == Moves(l1=30, l2_squared=9 * 50, linf=21)


def test_what_is_summed() -> None:
    total = stable.sum(bounds=(-2, 5), missing=4)
    assert total([3, 99, -99, 2.5, None, float("nan"), "5", True]) == 3 + 5 - 2 + 2 + 4 + 4 + 4 + 1
    assert total([]) == 0
    assert stable.sum(bounds=(0, BIG))([BIG] * 5) == 5 * BIG  # no wraparound
    assert stable.sum(bounds=(0, 9), of="x")([{"x": 4}, {}, 7, {"x": 99}]) == 13
    assert stable.sum(bounds=(0, 9)).output_domain == Number()
    by_key = stable.sum_by(["b", "a"], by=0, of=1, bounds=(0, 9))
    assert by_key([("a", 3), ("b", 50), ("c", 1), ("a", None), ("a", 4)]) == [9, 7]
    assert by_key.output_domain == Vector(2, ("b", "a"))
    assert by_key.story()[1] == "summed 1 clamped to [0, 9] in each group"


def test_bounds_are_taken_from_the_map_before_it() -> None:
    assert (stable.clip(-1, 5) >> stable.sum())([9, -9, 2]) == 6
    assert (stable.clip(-1, 5) >> stable.sum()).stability(1) == 5
    assert (stable.clip(-1, 5) >> stable.sum(bounds=(0, 2))).stability(1) == 2


def clipped_but_unused(rows: list[int]) -> int:
    [min(max(row, 0), 10) for row in rows]
    return sum(rows)


def wraps_around(rows: list[int]) -> int:
    return (sum(min(max(row, 0), 2**31 - 1) for row in rows) + 2**31) % 2**32 - 2**31


@pytest.mark.parametrize(
    ("tested", "planted", "values", "most"),
    [
        (stable.sum(bounds=(0, 10)), clipped_but_unused, [0, 5, 11], 2),
        (stable.sum(bounds=(0, 2**31 - 1)), wraps_around, [0, 1, 2**31 - 1], 3),
    ],
)  # C7 and A5 of the attack catalogue
def test_a_planted_bug_is_refuted(
    tested: StableMap, planted: Callable[[list[int]], int], values: list[Any], most: int
) -> None:
    assert refute(claim_of(tested, planted), values, most=most)


def means_by_the_true_count(rows: list[int]) -> int:
    return sum(rows) * 12 // max(1, len(rows))


def test_a_mean_charged_as_a_sum_is_refuted() -> None:  # C10 of the attack catalogue
    assert refute(Claim(means_by_the_true_count, lambda d: 5 * d, ADD_REMOVE, NUMBER, Number()), [0, 5], most=3)


@pytest.mark.parametrize(
    ("bounds", "metric", "stability"),
    [((3, 5), ADD_REMOVE, 2), ((3, 5), EDIT, 2), ((-2, 5), CHANGE, 5), ((-2, 5), EDIT, 5)],
)
def test_a_sum_charged_for_less_is_refuted(bounds: tuple[int, int], metric: RowMetric, stability: int) -> None:
    twin = Claim(stable.sum(bounds=bounds), lambda d: stability * d, metric, NUMBER, Number())
    assert refute(twin, [-9, 0, 4, 9])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: stable.sum(bounds=(1, 2, 3)), "two integers"),  # type: ignore[arg-type]
        (lambda: stable.sum(bounds=(0, float("inf"))), "must be an integer"),  # type: ignore[arg-type]
        (lambda: stable.sum(missing=3), "together with bounds"),
        (lambda: stable.sum()([1]), "none is read from data"),
        (lambda: stable.sum().stability(1), "none is read from data"),
        (lambda: stable.filter(bool) >> stable.sum(), "insert clip"),
        (lambda: stable.cast(int) >> stable.sum(), "insert clip"),
        (lambda: stable.group_by(["a"]) >> stable.sum(), "insert clip"),
        (lambda: stable.clip(0, 1) >> stable.sum(of="x"), "insert clip"),
        (
            lambda: stable.sum(bounds=(3, 3), neighbours=Neighbours.CHANGE_ONE) >> laplace(epsilon=1),
            "public between neighbours",
        ),
        (lambda: stable.sum(bounds=(0, 0)) >> gaussian(rho=1), "public between neighbours"),
    ],
)
def test_what_is_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        build()


def test_units_and_groups_are_refused_where_rows_are_summed() -> None:
    """One unit may have any number of rows: the stability of rows would be claimed for units."""
    with pytest.raises(BadParameter, match="insert cap_rows"):
        stable.sum(bounds=(0, 9), neighbours=stable.units("id"))
    with pytest.raises(BadParameter, match="insert cap_rows"):
        stable.sum_by(["a"], by=0, of=1, bounds=(0, 9), neighbours=stable.units("id"))
