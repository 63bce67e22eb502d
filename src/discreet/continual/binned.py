"""The square-root factor in bins: nearly the same error, and memory that grows with the logarithm of the horizon.

Steps come in blocks of 16. Within the last two dozen blocks a row has the coefficients of the square root, one for each
step. Farther back steps are kept as sums over bins of 2, 4, 8, ... blocks, about two dozen of each size, and a row has
one coefficient for each bin: that of its middle. Bins only merge, so their sums can be carried along, and solving
Cx = y for x, step by step, needs sums over the same bins alone. (Binning: Andersson and Pagh 2024, who bin the other
factor.) All coefficients are integers over 2^20.

Guarantee: ``moves`` is the largest column of C, exactly; ``weight`` was computed for every t up to 2^20.
Proof: strategies.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.continual.strategies import Appearances, Plain, Process, Strategy
from discreet.continual.toeplitz import SHIFT, UNIT, Toeplitz
from discreet.exact import log_up
from discreet.mechanisms.statistics.budget import Moves

BLOCK = 16
NEAR = 24
"""Blocks, and bins of each size, that are kept apart at least; never more than one above that."""
LONGEST = 1 << 20
ROWS = Fraction(207, 200)
"""Σ w² of the estimate after t steps is at most this times Σ_{k<t} c_k², for every t <= LONGEST: computed."""
_WINDOW = (NEAR + 1) * BLOCK
_MOST_BINS = (NEAR + 2) * 24
_PI_DOWN = Fraction(314159265, 100000000)
_START = 64
Scalar = TypeVar("Scalar", np.int64, np.float64)


class Schedule:
    """Which blocks are near, and which bins hold the others, the oldest first. It follows from the step alone."""

    __slots__ = ("_counts", "_places", "bins", "block", "near")

    def __init__(self) -> None:
        self.block = 0
        self.near = 0
        self.bins = 0
        self._places = np.zeros(_MOST_BINS)  # middles of the bins in half blocks, times 355 * 2 BLOCK: whole numbers
        self._counts: list[int] = []  # of bins of 2, 4, 8, ... blocks

    def coefficients(self) -> Floats:
        """One whole number for each bin: 2^20 / √(π (k + 1/4)) at the distance k of the middles, π as 355/113.

        Operations on whole numbers below 2^53 are exact, division and root are correctly rounded: the same everywhere.
        """
        here = 355.0 * (2 * BLOCK * (2 * self.block + 1) + 1)
        return np.asarray(np.floor(np.sqrt(UNIT * UNIT * 452.0 / (here - self._places[: self.bins]))))

    def advance(self) -> tuple[bool, list[int]]:
        """The next block: whether the two oldest near ones became a bin, and which bins then joined the one behind."""
        self.block += 1
        self.near += 1
        if self.near < NEAR + 2:
            return False, []
        self.near = NEAR
        self._places[self.bins] = 355.0 * 2 * BLOCK * (2 * (self.block - NEAR - 2) + 2)
        self.bins += 1
        joined: list[int] = []
        for level in range(64):
            if len(self._counts) == level:
                self._counts.append(0)
            self._counts[level] += 1
            if self._counts[level] < NEAR + 2:
                break
            self._counts[level] -= 2
            first = sum(self._counts[level + 1 :])
            self._places[first] = (self._places[first] + self._places[first + 1]) / 2  # exact: places are even
            _close_gap(self._places, first + 1, self.bins)
            self.bins -= 1
            joined.append(first)
        return True, joined


def _close_gap(lines: NDArray[Any], place: int, count: int) -> None:
    """Remove one of the first ``count`` lines; those behind it move up."""
    lines[place : count - 1] = lines[place + 1 : count]


class History(Generic[Scalar]):
    """Values of the near blocks and sums over the bins, exact or estimated, and what they add to the next rows."""

    __slots__ = ("_bins", "_matrix", "_near", "_past", "schedule")

    def __init__(self, keys: int, kind: type[Scalar]) -> None:
        self.schedule: Schedule = Schedule()
        self._matrix: NDArray[Scalar] = _near_matrix().astype(kind)
        self._near: NDArray[Scalar] = np.zeros((_WINDOW + BLOCK, keys), dtype=kind)
        self._bins: NDArray[Scalar] = np.zeros((_MOST_BINS, keys), dtype=kind)
        self._past: NDArray[Scalar] | None = None

    @property
    def past(self) -> NDArray[Scalar]:
        """What all earlier blocks add to each row of the block under way."""
        if self._past is None:
            filled = self.schedule.near * BLOCK
            near = self._matrix[:, _WINDOW - filled :] @ self._near[:filled]
            far = self.schedule.coefficients().astype(self._near.dtype) @ self._bins[: self.schedule.bins]
            self._past = near + far
        return self._past

    def close(self, block: NDArray[Scalar]) -> None:
        """The block under way has ended."""
        self._past = None
        filled, bins = self.schedule.near * BLOCK, self.schedule.bins
        self._near[filled : filled + BLOCK] = block
        left, joined = self.schedule.advance()
        if left:
            self._bins[bins] = self._near[: 2 * BLOCK].sum(axis=0)
            self._near[: NEAR * BLOCK] = self._near[2 * BLOCK :].copy()
            bins += 1
        for first in joined:
            self._bins[first] += self._bins[first + 1]
            _close_gap(self._bins, first + 1, bins)
            bins -= 1

    def state(self) -> Plain:
        """Near values and bins; the schedule follows from the number of blocks."""
        near = self._near[: self.schedule.near * BLOCK].tolist()
        return {"block": self.schedule.block, "near": near, "bins": self._bins[: self.schedule.bins].tolist()}

    def load(self, state: Plain) -> None:
        """Continue."""
        self.schedule = Schedule()
        for _ in range(state["block"]):
            self.schedule.advance()
        keys, kind = self._near.shape[1], self._near.dtype
        near, bins = (np.array(state[name], dtype=kind).reshape(-1, keys) for name in ("near", "bins"))
        self._near[: len(near)], self._bins[: len(bins)] = near, bins
        self._past = None


@dataclass(frozen=True, slots=True)
class Binned(Strategy):
    """The binned square-root factor for ``horizon`` steps.

    >>> Binned(1000).moves(Appearances()).l2_squared / UNIT**2 < 1.03 * Toeplitz(1000).moves(
    ...     Appearances()
    ... ).l2_squared / UNIT**2
    True
    """

    horizon: int

    def moves(self, unit: Appearances) -> Moves:
        """k columns together: at most k times the longest in L1, k² times in squared L2."""
        l1, l2_squared = _largest_column(self.horizon)
        return Moves(l1=unit.steps * l1, l2_squared=unit.steps**2 * l2_squared)

    def weight(self, t: int) -> Fraction:
        """See ROWS; a horizon within the near blocks is the square root itself, which is below it too."""
        return ROWS * squares_up(t) / (UNIT * UNIT)

    @property
    def longest_row(self) -> int:
        """Coefficients are at most 2^20 and at most about those of the square root: Σ c_k <= 1 + 2 √(t/π)."""
        return UNIT * (2 + 2 * math.isqrt(self.horizon))

    def start(self, keys: int) -> Process:
        """A new stream."""
        return _Blockwise(keys)

    def story(self) -> str:
        """One line on what gets noise."""
        return f"noise on the rows of the binned square root of the prefix sums, in 2^-{SHIFT}"


class _Blockwise(Process):
    """Both histories, and the block under way."""

    __slots__ = ("_estimates", "_exact", "_filled", "_guesses", "_prefix", "_solved", "_values")

    def __init__(self, keys: int) -> None:
        self._exact = History(keys, np.int64)
        self._guesses = History(keys, np.float64)
        self._values = np.zeros((BLOCK, keys), dtype=np.int64)
        self._estimates = np.zeros((BLOCK, keys))
        self._filled = self._solved = 0  # steps of the block under way: measured, estimated
        self._prefix = np.zeros(keys)

    def measure(self, values: Integers) -> Integers:
        """Whole blocks at once, single steps otherwise."""
        rows, done = [], 0
        inner = _inner()
        if len(values) == 1:
            return self._measure_one(values, inner)
        while done < len(values):
            filled = self._filled
            end = min(BLOCK, filled + len(values) - done)
            self._values[filled:end] = values[done : done + end - filled]
            rows.append(self._exact.past[filled:end] + inner[filled:end, :end] @ self._values[:end])
            done += end - filled
            self._filled = end % BLOCK
            if end == BLOCK:
                self._exact.close(self._values)
        return rows[0] if len(rows) == 1 else np.concatenate(rows)

    def _measure_one(self, values: Integers, inner: Integers) -> Integers:
        here = self._filled
        self._values[here] = values[0]
        row = inner[here, : here + 1] @ self._values[: here + 1] + self._exact.past[here]
        self._filled = (here + 1) % BLOCK
        if not self._filled:
            self._exact.close(self._values)
        return np.asarray(row)[None, :]

    def _estimate_one(self, noisy: NDArray[Any]) -> Floats:
        here = self._solved
        rest = noisy[0] - self._guesses.past[here]
        if here:
            rest = rest - _inner_floats()[here, :here] @ self._estimates[:here]
        values = rest * (1 / UNIT)  # c_0 is 1
        self._estimates[here] = values
        self._prefix = self._prefix + values
        self._solved = (here + 1) % BLOCK
        if not self._solved:
            self._guesses.close(self._estimates)
        return self._prefix[None, :]

    def estimate(self, noisy: NDArray[Any], steps: int) -> Floats:
        """Solve for the values of the block under way, and add them up."""
        if steps == 1:
            return self._estimate_one(noisy)
        out, done = [], 0
        inverse, inner = _inverse_of_inner(), _inner_floats()
        while done < steps:
            filled = self._solved
            end = min(BLOCK, filled + steps - done)
            rest = noisy[done : done + end - filled] - self._guesses.past[filled:end]
            if filled:
                rest = rest - inner[filled:end, :filled] @ self._estimates[:filled]
            values = inverse[: end - filled, : end - filled] @ rest
            sums = self._prefix + (values if len(values) == 1 else values.cumsum(axis=0))
            out.append(sums)
            self._prefix = sums[-1]
            self._estimates[filled:end] = values
            done += end - filled
            self._solved = end % BLOCK
            if end == BLOCK:
                self._guesses.close(self._estimates)
        return out[0] if len(out) == 1 else np.concatenate(out)

    def state(self) -> Plain:
        """All sums, exact and estimated."""
        return {
            "exact": self._exact.state(),
            "guesses": self._guesses.state(),
            "values": self._values[: self._filled].tolist(),
            "estimates": self._estimates[: self._solved].tolist(),
            "prefix": self._prefix.tolist(),
        }

    def load(self, state: Plain) -> None:
        """Continue."""
        self._exact.load(state["exact"])
        self._guesses.load(state["guesses"])
        self._filled, self._solved = len(state["values"]), len(state["estimates"])
        keys = len(state["prefix"])
        self._values[: self._filled] = np.array(state["values"], dtype=np.int64).reshape(-1, keys)
        self._estimates[: self._solved] = np.array(state["estimates"], dtype=np.float64).reshape(-1, keys)
        self._prefix = np.array(state["prefix"], dtype=np.float64)


# --- the matrix -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _lags() -> Integers:
    return Toeplitz(_WINDOW + BLOCK).coefficients


@lru_cache(maxsize=1)
def _near_matrix() -> Integers:
    """What the steps of the near blocks, the oldest first, add to each row of the block under way."""
    away = _WINDOW + np.arange(BLOCK)[:, None] - np.arange(_WINDOW)[None, :]
    return np.asarray(_lags()[away])


@lru_cache(maxsize=1)
def _inner() -> Integers:
    """What the steps of the block under way add to its rows."""
    away = np.arange(BLOCK)[:, None] - np.arange(BLOCK)[None, :]
    return np.where(away >= 0, _lags()[np.maximum(away, 0)], 0)


@lru_cache(maxsize=1)
def _inner_floats() -> Floats:
    return _inner().astype(np.float64)


@lru_cache(maxsize=1)
def _inverse_of_inner() -> Floats:
    return np.asarray(np.linalg.inv(_inner_floats()))


@lru_cache(maxsize=16)
def _largest_column(horizon: int) -> tuple[int, int]:
    """The longest column of C in L1 and in squared L2, exactly: each bin carries the longest of its members."""
    schedule, lags = Schedule(), _lags()
    inside = np.concatenate([[[0, 0]], np.stack([np.cumsum(lags), np.cumsum(lags**2)], axis=1)])
    ages: list[int] = []  # of the first step of each near block, in rows
    bins = np.zeros((_MOST_BINS, 2), dtype=np.int64)  # below 2^20 * 2^20 and 2^43: no wraparound
    for _ in range(-(-horizon // BLOCK)):
        count, c = schedule.bins, schedule.coefficients().astype(np.int64)
        bins[:count, 0] += BLOCK * c
        bins[:count, 1] += BLOCK * c * c
        ages = [age + BLOCK for age in ages] + [BLOCK]
        left, joined = schedule.advance()
        if left:  # the first step of the older block has been in the most rows
            bins[count] = inside[ages[0]]
            ages, count = ages[2:], count + 1
        for first in joined:
            bins[first] = np.maximum(bins[first], bins[first + 1])
            _close_gap(bins, first + 1, count)
            count -= 1
    longest = np.concatenate([bins[: schedule.bins], inside[ages]]).max(axis=0)
    return int(longest[0]), int(longest[1])


def squares_up(t: int) -> Fraction:
    """Σ_{k<t} c_k² from above: the first terms, then c_k² < 1/(π (k + 1/4)) and an integral around each k.

    >>> 1.25 <= squares_up(2) < 1.2500001, 5.46 < squares_up(10**6) < 5.47
    (True, True)
    """
    if t <= _START:
        return _first_squares()[t]
    return _first_squares()[_START] + log_up(Fraction(4 * t - 1, 4 * _START - 1)) / _PI_DOWN


@lru_cache(maxsize=1)
def _first_squares() -> tuple[Fraction, ...]:
    """Σ_{k<t} c_k² for t = 0, 1, ..., 64, exactly."""
    sums, c = [Fraction(0)], Fraction(1)
    for k in range(_START):
        if k:
            c = c * (2 * k - 1) / (2 * k)
        sums.append(sums[-1] + c * c)
    return tuple(sums)
