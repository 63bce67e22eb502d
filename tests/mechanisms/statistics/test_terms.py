"""What one record adds to a sum: whole numbers in public ranges, summed exactly."""

from itertools import product as all_pairs
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.mechanisms.statistics.budget import Moves
from discreet.mechanisms.statistics.terms import COUNT, Term, column, exact_sum, product
from tests.helpers.databases import BOUNDS, RELATIONS

ADD, CHANGE = RELATIONS


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_cells_are_at_most_24_bits(bounds: Any) -> None:
    grid = column(*bounds).grid
    assert grid.largest <= 2**24


@pytest.mark.parametrize(
    ("low", "high", "added", "changed"), [(-2, 5, 5, 7), (-5, 2, 5, 7), (3, 5, 5, 2), (0, 0, 1, 1), (1, 1, 1, 1)]
)
def test_how_far_a_sum_moves(low: int, high: int, added: int, changed: int) -> None:
    """At least by one, so that there is always noise."""
    term = Term("x", low, high)
    assert term.moves(ADD) == Moves(l1=added, l2_squared=added**2)
    assert term.moves(CHANGE) == Moves(l1=changed, l2_squared=changed**2)
    assert COUNT.moves(ADD).l1 == 1


@pytest.mark.parametrize("bounds", [((-3, 4), (-2, 7)), ((1, 5), (2, 3)), ((-9, -1), (4, 8))])
@pytest.mark.parametrize("factors", [(0,), (1,), (0, 1), (0, 0), (1, 1)])
def test_a_product_lies_in_its_public_range_and_reaches_both_ends(bounds: Any, factors: tuple[int, ...]) -> None:
    columns = [column(*each) for each in bounds]
    term = product(columns, factors, "product")
    corners = [sorted({c.grid.low, c.grid.high, min(max(0, c.grid.low), c.grid.high)}) for c in columns]
    rows = np.array(list(all_pairs(*corners)), dtype=np.int64)
    values = [term.sum_of([rows[i : i + 1, 0], rows[i : i + 1, 1]]) for i in range(len(rows))]
    assert min(values) == term.low
    assert max(values) == term.high
    assert term.sum_of([rows[:, 0], rows[:, 1]]) == sum(values)
    assert len(factors) == 1 or abs(term.low + term.high) <= 1  # around 0: the least noise


@pytest.mark.parametrize("largest", [2**62, 2**61, 2**60 - 1, 1])
def test_sums_never_wrap(largest: int) -> None:
    values = np.array([largest, -largest, largest, largest, largest, largest, largest], dtype=np.int64)
    assert exact_sum(values, largest) == 5 * largest
    assert exact_sum(values[:0], largest) == 0


def test_a_column_covers_its_bounds() -> None:
    for low, high in ((0, 10), (-3, 7), (5, 5), (2**53, 2**53 + 1000)):
        c = column(low, high)
        assert low <= c.grid.exact(c.grid.low) <= low + c.cell
        assert high - c.cell <= c.grid.exact(c.grid.high) <= high
        assert c.width == high - low
        assert c.rounding >= c.cell


@pytest.mark.parametrize(("low", "high"), [(1, 0), (float("nan"), 1), (0, "1e400"), ("x", 1)])
def test_bounds_that_are_none(low: Any, high: Any) -> None:
    with pytest.raises(BadParameter):
        column(low, high)
