"""floor(N(0, σ²)) as integer tensor operations, on the processor and on graphics cards.

A draw is one 64-bit word: 16 bits look up a block of sizes, 16 are a coin, the rest is the place in the block and the
sign. The look-up also holds a lower bound of the coin's probability, which settles about 97 % of the draws in a few
integer operations. The others take 96 more bits and one comparison in doubles with a margin; what lies within the
margin (one in 2^38) is settled on the processor in exact arithmetic with the same bits.

Guarantee: exactly this law, if the bits are fair. Proof: tensor_normal.md.
Believes: integer operations, and double addition and multiplication within 2^-45 (also where they are fused).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from discreet.errors import BadParameter
from discreet.learning.torch_training.chacha import (
    BLOCK,
    as_words,
    chacha_blocks,
    fresh_key,
    key_tensor,
    uniform_words,
)
from discreet.noise.coin import exponential
from discreet.noise.filter import LARGEST, MARGIN, near_exp_array
from discreet.noise.floored_normal import HalfGaussianLaw, floored_normal, refused, refused_places, usual_size
from discreet.noise.lazy import count_below, is_below
from discreet.noise.table import UNDECIDED, Table
from discreet.randomness import Bits, SystemBits

_PORTION = 1 << 21  # blocks of 8 draws that are made together
_SPARE = 40  # about one draw in 70 is refused
_COIN = 0xFFFF
_LOW_48 = (1 << 48) - 1
_SIGN = 31
_FLIP = -(1 << 63)  # turns the order of unsigned words into that of signed ones


class TensorNormal:
    """A sampler for one σ² on one device; tables are built once, and no state is kept."""

    def __init__(self, sigma_squared: Fraction, device: torch.device | str = "cpu", bits: Bits | None = None) -> None:
        self._tables = tables_of(sigma_squared, str(device))
        self._device = torch.device(device)
        self._bits = SystemBits() if bits is None else bits

    def draw(self, count: int) -> Tensor:
        """``count`` independent draws, 64-bit integers: a few more are tried, and those that are refused left out.

        >>> TensorNormal(Fraction(1 << 40)).draw(5).shape
        torch.Size([5])
        """
        kept: list[Tensor] = []
        missing = count
        while missing > 0:
            blocks = -(-(missing + missing // _SPARE + 2 * BLOCK) // BLOCK)
            tried = self._try(min(blocks, _PORTION))
            kept.append(tried[:missing])
            missing -= len(kept[-1])
        return torch.cat(kept) if kept else torch.empty(0, dtype=torch.int64, device=self._device)

    def _try(self, blocks: int) -> Tensor:
        """Draws from so many blocks of the stream, without those that were refused."""
        counters = torch.arange(blocks, dtype=torch.int32, device=self._device)
        key = key_tensor(fresh_key(), self._device)
        words, values, open_ = fast_draws(counters, key, self._tables.guide, self._tables.r)
        keep = torch.ones_like(open_)
        places = open_.nonzero().squeeze(1)
        values[places], refused = self.settle(words[places])
        keep[places] = ~refused
        sizes = values ^ (values >> 63)  # of k and -1 - k the size is k
        thin = refused_places(
            self._tables.law.sigma_squared,
            len(values),
            self._bits,
            largest=int(sizes.max()),
            size_at=lambda i: int(sizes[i]),
            beyond=lambda far: (sizes > far).nonzero().squeeze(1).tolist(),
        )
        keep[torch.tensor(thin, dtype=torch.int64, device=self._device)] = False
        return values[keep]

    def settle(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Open draws: their values, and which were refused."""
        tables = self._tables
        block = self._blocks((words >> 48) & _COIN)
        place = words & ((1 << tables.r) - 1)
        size = (block << tables.r) | place
        start = (block << tables.r).double()
        exponent = (2 * start + place.double()) * place.double() * tables.over
        fresh = uniform_words(len(words), self._device) & _LOW_48
        coin = (((words >> 32) & _COIN) << 48) | fresh
        difference = ((coin >> 11) & ((1 << 53) - 1)).double() * 2.0**-53 - tables.near_exp(exponent)
        refused = difference >= 0
        for i in (difference.abs() <= 2 * MARGIN).nonzero().squeeze(1).tolist():
            top, bottom = tables.law.exponent(int(block[i]), 0, int(place[i]))
            first = int(coin[i]) & ((1 << 64) - 1)
            refused[i] = not is_below(exponential(Fraction(top, bottom)), first, 64, self._bits)
        return size ^ -((words >> _SIGN) & 1), refused

    def _blocks(self, cell: Tensor) -> Tensor:
        """The block of each cell; cells that hold a threshold look at 48 bits more."""
        tables = self._tables
        block = tables.index[cell]
        undecided = (block == UNDECIDED).nonzero().squeeze(1)
        fresh = uniform_words(len(undecided), self._device) & _LOW_48
        word = (cell[undecided] << 48) | fresh
        found = torch.searchsorted(tables.high, word ^ _FLIP, right=True)
        for i in ((word ^ _FLIP) >= tables.low[found]).nonzero().squeeze(1).tolist():
            first = int(word[i]) & ((1 << 64) - 1)
            found[i] = count_below(tables.law.thresholds, first, 64, self._bits, endless=True)
        block[undecided] = found
        return block


def fast_draws(counters: Tensor, key: Tensor, guide: Tensor, r: int) -> tuple[Tensor, Tensor, Tensor]:
    """Words, draws and which of them are still open: 8 for each counter, in the stream's order."""
    words = torch.stack(as_words(chacha_blocks(counters, key)), dim=1).flatten()
    entry = guide[(words >> 48) & _COIN]
    open_ = ((words >> 32) & _COIN) >= (entry & _COIN)
    size = ((entry >> 16) << r) | (words & ((1 << r) - 1))
    return words, size ^ -((words >> _SIGN) & 1), open_


def settle_one(tables: Tables, word: int, more_block: int, more_coin: int, bits: Bits) -> int:
    """An open draw by exact arithmetic alone, from the words that left it open; a new draw where it is refused."""
    cell, place = (word >> 48) & _COIN, word & ((1 << tables.r) - 1)
    block = int(tables.index[cell])
    if block == UNDECIDED:
        first = (cell << 48) | (more_block & _LOW_48)
        block = count_below(tables.law.thresholds, first, 64, bits, endless=True)
    coin = (((word >> 32) & _COIN) << 48) | (more_coin & _LOW_48)
    size = (block << tables.r) | place
    keep = is_below(exponential(Fraction(*tables.law.exponent(block, 0, place))), coin, 64, bits)
    if keep and size > tables.usual:
        keep = not refused(tables.law.sigma_squared, size, 0, bits)
    if not keep:
        return int(floored_normal(tables.law.sigma_squared, 1, bits)[0])
    return size ^ -((word >> _SIGN) & 1)


class Tables:
    """The guide with each block above and the sure part of its coin below, and what the slower stages look at."""

    def __init__(self, sigma_squared: Fraction, device: str) -> None:
        self.law = HalfGaussianLaw(sigma_squared)
        self.r = self.law.r
        if not 1 <= self.r <= _SIGN:
            raise BadParameter("sigma_squared", sigma_squared, "must lie between 2^12 and 2^72 for this sampler")
        table = Table(self.law.thresholds, endless=True)
        index = table.guide.astype(np.int64)
        known = index != UNDECIDED
        block = np.where(known, index, 0)
        last = np.full_like(block, (1 << self.r) - 1)
        sure = (near_exp_array(self.law.exponents(block, np.zeros_like(block), last)) - MARGIN) * 65536
        packed = np.where(known, block << 16 | np.clip(sure, 0, 65535).astype(np.int64), 0)
        low, high = self.law.thresholds(64)
        top = 1 << 64
        self.guide = torch.tensor(packed, device=device)
        self.index = torch.tensor(index, device=device)
        self.low = torch.tensor([min(x, top - 1) + _FLIP for x in low] + [_FLIP], device=device)
        self.high = torch.tensor([x + _FLIP for x in high if x < top], device=device)
        self.over = float(1 / (2 * sigma_squared))
        self.exps = torch.tensor(near_exp_array(np.arange(8 * LARGEST + 2) / 8.0), device=device)
        # for the kernels: short integers, and a double that is not passed through single precision
        self.usual = usual_size(sigma_squared)
        self.short_guide, self.short_index = self.guide.int(), self.index.int()
        self.over_there = torch.tensor([self.over], dtype=torch.float64, device=device)
        self._open = float(1 - (packed & _COIN).mean() / 65536)
        if int(block.max()) << self.r > self.usual:
            raise BadParameter("sigma_squared", sigma_squared, "has no table: a far block is decided by 16 bits")

    def most_open(self, count: int) -> int:
        """More draws than this stay open of ``count`` with a chance below 2^-100."""
        return int(self._open * count + 12 * (self._open * count) ** 0.5) + 64

    def near_exp(self, x: Tensor) -> Tensor:
        """exp(-x) within the margin, for x >= 0: a table at multiples of 1/8 and a polynomial between them."""
        x = x.clamp(max=float(LARGEST))
        k = (8 * x).to(torch.int64)
        rest = x - k.double() / 8
        series = torch.ones_like(rest)
        for n in range(11, 0, -1):
            series = 1 - rest / n * series
        return self.exps[k] * series


@lru_cache(maxsize=8)
def tables_of(sigma_squared: Fraction, device: str) -> Tables:
    """Tables are built once for a scale and a device."""
    return Tables(sigma_squared, device)
