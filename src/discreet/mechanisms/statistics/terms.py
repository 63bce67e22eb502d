"""What one record adds to a sum: whole numbers in public ranges, counted on a public grid.

Promise: whatever a record holds, its term lies between two public bounds, so that the sum moves by a public amount;
sums are exact. Proof: moments.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Integers
from discreet.errors import BadParameter
from discreet.exact import Number, number
from discreet.mechanisms.statistics.budget import Moves
from discreet.noise.grid import FINENESS, Grid, public_grid
from discreet.privacy.promises.neighbours import Neighbours

LEVELS = 24  # records are at most 2^24 cells from the middle, so that products of two fit into 48 bits
_WIDEST = 1 << 62


@dataclass(frozen=True, slots=True)
class Term:
    """What one record adds to a sum: the product of its cells in some columns, less a public offset.

    It is a whole number between two public bounds, whatever the record holds.
    """

    name: str
    low: int
    high: int
    factors: tuple[int, ...] = ()
    offset: int = 0

    def moves(self, neighbours: Neighbours) -> Moves:
        """How far the sum moves; at least one, so that there is always noise."""
        largest = max(abs(self.low), abs(self.high))
        moved = max(1, largest if neighbours is Neighbours.ADD_REMOVE else self.high - self.low)
        return Moves(l1=moved, l2_squared=moved**2)

    def sum_of(self, cells: Sequence[Integers]) -> int:
        """The exact sum over all records."""
        product = np.ones(len(cells[0]), dtype=np.int64)
        for factor in self.factors:
            product = product * cells[factor]
        return exact_sum(product - self.offset, max(abs(self.low), abs(self.high)))


COUNT = Term("count", 1, 1)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of records on its public grid."""

    grid: Grid
    low: Fraction
    high: Fraction

    @property
    def cell(self) -> Fraction:
        """The width of a cell."""
        return Fraction(2) ** self.grid.exponent

    @property
    def rounding(self) -> Fraction:
        """How far a record within the bounds, as a float, may lie from its cell: see noise/grid.md."""
        return 2 * self.cell + self.width / (1 << 52)

    @property
    def width(self) -> Fraction:
        """The width of the public range."""
        return self.high - self.low


def column(low: Number, high: Number) -> Column:
    """A public grid of about 2^25 cells from low to high, counted from the middle."""
    bottom, top = number(low, "low"), number(high, "high")
    if bottom > top:
        raise BadParameter("low", low, f"must be at most high, which is {high}")
    try:
        centre = Fraction(float((bottom + top) / 2))
    except OverflowError:
        raise BadParameter("high", high, "must be below 2^900 in size") from None
    reach = max(abs(bottom - centre), abs(top - centre)) or max(abs(centre), Fraction(1))  # one value needs one cell
    return Column(public_grid(bottom, top, scale=reach * (1 << (FINENESS - LEVELS)), centre=centre), bottom, top)


def exact_sum(values: Integers, largest: int) -> int:
    """The sum as a Python integer, of numbers at most ``largest`` in size.

    >>> exact_sum(np.array([2**61] * 5), 2**61) == 5 * 2**61
    True
    """
    step = max(1, _WIDEST // max(1, largest))  # so many of them cannot leave 64 bits
    if len(values) <= step:
        return int(values.sum())
    whole = len(values) // step * step
    parts: list[int] = values[:whole].reshape(-1, step).sum(axis=1).tolist()
    return sum(parts) + int(values[whole:].sum())


def product(columns: Sequence[Column], factors: tuple[int, ...], name: str) -> Term:
    """The product of cells, less the middle of its public range where that range is not around 0 by itself."""
    grids = [columns[f].grid for f in factors]
    if len(grids) == 1:
        return Term(name, grids[0].low, grids[0].high, factors)
    ends = [a * b for a in (grids[0].low, grids[0].high) for b in (grids[1].low, grids[1].high)]
    low, high = min(ends), max(ends)
    if factors[0] == factors[1]:  # squares are not below 0
        low = 0 if grids[0].low <= 0 <= grids[0].high else min(grids[0].low ** 2, grids[0].high ** 2)
    offset = (low + high) // 2
    return Term(name, low - offset, high - offset, factors, offset)
