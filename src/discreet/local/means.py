"""Means of bounded numbers in the local model: one bit (Duchi), a noisy place (piecewise), or a mix of both (hybrid).

Guarantee: a report is ε-private for its sender. Numbers are moved into [low, high] and rounded to one of 2^12 + 1
public places; randomness is exact and reports are whole numbers, so there is no continuous noise to go wrong. The
estimate of the mean of the rounded numbers has no bias; rounding is in the error bar. Proof: means.md.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.answer import CONFIDENCE, confidence_level
from discreet.arrays import Floats
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, exp_down, integer, number, significant
from discreet.local.chances import down, flip_chance, grown
from discreet.local.oracle import Law, Reports, Values, bytes_for, pack, read_domain, unpack
from discreet.noise.coin import flips, rational
from discreet.noise.uniform import uniforms
from discreet.privacy.promises import events
from discreet.privacy.promises.neighbours import Neighbours
from discreet.randomness import Bits, SystemBits

PLACES = 1 << 12
_ROUNDED = 1 + 2.0**-40
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Mean:
    """An estimated mean with its error bar."""

    value: float
    error: float
    confidence: Fraction
    people: int

    def __str__(self) -> str:
        return f"{significant(self.value, 6)} ± {significant(self.error, 4)} ({float(100 * self.confidence):g} %)"


class MeanOracle(ABC):
    """A randomizer of a place 0, 1, ..., ``places``, and what each report says about it, without bias.

    It draws fresh randomness for each report, so the costs of several reports add up, whatever the numbers are.
    """

    __slots__ = ()

    name: ClassVar[str]
    neighbours: ClassVar[Neighbours] = Neighbours.CHANGE_ONE
    low: Fraction
    high: Fraction
    epsilon: Fraction
    places: int

    @property
    @abstractmethod
    def width(self) -> int:
        """How many bytes a report has."""

    @abstractmethod
    def randomize(self, places: Values, bits: Bits) -> Reports:
        """One report for each place."""

    @abstractmethod
    def decode(self, reports: Reports) -> Floats:
        """Numbers whose means are the senders' places, as shares of all places: 0 is low, 1 is high."""

    @abstractmethod
    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports could have been sent at all."""

    @abstractmethod
    def law(self, place: int) -> Law:
        """The exact probability of each report of one place."""

    @property
    def event(self) -> events.Event:
        """What one report writes into the ledger of its sender, for changing the own value."""
        return events.Pure(self.epsilon).about(Neighbours.CHANGE_ONE)

    @property
    def k(self) -> int:
        """How many inputs there are."""
        return self.places + 1

    @property
    def check(self) -> bytes:
        """Four bytes that client and server must agree on."""
        return hashlib.sha256(repr(self).encode()).digest()[:4]

    @property
    def worst_variance(self) -> float:
        """The largest variance of one decoded report, over all places."""
        return _spread(self)[0]

    def read(self, values: Any) -> Values:
        """The nearest place of each number; NaN is the middle."""
        try:
            x = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise BadData("the values must be a flat list of numbers") from None
        if x.ndim != 1:
            raise BadData("the values must be a flat list of numbers")
        low, high = float(self.low), float(self.high)
        x = np.clip(np.where(np.isnan(x), (low + high) / 2, x), low, high)
        return np.clip(np.rint((x - low) / (high - low) * self.places), 0, self.places).astype(np.int64)

    def client(self, value: float) -> bytes:
        """One report of one person's number."""
        return bytes(self.randomize(self.read([value]), SystemBits())[0].tobytes())

    def simulate(self, values: Any) -> Reports:
        """Reports of many people at once, each exactly as ``client`` would make it."""
        exact, bits = self.read(values), SystemBits()
        parts = [self.randomize(exact[i : i + _PIECE], bits) for i in range(0, len(exact), _PIECE)]
        return np.concatenate(parts) if parts else np.zeros((0, self.width), dtype=np.uint8)

    def error_at(self, confidence: Number, people: int) -> float:
        """The mean is within this of the true one: Bernstein's inequality, and half a place for rounding."""
        level, n = confidence_level(confidence), integer(people, "people", at_least=1)
        variance, reach = _spread(self)
        log = math.log(2 / float(1 - level))
        away = reach * log / (3 * n) * (1 + math.sqrt(1 + 18 * n * variance / (reach * reach * log)))
        return (away + 0.5 / self.places) * float(self.high - self.low) * _ROUNDED

    def estimate(self, reports: Reports, confidence: Number = CONFIDENCE) -> Mean:
        """The mean of the numbers of those who sent these reports; reports that could not be are left out."""
        good = reports[self.valid(reports)]
        if not len(good):
            raise BadData("there must be at least one report")
        share = float(self.decode(good).mean())
        low, high = float(self.low), float(self.high)
        error = self.error_at(confidence, len(good))
        return Mean(low + share * (high - low), error, confidence_level(confidence), len(good))


@dataclass(frozen=True, slots=True)
class Duchi(MeanOracle):
    """One bit: 1 with chance q + (1 - 2q) i/m at place i of m (Duchi, Jordan and Wainwright 2018)."""

    name = "duchi"
    low: Fraction
    high: Fraction
    epsilon: Fraction
    places: int = PLACES

    @property
    def turned(self) -> Fraction:
        """q: the chance of a 1 at the lowest place."""
        return flip_chance(self.epsilon)

    @property
    def width(self) -> int:
        """One byte."""
        return 1

    def randomize(self, places: Values, bits: Bits) -> Reports:
        """With chance 1 - 2q whether a uniform place is below the own one; else a fair coin."""
        n = len(places)
        honest = flips(rational(1 - 2 * self.turned), n, bits)
        own = uniforms(self.places, n, bits) < places
        return np.where(honest, own, flips(rational(Fraction(1, 2)), n, bits)).astype(np.uint8)[:, None]

    def decode(self, reports: Reports) -> Floats:
        """(bit - q) / (1 - 2q)."""
        q = float(self.turned)
        return np.asarray((reports[:, 0] - q) / (1 - 2 * q))

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """A bit."""
        return np.asarray(reports[:, 0] < 2)

    def law(self, place: int) -> Law:
        """Two reports."""
        chance = self.turned + (1 - 2 * self.turned) * Fraction(place, self.places)
        return {bytes([0]): 1 - chance, bytes([1]): chance}


@dataclass(frozen=True, slots=True)
class Piecewise(MeanOracle):
    """A place of m + w: one of the w next to the own one with chance ``near``, else one of the m others, all alike.

    The discrete form of the piecewise mechanism (Wang et al. 2019), exact for every m.
    """

    name = "piecewise"
    low: Fraction
    high: Fraction
    epsilon: Fraction
    window: int
    places: int = PLACES

    @property
    def near(self) -> Fraction:
        """e^ε w / (e^ε w + m), rounded down."""
        weight = grown(self.epsilon) * self.window
        return down(weight / (weight + self.places))

    @property
    def width(self) -> int:
        """A place."""
        return bytes_for(self.places + self.window)

    def randomize(self, places: Values, bits: Bits) -> Reports:
        """The window starts at the own place; the others lie before it and behind it."""
        n, w = len(places), self.window
        inside = places + uniforms(w, n, bits)
        outside = uniforms(self.places, n, bits)
        outside += w * (outside >= places)
        return pack(np.where(flips(rational(self.near), n, bits), inside, outside), self.width)

    @property
    def line(self) -> tuple[Fraction, Fraction]:
        """The mean of a report is slope · place + start."""
        p, w, m = self.near, self.window, self.places
        total = Fraction((m + w) * (m + w - 1), 2)
        half = Fraction(w * (w - 1), 2)
        return p - (1 - p) * w / m, p * Fraction(w - 1, 2) + (1 - p) * (total - half) / m

    def decode(self, reports: Reports) -> Floats:
        """(report - start) / slope, as a share of all places."""
        slope, start = self.line
        return np.asarray((unpack(reports) - float(start)) / float(slope * self.places))

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """A place that exists."""
        return unpack(reports) < self.places + self.window

    def law(self, place: int) -> Law:
        """Two heights."""
        near, far = self.near / self.window, (1 - self.near) / self.places
        return {
            pack(np.array([y]), self.width)[0].tobytes(): near if place <= y < place + self.window else far
            for y in range(self.places + self.window)
        }


@dataclass(frozen=True, slots=True)
class Hybrid(MeanOracle):
    """Piecewise with a public chance, else Duchi; the report says which (Wang et al. 2019)."""

    name = "hybrid"
    low: Fraction
    high: Fraction
    epsilon: Fraction
    piecewise: Piecewise
    duchi: Duchi
    share: Fraction
    places: int = PLACES

    @property
    def width(self) -> int:
        """One byte for which, then a report."""
        return 1 + self.piecewise.width

    def randomize(self, places: Values, bits: Bits) -> Reports:
        """Each client tosses a coin that has nothing to do with the number."""
        out = np.zeros((len(places), self.width), dtype=np.uint8)
        fine = flips(rational(self.share), len(places), bits)
        out[:, 0] = fine
        out[fine, 1:] = self.piecewise.randomize(places[fine], bits)
        out[~fine, 1:2] = self.duchi.randomize(places[~fine], bits)
        return out

    def decode(self, reports: Reports) -> Floats:
        """Each by its own."""
        fine = reports[:, 0] == 1
        return np.where(fine, self.piecewise.decode(reports[:, 1:]), self.duchi.decode(reports[:, 1:2]))

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """A report of one of the two; nothing behind a bit."""
        bit = (reports[:, 0] == 0) & self.duchi.valid(reports[:, 1:2]) & ~reports[:, 2:].any(axis=1)
        return np.asarray(bit | ((reports[:, 0] == 1) & self.piecewise.valid(reports[:, 1:])))

    def law(self, place: int) -> Law:
        """Both, weighted."""
        pad = bytes(self.piecewise.width - 1)
        coarse = {bytes([0]) + r + pad: (1 - self.share) * p for r, p in self.duchi.law(place).items()}
        fine = {bytes([1]) + r: self.share * p for r, p in self.piecewise.law(place).items()}
        return {r: p for r, p in (coarse | fine).items() if p}


@lru_cache(maxsize=64)
def _spread(oracle: MeanOracle) -> tuple[float, float]:
    """The largest variance of a decoded report over all places, and the largest distance from its mean."""
    match oracle:
        case Hybrid(piecewise=piecewise, duchi=duchi, share=share):
            fine, coarse, a = _variances(piecewise), _variances(duchi), float(share)
            reach = max(_spread(piecewise)[1], _spread(duchi)[1])
            return float((a * fine + (1 - a) * coarse).max()), reach
        case Duchi() | Piecewise():
            size = 2 if isinstance(oracle, Duchi) else oracle.places + oracle.window
            ends = oracle.decode(pack(np.array([0, size - 1]), oracle.width))
            return float(_variances(oracle).max()), float(max(1 - ends[0], ends[1]))
        case _:
            raise BadParameter("oracle", oracle, "must be one of this module")


def _variances(oracle: Duchi | Piecewise) -> Floats:
    """The variance of a decoded report at each place."""
    i = np.arange(oracle.places + 1, dtype=np.float64)
    if isinstance(oracle, Duchi):
        q = float(oracle.turned)
        chance = q + (1 - 2 * q) * i / oracle.places
        return np.asarray(chance * (1 - chance) / (1 - 2 * q) ** 2)
    p, w, m = float(oracle.near), oracle.window, oracle.places
    squares = np.concatenate([[0.0], np.cumsum(np.arange(m + w, dtype=np.float64) ** 2)])
    inside = squares[(i + w).astype(np.int64)] - squares[i.astype(np.int64)]
    second = p * inside / w + (1 - p) * (squares[m + w] - inside) / m
    slope, start = (float(x) for x in oracle.line)
    return np.asarray((second - (slope * i + start) ** 2) / (slope * m) ** 2)


def mean(
    *, low: Number, high: Number, epsilon: Number, method: str = "best", places: int = PLACES
) -> Duchi | Piecewise | Hybrid:
    """The mean of numbers from low to high; ``best`` has the least variance in the worst case.

    >>> oracle = mean(low=0, high=100, epsilon=1)
    >>> result = oracle.estimate(oracle.simulate([20.0] * 5000 + [80.0] * 5000))
    >>> float(round(result.error, 1))  # the mean of the 10,000 numbers is 50
    2.9
    >>> mean(low=0, high=1, epsilon="1/2").name, mean(low=0, high=1, epsilon=4).name
    ('duchi', 'hybrid')
    """
    bottom, top = number(low, "low"), number(high, "high")
    if not bottom < top:
        raise BadParameter("low", low, "must be below high")
    _, e = read_domain(2, epsilon)
    m = integer(places, "places", at_least=1)
    duchi = Duchi(bottom, top, e, m)
    fine = Piecewise(bottom, top, e, max(1, round(m * exp_down(-e / 2))), m)
    hybrid = Hybrid(bottom, top, e, fine, duchi, down(max(Fraction(0), 1 - exp_down(-e / 2))), m)
    made: list[Duchi | Piecewise | Hybrid] = [duchi, fine, hybrid]
    if method == "best":
        return min(made, key=lambda oracle: oracle.worst_variance)
    for oracle in made:
        if oracle.name == method:
            return oracle
    raise BadParameter("method", method, "must be best, duchi, piecewise or hybrid")
