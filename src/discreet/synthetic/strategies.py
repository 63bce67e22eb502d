"""What to measure of one marginal so that the questions about it come out best: its cells, a tree, or a matrix.

Promise: a strategy is public and made of whole numbers. What it measures of exact counts is exact, and its sensitivity
is that of its largest column. The error that it will have is known before anything is spent. Proof: strategies.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.mechanisms.statistics.budget import Moves
from discreet.mechanisms.statistics.tree import BRANCHINGS, Tree

EXPLICIT = 1024
"""The most cells for which a tree or matrix is written out."""
OPTIMISED = 512
"""The most cells for which a matrix is searched for."""
GRID = 1 << 20
COARSE = 1 << 8
"""The grid of a matrix for counts that are scaled themselves: A x stays in 64 bits up to 2^35 rows of scale 2^20."""
_STEPS = 40


@dataclass(frozen=True, eq=False)
class Strategy:
    """Measure ``matrix`` @ cells, or the cells themselves; answer by least squares."""

    name: str
    cells: int
    matrix: Integers | None = None

    def measured(self, exact: Integers) -> Integers:
        """What is measured of exact counts, exactly."""
        return exact if self.matrix is None else self.matrix @ exact

    def moves(self, unit: Moves) -> Moves:
        """How far that moves, when the cells move so far in L1 and L2: no further than L1 times the longest column.

        >>> Strategy("tree", 2, np.array([[1, 0], [0, 1], [1, 1]])).moves(Moves(3, 9))
        Moves(l1=6, l2_squared=18)
        """
        if self.matrix is None:
            return unit
        columns = self.matrix.T.tolist()  # Python integers: squares of a large grid would not fit
        return Moves(
            l1=unit.l1 * max(sum(abs(v) for v in column) for column in columns),
            l2_squared=unit.l1**2 * max(sum(v * v for v in column) for column in columns),
        )

    @cached_property
    def covariance(self) -> Floats | None:
        """Of the least-squares cells, for noise of variance 1 in each measurement; None for the identity."""
        if self.matrix is None:
            return None
        real = self.matrix.astype(np.float64)
        return np.asarray(np.linalg.inv(real.T @ real), dtype=np.float64)

    def estimate(self, noisy: NDArray[Any]) -> Floats:
        """The cells by least squares."""
        real = np.asarray(noisy, dtype=np.float64)
        if self.matrix is None or self.covariance is None:
            return real
        return np.asarray(self.covariance @ (self.matrix.T.astype(np.float64) @ real))

    def spread(self, rows: NDArray[Any] | None) -> Floats:
        """The variance of each question's answer, for noise of variance 1 in each measurement."""
        if self.covariance is None:
            return np.ones(self.cells) if rows is None else (rows.astype(np.float64) ** 2).sum(axis=1)
        if rows is None:
            return np.diag(self.covariance).copy()
        real = rows.astype(np.float64)
        return np.asarray(((real @ self.covariance) * real).sum(axis=1))


def identity(cells: int) -> Strategy:
    """The cells themselves."""
    return Strategy("cells", cells)


def trees(cells: int) -> list[Strategy]:
    """Trees of counts over the cells, in every branching worth trying."""
    strategies = []
    for branching in BRANCHINGS:
        if cells > EXPLICIT or cells < 4 or branching >= cells:
            continue
        tree = Tree(cells, branching)
        matrix = np.stack([tree.nodes(row) for row in np.eye(cells, dtype=np.int64)], axis=1)
        strategies.append(Strategy(f"tree of branching {branching}", cells, matrix))
    return strategies


def least_squares(gram: Floats, grid: int = GRID) -> Strategy | None:
    """The matrix with the least total variance for questions of this Gram matrix, on a public grid; None for cells.

    Minimises tr(V X⁻¹) over X = AᵀA with diagonal 1, by the fixed point of Denisov et al. (2022). Any matrix is
    private; a worse one only has more error.
    """
    cells = len(gram)
    if not 2 <= cells <= OPTIMISED or np.array_equal(gram, gram[0, 0] * np.eye(cells)):  # cells are best for cells
        return None
    v = gram + np.eye(cells) * (np.trace(gram) / cells * 1e-6)
    dual = np.ones(cells)
    for _ in range(_STEPS):
        before, dual = dual, np.diag(_root(v * np.sqrt(np.outer(dual, dual)))).clip(min=1e-12)
        if np.allclose(before, dual, rtol=1e-3):
            break
    x = _root(v * np.sqrt(np.outer(dual, dual))) / np.sqrt(np.outer(dual, dual))
    matrix = np.rint(_root(x) / np.sqrt(np.diag(x).max()) * grid).astype(np.int64)
    return Strategy("least squares", cells, matrix) if np.linalg.matrix_rank(matrix) == cells else None


def _root(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    root: Floats = (vectors * np.sqrt(values.clip(min=0))) @ vectors.T
    return root
