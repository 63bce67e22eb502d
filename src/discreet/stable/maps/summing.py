"""Sum rows between public bounds: all of them, or those under each public key.

Promise: the exact sum of clamped whole numbers, in any order, without wraparound; and how far it can move.
"""

from __future__ import annotations

import builtins
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.errors import BadParameter
from discreet.stable.core.bounds import Bounds, as_bounds
from discreet.stable.core.domains import Groups, Whole
from discreet.stable.core.metrics import How, Moves, Relation, as_metric, steps
from discreet.stable.core.stable_map import PUBLIC_NUMBER, Aggregate, Chain
from discreet.stable.core.total import Field, attempt, check_field, reader, show_field, wholes
from discreet.stable.maps.grouping import group_by


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum(Aggregate):
    """The sum of the rows, each clamped to integers in [low, high]; behind group_by, the sum of each group.

    Guarantee, with m = max(|low|, |high|): d rows added or removed move the sum by at most d·m; changed ones by
    d·(high - low); edited ones by d·max(m, high - low). In groups: added or removed d·m in L1, d²m² in L2 squared;
    edited 2d·m and d²·max(2m², (high - low)²), as a row may take its number from one group to another. All are
    attained.

    What is no number counts as ``missing``, which lies between the bounds. Numbers that are not whole are rounded to
    the nearest; insert quantise(grid) for reals.

    >>> total = sum(bounds=(0, 100))
    >>> total([5, 7, 1000, -3, None, float("nan")]), total.stability(2)
    (112, 200)
    """

    name: ClassVar[str] = "sum"

    bounds: Bounds | None
    of: Field

    def __post_init__(self) -> None:
        super(Sum, self).__post_init__()
        if self.bounds is None and self.domain is not None and self._bounds is None:
            raise BadParameter(
                "sum",
                f"behind {self.domain}",
                "must know its bounds: insert clip(low, high), or say bounds=(low, high)",
            )

    @property
    def _bounds(self) -> Bounds | None:
        """The stated bounds, or those of the numbers before it."""
        if self.bounds is not None:
            return self.bounds
        match self.input_domain.row:
            case Whole(low=int(low), high=int(high)) if self.of is None:
                return as_bounds((low, high))
            case _:
                return None

    @property
    def limits(self) -> Bounds:
        """The bounds, once the rows that it sums are known."""
        if self._bounds is None:
            raise BadParameter("bounds", None, "must be given as (low, high): none is read from data")
        return self._bounds

    def stability(self, distance: int) -> int | Moves:
        """How far the sum, or the vector of sums, moves."""
        d, how = steps(distance), self.input_metric.how
        most, width = self.limits.largest, self.limits.width
        given = self.input_domain
        if not isinstance(given, Groups):
            return d * (most if how is How.ADDED else width if how in PUBLIC_NUMBER else max(most, width))
        if how is How.ADDED:
            return Moves(l1=d * most, l2_squared=(d * most) ** 2, linf=d * most)
        within = max(most, width)
        if len(given.keys) == 1:
            return Moves(l1=d * within, l2_squared=(d * within) ** 2, linf=d * within)
        return Moves(l1=2 * d * most, l2_squared=d * d * max(2 * most * most, width * width), linf=d * within)

    def apply(self, data: Any) -> int | list[int]:
        """The exact sum, in Python integers."""
        if isinstance(data, dict):
            return [self._total(rows) for rows in data.values()]
        return self._total(data)

    def _total(self, rows: list[Any]) -> int:
        b, read = self.limits, reader(self.of)
        values = rows if self.of is None else (attempt(read, row, None) for row in rows)
        return builtins.sum(wholes(values, b.low, b.high, b.missing))

    def story(self) -> tuple[str, ...]:
        """The bounds, and what was summed."""
        where = " in each group" if isinstance(self.input_domain, Groups) else ""
        return (f"summed {show_field(self.of)} clamped to {self.limits}{where}",)


def sum(
    *,
    bounds: tuple[int, int] | None = None,
    of: Field = None,
    missing: int | None = None,
    neighbours: Relation = None,
) -> Sum:
    """Sum the rows, or a field ``of`` each row, clamped to public bounds of whole numbers.

    Without bounds it takes those of the map before it, such as clip or quantise. ``missing`` is the number in the
    bounds nearest to 0 unless it is given.
    """
    if bounds is None and missing is not None:
        raise BadParameter("missing", missing, "must be given together with bounds")
    limits = None if bounds is None else as_bounds(bounds, missing)
    return Sum(bounds=limits, of=check_field(of, "of"), metric=as_metric(neighbours))


def sum_by(
    keys: Sequence[Hashable],
    *,
    by: Field,
    bounds: tuple[int, int],
    of: Field = None,
    missing: int | None = None,
    neighbours: Relation = None,
) -> Chain:
    """Sum a field of the rows under each public key.

    >>> costs = sum_by(["N", "S"], by="clinic", of="cost", bounds=(0, 100))
    >>> costs([{"clinic": "S", "cost": 30}, {"clinic": "N", "cost": 500}, {"clinic": "X", "cost": 1}])
    [100, 30]
    """
    return group_by(keys, by=by, neighbours=neighbours) >> sum(bounds=bounds, of=of, missing=missing)
