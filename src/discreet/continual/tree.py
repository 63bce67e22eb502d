"""The binary tree: noise on the sum of every dyadic block, joined by weights that use all blocks that have ended.

Guarantee: a value is in one block of each of h levels, h = ceil(log2 T) (1 for T = 1): L1 h and squared L2 h. A prefix
sum is made of at most h + 1 blocks; the estimate of a block joins its own noisy sum with those of its two halves, each
weighted with the inverse of its variance (Honaker 2015). Proof: strategies.md.

The block of all T steps would serve one answer only, the last, and every unit would pay for it; two halves serve it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.continual.strategies import Appearances, Plain, Process, Strategy
from discreet.mechanisms.statistics.budget import Moves
from discreet.mechanisms.statistics.sum_law import Terms

_WIDEST = 12  # 2^12 steps at once, in arrays
_FEW = 64  # different weights, for the law of their sum


@dataclass(frozen=True, slots=True)
class Tree(Strategy):
    """Dyadic blocks of a stream of ``horizon`` steps.

    >>> Tree(365).levels, Tree(1024).levels, [float(v) for v in Tree(8).variances]
    (9, 10, [1.0, 0.666..., 0.571...])
    """

    horizon: int

    @property
    def levels(self) -> int:
        """How many sizes of blocks there are: 1, 2, 4, ..., all below the horizon."""
        return max(1, (self.horizon - 1).bit_length())

    @property
    def variances(self) -> tuple[Fraction, ...]:
        """Of the estimate of a block of each level, in units of one noise: 1, 2/3, 4/7, ... towards 1/2."""
        variances = [Fraction(1)]
        for _ in range(1, self.levels):
            variances.append(2 * variances[-1] / (1 + 2 * variances[-1]))
        return tuple(variances)

    def moves(self, unit: Appearances) -> Moves:
        """k appearances: in a level, at most ceil(size / separation) of them share a block."""
        k = unit.steps
        shared = sum(min(k, -(-(1 << level) // unit.separation)) for level in range(self.levels))
        return Moves(l1=k * self.levels, l2_squared=k * shared)

    def weight(self, t: int) -> Fraction:
        """The variances of the blocks that make up t; the top level may be there twice."""
        top = self.levels - 1
        lower = sum((v for level, v in enumerate(self.variances[:top]) if t >> level & 1), Fraction(0))
        return lower + (t >> top) * self.variances[top]

    def terms(self, t: int) -> Terms:
        """Of each block that makes up t: its own sum, those of its halves, and so on down to single steps.

        >>> Tree(8).terms(3)  # a single step, a block of two, and its halves
        ((1.0, 1), (0.666..., 1), (0.333..., 2))
        """
        top = self.levels - 1
        terms: dict[float, int] = {}
        for level in range(self.levels):
            blocks = t >> top if level == top else t >> level & 1
            rest = 1.0
            for below in range(level, -1, -1) if blocks else ():
                own = _own_share(self.variances, below)
                terms[rest * own] = terms.get(rest * own, 0) + (blocks << (level - below))
                rest *= 1 - own
        return tuple(terms.items()) if len(terms) <= _FEW else ()

    def window_weight(self, t: int, width: int) -> Fraction:
        """No weight is below 0, so (a - b)² <= a² + b²."""
        return self.weight(t) + (self.weight(t - width) if width < t else 0)

    def largest_weight(self, horizon: int) -> Fraction:
        """The largest t is the horizon, or it has a bit of the horizon cleared and all lower ones set."""
        ones = [i for i in range(horizon.bit_length()) if horizon >> i & 1]
        return max(map(self.weight, [horizon, *((horizon >> i << i) - 1 for i in ones)]))

    def rows_between(self, start: int, end: int) -> int:
        """Every block that ends in between."""
        return sum((end >> level) - (start >> level) for level in range(self.levels))

    @property
    def longest_row(self) -> int:
        """The largest block."""
        return 1 << (self.levels - 1)

    def start(self, keys: int) -> Process:
        """A new stream."""
        return _Blocks(self, keys)

    def start_wide(self, keys: int) -> Process:
        """The same in Python integers."""
        return _Blocks(self, keys, object)

    def story(self) -> str:
        """One line on what gets noise."""
        return f"noise on the sums of dyadic blocks in {self.levels} levels, joined by least squares"


class _Blocks(Process):
    """Sums of the blocks that are open; and estimates of those that make up the steps so far, the oldest first."""

    __slots__ = ("_estimated", "_kind", "_measured", "_open", "_own", "_stack", "_sums", "_tree")

    def __init__(self, tree: Tree, keys: int, kind: type = np.int64) -> None:
        self._tree = tree
        self._kind = kind
        self._own = [_own_share(tree.variances, level + 1) for level in range(tree.levels)]  # one level up
        self._open: NDArray[Any] = np.zeros((tree.levels, keys), dtype=kind)
        self._stack: list[tuple[int, Floats]] = []
        self._sums: list[Floats] = [np.zeros(keys)]  # of the first blocks of the stack: none, one, two, ...
        self._measured = self._estimated = 0

    def measure(self, values: Integers) -> Integers:
        """Piece by piece: the largest aligned runs of steps that fit."""
        rows, done = [], 0
        while done < len(values):
            wide = _piece(self._measured, len(values) - done, self._tree.levels)
            rows += self._measure_piece(values[done : done + (1 << wide)], wide)
            done += 1 << wide
        return rows[0] if len(rows) == 1 else np.concatenate(rows)

    def _measure_piece(self, values: Integers, wide: int) -> list[Integers]:
        self._measured += len(values)
        rows, level = [values], values
        for _ in range(wide):
            level = level[0::2] + level[1::2]
            rows.append(level)
        self._open[wide + 1 :] += level[0]
        ended = min((self._measured & -self._measured).bit_length(), self._tree.levels)  # all levels below it
        if ended > wide + 1:
            rows.append(self._open[wide + 1 : ended].copy())
            self._open[wide + 1 : ended] = 0
        return rows

    def estimate(self, noisy: NDArray[Any], steps: int) -> Floats:
        """The same pieces, from their noisy sums."""
        out, row, done = [], 0, 0
        rows = np.asarray(noisy, dtype=np.float64)
        while done < steps:
            wide = _piece(self._estimated, steps - done, self._tree.levels)
            sums, row = self._estimate_piece(rows, row, wide)
            out.append(sums)
            done += 1 << wide
        return out[0] if len(out) == 1 else np.concatenate(out)

    def _estimate_piece(self, rows: Floats, row: int, wide: int) -> tuple[Floats, int]:
        joined = rows[row : row + (1 << wide)]
        row += 1 << wide
        if not wide:
            row = self._join_above(rows, row, wide, joined[0])
            return self._sums[-1][None, :], row
        base = self._sums[-1]
        place = np.arange(1, (1 << wide) + 1)
        out = np.zeros((1 << wide, rows.shape[1]))
        for level in range(wide + 1):
            if level:
                size = 1 << (wide - level)
                joined = self._join(level, rows[row : row + size], joined[0::2] + joined[1::2])
                row += size
            ended = place >> level & 1 == 1
            out[ended] += joined[(place[ended] >> level) - 1]
        out += base
        row = self._join_above(rows, row, wide, joined[0])
        out[-1] = self._sums[-1]
        return out, row

    def _join_above(self, rows: Floats, row: int, wide: int, block: Floats) -> int:
        """One more block; where it ends larger ones, it is joined with the one before it."""
        self._estimated += 1 << wide
        for above in range(wide + 1, self._tree.levels):
            if self._estimated % (1 << above):
                break
            left = self._stack.pop()[1]
            self._sums.pop()
            block, wide = self._join(above, rows[row], left + block), above
            row += 1
        self._push(wide, block)
        return row

    def _push(self, level: int, block: Floats) -> None:
        self._stack.append((level, block))
        self._sums.append(self._sums[-1] + block)

    def _join(self, level: int, own: Floats, halves: Floats) -> Floats:
        weight = self._own[level - 1]
        joined: Floats = halves + weight * (own - halves)
        return joined

    def state(self) -> Plain:
        """Open sums, and the estimates so far."""
        return {
            "open": self._open.tolist(),
            "blocks": [block.tolist() for _, block in self._stack],
            "levels": " ".join(str(level) for level, _ in self._stack),
            "measured": self._measured,
            "estimated": self._estimated,
        }

    def load(self, state: Plain) -> None:
        """Continue."""
        self._open = np.array(state["open"], dtype=self._kind)
        levels = map(int, state["levels"].split())
        self._stack, self._sums = [], [np.zeros(self._open.shape[1])]
        for level, block in zip(levels, state["blocks"], strict=True):
            self._push(level, np.array(block, dtype=np.float64))
        self._measured, self._estimated = state["measured"], state["estimated"]


def _own_share(variances: tuple[Fraction, ...], level: int) -> float:
    """The weight of a block's own sum beside that of its halves; a single step has no halves."""
    return float(2 * variances[level - 1] / (1 + 2 * variances[level - 1])) if level else 1.0


def _piece(position: int, left: int, levels: int) -> int:
    """The largest k with 2^k steps left, of an aligned block that has a level of its own."""
    aligned = (position & -position).bit_length() - 1 if position else levels
    return max(0, min(aligned, left.bit_length() - 1, levels - 1, _WIDEST))
