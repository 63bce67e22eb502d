"""Matrix factorisation with one column shifted over time: the square root of the prefix sums, and of decayed sums.

The all-ones lower triangle A is M·M, where M has c_k = c_(k-1) (1 - 1/(2k)) on its k-th diagonal, c_0 = 1. Rows of Mx
get noise, and their product with M is the answer: max error within an additive constant of the best factorisation
(Fichtenberger, Henzinger and Upadhyay 2023). For sums decayed by γ in each step both have c_k γ^k.

Here M is rounded to integers over 2^20, C, and B is what is exact for the rounded one: BC = A. So the answers are
unbiased, the price is that of C's own columns, and rounding only moves the error, by about 2^-20. Proof: strategies.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.continual.strategies import MARGIN, Appearances, Plain, Process, Strategy
from discreet.mechanisms.statistics.budget import Moves

SHIFT = 20
UNIT = 1 << SHIFT
LONGEST = 1 << 16
_GUARD = 64


@dataclass(frozen=True, slots=True)
class Toeplitz(Strategy):
    """The square-root factor for ``horizon`` steps; ``decay`` is 1 for prefix sums.

    >>> Toeplitz(4).coefficients.tolist(), float(Toeplitz(4).weight(4)) * 2**40
    ([1048576, 524288, 393216, 327680], 1.488...)
    """

    horizon: int
    decay: Fraction = Fraction(1)

    @property
    def coefficients(self) -> Integers:
        """2^20 c_k γ^k, rounded to the nearest integer."""
        return _coefficients(self.horizon, self.decay)

    def moves(self, unit: Appearances) -> Moves:
        """The columns 0, b, 2b, ... added up: coefficients fall, so these overlap the most and are the longest."""
        column, rows = self.coefficients, np.zeros(self.horizon, dtype=np.int64)
        for first in range(0, min(self.horizon, unit.steps * unit.separation), unit.separation):
            rows[first:] += column[: self.horizon - first]
        added: list[int] = rows.tolist()
        return Moves(l1=sum(added), l2_squared=sum(r * r for r in added))

    def weight(self, t: int) -> Fraction:
        """Σ b_k² of the coefficients of B, up to t."""
        return Fraction(float(_weights(self.horizon, self.decay)[t - 1])) * MARGIN

    def window_weight(self, t: int, width: int) -> Fraction:
        """The same for the sum of the last ``width`` steps: row t of B less row t - width."""
        b = _inverse(self.horizon, self.decay)[:t].copy()
        if width < t:
            b[width:] -= _inverse(self.horizon, self.decay)[: t - width]
        return Fraction(float((b**2).sum())) * MARGIN

    @property
    def longest_row(self) -> int:
        """All coefficients together."""
        return int(self.coefficients.sum())

    def start(self, keys: int) -> Process:
        """A new stream."""
        return _Convolved(self, keys)

    def start_wide(self, keys: int) -> Process:
        """The same in Python integers."""
        return _Convolved(self, keys, object)

    def story(self) -> str:
        """One line on what gets noise."""
        kind = "square root of the prefix sums" if self.decay == 1 else "square root of the decayed sums"
        return f"noise on the rows of the {kind}, in 2^-{SHIFT}"


class _Convolved(Process):
    """All values so far, and all noisy rows so far."""

    __slots__ = ("_estimated", "_inverse", "_kind", "_reversed", "_rows", "_seen", "_values")

    def __init__(self, strategy: Toeplitz, keys: int, kind: type = np.int64) -> None:
        self._kind = kind
        self._reversed = strategy.coefficients[::-1].copy()
        self._inverse = _inverse(strategy.horizon, strategy.decay)[::-1].copy()
        self._values: NDArray[Any] = np.zeros((strategy.horizon, keys), dtype=kind)
        self._rows = np.zeros((strategy.horizon, keys))
        self._seen = self._estimated = 0

    def measure(self, values: Integers) -> Integers:
        """Row t is Σ c_(t-s) x_s."""
        start, self._seen = self._seen, self._seen + len(values)
        self._values[start : self._seen] = values
        last = len(self._reversed)
        if len(values) == 1:
            return np.asarray(self._reversed[last - self._seen :] @ self._values[: self._seen])[None, :]
        return np.stack([self._reversed[last - t :] @ self._values[:t] for t in range(start + 1, self._seen + 1)])

    def estimate(self, noisy: NDArray[Any], steps: int) -> Floats:
        """Answer t is Σ b_(t-s) y_s."""
        start, self._estimated = self._estimated, self._estimated + steps
        self._rows[start : self._estimated] = noisy
        last = len(self._inverse)
        if steps == 1:
            return np.asarray(self._inverse[last - self._estimated :] @ self._rows[: self._estimated])[None, :]
        return np.stack([self._inverse[last - t :] @ self._rows[:t] for t in range(start + 1, self._estimated + 1)])

    def state(self) -> Plain:
        """Values and noisy rows."""
        return {"values": self._values[: self._seen].tolist(), "rows": self._rows[: self._estimated].tolist()}

    def load(self, state: Plain) -> None:
        """Continue."""
        keys = self._rows.shape[1]
        self._seen, self._estimated = len(state["values"]), len(state["rows"])
        self._values[: self._seen] = np.array(state["values"], dtype=self._kind).reshape(-1, keys)
        self._rows[: self._estimated] = np.array(state["rows"], dtype=np.float64).reshape(-1, keys)


@lru_cache(maxsize=8)
def _coefficients(horizon: int, decay: Fraction) -> Integers:
    """By the recurrence, in fixed point with guard bits; any integers that fall would keep the promise."""
    top, bottom = decay.numerator, decay.denominator
    value = 1 << (SHIFT + _GUARD)
    half = 1 << (_GUARD - 1)
    coefficients = []
    for k in range(horizon):
        if k:
            value = value * (2 * k - 1) * top // (2 * k * bottom)
        coefficients.append((value + half) >> _GUARD)
    result = np.array(coefficients, dtype=np.int64)
    result.setflags(write=False)
    return result


@lru_cache(maxsize=8)
def _inverse(horizon: int, decay: Fraction) -> Floats:
    """The coefficients of B = A C^-1: b_t = (γ^t - Σ_{k>=1} c_k b_(t-k)) / c_0, in floats: it is post-processing."""
    c = _coefficients(horizon, decay).astype(np.float64)
    rest = c[:0:-1].copy()
    b = np.zeros(horizon)
    target, gamma = 1.0, float(decay)
    for t in range(horizon):
        b[t] = (target - (rest[len(rest) - t :] @ b[:t] if t else 0.0)) / c[0]
        target *= gamma
    b.setflags(write=False)
    return b


@lru_cache(maxsize=8)
def _weights(horizon: int, decay: Fraction) -> Floats:
    return np.asarray(np.cumsum(_inverse(horizon, decay) ** 2))
