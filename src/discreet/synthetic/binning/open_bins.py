"""Bins that nobody declared: between public bounds, first of equal width, then chosen from released counts.

Guarantee: the grid follows from the bounds alone. What is chosen follows from noisy counts over that grid, which were
paid for; so does how values are drawn inside a bin. Proof: spending.md, Claim 5.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, log10, sqrt
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.synthetic.binning.standing_out import levels
from discreet.synthetic.columns import Bins, Codes, bins

EQUAL = 32
"""Bins of equal width for numbers between bounds; and the most that are chosen."""
_MANTISSAS = tuple(map(Fraction, ("1", "5/4", "3/2", "2", "5/2", "3", "4", "5", "6", "8")))
_ROUND = (1, 2, 5)
_CELLS = 50
"""At least so many cells of equal width between the bounds."""
_NARROW = 4
"""Below so many of these widths, cells shrink with the value."""
_FINEST = 10**12
"""The narrowest cell at 0 is this part of the range, or 1 for whole numbers."""
_CLEAR = 4.0  # standard deviations that a chosen bin has at least, on average


@dataclass(frozen=True, eq=False)
class OpenBins(Bins):
    """Bins of equal width whose edges nobody declared: ``synthesize`` chooses others, from a grid that is finer.

    >>> [int(edge) for edge in equal_bins(Fraction(0), Fraction(100_000), integral=True).grid.edges[:14]]
    [0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 15, 20, 25, 30]
    """

    step: Fraction | None = None
    """Values are multiples of it, such as hundredths."""

    @property
    def grid(self) -> Bins:
        """Round edges: of equal width far from 0, and closer to each other towards it, as skewed values need them."""
        return Bins(tuple(_grid(self.edges[0], self.edges[-1], self.integral)), self.nullable, self.integral)


@dataclass(frozen=True, eq=False)
class ChosenBins(Bins):
    """Bins chosen from released counts; values are drawn as those counts are spread over the cells of a bin."""

    cells: tuple[Fraction, ...] = ()
    spread: Floats = field(default_factory=lambda: np.zeros(0))
    """What each cell counts; 0 where nothing stands out."""
    step: Fraction | None = None
    """Values are multiples of it."""

    def _decode(self, codes: Codes, draw: np.random.Generator) -> Any:
        inner = Bins(self.cells, self.nullable, self.integral)
        place = {edge: i for i, edge in enumerate(self.cells)}
        ends = np.array([place[edge] for edge in self.edges])
        upto = np.concatenate([[0.0], np.cumsum(self.spread)])
        low, high = upto[ends[codes]], upto[ends[codes + 1]]
        cell = np.searchsorted(upto, low + draw.random(len(codes)) * (high - low), side="right") - 1
        cell = np.clip(cell, ends[codes], ends[codes + 1] - 1)
        values = inner._decode(cell, draw)
        at_zero = np.array([edge == 0 and (end - edge) * _FINEST <= self.cells[-1] - self.cells[0]
                            for edge, end in pairwise(self.cells)])  # fmt: skip
        values = np.where(at_zero[cell], np.zeros(1, dtype=values.dtype), values)
        return values if self.step is None or self.integral else self._on_step(values, cell)

    def _on_step(self, values: Floats, cell: Codes) -> Floats:
        """The multiple of the step below each value, within its cell if it has one."""
        step = self.step or Fraction(1)
        first = np.array([float(ceil(edge / step)) for edge in self.cells])
        multiples = np.minimum(np.floor(values / float(step)), first[cell + 1] - 1)
        return np.asarray(np.maximum(multiples, first[cell]) * step.numerator / step.denominator)


def equal_bins(
    low: Fraction, high: Fraction, *, nullable: bool = True, integral: bool = False, step: Fraction | None = None
) -> OpenBins:
    """Bins of equal width between bounds, with whole edges for whole numbers; values may be multiples of a step."""
    edges = [low + (high - low) * Fraction(i, EQUAL) for i in range(EQUAL + 1)]
    made = bins([floor(e) for e in edges] if integral else edges, nullable=nullable, integral=integral)
    return OpenBins(made.edges, made.nullable, made.integral, step)


def chosen(grid: Bins, noisy: Floats, variance: float) -> tuple[ChosenBins, Floats, float]:
    """Bins chosen from noisy counts over a grid; the counts of these bins, NULL's last; and the variance of one.

    A bin holds about as many rows as others and stands out from noise; where nothing does, no bin has its own edges.
    """
    counts, null = noisy[: grid.values], noisy[grid.values :]
    widths = np.array([float(high - low) for low, high in pairwise(grid.edges)])
    spread = levels(counts, variance, widths)
    if not spread.any():  # nothing is known: all values are alike
        column = ChosenBins((grid.edges[0], grid.edges[-1]), grid.nullable, grid.integral, grid.edges, widths)
        return column, np.append(counts.sum(), null), variance * grid.values
    most = max(1, min(EQUAL, int(spread.sum() / (_CLEAR * sqrt(variance)))) if variance else EQUAL)
    starts = _starts(spread, most)
    edges = (grid.edges[0], *(grid.edges[i] for i in starts[1:]), grid.edges[-1])
    column = ChosenBins(edges, grid.nullable, grid.integral, grid.edges, spread)
    kept = spread > 0
    sums = np.add.reduceat(np.where(kept, counts, 0.0), starts)
    cells = float(np.add.reduceat(kept.astype(float), starts).sum() + len(null)) / (len(sums) + len(null))
    return column, np.append(sums, null), variance * cells


def _starts(spread: Floats, most: int) -> list[int]:
    """The cells with which bins begin: none is empty, and each has an equal share of what is left, about."""
    starts, held, left = [0], 0.0, float(spread.sum())
    for cell, counted in enumerate(spread):
        room = most - len(starts)
        share = (left + held) / (room + 1)
        if held and counted and room and (held + counted / 2 > share or counted > 2 * share):
            starts.append(cell)
            held = 0.0
        held += counted
        left -= counted
    return starts


# --- the grid ---------------------------------------------------------------------------------------------------------


def _grid(low: Fraction, high: Fraction, integral: bool) -> list[Fraction]:
    """Edges between two bounds, both included; floats can tell them apart."""
    width = _round_width((high - low) / _CELLS)
    if integral:
        width = max(Fraction(1), width)
    near = _NARROW * width
    inner = [*_equal(low, high, width, near), *_shrinking(low, high, near, integral), Fraction(0)]
    if integral:
        inner = [Fraction(ceil(edge)) for edge in inner]
    edges, last = [low], float(high)
    for edge in sorted(set(inner)):
        if low < edge < high and float(edges[-1]) < float(edge) < last:
            edges.append(edge)
    return [*edges, high]


def _round_width(about: Fraction) -> Fraction:
    """The largest of 1, 2 and 5 times a power of ten that is not above a number."""
    power = Fraction(10) ** floor(log10(about)) if about >= Fraction(1, 10**300) else about
    steps = sorted(digit * power * scale for digit in _ROUND for scale in (Fraction(1, 10), 1, 10))
    return steps[max(0, bisect_right(steps, about) - 1)]


def _equal(low: Fraction, high: Fraction, width: Fraction, near: Fraction) -> Iterator[Fraction]:
    first, last = ceil(low / width), floor(high / width)
    return (i * width for i in range(first, last + 1) if abs(i * width) >= near)


def _shrinking(low: Fraction, high: Fraction, near: Fraction, integral: bool) -> Iterator[Fraction]:
    """Round numbers of both signs below ``near``, ten for each power of ten."""
    if low >= near or high <= -near:
        return
    least = Fraction(1) if integral else (high - low) / _FINEST
    power = Fraction(10) ** floor(log10(least))
    while power < near:
        yield from (
            sign * digit * power for digit in _MANTISSAS for sign in (1, -1) if least <= digit * power < near
        )  # fmt: skip
        power *= 10
