"""What an engine computed, held against what it was asked for: an engine is trusted with data, not with its shape.

Promise: what passes is exact integers under plain keys of the right kind, each group once, no key that nobody listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.sql.dialects import Sort
from discreet.engines.sql.emit import Statement
from discreet.query.plan.types import Value
from discreet.query.plan.work import AnyWork, Exact, UnitClasses, Work

_TYPES: dict[Sort, type] = {
    Sort.INTEGER: int,
    Sort.TEXT: str,
    Sort.BOOLEAN: bool,
    Sort.DATE: date,
    Sort.TIMESTAMP: datetime,
}


def checked(
    work: AnyWork, statement: Statement, keys: Sequence[Sequence[Any]], numbers: Sequence[NDArray[Any]], rows: int
) -> Exact:
    """The columns of a statement's result as exact numbers; raises if they are not what the work asks for."""
    for allowed, (_, sort), values in zip(_allowed(work), statement.keys, keys, strict=True):
        if {type(value) for value in values} - {_TYPES.get(sort), type(None)}:
            raise TypeError("a key of another kind")
        if allowed is not None and not set(values) <= set(allowed):
            raise ValueError("a key that was not asked for")
    if isinstance(work, Work) and work.split is not None and None in keys[-1]:
        raise ValueError("a split that should have been dropped")
    groups = tuple(zip(*keys, strict=True)) if keys else ((),) * rows
    if different(keys, rows) != rows:
        raise ValueError("a group came twice, or did not come whole")
    return Exact(groups, tuple(numbers))


def _allowed(work: AnyWork) -> Sequence[Sequence[Value] | None]:
    """Of each key of the result, which values it may have; None: any."""
    if isinstance(work, UnitClasses):
        return range(len(work.totals)), range(len(work.edges) + 1)
    allowed = [key.allowed for key in work.keys]
    return [*allowed, work.split.allowed] if isinstance(work, Work) and work.split is not None else allowed


def different(keys: Sequence[Sequence[Any]], rows: int) -> int:
    """How many different rows these columns have. Millions come, so it goes by numbers, not by tuples.

    >>> different([["a", "a", None], [1, 1, 1]], 3)
    2
    """
    if len(keys) == 1:
        return len(set(keys[0]))
    codes, size = np.zeros(rows, dtype=np.int64), 1
    for values in keys:
        code_of = {value: i for i, value in enumerate(dict.fromkeys(values))}
        if size * len(code_of) >= 1 << 62:
            codes, size = np.unique(codes, return_inverse=True)[1], rows
        codes = codes * len(code_of) + np.fromiter(map(code_of.__getitem__, values), dtype=np.int64, count=rows)
        size *= len(code_of)
    return distinct(codes)


def distinct(codes: NDArray[np.int64]) -> int:
    """How many different numbers there are. Sorting millions is some times faster than hashing them.

    >>> distinct(np.array([3, 1, 3])), distinct(np.array([], dtype=np.int64))
    (2, 0)
    """
    ordered = np.sort(codes)
    return int(len(ordered) > 0) + int((ordered[1:] != ordered[:-1]).sum())


def integers(values: Sequence[int]) -> NDArray[Any]:
    """Integers as an array: of 64 bits if all of them fit.

    >>> integers([1, 1 << 63]).dtype, integers([1, 2]).dtype
    (dtype('O'), dtype('int64'))
    """
    if any(type(value) is not int for value in values):
        raise TypeError("not integers")
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return np.array(values, dtype=object)
