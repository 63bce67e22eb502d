"""Key sets: algebra against plain sets; hierarchies that are not trees are refused by name."""

from datetime import date
from itertools import product

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BadParameter
from discreet.query.plan.key_sets import Hierarchy, KeySet, key_set

PLACES = [("A", "a1"), ("A", "a2"), ("B", "b1")]


def test_algebra_is_that_of_sets() -> None:
    a = dp.keys([("x", 1), ("x", 2), ("y", 1)], ["k", "n"])
    b = dp.keys([(2, "x"), (3, "z")], ["n", "k"])
    assert set((a | b).rows) == {("x", 1), ("x", 2), ("y", 1), ("z", 3)}
    assert (a & b).rows == (("x", 2),)
    assert (a - b).rows == (("x", 1), ("y", 1))
    assert set(a.join(b).rows) == {("x", 2)}
    c = dp.keys([(1, True), (2, False), (2, True)], ["n", "flag"])
    assert set(a.join(c).rows) == {(k, n, f) for (k, n), (m, f) in product(a.rows, c.rows) if n == m}
    assert a.only(["k"]).rows == (("x",), ("y",))


@pytest.mark.parametrize("kind", ["dict", "arrow", "polars", "pandas", "table"])
def test_frames_and_public_tables(kind: str) -> None:
    data = {"state": ["A", "A", "B", "A"], "day": [date(2024, 1, 1)] * 4, "code": [1, 1, 2, 1]}
    frame: object = data
    if kind in ("arrow", "table"):
        frame = pa.table(data)
    elif kind != "dict":
        frame = pytest.importorskip(kind).DataFrame(data)
    if kind == "table":
        frame = dp.table(frame, public=True)
    assert dp.keys(frame, ["state", "code"]).rows == (("A", 1), ("B", 2))


def test_a_private_table_has_no_public_keys() -> None:
    private = dp.table({"id": [1], "k": ["a"]}, unit="id")
    with pytest.raises(BadParameter, match="must be public"):
        dp.keys(private, ["k"])


@pytest.mark.parametrize(
    ("values", "columns", "words"),
    [
        ([("a", 1), ("a", 1)], ["k", "n"], "each tuple once"),
        ([("a", 1), ("b",)], ["k", "n"], "one value for each"),
        ([("a", 1), ("b", "c")], ["k", "n"], "all text"),
        ([("a", 0.5)], ["k", "n"], "floats"),
        ([], ["k", "n"], "at least one"),
        ([("a", 1)], ["k", "k"], "each column once"),
        ({"k": ["a"]}, ["k", "n"], "must be columns of the frame"),
    ],
)
def test_clear_errors(values: object, columns: list[str], words: str) -> None:
    with pytest.raises(BadParameter, match=words):
        key_set(values, columns)


def test_empty_results_are_refused() -> None:
    a, b = KeySet(("k",), (("a",),)), KeySet(("k",), (("b",),))
    with pytest.raises(BadParameter, match="at least one"):
        _ = a & b
    with pytest.raises(BadParameter, match="must have the columns"):
        _ = a | KeySet(("other",), (("a",),))


def test_a_hierarchy_sorts_children_beside_each_other() -> None:
    geo = dp.hierarchy("geo", ["state", "county"], table=[("B", "b1"), ("A", "a2"), ("A", "a1")])
    assert isinstance(geo, Hierarchy)
    assert geo.labels(0) == ("A", "B")
    assert geo.labels(1) == ("a1", "a2", "b1")
    assert geo.parents[0].tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("levels", "rows", "words"),
    [
        (["state", "state"], PLACES, "cycle"),
        (["state", "county"], [("A", "x"), ("B", "x")], "in 'A' and in 'B'"),
        (["state", "county"], [("A", None), ("B", "x")], "a row without county"),
        (["state", "county"], [("A", "x"), ("A", "x")], "each tuple once"),
        (["nation", "state", "county"], PLACES, "one value for each"),
        (["state", "county"], {"state": ["A"]}, "must be columns of the frame"),
    ],
)
def test_what_is_no_tree_is_refused(levels: list[str], rows: object, words: str) -> None:
    with pytest.raises(BadParameter, match=words):
        dp.hierarchy("geo", levels, table=rows)


def test_tables_refuse_sets_that_contradict_what_is_declared() -> None:
    geo = dp.hierarchy("geo", ["state", "county"], table=PLACES)
    other = dp.hierarchy("other", ["county", "block"], table=[("a1", 1)])
    rows = {"id": [1], "state": ["A"], "county": ["a1"], "block": [1]}
    with pytest.raises(BadParameter, match="a level of one hierarchy"):
        dp.table(rows, unit="id", key_sets=[geo, other])
    with pytest.raises(BadParameter, match="same keys everywhere"):
        dp.table(rows, unit="id", columns={"state": dp.keys(["A"])}, key_sets=[geo])
    with pytest.raises(BadParameter, match="must be left out: a key set"):
        dp.table(rows, unit="id", columns={"state": dp.bounds(0, 1)}, key_sets=[geo])
    with pytest.raises(BadParameter, match="public table"):
        dp.table(rows, public=True, key_sets=[geo])
    with pytest.raises(BadParameter, match="must be made by"):
        dp.table(rows, unit="id", key_sets=["geo"])  # type: ignore[list-item]


@pytest.mark.parametrize("other", ["a1", "A", 3])
def test_the_other_key_is_new_and_of_the_same_kind(other: object) -> None:
    with pytest.raises(BadParameter, match="other"):
        dp.hierarchy("geo", ["state", "county"], table=[("A", "a1")], other=other)  # type: ignore[arg-type]


def test_the_other_key_is_a_place_at_every_level() -> None:
    found = dp.hierarchy("geo", ["state", "county"], table=[("A", "a1"), ("Z", "z1")], other="else")
    assert found.rows == (("A", "a1"), ("Z", "z1"), ("else", "else"))
    with pytest.raises(BadParameter, match="left out"):
        dp.hierarchy("geo", ["county"], table=[(i,) for i in range(5_000)], other=-1)
