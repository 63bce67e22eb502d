"""Which combinations of keys exist: tuples that are public, and hierarchies, in which each key lies in one above it.

Guarantee: a key set is public knowledge and nothing else; it never reads private rows. Groups that are not in it are
left out of every answer, and so are rows that belong to them, before anything is counted: a row is kept or dropped by
its own values, so no contribution bound changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadParameter
from discreet.query.plan.types import Value
from discreet.shown import brief

MOST_TUPLES = 2_000_000
FEW_KEYS = 5_000
"""Finest keys of a hierarchy that a query compares rows with, to find the levels above or what is not listed."""
Tuples = tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class KeySet:
    """Made by ``dp.keys`` of tuples: the combinations of some columns' keys that exist.

    >>> places = KeySet(("state", "county"), (("A", "a1"), ("A", "a2"), ("B", "b1")))
    >>> (places - KeySet(("state", "county"), (("B", "b1"),))).rows
    (('A', 'a1'), ('A', 'a2'))
    >>> len(places.join(KeySet(("sex",), (("f",), ("m",)))).rows)
    6
    """

    columns: tuple[str, ...]
    rows: Tuples

    __repr__ = brief

    def __or__(self, other: KeySet) -> KeySet:
        """The tuples of either; both have the same columns."""
        return KeySet(self.columns, tuple(dict.fromkeys((*self.rows, *self._rows_of(other)))))

    def __sub__(self, other: KeySet) -> KeySet:
        """The tuples that the other one does not have."""
        gone = set(self._rows_of(other))
        return _not_empty(self.columns, tuple(row for row in self.rows if row not in gone))

    def __and__(self, other: KeySet) -> KeySet:
        """The tuples of both."""
        shared = set(self._rows_of(other))
        return _not_empty(self.columns, tuple(row for row in self.rows if row in shared))

    def join(self, other: KeySet) -> KeySet:
        """The tuples over the columns of both that agree in those that both have: without any, every pair."""
        shared = [name for name in self.columns if name in other.columns]
        more = [i for i, name in enumerate(other.columns) if name not in shared]
        mine = [self.columns.index(name) for name in shared]
        theirs = [other.columns.index(name) for name in shared]
        by_shared: dict[tuple[Value, ...], list[tuple[Value, ...]]] = {}
        for row in other.rows:
            by_shared.setdefault(tuple(row[i] for i in theirs), []).append(tuple(row[i] for i in more))
        many = sum(len(by_shared.get(tuple(row[i] for i in mine), ())) for row in self.rows)
        if many > MOST_TUPLES:
            raise BadParameter("keys", many, f"must be at most {MOST_TUPLES:,} tuples")
        joined = tuple((*row, *end) for row in self.rows for end in by_shared.get(tuple(row[i] for i in mine), ()))
        return _not_empty((*self.columns, *(other.columns[i] for i in more)), joined)

    def only(self, columns: Sequence[str]) -> KeySet:
        """The combinations of some of the columns, each once.

        >>> KeySet(("state", "county"), (("A", "a1"), ("A", "a2"))).only(["state"]).rows
        (('A',),)
        """
        places = [self.columns.index(name) for name in columns]
        return KeySet(tuple(columns), tuple(dict.fromkeys(tuple(row[i] for i in places) for row in self.rows)))

    def _rows_of(self, other: KeySet) -> Tuples:
        if set(other.columns) != set(self.columns):
            raise BadParameter("keys", list(other.columns), f"must have the columns {', '.join(self.columns)}")
        return other.only(self.columns).rows


@dataclass(frozen=True, slots=True)
class Hierarchy(KeySet):
    """Made by ``dp.hierarchy``: columns from the coarsest to the finest, where each key lies in one above it."""

    name: str = "geo"
    parents: tuple[NDArray[np.int64], ...] = field(default=(), compare=False, repr=False)
    """Of each level but the first: where the key above each key stands."""
    other: Value = None
    """The key, at every level, of rows whose finest key is not listed."""

    __repr__ = brief

    @property
    def levels(self) -> tuple[str, ...]:
        """The columns, the coarsest first."""
        return self.columns

    def labels(self, level: int) -> tuple[Value, ...]:
        """The keys of a level; those in one key above stand together."""
        return tuple(dict.fromkeys(row[level] for row in self.rows))


def _not_empty(columns: tuple[str, ...], rows: Tuples) -> KeySet:
    if not rows:
        raise BadParameter("keys", [], f"must leave at least one combination of {', '.join(columns)}")
    return KeySet(columns, rows)


def key_set(values: Any, columns: Sequence[str] | None) -> KeySet:
    """Tuples from a list, with the names of their columns, or the distinct rows of a frame's columns.

    >>> key_set([("A", 1), ("B", 1)], ["state", "county"]).columns
    ('state', 'county')
    >>> key_set({"state": ["A", "A", "B"], "year": [1, 1, 1]}, ["state", "year"]).rows
    (('A', 1), ('B', 1))
    """
    frame = frame_columns(values)
    names = _names(columns if columns is not None else () if frame is None else list(frame))
    if frame is not None:
        for name in names:
            if name not in frame:
                raise BadParameter("columns", name, f"must be columns of the frame, which has {', '.join(frame)}")
        rows: Tuples = tuple(dict.fromkeys(zip(*(map(_plain, frame[name]) for name in names), strict=True)))
    else:
        listed = [tuple(map(_plain, row)) for row in values if isinstance(row, tuple | list)]
        if any(len(row) != len(names) for row in listed):
            raise BadParameter("keys", "tuples", f"must have one value for each of the columns {', '.join(names)}")
        if len(set(listed)) != len(listed):
            twice = next(row for i, row in enumerate(listed) if row in set(listed[:i]))
            raise BadParameter("keys", twice, "must list each tuple once")
        rows = tuple(listed)
    if len(rows) > MOST_TUPLES:
        raise BadParameter("keys", len(rows), f"must be at most {MOST_TUPLES:,} tuples")
    for place, name in enumerate(names):
        if len({type(row[place]) for row in rows if row[place] is not None}) > 1:
            raise BadParameter("keys", name, "must be all text, all integers, all dates or all booleans")
    return _not_empty(names, rows)


def hierarchy(name: str, levels: Sequence[str], *, table: Any, other: Value = None) -> Hierarchy:
    """A hierarchy of columns, from the coarsest to the finest, such as nation, state, county and tract.

    ``table`` is public: a frame, an Arrow table, a mapping of lists, a public ``dp.table`` of rows in memory, or
    tuples of keys. Each of its rows names one finest key and all that it lies in. Each key has one parent: where
    names repeat ("Washington county"), use codes. Declare it with ``dp.table(..., key_sets=[...])``. Of up to 5,000
    finest keys, levels that the private table lacks follow from the finest one. ``other="elsewhere"`` is a further key
    at every level, for rows whose finest key is not listed; without it they are in no group.

    >>> geo = hierarchy("geo", ["state", "county"], table=[("A", "a1"), ("A", "a2"), ("B", "b1")])
    >>> geo.labels(1), geo.parents[0].tolist()
    (('a1', 'a2', 'b1'), [0, 0, 1])
    """
    if not isinstance(name, str) or not name:
        raise BadParameter("name", name, 'must be a name, such as "geo"')
    if isinstance(levels, str) or len(set(levels)) != len(list(levels)):
        raise BadParameter("levels", levels, "must list different columns: a level that lies in itself is a cycle")
    tuples = key_set(table, levels)
    for row in tuples.rows:
        if None in row:
            level = tuples.columns[row.index(None)]
            raise BadParameter("table", f"a row without {level}", "must name a key of every level: none may be missing")
    rows = tuple(sorted(tuples.rows))
    if other is not None:
        if any(other in row or {type(key) for key in row} != {type(other)} for row in rows):
            raise BadParameter("other", other, "must be a key of the same kind at every level that no row of table has")
        if len(rows) >= FEW_KEYS:
            raise BadParameter("other", other, f"must be left out: there are {FEW_KEYS:,} finest keys or more")
        rows = tuple(sorted((*rows, (other,) * len(tuples.columns))))
    parents = [_parents(tuples.columns, rows, level) for level in range(1, len(tuples.columns))]
    return Hierarchy(tuples.columns, rows, name, tuple(parents), other)


def _parents(columns: Sequence[str], rows: Tuples, level: int) -> NDArray[np.int64]:
    """Where the key above each key of a level stands; refuses a key in two places."""
    above: dict[Value, Value] = {}
    for row in rows:
        if above.setdefault(row[level], row[level - 1]) != row[level - 1]:
            raise BadParameter(
                "table",
                row[level],
                f"must lie in one {columns[level - 1]}: it is in {above[row[level]]!r} and in {row[level - 1]!r}; "
                "use codes, or write the parent into the name",
            )
    places = {label: i for i, label in enumerate(dict.fromkeys(row[level - 1] for row in rows))}
    return np.array([places[label] for label in above.values()], dtype=np.int64)


def frame_columns(values: object) -> Mapping[str, Sequence[Any]] | None:
    """The columns of a mapping of lists, of an Arrow table or frame, or of a public table of rows; None for others."""
    source = getattr(values, "source", None)
    if source is not None and hasattr(values, "public"):
        if not values.public:
            raise BadParameter("table", "private", "must be public: keys of a private table are not known")
        values = source
        if isinstance(values, str):
            raise BadParameter("table", values, "must be rows in memory: read the file first, for example with Polars")
    if isinstance(values, Mapping):
        return {str(name): list(column) for name, column in values.items()}
    for reader in ("to_arrow", "arrow", "to_arrow_table"):
        if hasattr(values, reader) and not hasattr(values, "to_pydict"):
            values = getattr(values, reader)()
    if hasattr(values, "to_pydict"):
        return dict(values.to_pydict())
    if hasattr(values, "to_dict") and hasattr(values, "columns"):  # pandas
        return {str(name): values[name].tolist() for name in values.columns}  # type: ignore[index]
    return None


def _names(columns: Iterable[str]) -> tuple[str, ...]:
    if isinstance(columns, str):
        raise BadParameter("columns", columns, "must be a list of names")
    names = tuple(columns)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise BadParameter("columns", names, 'must name the columns of the tuples, such as ["state", "county"]')
    if len(set(names)) != len(names):
        raise BadParameter("columns", names, "must name each column once")
    return names


def _plain(value: object) -> Value:
    if value is None or isinstance(value, bool | str | date):
        return value
    if isinstance(value, float):
        if isnan(value):  # how pandas writes a missing value
            return None
        raise BadParameter("keys", value, "must be text, integers, dates or booleans; floats cannot be keys")
    if hasattr(value, "__index__"):
        return int(value)
    raise BadParameter("keys", value, "must be text, integers, dates or booleans")
