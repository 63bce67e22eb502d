"""Timing (Jin et al. 2022): does the time of a draw, or the number of bits it reads, tell how large the noise is?

Measured is the rank correlation of the size of the noise with the time, and with the bits read. A textbook sampler that
counts coin flips shows nearly everything. A bulk draw has one time for all; a single draw here reads a table, which
leaves little; a fixed reply time hides the rest (docs/explanation/limits.md).
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns

import numpy as np

from discreet.checking.attacks.table import AttackTable, Row
from discreet.exact import Number, integer, positive
from discreet.mechanisms.additive.laplace import laplace
from discreet.noise import coin
from discreet.randomness import Bits, SystemBits

Draw = Callable[[Bits], int]


def timing(*, scale: Number = 20, trials: int = 2000) -> AttackTable:
    """Rank correlation of abs(noise) with time and with bits read, for single draws.

    >>> table = timing(trials=200)
    >>> table.row("coin by coin, bits").success > 0.9
    True
    """
    b, trials = positive(scale, "scale"), integer(trials, "trials", at_least=20)
    ours = laplace(sensitivity=1, scale=b)
    ours.draw(0, SystemBits())  # the table is built once, before anything is timed
    step = coin.exponential(1 / b)

    def textbook(bits: Bits) -> int:
        size = 0
        while coin.flip(step, bits):
            size += 1
        return size if bits.bits(1) else -size

    naive = _measured(textbook, trials)
    table = _measured(lambda bits: int(ours.noise(None, bits)), trials)
    return AttackTable(
        "timing",
        "rank correlation of the size of the noise with what an observer sees",
        (
            Row("coin by coin, time", naive[0]),
            Row("coin by coin, bits read", naive[1]),
            Row("ours, one draw, time", table[0]),
            Row("ours, one draw, bits read", table[1]),
            Row("ours, a bulk draw", 0.0, 0.0),
        ),
        "No privacy theorem speaks of time. Reply on a fixed grid of time, and never return a measured one.",
    )


class _Counting:
    """The system's bits, counted."""

    def __init__(self) -> None:
        self._source, self.read = SystemBits(), 0

    def bits(self, count: int) -> int:
        self.read += count
        return self._source.bits(count)

    def bytes(self, count: int) -> bytes:
        self.read += 8 * count
        return self._source.bytes(count)

    def below(self, n: int) -> int:
        k = (n - 1).bit_length()
        while (drawn := self.bits(k)) >= n:
            pass
        return drawn


def _measured(draw: Draw, trials: int) -> tuple[float, float]:
    sizes, times, read = [], [], []
    for _ in range(trials):
        source = _Counting()
        start = perf_counter_ns()
        value = draw(source)
        times.append(perf_counter_ns() - start)
        sizes.append(abs(value))
        read.append(source.read)
    return rank_correlation(sizes, times), rank_correlation(sizes, read)


def rank_correlation(first: list[int], second: list[int]) -> float:
    """Spearman's coefficient, in absolute value; 0 where one of the two never changes.

    >>> rank_correlation([1, 2, 3], [10, 20, 30]), rank_correlation([1, 2, 3], [5, 5, 5])
    (1.0, 0.0)
    """
    a, b = (_ranks(np.asarray(x, dtype=np.float64)) for x in (first, second))
    spread = float(np.std(a) * np.std(b))
    if spread == 0:
        return 0.0
    return abs(round(float(np.mean((a - a.mean()) * (b - b.mean()))) / spread, 12))


def _ranks(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    order = np.sort(values)
    left, right = np.searchsorted(order, values, "left"), np.searchsorted(order, values, "right")
    return (left + right + 1) / 2
