"""Keys that are classes of integers: which class a number lies in, for many numbers at once.

Promise: the class is that of the expression, exactly. A binary search would take as long as all the rest, so numbers
are looked up by sign and exponent; classes with other ends, and numbers beyond 2^53, are searched for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.query.plan.expressions import Call, Expression, Literal

_EXACT = 1 << 53
"""Doubles hold all integers up to here."""
_MANTISSA = 52
_ZERO = 1023
"""The exponent of 1, as a double holds it."""
_SIGN = 1 << 11


@dataclass(frozen=True)
class Classes:
    """The label of a number x is that of the first class that ends beyond x: ``x < ends[i]``; else the last label."""

    x: Expression
    ends: tuple[int, ...]
    labels: tuple[int, ...]
    null: int | None
    """The label where x is NULL."""

    def places(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """The place of each number's label in ``labels``.

        >>> Classes(Literal(None), (0, 1, 2, 4), (-1, 0, 1, 2, 3), None).places(np.array([-5, 0, 1, 3, 4, 1 << 60]))
        array([0, 1, 2, 3, 4, 4], dtype=uint8)
        """
        table = self._table
        if table is None or numbers.max(initial=0) >= _EXACT or numbers.min(initial=0) <= -_EXACT:
            return np.searchsorted(np.array(self.ends), numbers, side="right").astype(self._kind)
        bits = numbers.astype(np.float64).view(np.uint64) >> np.uint64(_MANTISSA)
        places: NDArray[Any] = table[bits]
        return places

    @property
    def _kind(self) -> Any:
        return np.uint8 if len(self.labels) < 1 << 8 else np.int32

    @cached_property
    def _table(self) -> NDArray[Any] | None:
        """The place by sign and exponent, if all numbers of the same sign and exponent have the same."""
        table = np.zeros(2 * _SIGN, dtype=self._kind)
        ends = np.array(self.ends)
        for power in range(_MANTISSA + 2):
            low, high = 1 << power, (2 << power) - 1
            for sign, offset in ((1, 0), (-1, _SIGN)):
                first, last = np.searchsorted(ends, [sign * low, sign * high], side="right")
                if first != last:
                    return None
                table[_ZERO + power + offset] = first
        table[0] = np.searchsorted(ends, 0, side="right")
        return table


def classes_of(key: Expression) -> Classes | None:
    """The classes that an expression sorts into, if it is a decision tree over one number; else None.

    >>> x = Literal(None)
    >>> tree = Call("case", (Call("lt", (x, Literal(3))), Literal(0), Literal(7)))
    >>> classes_of(Call("case", (Call("is_null", (x,)), Literal(9), tree)))
    Classes(x=Literal(value=None), ends=(3,), labels=(0, 7), null=9)
    """
    match key:
        case Call("case", (Call("is_null", (x,)), Literal(int(null)), tree)):
            pass
        case _:
            return None
    match tree:
        case Call("case", (Call("is_null", (same,)), Literal(None), inner)) if same == x:
            tree = inner
    turns: list[int] = []
    if not _in_order(tree, x, turns):
        return None
    ends, labels = tuple(turns[1::2]), tuple(turns[::2])
    ordered = all(a < b for a, b in pairwise(ends))
    return Classes(x, ends, labels, null) if ordered and ends else None


def _in_order(tree: Expression, x: Expression, turns: list[int]) -> bool:
    """Labels and ends in turn, from the left; whether the tree has nothing else."""
    match tree:
        case Literal(int(label)):
            turns.append(label)
            return True
        case Call("case", (Call("lt", (same, Literal(int(end)))), below, above)) if same == x:
            if not _in_order(below, x, turns):
                return False
            turns.append(end)
            return _in_order(above, x, turns)
        case _:
            return False
