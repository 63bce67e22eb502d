"""Keep at most ``cap`` rows of each unit, so that one person has few rows however many they wrote.

Promise: k units added, removed or changed, at most k·cap rows added, removed or changed. Proof: capping.md.
Believes: canonical.py; the unit's name is a function of the row alone.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.errors import BadParameter
from discreet.exact import integer
from discreet.stable.core.canonical import code, shuffled_place
from discreet.stable.core.domains import Domain, Groups, Rows
from discreet.stable.core.metrics import ADD_REMOVE, How, Metric, Relation, RowMetric, as_metric, steps
from discreet.stable.core.stable_map import StableMap
from discreet.stable.core.total import Field, attempt, check_field, reader, show_field
from discreet.unit_id import unit_id

_LONGEST_SALT = 64
_FIRST = "must come first, or behind filter(..., neighbours=units(...)): a map of rows knows no units"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapRows(StableMap):
    """At most ``cap`` rows of each unit: those that come first by a salted hash of their content.

    Guarantee: ``k`` units added or removed, at most ``k * cap`` rows added or removed; ``k`` units changed or edited,
    at most ``k * cap`` rows edited. Which rows of a unit are kept depends on that unit's rows alone, and not on their
    order. Rows that name no unit, and rows without a code (canonical.py), are left out.

    >>> capped = cap_rows(2, unit="id")
    >>> visits = [{"id": 1, "x": x} for x in range(5)] + [{"id": 2, "x": 0}, {"id": None, "x": 0}]
    >>> [row["id"] for row in capped(visits)], capped.stability(3)
    ([1, 1, 2], 6)
    """

    name: ClassVar[str] = "cap_rows"
    takes_units: ClassVar[bool] = True

    cap: int
    salt: bytes

    def __post_init__(self) -> None:
        if self.metric is None:  # waits for its place in a chain
            return
        super(CapRows, self).__post_init__()
        if self.input_metric.unit is None:
            raise BadParameter("neighbours", str(self.input_metric), f"must name units, or give unit=: {_FIRST}")
        if self.input_metric.how is How.IN_PLACE:
            raise BadParameter("neighbours", str(self.input_metric), "must be units added or removed, or changed")

    @property
    def input_metric(self) -> RowMetric:
        """Units, added or removed or changed."""
        if self.metric is None:
            raise BadParameter("unit", None, "must say where a row names its unit")
        return self.metric

    def after(self, domain: Domain, metric: Metric) -> CapRows:
        """The same map behind one that still knows units."""
        if isinstance(metric, RowMetric) and metric.unit is None:
            raise BadParameter("cap_rows", f"behind a map of {metric}", _FIRST)
        return super(CapRows, self).after(domain, metric)

    @property
    def output_domain(self) -> Domain:
        """Rows of the same kind, of private number."""
        given = self.input_domain
        return given if isinstance(given, Groups) else Rows(given.row)

    @property
    def output_metric(self) -> RowMetric:
        """Rows in place of units."""
        return self.input_metric.edited().of_rows()

    def stability(self, distance: int) -> int:
        """``cap`` rows for each unit."""
        return steps(distance) * self.cap

    def apply(self, data: Any) -> list[Any]:
        """The rows that are kept, unit by unit in the order in which units first appear."""
        read = reader(self.input_metric.unit)
        owned: dict[bytes, list[tuple[bytes, Any]]] = {}
        for row in data:
            owner, row_code = unit_id(attempt(read, row, None)), code(row)
            if owner is not None and row_code is not None:
                owned.setdefault(owner, []).append((row_code, row))
        return [row for rows in owned.values() for row in first_by_hash(rows, self.cap, self.salt)]

    def story(self) -> tuple[str, ...]:
        """The cap and the unit."""
        rows = "1 row" if self.cap == 1 else f"{self.cap} rows"
        return (f"kept at most {rows} of each unit by {show_field(self.input_metric.unit)}",)


def first_by_hash(rows: Iterable[tuple[bytes, Any]], count: int, salt: bytes) -> list[Any]:
    """Of rows with their codes, those ``count`` that come first by salted hash; those with equal codes are alike."""
    held = list(rows)
    if len(held) <= count:
        return [row for _, row in held]
    chosen = heapq.nsmallest(count, ((shuffled_place(row_code, salt), row) for row_code, row in held), key=_place)
    return [row for _, row in chosen]


def check_salt(salt: bytes) -> bytes:
    """A public salt; another one gives another choice of rows."""
    given: object = salt
    if not isinstance(given, bytes) or len(given) > _LONGEST_SALT:
        raise BadParameter("salt", given, f"must be at most {_LONGEST_SALT} bytes")
    return given


def cap_rows(cap: int, *, unit: Field = None, neighbours: Relation = None, salt: bytes = b"") -> CapRows:
    """Keep at most ``cap`` rows of each unit; ``unit`` says where a row names its unit."""
    cap = integer(cap, "cap", at_least=1)
    stated = as_metric(neighbours)
    if unit is not None:
        check_field(unit, "unit")
        if stated is not None and stated.unit is not None:
            raise BadParameter("neighbours", str(stated), "must not name units when unit= does")
        stated = RowMetric((stated or ADD_REMOVE).how, unit)
    return CapRows(cap=cap, salt=check_salt(salt), metric=stated)


def _place(item: tuple[bytes, Any]) -> bytes:
    return item[0]
