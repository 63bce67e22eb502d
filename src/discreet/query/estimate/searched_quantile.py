"""Quantiles from noisy counts of a few cells around them. Everything here happens after the noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.query.estimate.estimators import Estimate, Estimates, Recipe, first_at_least, passing, reaches
from discreet.query.estimate.quantile_search import INNER, edges, most_cells
from discreet.query.estimate.statistics import QuantileCells, Statistic

_PLACES = (-0.4, -0.2, 0.0, 0.2, 0.4)
"""Where in a cell a quantile may lie, from its middle."""


def packed(counts: Floats, borders: Floats, cells: QuantileCells) -> Floats:
    """One group: the noisy counts of its cells, and between which bins they lie; cells that it has not are empty."""
    missing = most_cells(len(cells.levels)) - len(counts)
    return np.concatenate([counts, np.zeros(missing), borders, np.full(missing, borders[-1])])


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of one group."""

    counts: Floats
    borders: Floats

    @property
    def below(self) -> Floats:
        """The noisy number of rows up to the end of each cell."""
        return np.cumsum(self.counts)


def _unpacked(values: Floats) -> Iterator[Cells]:
    most = values.shape[1] // 2
    for row in values:
        borders = np.unique(row[most:])
        yield Cells(row[: len(borders) - 1], borders)


@dataclass(frozen=True, slots=True)
class SearchedQuantile(Recipe):
    """The value below which a share of the rows lies."""

    cells: QuantileCells
    level: Fraction
    """One of those of the cells."""

    @property
    def needs(self) -> dict[Statistic, float]:
        """The cells."""
        return {self.cells: 1.0}

    @property
    def depends_on_values(self) -> bool:
        """Where there are few values, the next one may be far."""
        return True

    def value(self, noisy: Estimates) -> Floats:
        """Where the noisy distribution function passes the level, within a stretch and what is beside it.

        A higher level passes no earlier (``passing``), so that quantiles of the same cells are in order.
        """
        return np.array([self._value(cells) for cells in _unpacked(noisy[self.cells].values)])

    def _value(self, cells: Cells) -> float:
        below, borders = cells.below, cells.borders
        wanted = max(float(below[-1]), 0.0) * float(self.level)
        place = passing(below, wanted)
        before = below[place - 1] if place else 0.0
        inside = below[place] - before
        share = min(max((wanted - before) / inside, 0.0), 1.0) if inside > 0 else 0.5
        if place == 0 and borders[1] - borders[0] > borders[2] - borders[1]:  # beyond: as near as can be
            share = 1.0
        elif place == len(below) - 1 and borders[-1] - borders[-2] > borders[-2] - borders[-3]:
            share = 0.0
        return self._at(float(borders[place] + share * (borders[place + 1] - borders[place])))

    def _at(self, place: float) -> float:
        """So many bins from the lower end; a bin of whole numbers is one of them."""
        bins = self.cells.bins
        place = min(int(place), bins.bins - 1) if bins.whole else place
        most = float("inf") if bins.high is None else float(bins.high)
        return min(float(bins.low) + place * float(bins.width), most)

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """From the first cell that may hold the quantile to the last, as for a tree over all bins: the cells are known
        before their noise is drawn, so that each is a fixed place.
        """
        estimate = noisy[self.cells]
        noised, level = estimate.noised, self.level
        assert noised is not None  # noqa: S101
        ends_of_groups = []
        for cells in _unpacked(estimate.values):
            below, many = cells.below, len(cells.counts)
            error, target = noised.cell_errors(many, level, miss), below[-1] * float(level)
            first = first_at_least(below + error, target)
            last = max(many - first_at_least((error - below)[::-1], -target), first)
            if below[-1] + estimate.error(miss) < 0:  # surely fewer rows than none: it says nothing
                first, last = 0, many - 1
            low, high = cells.borders[first], cells.borders[min(last, many - 1) + 1]
            ends_of_groups.append(
                (self._at(float(low)), self._at(float(high) - (1.0 if self.cells.bins.whole else 0.0)))
            )
        low_ends, high_ends = np.array(ends_of_groups).reshape(-1, 2).T
        value = self.value(noisy)
        return np.minimum(low_ends, value), np.maximum(high_ends, value)

    def may_be_null(self, noisy: Estimates, ends: tuple[Floats, Floats], miss: float) -> NDArray[np.bool_]:
        """Without rows it may be in each cell, so in the first."""
        bins = self.cells.bins
        return reaches(-ends[0], -float(bins.low), float(bins.width * bins.bins))

    def error_if(self, noise: Callable[[Statistic, Floats], Estimate], rows: float, miss: float) -> float:
        """The expected error bar in a group of so many rows, spread evenly over their bounds.

        Bars are made of whole cells, so it is the mean over places that the quantile may have in its own.
        """
        noised = noise(self.cells, np.zeros((0, 0))).noised
        assert noised is not None  # noqa: S101
        last, errors = self.cells.bins.bins - 1, []
        for place in _PLACES:
            stretches = []
            for search in noised.searches:
                away = float(search.shift / search.level.denominator * noised.unit) / max(rows, 1e-9)
                middle = float(search.level) + 2 * away / INNER * place
                first, second = ((middle + side * away) * (last + 1) for side in (-1, 1))
                stretches.append((min(max(int(first), 0), last), min(max(int(second), 0), last)))
            here: Estimates = {self.cells: noise(self.cells, self._even(stretches, rows))}
            (low,), (high,) = self.ends(here, miss)
            (value,) = self.value(here)
            errors.append(max(high - value, value - low))
        return float(np.mean(errors))

    def _typical(self, statistic: Statistic, rows: float) -> Floats:
        return self._even([(0, self.cells.bins.bins - 1)], rows)

    def _even(self, stretches: list[tuple[int, int]], rows: float) -> Floats:
        """Cells of so many rows that are spread evenly."""
        many = self.cells.bins.bins
        borders = edges(stretches, many).astype(np.float64)
        return packed(np.diff(borders) * rows / many, borders, self.cells)[None, :]
