"""Every map's stability against all neighbours on small, nasty data. Planted bugs stand in the tests of each map."""

from __future__ import annotations

from inspect import isfunction, signature
from typing import Any

import pytest

from discreet import stable
from discreet.errors import BadParameter
from discreet.stable import RowMetric, StableMap, units
from tests.helpers.stability import claim_of, refute
from tests.stable.cases import CHANGE_ONE, GRID, MAPS


@pytest.mark.slow
@pytest.mark.parametrize(("tested", "values", "most"), [m[1:] for m in MAPS], ids=[m[0] for m in MAPS])
def test_no_neighbours_are_torn_apart(tested: StableMap, values: list[Any], most: int) -> None:
    assert refute(claim_of(tested), values, most=most) is None


OF_ROWS: dict[str, Any] = {
    "cast": lambda metric: stable.cast(int, neighbours=metric),
    "clip": lambda metric: stable.clip(0, 9, neighbours=metric),
    "count": lambda metric: stable.count(neighbours=metric),
    "count_by": lambda metric: stable.count_by(["a"], neighbours=metric),
    "custom": lambda metric: stable.custom(len, stability=1, neighbours=metric),
    "group_by": lambda metric: stable.group_by(["a"], neighbours=metric),
    "map": lambda metric: stable.map(abs, bounds=(0, 9), neighbours=metric),
    "quantise": lambda metric: stable.quantise(GRID, neighbours=metric),
    "resize": lambda metric: stable.resize(3, fill=0, neighbours=metric),
    "sum": lambda metric: stable.sum(bounds=(0, 9), neighbours=metric),
    "sum_by": lambda metric: stable.sum_by(["a"], by=0, bounds=(0, 9), neighbours=metric),
}
"""Maps that speak of rows. Those that take units: cap_rows, filter; a stream's maps have a metric of their own."""


@pytest.mark.parametrize("metric", [units("id"), units("id", CHANGE_ONE)], ids=str)
@pytest.mark.parametrize("make", OF_ROWS.values(), ids=OF_ROWS)
def test_what_speaks_of_rows_refuses_units(make: Any, metric: RowMetric) -> None:
    """A unit may have any number of rows: their stability must not be claimed for it, alone or in a chain."""
    with pytest.raises(BadParameter, match="insert cap_rows"):
        make(metric)
    with pytest.raises(BadParameter, match="insert cap_rows"):
        _ = stable.filter(bool, neighbours=metric) >> make(None)
    assert make(None) is not None
    assert stable.cap_rows(2, unit="id") >> make(None) is not None


@pytest.mark.parametrize("name", ["cap_rows", "count_by", "custom", "group_by", "resize", "sum_by"])
def test_what_takes_rows_refuses_groups(name: str) -> None:
    made = stable.cap_rows(2, unit="id") if name == "cap_rows" else OF_ROWS[name](None)
    with pytest.raises(BadParameter):
        _ = stable.group_by(["a", "b"]) >> made


def test_every_map_is_in_the_matrix() -> None:
    with_neighbours = {
        name for name in stable.__all__
        if isfunction(make := getattr(stable, name)) and "neighbours" in signature(make).parameters
    }  # fmt: skip
    assert with_neighbours == {*OF_ROWS, "cap_rows", "filter", "interact", "parallel", "units"}
