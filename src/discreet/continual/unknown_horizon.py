"""Prefix sums without a last step: epochs that grow, each with a strategy of its own, and one total at the end of each.

Guarantee: a value is measured in its own epoch and in that epoch's total, so columns of C are at most ``SIZE`` long (in
L1 or in squared L2, whichever the noise needs), whatever the epoch: every epoch is scaled by a whole number to fit. The
error after t steps is within a constant of that of a horizon known in advance. Proof: strategies.md.

The hybrid of Chan, Shi and Song (2011), with the totals of ended epochs estimated from both of their measurements.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.continual.binned import Binned
from discreet.continual.strategies import LARGEST, Appearances, Plain, Process, Strategy
from discreet.continual.toeplitz import UNIT, Toeplitz
from discreet.continual.tree import Tree
from discreet.mechanisms.statistics.budget import Moves

FIRST = 64
GROWTH = 8
LONGEST = 1 << 20
"""Epochs have 64, 512, 4096, ... steps, and never more than this."""
SIZE = 1 << 56
SIZE_L1 = 1 << 20
TOTALS = Fraction(1, 4)
"""The share of a column that goes to the epoch's total."""
_DENSE = 4096


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch: its strategy, and the whole numbers by which its rows and its total are multiplied."""

    strategy: Strategy
    length: int
    rows: int
    total: int

    def weight(self, t: int) -> Fraction:
        """Σ w² of the estimate after t steps of this epoch."""
        return self.strategy.weight(t) / self.rows**2

    @property
    def own_share(self) -> Fraction:
        """The weight of the last prefix in the joined total; the total's own measurement has the rest."""
        prefix, direct = self.weight(self.length), Fraction(1, self.total**2)
        return direct / (prefix + direct)

    @property
    def ended_weight(self) -> Fraction:
        """Σ w² of the joined total."""
        prefix, direct = self.weight(self.length), Fraction(1, self.total**2)
        return prefix * direct / (prefix + direct)


@dataclass(frozen=True, slots=True)
class Epochs(Strategy):
    """A stream without a known end; ``squared`` says which length is bounded: squared L2 (Gaussian noise) or L1.

    >>> strategy = Epochs(squared=True)
    >>> strategy.horizon, strategy.moves(Appearances()).l2_squared == SIZE
    (None, True)
    """

    squared: bool
    horizon: None = None

    def epoch(self, number: int) -> Epoch:
        """The epoch of this number."""
        return _epoch(number, self.squared)

    def moves(self, unit: Appearances) -> Moves:
        """k appearances, in any epochs: k times as far in L1, k² times in squared L2."""
        if self.squared:
            return Moves(l1=0, l2_squared=unit.steps**2 * SIZE)
        return Moves(l1=unit.steps * SIZE_L1, l2_squared=0)

    def weight(self, t: int) -> Fraction:
        """Ended epochs and the one under way."""
        total, number = Fraction(0), 0
        while t > (epoch := self.epoch(number)).length:
            total += epoch.ended_weight
            t -= epoch.length
            number += 1
        return total + (epoch.weight(t) if t < epoch.length else epoch.ended_weight)

    @property
    def longest_row(self) -> int:
        """Of any epoch; totals are cut where they would leave 64 bits, which moves none of them farther.

        A column of squared length at least 2^40 is scaled by at most √SIZE / 2^20: no need to know the long ones.
        """
        if self.squared:
            return Binned(LONGEST).longest_row * isqrt(SIZE) // UNIT
        return max(e.strategy.longest_row * e.rows for e in map(self.epoch, range(_GROWING + 1)))

    def start(self, keys: int) -> Process:
        """A new stream."""
        return _Growing(self, keys)

    def story(self) -> str:
        """One line on what gets noise."""
        return f"epochs of {FIRST}, {FIRST * GROWTH}, ... steps; in each {self.epoch(0).strategy.story()}; and totals"


class _Growing(Process):
    """The epoch under way, and the estimates of those that have ended."""

    __slots__ = ("_ended", "_exact", "_open", "_public", "_strategy")

    def __init__(self, strategy: Epochs, keys: int) -> None:
        self._strategy = strategy
        self._exact = _Place(strategy, keys)
        self._public = _Place(strategy, keys)
        self._open = np.zeros(keys, dtype=np.int64)
        self._ended = np.zeros(keys)

    def measure(self, values: Integers) -> Integers:
        """The rows of each epoch, and its total after its last step."""
        rows, done = [], 0
        while done < len(values):
            here = self._exact
            take = min(here.left, len(values) - done)
            part = values[done : done + take]
            rows.append(here.process.measure(part) * here.epoch.rows)
            self._open = self._open + part.sum(axis=0)
            done += take
            if here.moved(take):
                most = LARGEST // here.epoch.total
                rows.append(np.clip(self._open, -most, most)[None, :] * here.epoch.total)
                self._open = np.zeros_like(self._open)
                self._exact = here.following()
        return np.concatenate(rows)

    def estimate(self, noisy: NDArray[Any], steps: int) -> Floats:
        """Ended epochs plus the prefix of the one under way."""
        out, row, done = [], 0, 0
        while done < steps:
            here = self._public
            take = min(here.left, steps - done)
            used = here.rows(take)
            part = here.process.estimate(noisy[row : row + used] / here.epoch.rows, take)
            row += used
            done += take
            if here.moved(take):
                own = float(here.epoch.own_share)
                part[-1] = own * part[-1] + (1 - own) * noisy[row] / here.epoch.total
                row += 1
                out.append(self._ended + part)
                self._ended = out[-1][-1]
                self._public = here.following()
            else:
                out.append(self._ended + part)
        return np.concatenate(out)

    def state(self) -> Plain:
        """The epoch under way and what ended before it."""
        return {
            "number": self._exact.number,
            "steps": self._exact.steps,
            "exact": self._exact.process.state(),
            "public": self._public.process.state(),
            "open": self._open.tolist(),
            "ended": self._ended.tolist(),
        }

    def load(self, state: Plain) -> None:
        """Continue."""
        self._open = np.array(state["open"], dtype=np.int64)
        self._ended = np.array(state["ended"], dtype=np.float64)
        self._exact = _Place(self._strategy, len(self._open), state["number"], state["steps"])
        self._public = _Place(self._strategy, len(self._open), state["number"], state["steps"])
        self._exact.process.load(state["exact"])
        self._public.process.load(state["public"])


class _Place:
    """Where a stream is: which epoch, how many of its steps are done, and the process of its strategy."""

    __slots__ = ("_keys", "_strategy", "epoch", "number", "process", "steps")

    def __init__(self, strategy: Epochs, keys: int, number: int = 0, steps: int = 0) -> None:
        self._strategy, self._keys = strategy, keys
        self.epoch = strategy.epoch(number)
        self.process = self.epoch.strategy.start(keys)
        self.number, self.steps = number, steps

    @property
    def left(self) -> int:
        return self.epoch.length - self.steps

    def rows(self, take: int) -> int:
        return self.epoch.strategy.rows_between(self.steps, self.steps + take)

    def moved(self, take: int) -> bool:
        """Go on by so many steps; whether the epoch has ended."""
        self.steps += take
        return self.left == 0

    def following(self) -> _Place:
        return _Place(self._strategy, self._keys, self.number + 1)


@lru_cache(maxsize=64)
def _epoch(number: int, squared: bool) -> Epoch:
    """The strategy with the least error, scaled so that a column is at most SIZE long, total included."""
    length = min(FIRST * GROWTH ** min(number, _GROWING), LONGEST)
    if not squared:
        tree = Tree(length)
        return Epoch(tree, length, int((1 - TOTALS) * SIZE_L1) // tree.moves(Appearances()).l1, int(TOTALS * SIZE_L1))
    strategy: Strategy = Toeplitz(length) if length <= _DENSE else Binned(length)
    column = strategy.moves(Appearances()).l2_squared
    return Epoch(strategy, length, isqrt(int((1 - TOTALS) * SIZE) // column), isqrt(int(TOTALS * SIZE)))


_GROWING = 5  # 64 * 8^5 is above LONGEST
