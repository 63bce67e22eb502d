"""Put real numbers onto a public grid, as whole numbers of cells.

Promise: every row becomes a whole number in the grid's range, whatever it was, and depends on that row alone; so a sum
of rows is an exact integer in any order.
Believes: noise/grid.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.errors import BadParameter
from discreet.exact import significant
from discreet.noise.grid import Grid
from discreet.stable.core import domains
from discreet.stable.core.metrics import Relation, as_metric
from discreet.stable.core.stable_map import RowByRow
from discreet.stable.core.total import plain_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantise(RowByRow):
    """Each row in cells of a public grid; what is no number counts as the grid's ``missing``.

    Guarantee: stability d.

    >>> from discreet.mechanisms.additive.laplace import laplace
    >>> from discreet.noise.grid import public_grid
    >>> from discreet.stable.maps.summing import sum
    >>> grid = public_grid(0, 100, scale=100)
    >>> release = (quantise(grid) >> sum() >> laplace(epsilon=1)).then(grid.value)
    >>> release.cost(), isinstance(release([1.5, 2.25, None]).value, float)
    (Pure(epsilon=1), True)
    """

    name: ClassVar[str] = "quantise"

    grid: Grid

    @property
    def row(self) -> domains.Row:
        """Cells of the grid."""
        return domains.Whole(self.grid.low, self.grid.high)

    def rows(self, rows: list[Any]) -> list[int]:
        """Each row in cells."""
        cells: list[int] = self.grid.quantise([plain_number(row) for row in rows]).tolist()
        return cells

    def story(self) -> tuple[str, ...]:
        """The width of a cell and the bounds."""
        low, high = self.grid.value(self.grid.low), self.grid.value(self.grid.high)
        ends = f"[{significant(low, 6)}, {significant(high, 6)}]"
        return (f"put on a grid of width 2^{self.grid.exponent}, clamped to {ends}",)


def quantise(grid: Grid, *, neighbours: Relation = None) -> Quantise:
    """Put each row onto a public grid, see ``dp.noise.public_grid``; behind the mechanism ``grid.value`` leads back."""
    given: object = grid
    if not isinstance(given, Grid):
        raise BadParameter("grid", given, "must be a public grid, as made by public_grid(low, high, scale=...)")
    return Quantise(grid=grid, metric=as_metric(neighbours))
