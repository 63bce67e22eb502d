"""Public cells: which one a record falls into, by plain comparisons; nothing that a record holds makes a call fail."""

import math
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter
from discreet.mechanisms.base.marks import ruler
from discreet.mechanisms.statistics.binning import (
    MOST,
    Bins,
    Keys,
    Table,
    UpTo,
    count_records,
    read_cells,
    read_columns,
    records_of,
    tally,
)
from discreet.mechanisms.statistics.counting import attribute_counts, histogram
from tests.helpers.databases import NUMBERS_DOMAIN


def test_arrays_and_lists_are_counted_alike() -> None:
    rng = np.random.default_rng(6)
    for dtype in (np.int8, np.int64, np.uint8, np.uint64):
        data = rng.integers(0, 12, 100).astype(dtype)
        for keys in (range(3, 9), range(-2, 5), [5, 3], range(250, 260)):
            m = histogram(keys=keys, epsilon=1)
            assert m.read(data).tolist() == m.read(data.tolist()).tolist()
            assert m.read(data).tolist() == [data.tolist().count(k) for k in keys]
    far = np.array([2**63, 2**63 + 1, 5, 2**64 - 1], dtype=np.uint64)
    assert histogram(keys=range(2**63, 2**63 + 3), epsilon=1).read(far).tolist() == [1, 1, 0]
    assert histogram(keys=range(-3, 6), epsilon=1).read(far).tolist() == [0] * 8 + [1]
    table = Table((3, 4))
    for rows in (rng.integers(-1, 5, size=(50, 2)), rng.integers(0, 5, size=(50, 2)).astype(np.uint8)):
        assert table.of(rows).tolist() == table.of([tuple(r) for r in rows.tolist()]).tolist()
    bits = rng.integers(0, 2, size=(30, 4))
    m4 = attribute_counts(d=4, epsilon=1)
    assert m4.read(bits).tolist() == m4.read(bits.tolist()).tolist() == bits.sum(axis=0).tolist()


def test_bins_and_thresholds_agree_with_plain_comparisons() -> None:
    edges = [-1.0, 0.0, 0.5, 3.0]
    numbers = [x for x in NUMBERS_DOMAIN if isinstance(x, float)] + [-0.5, 3.0, 0.25, 2.9]
    for x in numbers:
        inside = [i for i in range(3) if edges[i] <= x < edges[i + 1] or (i == 2 and x == 3.0)]
        assert Bins(ruler(edges, "bins")).of([x]).tolist() == (inside or [-1])
        up_to = [i for i in range(4) if x <= edges[i]]
        assert UpTo(ruler(edges, "t")).of([x]).tolist() == (up_to[:1] or [-1])


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (Keys(("a", None)), ["a", None]),
        (Keys(range(3, 5)), [3, 4]),
        (Bins(ruler([0, 1, 2.5], "bins")), [(0.0, 1.0), (1.0, 2.5)]),
        (UpTo(ruler([0, 1], "thresholds")), [0.0, 1.0]),
        (Table((2, 2)), [(0, 0), (0, 1), (1, 0), (1, 1)]),
    ],
)
def test_every_cell_has_a_label(cells: Any, labels: list[Any]) -> None:
    assert list(cells.labels) == labels
    assert len(cells) == len(labels)


def test_a_table_is_counted_in_the_order_of_its_labels() -> None:
    table = Table((2, 3))
    for place, label in enumerate(table.labels):
        assert table.of([label]).tolist() == [place]
        assert table.of(np.array([label])).tolist() == [place]
    assert table.of([(0, 3), (-1, 0), (0, 0, 0), None]).tolist() == [-1, -1, -1, -1]
    assert table.of([]).tolist() == []


def test_records_without_a_cell_are_not_counted() -> None:
    assert tally(np.array([-1, 0, 2, 2, -1]), 4).tolist() == [1, 0, 2, 0]
    assert tally(np.array([], dtype=np.int64), 2).tolist() == [0, 0]


def test_records_one_by_one() -> None:
    assert records_of(iter([1, "a"])) == [1, "a"]
    assert count_records({"a": 1}) == 1
    assert count_records(x for x in range(7)) == 7
    assert count_records(np.zeros((4, 2))) == 4
    for data in (7, "text", b"bytes", None, np.array(7)):
        with pytest.raises(BadData, match="list of records"):
            records_of(data)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("ab", "list of public keys"),
        (5, "list of public keys"),
        ([], f"1 to {MOST}"),
        (range(MOST + 1), f"1 to {MOST}"),
        ([1.5], "must not be floats"),
        ([math.nan], "must not be floats"),
        (np.array([1.0]), "must not be floats"),
        ([1, True], "all be different"),
        (["a", "a"], "all be different"),
        ([["a"]], "looked up"),
        ([{}], "looked up"),
        ([("a", math.nan)], "looked up"),
        ([(("a", math.nan),)], "looked up"),
    ],
    ids=range(13),
)
def test_what_is_no_list_of_keys(keys: Any, message: str) -> None:
    """NaN inside a tuple would count a row if it holds the same object, and not if it holds an equal one."""
    with pytest.raises(BadParameter, match=message):
        read_cells(keys, None)


def test_keys_or_bins() -> None:
    assert isinstance(read_cells(["a"], None), Keys)
    assert isinstance(read_cells(None, [0, 1]), Bins)
    for keys, bins in ((None, None), (["a"], [0, 1])):
        with pytest.raises(BadParameter, match="not both"):
            read_cells(keys, bins)
    with pytest.raises(BadParameter, match="two different edges"):
        read_cells(None, [1, 1])


@pytest.mark.parametrize("columns", [(), "12", 5, (2, 0), (2, 1.5), (2, True), (2**63,), None])
def test_what_is_no_list_of_columns(columns: Any) -> None:
    with pytest.raises(BadParameter, match="columns"):
        read_columns(columns)
