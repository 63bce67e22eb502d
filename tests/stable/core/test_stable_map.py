"""Chains: what fits, what is refused and with which advice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from discreet import stable
from discreet.errors import BadParameter
from discreet.mechanisms.additive.laplace import laplace
from discreet.privacy.promises.neighbours import Neighbours
from discreet.stable import ADD_REMOVE, CHANGE, EDIT, IN_PLACE, units
from discreet.stable.core.domains import Groups, Vector, Whole

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


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: stable.count() >> stable.filter(bool), "behind an exact answer comes a mechanism"),
    (lambda: stable.count_by(["a"]) >> stable.count(), "behind an exact answer comes a mechanism"),
    (lambda: stable.filter(bool) >> laplace(epsilon=1), "insert count"),
    (lambda: stable.group_by(["a"]) >> laplace(epsilon=1), "insert count"),
    (lambda: stable.filter(bool, neighbours=CHANGE) >> stable.count(neighbours=CHANGE), "leave out neighbours"),
    (lambda: stable.clip(0, 1) >> stable.count(neighbours=CHANGE_ONE), "leave out neighbours"),
    (lambda: stable.filter(bool, neighbours=units("id")) >> stable.count(), "insert cap_rows"),
    (lambda: stable.filter(bool, neighbours=units("id")) >> stable.map(len, bounds=(0, 1)), "insert cap_rows"),
    (lambda: stable.filter(bool, neighbours=units("id", IN_PLACE)), "must be units"),  # type: ignore[arg-type]
    (lambda: stable.count() >> laplace(epsilon=1, real=True), "integers"),
    (lambda: stable.count() >> laplace(epsilon=1, sensitivity="1/2"), "integers"),
    (lambda: stable.sum(bounds=(0, 5)) >> laplace(epsilon=1, sensitivity=4), "must cover the map's, 5"),
    (lambda: stable.count_by(["a", "b"]) >> laplace(epsilon=1, sensitivity=1), "must be 2"),
    (lambda: (stable.clip(0, 1) >> stable.count()).stability(0.5), "must be an integer"),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.parametrize(("build", "advice"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_what_does_not_fit_is_refused_when_it_is_built(build: Callable[[], Any], advice: str) -> None:
    with pytest.raises(BadParameter, match=advice):
        build()


def test_nothing_else_stands_behind_a_map() -> None:
    for other in (5, "laplace", None, len):
        with pytest.raises(BadParameter, match="spend"):
            stable.count() >> other  # type: ignore[operator]


def test_how_a_chain_is_described() -> None:
    chain = stable.cap_rows(1, unit="id") >> stable.filter(bool) >> stable.sum_by(["a"], by="k", of="x", bounds=(0, 9))
    assert chain.story() == (
        "kept at most 1 row of each unit by 'id'",
        "kept rows where bool holds",
        "grouped by 'k' under 1 public keys",
        "summed 'x' clamped to [0, 9] in each group",
    )


def test_a_chain_behind_something_else_keeps_all_its_maps() -> None:
    first = stable.filter(bool, neighbours=EDIT)
    rest = stable.clip(0, 9) >> stable.clip(1, 3) >> stable.clip(2, 2)
    assert (first >> rest)([0, 5]) == [2]
    assert len((first >> rest).maps) == 4
    assert [m.bounds for m in (first >> rest).maps[1:]] == [m.bounds for m in rest.maps]  # type: ignore[attr-defined]


def test_what_stands_behind_a_chain_is_what_stands_behind_its_last_map() -> None:
    """Rows come or go before a fixed size, and are changed behind it: a price by the other metric would be half."""
    filtered, sized = stable.filter(bool), stable.resize(3, fill=0)
    chain = filtered >> sized
    assert filtered.output_metric != sized.output_metric
    assert (chain.input_metric, chain.output_metric) == (filtered.input_metric, sized.output_metric)
    assert chain.output_domain == sized.output_domain != filtered.output_domain
