"""Public bounds of whole numbers, and what stands for a number that is not there.

Promise: the bounds are the caller's; none is read from data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import BadParameter
from discreet.exact import integer


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Whole numbers from ``low`` to ``high``, with ``missing`` among them.

    >>> as_bounds((-2, 5)).largest, as_bounds((-2, 5)).width, as_bounds((2, 5)).missing
    (5, 7, 2)
    """

    low: int
    high: int
    missing: int

    @property
    def largest(self) -> int:
        """What one number added or removed moves a sum by, at most."""
        return max(abs(self.low), abs(self.high))

    @property
    def width(self) -> int:
        """What one number changed moves a sum by, at most."""
        return self.high - self.low

    def __str__(self) -> str:
        return f"[{self.low}, {self.high}]"


def as_bounds(bounds: Sequence[int] | None, missing: int | None = None) -> Bounds:
    """The bounds as a caller writes them; ``missing`` is the number in them nearest to 0 unless it is given."""
    given: object = bounds
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise BadParameter("bounds", given, "must be two integers, (low, high); for reals insert quantise(grid)")
    low, high = integer(given[0], "low"), integer(given[1], "high")
    if low > high:
        raise BadParameter("low", low, f"must be at most high, which is {high}")
    blank = min(max(0, low), high) if missing is None else integer(missing, "missing")
    if not low <= blank <= high:
        raise BadParameter("missing", missing, f"must lie between low and high, {low} and {high}")
    return Bounds(low=low, high=high, missing=blank)
