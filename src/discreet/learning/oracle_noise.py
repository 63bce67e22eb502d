"""The two kinds of noise of a statistical-query oracle, and what an amount of budget buys of each.

Guarantee: for rows of integers that ``cut`` has shortened to ``radius``, ``release`` keeps ``event(amount)`` for adding
or removing one row, and amounts of answers that are chosen as one goes add up. Proof: oracle_noise.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.errors import BadParameter
from discreet.learning.budget import Budget, event_of, mu_squared
from discreet.learning.sums import ExactSums, clipped_rows, release
from discreet.noise.additive import laplace
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.randomness import SystemBits

_FINEST = 1 << 16  # noise of fewer cells than this is made finer, so that rounding is lost in it
_ABOVE_ONE = 1.0001  # 2/(1 + q) for noise of at least 2^16 cells


class OracleNoise(ABC):
    """A budget that amounts are taken from, and the noise that an amount pays for."""

    unit: str  # what amounts are counted in
    word: str
    parameter: str
    mean_factor: float  # E|noise| is at most this times the parameter

    @property
    @abstractmethod
    def total(self) -> Fraction:
        """All that there is."""

    @abstractmethod
    def event(self, amount: Fraction) -> Event:
        """What an answer for this amount writes into a ledger."""

    @property
    @abstractmethod
    def whole_event(self) -> Event:
        """What the whole budget writes into a ledger."""

    @abstractmethod
    def longest(self, width: int) -> float:
        """The length of a vector of so many ones."""

    @abstractmethod
    def cut(self, rows: Floats, radius: int) -> Floats:
        """Rows of integers, each at most ``radius`` long."""

    @abstractmethod
    def release(self, sums: Integers, radius: int, amount: Fraction) -> tuple[Floats, float]:
        """Noisy sums of such rows, and the parameter of their noise, in cells."""

    @abstractmethod
    def reach(self, risk: float) -> float:
        """z with P[|noise| > z times the parameter] <= risk."""


class GaussianNoise(OracleNoise):
    """Squares of mu add up; lengths are L2."""

    unit, word, parameter, mean_factor = "mu squared", "Gaussian", "sigma", 0.8  # E|N(0, 1)| = 0.798

    def __init__(self, budget: Budget) -> None:
        self._total = mu_squared(budget)
        self._event = event_of(budget)

    @property
    def total(self) -> Fraction:
        """The square of the largest mu that keeps the budget."""
        return self._total

    def event(self, amount: Fraction) -> Event:
        """The Gaussian mechanism of this squared mu."""
        return events.Gaussian(sigma_squared=1 / amount)

    @property
    def whole_event(self) -> Event:
        """The Gaussian mechanism of the whole."""
        return self._event

    def longest(self, width: int) -> float:
        """L2."""
        return sqrt(width)

    def cut(self, rows: Floats, radius: int) -> Floats:
        """Shrunk towards 0 in L2."""
        return clipped_rows(rows, radius)

    def release(self, sums: Integers, radius: int, amount: Fraction) -> tuple[Floats, float]:
        """Floored normal noise, and its sigma."""
        return release(ExactSums(sums, radius**2), amount)

    def reach(self, risk: float) -> float:
        """From 2 (1 - Φ(z)) <= e^{-z²/2} for z >= 0."""
        return sqrt(2 * log(1 / risk))


class LaplaceNoise(OracleNoise):
    """Epsilons add up; lengths are L1. Purely private.

    >>> noise = LaplaceNoise(Pure(1))
    >>> noise.total, noise.event(Fraction(1, 4)), noise.longest(3)
    (Fraction(1, 1), Pure(epsilon='1/4'), 3)
    """

    unit, word, parameter, mean_factor = "epsilon", "Laplace", "scale", 1.0  # E|Z| = 1/sinh(1/b) < b

    def __init__(self, budget: Pure) -> None:
        if not budget.epsilon:
            raise BadParameter("budget", budget, "must have an epsilon above 0")
        self._budget = budget

    @property
    def total(self) -> Fraction:
        """Epsilon."""
        return self._budget.epsilon

    def event(self, amount: Fraction) -> Event:
        """An answer of this epsilon."""
        return events.Pure(amount)

    @property
    def whole_event(self) -> Event:
        """All answers together."""
        return events.Pure(self._budget.epsilon).about(Neighbours.ADD_REMOVE)

    def longest(self, width: int) -> float:
        """L1."""
        return width

    def cut(self, rows: Floats, radius: int) -> Floats:
        """Shrunk towards 0 in L1; certified in integers, as ``clipped_rows`` is.

        >>> LaplaceNoise(Pure(1)).cut(np.array([[30.0, -10.0], [3.0, 4.0]]), 10).tolist()
        [[7.0, -2.0], [3.0, 4.0]]
        """
        long = np.abs(rows).sum(axis=1) > radius
        if not long.any():
            return rows
        out = rows.copy()
        out[long] = np.trunc(rows[long] * (radius / np.abs(rows[long]).sum(axis=1))[:, None] * (1 - 2.0**-30)) + 0.0
        out[np.abs(out).sum(axis=1) > radius] = 0.0
        return out

    def release(self, sums: Integers, radius: int, amount: Fraction) -> tuple[Floats, float]:
        """Discrete Laplace noise on a grid that may be finer, and its scale."""
        scale, finer = radius / amount, 1
        while scale * finer < _FINEST:
            finer *= 2
        noise = laplace(scale * finer, sums.size, SystemBits())
        cells: NDArray[Any] = sums.ravel().astype(object) * finer + noise
        return cells.astype(np.float64).reshape(sums.shape) / finer, float(scale)

    def reach(self, risk: float) -> float:
        """From P[|Z| > t] <= 2/(1 + q) e^{-t/b}, q = e^{-1/b}, on the finer grid."""
        return log(_ABOVE_ONE / risk)


def noise_for(budget: Budget | Pure) -> OracleNoise:
    """Laplace noise for a purely private budget, Gaussian noise for any other.

    >>> noise_for(Pure(1)).unit
    'epsilon'
    """
    return LaplaceNoise(budget) if isinstance(budget, Pure) else GaussianNoise(budget)
