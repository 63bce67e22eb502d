"""The law of a weighted sum of independent discrete noises, by its transform.

Guarantee: P[|Σ w_i Z_i| > error(miss)] <= miss for discrete Laplace or Gaussian noises Z_i of one law and weights that
are known. Where all weights are one and the same, that is the exact law on its lattice; else the error is at most 2 %
of a deviation too large. Proof: sum_law.md.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from discreet.arrays import Floats
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.statistics.budget import Noise

Terms = tuple[tuple[float, int], ...]
"""Weights, none of them 0, and how many noises have each."""

LEAST = 1e-7
"""Misses that are rarer have other bounds."""
_SMOOTH = 8  # a ramp is a spline of this order
_RAMP = 0.02  # its width in deviations
_MOST = 1 << 18  # points
_MOST_WORK = 1 << 22  # points times different weights
_FLOATS = 1e-15  # what floats may add to a probability, for each point
_OUTSIDE = 2e-12


@lru_cache(maxsize=1024)
def law_error(noise: Noise, terms: Terms, miss: float, farthest: float) -> float | None:
    """The error, in cells; None where it would take too long. |sum| is beyond ``farthest`` once in 1e12 at most.

    >>> from discreet.mechanisms.additive.laplace import laplace
    >>> law_error(laplace(sensitivity=1, scale=10), ((1.0, 1),), 0.05, 300.0)
    30.0
    """
    if miss < LEAST:
        return None
    law = _law(noise, terms, _points(miss), farthest)
    if law is None:
        return None
    return law.error(miss)


def _points(miss: float) -> float:
    """How many times the width of a ramp the transform is needed for: what is cut off is below miss / 1000."""
    wanted = 2 / math.pi / _SMOOTH * 1000 / math.ldexp(1.0, math.floor(math.log2(miss)))
    return float(2 * _SMOOTH * wanted ** (1 / _SMOOTH))


@lru_cache(maxsize=64)
def _law(noise: Noise, terms: Terms, reach: float, farthest: float) -> _Law | None:
    weights = {abs(w) for w, _ in terms}
    variance = sum(many * w * w for w, many in terms) * _variance(noise)
    deviation = math.sqrt(variance)
    step = weights.pop() if len(weights) == 1 else None
    if step is not None and step < _RAMP * deviation:
        step = None
    ramp = step if step is not None else _RAMP * deviation
    length = 2 * (farthest + ramp)
    points = math.ceil(reach / ramp * length / (2 * math.pi))
    if points > _MOST or points * len(terms) > _MOST_WORK:
        return None
    return _Law(noise, terms, length=length, points=points, ramp=ramp, step=step)


class _Law:
    """P[|sum| > t] <= E h(sum), where h is 0 up to t - ramp, 1 from t on and smooth between, on a circle."""

    def __init__(
        self, noise: Noise, terms: Terms, *, length: float, points: int, ramp: float, step: float | None
    ) -> None:
        self._ramp, self._length, self._step = ramp, length, step
        self._u = (2 * math.pi / length) * np.arange(1, points + 1, dtype=np.float64)
        logs = np.zeros(points)
        for weight, many in terms:
            logs += many * _log_transform(noise, weight * self._u)
        smooth = np.sinc(self._u * (ramp / (2 * _SMOOTH * math.pi))) ** _SMOOTH
        self._terms = np.exp(logs) * smooth / self._u
        last = float(self._u[-1])
        self._rest = 2 / math.pi * (2 * _SMOOTH / (ramp * last)) ** _SMOOTH / _SMOOTH + _FLOATS * points + _OUTSIDE

    def tail(self, t: float) -> float:
        """At least P[|sum| > t], for ramp <= t <= length/2."""
        half = t - self._ramp / 2
        inside = 2 / self._length * (half + 2 * float(np.dot(np.sin(half * self._u), self._terms)))
        return 1 - inside + self._rest

    def error(self, miss: float) -> float:
        """The least t with a tail of at most the miss: on the lattice, or to a part of the ramp."""
        unit = self._step if self._step is not None else self._ramp / 16
        shift = 1 if self._step is not None else 0  # on a lattice, |sum| > n is |sum| >= n + 1
        low, high = math.ceil(self._ramp / unit) - shift - 1, math.floor(self._length / (2 * unit)) - shift
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.tail((middle + shift) * unit) <= miss else (middle, high)
        return high * unit


def _variance(noise: Noise) -> float:
    if isinstance(noise, Gaussian):
        return float(noise.sigma_squared)
    return 1 / (2 * math.sinh(1 / (2 * float(noise.scale))) ** 2)


def _log_transform(noise: Noise, u: Floats) -> Floats:
    """log E cos(uZ): -log(1 + Var(Z)(1 - cos u)) for Laplace noise; for Gaussian noise a theta function."""
    if not isinstance(noise, Gaussian):
        return -np.log1p(2 * _variance(noise) * np.sin(u / 2) ** 2)
    squared = float(noise.sigma_squared)
    if squared < 0.25:
        z = np.arange(1, 16)[:, None]
        law = np.exp(-(z**2) / (2 * squared))
        return np.asarray(np.log1p(2 * (law * (np.cos(z * u) - 1)).sum(axis=0) / (1 + 2 * law.sum())))
    v = np.remainder(u + math.pi, 2 * math.pi) - math.pi
    around = np.arange(-4, 5)[:, None]
    # e^{-σ²(v + 2πk)²/2} / e^{-σ²v²/2}
    beside = np.exp(-squared * (2 * math.pi * around * v + 2 * (math.pi * around) ** 2)).sum(axis=0)
    whole = math.fsum(math.exp(-2 * squared * (math.pi * k) ** 2) for k in range(-4, 5))
    return np.asarray(np.log(beside) - squared * v * v / 2 - math.log(whole))
