"""Count rows: all of them, or those under each public key.

Promise: the exact count, and how far it can move.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.stable.core.domains import Groups
from discreet.stable.core.metrics import How, Moves, Relation, as_metric, steps
from discreet.stable.core.stable_map import PUBLIC_NUMBER, Aggregate, Chain
from discreet.stable.core.total import Field
from discreet.stable.maps.grouping import group_by


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(Aggregate):
    """The number of rows; behind group_by, the number in each group, in the order of the keys.

    Guarantee: d rows added, removed or edited move the number by at most d; changed rows do not move it, since their
    number is public. In groups, d rows added or removed move the counts by d in L1 and d² in L2 squared; d edits by 2d
    and 2d², as a row may leave one group and enter another (d and d² when there is one group). All are attained.

    >>> count().stability(1), count_by(["a", "b"]).stability(1)
    (1, Moves(l1=1, l2_squared=1, linf=1))
    >>> count_by(["a", "b"])(["a", "b", "b", "c"])
    [1, 2]
    """

    name: ClassVar[str] = "count"

    def stability(self, distance: int) -> int | Moves:
        """How far the number, or the vector, moves."""
        d = steps(distance)
        given = self.input_domain
        if not isinstance(given, Groups):
            return 0 if self.input_metric.how in PUBLIC_NUMBER else d
        groups = 1 if self.input_metric.how is How.ADDED or len(given.keys) == 1 else 2
        return Moves(l1=groups * d, l2_squared=groups * d * d, linf=d)

    def apply(self, data: Any) -> int | list[int]:
        """The exact count."""
        return [len(rows) for rows in data.values()] if isinstance(data, dict) else len(data)

    def story(self) -> tuple[str, ...]:
        """That it counted."""
        return ("counted each group",) if isinstance(self.input_domain, Groups) else ("counted rows",)


def count(*, neighbours: Relation = None) -> Count:
    """Count the rows."""
    return Count(metric=as_metric(neighbours))


def count_by(keys: Sequence[Hashable], *, by: Field = None, neighbours: Relation = None) -> Chain:
    """Count the rows under each public key: a histogram.

    >>> from discreet.mechanisms.additive.laplace import laplace
    >>> from discreet.privacy.promises.neighbours import Neighbours
    >>> (count_by(keys=["a", "b"]) >> laplace(epsilon=1)).mechanism.scale
    Fraction(1, 1)
    >>> (count_by(keys=["a", "b"], neighbours=Neighbours.CHANGE_ONE) >> laplace(epsilon=1)).mechanism.scale
    Fraction(2, 1)
    """
    return group_by(keys, by=by, neighbours=neighbours) >> count()
