"""A hierarchy as arrays: level by level, children of one parent beside each other, so that a level is one pass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers


@dataclass(frozen=True, eq=False)
class Tree:
    """Of each level below the root, which node of the level above each of its nodes lies in; ascending.

    >>> tree = Tree((np.array([0, 0]), np.array([0, 0, 1])))
    >>> tree.sizes, tree.above(2, 0).tolist(), tree.sums(1, np.array([1, 2, 4])).tolist()
    ((1, 2, 3), [0, 0, 0], [3, 4])
    """

    parents: tuple[Integers, ...]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many nodes each level has, the root first."""
        return (1, *(len(parent) for parent in self.parents))

    @cached_property
    def starts(self) -> tuple[NDArray[np.intp], ...]:
        """Where the children of each node of a level begin, in the level below."""
        return tuple(np.searchsorted(p, np.arange(n)) for p, n in zip(self.parents, self.sizes[:-1], strict=True))

    def above(self, level: int, upper: int) -> Integers:
        """Which node of an upper level each node of a level lies in."""
        nodes = np.arange(self.sizes[level], dtype=np.int64)
        for deeper in range(level, upper, -1):
            nodes = self.parents[deeper - 1][nodes]
        return nodes

    def sums(self, level: int, below: NDArray[Any]) -> NDArray[Any]:
        """Of each node of a level, the sum over its children, along the first axis."""
        return np.add.reduceat(below, self.starts[level], axis=0)
