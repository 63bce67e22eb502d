"""Inverse-CDF tables read through a guide: one look-up decides almost every draw.

Promise: an index j comes out with probability exactly T_{j+1} - T_j, if the bits are fair.
Believes: the bounds that ``thresholds`` gives are true. How tight they are moves time, never a probability.

The guide has one cell for each value of the first ``guide_bits`` bits of U. A cell that lies between two
thresholds is decided; the others, about one for each threshold, look at ``word_bits`` bits, and the rare draws
that even these cannot settle go to ``lazy.count_below``. Every stage keeps the bits of the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.noise.lazy import STEP, Thresholds, count_below
from discreet.randomness import Bits

UNDECIDED = -1


class Table:
    """The thresholds of one law, at word precision, and the guide to them."""

    __slots__ = ("_endless", "_high", "_low", "_thresholds", "guide", "guide_bits", "guide_list", "step", "word_bits")

    def __init__(
        self, thresholds: Thresholds, *, endless: bool, guide_bits: int = 16, word_bits: int = 64, step: int = STEP
    ) -> None:
        self._thresholds = lru_cache(maxsize=2)(thresholds)
        self._endless = endless
        self.guide_bits = guide_bits
        self.word_bits = word_bits
        self.step = step
        low, high = self._thresholds(word_bits)
        top = 1 << word_bits
        # A word of all ones stays open where a threshold may be 1; the last entry stands behind all thresholds.
        self._low = np.array([min(x, top - 1) for x in low] + [0], dtype=np.uint64)
        self._high = np.array([x for x in high if x < top], dtype=np.uint64)
        self.guide = self._guide(low, high)
        self.guide_list: list[int] = self.guide.tolist()

    def _guide(self, low: Sequence[int], high: Sequence[int]) -> NDArray[np.int32]:
        """Cell -> index, or UNDECIDED where a threshold may lie inside the cell."""
        last_cell = (1 << self.guide_bits) - 1
        shift = self.word_bits - self.guide_bits
        first = [min(x >> shift, last_cell) for x in low]
        last = [min(x >> shift, last_cell) for x in high]
        guide = np.cumsum(np.bincount(np.array(last, dtype=np.int64), minlength=last_cell + 1)).astype(np.int32)
        for a, b in zip(first, last, strict=True):
            guide[a : b + 1] = UNDECIDED
        if self._endless:
            guide[last_cell] = UNDECIDED
        return guide

    def index(self, bits: Bits) -> int:
        """One draw."""
        cell = bits.bits(self.guide_bits)
        j = self.guide_list[cell]
        return j if j != UNDECIDED else self.index_from(cell, self.guide_bits, bits)

    def index_from(self, u: int, n: int, bits: Bits) -> int:
        """One draw, given the first n bits of its uniform."""
        more = max(0, self.word_bits - n)
        u = u << more | bits.bits(more)
        return count_below(self._thresholds, u, n + more, bits, endless=self._endless, step=self.step)

    def indices_from(self, word: NDArray[np.uint64], bits: Bits) -> NDArray[np.int64]:
        """Draws whose first ``word_bits`` bits are given."""
        j = np.searchsorted(self._high, word, side="right")
        undecided = word >= self._low[j]
        if not self._endless:
            undecided &= j < len(self._low) - 1
        for i in np.flatnonzero(undecided).tolist():
            j[i] = self.index_from(int(word[i]), self.word_bits, bits)
        return j
