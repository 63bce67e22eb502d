"""Which whole-number combinations of a stream get noise, and how prefix sums are made from the noisy ones.

A strategy is a matrix of integers C and a matrix B with BC = (the sums that are asked for). At each step it *measures*
the new rows of Cx, exactly; noise is added elsewhere; then it *estimates* from noisy rows alone, which is free.

Guarantee: ``moves`` bounds how far all rows together move, in L1 and in squared L2, when one unit changes the values of
at most ``steps`` steps, at least ``separation`` apart, by at most one each; ``weight(t)`` bounds Σ w² of the estimate
after t steps as a combination of the noises. Proof: strategies.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.errors import BadParameter
from discreet.exact import integer
from discreet.mechanisms.statistics.budget import Moves
from discreet.mechanisms.statistics.sum_law import Terms

Plain = Mapping[str, Any]
"""What JSON can hold: the state of a process."""

LARGEST = 1 << 61
"""Rows stay below this, so that they never leave 64 bits, noise included."""
MARGIN = 1 + Fraction(1, 1 << 20)
"""For the rounding of weights that are added up in floats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Appearances:
    """In how many steps one unit may appear over the whole horizon, and how far apart they are at least.

    >>> Appearances(steps=3, separation=7)
    Appearances(steps=3, separation=7)
    """

    steps: int = 1
    separation: int = 1

    def __post_init__(self) -> None:
        integer(self.steps, "steps", at_least=1)
        integer(self.separation, "separation", at_least=1)

    def within(self, horizon: int | None) -> Appearances:
        """The same, but never more steps than there are."""
        if horizon is None:
            return self
        last = integer(horizon, "horizon", at_least=1)
        return Appearances(steps=min(self.steps, -(-last // self.separation)), separation=self.separation)


class Process(ABC):
    """A stream under way: exact sums that are not released yet, and estimates made from noisy rows."""

    __slots__ = ()

    @abstractmethod
    def measure(self, values: Integers) -> Integers:
        """The exact rows that the next steps complete; ``values`` has one line for each step, one column per key."""

    @abstractmethod
    def estimate(self, noisy: NDArray[Any], steps: int) -> Floats:
        """The sums after each of these steps, from their noisy rows."""

    @abstractmethod
    def state(self) -> Plain:
        """All of it as plain numbers; as secret as the data."""

    @abstractmethod
    def load(self, state: Plain) -> None:
        """Continue where a state was written."""


class Strategy(ABC):
    """A matrix of integers, row by row; ``horizon`` is None if there is no last step."""

    __slots__ = ()

    horizon: int | None

    @abstractmethod
    def moves(self, unit: Appearances) -> Moves:
        """How far the rows move when one unit moves each value by at most one."""

    @abstractmethod
    def weight(self, t: int) -> Fraction:
        """An upper bound of Σ w² of the estimate after t steps."""

    def terms(self, t: int) -> Terms:
        """The weights of the noises in the estimate after t steps, where they are known and few; else none."""
        return ()

    def window_weight(self, t: int, width: int) -> Fraction:
        """Σ w² of the sum of the last ``width`` steps as a difference of two estimates: (a + b)² <= 2 a² + 2 b²."""
        return self.weight(t) if width == t else 2 * (self.weight(t) + self.weight(t - width))

    def largest_weight(self, horizon: int) -> Fraction:
        """The largest weight of any step up to the horizon: that of the last one, unless said otherwise."""
        return self.weight(horizon)

    @property
    @abstractmethod
    def longest_row(self) -> int:
        """An upper bound of Σ |entries| of any row."""

    @abstractmethod
    def start(self, keys: int) -> Process:
        """A new stream of so many keys."""

    def start_wide(self, keys: int) -> Process:
        """The same for values of any size: rows are Python integers, and nothing is cut."""
        raise BadParameter("strategy", self.story(), "must be one that takes integers beyond 64 bits")

    @abstractmethod
    def story(self) -> str:
        """One line on what gets noise."""

    def rows_between(self, start: int, end: int) -> int:
        """How many rows the steps after ``start``, up to ``end``, complete: one each, unless said otherwise."""
        return end - start

    @property
    def largest_value(self) -> int:
        """Values are moved into ± this, so that rows never leave 64 bits."""
        return LARGEST // self.longest_row


# --- the two programs of the lecture --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Values(Strategy):
    """Noise on each value, added up afterwards: one unit moves one row, and the error grows with the root of time."""

    horizon: int

    def moves(self, unit: Appearances) -> Moves:
        """One row for each appearance."""
        return Moves(l1=unit.steps, l2_squared=unit.steps)

    def weight(self, t: int) -> Fraction:
        """t noises are added up."""
        return Fraction(t)

    def terms(self, t: int) -> Terms:
        """Each with weight 1."""
        return ((1.0, t),)

    def window_weight(self, t: int, width: int) -> Fraction:
        """Only those of the window."""
        return Fraction(width)

    @property
    def longest_row(self) -> int:
        """Each row is one value."""
        return 1

    def start(self, keys: int) -> Process:
        """A new stream."""
        return _Running(keys, before=False)

    def start_wide(self, keys: int) -> Process:
        """The same in Python integers."""
        return _Running(keys, before=False, kind=object)

    def story(self) -> str:
        """One line on what gets noise."""
        return "noise on each value, added up"


@dataclass(frozen=True, slots=True)
class Prefixes(Strategy):
    """Noise on each prefix sum: one unit moves all rows from its step on."""

    horizon: int

    def moves(self, unit: Appearances) -> Moves:
        """After t steps a unit has appeared at most ceil(t / separation) times."""
        steps, apart = unit.steps, unit.separation
        seen = [min(steps, -(-t // apart)) for t in range(1, self.horizon + 1)]
        return Moves(l1=sum(seen), l2_squared=sum(n * n for n in seen))

    def weight(self, t: int) -> Fraction:
        """One noise."""
        return Fraction(1)

    def terms(self, t: int) -> Terms:
        """With weight 1."""
        return ((1.0, 1),)

    def window_weight(self, t: int, width: int) -> Fraction:
        """That of its last step, and that of the step before its first."""
        return Fraction(1 if width == t else 2)

    @property
    def longest_row(self) -> int:
        """The last row adds all values."""
        return self.horizon

    def start(self, keys: int) -> Process:
        """A new stream."""
        return _Running(keys, before=True)

    def start_wide(self, keys: int) -> Process:
        """The same in Python integers."""
        return _Running(keys, before=True, kind=object)

    def story(self) -> str:
        """One line on what gets noise."""
        return "noise on each prefix sum"


class _Running(Process):
    """Running sums, taken before the noise or after it."""

    __slots__ = ("_before", "_kind", "_total")

    def __init__(self, keys: int, *, before: bool, kind: type = np.int64) -> None:
        self._before = before
        self._kind = kind
        self._total: NDArray[Any] = np.zeros(keys, dtype=kind)

    def measure(self, values: Integers) -> Integers:
        """The values, or their running sums."""
        return self._added(values) if self._before else values

    def estimate(self, noisy: NDArray[Any], steps: int) -> Floats:
        """The noisy rows, or their running sums."""
        return np.asarray(noisy if self._before else self._added(noisy), dtype=np.float64)

    def _added(self, rows: NDArray[Any]) -> NDArray[Any]:
        sums = self._total + np.cumsum(rows, axis=0)
        self._total = sums[-1]
        return np.asarray(sums)

    def state(self) -> Plain:
        """The sum so far."""
        return {"total": self._total.tolist()}

    def load(self, state: Plain) -> None:
        """Continue."""
        self._total = np.array(state["total"], dtype=self._kind)


def read_horizon(horizon: int, most: int, name: str) -> int:
    """A number of steps that a strategy can hold."""
    steps = integer(horizon, "horizon", at_least=1)
    if steps > most:
        raise BadParameter("horizon", horizon, f"must be at most {most} for the strategy {name}")
    return steps
