"""Make the number of rows public: cut to ``size`` rows, or fill up with a constant.

Promise: d rows added or removed, at most d rows changed, among exactly ``size`` rows. Proof: resizing.md.
Believes: canonical.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.errors import BadParameter
from discreet.exact import integer
from discreet.stable.core.canonical import code
from discreet.stable.core.domains import Domain, OneOf, Rows, Text, Whole
from discreet.stable.core.metrics import CHANGE, How, Relation, RowMetric, as_metric, steps
from discreet.stable.core.stable_map import StableMap
from discreet.stable.maps.capping import check_salt, first_by_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Resize(StableMap):
    """Exactly ``size`` rows: those that come first by a salted hash of their content, then the constant ``fill``.

    Guarantee: stability d, from rows added or removed, changed or edited, to rows changed. Which rows are kept depends
    on the rows alone, not on their order. Rows without a code (canonical.py) are left out first.

    >>> four = resize(4, fill=0)
    >>> sorted(four([5, 6])), len(four(range_ := list(range(100)))), four.stability(3)
    ([0, 0, 5, 6], 4, 3)
    """

    name: ClassVar[str] = "resize"

    size: int
    fill: Any
    salt: bytes

    def __post_init__(self) -> None:
        super(Resize, self).__post_init__()
        if self.input_metric.how is How.IN_PLACE:
            raise BadParameter("resize", "applied to a stream", "must be first(size): there the order is public")
        if not _holds(self.input_domain, self.fill):
            raise BadParameter("fill", self.fill, f"must be a row like those before it: {self.input_domain}")

    @property
    def output_domain(self) -> Domain:
        """As many rows as the size, of the same kind."""
        return Rows(self.input_domain.row, self.size)

    @property
    def output_metric(self) -> RowMetric:
        """Rows changed."""
        return CHANGE

    def stability(self, distance: int) -> int:
        """Each row added or removed changes one."""
        return steps(distance)

    def apply(self, data: Any) -> list[Any]:
        """The rows that come first by hash, then the fill."""
        coded = [(row_code, row) for row in data if (row_code := code(row)) is not None]
        kept = first_by_hash(coded, self.size, self.salt)
        return kept + [self.fill] * (self.size - len(kept))

    def story(self) -> tuple[str, ...]:
        """The size."""
        return (f"cut or filled up to {self.size} rows",)


def _holds(domain: Any, row: Any) -> bool:
    match domain:
        case Rows(row=Whole(low=low, high=high)):
            return type(row) is int and (low is None or low <= row) and (high is None or row <= high)
        case Rows(row=OneOf(values=values)):
            return row in values
        case Rows(row=Text()):
            return isinstance(row, str)
        case _:
            return True


def resize(size: int, *, fill: Any, neighbours: Relation = None, salt: bytes = b"") -> Resize:
    """Cut to ``size`` rows or fill up with the public constant ``fill``; then the number of rows is public."""
    size = integer(size, "size", at_least=1)
    if code(fill) is None:
        raise BadParameter("fill", fill, "must be a row made of numbers, text, tuples, dicts and the like")
    return Resize(size=size, fill=fill, salt=check_salt(salt), metric=as_metric(neighbours))
