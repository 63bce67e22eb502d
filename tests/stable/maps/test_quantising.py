"""Reals on a public grid: the cell by the definition, exactly."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import stable
from discreet.errors import BadParameter
from discreet.noise.grid import Grid, public_grid
from discreet.stable.core.domains import Rows, Whole
from tests.stable.cases import GRID, INF, NAN, NASTY, Sulks

HALVES = Grid(exponent=-1, low=-4, high=7, centre=Fraction(0), missing=3)


@pytest.mark.parametrize(
    ("row", "cell"),
    [(0, 0), (1, 2), (1.5, 3), (-2, -4), (-9, -4), (3.5, 7), (99, 7), (INF, 7), (-INF, -4), (True, 2),
     (0.7, 1), (Fraction(7, 10), 1), (Decimal("0.7"), 1), (np.float32(2.5), 5), (np.int64(3), 6), (2**70, 7),
     (None, 3), (NAN, 3), ("1", 3), ([1], 3), (1j, 3)],
)  # fmt: skip
def test_the_nearest_cell(row: Any, cell: int) -> None:
    assert stable.quantise(HALVES)([row]) == [cell]


def test_rows_that_answer_nothing_are_missing() -> None:
    assert stable.quantise(HALVES)([Sulks(), 1]) == [3, 2]
    assert all(GRID.low <= cell <= GRID.high for cell in stable.quantise(GRID)(NASTY))


def test_a_sum_of_cells_is_exact_in_any_order() -> None:
    rows = [0.1, 0.2, 0.3, 1e-9, 2.5, -1.75]
    grid = public_grid(-2, 3, scale=1)
    total = stable.quantise(grid) >> stable.sum()
    by_hand = sum(round(Fraction(row) / Fraction(2) ** grid.exponent) for row in rows)
    assert total(rows) == total(rows[::-1]) == by_hand
    assert total.stability(1) == max(abs(grid.low), abs(grid.high))


def test_the_grid_is_known_behind_it() -> None:
    assert stable.quantise(HALVES).output_domain == Rows(Whole(-4, 7))
    assert stable.quantise(HALVES).story() == ("put on a grid of width 2^-1, clamped to [-2, 3.5]",)
    assert stable.quantise(public_grid(0, 1, scale=1)).story() == ("put on a grid of width 2^-40, clamped to [0, 1]",)


@pytest.mark.parametrize("grid", [5, None, (0, 1), "grid"])
def test_what_is_no_grid(grid: Any) -> None:
    with pytest.raises(BadParameter, match="public grid"):
        stable.quantise(grid)
