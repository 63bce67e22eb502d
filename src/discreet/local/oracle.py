"""What every frequency oracle is: a randomizer at the client, and unbiased counts with error bars at the server.

Guarantee: a report is ε-differentially private for the one who sends it, whoever reads it and whatever else he knows.
Each report *supports* some of the k values: with probability ``keep`` the sender's own, with ``other`` any other one;
both are exact rationals, so (support - other)/(keep - other) has no bias. Proof: oracles.md.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.answer import CONFIDENCE, confidence_level
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, integer, positive, significant
from discreet.local.consistency import on_simplex
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.randomness import Bits, SystemBits

Reports = NDArray[np.uint8]
"""One line of bytes for each report, as it goes over the wire."""
Values = NDArray[np.int64]
Law = dict[bytes, Fraction]
MOST = 1 << 30
PIECE = 1 << 12  # clients at once
_ROUNDED = 1 + 2.0**-40


@dataclass(frozen=True, slots=True, eq=False)
class Frequencies:
    """Estimated shares of all values; ``error`` holds for all of them at once with ``confidence``."""

    values: NDArray[np.float64]
    """Without bias; so they may lie below 0 or above 1."""
    error: float
    confidence: Fraction
    people: int

    def within(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Intervals that hold all true shares at once."""
        return np.clip(self.values - self.error, 0, 1), np.clip(self.values + self.error, 0, 1)

    def consistent(self) -> NDArray[np.float64]:
        """The nearest shares that are not negative and sum to 1: post-processing, no longer without bias."""
        return on_simplex(self.values)

    def __str__(self) -> str:
        shown = ", ".join(significant(v, 4) for v in self.values[:6])
        more = ", ..." if len(self.values) > 6 else ""
        return f"[{shown}{more}] ± {significant(self.error, 4)} ({float(100 * self.confidence):g} %)"


class Decoder(ABC):
    """The half of the server: reports that *support* some of ``k`` values, and the counts that they give.

    It says nothing about privacy: reports of devices with a memory (``rappor``) are counted by a decoder, too.
    """

    __slots__ = ()

    name: ClassVar[str]
    k: int

    # --- what each decoder says of itself ---------------------------------------------------------------------------

    @property
    @abstractmethod
    def keep(self) -> Fraction:
        """The chance that a report supports the sender's own value, exactly."""

    @property
    @abstractmethod
    def other(self) -> Fraction:
        """The chance that it supports any one other value, exactly."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many bytes a report has."""

    @abstractmethod
    def supports(self, reports: Reports) -> NDArray[np.int64]:
        """How many reports support each value."""

    @abstractmethod
    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports could have been sent at all."""

    # --- what follows -----------------------------------------------------------------------------------------------

    @property
    def check(self) -> bytes:
        """Four bytes that client and server must agree on: a digest of all parameters."""
        return hashlib.sha256(repr(self).encode()).digest()[:4]

    def variance(self, people: int, share: Number = 0) -> float:
        """The variance of the estimate of a value that this share of the people hold.

        (f p(1-p) + (1-f) q(1-q)) / (n (p-q)²): a sum of n independent bits.
        """
        f, n = float(Fraction(share)), integer(people, "people", at_least=1)
        p, q = float(self.keep), float(self.other)
        return (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (n * (p - q) ** 2)

    def error_at(self, confidence: Number, people: int) -> float:
        """All k estimates are within this of the true shares at once: Bernstein's inequality.

        A sum of n independent bits of variance v each at most misses its mean by nt with a chance of at most
        2 exp(-n t²/(2v + 2t/3)).
        """
        level, n = confidence_level(confidence), integer(people, "people", at_least=1)
        p, q = float(self.keep), float(self.other)
        most = max(p * (1 - p), q * (1 - q))
        log = math.log(2 * self.k / float(1 - level))
        away = log / (3 * n) * (1 + math.sqrt(1 + 18 * n * most / log))
        return away / (p - q) * _ROUNDED

    def estimate(self, reports: Reports, confidence: Number = CONFIDENCE) -> Frequencies:
        """The shares of all values among those who sent these reports."""
        counts = np.zeros(self.k, dtype=np.int64)
        for start in range(0, len(reports), PIECE):
            counts += self.supports(reports[start : start + PIECE])
        return self.frequencies(counts, len(reports), confidence)

    def frequencies(self, supported: NDArray[np.int64], people: int, confidence: Number = CONFIDENCE) -> Frequencies:
        """The same from counts of support."""
        n = integer(people, "people", at_least=1)
        p, q = self.keep, self.other
        shares = (supported / n - float(q)) / float(p - q)
        return Frequencies(shares, self.error_at(confidence, n), confidence_level(confidence), n)


class Oracle(Decoder):
    """Both halves: a randomizer of one of ``k`` values, which draws fresh randomness for each report, and the counts.

    So each report costs its sender ``event`` anew, whatever the values are, and the costs of several reports add up.
    The relation is CHANGE_ONE: who sends a report is public, and what it is about is not.
    """

    __slots__ = ()

    neighbours: ClassVar[Neighbours] = Neighbours.CHANGE_ONE
    epsilon: Fraction

    @abstractmethod
    def randomize(self, values: Values, bits: Bits) -> Reports:
        """One report for each value."""

    @abstractmethod
    def law(self, value: int) -> Law:
        """The exact probability of each report of one value; for small k."""

    @property
    def price(self) -> Pure:
        """The promise to each sender, for one report."""
        return Pure(self.epsilon)

    @property
    def event(self) -> events.Event:
        """What one report writes into the ledger of its sender, for changing the own value."""
        return events.Pure(self.epsilon).about(Neighbours.CHANGE_ONE)

    def client(self, value: int) -> bytes:
        """One report of one person's value, with fresh randomness: the payload that goes over the wire."""
        return bytes(self.randomize(self.read([value]), SystemBits())[0].tobytes())

    def simulate(self, values: Any) -> Reports:
        """Reports of many people at once, each exactly as ``client`` would make it."""
        exact = self.read(values)
        out = np.empty((len(exact), self.width), dtype=np.uint8)
        bits = SystemBits()
        for start in range(0, len(exact), PIECE):
            out[start : start + PIECE] = self.randomize(exact[start : start + PIECE], bits)
        return out

    def read(self, values: Any) -> Values:
        """Values from 0 to k - 1."""
        return read_values(values, self.k)


def read_values(values: Any, k: int) -> Values:
    """Values from 0 to k - 1, or a refusal that shows none of them."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise BadData("the values must be a flat list of integers")
    if array.size and not (int(array.min()) >= 0 and int(array.max()) < k):
        raise BadData(f"the values must be integers from 0 to {k - 1}")
    return array.astype(np.int64)


def read_domain(k: int, epsilon: Number) -> tuple[int, Fraction]:
    """At least two values, and an epsilon that is not too large for the chances of an oracle."""
    size, e = integer(k, "k", at_least=2), positive(epsilon, "epsilon")
    if size > MOST:
        raise BadParameter("k", k, "must be at most 2^30")
    if e > 16:
        raise BadParameter("epsilon", epsilon, "must be at most 16 in the local model")
    return size, e


def bytes_for(count: int) -> int:
    """How many bytes hold a number below ``count``.

    >>> bytes_for(2), bytes_for(256), bytes_for(257)
    (1, 1, 2)
    """
    return max(1, -(-(count - 1).bit_length() // 8))


def pack(numbers: NDArray[np.int64], width: int) -> Reports:
    """Numbers as little-endian bytes."""
    wide = numbers.astype("<u8")[:, None].view(np.uint8)
    return np.ascontiguousarray(wide[:, :width])


def unpack(reports: Reports) -> NDArray[np.int64]:
    """Little-endian bytes as numbers."""
    wide = np.zeros((len(reports), 8), dtype=np.uint8)
    wide[:, : reports.shape[1]] = reports
    return wide.view("<u8")[:, 0].astype(np.int64)
