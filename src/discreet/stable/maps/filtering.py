"""Keep the rows for which a condition holds.

Promise: k rows added, removed or changed, at most k rows kept or left out differently. A condition that fails on a row
is false there.
Believes: the condition is a function of its row alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.errors import BadParameter
from discreet.stable.core.domains import Domain, Groups, Rows
from discreet.stable.core.metrics import Relation, RowMetric, as_metric, steps
from discreet.stable.core.stable_map import StableMap, each_group
from discreet.stable.core.total import attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(StableMap):
    """Rows for which a condition holds; where it raises, or gives what has no truth, it does not hold.

    Guarantee: stability d. Added or removed rows stay so, or vanish; a changed row may come or go, so changes become
    edits, and the number of rows is private from here on. Units likewise: each keeps some of its own rows.

    >>> positive = filter(lambda x: 1 // x > 0)
    >>> positive([1, 0, None, -3, 1]), positive.stability(2)
    ([1, 1], 2)
    """

    name: ClassVar[str] = "filter"
    takes_groups: ClassVar[bool] = True
    takes_units: ClassVar[bool] = True

    condition: Callable[[Any], Any]

    @property
    def output_domain(self) -> Domain:
        """Rows of the same kind, of private number."""
        given = self.input_domain
        return given if isinstance(given, Groups) else Rows(given.row)

    @property
    def output_metric(self) -> RowMetric:
        """Additions and removals as they were; changes as edits."""
        return self.input_metric.edited()

    def stability(self, distance: int) -> int:
        """No further apart than before."""
        return steps(distance)

    def apply(self, data: Any) -> Any:
        """The rows that are kept, in their order."""
        return each_group(data, lambda rows: [row for row in rows if attempt(self._holds, row, False)])

    def _holds(self, row: Any) -> bool:
        return bool(self.condition(row))

    def story(self) -> tuple[str, ...]:
        """The condition by its name."""
        return (f"kept rows where {getattr(self.condition, '__name__', 'a condition')} holds",)


def filter(condition: Callable[[Any], Any], *, neighbours: Relation = None) -> Filter:
    """Keep the rows for which ``condition(row)`` holds; a row on which it raises is left out."""
    if not callable(condition):
        raise BadParameter("condition", condition, "must be a function of one row")
    return Filter(condition=condition, metric=as_metric(neighbours))
