"""A tree of counts over public cells: any range is a sum of few nodes, and least squares makes all levels agree.

Guarantee: one record is counted in one node of each of h levels, so adding or removing it moves the nodes by h in L1
and √h in L2. Changing it moves two nodes in each level but the topmost, which both records share: 2(h-1) and
√(2(h-1)); or h and √h if it enters or leaves the cells. Without a root, 2h and √(2h). Proof: tree.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answer import CONFIDENCE, Accuracy
from discreet.arrays import Floats, Integers
from discreet.exact import Number, integer
from discreet.mechanisms.additive.shared import Exact, Released
from discreet.mechanisms.base.estimate import Estimate
from discreet.mechanisms.statistics.binning import Cells, read_cells, tally
from discreet.mechanisms.statistics.budget import Budget, Moves, Noise, noise_for, read_budget, read_neighbours
from discreet.mechanisms.statistics.error_bounds import Sums
from discreet.mechanisms.statistics.noised import Noised
from discreet.privacy.promises.neighbours import Neighbours
from discreet.randomness import Bits

BRANCHINGS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 64)
_MARGIN = 1 + Fraction(1, 1 << 30)  # for the rounding of the variances, which are sums of at most 100 floats

_NOTHING = 2.0**-40  # for weights that cancel


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree of this branching over so many leaves. Level 0 are the leaves; the last level is the root.

    >>> Tree(5, 2).levels, Tree(5, 2).nodes(np.array([1, 0, 2, 0, 4])).tolist()
    ((5, 3, 2, 1), [1, 0, 2, 0, 4, 1, 2, 4, 3, 4, 7])
    """

    leaves: int
    branching: int
    rooted: bool = True
    """Without a root the total is that of the nodes below: less noise for prefixes less a share of the total."""

    @property
    def levels(self) -> tuple[int, ...]:
        """How many nodes each level has."""
        sizes = _sizes(self.leaves, self.branching)
        return sizes if self.rooted or self.leaves == 1 else sizes[:-1]

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return sum(self.levels)

    def moves(self, neighbours: Neighbours) -> Moves:
        """How far the nodes move between neighbours; each node that moves moves by one, so L2² = L1."""
        height = len(self.levels)
        apart = height - 1 if self.levels[-1] == 1 else height  # levels on which two records can be in two nodes
        moved = height if neighbours is Neighbours.ADD_REMOVE else max(height, 2 * apart)
        return Moves(l1=moved, l2_squared=moved)

    def nodes(self, counts: Integers) -> Integers:
        """The exact counts of all nodes, level by level; of several trees at once, one in each row."""
        out = np.empty((*counts.shape[:-1], self.size), dtype=np.int64)
        level, start = counts, 0
        for size in self.levels:
            if level.shape[-1] > size:
                level = _grouped(level, self.branching).sum(axis=-1)
            out[..., start : start + size] = level
            start += size
        return out

    def consistent(self, noisy: NDArray[Any]) -> Floats:
        """The leaves of the least-squares fit: the tree of real counts that is nearest to the noisy one; row by row.

        Two passes over the levels (Hay et al. 2010, with weights for trees that are not full): upwards each node is
        joined with the sum of its children, each weighted with the inverse of its variance; downwards what is missing
        in the children's sum is shared among them in proportion to their variances.
        """
        own = self._split(np.asarray(noisy, dtype=np.float64))
        shape = _shape(self.leaves, self.branching, self.rooted)
        joined = [own[0]]
        for values, weight in zip(own[1:], shape.weights, strict=True):
            below = _grouped(joined[-1], self.branching).sum(axis=-1)
            joined.append(below + weight * (values - below))
        final = joined[-1]
        for values, share in zip(joined[-2::-1], shape.shares[::-1], strict=True):
            missing = final - _grouped(values, self.branching).sum(axis=-1)
            spread = _grouped(share, self.branching) * missing[..., None]
            final = values + spread.reshape(*values.shape[:-1], -1)[..., : values.shape[-1]]
        return final

    def prefix_weights(self, less: Fraction = Fraction(0)) -> Floats:
        """An upper bound of Σ w² for every prefix sum of the fitted leaves, as a combination of the nodes' noises.

        ``less``: of every prefix sum less this share of the fitted total.
        """
        shape = _shape(self.leaves, self.branching, self.rooted)
        return np.asarray((shape.rest + (shape.part - float(less)) ** 2 * shape.root) * float(_MARGIN) + _NOTHING)

    def prefix_weight(self, less: Fraction = Fraction(0)) -> Fraction:
        """The largest of them."""
        return Fraction(float(self.prefix_weights(less).max()))

    def leaf_weight(self) -> Fraction:
        """The same for every single fitted leaf."""
        return Fraction(_shape(self.leaves, self.branching, self.rooted).leaf) * _MARGIN

    def _split(self, nodes: NDArray[Any]) -> list[NDArray[Any]]:
        return np.split(nodes, np.cumsum(self.levels)[:-1], axis=-1)


@dataclass(frozen=True, slots=True, eq=False)
class _Shape:
    """What follows from the shape of a tree alone, for noise of variance 1 in each node."""

    weights: tuple[Floats, ...]
    """For each noisy level above the leaves: the weight of a node's own count, its children's sum having the rest."""
    shares: tuple[Floats, ...]
    """For each level below the root: a node's share of what is missing in its parent's children."""
    part: Floats
    """Of the prefix that ends in each leaf: its coefficient on the fitted total."""
    rest: Floats
    """The variance of that prefix that is left when the total is known."""
    root: float
    """The variance of the fitted total."""
    leaf: float
    """The largest variance of a fitted leaf."""


@lru_cache(maxsize=32)
def _shape(leaves: int, branching: int, rooted: bool) -> _Shape:
    variance = np.ones(leaves)
    place = np.arange(leaves)
    # of the prefix (or leaf) that ends in each leaf: its part of the total of the node above it, and the variance that
    # is left when that total is known
    prefix, prefix_rest = np.ones(leaves), np.zeros(leaves)
    leaf, leaf_rest = np.ones(leaves), np.zeros(leaves)
    weights, shares = [], []
    for size in _sizes(leaves, branching)[1:]:
        groups = _grouped(variance, branching)
        total = groups.sum(axis=1)
        earlier = (np.cumsum(groups, axis=1) - groups).reshape(-1)[place]
        here, all_here = variance[place], total[place // branching]
        known_share = earlier + prefix * here
        prefix_rest += earlier + prefix**2 * here - known_share**2 / all_here
        prefix = known_share / all_here
        leaf_rest += leaf**2 * here * (1 - here / all_here)
        leaf = leaf * here / all_here
        place = place // branching
        if size == 1 and not rooted:  # the total has no noise of its own
            variance = total
            break
        shares.append(variance / np.repeat(total, branching)[: len(variance)])
        weights.append(total / (1 + total))
        variance = total / (1 + total)
    root = float(variance[0])
    return _Shape(tuple(weights), tuple(shares), prefix, prefix_rest, root, float((leaf_rest + leaf**2 * root).max()))


def _sizes(leaves: int, branching: int) -> tuple[int, ...]:
    sizes = [leaves]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // branching))
    return tuple(sizes)


def _grouped(level: NDArray[Any], branching: int) -> NDArray[Any]:
    """The level in rows of siblings; the last row is filled up with zeros. Axes before the last are left alone."""
    missing = -level.shape[-1] % branching
    if missing:
        level = np.concatenate([level, np.zeros((*level.shape[:-1], missing), dtype=level.dtype)], axis=-1)
    return level.reshape(*level.shape[:-1], -1, branching)


# --- the mechanism ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy(Estimate[Exact, Released], Noised[Exact, Released]):
    """Made by ``hierarchy(...)``: a noisy tree of counts, fitted by least squares; the answer are its leaves."""

    cells: Cells
    neighbours: Neighbours
    tree: Tree
    noise: Noise

    @property
    def accuracy(self) -> Accuracy:
        """For all leaves at once."""
        return Sums(self.noise, self.tree.leaf_weight(), self.tree.leaves)

    @property
    def prefix_accuracy(self) -> Accuracy:
        """For all prefix sums of the leaves at once; a range is a difference of two of them."""
        return Sums(self.noise, self.tree.prefix_weight(), self.tree.leaves)

    def story(self) -> str:
        """One line on what was done."""
        tree = f"a tree of branching {self.tree.branching} and {len(self.tree.levels)} levels"
        return f"counted {len(self.cells)} public cells in {tree}, {self.noise.story()} on each node"

    def derivation(self) -> str:
        """One line on how the answer is made."""
        return "made all levels agree, by least squares"

    def read(self, value: Any) -> Integers:
        """The exact counts of all nodes."""
        return self.tree.nodes(tally(self.cells.of(value), len(self.cells)))

    def draw(self, value: Exact, bits: Bits) -> Released:
        """The noisy counts of all nodes."""
        return self.noise.draw(value, bits)

    def finish(self, noisy: Released) -> tuple[Floats, Accuracy]:
        """The fitted leaves."""
        return self.tree.consistent(np.asarray(noisy)), self.accuracy


def hierarchy(
    *,
    keys: Iterable[Hashable] | None = None,
    bins: Sequence[Number] | NDArray[Any] | None = None,
    branching: int | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Hierarchy:
    """Counts of public cells whose sums over ranges are accurate too, by a tree of counts.

    Guarantee: ε-differentially private, or ρ-zCDP. Without ``branching``, the one with the least error of prefix sums.

    >>> m = hierarchy(keys=range(1000), epsilon=1)
    >>> m.tree.levels, m.noise.scale, m.release([3, 3, 999, "?"]).value.shape
    ((1000, 84, 7, 1), Fraction(4, 1), (1000,))
    """
    budget, relation = read_budget(epsilon, rho), read_neighbours(neighbours)
    cells = read_cells(keys, bins)
    tree = (
        Tree(len(cells), integer(branching, "branching", at_least=2))
        if branching is not None
        else best_tree(len(cells), budget, relation)
    )
    return Hierarchy(cells, relation, tree, noise_for(budget, tree.moves(relation), tree.size))


def best_tree(leaves: int, budget: Budget, neighbours: Neighbours) -> Tree:
    """The tree whose prefix sums have the least error bar."""

    def error(tree: Tree) -> float:
        return Sums(noise_for(budget, tree.moves(neighbours), tree.size), tree.prefix_weight(), leaves).error_at(
            CONFIDENCE
        )

    return min((Tree(leaves, b) for b in BRANCHINGS if b == 2 or b <= leaves), key=error)
