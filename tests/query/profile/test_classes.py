"""Public classes: every size and value is in exactly one, and in the right one."""

from fractions import Fraction

import pytest

from discreet.query.answer.suggest import CELLS
from discreet.query.choose.classes import SIGNED_POWERS
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Column
from discreet.query.plan.types import Date, Number
from discreet.query.profile.classes import FIRST_YEAR, LAST_YEAR, STARTS, size_class, value_class, value_ends


def test_sizes_are_in_the_last_class_that_starts_at_or_below_them() -> None:
    key = size_class(Column("n"))
    for size in [*range(1, 200), *(s + d for s in STARTS for d in (-1, 0, 1) if s + d > 0), 10**9]:
        place = evaluate(key.lowered, {"n": size})
        assert STARTS[place] <= size
        assert place + 1 == len(STARTS) or size < STARTS[place + 1]


@pytest.mark.parametrize(
    "cells", [0, 1, -1, 2, -2, 3, 4, 1023, 1024, -1024, -1023, (1 << 60) - 1, 1 << 60, 1 << 62, -(1 << 62)]
)
def test_values_are_between_the_ends_of_their_class(cells: int) -> None:
    key = value_class("x", Number(Fraction(1), -(1 << 62), 1 << 62))
    power = evaluate(key.lowered, {CELLS: cells})
    assert power in SIGNED_POWERS
    low, high = value_ends(power, Fraction(1))
    if abs(power) <= 60:
        assert low <= cells <= high
        assert cells == 0 or (low <= abs(cells) < high if cells > 0 else -high <= -cells < -low)


def test_null_is_a_class_of_its_own() -> None:
    for kind, row in ((Number(Fraction(1), 0, 9), {CELLS: None}), (Date(), {"x": None})):
        key = value_class("x", kind)
        assert key.keys is not None
        assert evaluate(key.lowered, row) == key.keys[-1]


def test_dates_are_classed_by_their_year() -> None:
    from datetime import date

    key = value_class("x", Date())
    for year, found in ((1, FIRST_YEAR), (2024, 2024), (9999, LAST_YEAR)):
        assert evaluate(key.lowered, {"x": date(year, 5, 1)}) == found
