"""A picture of a tree of places: one band for each level, each place as wide as its count, as dark as it is uncertain.

Promise: drawn from published numbers alone, so it is free.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.picture import coloured_boxes, new_figure
from discreet.synthetic.hierarchical.tree import Tree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PLACES = 5_000
"""Of one level that is drawn: finer ones would be lines without a width."""
_LEAST, _MOST = 0.003, 1.0
"""Relative errors at the ends of the colours."""


def tree_picture(tree: Tree, names: Sequence[str], counts: Sequence[Integers], errors: Sequence[Floats]) -> Figure:
    """Bands from the root down; the colour is the error as a share of the count, on a logarithmic scale.

    Levels are whole counts that add up, so each place stands below the one that it lies in.
    """
    shown = [level for level, size in enumerate(tree.sizes) if size <= MOST_PLACES]
    figure = new_figure(7, 0.55 * len(shown) + 1.2)
    axes = figure.subplots()
    for place, level in enumerate(shown):
        ends = np.cumsum(counts[level])
        starts = ends - counts[level]
        relative = np.divide(
            errors[level], counts[level], out=np.full(len(ends), _MOST), where=np.asarray(counts[level]) > 0
        )
        boxes = [
            [(a, -place), (b, -place), (b, -place - 0.92), (a, -place - 0.92)]
            for a, b in zip(starts, ends, strict=True)
        ]
        scale = coloured_boxes(axes, boxes, relative, _LEAST, _MOST)
    axes.set_xlim(0, max(int(counts[0].sum()), 1))
    axes.set_ylim(-len(shown), 0)
    axes.set_yticks([-place - 0.46 for place in range(len(shown))], [names[level] or "total" for level in shown])
    axes.set_xlabel("count")
    bar = figure.colorbar(scale, ax=axes)
    bar.set_label("95% error, as a share of the count")
    return figure
