"""How far a weighted sum of independent noises may be off.

Guarantee: P[|Σ a_i Z_i| > error] <= miss, for exact discrete Laplace or Gaussian noises Z_i. Each Z_i can be drawn
together with a continuous X_i of the same scale such that |Z_i - X_i| <= 1 cell, so the error is that of the continuous
sum, whose law is known, and Σ |a_i| cells. Proof: least_squares.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.query.estimate.noise_plan import Noised

_NORMAL = NormalDist()
_LEAST = 1e-9
_POINTS = 1 << 16
_FINE = 1 << 24


@dataclass(frozen=True, slots=True)
class Share:
    """``many`` noises of one kind, each with this weight."""

    noise: Noised
    weight: float
    many: int

    def times(self, factor: float) -> Share:
        """The same noises with other weights."""
        return replace(self, weight=factor * self.weight)


def sum_error(shares: Sequence[Share], miss: float) -> float:
    """|sum| is at most this with probability 1 - miss."""
    miss = max(miss, 1e-15)
    cells = sum(s.many * abs(s.weight) * float(s.noise.unit) for s in shares)
    if isinstance(shares[0].noise.noise, Gaussian):
        deviation = math.sqrt(sum(s.many * s.weight**2 * float(s.noise.variance) for s in shares))
        if all(isinstance(s.noise.noise, Gaussian) and s.noise.noise.sigma_squared >= 1 for s in shares):
            return deviation * -_NORMAL.inv_cdf(miss / 2) + cells
        return deviation * math.sqrt(2 * math.log(2 / miss))  # sub-Gaussian, whatever σ
    scales: dict[float, int] = {}
    for s in shares:
        scale = math.sqrt(float(s.noise.variance) / 2) * abs(s.weight)
        scales[scale] = scales.get(scale, 0) + s.many
    return _laplace(tuple(sorted(scales.items(), reverse=True)), miss) + cells


def weighted_error(scale: float, weights: Sequence[float], miss: float, *, gaussian: bool) -> float:
    """Of Σ a_i Z_i, all noises of one scale (σ, or that of Laplace noise), beside which a cell is nothing.

    >>> round(weighted_error(1.0, [1.0], 0.05, gaussian=False), 6)
    2.995732
    >>> round(weighted_error(1.0, [3.0, 4.0], 0.05, gaussian=True), 3)
    9.8
    """
    if gaussian:
        return scale * math.sqrt(sum(a * a for a in weights)) * -_NORMAL.inv_cdf(max(miss, 1e-15) / 2)
    sizes = scale * np.abs(np.array([a for a in weights if a]))
    if len(sizes) < 2:
        return float(sizes.sum()) * -math.log(max(miss, 1e-15))
    tries = np.linspace(0.02, 0.98, 97) / sizes.max()  # Chernoff: e^(-λt) Π 1/(1 - λ²s²) on both sides
    logs = -np.log1p(-(np.outer(tries, sizes) ** 2)).sum(axis=1)
    return float(np.min((math.log(2 / max(miss, 1e-15)) + logs) / tries))


Scales = tuple[tuple[float, int], ...]


@lru_cache(maxsize=1024)
def _laplace(scales: Scales, miss: float) -> float:
    """A t with P[|Σ X_i| > t] <= miss for Laplace X_i: by the law itself, or by its moments for tiny misses."""
    if len(scales) == 1 and scales[0][1] == 1:
        return scales[0][0] * -math.log(miss)
    if len(scales) == 1 and scales[0][1] == 2:
        return scales[0][0] * _two(miss)
    deviation = math.sqrt(sum(2 * many * s * s for s, many in scales))
    return deviation * _standard(tuple((math.ceil(s / deviation * _FINE) / _FINE, many) for s, many in scales), miss)


@lru_cache(maxsize=1024)
def _standard(scales: Scales, miss: float) -> float:
    """The same for a sum of variance 1 or a hair more: whatever is paid, scales keep their proportions.

    They may be rounded up: Laplace laws are symmetric with one peak, so a larger scale makes every |Σ X_i| > t likelier
    (Birnbaum 1948).
    """
    low, high = 0.0, _chernoff(scales, miss)
    if miss < _LEAST:
        return high
    law = _Law(scales, high)
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if law.tail(middle) <= miss else (middle, high)
    return high


@lru_cache(maxsize=256)
def _two(miss: float) -> float:
    """A t with (1 + t/2) exp(-t) <= miss, near the least: this is P[|X₁ + X₂| > t] for scale 1."""
    low, high = 0.0, 80.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if (1 + middle / 2) * math.exp(-middle) > miss else (low, middle)
    return high


class _Law:
    """The law of a sum of variance 1: P[|sum| <= t] = 2/π ∫ sin(tu)/u · Π 1/(1 + s²u²) du, by its transform.

    The integral is a sum over a grid of u. That is the law of the sum on a circle, which leaves out what lies beyond
    ``largest`` + 30 deviations (below 1e-17); and it ends where its rest, of falling terms, is bounded by the last.
    """

    def __init__(self, scales: Scales, largest: float) -> None:
        self._step = 2 * math.pi / (2 * largest + 30)
        self._u = self._step * np.arange(1, _POINTS + 1)
        logs = np.zeros(_POINTS)
        for s, many in scales:
            logs += many * np.log1p((s * self._u) ** 2)
        self._terms = self._step * np.exp(-logs) / self._u

    def tail(self, t: float) -> float:
        """P[|sum| > t], rounded up."""
        inside = t * self._step / 2 + float(np.dot(np.sin(t * self._u), self._terms))
        rest = float(self._terms[-1]) / abs(math.sin(t * self._step / 2))
        return 1 - 2 / math.pi * (inside - rest) + 1e-13


def _chernoff(scales: Scales, miss: float) -> float:
    """min over 0 < r < 1/max s of (Σ -log(1 - s²r²) + log 2/miss)/r, for a few r."""
    largest = scales[0][0]

    def bound(share: float) -> float:
        rate = share / largest
        return (sum(-many * math.log1p(-((s * rate) ** 2)) for s, many in scales) + math.log(2 / miss)) / rate

    return min(bound(k / 256) for k in range(1, 256))
