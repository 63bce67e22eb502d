"""Weighted least squares over a tree, in linear time: one pass up, one pass down, each level in one numpy step.

Guarantee: a function of noisy numbers alone. It is the exact weighted least-squares solution for independent
measurements of the nodes in which each node is the sum of its children (Hay et al. 2010; Cumings-Menon 2024), so it
is unbiased, its parts add up, and no other unbiased linear answer has a smaller variance. Proof: hierarchical.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from discreet.arrays import Floats
from discreet.synthetic.hierarchical.tree import Tree


@dataclass(frozen=True, eq=False)
class Solved:
    """The numbers of each level, and the variance of each node's numbers."""

    values: tuple[Floats, ...]
    variances: tuple[Floats, ...]


def solve(tree: Tree, measured: Sequence[Floats | None], variances: Sequence[float]) -> Solved:
    """The solution, from the root to the deepest level that was measured.

    ``measured`` has for each level an array whose first axis is its nodes, or None where nothing was measured; the
    others may be anything, and all have this variance: 0 where the numbers are known, and add up. The last level must
    be measured or known.

    >>> tree = Tree((np.array([0, 0]),))
    >>> found = solve(tree, [np.array([[10.0]]), np.array([[3.0], [4.0]])], [1.0, 1.0])
    >>> found.values[1].ravel().round(3).tolist(), found.values[0].ravel().round(3).tolist()
    ([4.0, 5.0], [9.0])
    """
    up: list[Floats] = []
    spread: list[Floats] = []
    for level in reversed(range(len(measured))):
        own, variance = measured[level], float(variances[level])
        if level == len(measured) - 1:
            assert own is not None  # noqa: S101 - the deepest level is measured
            up.append(own)
            spread.append(np.full(tree.sizes[level], variance))
            continue
        below, below_variance = tree.sums(level, up[-1]), tree.sums(level, spread[-1])
        if own is None or variance == inf:
            up.append(below)
            spread.append(below_variance)
            continue
        share = _ratio(below_variance, variance + below_variance)
        up.append(below + _along(share, below) * (own - below))
        spread.append(share * variance)
    up.reverse()
    spread.reverse()
    values, variances_down = [up[0]], [spread[0]]
    for level in range(1, len(measured)):
        parent = tree.parents[level - 1]
        total = tree.sums(level - 1, spread[level])
        share = _ratio(spread[level], total[parent])
        gap = values[-1] - tree.sums(level - 1, up[level])
        values.append(up[level] + _along(share, up[level]) * gap[parent])
        variances_down.append(spread[level] * (1 - share) + share**2 * variances_down[-1][parent])
    return Solved(tuple(values), tuple(variances_down))


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Which part it is; 0 of what has no variance at all, where nothing is left to share out."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _along(share: Floats, like: Floats) -> Floats:
    return share.reshape(-1, *(1,) * (like.ndim - 1))
