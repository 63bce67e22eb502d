"""Put rows into groups under public keys.

Promise: the groups are the same whatever the data hold; each row is in at most one of them, by its own content.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.shown import brief
from discreet.stable.core.domains import Domain, Groups
from discreet.stable.core.keys import check_keys
from discreet.stable.core.metrics import Relation, RowMetric, as_metric, steps
from discreet.stable.core.stable_map import StableMap
from discreet.stable.core.total import Field, attempt, check_field, reader, show_field


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBy(StableMap):
    """Rows under the public key that they hold; rows with another key, or none, are left out.

    Guarantee: stability d, counted over all groups together: a row added or removed is added to or removed from one
    group; a changed row may leave one group and enter another, or none, so changes become edits.

    >>> group_by(["a", "b"])(["a", "c", None, "a"])
    {'a': ['a', 'a'], 'b': []}
    """

    name: ClassVar[str] = "group_by"

    keys: tuple[Hashable, ...]
    by: Field

    __repr__ = brief

    @property
    def output_domain(self) -> Domain:
        """The rows under their keys."""
        return Groups(self.keys, self.input_domain.row)

    @property
    def output_metric(self) -> RowMetric:
        """Additions and removals as they were; changes as edits."""
        return self.input_metric.edited()

    def stability(self, distance: int) -> int:
        """No further apart than before."""
        return steps(distance)

    def apply(self, data: Any) -> dict[Hashable, list[Any]]:
        """Each row under its key."""
        groups: dict[Hashable, list[Any]] = {key: [] for key in self.keys}
        read = reader(self.by)
        for row in data:
            rows = attempt(lambda row: groups[read(row)], row, None)
            if rows is not None:
                rows.append(row)
        return groups

    def story(self) -> tuple[str, ...]:
        """The keys."""
        return (f"grouped by {show_field(self.by)} under {len(self.keys)} public keys",)


def group_by(keys: Sequence[Hashable], *, by: Field = None, neighbours: Relation = None) -> GroupBy:
    """Put rows into groups; ``by`` says where a row holds its key (None: the row is the key)."""
    return GroupBy(keys=check_keys(keys), by=check_field(by, "by"), metric=as_metric(neighbours))
