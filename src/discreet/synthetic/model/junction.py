"""Junction trees: which tables a graphical model over some cliques needs, and how large they are.

Promise: every clique that was given lies inside one clique of the tree, and the cliques that hold a column are
connected in it. Nothing here sees data: the size of a model is known before it is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

Clique = tuple[int, ...]


@dataclass(frozen=True)
class Tree:
    """A junction tree: each clique's parent comes before it, and the first one is the root.

    >>> tree = junction_tree((2, 3, 4), [(0, 1), (1, 2)])
    >>> tree.cliques, tree.parents, tree.separators, tree.cells
    (((0, 1), (1, 2)), (-1, 0), ((), (1,)), 18)
    """

    sizes: tuple[int, ...]
    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]

    @cached_property
    def separators(self) -> tuple[Clique, ...]:
        """What each clique shares with its parent."""
        return tuple(
            () if p < 0 else tuple(c for c in clique if c in self.cliques[p])
            for clique, p in zip(self.cliques, self.parents, strict=True)
        )

    @cached_property
    def cells(self) -> int:
        """How many numbers the tables of the model hold."""
        return sum(prod(self.sizes[c] for c in clique) for clique in self.cliques)

    def home(self, columns: Iterable[int]) -> int | None:
        """The smallest clique that holds these columns, if there is one."""
        wanted = set(columns)
        holding = [i for i, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(holding, key=lambda i: prod(self.sizes[c] for c in self.cliques[i]), default=None)

    def at(self, columns: Iterable[int]) -> int:
        """The same for columns that the tree was built for."""
        home = self.home(columns)
        if home is None:
            raise LookupError("the tree was not built for these columns")
        return home


def junction_tree(sizes: Sequence[int], cliques: Iterable[Iterable[int]]) -> Tree:
    """A tree for these cliques; every column is in it. Columns are eliminated greedily, the smallest table first."""
    maximal = _eliminated(tuple(sizes), cliques)
    return Tree(tuple(sizes), *_spanned(maximal))


def tree_cells(sizes: Sequence[int], cliques: Iterable[Iterable[int]]) -> int:
    """How many numbers a model of these cliques holds.

    >>> tree_cells((10, 10, 10), [(0, 1), (1, 2)]), tree_cells((10, 10, 10), [(0, 1), (1, 2), (0, 2)])
    (200, 1000)
    """
    return sum(prod(sizes[c] for c in clique) for clique in _eliminated(tuple(sizes), cliques))


def _eliminated(sizes: tuple[int, ...], cliques: Iterable[Iterable[int]]) -> list[Clique]:
    """The maximal cliques of a triangulated graph that holds the given ones."""
    near: list[set[int]] = [set() for _ in sizes]
    for clique in cliques:
        for a, b in combinations(clique, 2):
            near[a].add(b)
            near[b].add(a)
    left = set(range(len(sizes)))
    cliques_made: list[set[int]] = []

    def cost(column: int) -> tuple[int, int]:
        return sizes[column] * prod(sizes[c] for c in near[column]), column

    while left:
        column = min(left, key=cost)
        around = near[column]
        cliques_made.append(around | {column})
        for c in around:
            near[c] |= around
            near[c] -= {c, column}
        left.remove(column)
    maximal = [
        clique
        for i, clique in enumerate(cliques_made)
        if not any(clique < o for o in cliques_made) and clique not in cliques_made[:i]
    ]
    return [tuple(sorted(clique)) for clique in maximal]


def _spanned(cliques: list[Clique]) -> tuple[tuple[Clique, ...], tuple[int, ...]]:
    """A spanning tree with the largest separators (Prim), which has the running intersection property."""
    order, parents = [0], [-1]
    waiting = set(range(1, len(cliques)))
    while waiting:
        shared, child, parent = max(
            (len(set(cliques[i]) & set(cliques[j])), -i, -place) for i in waiting for place, j in enumerate(order)
        )
        del shared
        order.append(-child)
        parents.append(-parent)
        waiting.remove(-child)
    return tuple(cliques[i] for i in order), tuple(parents)
