"""The certifier: how private a mechanism is when every bit it draws may be biased.

A mechanism is given by the sets of bit strings that lead to each output. ``largest_ratio`` bounds P(first)/P(second)
over all γ-Santha-Vazirani sources; ``certify_laplace`` does so for Laplace noise by inversion of one uniform number U,
read bit by bit, with the answer rounded to a grid, over all outputs and all alignments of the inputs with the grid.

Guarantee: the truth lies within the bound: for the upper side sets are widened and values rounded up, for the lower
side the other way round. Proof: certify.md.
Believes: exact.py, and what cover.py believes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.biased.bit_tree import Interval, Steps, best
from discreet.biased.cover import Boxes, guess, holds
from discreet.biased.sources import bias
from discreet.errors import BadParameter
from discreet.exact import Number, exp_down, exp_fixed, exp_up, log_up, number, positive
from discreet.privacy.promises.bound import Bound

UNIT = 1 << 80
LN2_UP = log_up(Fraction(2), 32)
_LARGEST = 64  # no more than e^64 is ever tried as a ratio
_DEEPEST = 512
_FURTHEST = 1000
WIDEST = 24  # noise scales, for grids and for moves: all numbers of the cover stay below 64
_FIRST_BOXES = 1 << 12
_MOST_BOXES = 1 << 18
_TIGHT = Fraction(1, 1000)

Reals = Sequence[tuple[Number, Number]]
"""A set of U: intervals [low, high) within [0, 1]."""


# --- one pair of sets ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sets of strings, each from inside and from outside, in units of 2^-depth."""

    first: tuple[Sequence[Interval], Sequence[Interval]]
    """What is surely in the set, and what may be."""
    second: tuple[Sequence[Interval], Sequence[Interval]]
    depth: int

    def surely_at_most(self, epsilon: Fraction, gamma: Fraction) -> bool:
        """Whether P(first) <= e^ε P(second) is proven for every γ-SV source."""
        loss = math.floor(exp_down(epsilon) * UNIT)
        steps = Steps.between(self.first[1], self.second[0], gain=UNIT, loss=loss, depth=self.depth)
        return best(steps.zoom(), gamma, up=True) <= 0

    def surely_above(self, epsilon: Fraction, gamma: Fraction) -> bool:
        """Whether P(first) > e^ε P(second) is proven for some γ-SV source."""
        loss = math.ceil(exp_up(epsilon) * UNIT)
        steps = Steps.between(self.first[0], self.second[1], gain=UNIT, loss=loss, depth=self.depth)
        return best(steps.zoom(), gamma, up=False) > 0

    def bound(self, gamma: Fraction, bits: int = 30) -> tuple[Fraction, Fraction | None]:
        """Bounds of the largest log P(first)/P(second), not below 0; None if nothing is proven from above."""
        lower, upper = Fraction(0), Fraction(_LARGEST)
        high: Fraction | None = upper if self.surely_at_most(upper, gamma) else None
        low, top = Fraction(0), upper
        if high is not None:
            for _ in range(bits):
                middle = (low + top) / 2
                low, top = (low, middle) if self.surely_at_most(middle, gamma) else (middle, top)
            high = top
        low, top = lower, upper
        for _ in range(bits):
            middle = (low + top) / 2
            low, top = (middle, top) if self.surely_above(middle, gamma) else (low, middle)
        return low, high


def largest_ratio(first: Reals, second: Reals, gamma: Number, *, depth: int = 96) -> Bound:
    """Bounds of the largest log(P(first)/P(second)) over all γ-SV sources; 0 where it would be negative.

    Sets are unions of intervals of U, the number whose bits the source gives.

    >>> found = largest_ratio([("1/2", 1)], [(0, "1/2")], "0.1")  # the first bit decides
    >>> found.lower <= math.log(1.1 / 0.9) <= found.upper, found.width < 1e-6
    (True, True)
    """
    chosen = bias(gamma)
    pair = Pair(_rounded(first, depth), _rounded(second, depth), depth)
    if not any(low < high for low, high in pair.first[1]):
        raise BadParameter("first", "an empty set", "must hold some strings")
    low, high = pair.bound(chosen)
    return Bound.outwards(low, high) if high is not None else Bound(float(low), math.inf)


def _rounded(reals: Reals, depth: int) -> tuple[list[Interval], list[Interval]]:
    inside: list[Interval] = []
    outside: list[Interval] = []
    for low, high in reals:
        a, b = number(low, "low"), number(high, "high")
        if not 0 <= a <= b <= 1:
            raise BadParameter("interval", (low, high), "must lie in [0, 1] and not end before it starts")
        a_down, b_down = math.floor(a * (1 << depth)), math.floor(b * (1 << depth))
        a_up, b_up = math.ceil(a * (1 << depth)), math.ceil(b * (1 << depth))
        inside.append((a_up, max(a_up, b_down)))
        outside.append((a_down, b_up))
    return inside, outside


# --- Laplace noise by inversion -----------------------------------------------------------------------------------


def laplace_cdf(x: Fraction, depth: int) -> tuple[int, int]:
    """Integers around 2^depth F(x), where F is the distribution function of Laplace noise of scale 1.

    >>> laplace_cdf(Fraction(0), 8)
    (128, 128)
    """
    low, high = exp_fixed(-abs(x), depth - 1)
    return (low, high) if x <= 0 else ((1 << depth) - high, (1 << depth) - low)


def laplace_cell(start: Fraction, end: Fraction, depth: int) -> tuple[list[Interval], list[Interval]]:
    """The strings of U whose noise lies in [start, end): surely, and perhaps."""
    (a, b), (c, d) = laplace_cdf(start, depth), laplace_cdf(end, depth)
    return [(b, max(b, c))], [(a, d)]


def depth_for(gamma: Fraction, reach: Fraction) -> int:
    """Bits of U after which what is open has a negligible mass, for noise up to ``reach`` scales away."""
    per_bit = 1 - math.log2(1 + float(gamma))
    return min(_DEEPEST, math.ceil(40 / max(per_bit, 0.01))) + math.ceil(reach * Fraction(3, 2)) + 16


def certify_laplace(
    base_epsilon: Number,
    grid: Number,
    gamma: Number,
    inputs: tuple[Number, Number] | None = None,
    *,
    sensitivity: Number = 1,
    within: Number | None = None,
) -> Bound:
    """Bounds of ε' for Laplace noise of scale 1/base_epsilon by inversion, rounded to multiples of ``grid``.

    ε' is the largest log(P[M(q) = z] / P[M(q') = z]) over all γ-SV sources and all z: for all real q and q' that are at
    most ``sensitivity`` apart, or for the two ``inputs``, in both orders. ``within`` looks at |z| <= within only.

    >>> certify_laplace("0.1", 10, "0.1").upper < 0.25  # a coarse grid of one noise scale survives
    True
    >>> certify_laplace("0.1", 1, "0.1", inputs=(0, 1), within=100).lower > 1  # a fine one does not
    True
    """
    base, step, chosen = positive(base_epsilon, "base_epsilon"), positive(grid, "grid"), bias(gamma)
    width = base * step
    if width > WIDEST:
        raise BadParameter("grid", grid, f"must be at most {WIDEST} / base_epsilon: it would swallow all noise")
    if inputs is None:
        if within is not None:
            raise BadParameter("within", within, "must be left out unless the two inputs are given")
        return _certify_all(_move(base * positive(sensitivity, "sensitivity")), width, chosen)
    q, other = (number(value, "inputs") for value in inputs)
    _move(base * abs(q - other))
    if within is not None:
        _reach(base * (positive(within, "within") + max(abs(q), abs(other))))
        return _certify_cells(_cells(q, other, base, step, positive(within, "within")), width, chosen)
    return _certify_pair(q, other, base, step, chosen)


def _move(moved: Fraction) -> Fraction:
    if moved > WIDEST:
        raise BadParameter(
            "base_epsilon", float(moved), f"must be at most {WIDEST} / sensitivity: there is no noise left"
        )
    return moved


def _reach(scales: Fraction) -> None:
    if scales > _FURTHEST:
        raise BadParameter("within", float(scales), f"must be at most {_FURTHEST} noise scales from the inputs")


def all_boxes(moved: Fraction, width: Fraction, count: int = _FIRST_BOXES) -> Boxes:
    """Boxes that cover every alignment and every move up to ``moved``; beyond them all repeats itself."""
    return Boxes.spread(-moved - width - LN2_UP, LN2_UP, (Fraction(0), moved), count)


@lru_cache(maxsize=256)
def _certify_all(moved: Fraction, width: Fraction, gamma: Fraction) -> Bound:
    if not gamma:  # fair bits: the density ratio, which the tails attain
        return Bound.outwards(moved, moved)
    boxes = all_boxes(moved, width)
    points = Boxes.spread(-moved - width - LN2_UP, LN2_UP, (moved, moved), _FIRST_BOXES)
    return _certify_boxes(boxes, points, width, gamma)


def _certify_boxes(boxes: Boxes, points: Boxes, width: Fraction, gamma: Fraction) -> Bound:
    """Bounds over the boxes; ``points`` are where a large value is first looked for."""
    about, i = guess(points, width, gamma)
    middles = points.middles()
    at = Fraction(middles.s_low[i]), Fraction(middles.d_low[i])
    slack = _TIGHT
    while slack < 16:
        target = Fraction(about) * (1 + slack) + Fraction(1, 1 << 30)
        verdict = holds(boxes, width, gamma, target, most=_MOST_BOXES)
        if verdict.holds:
            lower, _ = _pair_at(*at, width, gamma).bound(gamma)
            return Bound.outwards(min(lower, target), target)
        if verdict.fails_at is None:
            slack *= 4
        else:
            at = verdict.fails_at
            about = max(float(target), float(_pair_at(*at, width, gamma).bound(gamma)[0]))
    raise BadParameter("gamma", gamma, "must be smaller for this noise and grid: nothing can be certified")


def _pair_at(s: Fraction, d: Fraction, width: Fraction, gamma: Fraction) -> Pair:
    depth = depth_for(gamma, abs(s) + width + abs(d))
    return Pair(laplace_cell(s, s + width, depth), laplace_cell(s + d, s + d + width, depth), depth)


def _cells(
    q: Fraction, other: Fraction, base: Fraction, step: Fraction, within: Fraction
) -> Iterator[tuple[Fraction, Fraction]]:
    """Where the cell of each output starts on the two inputs, in noise scales, in both orders."""
    reach = math.floor(within / step)
    for j in range(-reach, reach + 1):
        start = (j - Fraction(1, 2)) * step
        yield base * (start - q), base * (start - other)
        yield base * (start - other), base * (start - q)


def _certify_cells(cells: Iterator[tuple[Fraction, Fraction]], width: Fraction, gamma: Fraction) -> Bound:
    """Bounds of the largest value over finitely many outputs, one by one."""
    lower = upper = Fraction(0)
    for s, t in cells:
        pair = _pair_at(s, t - s, width, gamma)
        if pair.surely_at_most(upper, gamma):
            continue
        low, high = pair.bound(gamma)
        if high is None:
            return Bound(float(lower), math.inf)
        lower, upper = max(lower, low), max(upper, high)
    return Bound.outwards(lower, upper)


def _certify_pair(q: Fraction, other: Fraction, base: Fraction, step: Fraction, gamma: Fraction) -> Bound:
    """All outputs of two inputs: those in the middle one by one, the tails over all alignments, which they fill."""
    moved, width = base * abs(q - other), base * step
    if not moved or not gamma:
        return Bound.outwards(moved, moved)
    # by the mirror image of U a pair (s, t) with t < s is the pair (-s - w, -t - w), so t = s + moved is enough
    home = round(q / step) * step  # outputs are all multiples of the grid: both inputs may be moved by one of them
    near = (moved + width) / base + step + max(abs(q - home), abs(other - home))
    starts = [s if t > s else -s - width for s, t in _cells(q - home, other - home, base, step, near)]
    middle = [s for s in starts if -moved - width <= s <= 0]
    low = Boxes.spread(-moved - width - LN2_UP, -moved - width, (moved, moved), _FIRST_BOXES // 2)
    high = Boxes.spread(Fraction(0), LN2_UP, (moved, moved), _FIRST_BOXES // 2)
    boxes = low.joined(high)
    if middle:
        boxes = boxes.joined(Boxes.points(middle, moved))
    return _certify_boxes(boxes, boxes, width, gamma)
