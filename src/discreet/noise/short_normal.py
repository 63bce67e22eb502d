"""floor(N(0, σ²)) in 32 bits, for the σ of training: few operations and 48 bits a draw.

Draws are made in cells that are ``finer`` and rounded down: floor(floor(f N) / f) = floor(N), and in finer cells it is
rarely in doubt what rounding down gives. Of 48 bits 16 look up a block of sizes, 11 are a coin, one is the sign and 20
the place in the block. The look-up holds the block in its place, and below it a lower bound of the coin's probability,
which settles about 98 % of the draws. The others continue their bits. Those that are refused are replaced by spare
draws that were made with them.

Guarantee: exactly this law, if the bits are fair. Proof: short_normal.md.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BeyondRange
from discreet.noise.coin import flips_exp
from discreet.noise.filter import MARGIN, near_exp_array
from discreet.noise.floored_normal import HalfGaussianLaw, refused_places
from discreet.noise.table import UNDECIDED, Table
from discreet.randomness import Bits, SystemBits, words

FINEST = 14
WIDTH = 26
"""Bits of σ in finer cells: draws beyond 2^31 are then beyond 32 σ."""
_LEAST = 17
_CHUNK = 1 << 16
_SPARE = 64  # about one draw in 120 is refused
_COIN = 11
_BELOW_COIN = np.uint64(64 - _COIN)
_LARGEST = (1 << 31) - 1


def finer(sigma_squared: Fraction) -> int:
    """By which power of two, as an exponent, cells are divided.

    >>> finer(Fraction(1 << 42)), finer(Fraction(1 << 60))
    (4, 0)
    """
    return max(0, min(FINEST, WIDTH - isqrt(int(sigma_squared)).bit_length()))


def fits(sigma_squared: Fraction) -> bool:
    """Whether this sampler is for such a scale.

    >>> fits(Fraction(1 << 42)), fits(Fraction(1 << 52)), fits(Fraction(1))
    (True, False, False)
    """
    return _LEAST <= isqrt(int(sigma_squared)).bit_length() + finer(sigma_squared) <= WIDTH


class ShortNormal:
    """A sampler for one σ² of those that fit; tables are built once, and no state is kept."""

    def __init__(self, sigma_squared: Fraction, bits: Bits | None = None) -> None:
        self._bits = SystemBits() if bits is None else bits
        self._finer = finer(sigma_squared)
        self.most = 1 << 31 - self._finer
        self._law = HalfGaussianLaw(sigma_squared * 4**self._finer)
        self._r = self._law.r
        self._table = Table(self._law.thresholds, endless=True)
        decided = self._table.guide != UNDECIDED
        block = np.where(decided, self._table.guide, 0).astype(np.int64)
        sure = near_exp_array(self._law.exponents(block, 0 * block, 0 * block + (1 << self._r) - 1)) - MARGIN
        coin = np.clip(sure * (1 << _COIN), 0, (1 << _COIN) - 1).astype(np.int64)
        self._guide = np.where(decided, block << self._r | coin, 0).astype(np.int32)

    def draw(self, count: int) -> NDArray[np.int32]:
        """``count`` independent draws.

        >>> ShortNormal(Fraction(1 << 42)).draw(5).dtype
        dtype('int32')
        """
        made = np.empty(count + count // _SPARE + _SPARE, dtype=np.int32)
        refused = self._settle(made, *self._propose(made))
        bad, late = refused[refused < count], refused[refused >= count] - count
        spare = np.delete(made[count:], late)
        some = min(len(bad), len(spare))
        made[bad[:some]] = spare[:some]
        kept = made[:count]
        np.right_shift(kept, self._finer, out=kept)
        if some < len(bad):
            kept[bad[some:]] = self.draw(len(bad) - some)
        return kept

    def _propose(self, made: NDArray[np.int32]) -> tuple[NDArray[np.intp], NDArray[np.uint16], NDArray[np.uint32]]:
        """A draw for every place; the places that are still open, with their bits."""
        size = min(_CHUNK, len(made))
        scratch, entry = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
        at = np.empty(size, dtype=np.intp)
        coin = np.empty(size, dtype=np.uint32)
        rest = np.int32(31 - self._r)  # what is above the sign
        listed = []
        for start in range(0, len(made), size):
            part = made[start : start + size]
            n = len(part)
            drawn = words(self._bits, 3 * n, np.uint16)
            cell, low = drawn[:n], drawn[n:].view(np.uint32)
            at[:n] = cell
            self._guide.take(at[:n], out=entry[:n], mode="wrap")  # every cell is there: nothing is wrapped
            np.bitwise_and(entry[:n], (1 << _COIN) - 1, out=scratch[:n])
            np.right_shift(low, 32 - _COIN, out=coin[:n])
            open_ = np.flatnonzero(np.greater_equal(coin[:n].view(np.int32), scratch[:n]))
            np.left_shift(low.view(np.int32), rest, out=scratch[:n])
            np.right_shift(scratch[:n], rest, out=scratch[:n])  # the place, and the sign in all bits above it
            np.bitwise_xor(entry[:n], scratch[:n], out=part)
            listed.append((open_ + start, cell[open_], low[open_]))
        places, cells, lows = (np.concatenate(column) for column in zip(*listed, strict=True))
        return places, cells, lows

    def _settle(
        self, made: NDArray[np.int32], places: NDArray[np.intp], cell: NDArray[np.uint16], low: NDArray[np.uint32]
    ) -> NDArray[np.intp]:
        """Write open draws, continuing their bits; the places of all that are refused, some perhaps twice."""
        block = self._table.guide[cell].astype(np.int64)
        undecided = np.flatnonzero(block == UNDECIDED)
        more = words(self._bits, len(undecided) + len(places), np.uint64)
        whole = cell[undecided].astype(np.uint64) << np.uint64(48) | more[: len(undecided)] >> np.uint64(16)
        block[undecided] = self._table.indices_from(whole, self._bits)
        place = (low & np.uint32((1 << self._r) - 1)).astype(np.int64)
        heads = flips_exp(
            self._law.exponents(block, np.zeros_like(block), place),
            lambda i: self._law.exponent(int(block[i]), 0, int(place[i])),
            self._bits,
            first=(low >> np.uint32(32 - _COIN)).astype(np.uint64) << _BELOW_COIN
            | more[len(undecided) :] >> np.uint64(_COIN),
        )
        sizes = block << self._r | place
        largest = int(sizes.max(initial=0))
        if largest > _LARGEST:
            raise BeyondRange("a draw left the 32-bit range; check the source of randomness")
        made[places] = sizes ^ -((low >> np.uint32(self._r)) & np.uint32(1)).astype(np.int64)
        thin = refused_places(
            self._law.sigma_squared,
            len(made),
            self._bits,
            largest=largest,  # no other draw is beyond the usual size
            size_at=lambda i: int(made[i]) ^ (int(made[i]) >> 31),
            beyond=lambda far: places[sizes > far].tolist(),
        )
        return np.concatenate([places[~heads], np.array(thin, dtype=np.intp)])
