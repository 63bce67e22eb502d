"""Whole numbers that add up: controlled rounding from the root down, one two-way split of numbers at a time.

Guarantee: a deterministic function of noisy numbers. All results are whole, none is negative, the children of a node
add up to it in every table, and tables of one node agree. Each split takes the nearest such real numbers to its
targets, given what was fixed before, and rounds each of them to one of its two whole neighbours.
Proof: hierarchical.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.synthetic.hierarchical.cliques import in_order
from discreet.synthetic.hierarchical.tree import Tree

Clique = tuple[int, ...]
Masks = Mapping[Clique, NDArray[np.bool_]]
"""Of sets of columns, which cells can be above 0."""
Estimate = Callable[[int, Clique], Floats]
"""Of a level and ascending columns: the estimates of all nodes, in the shape of the columns."""
_STEPS = 200
_FITTING = 20
_CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class WholeTables:
    """The whole tables of each level, by sets of columns."""

    levels: tuple[Mapping[Clique, Integers], ...]

    def marginal(self, level: int, columns: Sequence[int]) -> Integers:
        """The table of some columns of one of the sets, its axes in their order after that of the nodes."""
        table: Integers = _marginal(self.levels[level], columns)
        return table


def make_whole(
    tree: Tree,
    sizes: Sequence[int],
    sets: Sequence[Sequence[frozenset[int]]],
    estimate: Estimate,
    *,
    variances: Sequence[Floats] | None = None,
    possible: Masks | None = None,
    near: WholeTables | None = None,
    fixed: Sequence[tuple[Clique, Integers] | None] = (),
) -> WholeTables:
    """Whole tables of every level: ``sets`` of columns in an order without cycles, each level's among those above.

    ``variances`` of the nodes' totals say which of them yield more; ``possible`` are the cells that can be above 0.
    A set that has columns of several tables ``near`` is made near all of those, rather than near its own estimates.
    ``fixed`` has for each of the first levels a table that is public, by columns of one of its sets, or None.

    >>> tree = Tree((np.array([0, 0]),))
    >>> found = make_whole(
    ...     tree, (), [[frozenset()]] * 2, lambda level, _: [np.array([7.4]), np.array([8.2, -2.3])][level]
    ... )
    >>> found.marginal(0, ()).tolist(), found.marginal(1, ()).tolist()
    ([7], [7, 0])
    """
    made: list[Mapping[Clique, Integers]] = []
    masks = agreeing_masks(sizes, sets[0], possible or {})
    for level, wanted in enumerate(sets):
        above = made[level - 1] if level else None
        weight = np.ones(tree.sizes[level]) if variances is None else variances[level]
        given = fixed[level] if level < len(fixed) else None
        tables: dict[Clique, Integers] = (
            {(): _nodes(tree, level, estimate(level, ()), above, weight)} if given is None else dict([given])
        )
        first = () if given is None else given[0]
        uses = [sum(c in members for later in sets[level:] for members in later) for c in range(len(sizes))]
        order = in_order(sorted(wanted, key=lambda members: not members.issuperset(first))) or ()
        for place, (columns, shared) in enumerate(order):
            prefix = tuple(sorted(shared)) if place else first
            table = _marginal(tables, prefix)
            fitted = (
                None
                if near is None
                else _fitted(tree, level, sizes, columns=columns, near=near.levels[level], above=above)
            )
            for column in sorted(columns.difference(prefix), key=lambda c: (-uses[c], c)):
                wider = tuple(sorted((*prefix, column)))
                target = _moved(estimate(level, wider) if fitted is None else _marginal(fitted, wider), prefix, column)
                total = None if above is None else _marginal(above, (*prefix, column))
                mask = None if level else projected(masks, (*prefix, column))
                table = _split(tree, level, table, target=target, total=total, possible=mask)
                prefix = (*prefix, column)
            ascending = tuple(sorted(prefix))
            tables[ascending] = np.ascontiguousarray(table.transpose(0, *(1 + prefix.index(c) for c in ascending)))
        made.append({members: tables[members] for members in (tuple(sorted(columns)) for columns in wanted)})
    return WholeTables(tuple(made))


def _fitted(
    tree: Tree,
    level: int,
    sizes: Sequence[int],
    *,
    columns: frozenset[int],
    near: Mapping[Clique, Integers],
    above: Mapping[Clique, Integers] | None,
) -> Mapping[Clique, Floats] | None:
    """A table that is near what its node's share of the table above is, and has the sums of the tables near it.

    By iterative proportional fitting, a fixed number of rounds. None if one of the tables has all its columns.
    """
    clique = tuple(sorted(columns))
    margins = {tuple(c for c in near_columns if c in columns) for near_columns in near}
    if clique in margins:
        return None
    shape = tuple(sizes[c] for c in clique)
    if above is None:
        fitted = np.ones((tree.sizes[level], *shape))
    else:
        fitted = _marginal(above, clique)[tree.parents[level - 1]].astype(np.float64)
    for _ in range(_FITTING):
        for margin in sorted(margins):
            others = tuple(1 + i for i, c in enumerate(clique) if c not in margin)
            sums = fitted.sum(axis=others, keepdims=True)
            wanted = _marginal(near, margin).reshape(sums.shape)
            fitted *= np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
    return {clique: fitted}


def _nodes(tree: Tree, level: int, target: Floats, above: Mapping[Clique, Integers] | None, weight: Floats) -> Integers:
    """The totals of the nodes of a level."""
    if above is None:
        return np.maximum(np.rint(target), 0).astype(np.int64)
    total = _marginal(above, ())
    upper = total[tree.parents[level - 1]]
    none = np.zeros_like(upper)[:, None]
    return apportion(Apportionment(tree, level, target[:, None], none, upper[:, None], total[:, None], weight))[:, 0]


def _split(
    tree: Tree,
    level: int,
    table: Integers,
    *,
    target: Floats,
    total: Integers | None,
    possible: NDArray[np.bool_] | None,
) -> Integers:
    """A table with one more axis, whose sums along it are those of the table: its values are halved, and halved again.

    ``total`` is the same of the level above, which children must add up to.
    """
    nodes, values = len(table), target.shape[-1]
    flat, cells = table.reshape(nodes, -1), prod(table.shape[1:])
    goals = np.concatenate(
        [np.zeros((nodes, cells, 1)), np.cumsum(target.reshape(nodes, cells, values), axis=2)], axis=2
    )
    sums = None
    if total is not None:
        above = total.reshape(len(total), cells, values)
        sums = np.concatenate([np.zeros_like(above[:, :, :1]), np.cumsum(above, axis=2)], axis=2)
    allowed = None if possible is None else possible.reshape(cells, values)
    halves = np.empty((nodes, cells, values), dtype=np.int64)
    waiting: list[tuple[int, int, Integers]] = [(0, values, flat)]
    while waiting:
        low, high, whole = waiting.pop()
        if high - low == 1:
            halves[:, :, low] = whole
            continue
        middle = (low + high) // 2
        excess = whole - (goals[:, :, high] - goals[:, :, low])
        goal = goals[:, :, middle] - goals[:, :, low] + excess * ((middle - low) / (high - low))
        least, most = np.zeros_like(whole), whole
        if allowed is not None:
            most = np.where(allowed[:, low:middle].any(axis=1), whole, 0)
            least = np.where(allowed[:, middle:high].any(axis=1), least, whole)
        if sums is None:
            left = np.clip(np.rint(goal), least, most).astype(np.int64)
        else:
            whole_sums = sums[:, :, middle] - sums[:, :, low]
            left = apportion(Apportionment(tree, level, goal, least, most, whole_sums))
        waiting += [(low, middle, left), (middle, high, whole - left)]
    return halves.reshape(*table.shape, values)


@dataclass(frozen=True, eq=False)
class Apportionment:
    """Numbers between bounds, near to targets, whose sums over the children of each parent are given.

    The axes are nodes of one level and cells; ``weight`` says how far each node gives way.
    """

    tree: Tree
    level: int
    target: Floats
    lower: Integers
    upper: Integers
    total: Integers
    weight: Floats | None = None

    @property
    def parent(self) -> Integers:
        """Of each node, the one above."""
        return self.tree.parents[self.level - 1]

    def sums(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Over the children of each parent."""
        return self.tree.sums(self.level - 1, numbers)


def apportion(task: Apportionment) -> Integers:
    """Whole numbers: the nearest real ones to the targets, each rounded up or down.

    >>> tree = Tree((np.array([0, 0, 0]),))
    >>> zero, five = np.zeros((3, 1), dtype=np.int64), np.full((3, 1), 5)
    >>> apportion(
    ...     Apportionment(tree, 1, np.array([[2.6], [2.6], [-3.0]]), zero, five, np.array([[5]]))
    ... ).ravel().tolist()
    [3, 2, 0]
    """
    real = nearest(task)
    rounded = np.clip(np.floor(real).astype(np.int64), task.lower, task.upper)
    rest = real - rounded
    cells = task.target.shape[1]
    group = (task.parent[:, None] * cells + np.arange(cells)).ravel()
    while True:
        missing = (task.total - task.sums(rounded))[task.parent]
        if not missing.any():
            return rounded
        short = missing > 0  # one more each, the largest remainders first; or one less, by a float's error
        free = np.where(short, rounded < task.upper, (rounded > task.lower) & (missing < 0))
        key = np.where(free, np.where(short, -rest, rest), np.inf).ravel()
        order = np.lexsort((key, group))
        first = np.searchsorted(group[order], group[order])
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - first
        taken = (rank.reshape(missing.shape) < np.abs(missing)) & free
        rounded += np.where(taken, np.sign(missing), 0)
        rest = np.where(taken, -rest, rest)


def nearest(task: Apportionment) -> Floats:
    """The nearest real numbers: each target moved by one number for its family, and clipped.

    The sum of clipped targets grows with that number; it is found by Newton's steps, halving where they leave the
    bracket.
    """
    target, lower, upper, total, parent = task.target, task.lower, task.upper, task.total, task.parent
    weight = np.ones((len(parent), 1)) if task.weight is None else task.weight[:, None]
    starts = task.tree.starts[task.level - 1]
    low = np.minimum.reduceat((lower - target) / weight, starts, axis=0)
    high = np.maximum.reduceat((upper - target) / weight, starts, axis=0)
    shift = np.clip((total - task.sums(target)) / task.sums(weight), low, high)
    close = _CLOSE * (1 + total)
    for step in range(_STEPS):
        moved = target + weight * shift[parent]
        real = np.clip(moved, lower, upper)
        gap = total - task.sums(real)
        if (np.abs(gap) <= close).all():
            break
        low, high = np.where(gap > 0, shift, low), np.where(gap < 0, shift, high)
        free = task.sums(np.where((moved > lower) & (moved < upper), weight, 0.0))
        newton = shift + gap / np.where(free > 0, free, np.inf)
        inside = (free > 0) & (newton > low) & (newton < high) & (step % 4 < 3)
        shift = np.where(np.abs(gap) <= close, shift, np.where(inside, newton, (low + high) / 2))
    return np.asarray(real, dtype=np.float64)


def _marginal(tables: Mapping[Clique, Any], columns: Sequence[int]) -> Any:
    """The table of some columns from the smallest set that has them, its axes in the order that is given."""
    whole = min(
        (columns_of for columns_of in tables if set(columns) <= set(columns_of)),
        key=lambda columns_of: (tables[columns_of].size, columns_of),
    )
    kept = [c for c in whole if c in columns]
    table = tables[whole].sum(axis=tuple(1 + i for i, c in enumerate(whole) if c not in columns))
    return table.transpose(0, *(1 + kept.index(c) for c in columns))


def _moved(table: Floats, prefix: Sequence[int], last: int) -> Floats:
    """The same with its axes in this order, ascending before."""
    ascending = sorted((*prefix, last))
    return table.transpose(0, *(1 + ascending.index(c) for c in (*prefix, last)))


def agreeing_masks(
    sizes: Sequence[int], sets: Sequence[frozenset[int]], possible: Masks
) -> dict[Clique, NDArray[np.bool_]]:
    """Of each set of columns the cells that some row can lie in, given all the masks; each lies in one of the sets.

    Below the root nothing is needed: what is 0 there is 0 in all its parts.
    """
    if not possible:
        return {}
    masks = {}
    for members in sets:
        columns = tuple(sorted(members))
        mask = np.ones([sizes[c] for c in columns], dtype=bool)
        for clique, given in possible.items():
            if members.issuperset(clique):
                mask &= given.reshape([sizes[c] if c in clique else 1 for c in columns])
        masks[columns] = mask
    changed = True
    while changed:
        changed = False
        for (a, mask), (b, other) in product(tuple(masks.items()), repeat=2):
            shared = [c for c in a if c in b]
            seen = other.any(axis=tuple(i for i, c in enumerate(b) if c not in shared))
            narrower = masks[a] & seen.reshape([sizes[c] if c in shared else 1 for c in a])
            changed |= bool((narrower != mask).any())
            masks[a] = narrower
    return masks


def projected(masks: Masks, columns: Sequence[int]) -> NDArray[np.bool_] | None:
    """The cells of some columns that can be above 0, their axes in this order; None if all can."""
    if not masks:
        return None
    whole = min(
        (columns_of for columns_of in masks if set(columns) <= set(columns_of)),
        key=lambda columns_of: (masks[columns_of].size, columns_of),
    )
    kept = [c for c in whole if c in columns]
    some = masks[whole].any(axis=tuple(i for i, c in enumerate(whole) if c not in columns))
    return np.asarray(np.transpose(some, [kept.index(c) for c in columns]))
