"""A budget for a release of whole numbers: pure (epsilon) or concentrated (rho); how it is split, what noise it buys.

Guarantee: the parts of a split budget add up to it exactly, and the noise that a part buys costs exactly that part.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, overload

from discreet.errors import BadParameter
from discreet.exact import Number, positive
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.additive.laplace import Laplace
from discreet.privacy.accountants.gaussian_vectors import VectorBudget
from discreet.privacy.promises.measures import ZCDP, Pure
from discreet.privacy.promises.neighbours import Neighbours

Budget: TypeAlias = Pure | ZCDP
Noise: TypeAlias = Laplace | Gaussian


@dataclass(frozen=True, slots=True)
class Moves:
    """How far a vector of whole numbers moves between neighbours: its L1 length and the square of its L2 length."""

    l1: int
    l2_squared: int


def read_budget(epsilon: Number | None, rho: Number | None) -> Budget:
    """The budget that the caller gave, in one of the two ways.

    >>> read_budget("1/2", None), read_budget(None, "1/8")
    (Pure(epsilon='1/2'), ZCDP(rho='1/8', delta=0))
    """
    if (epsilon is None) == (rho is None):
        raise BadParameter("epsilon", epsilon, "must be given, or rho in its place, and not both")
    return Pure(positive(epsilon, "epsilon")) if epsilon is not None else ZCDP(positive(rho or 0, "rho"))


@overload
def part(budget: Budget, share: Fraction) -> Budget: ...
@overload
def part(budget: VectorBudget, share: Fraction) -> VectorBudget: ...
def part(budget: Budget | VectorBudget, share: Fraction) -> Budget | VectorBudget:
    """A share of the budget: epsilons add up, and rhos do, and so does what Gaussian noise may use of an (ε, δ).

    >>> part(Pure(1), Fraction(1, 3))
    Pure(epsilon='1/3')
    """
    match budget:
        case Pure(epsilon=epsilon):
            return Pure(share * epsilon)
        case ZCDP(rho=rho):
            return ZCDP(share * rho)
        case VectorBudget():
            return budget.part(share)


def noise_for(budget: Budget | VectorBudget, moves: Moves, dimension: int = 1) -> Noise:
    """Discrete Laplace noise for epsilon, discrete Gaussian noise for rho, on whole numbers that move so far.

    >>> noise_for(Pure("1/2"), Moves(2, 2), 10).scale, noise_for(ZCDP("1/8"), Moves(2, 2), 10).sigma_squared
    (Fraction(4, 1), Fraction(8, 1))
    """
    if isinstance(budget, Pure):
        return Laplace(scale=moves.l1 / budget.epsilon, moves=moves.l1, dimension=dimension)
    squared = moves.l2_squared if dimension > 1 else moves.l1**2
    if isinstance(budget, ZCDP):
        return Gaussian(sigma_squared=squared / (2 * budget.rho), moves_squared=squared, dimension=dimension)
    enough = budget.sigma_squared(squared, coordinates=1 if dimension == 1 else squared)
    return Gaussian(sigma_squared=enough, moves_squared=squared, dimension=dimension)


def read_neighbours(neighbours: Neighbours) -> Neighbours:
    """The relation, which must be named."""
    given: object = neighbours
    if not isinstance(given, Neighbours):
        raise BadParameter("neighbours", given, "must be Neighbours.ADD_REMOVE or Neighbours.CHANGE_ONE")
    return given
