"""Choosing an index by its score: permute-and-flip and the exponential mechanism's law.

Guarantee, for scores s_i, best score s* and a rate, all rational, if the bits are fair:
``exponential_choice`` returns i with probability exp(rate s_i) / sum_j exp(rate s_j), exactly;
``permute_and_flip_choice`` has exactly the law of McKenna & Sheldon (2020), algorithm 1. Proof: selection.md.

Both flip coins of probability exp(-rate (s* - s_i)) <= 1, so nothing overflows, underflows or is normalised.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, lcm
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadData
from discreet.exact import Number, log_up, measured
from discreet.noise.coin import flips_exp
from discreet.noise.filter import LARGEST
from discreet.noise.uniform import uniforms
from discreet.randomness import Bits, words

_CHUNK = 1 << 16
_FIRST_TRIES = 64
_BYTE = np.uint64(56)
_LOG_256 = 8 * log_up(Fraction(2))
_MODEST = Fraction(1, 1 << 900)  # between this rate and its inverse no product leaves the floats

Index = NDArray[np.int64]
Scores = Sequence[Number] | NDArray[np.integer]


class Coins(Protocol):
    """For each candidate a coin of probability exp(-x_i), x_i = rate (best score - its score)."""

    def __len__(self) -> int: ...

    def near(self, index: Index) -> NDArray[np.float64]:
        """The x_i in floats, within a relative 2^-50; what is beyond 64 may be anything beyond 64."""
        ...

    def exact(self, i: int) -> tuple[int, int]:
        """x_i as a pair of integers."""
        ...

    def likely(self, start: int, stop: int) -> NDArray[np.bool_]:
        """False only where exp(-x_i) <= 1/256."""
        ...


class WholeScores:
    """Coins of integer scores in an array."""

    __slots__ = ("_best", "_likely_above", "_rate", "_scores", "_step")

    def __init__(self, scores: NDArray[np.integer], rate: Fraction) -> None:
        self._scores = scores
        self._rate = rate
        self._step = float(rate)
        self._best = int(scores.max())
        lowest = int(np.iinfo(scores.dtype).min)
        self._likely_above = max(self._best - ceil(_LOG_256 / rate), lowest - 1)

    def __len__(self) -> int:
        return len(self._scores)

    def near(self, index: Index) -> NDArray[np.float64]:
        """The x_i in floats."""
        # uint64 arithmetic is modulo 2^64, and every difference lies in [0, 2^64): it is exact
        gap = np.uint64(self._best % (1 << 64)) - self._scores[index].astype(np.uint64)
        return gap.astype(np.float64) * self._step

    def exact(self, i: int) -> tuple[int, int]:
        """x_i as a pair of integers."""
        return (self._best - int(self._scores[i])) * self._rate.numerator, self._rate.denominator

    def likely(self, start: int, stop: int) -> NDArray[np.bool_]:
        """False only where exp(-x_i) <= 1/256."""
        return self._scores[start:stop] > self._likely_above


class RationalScores:
    """Coins of any scores, on their common denominator."""

    __slots__ = ("_bottom", "_near", "_tops")

    def __init__(self, scores: Sequence[Fraction], rate: Fraction) -> None:
        common = lcm(*{s.denominator for s in scores})
        best = max(scores)
        self._bottom = rate.denominator * common
        self._tops = [int((best - s) * common) * rate.numerator for s in scores]
        self._near = np.array([min(top, LARGEST * self._bottom) / self._bottom for top in self._tops])

    def __len__(self) -> int:
        return len(self._near)

    def near(self, index: Index) -> NDArray[np.float64]:
        """The x_i in floats."""
        return self._near[index]

    def exact(self, i: int) -> tuple[int, int]:
        """x_i as a pair of integers."""
        return self._tops[i], self._bottom

    def likely(self, start: int, stop: int) -> NDArray[np.bool_]:
        """False only where exp(-x_i) <= 1/256."""
        return self._near[start:stop] < 6  # e^-6 < 1/256


def coins(scores: Scores, rate: Fraction) -> Coins:
    """The coins of integer or rational scores, exactly.

    Guarantee: the message of a refusal never holds a score, since scores are made from data.
    """
    if isinstance(scores, np.ndarray):
        if scores.dtype.kind in "iu" and scores.ndim == 1 and len(scores) and _MODEST < rate < 1 / _MODEST:
            return WholeScores(scores, rate)
        return RationalScores(_exact(scores.tolist()), rate)
    return RationalScores(_exact(scores), rate)


def _exact(scores: Sequence[Number]) -> list[Fraction]:
    try:
        exact = [measured(s) for s in scores]
    except (ValueError, TypeError):
        raise BadData("scores must be finite numbers: ints, Fractions or floats; check how they are made") from None
    if not exact:
        raise BadData("scores must be a list with at least one score")
    return exact


def permute_and_flip_choice(candidates: Coins, bits: Bits) -> int:
    """Flip every candidate's coin, then choose uniformly among the heads; the best candidate's coin is always heads.

    The first byte of a coin's uniform already refuses most candidates whose probability is at most 1/256.
    """
    heads = []
    for start in range(0, len(candidates), _CHUNK):
        stop = min(start + _CHUNK, len(candidates))
        byte = words(bits, stop - start, np.uint8)
        index = np.flatnonzero((byte == 0) | candidates.likely(start, stop))
        first = byte[index].astype(np.uint64) << _BYTE | words(bits, len(index), np.uint64) >> np.uint64(8)
        index += start
        heads.append(index[_flip(candidates, index, bits, first)])
    places = np.concatenate(heads)
    return int(places[bits.below(len(places))])


def exponential_choice(candidates: Coins, bits: Bits) -> int:
    """Propose uniformly and flip the candidate's coin, until the first heads."""
    tries = _FIRST_TRIES
    while True:
        proposed = uniforms(len(candidates), tries, bits)
        heads = np.flatnonzero(_flip(candidates, proposed, bits))
        if len(heads):
            return int(proposed[heads[0]])
        tries = min(2 * tries, _CHUNK)


def _flip(candidates: Coins, index: Index, bits: Bits, first: NDArray[np.uint64] | None = None) -> NDArray[np.bool_]:
    """Flip the coins of these candidates; a candidate named twice is flipped twice."""
    return flips_exp(candidates.near(index), lambda i: candidates.exact(int(index[i])), bits, first=first)
