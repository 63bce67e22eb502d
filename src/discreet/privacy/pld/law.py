"""A loss put onto a grid from above: the pessimistic side.

Promise: ``raised(pair, ...)`` lies above the pair's loss in the order of pld.md: for every function φ that is convex
and falling in w = e^{-loss}, its integral over the law, with all losses raised by ``slip``, is at least that over the
pair.
Believes: beliefs.py and the masses of the pair.

How: mass in a cell goes to the two ends of the cell, so that its mass under P and under Q are kept. That is the chord
above the hockey-stick curve ("connect the dots", Doroshenko et al. 2022).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.pld.beliefs import ELEMENTARY, PLACE, ROUND, TINY, Array
from discreet.privacy.pld.pair import Atoms, Pair


@dataclass(frozen=True, slots=True)
class Grid:
    """The losses origin + step·i for first <= i < first + count."""

    step: float
    origin: float
    first: int
    count: int

    @classmethod
    def cover(cls, step: float, origin: float, low: float, high: float) -> Grid:
        """The least grid that reaches from low to high."""
        near = PLACE * (1.0 + abs(low) + abs(high) + abs(origin)) / step  # an end this close to a grid point is on it
        first = math.floor((low - origin) / step + near)
        last = math.ceil((high - origin) / step - near)
        return cls(step, origin, first, max(last, first) - first + 1)

    @property
    def losses(self) -> Array:
        """All losses, rising."""
        return self.at(np.arange(self.count))

    def at(self, offset: NDArray[np.int64] | Array) -> Array:
        """The losses at these places, counted from the first."""
        return np.asarray(self.origin + self.step * (self.first + offset), dtype=np.float64)

    @property
    def slip(self) -> float:
        """How far a loss on this grid, or an atom beside it, may be from the double that stands for it."""
        ends = abs(self.origin) + self.step * max(abs(self.first), abs(self.first + self.count))
        return 4.0 * PLACE * (1.0 + ends)


@dataclass(frozen=True, slots=True)
class Law:
    """Masses on a grid, and mass at infinity. The losses are known within ``slip``."""

    grid: Grid
    mass: Array
    infinite: float
    slip: float

    def tilted(self, theta: float) -> tuple[Array, float, float]:
        """Masses times e^{theta·loss}, divided by their sum; the log of that sum; and the relative error of both.

        The finite part must have some mass.
        """
        exponent = theta * self.grid.losses
        with np.errstate(divide="ignore"):
            shift = float((exponent + np.log(self.mass)).max())
        root = np.exp(0.5 * (exponent - shift))  # twice its half: a tiny mass may stand beside a huge power
        weight = self.mass * root * root
        whole = float(weight.sum())
        size = abs(theta) * max(abs(float(self.grid.losses[0])), abs(float(self.grid.losses[-1]))) + abs(shift)
        doubt = 32.0 * ELEMENTARY + 8.0 * ROUND * (1.0 + size)
        return weight / whole, shift + math.log(whole), doubt

    def log_moments(self, thetas: Array) -> Array:
        """log Σ mass e^{theta·loss} for several θ."""
        kept = self.mass > 0.0
        exponent = np.multiply.outer(thetas, self.grid.losses[kept])
        exponent += np.log(self.mass[kept])
        highest = exponent.max(axis=1)
        exponent -= highest[:, None]
        np.exp(exponent, out=exponent)
        return np.asarray(highest + np.log(exponent.sum(axis=1)), dtype=np.float64)


def slip_of(pair: Pair, grid: Grid) -> float:
    """How far a loss of the pair may be from where it is put on the grid, besides the grid's own steps."""
    return grid.slip + pair.slip


def margin(slip: float) -> float:
    """A relative error that covers the exponentials of one cell and edges that are ``slip`` off."""
    return 8.0 * ELEMENTARY + 2.0 * slip


def raised(pair: Pair, grid: Grid) -> Law:
    """The pair's loss on the grid, from above; loss above the grid becomes infinite, loss below it is lifted."""
    mass = np.zeros(grid.count)
    shrink = -math.expm1(-grid.step)
    infinite = pair.infinite.high
    slip = slip_of(pair, grid)
    if not pair.discrete:
        edges = grid.losses
        cells = pair.cells(edges)
        p = cells.p + cells.p_error
        s = np.maximum(cells.s - cells.s_error - margin(slip) * p, 0.0)
        # b + a = p and b e^{-h} + a = s; where the errors leave no such a >= 0, all goes to the upper end
        upper = np.minimum(p, (p - s) / shrink)
        mass[1:] += upper + 4.0 * ROUND * p
        mass[:-1] += (p - upper) + 4.0 * ROUND * p
        left = 1.0 - float((cells.p - cells.p_error).sum()) + 4.0 * ROUND * len(p)  # of all mass, outside the cells
        mass[0] += min(2.0 * pair.below(float(edges[0]))[0], max(left, 0.0)) + TINY
        infinite += 2.0 * pair.above(float(edges[-1]))[0] + TINY
    infinite += _raise_atoms(pair.atoms, grid, mass, shrink)
    return Law(grid, mass * (1.0 + 4.0 * ROUND), infinite * (1.0 + 4.0 * ROUND), slip)


def _raise_atoms(atoms: Atoms, grid: Grid, mass: Array, shrink: float) -> float:
    """Add atoms to the masses; what lies above the grid is returned."""
    if not len(atoms.loss):
        return 0.0
    p = atoms.p * (1.0 + atoms.slack) + TINY
    place, beyond = nearest(atoms.loss, grid)
    whole = np.floor(place)
    # an atom within slip of a grid point is on it
    spot = np.where(np.abs(beyond) <= grid.slip, np.rint(place), whole).astype(np.int64)
    over = atoms.loss - grid.at(spot)
    share = np.where(over > grid.slip, np.minimum(-np.expm1(-over) / shrink * (1.0 + 8.0 * ELEMENTARY), 1.0), 0.0)
    lost = (spot > grid.count - 1) | ((spot == grid.count - 1) & (share > 0.0))
    low = spot < 0
    share, spot = np.where(low, 0.0, share), np.where(low, 0, spot)
    kept = ~lost
    spot, share, weight = spot[kept], share[kept], p[kept]
    mass += np.bincount(spot, (1.0 - share) * weight, grid.count)[: grid.count]
    up = share > 0.0
    mass += np.bincount(spot[up] + 1, share[up] * weight[up], grid.count)[: grid.count]
    mass *= 1.0 + (8.0 + len(atoms.loss)) * ROUND
    return float(p[lost].sum()) * (1.0 + len(atoms.loss) * ROUND)


def nearest(loss: Array, grid: Grid) -> tuple[Array, Array]:
    """Where losses lie on the grid, in steps from its first, and how far each is from the nearest grid point."""
    place = (loss - grid.origin) / grid.step - grid.first
    return place, loss - grid.at(np.rint(place))
