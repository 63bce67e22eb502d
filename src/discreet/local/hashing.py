"""Optimised local hashing: hash the value into few cells by a public random function, then randomized response there.

The report is (a, b, y): the function v -> ((a v + b) mod P) mod g with P = 2^31 - 1 and a, b uniform below P, and a
noisy cell. Two different values below P are hashed to independent, exactly known laws, so ``other`` is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadParameter, NoLaw
from discreet.exact import Number, integer
from discreet.local.chances import grown, up
from discreet.local.oracle import Law, Oracle, Reports, Values, bytes_for, pack, read_domain, unpack
from discreet.noise.coin import flips, rational
from discreet.noise.uniform import uniforms
from discreet.randomness import Bits

PRIME = (1 << 31) - 1
_MOST_CELLS = 1 << 16


@dataclass(frozen=True, slots=True)
class Hashing(Oracle):
    """Made by ``local_hashing(...)``; reports are short whatever k is, and counting them takes time n k."""

    name = "local_hashing"
    k: int
    epsilon: Fraction
    cells: int

    @property
    def replaced(self) -> Fraction:
        """The chance of a uniform cell: g/(e^ε + g - 1), rounded up."""
        return up(self.cells / (grown(self.epsilon) + self.cells - 1))

    @property
    def keep(self) -> Fraction:
        """The own cell is reported."""
        return 1 - self.replaced + self.replaced / self.cells

    @property
    def other(self) -> Fraction:
        """Σ_y P[h(w) = y] P[y is reported]: h(w) is independent of the sender's own cell."""
        return _other(self.cells, self.replaced)

    @property
    def width(self) -> int:
        """a, b and the cell."""
        return 8 + bytes_for(self.cells)

    def randomize(self, values: Values, bits: Bits) -> Reports:
        """Draw a function, hash, and answer by randomized response."""
        n = len(values)
        a, b = uniforms(PRIME, n, bits), uniforms(PRIME, n, bits)
        cell = hashed(a, b, values, self.cells)
        places = np.flatnonzero(flips(rational(self.replaced), n, bits))
        cell[places] = uniforms(self.cells, len(places), bits)
        return np.concatenate([pack(a, 4), pack(b, 4), pack(cell, self.width - 8)], axis=1)

    def supports(self, reports: Reports) -> NDArray[np.int64]:
        """A report supports the values that its function sends to its cell."""
        return self.supports_of(reports, np.arange(self.k))

    def supports_of(self, reports: Reports, values: Values) -> NDArray[np.int64]:
        """The same for some values only, such as the candidates of a search."""
        a, b, cell = unpack(reports[:, :4]), unpack(reports[:, 4:8]), unpack(reports[:, 8:])
        step = max(1, (1 << 18) // max(1, len(reports)))
        counts = [
            (hashed(a[:, None], b[:, None], values[None, i : i + step], self.cells) == cell[:, None]).sum(axis=0)
            for i in range(0, len(values), step)
        ]
        return np.concatenate(counts) if counts else np.zeros(0, dtype=np.int64)

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """A function and a cell that exist."""
        a, b, cell = unpack(reports[:, :4]), unpack(reports[:, 4:8]), unpack(reports[:, 8:])
        return (a < PRIME) & (b < PRIME) & (cell < self.cells)

    def law(self, value: int) -> Law:
        """Refused: there are 2^62 functions. Given one of them it is the law of randomized response on the cells."""
        raise NoLaw("local hashing has 2^62 functions; given one, its law is that of response(k=cells)")


def hashed(a: Values, b: Values, values: Values, cells: int) -> Values:
    """((a v + b) mod 2^31 - 1) mod cells, for a, b, v below 2^31 - 1.

    >>> hashed(np.array([3]), np.array([2**31 - 2]), np.array([2**30]), 7).tolist() == [
    ...     (3 * 2**30 + 2**31 - 2) % PRIME % 7
    ... ]
    True
    """
    x = a * values + b  # below 2^62
    x = (x & PRIME) + (x >> 31)
    x = (x & PRIME) + (x >> 31)
    return np.asarray(np.where(x >= PRIME, x - PRIME, x) % cells)


@lru_cache(maxsize=64)
def _other(cells: int, replaced: Fraction) -> Fraction:
    total = Fraction(0)
    for size, count in ((PRIME // cells + 1, PRIME % cells), (PRIME // cells, cells - PRIME % cells)):
        hit = Fraction(size, PRIME)  # P[h = y], for `count` of the cells y
        total += count * hit * ((1 - replaced) * hit + replaced / cells)
    return total


def local_hashing(*, k: int, epsilon: Number, cells: int | None = None) -> Hashing:
    """Optimised local hashing: about e^ε + 1 cells, unless said otherwise (Wang, Blocki, Li and Jha 2017).

    >>> local_hashing(k=1000, epsilon=1).cells, len(local_hashing(k=1000, epsilon=1).client(999))
    (4, 9)
    """
    size, e = read_domain(k, epsilon)
    g = max(2, round(grown(e)) + 1) if cells is None else integer(cells, "cells", at_least=2)
    if g > _MOST_CELLS:
        if cells is not None:
            raise BadParameter("cells", cells, "must be at most 2^16")
        g = _MOST_CELLS
    return Hashing(size, e, g)
