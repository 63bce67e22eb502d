"""Chains: what fits, what is refused and with which advice; bad input at the door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet import stable
from discreet.errors import BadData, BadParameter
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.noise.grid import public_grid
from discreet.privacy.promises.neighbours import Neighbours
from discreet.stable import ADD_REMOVE, CHANGE, EDIT, IN_PLACE, StableMap, units
from discreet.stable.core.domains import Groups, Number, Rows, Vector, Whole

CHANGE_ONE = Neighbours.CHANGE_ONE


def test_a_map_takes_over_the_metric_before_it() -> None:
    chain = stable.filter(bool, neighbours=CHANGE_ONE) >> stable.clip(0, 1) >> stable.group_by([0, 1]) >> stable.count()
    assert chain.input_metric == CHANGE
    assert [m.input_metric for m in chain.maps] == [CHANGE, EDIT, EDIT, EDIT]
    assert chain.maps[2].output_domain == Groups((0, 1), Whole(0, 1))
    assert chain.output_domain == Vector(2, (0, 1))
    assert chain([5, 0, 1, None]) == [0, 2]


def test_how_a_chain_is_put_together_does_not_matter() -> None:
    a, b, c = stable.filter(bool, neighbours=EDIT), stable.clip(0, 9), stable.sum()
    left, right = (a >> b) >> c, a >> (b >> c)
    assert left == right
    assert left.stability(3) == 27
    assert (a >> (stable.clip(0, 9) >> stable.sum(bounds=(-4, 4)))).stability(1) == 8


def test_alone_a_map_stands_for_rows_added_or_removed() -> None:
    assert stable.count().input_metric == ADD_REMOVE
    assert (stable.clip(0, 1) >> stable.count()).input_metric == ADD_REMOVE
    assert stable.first(3).input_metric == IN_PLACE


def test_units_become_rows() -> None:
    chain = stable.cap_rows(3, unit="id", neighbours=CHANGE_ONE) >> stable.count_by(["a", "b"], by="x")
    assert chain.input_metric == units("id", CHANGE_ONE)
    assert chain.maps[0].output_metric == EDIT
    assert (chain.stability(2).l1, chain.stability(2).l2_squared, chain.stability(2).linf) == (12, 72, 6)


def test_a_fixed_number_of_rows_is_known_behind_resize() -> None:
    chain = stable.clip(2, 5) >> stable.resize(10, fill=2) >> stable.sum()
    assert chain.maps[1].output_domain == Rows(Whole(2, 5), 10)
    assert chain.stability(1) == 3
    assert chain([4, 100]) == 4 + 5 + 8 * 2


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: stable.count() >> stable.filter(bool), "behind an exact answer comes a mechanism"),
    (lambda: stable.count_by(["a"]) >> stable.count(), "behind an exact answer comes a mechanism"),
    (lambda: stable.filter(bool) >> stable.sum(), "insert clip"),
    (lambda: stable.cast(int) >> stable.sum(), "insert clip"),
    (lambda: stable.group_by(["a"]) >> stable.sum(), "insert clip"),
    (lambda: stable.clip(0, 1) >> stable.sum(of="x"), "insert clip"),
    (lambda: stable.group_by(["a"]) >> stable.group_by(["b"]), "takes rows, not groups"),
    (lambda: stable.group_by(["a"]) >> stable.resize(3, fill=0), "takes rows, not groups"),
    (lambda: stable.filter(bool) >> laplace(epsilon=1), "insert count"),
    (lambda: stable.group_by(["a"]) >> laplace(epsilon=1), "insert count"),
    (lambda: stable.filter(bool, neighbours=CHANGE) >> stable.count(neighbours=CHANGE), "leave out neighbours"),
    (lambda: stable.clip(0, 1) >> stable.count(neighbours=CHANGE_ONE), "leave out neighbours"),
    (lambda: stable.clip(0, 1, neighbours=units("id")), "insert cap_rows"),
    (lambda: stable.count(neighbours=units("id")), "insert cap_rows"),
    (lambda: stable.resize(3, fill=0, neighbours=units("id")), "insert cap_rows"),
    (lambda: stable.filter(bool, neighbours=units("id")) >> stable.count(), "insert cap_rows"),
    (lambda: stable.filter(bool, neighbours=units("id")) >> stable.map(len, bounds=(0, 1)), "insert cap_rows"),
    (lambda: stable.filter(bool) >> stable.cap_rows(3, unit="id"), "must come first"),
    (lambda: stable.filter(bool) >> stable.cap_rows(3), "must come first"),
    (lambda: stable.filter(bool, neighbours=units("id")) >> stable.cap_rows(3, unit="name"), "units by 'id'"),
    (lambda: stable.cap_rows(3) >> stable.count(), "must say where a row names its unit"),
    (lambda: stable.cap_rows(3, neighbours=CHANGE_ONE), "unit="),
    (lambda: stable.cap_rows(3, unit="id", neighbours=units("id")), "must not name units"),
    (lambda: stable.cap_rows(3, unit="id", neighbours=IN_PLACE), "must be units"),
    (lambda: stable.filter(bool, neighbours=units("id", IN_PLACE)), "must be units"),  # type: ignore[arg-type]
    (lambda: stable.resize(3, fill=0, neighbours=IN_PLACE), "first"),
    (lambda: stable.clip(1, 5) >> stable.resize(3, fill=0), "must be a row like"),
    (lambda: stable.cast(str) >> stable.resize(3, fill=0), "must be a row like"),
    (lambda: stable.cast(bool) >> stable.resize(3, fill="x"), "must be a row like"),
    (lambda: stable.clip(0, 1) >> stable.first(3), "neighbours=IN_PLACE"),
    (lambda: stable.clip(0, 1, neighbours=CHANGE_ONE) >> stable.as_vector(3, bounds=(0, 1)), "neighbours=IN_PLACE"),
    (lambda: stable.count(neighbours=CHANGE_ONE) >> laplace(epsilon=1), "public between neighbours"),
    (lambda: stable.sum(bounds=(3, 3), neighbours=CHANGE_ONE) >> laplace(epsilon=1), "public between neighbours"),
    (lambda: stable.sum(bounds=(0, 0)) >> gaussian(rho=1), "public between neighbours"),
    (lambda: stable.count() >> laplace(epsilon=1, real=True), "whole numbers"),
    (lambda: stable.count() >> laplace(epsilon=1, sensitivity="1/2"), "whole numbers"),
    (lambda: stable.sum(bounds=(0, 5)) >> laplace(epsilon=1, sensitivity=4), "must cover the map's, 5"),
    (lambda: stable.count_by(["a", "b"]) >> laplace(epsilon=1, sensitivity=1), "must be 2"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "advice"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_what_does_not_fit_is_refused_when_it_is_built(build: Callable[[], Any], advice: str) -> None:
    with pytest.raises(BadParameter, match=advice):
        build()


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: stable.filter(5), "condition"),  # type: ignore[arg-type]
    (lambda: stable.map(5, bounds=(0, 1)), "f is 5"),  # type: ignore[arg-type]
    (lambda: stable.map(len), "bounds"),
    (lambda: stable.map(len, bounds=(0, 1), values=["a"]), "bounds"),
    (lambda: stable.map(len, values=["a"], otherwise="b"), "otherwise"),
    (lambda: stable.map(len, values=["a", "a"], otherwise="a"), "all different"),
    (lambda: stable.clip(5, 3), "at most high"),
    (lambda: stable.clip(0.5, 3), "must be an integer"),  # type: ignore[arg-type]
    (lambda: stable.clip(0, 3, missing=4), "between low and high"),
    (lambda: stable.quantise(5), "public grid"),  # type: ignore[arg-type]
    (lambda: stable.cast(float), "int, str or bool"),  # type: ignore[arg-type]
    (lambda: stable.cast(int, otherwise="x"), "otherwise"),
    (lambda: stable.cast(str, otherwise=0), "otherwise"),
    (lambda: stable.cap_rows(0, unit="id"), "at least 1"),
    (lambda: stable.cap_rows(1, unit=1.5), "must be a name"),  # type: ignore[arg-type]
    (lambda: stable.cap_rows(1, unit="id", salt="x"), "bytes"),  # type: ignore[arg-type]
    (lambda: stable.cap_rows(1, unit="id", salt=b"x" * 65), "bytes"),
    (lambda: stable.resize(0, fill=0), "at least 1"),
    (lambda: stable.resize(1, fill=object()), "made of numbers"),
    (lambda: stable.group_by([]), "at least one"),
    (lambda: stable.group_by("ab"), "list of public values"),
    (lambda: stable.group_by([1, True]), "all different"),
    (lambda: stable.group_by([float("nan")]), "looked up"),
    (lambda: stable.group_by([("a", float("nan"))]), "looked up"),
    (lambda: stable.group_by([[1]]), "looked up"),  # type: ignore[list-item]
    (lambda: stable.group_by({"a"}), "list of public values"),  # type: ignore[arg-type]
    (lambda: stable.sum(bounds=(1, 2, 3)), "two whole numbers"),  # type: ignore[arg-type]
    (lambda: stable.sum(bounds=(0, float("inf"))), "must be an integer"),  # type: ignore[arg-type]
    (lambda: stable.sum(missing=3), "together with bounds"),
    (lambda: stable.sum()([1]), "none is read from data"),
    (lambda: stable.sum().stability(1), "none is read from data"),
    (lambda: stable.first(0), "at least 1"),
    (lambda: stable.count(neighbours="add"), "Neighbours"),  # type: ignore[arg-type]
    (lambda: stable.count().stability(-1), "at least 0"),
    (lambda: (stable.clip(0, 1) >> stable.count()).stability(0.5), "must be an integer"),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.parametrize(("build", "words"), BAD, ids=[str(i) for i in range(len(BAD))])
def test_bad_parameters(build: Callable[[], Any], words: str) -> None:
    with pytest.raises(BadParameter, match=words):
        build()


@pytest.mark.parametrize("data", [5, "text", b"bytes", {"a": 1}, {1, 2}, None, np.array(3), (x for x in [1])])
@pytest.mark.parametrize("tested", [stable.count(), stable.clip(0, 1), stable.clip(0, 1) >> stable.count()], ids=str)
def test_data_must_be_rows_and_the_message_holds_none(tested: StableMap, data: Any) -> None:
    with pytest.raises(BadData, match="must be a list, a tuple or a numpy array of rows"):
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


def test_groups_at_the_door() -> None:
    counted = stable.count().after(Groups(("a", "b")), ADD_REMOVE)
    assert counted({"b": [1], "a": []}) == [0, 1]
    with pytest.raises(BadData, match="public keys"):
        counted({"a": []})
    with pytest.raises(BadData, match="public keys"):
        counted([1, 2])


def test_nothing_else_stands_behind_a_map() -> None:
    for other in (5, "laplace", None, len):
        with pytest.raises(BadParameter, match="spend"):
            stable.count() >> other  # type: ignore[operator]


def test_what_a_chain_tells() -> None:
    chain = stable.cap_rows(1, unit="id") >> stable.filter(bool) >> stable.sum_by(["a"], by="k", of="x", bounds=(0, 9))
    assert chain.told() == (
        "kept at most 1 row of each unit by 'id'",
        "kept rows where bool holds",
        "grouped by 'k' under 1 public keys",
        "summed 'x' clamped to [0, 9] in each group",
    )
    others = stable.cast(int) >> stable.map(abs, bounds=(0, 3)) >> stable.clip(0, 2) >> stable.resize(4, fill=0)
    assert len(others.told()) == 4
    assert stable.map(str, values=["1"], otherwise="1").told() == ("took str of each row, one of 1 public values",)
    assert stable.quantise(public_grid(0, 1, scale=1)).told() == ("put on a grid of width 2^-40, clamped to [0, 1]",)
    assert (stable.first(3) >> stable.as_vector(2, bounds=(0, 1))).told()[1] == "took 2 values, clamped to [0, 1]"


def test_a_domain_in_words() -> None:
    assert str(Rows(Whole(0, None), 5)) == "5 whole numbers in [0, ]"
    assert [str(d) for d in (Rows(), Groups(("a",)), Number(), Vector(3))] == [
        "rows", "rows in 1 groups", "one whole number", "a vector of 3 whole numbers",
    ]  # fmt: skip
