"""A quantile from noisy counts of a few cells around it. Everything here happens after the noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from discreet.query.estimate.estimators import Estimate, Estimates, Floats, Recipe, first_at_least, passing
from discreet.query.estimate.quantile_search import CELLS, edges
from discreet.query.estimate.statistics import QuantileCells, Statistic


def packed(counts: Floats, borders: Floats) -> Floats:
    """One group: the noisy counts of its cells, and between which bins they lie; cells that it has not are empty."""
    missing = CELLS - len(counts)
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
    for row in values:
        borders = np.unique(row[CELLS:])
        yield Cells(row[: len(borders) - 1], borders)


@dataclass(frozen=True, slots=True)
class SearchedQuantile(Recipe):
    """The value below which a share of the rows lies."""

    cells: QuantileCells

    @property
    def needs(self) -> dict[Statistic, float]:
        """The cells."""
        return {self.cells: 1.0}

    @property
    def depends_on_values(self) -> bool:
        """Where there are few values, the next one may be far."""
        return True

    def value(self, noisy: Estimates) -> Floats:
        """Where the noisy distribution function passes the level, within the stretch and what is beside it."""
        return np.array([self._value(cells) for cells in _unpacked(noisy[self.cells].values)])

    def _value(self, cells: Cells) -> float:
        below, borders = cells.below, cells.borders
        wanted = max(float(below[-1]), 0.0) * float(self.cells.level)
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
        noised, level = estimate.noised, self.cells.level
        assert noised is not None  # noqa: S101
        found = []
        for cells in _unpacked(estimate.values):
            below, many = cells.below, len(cells.counts)
            error, target = noised.cell_errors(many, level, miss), below[-1] * float(level)
            first = first_at_least(below + error, target)
            last = max(many - first_at_least((error - below)[::-1], -target), first)
            if below[-1] + estimate.error(miss) < 0:  # surely fewer rows than none: it says nothing
                first, last = 0, many - 1
            low, high = cells.borders[first], cells.borders[min(last, many - 1) + 1]
            found.append((self._at(float(low)), self._at(float(high) - (1.0 if self.cells.bins.whole else 0.0))))
        low_ends, high_ends = np.array(found).reshape(-1, 2).T
        value = self.value(noisy)
        return np.minimum(low_ends, value), np.maximum(high_ends, value)

    def error_if(self, noise: Callable[[Statistic, Floats], Estimate], rows: float, miss: float) -> float:
        """The expected error bar in a group of so many rows, spread evenly over their bounds."""
        noised = noise(self.cells, np.zeros((0, 0))).noised
        assert noised is not None  # noqa: S101
        assert noised.search is not None  # noqa: S101
        bins, level = self.cells.bins.bins, self.cells.level
        away = float(noised.search.shift / level.denominator * noised.unit) / max(rows, 1e-9)
        first, last = (min(max(int((float(level) + side * away) * bins), 0), bins - 1) for side in (-1, 1))
        borders = edges(first, last, bins).astype(np.float64)
        one: Estimates = {self.cells: noise(self.cells, packed(np.diff(borders) * rows / bins, borders)[None, :])}
        low, high = self.ends(one, miss)
        middle = self.value(one)
        return float(np.max(np.maximum(high - middle, middle - low)))

    def _typical(self, statistic: Statistic, rows: float) -> Floats:
        borders = edges(0, self.cells.bins.bins - 1, self.cells.bins.bins).astype(np.float64)
        return packed(np.diff(borders) * rows / self.cells.bins.bins, borders)[None, :]
