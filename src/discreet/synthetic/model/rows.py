"""Rows from a graphical model: column by column, each given its neighbours in the tree, with the least rounding.

Promise: rows follow from the model and fresh randomness alone. Each table of the tree is met to within one row per
cell of a column given the columns before it: the expected counts are rounded by one systematic draw, which is unbiased.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.synthetic.model.graphical import Graphical

Codes = NDArray[np.int64]
_GOLDEN = (5**0.5 - 1) / 2
_CHUNK = 1 << 22  # cells of conditional tables that are in memory at one time


def draw_rows(model: Graphical, count: int, draw: np.random.Generator) -> NDArray[np.int32]:
    """``count`` rows of codes, in random order."""
    tree = model.tree
    rows = np.zeros((count, len(tree.sizes)), dtype=np.int32)
    done: set[int] = set()
    for i, clique in enumerate(tree.cliques):
        given = [c for c in clique if c in tree.separators[i]]
        for column in sorted((c for c in clique if c not in done), key=lambda c: -tree.sizes[c]):
            table = model.beliefs[i]
            dropped = tuple(k for k, c in enumerate(clique) if c not in given and c != column)
            order = [c for c in clique if c in given or c == column]
            joint = table.sum(axis=dropped) if dropped else table
            joint = np.moveaxis(joint, order.index(column), -1).reshape(-1, tree.sizes[column])
            scope = [c for c in order if c != column]
            group = np.zeros(count, dtype=np.int64)
            for c in scope:
                group = group * tree.sizes[c] + rows[:, c]
            rows[:, column] = _given(joint, group, _code(rows, [c for c in done if c not in scope], draw), draw)
            done.add(column)
            given.append(column)
    return rows[draw.permutation(count)]


def _code(rows: NDArray[np.int32], columns: list[int], draw: np.random.Generator) -> NDArray[np.int64]:
    """A place for each row such that rows that are alike in other columns stand together."""
    keys: list[NDArray[Any]] = [rows[:, int(c)] for c in draw.permutation(columns)] if columns else []
    order = np.lexsort([draw.random(len(rows)), *keys])
    place = np.empty(len(rows), dtype=np.int64)
    place[order] = np.arange(len(rows))
    return place


def _given(joint: NDArray[np.float64], group: Codes, place: Codes, draw: np.random.Generator) -> NDArray[np.int64]:
    """A value for each row, given its group: expected counts, rounded so that each group is met."""
    order = np.lexsort((place, group))  # rows of one group together, like rows beside each other
    groups, sizes = np.unique(group, return_counts=True)
    out = np.empty(len(group), dtype=np.int64)
    step = max(1, _CHUNK // joint.shape[1])
    done = 0
    offset = (draw.random() + np.arange(len(groups)) * _GOLDEN) % 1.0  # spread evenly over any run of groups
    for begin in range(0, len(groups), step):
        part, many = groups[begin : begin + step], sizes[begin : begin + step]
        counts = _rounded(joint[part], many, offset[begin : begin + step])
        total = int(many.sum())
        out[order[done : done + total]] = _interleaved(counts, draw)
        done += total
    return out


def _rounded(weights: NDArray[np.float64], many: Codes, offset: NDArray[Any]) -> Codes:
    """Whole counts with row sums ``many``, each within one of its expectation (systematic rounding)."""
    total = weights.sum(axis=1, keepdims=True)
    share = np.divide(weights, total, out=np.full_like(weights, 1 / weights.shape[1]), where=total > 0)
    expected = np.cumsum(share, axis=1)
    expected[:, -1] = 1.0  # so that each group ends on a whole number
    upto = np.floor(expected * many[:, None] + offset[:, None]).astype(np.int64)
    upto[:, -1] = many
    return np.asarray(np.diff(np.minimum(upto, many[:, None]), axis=1, prepend=0), dtype=np.int64)


def _interleaved(counts: Codes, draw: np.random.Generator) -> Codes:
    """The values of each group, every one spread evenly over the rows of its group."""
    flat = counts.ravel()
    cell = np.repeat(np.arange(len(flat)), flat)
    starts = np.cumsum(flat) - flat
    rank = np.arange(len(cell)) - starts[cell]
    where = (rank + draw.random(len(flat))[cell]) / flat[cell]
    values = cell % counts.shape[1]
    spread: Codes = values[np.lexsort((where, cell // counts.shape[1]))]
    return spread
