"""How many different keys are named if each unit names one of its own: that with the smallest salted hash.

Promise: the number of ``DistinctWork`` with a cap of 1, exactly. Hashes take most of the time, so they are left out
where they can't matter: for a unit of one key, and for a unit all of whose keys are named by others already. What is
named is the union over all units, so it does not change with those that are left out, nor with their order.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.engines.duckdb.row_codes import KeyCodes, Numbers

Choose = Callable[[Numbers, Numbers], Numbers]
"""From pairs of unit and code, the code that each unit names."""


class NamedKeys:
    """The keys that are named, of all units that were added.

    >>> named = NamedKeys(3)
    >>> rows = KeyCodes(3, np.array([0, 1, 1]), np.array([1, 1, 1]), np.array([1, 2]))
    >>> named.add(rows, lambda units, codes: codes[:0])
    >>> named.count
    1
    """

    def __init__(self, size: int) -> None:
        self._named = np.zeros(size, dtype=bool)

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self._named.sum())

    def add(self, keys: KeyCodes, choose: Choose) -> None:
        """Those of further units: first of those that have few keys, since they name most for each hash."""
        units, codes = keys.pairs
        there = codes < keys.size
        if not there.all():
            units, codes = units[there], codes[there]
        sizes = np.bincount(units, minlength=1)
        whose = np.flatnonzero(sizes)
        sizes, most = sizes[whose], 1
        while len(codes):
            few = sizes <= most
            some = np.repeat(few, sizes)
            if most == 1:
                self._named[codes[some]] = True
            elif few.any():
                self._named[choose(np.repeat(whose[few], sizes[few]), codes[some])] = True
            left = np.logical_or.reduceat(~self._named[codes], np.cumsum(sizes) - sizes) & ~few
            codes, whose, sizes = codes[np.repeat(left, sizes)], whose[left], sizes[left]
            most *= 2
