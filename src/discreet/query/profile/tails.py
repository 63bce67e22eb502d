"""Units and values too large to stand out from the noise of a profile: how many, by how the known ones grow rarer.

By the logarithm of their size, the number of units beyond the last class that surely holds some is taken to be e to a
parabola: a power of the size (Pareto), or one that falls ever faster (lognormal and lighter). Each parabola of a grid
is fitted to the upper classes and to all beyond them, whose numbers say at least that few units are there; how well it
fits is how likely it is. A choice looks at all of them, so what the noise hides counts in it.

Promise: a guess from released numbers, for choices. No error bar rests on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.query.profile.classes import STARTS
from discreet.query.profile.histogram import UnitHistogram

SLOPES = -np.geomspace(0.3, 40, 40)
BENDS = -np.concatenate([[0.0], np.geomspace(0.02, 10, 14)])
FITTED = 10
"""Classes before the last known one that are fitted, of those in which the larger half of the units is."""
UNLIKE = 0.1
"""No distribution is a parabola: classes are taken to be off by so much."""
LIKELY = 1e-4


@dataclass(frozen=True, slots=True)
class Tails:
    """Numbers of units in the classes beyond the known ones, in several ways, and how likely each of these is."""

    sizes: Floats
    units: Floats
    """One line for each way, one column for each class."""
    weights: Floats

    def middle(self, values: Floats) -> float:
        """Of something that was found for each way: the weighted median."""
        order = np.argsort(values)
        return float(values[order][np.searchsorted(np.cumsum(self.weights[order]), 0.5)])

    def mean_by_ratio(self, values: Floats) -> float:
        """The same for errors, of which half and twice are equally far: their geometric mean."""
        return float(np.exp(self.weights @ np.log(np.maximum(values, 1e-300))))


def tails(histogram: UnitHistogram, last: int) -> Tails:
    """Of sizes per unit, beyond the class ``last``."""
    starts = np.array(STARTS, dtype=float)
    ends = np.append(starts[1:], 1.5 * starts[-1])
    sizes = np.sqrt(starts * (ends - 1))
    return beyond(histogram.values, sizes, np.log(ends / starts), histogram.variance, last)


def beyond(counts: Floats, sizes: Floats, widths: Floats, noise: float, last: int, *, may_end: bool = False) -> Tails:
    """Of counts with noise of this variance, in classes of these sizes and widths (in logarithms), beyond ``last``.

    ``may_end``: that there is nothing is one of the ways. Values mostly have such an end; sizes of units mostly have
    none, and a cap that believes in one cuts much where it is wrong.
    """
    counted = np.cumsum(np.maximum(counts[last::-1], 0.0))[::-1]
    half = int(np.flatnonzero(counted >= counted[0] / 2)[-1])
    some = slice(max(half, last - FITTED), None)
    here, away = counts[some], np.log(sizes[some] / sizes[last])
    there = np.where(np.arange(len(counts))[some] <= last, np.maximum(here, 0.0), 0.0)
    variance = noise + there + (UNLIKE * there) ** 2
    slope, bend = (axis.reshape(-1, 1) for axis in np.meshgrid(SLOPES, BENDS))
    shape = np.exp(np.clip(slope * away + bend * away**2, -200, 60)) * widths[some]
    many = len(counts) - 1 - last
    inside, outside = slice(None, len(here) - many), slice(len(here) - many, None)
    fits = _fitted(here, shape, variance)
    off, units = ((here - fits) ** 2 / variance).sum(axis=1), fits[:, outside]
    if may_end:
        best = _fitted(here[inside], shape[:, inside], variance[inside])
        least = ((here[inside] - best) ** 2 / variance[inside]).sum(axis=1).min()
        off = np.append(off, least + (here[outside] ** 2 / variance[outside]).sum())
        units = np.vstack([units, np.zeros(many)])
    weights = np.exp((off.min() - off) / 2)
    kept = weights > LIKELY * weights.sum()
    return Tails(sizes[last + 1 :], units[kept], weights[kept] / weights[kept].sum())


def _fitted(counts: Floats, shape: Floats, variance: Floats) -> Floats:
    """Each shape at the level at which it is nearest to the counts."""
    level = np.maximum(shape @ (counts / variance) / (shape**2 @ (1 / variance)), 0.0)
    return np.asarray(level[:, None] * shape)
