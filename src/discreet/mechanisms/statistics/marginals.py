"""Marginals of a table of small integer columns: several histograms of the same records, released together.

Guarantee: a record is in one cell of each of the w tables, so together they move by w in L1 and √w in L2 when it comes
or goes, and by up to twice as many cells when it changes: 2w and √(2w). Proof: marginals.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers
from discreet.errors import BadParameter
from discreet.exact import Number, integer
from discreet.mechanisms.additive.shared import Exact, Released
from discreet.mechanisms.statistics.binning import MOST, Table, read_columns, tally
from discreet.mechanisms.statistics.budget import Moves, Noise, noise_for, read_budget, read_neighbours
from discreet.mechanisms.statistics.noised import Noised
from discreet.privacy.promises.neighbours import Neighbours
from discreet.randomness import Bits
from discreet.shown import brief

Marginal = tuple[int, ...]


def marginal_moves(table: Table, which: Sequence[Marginal], neighbours: Neighbours) -> Moves:
    """How far all tables together move; a table of one cell moves only when a record comes, goes or leaves the columns.

    >>> marginal_moves(Table((2, 3)), [(0,), (0, 1)], Neighbours.CHANGE_ONE)
    Moves(l1=4, l2_squared=4)
    """
    moved = len(which)
    if neighbours is Neighbours.CHANGE_ONE:
        moved = max(moved, sum(2 for columns in which if prod(table.columns[c] for c in columns) > 1))
    return Moves(l1=moved, l2_squared=moved)


@dataclass(frozen=True, slots=True, eq=False)
class Marginals(Noised[Exact, Released]):
    """Made by ``marginals(...)``: the cells of all tables one after the other; ``tables`` gives them their shape."""

    __repr__ = brief

    table: Table
    which: tuple[Marginal, ...]
    neighbours: Neighbours
    noise: Noise

    def story(self) -> str:
        """One line on what was done."""
        return (
            f"counted {len(self.which)} marginal tables, {self.noise.story()} on each of {self.noise.dimension} cells"
        )

    def shape(self, columns: Marginal) -> tuple[int, ...]:
        """The shape of one table."""
        return tuple(self.table.columns[c] for c in columns)

    def read(self, value: Any) -> Integers:
        """The exact counts. A record with an entry outside its column is in none of the tables."""
        rows = self.table.rows(value)
        rows = rows[rows[:, 0] >= 0]
        counts = []
        for columns in self.which:
            cell = np.zeros(len(rows), dtype=np.int64)
            for c in columns:
                cell = cell * self.table.columns[c] + rows[:, c]
            counts.append(tally(cell, prod(self.shape(columns))))
        return np.concatenate(counts)

    def draw(self, value: Exact, bits: Bits) -> Released:
        """The noisy counts."""
        return self.noise.draw(value, bits)

    def tables(self, value: NDArray[Any]) -> dict[Marginal, NDArray[Any]]:
        """Released cells as one array for each table."""
        sizes = [prod(self.shape(columns)) for columns in self.which]
        parts = np.split(np.asarray(value), np.cumsum(sizes)[:-1])
        return {columns: p.reshape(self.shape(columns)) for columns, p in zip(self.which, parts, strict=True)}


def marginals(
    *,
    columns: Sequence[int],
    which: Sequence[Sequence[int]],
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Marginals:
    """Counts by the values of some columns, for several sets of columns at once.

    ``columns`` says how many values each column has (0, 1, ..., k - 1); ``which`` names the sets of columns.
    Guarantee: ε-differentially private, or ρ-zCDP, for all tables together.

    >>> m = marginals(columns=(2, 3), which=[(0,), (0, 1)], epsilon=1)
    >>> m.noise.scale, m.read([(0, 2), (1, 0), (1, 3)]).tolist()
    (Fraction(2, 1), [1, 1, 0, 0, 1, 1, 0, 0])
    >>> m.tables(m.release([(0, 2)]).value)[0, 1].shape
    (2, 3)
    """
    budget, relation = read_budget(epsilon, rho), read_neighbours(neighbours)
    table = read_columns(columns)
    sets = _read_sets(which, len(table.columns))
    size = sum(prod(table.columns[c] for c in columns) for columns in sets)
    if size > MOST:
        raise BadParameter("which", which, f"must have at most {MOST} cells in all tables together")
    return Marginals(table, sets, relation, noise_for(budget, marginal_moves(table, sets, relation), size))


def _read_sets(which: Sequence[Sequence[int]], columns: int) -> tuple[Marginal, ...]:
    given: object = which
    if not isinstance(given, Sequence) or isinstance(given, (str, bytes)) or not given:
        raise BadParameter("which", given, "must be a list of sets of columns, as in [(0,), (0, 1)]")
    sets = [tuple(integer(c, "which", at_least=0) for c in chosen) for chosen in which]
    if any(not s or len(set(s)) < len(s) or max(s) >= columns for s in sets) or len(set(sets)) < len(sets):
        raise BadParameter("which", which, f"must name different columns below {columns} in each set, no set twice")
    return tuple(sets)
