"""neighbours.py: sensitivities against all neighbours on small domains, restated promises."""

from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from discreet.errors import BadParameter, NotATheorem
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Pure, Renyi
from discreet.privacy.promises.neighbours import (
    Neighbours,
    People,
    PeoplePerWindow,
    Rows,
    capped_sum_sensitivity,
    counts_sensitivity,
    restate,
    sum_sensitivity,
)

ADD, CHANGE = Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE


@pytest.mark.parametrize(("low", "high"), [(-2, 3), (0, 4), (1, 3), (-4, -1), (2, 2), (-1, 1)])
def test_sums_over_all_neighbours(low: int, high: int) -> None:
    values = range(low, high + 1)
    data = list(product(values, repeat=2))
    added = max(abs(sum((*rows, v)) - sum(rows)) for rows in data for v in values)
    changed = max(abs(sum((rows[0], v)) - sum(rows)) for rows in data for v in values)
    assert sum_sensitivity(low, high, ADD) == added
    assert sum_sensitivity(low, high, CHANGE) == changed


@pytest.mark.parametrize(("low", "high"), [(-2, 3), (1, 3), (-4, -1)])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_capped_sums_over_all_units(low: int, high: int, rows: int) -> None:
    units = [u for n in range(rows + 1) for u in product(range(low, high + 1), repeat=n)]
    assert capped_sum_sensitivity(low, high, rows, ADD) == max(abs(sum(u)) for u in units)
    assert capped_sum_sensitivity(low, high, rows, CHANGE) == max(abs(sum(u) - sum(v)) for u in units for v in units)


@pytest.mark.parametrize(("keys", "each"), [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_counts_over_all_units(keys: int, each: int) -> None:
    size = 4
    units = [u for u in product(range(each + 1), repeat=size) if sum(c > 0 for c in u) <= keys]
    for relation, moves in (
        (ADD, units),
        (CHANGE, [tuple(a - b for a, b in zip(u, v, strict=True)) for u in units for v in units]),
    ):
        found = counts_sensitivity(relation, keys=keys, each=each)
        assert found.l1 == max(sum(map(abs, m)) for m in moves)
        assert found.l2_squared == max(sum(c * c for c in m) for m in moves)


def test_restating() -> None:
    assert restate(Pure("0.1"), ADD, CHANGE) == Pure("0.2")
    assert restate(GDP(1), ADD, CHANGE) == GDP(2)
    assert restate(ZCDP("0.1"), ADD, CHANGE) == ZCDP("0.4")
    assert restate(Pure("0.1"), CHANGE, CHANGE, units=3) == Pure("0.3")
    assert restate(Approx(0, "1e-6"), ADD, ADD, units=3) == Approx(0, "3e-6")
    assert restate(Renyi({8: 1}), ADD, CHANGE) == Renyi({8: 1}).group(2)
    with pytest.raises(NotATheorem):
        restate(Pure(1), CHANGE, ADD)


def test_units_have_names() -> None:
    assert [str(u) for u in (Rows(), People(), PeoplePerWindow(days="1/2"))] == [
        "one row", "one person", "one person in one window of 0.5 days",
    ]  # fmt: skip


@pytest.mark.parametrize("bad", [0, -1, "x"])
def test_bad_input(bad: Any) -> None:
    calls: list[Any] = [
        lambda: PeoplePerWindow(bad),
        lambda: counts_sensitivity(ADD, keys=bad),
        lambda: counts_sensitivity(ADD, each=bad),
        lambda: capped_sum_sensitivity(0, 1, bad, ADD),
        lambda: restate(Pure(1), ADD, ADD, units=bad),
        lambda: sum_sensitivity(Fraction(1), bad, ADD),
    ]
    for call in calls:
        with pytest.raises(BadParameter):
            call()
