"""Exact noise on a graphics card: one kernel draws ChaCha20 bits, the integers of the law, and adds them in place.

The kernels compute what ``tensor_normal`` computes, word for word; there the law is written in tensor operations that
are tested on the processor, and these kernels are tested against it in the compiler's interpreter. About 97 % of the
draws are settled in the first kernel; the others go into a list, and a second kernel settles them, drawing again what
is refused, round by round. What doubles cannot settle (hardly ever anything) is settled on the processor.

Guarantee: every entry gets its own draw of floor(N(0, σ²)). Proof: tensor_normal.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import torch
import triton
import triton.language as tl
from torch import Tensor

from discreet.errors import UnsafeRandomness
from discreet.learning.torch_training.chacha import fresh_key
from discreet.learning.torch_training.tensor_normal import Tables, settle_one, tables_of
from discreet.noise.floored_normal import draw_picked, floored_normal, picked_places
from discreet.randomness import Bits, SystemBits

if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 5):
    raise ImportError("kernels are tested with triton 3.5 and newer; tensor operations do the same")

_PORTION = 1 << 27  # draws whose open ones are listed together
_BLOCK = 256  # blocks of 8 draws in one program
_ROUNDS = 6
_LANES = 256
_PROGRAMS = 1056
_HARD = 4096
_FIELDS = 4


# Triton's compiler reads these functions: no type hints but its own.


@triton.jit
def _rotate(x, by: tl.constexpr):
    return (x << by) | (x >> (32 - by))


@triton.jit
def _quarter(a, b, c, d):
    a += b
    d = _rotate(d ^ a, 16)
    c += d
    b = _rotate(b ^ c, 12)
    a += b
    d = _rotate(d ^ a, 8)
    c += d
    b = _rotate(b ^ c, 7)
    return a, b, c, d


@triton.jit
def _word(key, i: tl.constexpr):
    return tl.load(key + i).to(tl.uint32, bitcast=True)


@triton.jit
def _chacha(counter, key):
    """The 16 words of each counter's block (RFC 8439)."""
    zero = tl.zeros_like(counter)
    x0, x1, x2, x3 = zero + 0x61707865, zero + 0x3320646E, zero + 0x79622D32, zero + 0x6B206574
    x4, x5, x6, x7 = zero + _word(key, 0), zero + _word(key, 1), zero + _word(key, 2), zero + _word(key, 3)
    x8, x9, x10, x11 = zero + _word(key, 4), zero + _word(key, 5), zero + _word(key, 6), zero + _word(key, 7)
    x12, x13, x14, x15 = counter, zero + _word(key, 8), zero + _word(key, 9), zero + _word(key, 10)
    for _ in range(10):
        x0, x4, x8, x12 = _quarter(x0, x4, x8, x12)
        x1, x5, x9, x13 = _quarter(x1, x5, x9, x13)
        x2, x6, x10, x14 = _quarter(x2, x6, x10, x14)
        x3, x7, x11, x15 = _quarter(x3, x7, x11, x15)
        x0, x5, x10, x15 = _quarter(x0, x5, x10, x15)
        x1, x6, x11, x12 = _quarter(x1, x6, x11, x12)
        x2, x7, x8, x13 = _quarter(x2, x7, x8, x13)
        x3, x4, x9, x14 = _quarter(x3, x4, x9, x14)
    x0, x1, x2, x3 = x0 + 0x61707865, x1 + 0x3320646E, x2 + 0x79622D32, x3 + 0x6B206574
    x4, x5, x6, x7 = x4 + _word(key, 0), x5 + _word(key, 1), x6 + _word(key, 2), x7 + _word(key, 3)
    x8, x9, x10, x11 = x8 + _word(key, 4), x9 + _word(key, 5), x10 + _word(key, 6), x11 + _word(key, 7)
    x12, x13, x14, x15 = x12 + counter, x13 + _word(key, 8), x14 + _word(key, 9), x15 + _word(key, 10)
    return x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15


@triton.jit
def _in_order(a, b, c, d, e, f, g, h, SIZE: tl.constexpr):
    """Eight words of each block one after the other: entry 8 i + j is the j-th word of block i."""
    even = tl.join(tl.join(a, e), tl.join(c, g))
    odd = tl.join(tl.join(b, f), tl.join(d, h))
    return tl.reshape(tl.join(even, odd), (8 * SIZE,))


@triton.jit
def _long(low, high):
    return (high.to(tl.uint64) << 32 | low.to(tl.uint64)).to(tl.int64, bitcast=True)


@triton.jit
def propose(
    totals, out, base, size, key, guide, r, finer, unit, positions, words, counts, capacity, BLOCK: tl.constexpr
):
    """Draw for entries base to base + size, 8 from each counter; entries that are still open go into the list."""
    program = tl.program_id(0)
    counter = (program * BLOCK + tl.arange(0, BLOCK)).to(tl.uint32)
    x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15 = _chacha(counter, key)
    low = _in_order(x0, x2, x4, x6, x8, x10, x12, x14, BLOCK)
    high = _in_order(x1, x3, x5, x7, x9, x11, x13, x15, BLOCK)
    place = program * (8 * BLOCK) + tl.arange(0, 8 * BLOCK)
    inside = place < size
    at = base + place
    entry = tl.load(guide + (high >> 16).to(tl.int32))
    open_ = (high & 0xFFFF).to(tl.int32) >= (entry & 0xFFFF)
    mask = (tl.full((), 1, tl.uint32) << r) - 1
    drawn = ((entry >> 16).to(tl.int64) << r) | (low & mask).to(tl.int64)
    drawn = drawn ^ -((low >> 31).to(tl.int64))
    total = tl.load(totals + at, mask=inside, other=0).to(tl.int64)
    tl.store(out + at, (total * finer + drawn).to(tl.float32) * unit, mask=inside & ~open_)
    listed = (open_ & inside).to(tl.int32)
    start = tl.atomic_add(counts, tl.sum(listed, axis=0))
    slot = start + tl.cumsum(listed, axis=0) - listed
    keep = (listed != 0) & (slot < capacity)
    tl.store(positions + slot, at, mask=keep)
    tl.store(words + slot, _long(low, high), mask=keep)


@triton.jit
def settle(
    totals, out, positions, words, key, index, lows, highs, highs_count, exps, over, r, usual, finer, unit,
    counts, source, target, refused_at, capacity, hard, hard_count, hard_capacity,
    GIVEN: tl.constexpr, LAST: tl.constexpr, STEPS: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """Settle listed entries with a block of bits each; those that are refused go into the next list.

    GIVEN: the first word of each draw is the one that left it open; else it is new.
    """
    count = tl.minimum(tl.load(counts + source), capacity)
    for first in range(tl.program_id(0) * LANES, count, tl.num_programs(0) * LANES):
        lane = first + tl.arange(0, LANES)
        inside = lane < count
        x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15 = _chacha(lane.to(tl.uint32), key)
        at = tl.load(positions + lane, mask=inside, other=0)
        if GIVEN:
            word = tl.load(words + lane, mask=inside, other=0)
        else:
            word = _long(x0, x1)
        more_block, more_coin = _long(x2, x3), _long(x4, x5)
        cell = (word >> 48) & 0xFFFF
        block = tl.load(index + cell).to(tl.int64)
        unknown = block < 0
        wide = ((cell << 48) | (more_block & 0xFFFFFFFFFFFF)) ^ (-0x7FFFFFFFFFFFFFFF - 1)
        bottom = tl.zeros_like(lane)
        top = bottom + highs_count
        for _ in range(STEPS):
            middle = (bottom + top) // 2
            more = (bottom < top) & (tl.load(highs + tl.minimum(middle, highs_count - 1)) <= wide)
            top = tl.where(more | (bottom >= top), top, middle)
            bottom = tl.where(more, middle + 1, bottom)
        unsure = unknown & (wide >= tl.load(lows + bottom))
        block = tl.where(unknown, bottom.to(tl.int64), block)
        place = word & ((tl.full((), 1, tl.int64) << r) - 1)
        start = (block << r).to(tl.float64)
        step = place.to(tl.float64)
        x = tl.minimum((2 * start + step) * step * tl.load(over), 64.0)
        k = (8 * x).to(tl.int32)
        rest = x - k.to(tl.float64) * 0.125
        series = tl.full((LANES,), 1.0, tl.float64)
        for n in tl.static_range(11):
            series = 1.0 - rest * series / (11.0 - n)
        coin = (((word >> 32) & 0xFFFF) << 48) | (more_coin & 0xFFFFFFFFFFFF)
        known = ((coin >> 11) & 0x1FFFFFFFFFFFFF).to(tl.float64) * 1.1102230246251565e-16
        difference = known - tl.load(exps + k) * series
        refused = difference >= 0
        size = (block << r) | place
        unsure = unsure | (tl.abs(difference) <= 1.8189894035458565e-12) | (~refused & (size > usual))
        drawn = size ^ -((word >> 31) & 1)
        total = tl.load(totals + at, mask=inside, other=0).to(tl.int64)
        done = inside & ~refused & ~unsure
        tl.store(out + at, (total * finer + drawn).to(tl.float32) * unit, mask=done)
        again = inside & refused & ~unsure
        hard_now = inside & unsure
        if LAST:  # what is refused even now is drawn on the processor
            hard_now = hard_now | again
        else:
            listed = again.to(tl.int32)
            slot = tl.atomic_add(counts + target, tl.sum(listed, axis=0)) + tl.cumsum(listed, axis=0) - listed
            tl.store(refused_at + slot, at, mask=again & (slot < capacity))
        listed = hard_now.to(tl.int32)
        many = tl.sum(listed, axis=0)
        if many > 0:
            slot = tl.atomic_add(hard_count, many) + tl.cumsum(listed, axis=0) - listed
            keep = hard_now & (slot < hard_capacity)
            tl.store(hard + 4 * slot, tl.where(again, -1 - at, at), mask=keep)
            tl.store(hard + 4 * slot + 1, word, mask=keep)
            tl.store(hard + 4 * slot + 2, more_block, mask=keep)
            tl.store(hard + 4 * slot + 3, more_coin, mask=keep)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Randomness for one call; used once."""

    picked: dict[int, int]
    """The noise of picked entries."""
    keys: Tensor
    """A key for every launch, by portion and round."""
    bits: Bits


@dataclass(frozen=True, slots=True)
class NoiseAdder:
    """Adds noise of one σ² in cells that are ``finer`` times finer than those of the totals."""

    sigma_squared: Fraction
    finer: int
    device: torch.device
    portion: int = _PORTION

    @property
    def tables(self) -> Tables:
        """What the kernels look things up in."""
        return tables_of(self.sigma_squared, str(self.device))

    def prepare(self, size: int, bits: Bits | None = None) -> Prepared:
        """What can be drawn before the totals are known: keys, and the noise of entries that are picked."""
        source = SystemBits() if bits is None else bits
        picked = {i: draw_picked(self.sigma_squared, source) for i in picked_places(self.sigma_squared, size, source)}
        count = -(-size // self.portion) * (_ROUNDS + 1)
        keys = torch.tensor([fresh_key() for _ in range(count)], dtype=torch.int32).to(self.device, non_blocking=True)
        return Prepared(picked, keys.view(-1, _ROUNDS + 1, keys.shape[1]), source)

    def add(self, totals: Tensor, unit: float) -> Tensor:
        """(totals + noise) times unit, in single precision; totals of 32 bits are overwritten."""
        return self.launch(totals, unit, self.prepare(len(totals))).finish()

    def launch(self, totals: Tensor, unit: float, prepared: Prepared) -> Launched:
        """The same without waiting for the card; the result is complete after ``finish``."""
        before = {i: totals[i].clone() for i in prepared.picked}
        long = totals.dtype != torch.int32
        out = torch.empty_like(totals, dtype=torch.float32) if long else totals.view(torch.float32)
        scale = unit / self.finer
        hard, counts, capacity = self._launch(totals, out, scale, prepared.keys)
        return Launched(self, totals, out, scale, prepared, before, hard, counts, capacity)

    def _launch(self, totals: Tensor, out: Tensor, scale: float, keys: Tensor) -> tuple[Tensor, Tensor, int]:
        tables, device = self.tables, totals.device
        size = len(totals)
        portions = range(0, size, self.portion)
        capacity = tables.most_open(min(self.portion, size))
        counts = torch.zeros(len(portions), _ROUNDS + 2, dtype=torch.int32, device=device)
        lists = [torch.empty(capacity, dtype=torch.int64, device=device) for _ in range(3)]
        words = lists.pop()
        hard = torch.empty(_HARD, _FIELDS, dtype=torch.int64, device=device)
        hard_count = torch.zeros(1, dtype=torch.int32, device=device)
        steps = len(tables.high).bit_length() + 1
        for number, base in enumerate(portions):
            many = min(self.portion, size - base)
            key, count = keys[number], counts[number]
            propose[(triton.cdiv(many, 8 * _BLOCK),)](
                totals, out, base, many, key[0], tables.short_guide, tables.r, self.finer, scale, lists[0], words,
                count, capacity, BLOCK=_BLOCK, num_warps=4,
            )  # fmt: skip
            for turn in range(_ROUNDS):
                programs = max(1, min(_PROGRAMS, capacity // _LANES >> 6 * turn))
                settle[(programs,)](
                    totals, out, lists[turn % 2], words, key[turn + 1], tables.short_index, tables.low, tables.high,
                    len(tables.high), tables.exps, tables.over_there, tables.r, tables.usual, self.finer, scale, count,
                    turn, turn + 1, lists[(turn + 1) % 2], capacity, hard, hard_count, _HARD,
                    GIVEN=turn == 0, LAST=turn == _ROUNDS - 1, STEPS=steps, LANES=_LANES, num_warps=4,
                )  # fmt: skip
        return hard, torch.cat([hard_count, counts.amax().view(1)]), capacity


@dataclass(frozen=True, slots=True)
class Launched:
    """Noise that a graphics card is about to add."""

    adder: NoiseAdder
    totals: Tensor
    out: Tensor
    scale: float
    prepared: Prepared
    before: dict[int, Tensor]
    hard: Tensor
    counts: Tensor
    capacity: int

    def finish(self) -> Tensor:
        """Wait, and settle here what the kernels left open."""
        listed, most = self.counts.tolist()
        if listed > _HARD or most > self.capacity:
            raise UnsafeRandomness("far more draws stayed open than fair bits allow; check the source of randomness")
        bits, square = self.prepared.bits, self.adder.sigma_squared
        for at, word, more_block, more_coin in self.hard[:listed].tolist():
            if at >= 0:
                self._write(at, self.totals[at], settle_one(self.adder.tables, word, more_block, more_coin, bits))
            else:
                self._write(-1 - at, self.totals[-1 - at], int(floored_normal(square, 1, bits)[0]))
        for at, drawn in self.prepared.picked.items():
            self._write(at, self.before[at], drawn)
        return self.out

    def _write(self, at: int, total: Tensor, drawn: int) -> None:
        self.out[at] = float((int(total) * self.adder.finer + drawn) * self.scale)
