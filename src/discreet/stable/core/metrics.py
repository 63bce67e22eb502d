"""How far apart two inputs are, and two exact answers: what ``distance`` counts in every stability statement.

Promise: ``between`` is the distance itself, computed without looking at any map; checks of stability stand on it.
Believes: canonical.py tells rows apart. Two rows are the same if they are alike in type and content.

Data are bags of elements: rows, or units (a unit with all of its rows). With a = what only the first bag holds and
b = what only the second holds, counted with repetitions:

    ADDED      |a| + |b|             elements added or removed
    CHANGED    |a|, if |a| = |b|     elements changed, their number being public
    EDITED     max(|a|, |b|)         elements added, removed or changed
    IN_PLACE   how many places of two lists of one length differ: a stream, whose order is public

CHANGED <= IN_PLACE, and EDITED <= ADDED <= 2 EDITED. CHANGED and EDITED agree where both are finite, but only where
the number is public may a sum be charged high - low and no more.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from discreet.errors import BadParameter
from discreet.exact import integer
from discreet.privacy.promises.neighbours import Neighbours, RelationName
from discreet.stable.core.canonical import code
from discreet.stable.core.total import Field, attempt, reader, show_field
from discreet.unit_id import unit_id

Steps: TypeAlias = int | float
"""A distance: a whole number, or infinity."""


class How(Enum):
    """What one step between two inputs is."""

    ADDED = "added or removed"
    CHANGED = "changed"
    EDITED = "added, removed or changed"
    IN_PLACE = "changed in place"


@dataclass(frozen=True, slots=True)
class RowMetric:
    """Distance between data: how many rows, or units, were added, removed or changed.

    >>> ADD_REMOVE.between([1, 2, 2], [2, 3]), EDIT.between([1, 2, 2], [2, 3]), CHANGE.between([1, 2, 2], [2, 3])
    (3, 2, inf)
    >>> units("id").between([{"id": 1, "x": 5}, {"id": 1, "x": 6}], [])
    1
    """

    how: How
    unit: Field = None
    """None: the elements are rows. Else where a row says whose it is; rows that name nobody are one unit together."""

    def __post_init__(self) -> None:
        if self.how is How.IN_PLACE and self.unit is not None:  # a row that changes hands is two units that change
            raise BadParameter("neighbours", "units changed in place", "must be units added or removed, or changed")

    def between(self, first: Any, second: Any) -> Steps:
        """The exact distance between two lists of rows, or two grouped ones."""
        if self.how is How.IN_PLACE:
            return _places(_rows(first), _rows(second))
        left, right = self._bag(first), self._bag(second)
        gone, come = (left - right).total(), (right - left).total()
        if self.how is How.ADDED:
            return gone + come
        if self.how is How.CHANGED and gone != come:
            return math.inf
        return max(gone, come)

    def of_rows(self) -> RowMetric:
        """The same steps, of rows."""
        return RowMetric(self.how)

    def edited(self) -> RowMetric:
        """The metric behind a map that may drop an element: a change may then be an addition or a removal."""
        return self if self.how is How.ADDED else RowMetric(How.EDITED, self.unit)

    def _bag(self, data: Any) -> Counter[Hashable]:
        rows = [identity(row) for row in _rows(data)]
        if self.unit is None:
            return Counter(rows)
        read = reader(self.unit)
        owners = [unit_id(attempt(read, row, None)) for row in _rows(data)]
        owned: dict[Hashable, list[Hashable]] = {}
        for owner, row in zip(owners, rows, strict=True):
            owned.setdefault(owner, []).append(row)
        return Counter((owner, frozenset(Counter(held).items())) for owner, held in owned.items())

    @property
    def step(self) -> str:
        """One step, as text."""
        return f"one {'row' if self.unit is None else f'unit (by {show_field(self.unit)})'} {self.how.value}"

    def __str__(self) -> str:
        return f"{'rows' if self.unit is None else f'units by {show_field(self.unit)}'} {self.how.value}"


@dataclass(frozen=True, slots=True)
class NumberMetric:
    """Distance between two whole numbers: |a - b|."""

    def between(self, first: int, second: int) -> Steps:
        """The exact distance."""
        return abs(int(first) - int(second))

    def __str__(self) -> str:
        return "the absolute difference of two integers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """How far a vector of whole numbers moves: in L1, in L2 (squared, so that it is whole) and in Linf.

    >>> Moves(l1=2, l2_squared=2, linf=1) <= Moves(l1=2, l2_squared=4, linf=2)
    True
    """

    l1: int
    l2_squared: int
    linf: int

    def __le__(self, other: Moves) -> bool:
        return self.l1 <= other.l1 and self.l2_squared <= other.l2_squared and self.linf <= other.linf


@dataclass(frozen=True, slots=True)
class VectorMetric:
    """Distance between two vectors of whole numbers, in all three norms at once.

    >>> NORMS.between([1, 2], [3, 1])
    Moves(l1=3, l2_squared=5, linf=2)
    """

    def between(self, first: Sequence[int], second: Sequence[int]) -> Moves:
        """The exact distance."""
        moved = [abs(int(a) - int(b)) for a, b in zip(first, second, strict=True)]
        return Moves(l1=sum(moved), l2_squared=sum(m * m for m in moved), linf=max(moved, default=0))

    def __str__(self) -> str:
        return "the L1, L2 and Linf lengths of the difference of two vectors"


Metric: TypeAlias = RowMetric | NumberMetric | VectorMetric

ADD_REMOVE = RowMetric(How.ADDED)
CHANGE = RowMetric(How.CHANGED)
EDIT = RowMetric(How.EDITED)
IN_PLACE = RowMetric(How.IN_PLACE)
_functions: dict[int, Any] = {}
_NAMED = {How.ADDED: Neighbours.ADD_REMOVE, How.CHANGED: Neighbours.CHANGE_ONE}
NUMBER = NumberMetric()
NORMS = VectorMetric()

Relation: TypeAlias = Neighbours | RowMetric | None
"""How a caller says what one step is; None: as in the map before it, or rows added or removed."""


def units(unit: Field, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> RowMetric:
    """Distance in units, such as people: a unit comes or goes (or changes) with all of its rows.

    >>> str(units("person"))
    "units by 'person' added or removed"
    """
    given: object = unit
    if given is None:
        raise BadParameter("unit", given, "must say where a row names its unit; for rows as units leave it out")
    how = as_metric(neighbours)
    return RowMetric((how or ADD_REMOVE).how, unit)


def as_metric(relation: Relation) -> RowMetric | None:
    """The metric of a relation between inputs."""
    given: object = relation
    if given is None or isinstance(given, RowMetric):
        return given
    if given is Neighbours.ADD_REMOVE:
        return ADD_REMOVE
    if given is Neighbours.CHANGE_ONE:
        return CHANGE
    raise BadParameter("neighbours", given, "must be Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE or a metric of rows")


def relation_name(metric: RowMetric) -> RelationName:
    """What a price for one step of this metric is stated for: a relation, or one step as text where it has no name.

    >>> relation_name(CHANGE), relation_name(units("person"))
    (<Neighbours.CHANGE_ONE: 'change one unit'>, "one unit (by 'person') added or removed")
    """
    if metric.unit is None and metric.how in _NAMED:
        return _NAMED[metric.how]
    if not callable(metric.unit):
        return metric.step
    _functions.setdefault(id(metric.unit), metric.unit)  # kept, so that no other function is ever called the same
    return f"{metric.step} at {id(metric.unit):#x}"


def steps(distance: int) -> int:
    """A distance between inputs as a caller gives it."""
    return integer(distance, "distance", at_least=0)


def identity(row: Any) -> Hashable:
    """What makes a row the same row: its code, or itself where it has none."""
    row_code = code(row)
    return row_code if row_code is not None else ("itself", id(row))


def _rows(data: Any) -> list[Any]:
    """The rows; of grouped data, with the place of their group."""
    if isinstance(data, Mapping):
        return [(place, row) for place, rows in enumerate(data.values()) for row in rows]
    return list(data)


def _places(first: list[Any], second: list[Any]) -> Steps:
    if len(first) != len(second):
        return math.inf
    return sum(identity(a) != identity(b) for a, b in zip(first, second, strict=True))
