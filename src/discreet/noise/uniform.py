"""Uniform integers, and choices with rational weights.

Guarantee: each integer in [0, n) has probability exactly 1/n; index i is chosen with probability exactly
w_i / sum(w), if the bits are fair.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import lcm

import numpy as np
from numpy.typing import NDArray

from discreet.randomness import Bits, words
from discreet.randomness.source import Word

INT64 = 1 << 63
_CHUNK = 1 << 16


def uniforms(n: int, size: int, bits: Bits) -> NDArray[np.int64]:
    """``size`` independent uniform integers in [0, n), for 1 <= n <= 2^63, by drawing again while too large."""
    out = np.empty(size, dtype=np.int64)
    width = (n - 1).bit_length()
    if width <= 8:
        _fill(out, n, width, np.uint8, bits)
    elif width <= 16:
        _fill(out, n, width, np.uint16, bits)
    elif width <= 32:
        _fill(out, n, width, np.uint32, bits)
    else:
        _fill(out, n, width, np.uint64, bits)
    return out


def _fill(out: NDArray[np.int64], n: int, width: int, kind: type[Word], bits: Bits) -> None:
    mask = kind((1 << width) - 1)
    done = 0
    while done < len(out):
        missing = len(out) - done
        tries = min(_CHUNK, (missing << width) // n + 16)  # about as many as are needed
        draws = words(bits, tries, kind) & mask
        if n != 1 << width:
            draws = draws[draws < n]
        take = min(len(draws), missing)
        out[done : done + take] = draws[:take]
        done += take


def integer_weights(weights: Sequence[Fraction]) -> list[int]:
    """The weights on their common denominator."""
    bottom = lcm(*(w.denominator for w in weights))
    return [w.numerator * (bottom // w.denominator) for w in weights]


def choose(weights: Sequence[int], bits: Bits) -> int:
    """An index with probability proportional to its weight."""
    totals = list(accumulate(weights))
    return bisect_right(totals, bits.below(totals[-1]))


def choices(weights: Sequence[int], size: int, bits: Bits) -> NDArray[np.int64]:
    """``size`` independent indices with probability proportional to the weights."""
    totals = list(accumulate(weights))
    if totals[-1] >= INT64:
        return np.array([bisect_right(totals, bits.below(totals[-1])) for _ in range(size)], dtype=np.int64)
    ends = np.array(totals, dtype=np.int64)
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, _CHUNK):
        part = out[start : start + _CHUNK]
        part[:] = np.searchsorted(ends, uniforms(totals[-1], len(part), bits), side="right")
    return out
