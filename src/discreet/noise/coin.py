"""Coins that land heads with a stated probability: p rational, or exp(-x) with x rational.

Guarantee: the probability of heads is exactly p, or exactly exp(-x), if the bits are fair.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.exact import exp_fixed
from discreet.noise.filter import LARGEST, MARGIN, near_exp, near_exp_array
from discreet.noise.lazy import Probability, is_below
from discreet.randomness import Bits, words

CHUNK = 1 << 15
_UNIT = 2.0**-64


def rational(p: Fraction) -> Probability:
    """Bounds of 2^n p."""
    top, bottom = p.numerator, p.denominator
    return lambda n: ((top << n) // bottom, -((-top << n) // bottom))


def exponential(x: Fraction) -> Probability:
    """Bounds of 2^n exp(-x)."""
    return lambda n: exp_fixed(-x, n)


def flip(p: Probability, bits: Bits) -> bool:
    """Heads with probability p."""
    return is_below(p, bits.bits(64), 64, bits)


def flip_exp(top: int, bottom: int, bits: Bits) -> bool:
    """Heads with probability exp(-top/bottom), for top >= 0 and bottom > 0."""
    return _flip_exp_from(bits.bits(64), top, bottom, bits)


def _flip_exp_from(v: int, top: int, bottom: int, bits: Bits, margin: float = MARGIN) -> bool:
    """The same, given the first 64 bits."""
    difference = v * _UNIT - (near_exp(top / bottom) if top < LARGEST * bottom else 0.0)
    if difference < -margin:
        return True
    if difference > margin:
        return False
    return is_below(exponential(Fraction(top, bottom)), v, 64, bits)


def flips(p: Probability, size: int, bits: Bits) -> NDArray[np.bool_]:
    """``size`` independent coins of one probability."""
    out = np.empty(size, dtype=np.bool_)
    low, high = p(16)
    for start in range(0, size, CHUNK):
        part = out[start : start + CHUNK]
        first = words(bits, len(part), np.uint16)
        np.less(first, low, out=part)
        if low < high:
            for i in np.flatnonzero((first >= low) & (first < high)).tolist():
                part[i] = is_below(p, int(first[i]) << 48 | bits.bits(48), 64, bits)
    return out


def flips_exp(
    near: NDArray[np.float64],
    exact: Callable[[int], tuple[int, int]],
    bits: Bits,
    *,
    first: NDArray[np.uint64] | None = None,
    margin: float = MARGIN,
) -> NDArray[np.bool_]:
    """One coin for each entry, heads with probability exp(-x_i).

    ``near`` holds the x_i with a relative error of at most 2^-48 and is overwritten; ``exact(i)`` is x_i as a
    pair of integers, asked for only when the float cannot tell. ``first`` are the first 64 bits of each coin's
    uniform, if they were drawn already.
    """
    v = words(bits, len(near), np.uint64) if first is None else first
    difference = v * _UNIT
    difference -= near_exp_array(near)
    heads = difference < 0
    for i in np.flatnonzero(np.abs(difference) <= margin).tolist():
        top, bottom = exact(i)
        heads[i] = is_below(exponential(Fraction(top, bottom)), int(v[i]), 64, bits)
    return heads
