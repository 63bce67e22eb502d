"""Multiplicative weights on an explicit domain: one number for every possible row.

Promise: made from released numbers alone. Weights are floats: their rounding costs accuracy, never privacy. A question
is one pass over the weights, an update touches only what it changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import expm1, prod

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.errors import BadParameter
from discreet.synthetic.predicate import Predicate

MOST = 1 << 24
"""The most cells."""
_WIDE = 1 << 12  # cells of the trailing columns that are one row of the matrix
_RENORMALISE = 64
_FEW = 64  # combinations of trailing columns that one matrix product sums up
_KEPT = 1 << 13  # up to so many cells, what a condition of an update holds of is written out once

Block = tuple[NDArray[np.bool_] | None, Floats]
"""Some rows of the matrix of weights, None for all of them, and which cells in each of these rows."""


class Dense:
    """A distribution over all combinations, uniform at first.

    >>> from discreet.synthetic.domain import Domain
    >>> from discreet.synthetic.predicate import predicate
    >>> domain = Domain({"x": range(1, 4), "y": range(2)})
    >>> model, asked = Dense(domain.sizes), predicate(domain, "x = 2")
    >>> model.update(asked, 1.0)
    >>> round(model.share(asked), 3)  # e / (e + 3)
    0.475
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        cells = prod(sizes)
        if cells > MOST:
            raise BadParameter("domain", cells, f"must have at most {MOST:,} cells here: coarsen or leave out columns")
        self.sizes = tuple(sizes)
        self._split = next(k for k in range(len(sizes), -1, -1) if k == 0 or prod(sizes[k:]) >= _WIDE)
        self._weights = np.full((prod(sizes[: self._split]), prod(sizes[self._split :])), 1 / cells)
        self._total = 1.0
        self._updates = 0
        self._blocks: dict[int, tuple[Predicate, list[Block]]] = {}  # by identity, with what must live as long

    def share(self, condition: Predicate) -> float:
        """The share of what satisfies a condition."""
        return self._mass(condition) / self._total

    def marginal(self, clique: Sequence[int]) -> Floats:
        """The shares of all combinations of some columns, in ascending order of columns."""
        left, right = self._parts(clique)
        shape = [self.sizes[c] for c in (*left, *right)]
        wide = prod(self.sizes[c] for c in right)
        if wide > _FEW:
            kept = [c for c in range(len(self.sizes)) if c not in clique]
            table: Floats = self._weights.reshape(self.sizes).sum(axis=tuple(kept)) / self._total
            return table
        code = _codes(self.sizes[self._split :], [c - self._split for c in right])
        narrow = self._weights @ (code[:, None] == np.arange(wide)).astype(np.float64)
        owner = _codes(self.sizes[: self._split], left)
        out = np.zeros((prod(self.sizes[c] for c in left), wide))
        np.add.at(out, owner, narrow)
        return out.reshape(shape) / self._total

    def scale(self, clique: Sequence[int], factors: Floats) -> None:
        """Multiply the weight of each combination of some columns by its factor."""
        left, right = self._parts(clique)
        code = _codes(self.sizes[self._split :], [c - self._split for c in right])
        owner = _codes(self.sizes[: self._split], left)
        for i, row in enumerate(factors.reshape(prod(self.sizes[c] for c in left), -1)):
            if len(left):
                self._weights[owner == i] *= row[code]
            else:
                self._weights *= row[code]
        self._total = float(self._weights.sum())
        self._settle()

    def update(self, condition: Predicate, step: float) -> None:
        """Multiply the weight of what satisfies a condition by e^step."""
        if self._weights.size <= _KEPT and id(condition) not in self._blocks:  # it will be asked for again
            self._blocks[id(condition)] = condition, list(self._written_out(condition))
        mass = 0.0
        factor = expm1(step)
        for rows, pattern in self._patterns(condition):
            multiplier = 1 + factor * pattern
            if rows is None:
                mass += float((self._weights @ pattern).sum())
                self._weights *= multiplier
            else:
                part = self._weights[rows]
                mass += float((part @ pattern).sum())
                part *= multiplier
                self._weights[rows] = part
        self._total += factor * mass
        self._settle()

    def _settle(self) -> None:
        """Sum up afresh now and then, so that rounding does not pile up."""
        self._updates += 1
        if self._updates % _RENORMALISE == 0 or not 1e-100 < self._total < 1e100:
            self._weights /= self._weights.sum()
            self._total = 1.0

    def _mass(self, condition: Predicate) -> float:
        mass = 0.0
        for rows, pattern in self._patterns(condition):
            if rows is None:
                mass += float((self._weights @ pattern).sum())
            elif 2 * int(rows.sum()) >= len(rows):
                mass += float((self._weights @ pattern)[rows].sum())
            else:
                mass += float((self._weights[rows] @ pattern).sum())
        return mass

    def _patterns(self, condition: Predicate) -> Iterable[Block]:
        """The condition as few blocks."""
        kept = self._blocks.get(id(condition))
        return self._written_out(condition) if kept is None else kept[1]

    def _written_out(self, condition: Predicate) -> Iterator[Block]:
        left, right = self._parts(condition.clique)
        table = condition.table.reshape(prod(self.sizes[c] for c in left), -1)
        patterns, which = np.unique(table, axis=0, return_inverse=True) if len(table) > 1 else (table, np.zeros(1, int))
        owner = np.asarray(which).ravel()[_codes(self.sizes[: self._split], left)]
        shape = [self.sizes[c] if c in right else 1 for c in range(self._split, len(self.sizes))]
        for i, pattern in enumerate(patterns):
            if pattern.any():
                wide = np.broadcast_to(pattern.reshape(shape), self.sizes[self._split :])
                rows = owner == i
                yield None if rows.all() else rows, wide.reshape(-1).astype(np.float64)

    def _parts(self, clique: Sequence[int]) -> tuple[list[int], list[int]]:
        return [c for c in clique if c < self._split], [c for c in clique if c >= self._split]


def _codes(sizes: Sequence[int], columns: Sequence[int]) -> NDArray[np.int64]:
    """For each combination of all columns, which combination of some of them it is."""
    code = np.zeros([1] * len(sizes), dtype=np.int64)
    for c in columns:
        axis = np.arange(sizes[c]).reshape([-1 if k == c else 1 for k in range(len(sizes))])
        code = code * sizes[c] + axis
    return np.broadcast_to(code, sizes).reshape(-1)
