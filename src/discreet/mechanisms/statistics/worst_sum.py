"""How far a weighted sum of many noises may be off, when only the length of its weights is known.

Guarantee: P[|Σ a_i Z_i| > error] <= miss for independent discrete Laplace or Gaussian noises Z_i of one law, whatever
the weights a_i, if none is beyond 1 in size and Σ a_i² is at most ``weight``. Near the truth: at 95 % some 1 to 3 %
above the law of the worst sum for noise of many cells, and as much again for noise of few. Proof: worst_sum.md.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.statistics.budget import Noise

_NORMAL = NormalDist()
LEAST = 1e-12
"""Misses that are rarer have other bounds."""
_NODES, _PIECES = 16, 16
_CLOSE = 1e-6
_ROUNDING = 1 + 1e-6  # of the quadrature, and of the floats in it
_UP = 1 + 1e-9  # of floats
_BESIDE = 1 / math.sqrt(2 * math.pi)  # a normal law with this deviation is wider than the uniform one on (-1/2, 1/2)
_CUTS = (0.0, 0.4, 0.8, 1.2, 1.6, 2.0, 2.5, 3.0, 4.0)
_FINE = 1 << 12
_APART, _APART_MISS = 8.0, 2.6e-14  # 2 exp(-8²/2), rounded up


def noise_sum(noise: Noise, weight: float, miss: float) -> float:
    """The error in cells: the lesser of a bound by moments, for any miss, and one by a continuous law that is wider.

    >>> from discreet.mechanisms.additive.laplace import laplace
    >>> round(noise_sum(laplace(sensitivity=1, scale=100), 8.0, 0.05)), round(100 * laplace_sum(8.0, 0.05))
    (799, 795)
    """
    if isinstance(noise, Gaussian):
        simple = math.sqrt(2 * float(noise.sigma_squared) * weight * math.log(2 / miss)) * _UP  # sub-Gaussian
    else:
        simple = float(noise.scale) * sub_exponential(weight, miss) * _UP
    return simple if miss < LEAST else min(simple, _by_wider_law(noise, weight, miss))


def _by_wider_law(noise: Noise, weight: float, miss: float) -> float:
    root = math.sqrt(weight)
    if isinstance(noise, Gaussian) and noise.sigma_squared > _FINE**2:  # discrete noise beside continuous one
        deviation = math.sqrt(noise.sigma_squared)
        return root * (deviation * -_NORMAL.inv_cdf((miss - _APART_MISS) / 2) + _APART) * _UP
    scale = _wider_gaussian(float(noise.sigma_squared)) if isinstance(noise, Gaussian) else _wider(float(noise.scale))
    rough = scale * (1.0 if isinstance(noise, Gaussian) else math.sqrt(2))
    cut = min(_CUTS, key=lambda c: rough * -_NORMAL.inv_cdf(miss * _NORMAL.cdf(c) / 2) + c * _BESIDE)
    kept = miss * _NORMAL.cdf(cut) / _UP
    smooth = root * -_NORMAL.inv_cdf(kept / 2) if isinstance(noise, Gaussian) else laplace_sum(weight, kept)
    return (scale * smooth + cut * _BESIDE * root) * _UP


def wider_variance(noise: Noise) -> float:
    """At least the variance of a continuous law of the same kind for which |X| is stochastically at least |Z|."""
    if not isinstance(noise, Gaussian):
        return 2 * _wider(float(noise.scale)) ** 2 * _UP
    return _wider_gaussian(min(float(noise.sigma_squared), 1e300)) ** 2 * _UP


def _wider(scale: float) -> float:
    """The scale of a Laplace law that is wider than discrete Laplace noise with a uniform cell around it."""
    return _UP / (2 * math.tanh(1 / (2 * scale)))


@lru_cache(maxsize=256)
def _wider_gaussian(squared: float) -> float:
    """The deviation of a normal law that is wider than discrete Gaussian noise with a uniform cell around it.

    A guess, σ² + 1/2, that is checked cell by cell: the normal tail is convex and the other one linear in a cell, so
    their difference is least where the densities meet. Beyond ``last`` the normal density is larger for good.
    """
    if squared > _FINE**2:
        return math.sqrt(squared) * (1 + 1e-3)
    more = max(0.5, squared / 512)
    wide = math.sqrt(squared + more)
    last = _last_meeting(squared, wide * wide)
    n = np.arange(last + math.ceil(40 * math.sqrt(squared)) + 2, dtype=np.float64)
    law = np.exp(-n * n / (2 * squared))
    law /= law[0] + 2 * law[1:].sum()
    beyond = 2 * np.cumsum(law[::-1])[::-1][1:]  # P[|Z| > n]
    n, law, beyond = n[: last + 1], law[: last + 1], beyond[: last + 1]
    level = law * wide * math.sqrt(2 * math.pi)
    meet = wide * np.sqrt(np.maximum(-2 * np.log(np.maximum(level, 1e-300)), 0))
    first = np.maximum(n - 0.5, 0)
    x = np.clip(meet, first, n + 0.5)
    discrete = beyond + law * (1 - 2 * (x - n))
    normal = np.array([math.erfc(place / (wide * math.sqrt(2))) for place in x.tolist()])
    holds = (normal >= discrete * _UP) | (n == 0)
    return wide if bool(holds.all()) and float(level[0]) >= _UP else math.inf


def _last_meeting(squared: float, wide: float) -> int:
    """The n from which on the normal density is above the discrete one in the whole cell: a quadratic in n."""
    a = (1 / squared - 1 / wide) / 2
    c = 1 / (8 * wide) + max(0.0, min(math.log(wide / squared), math.log(2 * math.pi * wide)) / 2)
    return math.ceil((1 / (2 * wide) + math.sqrt(1 / (4 * wide * wide) + 4 * a * c)) / (2 * a)) + 1


def sub_exponential(weight: float, miss: float) -> float:
    """The bound of Chan, Shi and Song 2011: the larger of two regimes. Discrete noise keeps it too."""
    log_miss = math.log(2 / miss)
    return max(2 * math.sqrt(2 * weight * log_miss), 2 * math.sqrt(2) * log_miss)


@lru_cache(maxsize=1024)
def laplace_sum(weight: float, miss: float) -> float:
    """The error.

    >>> round(laplace_sum(8.0, 0.05), 2), round(1.96 * math.sqrt(2 * 8.0), 2)  # that of a normal sum is little less
    (7.95, 7.84)
    """
    low, high = 0.0, sub_exponential(weight, miss)
    if miss < LEAST:  # the quadrature is not for these
        return high
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle, weight) <= miss else (middle, high)
    return high


def tail(t: float, weight: float) -> float:
    """At least P[|Σ a_i X_i| > t]: the mean of g(V) for V = (weight/k)·Γ(k), k = ⌊weight⌋.

    g(v) is P[|N(0, 2v)| > t] = erfc(t / 2√v) up to v = t²/6, where that ceases to be convex, and its tangent beyond.
    """
    k = max(1, math.floor(weight))
    each = weight / k
    ends = t * t / 6 / each
    nodes, lengths = _quadrature()
    y = ends * nodes
    curved = np.array([math.erfc(t / (2 * math.sqrt(each * point))) for point in y.tolist()])
    density = np.exp((k - 1) * np.log(y) - y - math.lgamma(k))
    inside = ends * float(np.dot(lengths, curved * density))
    value = math.erfc(math.sqrt(1.5))
    slope = math.exp(-1.5) / (2 * math.sqrt(math.pi)) * t / math.sqrt(each * ends) ** 3
    above, mean_above = _gamma_above(k, ends), each * k * _gamma_above(k + 1, ends)
    return (inside + value * above + slope * (mean_above - each * ends * above)) * _ROUNDING


def _gamma_above(k: int, x: float) -> float:
    """P[Γ(k) > x] for whole k: fewer than k arrivals until x."""
    return math.fsum(math.exp(j * math.log(x) - x - math.lgamma(j + 1)) for j in range(k))


@lru_cache(maxsize=1)
def _quadrature() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gauss and Legendre's nodes and weights for an integral from 0 to 1, in pieces of equal length."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    pieces = np.add.outer(np.arange(_PIECES), (nodes + 1) / 2) / _PIECES
    return pieces.reshape(-1), np.tile(weights / (2 * _PIECES), _PIECES)
