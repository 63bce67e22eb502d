"""Public cells, and which of them a record falls into: by key, by bin, or by a tuple of small integers.

Guarantee: the cell of a record follows from that record and the public cells alone; a record that fits none has cell
-1 and is not counted. Nothing a record holds makes a call fail. So one record is counted in at most one cell.
"""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, integer
from discreet.mechanisms.base.inputs import can_be_looked_up
from discreet.mechanisms.base.marks import Ruler, ruler

MOST = 1 << 26
_FAR = 1 << 62


class Cells(Protocol):
    """A public partition of what a record may be."""

    def __len__(self) -> int: ...

    def of(self, data: Any) -> Integers:
        """The cell of each record, -1 for none."""
        ...

    @property
    def labels(self) -> Sequence[Any]:
        """What each cell stands for."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """One cell for each public key. Records are compared with keys as Python compares them: 1, 1.0 and True are one.

    >>> Keys(("a", "b")).of(["b", "c", None, "a", ["b"]]).tolist()
    [1, -1, -1, 0, -1]
    """

    keys: tuple[Hashable, ...] | range

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def labels(self) -> Sequence[Any]:
        """The keys."""
        return self.keys

    def of(self, data: Any) -> Integers:
        """The cell of each record, -1 for none."""
        if isinstance(self.keys, range) and -_FAR < self.keys.start <= self.keys.stop < _FAR and _is_whole(data, 1):
            inside = (data >= self.keys.start) & (data < self.keys.stop)
            return np.where(inside, data.astype(np.int64) - self.keys.start, -1)  # what wraps here is not inside
        place = dict(zip(self.keys, range(len(self.keys)), strict=True))
        return np.array([_look_up(place, record) for record in records_of(data)], dtype=np.int64)


def _look_up(place: dict[Any, int], record: Any) -> int:
    try:
        return place.get(record, -1)
    except Exception:  # a record that cannot be hashed or compared is no key, whatever it raises
        return -1


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Cells [e_0, e_1), [e_1, e_2), ..., the last one closed. NaN and what lies outside have no cell.

    >>> Bins(ruler([0, 1, 2], "bins")).of([0, 0.5, 1, 2, 2.5, -1, float("nan")]).tolist()
    [0, 0, 1, 1, -1, -1, -1]
    """

    edges: Ruler

    def __len__(self) -> int:
        return len(self.edges) - 1

    @property
    def labels(self) -> Sequence[Any]:
        """The two edges of each bin."""
        return list(zip(self.edges.marks[:-1].tolist(), self.edges.marks[1:].tolist(), strict=True))

    def of(self, data: Any) -> Integers:
        """The cell of each record, -1 for none."""
        place = self.edges.places(data)
        cell = ((place + 1) >> 1) - 1
        last = 2 * len(self)  # the place of the gap below the last edge; the edge itself is the next
        cell[place == last + 1] = len(self) - 1
        cell[place == last + 2] = -1
        return cell


@dataclass(frozen=True, slots=True, eq=False)
class UpTo:
    """Cells (-∞, t_0], (t_0, t_1], ...: the first i + 1 of them together hold the records at most t_i.

    >>> UpTo(ruler([0, 1], "thresholds")).of([-5, 0, 0.5, 1, 2, float("nan")]).tolist()
    [0, 0, 1, 1, -1, -1]
    """

    thresholds: Ruler

    def __len__(self) -> int:
        return len(self.thresholds)

    @property
    def labels(self) -> Sequence[Any]:
        """The thresholds."""
        labels: list[float] = self.thresholds.marks.tolist()
        return labels

    def of(self, data: Any) -> Integers:
        """The cell of each record, -1 for none."""
        place = self.thresholds.places(data)
        return np.where((place < 0) | (place == 2 * len(self)), -1, place >> 1)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """One cell for each tuple of small integers; ``columns`` says how many values each entry has: 0, 1, ..., k - 1.

    >>> Table((2, 3)).of([(0, 0), (1, 2), (2, 0), "no", (1,)]).tolist()
    [0, 5, -1, -1, -1]
    """

    columns: tuple[int, ...]

    def __len__(self) -> int:
        return prod(self.columns)

    @property
    def labels(self) -> Sequence[Any]:
        """The tuples."""
        return list(np.ndindex(*self.columns))

    def of(self, data: Any) -> Integers:
        """The cell of each record, -1 for none."""
        rows = self.rows(data)
        inside = (rows >= 0).all(axis=1)
        cell = np.zeros(len(rows), dtype=np.int64)
        for column, size in zip(rows.T, self.columns, strict=True):
            cell = cell * size + column
        return np.where(inside, cell, -1)

    def rows(self, data: Any) -> Integers:
        """The records as rows of integers, each within its column; a record that does not fit is all -1."""
        sizes = np.array(self.columns)
        if _is_whole(data, 2) and data.shape[1] == len(sizes):
            inside = np.all((data >= 0) & (data < sizes), axis=1, keepdims=True)
            return np.where(inside, data.astype(np.int64), -1)
        nothing = (-1,) * len(sizes)
        fitted = [_fit(record, self.columns) or nothing for record in records_of(data)]
        return np.array(fitted, dtype=np.int64).reshape(-1, len(sizes))


def _is_whole(data: Any, dimensions: int) -> bool:
    """Whether this is a plain array of integers with so many dimensions."""
    return type(data) is np.ndarray and data.dtype.kind in "iu" and data.ndim == dimensions


def _fit(record: Any, columns: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        if len(record) == len(columns) and all(isinstance(v, numbers.Integral) for v in record):
            row = tuple(int(v) for v in record)
            return row if all(0 <= v < k for v, k in zip(row, columns, strict=True)) else None
    except Exception:  # noqa: S110  a record of another shape is in no cell, whatever it raises
        pass
    return None


def records_of(data: Any) -> list[Any]:
    """The records one by one."""
    if isinstance(data, np.ndarray) and data.ndim >= 1:
        return data.tolist() if data.ndim == 1 else list(data)
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, np.ndarray)):
        return list(data)
    raise BadData("data must be a list of records or an array")


def count_records(data: Any) -> int:
    """How many records there are."""
    return len(data) if hasattr(data, "__len__") and not isinstance(data, (str, bytes)) else len(records_of(data))


def tally(cell: Integers, size: int) -> Integers:
    """How many records each cell holds."""
    return np.bincount(cell + 1, minlength=size + 1)[1:].astype(np.int64)


def read_cells(keys: Iterable[Hashable] | None, bins: Sequence[Number] | NDArray[Any] | None) -> Keys | Bins:
    """Cells from public keys or from the public edges of bins."""
    if (keys is None) == (bins is None):
        raise BadParameter("keys", keys, "must be given, or bins in their place, and not both")
    if bins is not None:
        edges = ruler(bins, "bins")
        if len(edges) < 2:
            raise BadParameter("bins", bins, "must hold at least two different edges")
        return Bins(edges)
    return Keys(_read_keys(keys))


def _read_keys(keys: Any) -> tuple[Hashable, ...] | range:
    if isinstance(keys, range) and keys.step == 1:
        listed: tuple[Hashable, ...] | range = keys
    elif isinstance(keys, Iterable) and not isinstance(keys, (str, bytes)):
        listed = tuple(keys.tolist() if isinstance(keys, np.ndarray) else keys)
    else:
        raise BadParameter("keys", keys, "must be a list of public keys")
    if not 1 <= len(listed) <= MOST:
        raise BadParameter("keys", keys, f"must hold 1 to {MOST} public keys")
    if isinstance(listed, range):
        return listed
    if any(isinstance(key, float) for key in listed):
        raise BadParameter("keys", keys, "must not be floats: NaN, -0.0 and rounding make them ambiguous; use bins")
    if not all(can_be_looked_up(key) for key in listed):
        raise BadParameter("keys", "a list with a key that equals nothing", "must hold keys that can be looked up")
    if len(set(listed)) < len(listed):
        raise BadParameter("keys", keys, "must all be different")
    return listed


def read_columns(columns: Sequence[int]) -> Table:
    """A table of small integer columns."""
    given: object = columns
    if not isinstance(given, Sequence) or isinstance(given, (str, bytes)) or not given:
        raise BadParameter("columns", given, "must say how many values each column has, as in (2, 2, 3)")
    sizes = tuple(integer(size, "columns", at_least=1) for size in given)
    if max(sizes) > _FAR:
        raise BadParameter("columns", given, "must have at most 2^62 values in each column")
    return Table(sizes)
