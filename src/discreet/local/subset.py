"""Subset selection: a random set of about k/(e^ε + 1) values, which holds the own one more often than others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadParameter
from discreet.exact import Number
from discreet.local.chances import down, grown
from discreet.local.oracle import Law, Oracle, Reports, Values, read_domain
from discreet.noise.coin import flips, rational
from discreet.noise.uniform import uniforms
from discreet.randomness import Bits

_MOST = 1 << 12


@dataclass(frozen=True, slots=True)
class Subset(Oracle):
    """Made by ``subset_selection(...)``: sets of ``size`` values."""

    name = "subset_selection"
    k: int
    epsilon: Fraction
    size: int

    @property
    def keep(self) -> Fraction:
        """The set holds the own value: e^ε d/(e^ε d + k - d), rounded down."""
        d = self.size
        return down(grown(self.epsilon) * d / (grown(self.epsilon) * d + self.k - d))

    @property
    def other(self) -> Fraction:
        """It holds any one other value."""
        p, d, k = self.keep, self.size, self.k
        return (p * (d - 1) + (1 - p) * d) / (k - 1)

    @property
    def width(self) -> int:
        """k bits."""
        return -(-self.k // 8)

    def randomize(self, values: Values, bits: Bits) -> Reports:
        """d of the k - 1 others, all sets alike; the last of them makes room for the own value, if that is in."""
        n, d, k = len(values), self.size, self.k
        start = np.arange(n) * k
        deck = np.tile(np.arange(k, dtype=np.uint16), n)
        deck[start + values] = k - 1  # the others stand in the first k - 1 places of each line
        sent = np.zeros(n * k, dtype=np.bool_)
        mine = flips(rational(self.keep), n, bits)
        for i in range(d):
            place = uniforms(k - 1 - i, n, bits)
            place += start
            place += i
            chosen = deck[place]
            deck[place] = deck[start + i]  # what was chosen need not go to place i, which is not looked at again
            sent[start + (chosen if i < d - 1 else np.where(mine, values, chosen))] = True
        return np.packbits(sent.reshape(n, k), axis=1, bitorder="little")

    def supports(self, reports: Reports) -> NDArray[np.int64]:
        """A report supports the values in its set."""
        return np.asarray(self._members(reports).sum(axis=0, dtype=np.int64)[: self.k])

    @staticmethod
    def _members(reports: Reports) -> NDArray[np.uint8]:
        return np.unpackbits(reports, axis=1, bitorder="little")

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """d values, all below k."""
        members = self._members(reports)
        return np.asarray(~members[:, self.k :].any(axis=1) & (members.sum(axis=1) == self.size))

    def law(self, value: int) -> Law:
        """All sets with the own value alike, and all without it."""
        law: Law = {}
        inside, outside = comb(self.k - 1, self.size - 1), comb(self.k - 1, self.size)
        for chosen in combinations(range(self.k), self.size):
            bits = np.zeros(self.k, dtype=np.uint8)
            bits[list(chosen)] = 1
            chance = self.keep / inside if value in chosen else (1 - self.keep) / outside
            law[np.packbits(bits, bitorder="little").tobytes()] = chance
        return law


def subset_selection(*, k: int, epsilon: Number) -> Subset:
    """Subset selection with the best size of sets (Ye and Barg 2018): the least error of all oracles here.

    >>> oracle = subset_selection(k=20, epsilon=1)
    >>> oracle.size, oracle.valid(oracle.simulate([3] * 100)).all()
    (5, np.True_)
    """
    size, e = read_domain(k, epsilon)
    if size > _MOST:
        raise BadParameter("k", k, "must be at most 4096 for a set of values; use hadamard or local_hashing")
    about = size / (grown(e) + 1)
    near = {max(1, min(size - 1, int(about) + i)) for i in (0, 1)}
    return min((Subset(size, e, d) for d in sorted(near)), key=lambda made: made.variance(1))
