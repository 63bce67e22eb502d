"""Which tables of a publication public totals fix; what no rows can have is refused before anything is paid.

Guarantee: a function of declarations alone; the data is not looked at. Proof: hierarchical.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers
from discreet.errors import BadParameter
from discreet.query.plan.key_sets import Hierarchy, KeySet
from discreet.query.plan.public_totals import PublicTotals
from discreet.query.plan.types import Value
from discreet.synthetic.columns import Column
from discreet.synthetic.hierarchical.tree import Tree
from discreet.synthetic.hierarchical.whole import Clique, Masks, projected


@dataclass(frozen=True, eq=False)
class Fixed:
    """A table whose numbers are public: of all nodes of a level, by some columns."""

    totals: PublicTotals
    level: int
    columns: Clique
    counts: Integers
    listed: NDArray[np.bool_]
    """Of each cell, whether its number is declared."""

    def at(self, tree: Tree, level: int, columns: Clique) -> Integers:
        """The numbers of some of its columns, at its level or one above."""
        counts: Integers = self.counts.sum(axis=tuple(1 + i for i, c in enumerate(self.columns) if c not in columns))
        for upper in range(self.level - 1, level - 1, -1):
            counts = tree.sums(upper, counts)
        return counts

    def check(self, masks: Masks) -> None:
        """Refuse numbers where nobody can be, and cells without a number where somebody can be."""
        mask = projected(masks, self.columns)
        possible = np.ones(self.counts.shape[1:], dtype=bool) if mask is None else mask
        if self.counts[:, ~possible].any():
            must = "must be 0 where the key sets leave no combination possible"
            raise BadParameter("public_totals", self.totals.name, must)
        if not self.listed[:, possible].all():
            many = int((~self.listed[:, possible]).sum())
            must = (
                f"must give a number for every combination that exists: {many:,} are missing (NULL is one, if allowed)"
            )
            raise BadParameter("public_totals", self.totals.name, must)


def fixed_tables(
    tree: Tree,
    hierarchy: Hierarchy | None,
    columns: Mapping[str, Column],
    given: Iterable[PublicTotals],
    key_sets: Iterable[KeySet],
) -> tuple[Fixed, ...]:
    """The tables that public totals fix, among the levels and columns that are published.

    Of any two, one has all columns of the other: only then whole numbers for the rest always exist.
    """
    beside = {name for key_set in key_sets for name in key_set.columns}
    tables = tuple(_fixed(tree, hierarchy, columns, totals, beside) for totals in given)
    for a, b in combinations(tables, 2):
        shared, level = tuple(c for c in a.columns if c in b.columns), min(a.level, b.level)
        both = f"{a.totals.name} and {b.totals.name}"
        if shared not in (a.columns, b.columns):
            must = "must be nested: beside the places, one of them has all columns of the other"
            raise BadParameter("public_totals", both, must)
        if not np.array_equal(a.at(tree, level, shared), b.at(tree, level, shared)):
            raise BadParameter("public_totals", both, "must agree: parts add up to their totals")
    return tables


def widest(fixed: Sequence[Fixed], tree: Tree, level: int) -> tuple[Clique, Integers] | None:
    """The table with the most columns that is fixed at a level, by itself or by levels below."""
    below = [table for table in fixed if table.level >= level]
    if not below:
        return None
    most = max(below, key=lambda table: len(table.columns))
    return most.columns, most.at(tree, level, most.columns)


def public_depth(fixed: Sequence[Fixed], columns: Clique) -> int:
    """The deepest level at which the table of some columns is fixed; -1 if there is none."""
    return max((table.level for table in fixed if set(columns) <= set(table.columns)), default=-1)


def _fixed(
    tree: Tree,
    hierarchy: Hierarchy | None,
    columns: Mapping[str, Column],
    given: PublicTotals,
    beside: set[str],
) -> Fixed:
    """The table of one declaration; levels and columns that are not published are summed up."""
    levels = () if hierarchy is None else hierarchy.levels
    for name in given.columns:
        if name not in columns and name not in levels and name not in beside:
            raise BadParameter("public_totals", name, f"must be a column or a level: {', '.join((*levels, *columns))}")
    order = list(columns)
    kept = sorted((name for name in given.columns if name in columns), key=order.index)
    codes = [{label: code for code, label in enumerate([*columns[name].labels, None])} for name in kept]
    places = [name for name in levels if name in given.columns]
    finest = levels.index(places[-1]) if places else 0
    paths: dict[Value, tuple[Value, ...]] = {None: ()}
    if hierarchy is not None and places:
        paths = {row[finest]: row for row in hierarchy.rows}
    number = {label: i for i, label in enumerate(paths)}
    shape = (len(paths), *(columns[name].size for name in kept))
    counts, listed = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
    for key, count in zip(given.keys, given.counts, strict=True):
        row = dict(zip(given.columns, key, strict=True))
        place = row[places[-1]] if places else None
        inside = place in paths and all(paths[place][levels.index(name)] == row[name] for name in places)
        cell = tuple(code.get(row[name], -1) for name, code in zip(kept, codes, strict=True))
        if not inside or any(not 0 <= c < n for c, n in zip(cell, shape[1:], strict=True)):
            raise BadParameter("public_totals", key, f"must be a combination of {given.name} that exists")
        counts[number[place], *cell] += count
        listed[number[place], *cell] = True
    level, above = _place_in(tree, hierarchy, finest) if places else (0, np.zeros(1, dtype=np.int64))
    sums = np.zeros((tree.sizes[level], *shape[1:]), dtype=np.int64)
    np.add.at(sums, above, counts)
    whole = np.ones(sums.shape, dtype=bool)
    np.logical_and.at(whole, above, listed)
    return Fixed(given, level, tuple(order.index(name) for name in kept), sums, whole)


def _place_in(tree: Tree, hierarchy: Hierarchy | None, finest: int) -> tuple[int, Integers]:
    """The level of the tree for a level of a hierarchy, or the deepest above it, and the node of each key there."""
    assert hierarchy is not None  # noqa: S101 - it has the level
    own_root = int(len(hierarchy.labels(0)) > 1)
    level = min(finest + own_root, len(tree.sizes) - 1)
    node = np.arange(len(hierarchy.labels(finest)), dtype=np.int64)
    for upper in range(finest + own_root, level, -1):
        node = hierarchy.parents[upper - own_root - 1][node] if upper > own_root else np.zeros_like(node)
    return level, node
