"""Laplace noise by inversion, rounded to a grid, under biased bits: every alignment at once, in integers of numpy.

In units of the noise scale, cell C(s) = [s, s + w) is what leads to one output on one input; the same output on a
neighbour belongs to C(s + d). ``holds`` proves P(C(s)) <= e^ε P(C(s + d)) for every γ-SV source, for all s and d of
some boxes: it widens the first cell and narrows the second to all of a box, and cuts the box where that is too much.
Proof: certify.md.

Guarantee: ``holds`` never says yes when the truth is no.
Believes: noise/filter.py's bound on its exp, and the int64 arithmetic of numpy, which never overflows here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.exact import exp_up, float_down, float_up
from discreet.noise.filter import near_exp_array

DEPTH = 40
UNIT = 1 << 40
GAMMA_BITS = 16
NARROWEST = 2.0**-34
CHUNK = 1 << 14

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Boxes:
    """Ranges of s and of d, as arrays; together they cover what is to be proven."""

    s_low: Floats
    s_high: Floats
    d_low: Floats
    d_high: Floats

    def __len__(self) -> int:
        return len(self.s_low)

    def __getitem__(self, which: slice | NDArray[np.bool_] | NDArray[np.intp]) -> Boxes:
        return Boxes(self.s_low[which], self.s_high[which], self.d_low[which], self.d_high[which])

    @classmethod
    def spread(cls, low: Fraction, high: Fraction, moved: tuple[Fraction, Fraction], count: int) -> Boxes:
        """``count`` boxes side by side that cover [low, high] times the range of moves."""
        ends = np.linspace(float_down(low), float_up(high), count + 1)
        ends[0], ends[-1] = float_down(low), float_up(high)
        return cls(
            ends[:-1].copy(),
            ends[1:].copy(),
            np.full(count, float_down(moved[0])),
            np.full(count, float_up(moved[1])),
        )

    @classmethod
    def points(cls, at: list[Fraction], moved: Fraction) -> Boxes:
        """Single values of s, and one move."""
        return cls(
            np.array([float_down(s) for s in at]),
            np.array([float_up(s) for s in at]),
            np.full(len(at), float_down(moved)),
            np.full(len(at), float_up(moved)),
        )

    def joined(self, other: Boxes) -> Boxes:
        """Both."""
        pairs = [(self.s_low, other.s_low), (self.s_high, other.s_high), (self.d_low, other.d_low),
                 (self.d_high, other.d_high)]  # fmt: skip
        return Boxes(*(np.concatenate(pair) for pair in pairs))

    def middles(self) -> Boxes:
        """The middle of each box: floats, so points of the box as they are."""
        s, d = _middle(self.s_low, self.s_high), _middle(self.d_low, self.d_high)
        return Boxes(s, s, d, d)

    def halves(self) -> Boxes:
        """Each box cut in two, across its longer side."""
        along_s = self.s_high - self.s_low >= self.d_high - self.d_low
        s = np.where(along_s, _middle(self.s_low, self.s_high), self.s_high)
        d = np.where(along_s, self.d_high, _middle(self.d_low, self.d_high))
        first = Boxes(self.s_low, s, self.d_low, d)
        return first.joined(
            Boxes(np.where(along_s, s, self.s_low), self.s_high, np.where(along_s, self.d_low, d), self.d_high)
        )

    def widths(self) -> Floats:
        """The longer side of each box."""
        return np.maximum(self.s_high - self.s_low, self.d_high - self.d_low)


def _middle(low: Floats, high: Floats) -> Floats:
    middle: Floats = np.clip((low + high) / 2, low, high)
    return middle


def gains(boxes: Boxes, width: Fraction, gamma: Fraction, epsilon: Fraction) -> Ints:
    """An upper bound of the largest P(C(s)) - e^ε P(C(s + d)) over the box and all sources, times a positive number."""
    w_low, w_high = float_down(width), float_up(width)
    start, end = _cdf(boxes.s_low)[0], _cdf(boxes.s_high + w_high)[1]
    other_start = _cdf(boxes.s_high + boxes.d_high)[1]
    other_end = _cdf((boxes.s_low + boxes.d_low) + w_low)[0]
    gain, loss = _scaled_up(exp_up(-epsilon, 64)), UNIT
    cuts = np.sort(np.stack([start, end, other_start, other_end]), axis=0)
    at = np.concatenate([np.zeros_like(cuts[:1]), cuts])
    payoffs = gain * ((start <= at) & (at < end)) - loss * ((other_start <= at) & (at < other_end))
    return tree_values(cuts, payoffs, gamma)


def _scaled_up(x: Fraction) -> int:
    return -(-x.numerator * UNIT // x.denominator)


def tree_values(cuts: Ints, payoffs: Ints, gamma: Fraction) -> Ints:
    """``randomness.bit_tree.best`` for many step functions at once, rounded up; γ is rounded up to 2^-16.

    ``cuts`` ascend along the first axis, in units of 2^-40, the least below 1; ``payoffs`` are at most 2^40 in size.
    """
    push = -((-gamma.numerator << GAMMA_BITS) // gamma.denominator)
    node = cuts.copy()
    # a cell of the last level that starts at a cut pays what is paid to the right of it
    value = _pick(payoffs, (cuts[None, :, :] <= cuts[:, None, :]).sum(axis=1))
    for _ in range(DEPTH):
        sibling = node ^ 1
        # no cut inside the sibling: it pays one thing, which the number of cuts before it tells
        beside = _pick(payoffs, (node[None, :, :] < sibling[:, None, :]).sum(axis=1))
        for j in range(len(cuts)):
            beside = np.where(node[j] == sibling, value[j], beside)
        value = -((-(((value + beside) << GAMMA_BITS) + push * np.abs(value - beside))) >> (GAMMA_BITS + 1))
        node >>= 1
    first: Ints = value[0]
    return first


def _pick(payoffs: Ints, index: NDArray[np.intp]) -> Ints:
    return np.take_along_axis(payoffs, index, axis=0)


def _cdf(x: Floats) -> tuple[Ints, Ints]:
    """Bounds of the Laplace distribution function at x, in units of 2^-40."""
    tail = near_exp_array(np.abs(x)) / 2
    scaled = np.where(x < 0, tail, 1 - tail) * UNIT
    low, high = np.floor(scaled).astype(np.int64) - 1, np.ceil(scaled).astype(np.int64) + 1
    return np.clip(low, 0, UNIT - 1), np.clip(high, 0, UNIT)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether all boxes were proven; if not, a point where it fails, or None if the work was cut short."""

    holds: bool
    fails_at: tuple[Fraction, Fraction] | None = None
    looked_at: int = 0


def holds(boxes: Boxes, width: Fraction, gamma: Fraction, epsilon: Fraction, *, most: int = 1 << 20) -> Verdict:
    """Prove P(C(s)) <= e^ε P(C(s + d)) on all boxes and for all γ-SV sources, or say where it fails."""
    looked = 0
    todo = boxes
    while len(todo):
        if looked > most:
            return Verdict(False, None, looked)
        here, todo = todo[-CHUNK:], todo[:-CHUNK]
        looked += len(here)
        open_ = here[gains(here, width, gamma, epsilon) > 0]
        if not len(open_):
            continue
        middles = open_.middles()
        worst = gains(middles, width, gamma, epsilon)
        i = int(np.argmax(worst))
        if worst[i] > 0:
            return Verdict(False, (Fraction(middles.s_low[i]), Fraction(middles.d_low[i])), looked)
        if bool((open_.widths() < NARROWEST).any()):
            return Verdict(False, None, looked)
        todo = todo.joined(open_.halves())
    return Verdict(True, None, looked)


def guess(boxes: Boxes, width: Fraction, gamma: Fraction, *, within: float = 1e-4) -> tuple[float, int]:
    """About the largest ε' over the middles of the boxes, and which box has it. A guide: nothing is proven."""
    points, index = boxes.middles(), np.arange(len(boxes))
    low, high = 0.0, math.inf
    step = 2.0**-6
    while high - low > within * max(high, 2.0**-20) if high < math.inf else True:
        middle = low + step if high == math.inf else (low + high) / 2
        over = gains(points, width, gamma, Fraction(middle)) > 0
        if over.any():
            low, step = middle, 2 * step
            points, index = points[over], index[over]
        else:
            high = middle
        if low > 40:
            break
    return low, int(index[0])
