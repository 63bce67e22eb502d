"""A model for any set of marginals, however they overlap: weighted rows.

Promise: made from released numbers alone. No junction tree is needed for all marginals at once, so memory grows with
the number of rows and marginals, not with the product of columns.

A graphical model takes as many of the marginals as it has room for, and pairs of columns of the others. Rows drawn
from it are then given weights that fit all marginals: the same maximum entropy against least squares, on these rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import log, prod

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.synthetic.model.fit import PRIOR, STEPS, Measured, fit, pooled, solve, total_of
from discreet.synthetic.model.graphical import Potentials
from discreet.synthetic.model.junction import Clique, tree_cells
from discreet.synthetic.model.rows import draw_rows

ATOMS = 1 << 17
CELLS = 1 << 18


@dataclass(frozen=True, eq=False)
class Sampled:
    """Rows of codes with weights that sum to 1."""

    sizes: tuple[int, ...]
    atoms: NDArray[np.int32]
    places: Mapping[Clique, NDArray[np.int64]]
    """For each clique that was fitted, the cell of each row."""
    potentials: Potentials

    @cached_property
    def _logs(self) -> Floats:
        logs = np.zeros(len(self.atoms))
        for clique, table in self.potentials.items():
            logs += table.ravel()[self.places[clique]]
        return logs

    @cached_property
    def _top(self) -> float:
        return float(self._logs.max())

    @cached_property
    def weights(self) -> Floats:
        """The weight of each row."""
        raw: Floats = np.exp(self._logs - self._top)
        return np.asarray(raw / raw.sum(), dtype=np.float64)

    @cached_property
    def log_normaliser(self) -> float:
        """ln of the mean of e^potential over the rows."""
        return self._top + log(float(np.exp(self._logs - self._top).mean()))

    def marginal(self, columns: Sequence[int]) -> Floats:
        """The share of each combination of these columns' values, in their order."""
        shape = [self.sizes[c] for c in columns]
        place = self.places.get(tuple(columns))
        if place is None:
            place = cells_of(self.atoms, self.sizes, columns)
        summed: Floats = np.bincount(place, weights=self.weights, minlength=prod(shape)).astype(np.float64)
        return summed.reshape(shape)

    def draw(self, count: int, source: np.random.Generator) -> NDArray[np.int32]:
        """Rows by systematic sampling along the sorted atoms: each appears as often as expected, to within one."""
        order = np.lexsort(self.atoms.T)
        upto = np.cumsum(self.weights[order]) * count
        upto[-1] = count
        ends = np.floor(upto + source.random()).clip(max=count).astype(np.int64)
        many = ends - np.concatenate([[0], ends[:-1]])
        many[-1] += count - many.sum()
        return source.permutation(np.repeat(self.atoms[order], many, axis=0))


def cells_of(atoms: NDArray[np.int32], sizes: Sequence[int], columns: Sequence[int]) -> NDArray[np.int64]:
    """The cell of each row in the marginal of some columns."""
    cell = np.zeros(len(atoms), dtype=np.int64)
    for c in columns:
        cell = cell * sizes[c] + atoms[:, c]
    return cell


def fit_sampled(
    sizes: Sequence[int],
    measured: Sequence[Measured],
    *,
    atoms: int = ATOMS,
    cells: int = CELLS,
    prior: float = PRIOR,
    steps: int = STEPS,
) -> tuple[Sampled, float]:
    """Weighted rows for these marginals, and the number of rows that they stand for.

    >>> table = np.array([[40, 10], [10, 40]])
    >>> model, total = fit_sampled((2, 2), [Measured((0, 1), table, 1.0)], atoms=1000)
    >>> np.abs(model.marginal((0, 1)) * total - table).max() < 3
    np.True_
    """
    total = total_of(measured)
    target = pooled(measured, total)
    start = fit(sizes, fitting(sizes, measured, cells), prior=prior, steps=steps)
    rows = draw_rows(start.model, atoms, np.random.default_rng())
    places = {clique: cells_of(rows, sizes, clique) for clique in target}
    weights = solve(
        target, total, lambda given: Sampled(tuple(sizes), rows, places, given), start=None, prior=prior, steps=steps
    )
    return Sampled(tuple(sizes), rows, places, weights), total


def fitting(sizes: Sequence[int], measured: Sequence[Measured], cells: int) -> list[Measured]:
    """As many marginals as a junction tree of so many cells has room for, small ones first; pairs of the others."""
    kept: list[Measured] = []

    def add(m: Measured) -> bool:
        if tree_cells(sizes, [*(k.clique for k in kept), m.clique]) > cells:
            return False
        kept.append(m)
        return True

    for m in sorted(measured, key=lambda m: (len(m.clique), m.noisy.size)):
        if not add(m):
            for pair in combinations(m.clique, 2):
                dropped = tuple(i for i, c in enumerate(m.clique) if c not in pair)
                summed = m.noisy.sum(axis=dropped)
                add(Measured(pair, summed, m.variance * (m.noisy.size // summed.size)))
    return kept or [m for m in measured if m.noisy.size == min(k.noisy.size for k in measured)]
