"""Small data that break things: which rows to try, all small data sets of them, and all their neighbours.

Promise: ``neighbours`` yields, for every data set, all data sets one step away in the metric that have no more rows
than it (the others have it as theirs). Whoever uses a pair measures its distance with the metric itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, permutations, product
from random import Random
from typing import Any

from discreet.errors import BadParameter
from discreet.stable.core.domains import Groups, Rows
from discreet.stable.core.metrics import How, RowMetric
from discreet.stable.core.total import attempt, reader
from discreet.unit_id import unit_id

VALUES: tuple[Any, ...] = (
    0, 1, None, math.nan, math.inf, -math.inf, -0.0, 2**63 - 1, -(2**63), 2**53 + 1, 2**53 - 1, 0.5, "", "1", True,
)  # fmt: skip
"""Rows that have broken such systems: nothing, not a number, infinities, two zeros, ends of the integers and floats."""

Data = tuple[Any, ...]
"""Elements of a data set: rows, or (key, row) where the map takes groups."""

_MOST_ORDERS = 24


@dataclass(frozen=True, slots=True)
class Space:
    """Data sets over these elements, with what one step between two of them is."""

    elements: tuple[Any, ...]
    metric: RowMetric
    keys: tuple[Any, ...] | None = None
    """Where the data are grouped: the public keys."""
    size: int | None = None
    """Where the number of rows is public."""

    def build(self, data: Data) -> Any:
        """The data set as the checked function takes it; a new one each time, as the function may change it."""
        if self.keys is None:
            return [_copy(row) for row in data]
        groups: dict[Any, list[Any]] = {key: [] for key in self.keys}
        for key, row in data:
            groups[key].append(_copy(row))
        return groups

    def distance(self, first: Data, second: Data) -> float:
        """How many steps two data sets are apart."""
        return self.metric.between(self.build(first), self.build(second))

    @property
    def ordered(self) -> bool:
        """Whether the order of rows is part of the data."""
        return self.metric.how is How.IN_PLACE

    def of_size(self, size: int) -> Iterator[Data]:
        """All data sets of this size; where order does not count, one order of each."""
        if self.size is not None and size != self.size:
            return
        if self.ordered:
            yield from product(self.elements, repeat=size)
        else:
            yield from combinations_with_replacement(self.elements, size)

    def reordered(self, data: Data) -> Iterator[Data]:
        """The same data in other orders, where order does not count."""
        if self.ordered or len(data) < 2:
            return
        orders = permutations(range(len(data)))
        for _, order in zip(range(_MOST_ORDERS), orders, strict=False):
            if order != tuple(range(len(data))):
                yield tuple(data[i] for i in order)

    def neighbours(self, data: Data) -> Iterator[Data]:
        """One step away: something removed, or changed."""
        for start in self._owned(data):
            rest = tuple(row for i, row in enumerate(data) if i not in start)
            if self.metric.how in {How.ADDED, How.EDITED}:
                yield rest
            if self.metric.how is not How.ADDED:
                for other in self._others(data, start):
                    yield _in_place(data, start, other) if self.metric.unit is None else (*rest, *other)

    def step(self, data: Data, choose: Random) -> Data:
        """One random step: an element (or all of a unit's) added, removed or changed."""
        owned = self._owned(data)
        kinds = {How.ADDED: "ar", How.EDITED: "arc", How.CHANGED: "c", How.IN_PLACE: "c"}[self.metric.how]
        kind = choose.choice(kinds)
        if kind == "a" or not owned:
            fresh = self._unit_of(choose) if self.metric.unit is not None else (choose.choice(self.elements),)
            return (*data, *fresh) if kind == "a" else data
        start = choose.choice(owned)
        rest = tuple(row for i, row in enumerate(data) if i not in start)
        if kind == "r":
            return rest
        if self.metric.unit is not None:
            return (*rest, *self._unit_of(choose))
        return _in_place(data, start, (choose.choice(self.elements),))

    def random(self, choose: Random, most: int) -> Data:
        """A random data set: few different rows, so that there are repetitions."""
        size = self.size if self.size is not None else choose.randint(0, most)
        some = choose.choices(self.elements, k=max(1, min(size, choose.randint(1, 6))))
        return tuple(choose.choice(some) for _ in range(size))

    # --- units ------------------------------------------------------------------------------------------------------

    def _owned(self, data: Data) -> list[frozenset[int]]:
        """Which places make up one element of the metric: one row, or all rows of one unit."""
        if self.metric.unit is None:
            return [frozenset([i]) for i in range(len(data))]
        owned: dict[Any, set[int]] = {}
        for i, element in enumerate(data):
            owned.setdefault(self._owner(element), set()).add(i)
        return [frozenset(places) for places in owned.values()]

    def _owner(self, element: Any) -> bytes | None:
        row = element if self.keys is None else element[1]
        return unit_id(attempt(reader(self.metric.unit), row, None))

    def _others(self, data: Data, start: frozenset[int]) -> Iterator[Data]:
        """What may come in place of an element: another row, or up to two rows of one unit that is not there yet."""
        if self.metric.unit is None:
            yield from ((row,) for row in self.elements)
            return
        here = {self._owner(element) for i, element in enumerate(data) if i not in start}
        free = [element for element in self.elements if self._owner(element) not in here]
        yield from ((row,) for row in free)
        for pair in combinations_with_replacement(free, 2):
            if self._owner(pair[0]) == self._owner(pair[1]):
                yield pair

    def _unit_of(self, choose: Random) -> Data:
        owner = self._owner(choose.choice(self.elements))
        rows = [element for element in self.elements if self._owner(element) == owner]
        return tuple(choose.choice(rows) for _ in range(choose.randint(1, 6)))


def space_for(
    domain: Any,
    metric: RowMetric,
    *,
    values: Iterable[Any] | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
) -> Space:
    """The data to try on a map with this input; rows are ``values``, or dicts of every combination of ``columns``.

    >>> space = space_for(Rows(), RowMetric(How.ADDED), columns={"id": [1, 2], "x": [0]})
    >>> len(list(space.of_size(2))), list(space.neighbours(next(space.of_size(1))))
    (3, [()])
    """
    if values is not None and columns is not None:
        raise BadParameter("values", values, "must be left out when columns are given")
    if columns is not None:
        rows: tuple[Any, ...] = tuple(dict(zip(columns, row, strict=True)) for row in product(*columns.values()))
    elif values is not None:
        rows = tuple(values)
    elif metric.unit is not None:
        raise BadParameter(
            "values", None, 'must be given where a unit has many rows: rows to try, or columns={"unit": [1, 2], ...}'
        )
    else:
        rows = VALUES
    if not rows:
        raise BadParameter("values", values, "must hold at least one row")
    if isinstance(domain, Groups):
        return Space(tuple(product(domain.keys, rows)), metric, keys=domain.keys)
    return Space(rows, metric, size=domain.size if isinstance(domain, Rows) else None)


def _in_place(data: Data, start: frozenset[int], other: Data) -> Data:
    (place,) = start
    return (*data[:place], *other, *data[place + 1 :])


def _copy(row: Any) -> Any:
    return dict(row) if type(row) is dict else list(row) if type(row) is list else row
