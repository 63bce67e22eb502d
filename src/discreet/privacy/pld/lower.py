"""A loss put onto a grid from below: the optimistic side, to second order.

Promise: ``lowered(pair, ...)`` lies below the pair's loss in the order of pld.md: for every function φ that is convex
and falling in w = e^{-loss}, its integral over the law, with all losses lowered by ``slip``, is at most that over the
pair.
Believes: beliefs.py and the masses of the pair.

How: each grid point gathers the loss within half a step of it: (A, R), its mass under P and e^{grid loss} times its
mass under Q. It is off the grid by d = A - R, which is of third order; the signed masses on the point and one neighbour
that have the same A and R are added up. In the picture of the hockey-stick curve these are the tangents in the middle
of the cells, cut down to their smaller value at each grid point. If a mass comes out negative, the curve is not convex
there and its convex hull from below is taken.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from discreet.privacy.pld.beliefs import ROUND, TINY, Array
from discreet.privacy.pld.law import Grid, Law, margin, nearest, slip_of
from discreet.privacy.pld.pair import Cells, Pair

_SAFE = 8.0 * ROUND


_LONGEST_REPAIR = 2_000_000  # steps, a few seconds


def lowered(pair: Pair, grid: Grid) -> Law:
    """The pair's loss on the grid, from below; loss above the grid moves down to it, loss below it is dropped."""
    gathered, scaled, exact = _gather(pair, grid)
    mass = exact
    if gathered.any():
        mass = _finished(*_settled(gathered, scaled, grid.step), exact, grid.step)
        low = int(np.flatnonzero(gathered)[0])
        over = gathered[low] - scaled[low]
        if 0.0 < over < 0.1 * grid.step * gathered[low] or (over > 0.0 and mass.sum() < 0.5 * gathered.sum()):
            # the lowest mass lies just above its grid point: lift it to the next with the help of others, or round down
            rounded = scaled.copy()
            rounded[low] = gathered[low]
            other = _finished(*_settled(gathered, rounded, grid.step), exact, grid.step)
            mass = max(mass, other, key=lambda m: _merit(m, grid))
        if mass.sum() < 0.5 * gathered.sum():  # a grid so coarse that no neighbour can help: round down, to first order
            mass = np.concatenate([(gathered * (1.0 - 2 * ROUND))[1:], [0.0]]) + exact
    infinite = pair.infinite.low * (1.0 - 4.0 * ROUND)
    return Law(grid, np.maximum(mass, 0.0) * (1.0 - 4.0 * ROUND), infinite, slip_of(pair, grid))


def centred(pair: Pair, grid: Grid) -> Grid:
    """A grid moved a little so that a heap of mass has its middle on a grid point, or just above it.

    Any grid is valid. A heap between two grid points costs an error of first order; this avoids it. There may be a heap
    at one end of the loss, or the whole loss may be one, if it is narrower than the grid's step.
    """
    if pair.discrete or len(pair.atoms.loss):
        return grid
    half = 0.5 * grid.step
    low, high = pair.reach(0.05)
    if high - low < 2.0 * grid.step:
        middle = 0.5 * (low + high)
        cell = pair.cells(np.array([middle - 2.0 * half, middle + 2.0 * half]))
        if cell.s[0] > 0.0:
            origin = middle - 2.0 * half + math.log(float(cell.p[0] / cell.s[0])) - _clear(cell, 0)
            return Grid.cover(grid.step, origin, float(grid.losses[0]), float(grid.losses[-1]))
        return grid
    if grid.count < 8:
        return grid
    moved = grid
    for _ in range(3):
        low, high = moved.losses[0], moved.losses[-1]
        cells = pair.cells(
            np.array([low - half, low + half, low + 3 * half, high - 3 * half, high - half, high + half])
        )
        end, beside = (0, 1) if cells.p[0] > cells.p[4] else (4, 3)
        if not cells.p[end] > 4.0 * cells.p[beside] or not cells.s[end] > 0.0:
            return moved
        over = math.log(float(cells.p[end] / cells.s[end])) - half  # how far above its grid point the middle is
        outwards = over if end == 0 else -over
        if outwards <= 0.0 or abs(moved.origin + over - grid.origin) > 0.98 * half:
            return moved
        # a little further than needed, so that the errors of the masses do not turn the sign
        moved = replace(moved, origin=moved.origin + math.copysign(outwards + _clear(cells, end), over))
    return moved


def _clear(cells: Cells, i: int) -> float:
    """A distance well above what the errors of a cell's masses can feign."""
    return 1e-10 + 2.0 * float(cells.p_error[i] / cells.p[i] + cells.s_error[i] / cells.s[i])


def _merit(mass: Array, grid: Grid) -> float:
    """A moment of the law: the larger, the less was given away."""
    losses = grid.losses
    return float((mass * np.exp(losses - losses[-1])).sum())


def _finished(gathered: Array, scaled: Array, exact: Array, step: float) -> Array:
    mass, error = _on_grid(gathered, scaled, step)
    mass += exact
    return repaired(mass, error + 4.0 * ROUND * np.abs(mass), step)


def _gather(pair: Pair, grid: Grid) -> tuple[Array, Array, Array]:
    """A (too small), R (too large), and the atoms that sit on the grid."""
    losses, slip = grid.losses, slip_of(pair, grid)
    gathered, scaled, exact = np.zeros(grid.count), np.zeros(grid.count), np.zeros(grid.count)
    if not pair.discrete:
        half = 0.5 * grid.step
        edges = np.concatenate([losses - half, [losses[-1] + half]])
        cells = pair.cells(edges)
        gathered += np.maximum(cells.p - cells.p_error, 0.0)
        scaled += (cells.s + cells.s_error + margin(slip) * cells.p) * math.exp(half)
        exact[-1] += 0.5 * pair.above(float(edges[-1]))[0]
    atoms = pair.atoms
    if len(atoms.loss):
        p = np.maximum(atoms.p * (1.0 - atoms.slack) - TINY, 0.0)
        place, beyond = nearest(atoms.loss, grid)
        spot = np.rint(place).astype(np.int64)
        spot = np.where(spot >= grid.count, grid.count - 1, spot)
        on = (np.abs(beyond) <= grid.slip) & (spot >= 0)
        exact += np.bincount(spot[on], p[on], grid.count)[: grid.count]
        off = ~on & (spot >= 0)
        if off.any():
            moved = np.exp(losses[spot[off]] - atoms.loss[off]) * (1.0 + margin(slip))
            gathered += np.bincount(spot[off], p[off], grid.count)[: grid.count]
            scaled += np.bincount(spot[off], p[off] * moved, grid.count)[: grid.count]
        relative = (4.0 + len(atoms.loss)) * ROUND
        gathered, scaled, exact = gathered * (1.0 - relative), scaled * (1.0 + relative), exact * (1.0 - relative)
    return gathered, np.where(gathered > 0.0, scaled, 0.0), exact


def _on_grid(gathered: Array, scaled: Array, step: float) -> tuple[Array, Array]:
    """Signed masses on the grid with the same P- and Q-mass, and a bound of the rounding in each."""
    over = gathered - scaled
    above, below = np.maximum(over, 0.0), np.maximum(-over, 0.0)
    near, far = 1.0 / math.expm1(step), -1.0 / math.expm1(-step)
    mass = scaled + far * above + near * below
    size = mass.copy()
    mass[:-1] -= near * above[1:]
    size[:-1] += near * above[1:]
    mass[1:] -= far * below[:-1]
    size[1:] += far * below[:-1]
    # what the ends cannot take from a neighbour is rounded down: the first keeps its loss, the last has none below
    mass[0] -= near * above[0]
    return mass, 16.0 * ROUND * size


def _settled(gathered: Array, scaled: Array, step: float) -> tuple[Array, Array]:
    """Move the outermost masses one step inwards until the ends lie outside their grid point, not inside."""
    gathered, scaled = gathered.copy(), scaled.copy()
    shrink, grow = math.exp(-step), math.exp(step)
    filled = np.flatnonzero(gathered)
    low, high = int(filled[0]), int(filled[-1])
    while high > low and gathered[high] < scaled[high]:
        gathered[high - 1] += gathered[high] * (1.0 - 2 * ROUND)
        scaled[high - 1] += scaled[high] * shrink * (1.0 + 16 * ROUND)
        gathered[high] = scaled[high] = 0.0
        high -= 1
    while low < high and gathered[low] > scaled[low]:
        gathered[low + 1] += gathered[low] * (1.0 - 2 * ROUND)
        scaled[low + 1] += scaled[low] * grow * (1.0 + 16 * ROUND)
        gathered[low] = scaled[low] = 0.0
        low += 1
    if gathered[high] < scaled[high]:  # one cell alone, below its grid point: no neighbour can lift it
        if high > 0:
            gathered[high - 1] = scaled[high - 1] = gathered[high]
        gathered[high] = scaled[high] = 0.0
    elif gathered[low] > scaled[low]:
        scaled[low] = gathered[low]
    return gathered, scaled


# --- the convex hull from below -----------------------------------------------------------------------------------


def repaired(mass: Array, error: Array, step: float) -> Array:
    """Non-negative masses that lie below the signed ones, each first lessened by its error.

    Guarantee: every change spreads a negative mass to both sides with its P- and Q-mass kept, or moves it upwards, or
    sets the curve to 0 at the last point where it is above 0. Each of these lowers the curve, or is 0 <= the curve.
    """
    mass = mass - error
    waiting = [int(i) for i in np.flatnonzero(mass < 0.0)]
    if not waiting:
        return mass
    filled = np.flatnonzero(mass)
    start, end = int(filled[0]), int(filled[-1]) + 1
    chain = _Chain(mass[start:end].tolist(), step)
    for i in waiting:
        chain.settle(i - start)
        if chain.steps > _LONGEST_REPAIR:
            return np.zeros(len(mass))  # a curve of 0 lies below every curve: valid, and quick
    result = np.zeros(len(mass))
    result[start:end] = chain.mass
    return result


class _Chain:
    """The grid points that still carry the curve, as a linked list."""

    __slots__ = ("end", "left", "mass", "right", "step", "steps")

    def __init__(self, mass: list[float], step: float) -> None:
        self.mass = mass
        self.step = step
        self.steps = 0
        self.end = len(mass)
        self.left = list(range(-1, len(mass) - 1))
        self.right = list(range(1, len(mass) + 1))

    def settle(self, start: int) -> None:
        """Remove the point if its mass is negative, and then its neighbours if theirs has become so."""
        mass, left, right, step, shrink = self.mass, self.left, self.right, self.step, math.expm1
        waiting = [start]
        while waiting and self.steps <= _LONGEST_REPAIR:
            self.steps += 1
            i = waiting.pop()
            m = mass[i]
            if m >= 0.0:
                continue
            a, b = left[i], right[i]
            if b == self.end:
                waiting += self._cut_end(i)
                continue
            mass[i] = 0.0
            left[b] = a
            up = m
            if a >= 0:
                right[a] = b
                up *= shrink(-step * (i - a)) / shrink(-step * (b - a))
                # each sum is rounded down by more than its rounding error
                mass[a] += (m - up) - _SAFE * (abs(mass[a]) - m)
                waiting.append(a)
            mass[b] += up - _SAFE * (abs(mass[b]) - m)
            waiting.append(b)

    def _cut_end(self, i: int) -> list[int]:
        """The curve falls below 0 before its last point i: end it at 0, at the last point where it is above 0.

        p - t q is the curve between two points, with p the mass above and ``scaled`` = q e^{loss of the upper point}.
        """
        p = scaled = 0.0
        while True:
            m, a = self.mass[i], self.left[i]
            self._remove(i)
            p, scaled = _less(p, m), -_less(-scaled, -m)
            if a < 0:
                return []  # the curve is nowhere above 0: no finite mass is left
            scaled *= math.exp(-self.step * (i - a)) * (1.0 + 16 * ROUND if scaled > 0.0 else 1.0 - 16 * ROUND)
            if p > scaled:
                break
            i = a
        c = self.left[a]
        if c < 0:
            self.mass[a] = _less(self.mass[a], p)
            return [a]
        down = (scaled - p) / math.expm1(self.step * (a - c))
        self.mass[a] = _less(self.mass[a], p - down)
        self.mass[c] = _less(self.mass[c], down)
        return [c, a]

    def _remove(self, i: int) -> None:
        a, b = self.left[i], self.right[i]
        self.mass[i] = 0.0
        if a >= 0:
            self.right[a] = b
        if b < self.end:
            self.left[b] = a


def _less(mass: float, change: float) -> float:
    """The sum, rounded down by more than the rounding error of both."""
    return mass + change - _SAFE * (abs(mass) + abs(change))
