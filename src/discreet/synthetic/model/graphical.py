"""A graphical model: a distribution over the whole domain, kept as the tables of a junction tree.

Promise: it is made from released numbers alone, so whatever is asked of it costs nothing. Memory is that of the tree's
tables; the domain itself is never written out.

The model is p(x) proportional to the product of e^θ_r(x_r) over the measured cliques r. Its marginals come from one
pass up and one down the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.synthetic.model.junction import Clique, Tree, junction_tree

Potentials = Mapping[Clique, Floats]


@dataclass(frozen=True, eq=False)
class Graphical:
    """Calibrated tables: ``beliefs[i]`` is the marginal of the i-th clique of the tree, summing to 1."""

    tree: Tree
    beliefs: tuple[Floats, ...]
    log_normaliser: float

    def marginal(self, columns: Sequence[int]) -> Floats:
        """The share of each combination of these columns' values, in their order."""
        home = self.tree.home(columns)
        if home is not None:
            return _summed(self.beliefs[home], self.tree.cliques[home], columns)
        return self._across(tuple(columns))

    def _across(self, columns: Clique) -> Floats:
        """A marginal that lies in no single clique: the conditionals of the part of the tree that spans it."""
        tree, wanted = self.tree, set(columns)
        kept = _spanning(tree, wanted)
        operands: list[Any] = []
        for i in kept:
            clique, up = tree.cliques[i], tree.separators[i] if tree.parents[i] in kept else ()
            needed = wanted | set(up)
            for j in kept:
                if tree.parents[j] == i:
                    needed |= set(tree.separators[j])
            scope = tuple(c for c in clique if c in needed)
            table = _summed(self.beliefs[i], clique, scope)
            if up:
                table = _divided(table, _expand(_summed(table, scope, up), up, scope))
            operands += [table, list(scope)]
        result: Floats = np.einsum(*operands, list(columns), optimize="greedy")
        return result


def calibrate(tree: Tree, potentials: Potentials, base: Potentials | None = None) -> Graphical:
    """The model of these potentials. ``base`` may hold -inf for combinations that cannot occur."""
    logs = [np.zeros([tree.sizes[c] for c in clique]) for clique in tree.cliques]
    for given in (potentials, base or {}):
        for clique, table in given.items():
            home = tree.at(clique)
            logs[home] += _expand(table, clique, tree.cliques[home])
    ups: list[Floats] = [np.ones(())] * len(logs)
    shift = 0.0
    for i in range(len(logs) - 1, -1, -1):  # children before parents
        table = logs[i]
        top = float(table.max())
        table -= top
        np.exp(table, out=table)
        shift += top
        if i:
            ups[i] = _summed(table, tree.cliques[i], tree.separators[i])
            with np.errstate(divide="ignore"):
                logs[tree.parents[i]] += _expand(np.log(ups[i]), tree.separators[i], tree.cliques[tree.parents[i]])
    total = float(logs[0].sum())
    logs[0] /= total
    for i in range(1, len(logs)):
        parent, separator = tree.parents[i], tree.separators[i]
        ratio = _divided(_summed(logs[parent], tree.cliques[parent], separator), ups[i])
        logs[i] *= _expand(ratio, separator, tree.cliques[i])
    return Graphical(tree, tuple(logs), shift + log(total))


def uniform(sizes: Sequence[int], cliques: Sequence[Clique] = ()) -> Graphical:
    """The uniform distribution, on a tree for these cliques."""
    return calibrate(junction_tree(sizes, cliques), {})


# --- tables -------------------------------------------------------------------------------------------------------


def _summed(table: Floats, have: Clique, want: Sequence[int]) -> Floats:
    """The marginal of a table on some of its columns, in the wanted order."""
    kept = [c for c in have if c in want]
    dropped = tuple(i for i, c in enumerate(have) if c not in want)
    result = table.sum(axis=dropped) if dropped else table
    return result if kept == list(want) else result.transpose([kept.index(c) for c in want])


def _expand(table: Floats, have: Clique, want: Clique) -> Floats:
    """A view of a table that broadcasts over more columns."""
    order = sorted(range(len(have)), key=lambda i: want.index(have[i]))
    ordered = table.transpose(order)
    shape = iter(ordered.shape)
    return ordered.reshape([next(shape) if c in have else 1 for c in want])


def _divided(a: Floats, b: Floats) -> Floats:
    """a / b, and 0 where both are."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def _spanning(tree: Tree, wanted: set[int]) -> list[int]:
    """The cliques that are left when leaves that add no wanted column are cut off, again and again; parents first."""
    kept = list(range(len(tree.cliques)))
    while True:
        for i in kept:
            links = [j for j in kept if tree.parents[j] == i] + ([tree.parents[i]] if tree.parents[i] in kept else [])
            if len(links) == 1 and len(kept) > 1:
                other = set(tree.cliques[links[0]])
                if wanted & set(tree.cliques[i]) <= other:
                    kept.remove(i)
                    break
        else:
            return kept
