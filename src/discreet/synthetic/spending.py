"""Pay, then draw: the two ways in which this package looks at data, each an event of one filter.

Guarantee: whatever is chosen adaptively, all that was drawn together keeps the filter's budget, and nothing is drawn
before it was paid. A choice is the exponential mechanism on whole scores; a measurement is discrete Gaussian noise on
whole counts. Proof: spending.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadParameter
from discreet.exact import Number, positive, sqrt_down
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.additive.laplace import Laplace
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.statistics.budget import Moves
from discreet.privacy.accountants.conversions import largest_zcdp
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.synthetic.model.fit import Measured

_FINE = 1 << 20  # noise and rates are short fractions, rounded against us
_LARGEST = 1 << 100  # of the variance
_LARGEST_SCALE = 1 << 50  # of Laplace noise
Clique = tuple[int, ...]


def read_budget(epsilon: Number | None, delta: Number | None, rho: Number | None) -> tuple[Fraction, Approx | None]:
    """The rho that the caller's budget allows, and the (ε, δ) that it was given as, if it was.

    >>> float(read_budget(1, "1e-9", None)[0])
    0.01497...
    """
    if rho is not None:
        if epsilon is not None or delta is not None:
            raise BadParameter("rho", rho, "must not be given together with epsilon or delta")
        return positive(rho, "rho"), None
    if epsilon is None:
        raise BadParameter("epsilon", None, "must be given with delta, or rho in their place")
    if delta is None:
        raise BadParameter("delta", None, "must be given with epsilon: Gaussian noise is never purely private")
    approx = Approx(positive(epsilon, "epsilon"), positive(delta, "delta"))
    return largest_zcdp(approx).rho, approx


def gaussian_for(rho: Fraction, moves: Moves, dimension: int) -> Gaussian:
    """The least noise, to a relative 2^-20, that costs at most rho."""
    squared = moves.l2_squared if dimension > 1 else moves.l1**2
    exact = squared / (2 * rho)
    if exact > _LARGEST:
        raise BadParameter("rho", float(rho), "must be larger: the noise would not fit into 64 bits")
    digits = _FINE if exact < _FINE else 1
    return Gaussian(sigma_squared=Fraction(ceil(exact * digits), digits), moves_squared=squared, dimension=dimension)


def choice_for(rho: Fraction, sensitivity: int) -> Exponential:
    """The exponential mechanism that costs at most rho: its loss has range ε = √(8 rho), and ρ = ε²/8.

    The scores move both ways, so e^(ε score / 2Δ): a rate of ε/Δ would have a loss of range 2ε, four times the price.
    """
    epsilon = sqrt_down(8 * rho)
    short = Fraction(int(epsilon * _FINE * _FINE), _FINE * _FINE)
    if not short:
        raise BadParameter("rho", rho, "must be larger for a choice")
    return Exponential(sensitivity=Fraction(sensitivity), rate=short / (2 * sensitivity))


@dataclass
class Spending:
    """A filter, and what was paid from it, in order."""

    filter: Filter
    events: list[tuple[str, Event]] = field(default_factory=list)
    scale: int = 1
    """What one row counts in exact counts; what is released is in rows."""

    @classmethod
    def of(cls, rho: Fraction, scale: int = 1) -> Spending:
        """A new budget of so much, for counts of this scale."""
        return cls(Filter(ZCDP(rho)), scale=scale)

    @classmethod
    def pure(cls, epsilon: Fraction, scale: int = 1) -> Spending:
        """A new budget in epsilon alone, for ``measure_pure``."""
        return cls(Filter(Pure(epsilon)), scale=scale)

    @property
    def charged(self) -> ZCDP:
        """The sum of what was charged so far."""
        return cast(ZCDP, self.filter.charged)

    @property
    def left(self) -> Fraction:
        """What one further charge may cost."""
        return cast(ZCDP, self.filter.remaining).rho

    def promise(self, wanted: Approx | None) -> ZCDP | Approx | Pure:
        """What all draws together keep, however they were chosen: the budget, as (ε, δ) where it was given so.

        What was charged when a run stopped may be less, and is no promise: when to stop may follow from the answers.
        """
        return cast("ZCDP | Pure", self.filter.budget) if wanted is None else wanted

    def measure(self, clique: Clique, exact: NDArray[np.int64], moves: Moves, rho: Fraction, purpose: str) -> Measured:
        """Noisy counts of one marginal, in rows: the noise is added to whole numbers, and only then they are scaled."""
        mechanism = gaussian_for(rho, moves, exact.size)
        value = exact.ravel() if exact.size > 1 else int(exact.sum())
        receipt = self.filter.spend(mechanism.event)
        self.events.append((f"measured {purpose}", mechanism.event))
        noisy = np.asarray(mechanism.release(value, receipt).value, dtype=np.int64).reshape(exact.shape)
        if self.scale == 1:
            return Measured(clique, noisy, float(mechanism.sigma_squared))
        return Measured(clique, noisy / self.scale, float(mechanism.sigma_squared / self.scale**2))

    def measure_pure(
        self, clique: Clique, exact: NDArray[np.int64], moves: Moves, epsilon: Fraction, purpose: str
    ) -> Measured:
        """The same with discrete Laplace noise of scale L1 / epsilon, which costs epsilon and no delta."""
        scale = Fraction(ceil(moves.l1 / epsilon * _FINE), _FINE)
        if scale > _LARGEST_SCALE:
            raise BadParameter("epsilon", float(epsilon), "must be larger: the noise would not fit into 64 bits")
        mechanism = Laplace(scale=scale, moves=moves.l1, dimension=exact.size)
        receipt = self.filter.spend(mechanism.event)
        self.events.append((f"measured {purpose}", mechanism.event))
        value = exact.ravel() if exact.size > 1 else int(exact.sum())
        noisy = np.asarray(mechanism.release(value, receipt).value, dtype=np.int64).reshape(exact.shape)
        return Measured(clique, noisy / self.scale, float(2 * (scale / self.scale) ** 2))

    def choose(self, scores: Sequence[int], sensitivity: int, rho: Fraction, purpose: str) -> int:
        """The place of a large score; neighbours move each score by at most ``sensitivity``."""
        mechanism = choice_for(rho, sensitivity)
        receipt = self.filter.spend(mechanism.event)
        self.events.append((f"chose {purpose}", mechanism.event))
        place = mechanism.release(list(scores), receipt).value
        return int(place)
