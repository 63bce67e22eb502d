"""Distances against their definitions."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, permutations
from typing import Any

import pytest

from discreet.errors import BadParameter
from discreet.privacy.promises.neighbours import Neighbours
from discreet.stable import ADD_REMOVE, CHANGE, EDIT, IN_PLACE, Moves, RowMetric, units
from discreet.stable.core.metrics import NORMS, NUMBER, How, as_metric, steps
from tests.helpers.stability import distance
from tests.stable.cases import OWNED

METRICS = [ADD_REMOVE, CHANGE, EDIT, IN_PLACE]


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_distances_of_rows(metric: RowMetric) -> None:
    data = [list(x) for n in range(4) for x in combinations_with_replacement([0, 1, math.nan], n)]
    for x in data:
        for y in data:
            assert metric.between(x, y) == distance(metric, x, y) == metric.between(y, x)


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_distances_of_units(neighbours: Neighbours) -> None:
    metric = units("id", neighbours)
    data = [list(x) for n in range(4) for x in combinations_with_replacement(OWNED[:4], n)]
    for x in data:
        for y in data:
            assert metric.between(x, y) == distance(metric, x, y)


def test_the_order_of_rows_counts_in_a_stream_alone() -> None:
    x = [1, 2, 3]
    for metric in METRICS[:3]:
        assert all(metric.between(x, list(y)) == 0 for y in permutations(x))
    assert [IN_PLACE.between(x, y) for y in ([1, 2, 3], [1, 3, 2], [2, 3, 1], [1, 2])] == [0, 2, 3, math.inf]


def test_how_the_metrics_bound_each_other() -> None:
    data = [list(x) for n in range(4) for x in combinations_with_replacement([0, 1, 2], n)]
    for x in data:
        for y in data:
            added, edited, changed = ADD_REMOVE.between(x, y), EDIT.between(x, y), CHANGE.between(x, y)
            assert edited <= added <= 2 * edited
            assert changed in (edited, math.inf)
            assert changed <= IN_PLACE.between(x, y)
            assert (changed == math.inf) == (len(x) != len(y))


def test_numbers_and_vectors() -> None:
    assert NUMBER.between(2**70, 2**70 - 3) == 3
    assert NORMS.between([0, 5, -2], [1, 3, -2]) == Moves(l1=3, l2_squared=5, linf=2)
    small, large = Moves(l1=2, l2_squared=2, linf=1), Moves(l1=2, l2_squared=4, linf=2)
    assert small <= large
    assert not large <= small


def test_words() -> None:
    assert str(ADD_REMOVE) == "rows added or removed"
    assert str(units("id", Neighbours.CHANGE_ONE)) == "units by 'id' changed"
    assert units(0).step == "one unit (by 0) added or removed"
    assert IN_PLACE.step == "one row changed in place"


@pytest.mark.parametrize("bad", ["add", 1, How.ADDED, NUMBER])
def test_no_relation(bad: Any) -> None:
    with pytest.raises(BadParameter, match="Neighbours"):
        as_metric(bad)


@pytest.mark.parametrize("bad", [-1, 1.5, "1", True, None])
def test_no_distance(bad: Any) -> None:
    with pytest.raises(BadParameter, match="distance"):
        steps(bad)


def test_units_need_a_name() -> None:
    with pytest.raises(BadParameter, match="must say where"):
        units(None)


def test_units_do_not_change_in_place() -> None:
    """One place that changes hands is a change of two units: a cap behind it would claim half of what moves."""
    before = [{"id": "A", "x": 1}, {"id": "A", "x": 2}]
    after = [{"id": "A", "x": 1}, {"id": "B", "x": 2}]
    assert IN_PLACE.between(before, after) == 1
    assert (
        units("id", Neighbours.CHANGE_ONE).between([*before, {"id": "B", "x": 0}], [*after, {"id": "B", "x": 0}]) == 2
    )
    with pytest.raises(BadParameter):
        RowMetric(How.IN_PLACE, "id")
