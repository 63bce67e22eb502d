"""The data that are tried: all small sets, all of their neighbours, and random steps between larger ones."""

from itertools import combinations
from random import Random
from typing import Any

import pytest

from discreet.checking.exact.small_data import VALUES, Space, space_for
from discreet.errors import BadParameter
from discreet.stable.core.domains import Groups, Rows
from discreet.stable.core.metrics import ADD_REMOVE, CHANGE, EDIT, IN_PLACE, RowMetric, units

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


def test_all_data_of_a_size() -> None:
    assert len(list(Space((0, 1, 2), ADD_REMOVE).of_size(2))) == 6  # bags
    assert len(list(Space((0, 1, 2), IN_PLACE).of_size(2))) == 9  # lists
    assert list(Space((0, 1), ADD_REMOVE).of_size(0)) == [()]


def test_other_orders_of_the_same_data() -> None:
    bag = Space((0, 1, 2), ADD_REMOVE)
    orders = list(bag.reordered((0, 1, 2)))
    assert len(orders) == 5
    assert all(bag.distance((0, 1, 2), order) == 0 for order in orders)
    assert list(Space((0, 1), IN_PLACE).reordered((0, 1))) == []
    assert list(bag.reordered((0,))) == []


def test_every_data_set_is_built_anew() -> None:
    """A function that is checked may change what it is given."""
    space = Space(({"x": [1]},), ADD_REMOVE)
    built = space.build(space.elements)
    built[0]["x"] = 2
    built.append(3)
    assert space.build(space.elements) == [{"x": [1]}]


def test_rows_of_all_combinations_of_columns() -> None:
    space = space_for(Rows(), ADD_REMOVE, columns={"id": [1, 2], "x": [0, None, 5]})
    assert len(space.elements) == 6
    assert {"id": 2, "x": None} in space.elements
    assert space_for(Rows(), ADD_REMOVE).elements == VALUES


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"values": [1], "columns": {"x": [1]}}, "left out when columns"),
        ({"values": []}, "at least one row"),
        ({"columns": {"x": []}}, "at least one row"),
    ],
)
def test_what_cannot_be_tried(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        space_for(Rows(), ADD_REMOVE, **options)
