"""Unary encodings: a bit for each of k values, each turned over by itself. Basic RAPPOR, and the optimised one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadParameter
from discreet.exact import Number, log_up
from discreet.local.chances import flip_chance
from discreet.local.oracle import Decoder, Law, Oracle, Reports, Values, read_domain
from discreet.noise.coin import flips, rational
from discreet.randomness import Bits

_MOST = 1 << 16


class BitDecoder(Decoder):
    """Reports of k bits; a report supports the values whose bits are 1."""

    __slots__ = ()

    @property
    def width(self) -> int:
        """k bits."""
        return -(-self.k // 8)

    def supports(self, reports: Reports) -> NDArray[np.int64]:
        """How many reports have a 1 for each value."""
        bits = np.unpackbits(reports, axis=1, bitorder="little")[:, : self.k]
        return np.asarray(bits.sum(axis=0, dtype=np.int64))

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """Bits beyond k are 0."""
        beyond = np.unpackbits(reports, axis=1, bitorder="little")[:, self.k :]
        return np.asarray(~beyond.any(axis=1))


@dataclass(frozen=True, slots=True)
class Unary(BitDecoder, Oracle):
    """The own bit is sent as 1 with chance ``own``, every other one with ``others``; own > others."""

    name = "unary"
    k: int
    epsilon: Fraction
    own: Fraction
    others: Fraction

    @property
    def keep(self) -> Fraction:
        """The own bit is sent as 1."""
        return self.own

    @property
    def other(self) -> Fraction:
        """Another bit is."""
        return self.others

    def randomize(self, values: Values, bits: Bits) -> Reports:
        """All bits by the chance of a 0, then each own bit by its own."""
        n = len(values)
        sent = flips(rational(self.other), n * self.k, bits).reshape(n, self.k)
        sent[np.arange(n), values] = flips(rational(self.keep), n, bits)
        return np.packbits(sent, axis=1, bitorder="little")

    def law(self, value: int) -> Law:
        """Bits are independent."""
        law: Law = {}
        for bits in product((0, 1), repeat=self.k):
            chance = Fraction(1)
            for v, bit in enumerate(bits):
                is_set = self.keep if v == value else self.other
                chance *= is_set if bit else 1 - is_set
            law[np.packbits(np.array(bits, dtype=np.uint8), bitorder="little").tobytes()] = chance
        return law


def exact_epsilon_up(keep: Fraction, other: Fraction) -> Fraction:
    """log keep (1 - other) / (other (1 - keep)), rounded up: two bits differ between two values."""
    return log_up(keep * (1 - other) / (other * (1 - keep)))


def basic_rappor(*, k: int, epsilon: Number) -> Unary:
    """Basic RAPPOR: every bit is turned over with chance 1/(e^(ε/2) + 1) (Erlingsson, Pihur and Korolova 2014).

    >>> basic_rappor(k=10, epsilon=2).variance(1000) > optimised_unary(k=10, epsilon=2).variance(1000)
    True
    """
    size, e = _read(k, epsilon)
    turned = flip_chance(e / 2)
    return Unary(size, e, 1 - turned, turned)


def optimised_unary(*, k: int, epsilon: Number) -> Unary:
    """The own bit is kept with 1/2, any other one sent as 1 with 1/(e^ε + 1) (Wang, Blocki, Li and Jha 2017).

    >>> oracle = optimised_unary(k=10, epsilon=1)
    >>> oracle.keep, oracle.estimate(oracle.simulate([3] * 1000)).values.argmax()
    (Fraction(1, 2), np.int64(3))
    """
    size, e = _read(k, epsilon)
    return Unary(size, e, Fraction(1, 2), flip_chance(e))


def _read(k: int, epsilon: Number) -> tuple[int, Fraction]:
    size, e = read_domain(k, epsilon)
    if size > _MOST:
        raise BadParameter("k", k, "must be at most 2^16 for a bit for each value; use local_hashing or hadamard")
    return size, e
