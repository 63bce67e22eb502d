"""The data that are tried, and the way to a small counterexample."""

import math
from itertools import combinations
from random import Random
from typing import Any

import pytest

from discreet.checking.exact.check import check
from discreet.checking.exact.search import look
from discreet.checking.exact.small_data import VALUES, Space, space_for
from discreet.errors import BadParameter
from discreet.stable.core.domains import Groups, Rows
from discreet.stable.core.metrics import ADD_REMOVE, CHANGE, EDIT, IN_PLACE, NUMBER, RowMetric, units
from tests.checking.planted import Map, by

OWNED = [{"id": i, "x": x} for i in (1, 2) for x in (0, 1)]


@pytest.mark.parametrize("metric", [ADD_REMOVE, CHANGE, EDIT, IN_PLACE], ids=str)
def test_every_neighbour_of_small_data_is_tried(metric: RowMetric) -> None:
    """All pairs at distance 1, found by brute force, are among the pairs that are generated."""
    space = Space((0, 1, None), metric)
    data = [d for size in range(4) for d in space.of_size(size)]
    generated = {
        frozenset([_key(space, a), _key(space, b)])
        for a in data
        for b in space.neighbours(a)
        if space.distance(a, b) == 1
    }
    wanted = {
        frozenset([_key(space, a), _key(space, b)]) for a, b in combinations(data, 2) if space.distance(a, b) == 1
    }
    assert wanted <= generated


def test_every_neighbour_is_tried_where_units_come_and_go() -> None:
    space = space_for(Rows(), units("id"), values=OWNED)
    data = [d for size in range(4) for d in space.of_size(size)]
    generated = {frozenset([_key(space, a), _key(space, b)]) for a in data for b in space.neighbours(a)}
    wanted = {
        frozenset([_key(space, a), _key(space, b)]) for a, b in combinations(data, 2) if space.distance(a, b) == 1
    }
    assert wanted <= generated


def _key(space: Space, data: Any) -> Any:
    return tuple(map(repr, data)) if space.ordered else tuple(sorted(map(repr, data)))


def test_a_random_step_is_one_step_or_none() -> None:
    choose = Random(5)
    for metric in (ADD_REMOVE, CHANGE, EDIT, IN_PLACE):
        space = Space(VALUES, metric)
        for _ in range(200):
            data = space.random(choose, 6)
            assert space.distance(data, space.step(data, choose)) <= 1
    space = space_for(Rows(), units("id"), values=OWNED)
    for _ in range(200):
        data = space.random(choose, 6)
        assert space.distance(data, space.step(data, choose)) <= 2  # a unit that is there already may be added to


def test_grouped_data_are_built_under_their_keys() -> None:
    space = space_for(Groups(("a", "b")), ADD_REMOVE, values=[0, 1])
    assert space.build((("a", 1), ("b", 0))) == {"a": [1], "b": [0]}
    assert len(list(space.of_size(1))) == 4


def test_a_public_size_is_kept() -> None:
    space = space_for(Rows(size=2), CHANGE, values=[0, 1])
    assert [len(list(space.of_size(n))) for n in range(4)] == [0, 0, 3, 0]


def test_units_need_rows_to_try() -> None:
    with pytest.raises(BadParameter, match="columns"):
        space_for(Rows(), units("id"))


def test_a_fault_that_needs_many_rows_is_found_and_made_small() -> None:
    """Nothing is wrong with up to six rows: random search must find it, and shrinking must bring it down to seven."""

    def late(rows: Any) -> int:
        return len(rows) + (50 if len(rows) > 6 else 0)

    report = check(Map(late, by(1)), values=[0, 1, 2], rows=2)
    assert report.smallest is not None
    assert sorted([len(report.smallest.first), len(report.smallest.second)]) == [6, 7]
    assert set(report.smallest.first) | set(report.smallest.second) == {0}


def test_a_fault_that_needs_one_value_is_shown_with_that_value_alone() -> None:
    def bad(rows: Any) -> int:
        return len(rows) + 9 * sum(x is None for x in rows)

    report = check(Map(bad, by(1)))
    assert report.smallest is not None
    assert {tuple(report.smallest.first), tuple(report.smallest.second)} == {(None,), ()}


def test_dependence_on_the_order_is_a_counterexample_at_distance_0() -> None:
    report = check(Map(lambda rows: rows[0] if rows else 0, by(10)), values=[0, 1])
    assert report.smallest is not None
    assert report.smallest.distance == 0


def test_what_was_tried_is_said() -> None:
    report = check(Map(len, by(1)), values=[0, 1], rows=2, searches=7)
    assert "all data of up to 2 rows over 2 different ones" in report.method
    assert "7 random pairs" in report.method
    cut = check(Map(len, by(1)), rows=3, most_pairs=100, searches=0)
    assert "up to 1 rows" in cut.method
    assert cut.tried == 100


def test_no_finite_distance_no_claim() -> None:
    space = Space((0, 1), CHANGE)
    seen: list[float] = []

    def judge(a: Any, b: Any) -> None:
        seen.append(space.distance(a, b))

    look(space, judge, rows=2, most_pairs=100, searches=20)
    assert all(math.isfinite(d) for d in seen)


def test_metrics_are_shown_in_words() -> None:
    assert "rows added or removed" in check(Map(len, by(1)), rows=1).claim
    assert str(NUMBER) in check(Map(len, by(1)), rows=1).claim
