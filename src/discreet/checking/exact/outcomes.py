"""A source of bits that is told every outcome: how each run of a randomized program can be tried in turn.

Promise: the weights of the outcomes of one draw are lower bounds of their probabilities, exact for bits and for whole
numbers below n. What they leave of 1 is the mass of outcomes that are not tried: values of noise far out, below
``tail``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NoReturn

from discreet.errors import NoLaw
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.additive.laplace import Laplace
from discreet.mechanisms.base.inputs import least_whole
from discreet.mechanisms.base.laplace_law import exp_bounds
from discreet.randomness.replay import WholeDraws

Outcome = tuple[int, Fraction]
"""A value, and a lower bound of its probability."""

_GRID = 64
_MOST_BITS = 12


class Undecided(BaseException):
    """A run has come to a draw that its path does not decide; no program may catch it, so it is no Exception."""

    def __init__(self, outcomes: tuple[Outcome, ...]) -> None:
        super().__init__()
        self.outcomes = outcomes


@dataclass(slots=True)
class OutcomePath(WholeDraws):
    """Plays a path of outcomes, one for each draw, and then asks which outcome comes next.

    >>> path = OutcomePath((2,), Fraction(1, 1000))
    >>> path.below(3), path.used
    (2, 1)
    """

    path: tuple[int, ...]
    tail: Fraction
    used: int = 0

    def bits(self, count: int) -> int:
        """So many uniform bits, as one draw."""
        if count > _MOST_BITS:
            raise NoLaw(f"{count} bits at once have too many outcomes to try; draw with bits.below, or additive noise")
        return self.below(1 << count)

    def bytes(self, count: int) -> bytes:
        """So many uniform bytes, as one draw."""
        return self.bits(8 * count).to_bytes(count, "big")

    def below(self, n: int) -> int:
        """A uniform integer in [0, n), as one draw."""
        return self._draw(lambda: _uniform(n))

    def laplace(self, scale: Fraction) -> int:
        """A value of the discrete Laplace law that is not far out."""
        return self._draw(lambda: _symmetric(Laplace(scale=scale, moves=1), self.tail))

    def gaussian(self, sigma_squared: Fraction) -> int:
        """A value of the discrete Gaussian law that is not far out."""
        return self._draw(lambda: _symmetric(Gaussian(sigma_squared=sigma_squared, moves_squared=1), self.tail))

    def geometric(self, scale: Fraction) -> int:
        """A value of the geometric law that is not far out."""
        return self._draw(lambda: _one_sided(scale, self.tail))

    def __copy__(self) -> OutcomePath:
        """Itself: copies of the system's source do not share bits either."""
        return self

    def __deepcopy__(self, memo: object) -> OutcomePath:
        return self

    def __reduce__(self) -> NoReturn:
        raise NoLaw("a path of outcomes cannot be stored; copy with copy.copy or copy.deepcopy")

    def _draw(self, outcomes: Callable[[], tuple[Outcome, ...]]) -> int:
        if self.used == len(self.path):
            raise Undecided(outcomes())
        self.used += 1
        return self.path[self.used - 1]


def _uniform(n: int) -> tuple[Outcome, ...]:
    return tuple((value, Fraction(1, n)) for value in range(n))


@lru_cache(maxsize=64)
def _symmetric(noise: Laplace | Gaussian, tail: Fraction) -> tuple[Outcome, ...]:
    reach = least_whole(lambda k: noise.tail_up(k) <= tail)
    return tuple((value, _down(noise.pmf(value)[0])) for value in range(-reach, reach + 1))


@lru_cache(maxsize=64)
def _one_sided(scale: Fraction, tail: Fraction) -> tuple[Outcome, ...]:
    reach = least_whole(lambda k: exp_bounds(-(k + 1) / scale).upper <= tail)
    stops = 1 - exp_bounds(-1 / scale).upper
    return tuple((value, _down(stops * exp_bounds(-value / scale).lower)) for value in range(reach + 1))


def _down(chance: Fraction) -> Fraction:
    """On a grid, so that products stay short."""
    return Fraction((chance.numerator << _GRID) // chance.denominator, 1 << _GRID)
