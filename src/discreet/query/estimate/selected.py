"""Numbers of units of groups that are shown because their noisy number reached a threshold.

Guarantee: for every number u of units, an interval holds u with probability at least 1 - miss *given that the group is
shown*, independently of all other groups. So among the groups of an answer the expected share of misses is at most
``miss``, and intervals with miss/k all hold together when k groups are shown. Proof: selected.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.statistics.budget import Noise
from discreet.query.estimate.estimators import Estimate

_LEAST = 1e-15
_CERTAIN = 40.0
"""Cells that noise with σ < 1 does not reach: 2e^{-800}."""
_HALVINGS = 64
_NORMAL = NormalDist()
Tail = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected(Estimate):
    """An estimate of a number of units that is known only because it is at least ``threshold`` cells with its noise."""

    threshold: int

    @property
    def possible(self) -> tuple[float, float]:
        """No number of units is below 0."""
        return 0.0, math.inf

    def ends(self, miss: float) -> tuple[Floats, Floats]:
        """An interval for each group, given that it is shown."""
        assert self.noised is not None  # noqa: S101
        unit = float(self.noised.unit)
        low, high = interval(np.round(self.values / unit), self.threshold, self.noised.noise, miss)
        return low * unit, high * unit


def interval(noisy: Floats, threshold: int, noise: Noise, miss: float) -> tuple[Floats, Floats]:
    """What the exact numbers may be, given that with this noise they are at least the threshold; in cells.

    Near the threshold nothing is known from below: a group of any size that is shown has such a number.

    >>> from discreet.mechanisms.additive.laplace import Laplace
    >>> low, high = interval(np.array([1010.0, 2000.0]), 1000, Laplace(scale=50, moves=1), 0.05)
    >>> low.round().tolist(), high.round().tolist()
    ([0.0, 1849.0], [1137.0, 2151.0])
    """
    miss = max(miss, _LEAST)
    if isinstance(noise, Gaussian) and noise.sigma_squared < 1:
        return np.where(noisy - threshold > _CERTAIN, noisy - _CERTAIN, 0.0), noisy + _CERTAIN
    scale = math.sqrt(noise.sigma_squared) if isinstance(noise, Gaussian) else float(noise.scale)
    tail = _normal if isinstance(noise, Gaussian) else _laplace
    reach = scale * (-_NORMAL.inv_cdf(miss / 2) if isinstance(noise, Gaussian) else -math.log(miss)) + 2

    def accepts(u: Floats) -> NDArray[np.bool_]:
        return _p_value(u, noisy, threshold, lambda x: tail(x / scale)) > miss

    low = _last(accepts, noisy, np.zeros_like(noisy))
    return low, _last(accepts, noisy, noisy + reach)


def _last(accepts: Callable[[Floats], NDArray[np.bool_]], inside: Floats, beyond: Floats) -> Floats:
    """How far the accepted numbers go from ``inside``, which is one, towards ``beyond``: just past the last of them."""
    inside, beyond = inside.copy(), beyond.copy()
    inside = np.where(accepts(beyond), beyond, inside)
    for _ in range(_HALVINGS):
        middle = (inside + beyond) / 2
        good = accepts(middle)
        inside, beyond = np.where(good, middle, inside), np.where(good, beyond, middle)
    return beyond


def _p_value(u: Floats, noisy: Floats, threshold: int, log_tail: Tail) -> Floats:
    """At least the chance that, among the noises with which u is shown, one is as unlikely as that which was drawn."""
    distance, least = np.abs(noisy - u), threshold - u
    one_side = np.exp(np.minimum(log_tail(distance - 1) - log_tail(least), 0.0))
    inner = np.maximum(1 - 2 * np.exp(log_tail(distance - 1)), 0.0)
    both_sides = 1 - inner / np.exp(log_tail(np.minimum(least, 0.0) - 1))
    return np.where(least > -distance, one_side, both_sides)


def _laplace(x: Floats) -> Floats:
    """log P[X >= x] for scale 1."""
    return np.where(x >= 0, -x - math.log(2), np.log1p(-np.exp(np.minimum(x, 0.0)) / 2))


def _normal(x: Floats) -> Floats:
    """log P[X >= x] for σ = 1."""
    from scipy.special import log_ndtr

    return np.asarray(log_ndtr(-x), dtype=np.float64)
