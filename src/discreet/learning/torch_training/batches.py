"""Poisson batches: each row, or person, by itself, with an exact probability, from the system's randomness.

Promise: a sampler is the only way to a batch, and names the rate that the accountant uses. Any number of rows is a
batch, none included. Batches are cut into micro-batches of one fixed size, the last one filled up with rows that do not
count, so that memory and shapes do not depend on how many rows were drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadParameter
from discreet.exact import Number, integer, number
from discreet.randomness import Bits, SystemBits, words

_BITS = 32
_REST = 24  # bits that only rows need whose first 8 bits equal those of the threshold


class PoissonBatches:
    """Batches of ``rows`` rows at ``rate``, which is rounded down to a multiple of 2^-32.

    With ``units``, a number for the person of each row (-1: nobody), each person is drawn at that rate, and of a person
    who is drawn one row, each with about the same chance.

    >>> PoissonBatches(10, rate=1, micro=4).rate, len(PoissonBatches(10, rate=1, micro=4).draw())
    (Fraction(1, 1), 10)
    """

    def __init__(
        self, rows: int, *, rate: Number, micro: int, bits: Bits | None = None, units: NDArray[np.int64] | None = None
    ) -> None:
        self.rows = integer(rows, "rows", at_least=0)
        self._order = self._ends = None
        if units is not None:
            self._order = np.argsort(units, kind="stable")[int(np.sum(units < 0)) :]
            self._ends = np.cumsum(np.bincount(units[units >= 0]))
            self.rows = len(self._ends)
        self.micro = integer(micro, "micro_batch", at_least=1)
        self._threshold = int(read_rate(rate) * (1 << _BITS))
        self._bits = SystemBits() if bits is None else bits

    @property
    def rate(self) -> Fraction:
        """The probability of each row, exactly."""
        return Fraction(self._threshold, 1 << _BITS)

    def draw(self) -> NDArray[np.intp]:
        """The rows of one batch: in their order, or in that of the persons."""
        drawn = self._draw()
        if self._order is None or self._ends is None:
            return drawn
        first = np.concatenate([[0], self._ends])[drawn]
        dice = words(self._bits, len(drawn), np.uint64)
        return self._order[first + (dice % (self._ends[drawn] - first).astype(np.uint64)).astype(np.intp)]

    def _draw(self) -> NDArray[np.intp]:
        if self._threshold == 1 << _BITS:
            return np.arange(self.rows)
        first, rest = divmod(self._threshold, 1 << _REST)
        top = words(self._bits, self.rows, np.uint8)
        near = np.flatnonzero(top <= np.uint8(first))
        tied = np.flatnonzero(top[near] == first)
        taken = np.ones(len(near), dtype=np.bool_)
        taken[tied] = words(self._bits, len(tied), np.uint32) >> np.uint32(_BITS - _REST) < rest
        return near[taken]

    def micro_batches(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
        """One batch in pieces: row numbers, and 1 for those that count; no piece at all for an empty batch."""
        drawn = self.draw()
        for start in range(0, len(drawn), self.micro):
            piece = drawn[start : start + self.micro]
            filled = np.zeros(self.micro, dtype=np.intp)
            filled[: len(piece)] = piece
            counts = np.zeros(self.micro, dtype=np.float32)
            counts[: len(piece)] = 1
            yield filled, counts


def read_rate(rate: Number) -> Fraction:
    """A rate between 2^-32 and 1, rounded down to a multiple of 2^-32."""
    exact = number(rate, "rate")
    if not Fraction(1, 1 << _BITS) <= exact <= 1:
        raise BadParameter("rate", rate, "must be above 0 and at most 1: the chance of each row to be in a batch")
    return Fraction(int(exact * (1 << _BITS)), 1 << _BITS)
