"""Domains: how they are described, and how data are read into them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet import stable
from discreet.errors import BadData
from discreet.stable import ADD_REMOVE, StableMap
from discreet.stable.core.domains import Groups, Number, OneOf, Rows, Text, Vector, Whole, read_groups, read_rows


def test_how_a_domain_is_described() -> None:
    assert str(Rows(Whole(0, None), 5)) == "5 integers in [0, ]"
    assert [str(d) for d in (Rows(), Groups(("a",)), Number(), Vector(3), Rows(Text()), Rows(OneOf((1, 2))))] == [
        "rows", "rows in 1 groups", "one integer", "a vector of 3 integers", "texts", "one of 2 values",
    ]  # fmt: skip


def test_arrays_become_python_objects() -> None:
    read = read_rows(np.array([1, 2], dtype=np.int8))
    assert read == [1, 2]
    assert {type(row) for row in read} == {int}
    assert read_rows(np.array([[1, 2], [3, 4]])) == [(1, 2), (3, 4)]
    assert read_rows(np.empty((0, 3))) == []
    assert read_rows(np.ones((1, 1, 2))) == [[[1.0, 1.0]]]


def test_the_list_of_the_caller_is_not_shared() -> None:
    given = [3, 1]
    read_rows(given).append(2)
    assert given == [3, 1]


@pytest.mark.parametrize("data", [5, "text", b"bytes", {"a": 1}, {1, 2}, None, np.array(3), (x for x in [1])])
@pytest.mark.parametrize("tested", [stable.count(), stable.clip(0, 1), stable.clip(0, 1) >> stable.count()], ids=str)
def test_data_must_be_rows_and_the_message_holds_none(tested: StableMap, data: Any) -> None:
    with pytest.raises(BadData, match=r"^the data must be a list, a tuple or a numpy array of rows$"):
        tested(data)


def test_lists_tuples_and_arrays_are_alike() -> None:
    for rows in (
        [1, 2, 9],
        (1, 2, 9),
        np.array([1, 2, 9]),
        np.array([1, 2, 9], dtype=object),
        np.array([1.0, 2.0, 9.0]),
    ):
        assert stable.sum(bounds=(0, 5))(rows) == 8
    table = np.array([[1, 10], [2, 20]])
    assert stable.sum(bounds=(0, 99), of=1)(table) == 30
    masked = np.ma.masked_array([1, 2, 9], mask=[False, True, False])
    assert stable.sum(bounds=(0, 5), missing=4)(masked) == 1 + 4 + 5
    named = np.array([("a", 3), ("b", 4)], dtype=[("k", "U1"), ("v", "i8")])
    assert stable.sum_by(["b", "a"], by=0, of=1, bounds=(0, 9))(named) == [4, 3]


def test_groups_are_read_in_the_order_of_the_public_keys() -> None:
    assert list(read_groups({"b": (1,), "a": []}, ("a", "b")).items()) == [("a", []), ("b", [1])]
    counted = stable.count().after(Groups(("a", "b")), ADD_REMOVE)
    assert counted({"b": [1], "a": []}) == [0, 1]


@pytest.mark.parametrize("data", [{"a": []}, {"a": [], "b": [], "c": []}, [1, 2], None])
def test_groups_under_other_keys_are_refused(data: Any) -> None:
    with pytest.raises(BadData, match=r"^the data must map each of the public keys to its rows$"):
        stable.count().after(Groups(("a", "b")), ADD_REMOVE)(data)
