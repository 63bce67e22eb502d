"""How far a weighted sum of many noises may be off, when only the length of its weights is known.

Guarantee: P[|Σ a_i X_i| > error] <= miss for independent Laplace X_i of scale 1, whatever the weights a_i, if none is
beyond 1 in size and Σ a_i² is at most ``weight``. Near the truth: some 1 to 3 % above the law of the worst prefix of a
tree at 95 %. Proof: noise_plan.md.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_LEAST = 1e-12
_NODES, _PIECES = 16, 16
_CLOSE = 1e-6
_ROUNDING = 1 + 1e-6  # of the quadrature, and of the floats in it


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
    if miss < _LEAST:  # the quadrature is not for these
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
    curved = np.array([math.erfc(t / (2 * math.sqrt(each * one))) for one in y.tolist()])
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
