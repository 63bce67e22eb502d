"""One rule for what names a unit: all who count rows of people agree, and what is unlike itself is nobody."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pytest

from discreet.continual.counter import counter
from discreet.engines.memory.row import read_whole
from discreet.privacy.promises.measures import ZCDP
from discreet.stable.maps.capping import cap_rows
from discreet.synthetic.domain import Domain
from discreet.synthetic.source import rows_of
from discreet.unit_id import unit_codes, unit_id


class Sulks:
    def __eq__(self, other: object) -> bool:
        raise ValueError

    def __hash__(self) -> int:
        raise ValueError


class Unlike(str):
    """Text that says that it is unlike itself."""

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return id(self)


UNLIKE_THEMSELVES: list[Callable[[], Any]] = [
    lambda: float("nan"),
    lambda: np.float32("nan"),
    lambda: Decimal("NaN"),
    lambda: Decimal("sNaN"),
    lambda: complex("nan"),
    lambda: np.datetime64("NaT"),
    lambda: np.timedelta64("NaT"),
    lambda: pd.NaT,
    lambda: pd.NA,
    lambda: ("ann", float("nan")),
    lambda: ("ann", (1, Decimal("NaN"))),
    lambda: frozenset([float("nan")]),
]
"""A new one each time: two that are alike in all but being equal."""


def test_units_are_named_by_value() -> None:
    same = [7, 7.0, np.int64(7), np.float32(7), Decimal("7.00"), Fraction(7)]
    assert len({unit_id(v) for v in same}) == 1
    assert unit_id(0.0) == unit_id(-0.0)
    assert len({unit_id(v) for v in (7, "7", b"7", "07", (7,), ("7",), (7, 7), UUID(int=7))}) == 8
    assert unit_id(("a", "b")) != unit_id(("ab", ""))
    assert unit_id(("1:sa",)) != unit_id(("1", "a"))
    assert unit_id(Unlike("ann")) == unit_id("ann")


def test_what_names_nobody() -> None:
    nobody: list[Any] = [
        None, math.inf, 7.5, True, np.True_, (1, None), [1], {}, Sulks(), 1 << 5000, Decimal("1E+999999"), 1j, object(),
    ]  # fmt: skip
    nobody += [make() for make in UNLIKE_THEMSELVES]
    assert [unit_id(value) for value in nobody] == [None] * len(nobody)


@pytest.mark.parametrize("x", [0.0, -0.0, 1.0, -7.0, 0.5, 2.0**53 - 1, 2.0**53, -(2.0**53), 2.0**60, math.inf])
def test_floats_are_read_as_the_engines_read_them(x: float) -> None:
    whole = read_whole(x)
    assert unit_id(x) == (None if whole is None else unit_id(whole))


@pytest.mark.parametrize("make", UNLIKE_THEMSELVES)
def test_no_cap_is_evaded_by_a_unit_that_is_unlike_itself(make: Callable[[], Any]) -> None:
    """Each of its rows would be another unit: today's rule, equality, is the twin, and keeps all ten."""
    units = [make() for _ in range(10)]
    stream = counter(horizon=3, budget=ZCDP(10**8))
    assert stream.push_rows([(unit, 1) for unit in units]).value == pytest.approx(0, abs=0.1)
    assert cap_rows(1, unit=0)([(unit, 1) for unit in units]) == []

    if not isinstance(units[0], type(pd.NA) | type(pd.NaT)):  # these are there once
        assert len({id(unit) for unit in units if not alike(unit, units[0])} | {id(units[0])}) == 10


def alike(one: Any, other: Any) -> bool:
    try:
        return one is other or bool(one == other)
    except ArithmeticError:  # a NaN that signals
        return False


def test_units_of_floats_in_frames_are_whole_numbers() -> None:
    table = {"id": [1.0, 1.0, 1.5, math.nan, 2.0**53, math.inf, None, -0.0, 0.0], "x": [0] * 9}
    rows = rows_of(table, Domain({"x": range(1)}), unit="id", max_rows=1)
    assert rows.marginals([()])[0] == 2  # 1 and 0


def test_codes_are_equal_exactly_where_ids_are() -> None:
    values = [7, "7", 7.0, None, float("nan"), ("a", 7), ("a", 7.0), Sulks(), "7"]
    assert unit_codes(values).tolist() == [0, 1, 0, -1, -1, 2, 2, -1, 1]
    assert unit_codes([]).tolist() == []
