"""Streams: lists whose order is public, such as one value for each day. One step changes the value at one place.

Promise: d places changed, at most d places changed after ``first``, and at most d entries moved by high - low after
``vector``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.errors import BadParameter
from discreet.exact import integer
from discreet.stable.core.bounds import Bounds, as_bounds
from discreet.stable.core.domains import Domain, Rows, Vector
from discreet.stable.core.metrics import IN_PLACE, NORMS, How, Metric, Moves, RowMetric, steps
from discreet.stable.core.stable_map import StableMap
from discreet.stable.core.total import wholes


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfStream(StableMap):
    """A map that looks at places."""

    size: int

    def __post_init__(self) -> None:
        super(_OfStream, self).__post_init__()
        if self.input_metric.how is not How.IN_PLACE:
            raise BadParameter(
                self.name,
                f"applied to {self.input_metric}",
                "must be applied to a stream, whose order is public: build the chain with neighbours=IN_PLACE",
            )

    @property
    def input_metric(self) -> RowMetric:
        """Places changed."""
        return self.metric or IN_PLACE


@dataclass(frozen=True, slots=True, kw_only=True)
class First(_OfStream):
    """The first ``size`` rows of a stream, with ``fill`` where the stream is shorter.

    Guarantee: stability d: places behind the first ones do not matter.

    >>> first(3)([1, 0, 1, 1]), first(3, fill=0)([1]), first(3).stability(2)
    ([1, 0, 1], [1, 0, 0], 2)
    """

    name: ClassVar[str] = "first"

    fill: Any

    @property
    def output_domain(self) -> Domain:
        """As many rows as the size."""
        return Rows(self.input_domain.row, self.size)

    @property
    def output_metric(self) -> RowMetric:
        """Places changed."""
        return IN_PLACE

    def stability(self, distance: int) -> int:
        """No further apart than before."""
        return steps(distance)

    def apply(self, data: Any) -> list[Any]:
        """The first rows."""
        kept: list[Any] = data[: self.size]
        return kept + [self.fill] * (self.size - len(kept))

    def story(self) -> tuple[str, ...]:
        """How many."""
        return (f"took the first {self.size} rows",)


@dataclass(frozen=True, slots=True, kw_only=True)
class AsVector(_OfStream):
    """A stream of ``size`` whole numbers, clamped to [low, high], as a vector.

    Guarantee: d places changed move at most d entries by at most high - low each. Places that are not there count as
    ``missing``, and those beyond the size are left out.

    >>> as_vector(4, bounds=(0, 1))([1, 0, 7]), as_vector(4, bounds=(0, 1)).stability(2)
    ([1, 0, 1, 0], Moves(l1=2, l2_squared=2, linf=1))
    """

    name: ClassVar[str] = "as_vector"

    bounds: Bounds

    @property
    def output_domain(self) -> Domain:
        """A vector of the size."""
        return Vector(self.size)

    @property
    def output_metric(self) -> Metric:
        """The three norms."""
        return NORMS

    def stability(self, distance: int) -> Moves:
        """As many entries as places, each by the width of the bounds."""
        d, width = min(steps(distance), self.size), self.bounds.width
        return Moves(l1=d * width, l2_squared=d * width * width, linf=width if d else 0)

    def apply(self, data: Any) -> list[int]:
        """The numbers."""
        b = self.bounds
        kept = wholes(data[: self.size], b.low, b.high, b.missing)
        return kept + [b.missing] * (self.size - len(kept))

    def story(self) -> tuple[str, ...]:
        """The size and the bounds."""
        return (f"took {self.size} values, clamped to {self.bounds}",)


def first(size: int, *, fill: Any = None) -> First:
    """The first ``size`` rows of a stream."""
    return First(size=integer(size, "size", at_least=1), fill=fill)


def as_vector(size: int, *, bounds: tuple[int, int], missing: int | None = None) -> AsVector:
    """The first ``size`` values of a stream as a vector of whole numbers between public bounds."""
    return AsVector(size=integer(size, "size", at_least=1), bounds=as_bounds(bounds, missing))
