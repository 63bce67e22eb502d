"""Hadamard response: one random row of a Hadamard matrix, and the own entry in it, a bit that is turned over at times.

Counting takes time n + k log k: one fast transform.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.exact import Number
from discreet.local.chances import flip_chance
from discreet.local.oracle import Law, Oracle, Reports, Values, bytes_for, pack, read_domain, unpack
from discreet.noise.coin import flips, rational
from discreet.noise.uniform import uniforms
from discreet.randomness import Bits


@dataclass(frozen=True, slots=True)
class Hadamard(Oracle):
    """Made by ``hadamard(...)``."""

    name = "hadamard"
    k: int
    epsilon: Fraction

    @property
    def order(self) -> int:
        """The number of rows: the next power of two, at least k."""
        return 1 << (self.k - 1).bit_length()

    @property
    def turned(self) -> Fraction:
        """The chance that the bit is turned over."""
        return flip_chance(self.epsilon)

    @property
    def keep(self) -> Fraction:
        """The bit agrees with the own column."""
        return 1 - self.turned

    @property
    def other(self) -> Fraction:
        """Two columns agree in exactly half of the rows."""
        return Fraction(1, 2)

    @property
    def width(self) -> int:
        """Row and bit in one number."""
        return bytes_for(2 * self.order)

    def randomize(self, values: Values, bits: Bits) -> Reports:
        """A uniform row, and the bit."""
        rows = uniforms(self.order, len(values), bits)
        bit = parity(rows & values) ^ flips(rational(self.turned), len(values), bits)
        return pack(2 * rows + bit, self.width)

    def supports(self, reports: Reports) -> NDArray[np.int64]:
        """A report supports the values whose entry in its row is its bit."""
        sent = unpack(reports)
        signs = np.bincount(sent >> 1, weights=1.0 - 2.0 * (sent & 1), minlength=self.order).astype(np.float64)
        return ((len(reports) + transform(signs)[: self.k]) / 2).astype(np.int64)

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """A row that exists."""
        return unpack(reports) < 2 * self.order

    def law(self, value: int) -> Law:
        """Each row alike; in it the own bit with ``keep``."""
        law: Law = {}
        for row in range(self.order):
            for bit in (0, 1):
                own = bit == (row & value).bit_count() % 2
                chance = (self.keep if own else self.turned) / self.order
                law[pack(np.array([2 * row + bit]), self.width)[0].tobytes()] = chance
        return law


def parity(x: Values) -> Values:
    """Whether the number of ones among the bits is odd.

    >>> parity(np.array([0, 1, 3, 7, 2**40 + 1])).tolist()
    [0, 1, 0, 1, 0]
    """
    return (np.bitwise_count(x) & 1).astype(np.int64)


def transform(signs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The Walsh-Hadamard transform; whole numbers below 2^53 stay exact.

    >>> transform(np.array([1.0, 0.0, 0.0, 2.0])).tolist()
    [3.0, -1.0, -1.0, 3.0]
    """
    out, half = signs.copy(), 1
    while half < len(out):
        pairs = out.reshape(-1, 2, half)
        out = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return out


def hadamard(*, k: int, epsilon: Number) -> Hadamard:
    """Hadamard response with one bit (Acharya, Sun and Zhang 2019; Cormode, Maddock and Maple 2021).

    >>> oracle = hadamard(k=100, epsilon=1)
    >>> oracle.order, oracle.width, oracle.estimate(oracle.simulate([42] * 5000)).values.argmax()
    (128, 1, np.int64(42))
    """
    return Hadamard(*read_domain(k, epsilon))
