"""Integers in blocks of 2^r: a table draws the block, r fair bits the place in it, a coin evens out the rest.

For a law with weights exp(-phi(|x|)), phi convex and growing, write x = g * 2^r + place, 0 <= place < 2^r. With
h = g for g >= 0 and h = -1 - g for g < 0, and ``low`` the distance from the end of the block that is nearest to zero,

    |x| = h * 2^r + low          for g >= 0 (low = place),
    |x| = h * 2^r + 1 + low      for g < 0  (low = 2^r - 1 - place),

so every integer has one (g, place), zero included. Draw g with weight exp(-phi(start)), start = |x| at low = 0;
draw the place uniformly; keep x with probability exp(-(phi(|x|) - phi(start))), else draw everything again. The product
is exp(-phi(|x|)): the law is exact.

A whole draw fits into one 64-bit word for r <= 32: 16 bits for the guide of the block table, 16 for the coin, the
rest for the place. The guide entry holds g and a lower bound of the coin's probability anywhere in the block, so that
one look-up and one comparison accept about 97 % of the draws. The rest take the slow path, which keeps every bit
they have drawn and adds more.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BeyondRange
from discreet.noise.coin import flip_exp, flips_exp
from discreet.noise.filter import MARGIN, near_exp_array
from discreet.noise.lazy import STEP
from discreet.noise.table import UNDECIDED, Table
from discreet.randomness import Bits, words

CHUNK = 1 << 15
_PENDING = 1 << 14
_RANGE = 1 << 62
_GUIDE_SHIFT = np.uint64(48)
_COIN_SHIFT = np.uint64(32)
_LOW_16 = np.uint64(0xFFFF)
_LOW_48 = np.uint64((1 << 48) - 1)
_EMPTY = -(1 << 15)  # marks the undecided cells of a guide without coins


class Law(Protocol):
    """What the sampler needs to know of a law; index j means h = j // 2, g < 0 for odd j."""

    r: int
    one_sided: bool
    """Only g >= 0: index j means h = j."""
    wrap: int | None
    """The first h that the table leaves out, for a memoryless law; None if the table has no end."""

    def thresholds(self, n: int) -> tuple[Sequence[int], Sequence[int]]:
        """Bounds of the cumulated block probabilities, times 2^n."""
        ...

    def exponent(self, h: int, negative: int, low: int) -> tuple[int, int]:
        """phi(|x|) - phi(start) as a pair of integers."""
        ...

    def exponents(
        self, h: NDArray[np.int64], negative: NDArray[np.int64], low: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The same in floats, within a relative 2^-48."""
        ...


class Blocks:
    """A sampler for one law with its parameter, built once and used for many draws. It has no state."""

    __slots__ = ("_beyond", "_guide", "_law", "_margin", "_r", "_table", "_wrap_by")

    def __init__(
        self, law: Law, *, guide_bits: int = 16, word_bits: int = 64, step: int = STEP, margin: float = MARGIN
    ) -> None:
        self._law = law
        self._r = law.r
        self._wrap_by = (law.wrap or 0) << law.r
        self._table = Table(
            law.thresholds, endless=law.wrap is None, guide_bits=guide_bits, word_bits=word_bits, step=step
        )
        self._margin = margin
        # the index that stands for "beyond the table"
        self._beyond = -1 if law.wrap is None else law.wrap if law.one_sided else 2 * law.wrap
        self._guide = self._pack() if guide_bits == 16 else np.zeros(0, dtype=np.int32)

    def _split(self, j: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Index -> (h, whether negative)."""
        if self._law.one_sided:
            return j, np.zeros_like(j)
        return j >> 1, j & 1

    def _pack(self) -> NDArray[np.int32]:
        """The guide with g above and the sure part of the coin below; 0 below marks a cell that decides nothing."""
        j = self._table.guide.astype(np.int64)
        closed = (j != UNDECIDED) & (j != self._beyond)
        h, negative = self._split(np.where(closed, j, 0))
        g = h ^ -negative
        if self._r == 0:
            return np.where(closed, g, _EMPTY).astype(np.int32)
        end = np.full_like(h, (1 << self._r) - 1)
        sure = (near_exp_array(self._law.exponents(h, negative, end)) - MARGIN) * 65536
        return np.where(closed, g << 16 | np.clip(sure, 0, 65535).astype(np.int64), 0).astype(np.int32)

    # --- one draw -----------------------------------------------------------------------------------------------------

    def draw(self, bits: Bits) -> int:
        """One exact draw."""
        r = self._r
        while True:
            j = self._table.index(bits)
            away = 0
            while j == self._beyond:  # memoryless: what lies beyond the table looks like the whole
                away += self._wrap_by
                j = self._table.index(bits)
            h, negative = (j, 0) if self._law.one_sided else (j >> 1, j & 1)
            if r:
                low = bits.bits(r)
                if not flip_exp(*self._law.exponent(h, negative, low), bits):
                    continue
                size = away + (h << r) + low
            else:
                size = away + h
            return -1 - size if negative else size

    # --- many draws ---------------------------------------------------------------------------------------------------

    def sample(self, size: int, bits: Bits) -> NDArray[np.int64]:
        """``size`` independent exact draws."""
        out = np.empty(size, dtype=np.int64)
        fill = self._fill_blocks if self._r else self._fill_cells
        fill(out, bits)
        return out

    def _fill_cells(self, out: NDArray[np.int64], bits: Bits) -> None:
        """r = 0: two bytes a draw, straight through the guide."""
        guide = self._guide.astype(np.int16)
        for start in range(0, len(out), CHUNK):
            part = out[start : start + CHUNK]
            cell = words(bits, len(part), np.uint16)
            g = guide.take(cell)
            part[:] = g
            missing = np.flatnonzero(g == _EMPTY)
            if len(missing):
                j = self._indices(cell[missing].astype(np.uint64), bits)
                part[missing] = self._settle(j, None, None, bits)

    def _fill_blocks(self, out: NDArray[np.int64], bits: Bits) -> None:
        """r > 0: one word a draw (two beyond r = 32); the undecided are collected and settled together."""
        r = self._r
        mask = np.uint64((1 << r) - 1)
        pending: list[tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]] = []
        waiting = 0
        size = min(CHUNK, len(out))
        cell, coin = np.empty(size, dtype=np.uint64), np.empty(size, dtype=np.uint64)
        entry = np.empty(size, dtype=np.int32)
        for start in range(0, len(out), CHUNK):
            part = out[start : start + CHUNK]
            n = len(part)
            word = words(bits, n, np.uint64)
            place = (word if r <= 32 else words(bits, n, np.uint64)) & mask
            np.right_shift(word, _GUIDE_SHIFT, out=cell[:n])
            np.right_shift(word, _COIN_SHIFT, out=coin[:n])
            self._guide.take(cell[:n].view(np.int64), out=entry[:n], mode="wrap")
            # coin's low 16 bits against the entry's low 16 bits, g from its high half
            refused = (coin[:n].astype(np.uint16)) >= entry[:n].astype(np.uint16)
            np.right_shift(entry[:n], 16, out=entry[:n])
            np.left_shift(entry[:n], r, out=part, dtype=np.int64)
            part |= place.view(np.int64)
            bad = np.flatnonzero(refused)
            pending.append((bad + start, word[bad], place[bad].view(np.int64)))
            waiting += len(bad)
            if waiting >= _PENDING or start + CHUNK >= len(out):
                index, late, places = (np.concatenate(column) for column in zip(*pending, strict=True))
                out[index] = self._slow(late, places, bits)
                pending, waiting = [], 0

    def _slow(self, word: NDArray[np.uint64], place: NDArray[np.int64], bits: Bits) -> NDArray[np.int64]:
        """Finish draws that the fast path left open, continuing their words."""
        cell = word >> _GUIDE_SHIFT
        j = self._table.guide[cell.view(np.int64)].astype(np.int64)
        undecided = np.flatnonzero(j == UNDECIDED)
        j[undecided] = self._indices(cell[undecided], bits)
        coin = ((word >> _COIN_SHIFT) & _LOW_16) << _GUIDE_SHIFT
        coin |= words(bits, len(word), np.uint64) & _LOW_48
        return self._settle(j, place, coin, bits)

    def _indices(self, cell: NDArray[np.uint64], bits: Bits) -> NDArray[np.int64]:
        """Block indices of draws whose guide cell does not tell."""
        more = self._table.word_bits - 16
        fresh = words(bits, len(cell), np.uint64) >> np.uint64(64 - more)
        return self._table.indices_from(cell << np.uint64(more) | fresh, bits)

    def _settle(
        self,
        j: NDArray[np.int64],
        place: NDArray[np.int64] | None,
        coin: NDArray[np.uint64] | None,
        bits: Bits,
    ) -> NDArray[np.int64]:
        """Index, place and coin -> value; draws again what the coin refuses.

        Beyond the table of a memoryless law only the block is drawn again, farther out: its place and coin stay, so
        that what lies beyond is refused as often as the rest.
        """
        r = self._r
        away = np.zeros_like(j)
        beyond = np.flatnonzero(j == self._beyond)
        while len(beyond):
            away[beyond] += self._law.wrap or 0
            self._check_range(away)
            j[beyond] = self._indices(words(bits, len(beyond), np.uint16).astype(np.uint64), bits)
            beyond = beyond[j[beyond] == self._beyond]
        h, negative = self._split(j)
        self._check_range(h + away)
        value = ((h + away) ^ -negative) << r
        if place is not None:
            low = np.where(negative == 1, (1 << r) - 1 - place, place)
            heads = flips_exp(
                self._law.exponents(h, negative, low),
                lambda i: self._law.exponent(int(h[i]), int(negative[i]), int(low[i])),
                bits,
                first=coin,
                margin=self._margin,
            )
            value |= place
            refused = np.flatnonzero(~heads)
            if len(refused):
                value[refused] = self.sample(len(refused), bits)
        return value

    def _check_range(self, h: NDArray[np.int64]) -> None:
        if len(h) and int(h.max()) >= _RANGE >> self._r:
            raise BeyondRange("a draw left the 64-bit range; check the source of randomness")


def block_bits(scale: Fraction) -> int:
    """The r with scale / 2^r in [32, 64), or 0 below 64: few enough blocks for a small table, small enough for a high
    acceptance.

    >>> block_bits(Fraction(10)), block_bits(Fraction(64)), block_bits(Fraction(1000))
    (0, 1, 4)
    """
    return max(0, int(scale).bit_length() - 6)
