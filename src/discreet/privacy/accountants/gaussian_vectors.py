"""Discrete Gaussian noise on vectors, made for an (ε, δ): through the continuous Gaussian, with the gap between them.

Promise: noise of ``VectorBudget.sigma_squared``, for all parts of a budget together, keeps the (ε, δ) that
``vector_budget`` was asked for, whatever the vectors' lengths and however many coordinates move.
Believes: gaussian_vectors.md, and the certified δ of the continuous Gaussian in conversions.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.exact import log_up
from discreet.privacy.accountants.conversions import gdp_delta, largest_gdp
from discreet.privacy.promises.events import DiscreteGaussian
from discreet.privacy.promises.measures import GDP, Approx

_GAP = Fraction(1, 1 << 13)
"""The part of ε, and of δ, that pays for the noise being discrete."""
_TWICE_PI_SQUARED = Fraction(19739, 1000)  # a little less


@dataclass(frozen=True, slots=True)
class VectorBudget:
    """(sensitivity/τ)² of continuous noise, and how much of the gap to discrete noise may be used; both add up.

    >>> whole = vector_budget(Approx(1, "1e-6"))
    >>> (
    ...     float(whole.sigma_squared(100, coordinates=100)) ** 0.5,
    ...     float(whole.part(Fraction(1, 4)).sigma_squared(1)) ** 0.5,
    ... )
    (42.26..., 8.4...)
    """

    mu_squared: Fraction
    gap: Fraction

    def part(self, share: Fraction) -> VectorBudget:
        """A share of it: the parts of a split budget add up to it."""
        return VectorBudget(share * self.mu_squared, share * self.gap)

    def sigma_squared(self, moves_squared: int, *, coordinates: int = 1) -> Fraction:
        """σ² that is enough for integers that move by √moves_squared in L2, in at most so many coordinates."""
        return moves_squared / self.mu_squared + _smooth(min(coordinates, moves_squared), self.gap)


@lru_cache(maxsize=256)
def vector_budget(promise: Approx) -> VectorBudget:
    """What discrete Gaussian noise may use of a promise with δ above 0."""
    less = Approx(promise.epsilon * (1 - _GAP), promise.delta * (1 - _GAP))
    return VectorBudget(_largest_mu_squared(less), min(promise.epsilon, Fraction(1)) * _GAP / 3)


def vectors_delta_up(noises: Sequence[DiscreteGaussian], epsilon: Fraction) -> Fraction:
    """A δ, rounded up, for which all of these together are (ε, δ)-private; 1 where nothing is known.

    >>> noise = DiscreteGaussian(sigma=50, sensitivity_squared=100, dimension=100)
    >>> float(vectors_delta_up([noise], Fraction(1)))
    1.768...e-08
    """
    gap = min(epsilon, Fraction(1)) * _GAP
    if not gap:
        return Fraction(1)
    mu_squared = Fraction(0)
    for noise in noises:
        moved = 1 if noise.dimension == 1 else noise.sensitivity_squared
        continuous = noise.sigma_squared - _smooth(moved, gap / 3 / len(noises))
        if continuous <= 0:
            return Fraction(1)
        mu_squared += noise.sensitivity_squared / continuous
    delta = Fraction(gdp_delta(GDP(mu_squared=mu_squared), epsilon - gap).upper) / (1 - gap / 3)
    return min(delta, Fraction(1))


@lru_cache(maxsize=4096)
def _smooth(moved: Fraction | int, gap: Fraction) -> Fraction:
    """An s² with m·κ <= gap for m moved coordinates."""
    return Fraction(math.ceil(64 * log_up(3 * moved / gap) / _TWICE_PI_SQUARED), 64)


def _largest_mu_squared(promise: Approx) -> Fraction:
    """A μ² near the largest that implies the promise: guessed in floats, then certified."""
    guess = _guess(float(promise.epsilon), float(promise.delta))
    for below in (2.0**-40, 2.0**-20, 2.0**-12):
        mu_squared = Fraction((guess * (1 - below)) ** 2)
        if mu_squared and gdp_delta(GDP(mu_squared=mu_squared), promise.epsilon).upper <= promise.delta:
            return mu_squared
    return largest_gdp(promise).mu_squared


def _guess(epsilon: float, delta: float) -> float:
    """About the μ whose δ at ε is this one."""
    low, high = -30.0, 7.0  # of log μ
    for _ in range(60):
        middle = (low + high) / 2
        mu = math.exp(middle)
        near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        here = _normal(near) - math.exp(min(epsilon, 700.0)) * _normal(far)
        low, high = (middle, high) if here <= delta else (low, middle)
    return math.exp(low)


def _normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2
