"""Rows behind whole tables: as many of each kind as the tables say, made from the deepest level up.

Promise: a function of released tables alone. The rows have every count of every table, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.arrays import Integers
from discreet.synthetic.hierarchical.tree import Tree
from discreet.synthetic.hierarchical.whole import WholeTables


def make_rows(
    tree: Tree,
    sizes: Sequence[int],
    order: Sequence[tuple[int, frozenset[int]]],
    tables: WholeTables,
    draw: np.random.Generator,
) -> tuple[Integers, dict[int, Integers]]:
    """The deepest node of each row, and its code in each column. ``order`` is that of ``row_order``.

    Rows that the tables do not tell apart get their further columns in random order.
    """
    deepest = order[0][0]
    totals = tables.marginal(deepest, ())
    place = np.repeat(np.arange(len(totals)), totals)
    codes: dict[int, Integers] = {}
    for level, columns in order:
        drawn = [c for c in sorted(columns) if c in codes]
        new = [c for c in sorted(columns) if c not in codes]
        if not new:
            continue
        table = tables.marginal(level, (*drawn, *new))
        shape = [sizes[c] for c in new]
        cells = np.repeat(np.arange(table.size), table.ravel())  # ordered by node, then known codes, then new ones
        group = tree.above(deepest, level)[place]
        for c in drawn:
            group = group * sizes[c] + codes[c]
        ordered = np.lexsort((draw.random(len(group)), group))
        code = np.empty(len(group), dtype=np.int64)
        code[ordered] = cells % int(np.prod(shape))
        codes |= dict(zip(new, np.unravel_index(code, shape), strict=True))
    return place, codes
