"""Choosing an index by its score: permute-and-flip and the exponential mechanism's law.

Guarantee, for scores s_i, best score s* and a rate, all rational, if the bits are fair:
``exponential_choice`` returns i with probability exp(rate s_i) / sum_j exp(rate s_j), exactly;
``permute_and_flip_choice`` has exactly the law of McKenna & Sheldon (2020), algorithm 1. Proof: selection.md.

Both flip coins of probability exp(-rate (s* - s_i)) <= 1, so nothing overflows, underflows or is normalised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadData
from discreet.exact import Number, number
from discreet.noise.coin import flips_exp
from discreet.noise.filter import LARGEST
from discreet.noise.uniform import uniforms
from discreet.randomness import Bits

_CHUNK = 1 << 16
_FIRST_TRIES = 64

Scores = Sequence[Number] | NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class Coins:
    """For each candidate a coin of probability exp(-x_i), x_i = rate (best score - its score)."""

    near: NDArray[np.float64]
    """The x_i in floats, within a relative 2^-50; what is beyond 64 may be written as anything beyond it."""
    exact: Callable[[int], tuple[int, int]]
    """The x_i as pairs of integers."""

    def __len__(self) -> int:
        return len(self.near)

    def flip(self, index: NDArray[np.int64], bits: Bits) -> NDArray[np.bool_]:
        """Flip the coins of these candidates; a candidate named twice is flipped twice."""
        return flips_exp(self.near[index], lambda i: self.exact(int(index[i])), bits)


def coins(scores: Scores, rate: Fraction) -> Coins:
    """The coins of integer or rational scores, exactly.

    Guarantee: the message of a refusal never holds a score, since scores are made from data.
    """
    top, bottom = rate.numerator, rate.denominator
    if isinstance(scores, np.ndarray) and np.issubdtype(scores.dtype, np.integer):
        if scores.ndim != 1 or not len(scores):
            raise BadData("scores must be a list with at least one score")
        # uint64 arithmetic is modulo 2^64, and every difference lies in [0, 2^64): it is exact
        gap = np.uint64(int(scores.max()) % (1 << 64)) - scores.astype(np.uint64)
        if abs(top.bit_length() - bottom.bit_length()) < 900:  # neither the rate nor a product leaves the floats
            return Coins(gap.astype(np.float64) * float(rate), lambda i: (int(gap[i]) * top, bottom))
        differences = gap.tolist()
    else:
        exact = _exact(scores)
        common = lcm(*{s.denominator for s in exact})
        best = max(exact)
        differences = [int((best - s) * common) for s in exact]
        bottom *= common
    near = [min(d * top, LARGEST * bottom) / bottom for d in differences]
    return Coins(np.array(near), lambda i: (differences[i] * top, bottom))


def _exact(scores: Scores) -> list[Fraction]:
    try:
        exact = [number(s) for s in scores]
    except (ValueError, TypeError):
        raise BadData("scores must be finite numbers: ints, Fractions or floats; check how they are made") from None
    if not exact:
        raise BadData("scores must be a list with at least one score")
    return exact


def permute_and_flip_choice(candidates: Coins, bits: Bits) -> int:
    """Flip every candidate's coin, then choose uniformly among the heads; the best candidate's coin is always heads."""
    parts = (np.arange(start, min(start + _CHUNK, len(candidates))) for start in range(0, len(candidates), _CHUNK))
    heads = np.concatenate([part[candidates.flip(part, bits)] for part in parts])
    return int(heads[bits.below(len(heads))])


def exponential_choice(candidates: Coins, bits: Bits) -> int:
    """Propose uniformly and flip the candidate's coin, until the first heads."""
    tries = _FIRST_TRIES
    while True:
        proposed = uniforms(len(candidates), tries, bits)
        heads = np.flatnonzero(candidates.flip(proposed, bits))
        if len(heads):
            return int(proposed[heads[0]])
        tries = min(2 * tries, _CHUNK)
