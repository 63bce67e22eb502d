"""Clamp each row to a whole number between public bounds.

Promise: every row becomes a whole number in [low, high], whatever it was, and depends on that row alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.stable.core import domains
from discreet.stable.core.bounds import Bounds, as_bounds
from discreet.stable.core.metrics import Relation, as_metric
from discreet.stable.core.stable_map import RowByRow
from discreet.stable.core.total import wholes


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip(RowByRow):
    """Each row as a whole number in [low, high]: rounded, clamped, and ``missing`` where it is no number.

    Guarantee: stability d.

    >>> clip(0, 10)([3, 99, -1, 2.5, float("inf"), float("nan"), None, "7"])
    [3, 10, 0, 2, 10, 0, 0, 0]
    """

    name: ClassVar[str] = "clip"

    bounds: Bounds

    @property
    def row(self) -> domains.Row:
        """Whole numbers in the bounds."""
        return domains.Whole(self.bounds.low, self.bounds.high)

    def rows(self, rows: list[Any]) -> list[int]:
        """Each row, clamped."""
        b = self.bounds
        return wholes(rows, b.low, b.high, b.missing)

    def story(self) -> tuple[str, ...]:
        """The bounds."""
        return (f"clamped to {self.bounds}",)


def clip(low: int, high: int, *, missing: int | None = None, neighbours: Relation = None) -> Clip:
    """Clamp each row to [low, high]; ``missing`` (by default the bound nearest to 0) where it is no number."""
    return Clip(bounds=as_bounds((low, high), missing), metric=as_metric(neighbours))
