"""Answers with additive noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import BadParameter
from discreet.exact import Number, integer, positive, sqrt_up
from discreet.privacy.promises.events.base import Event
from discreet.privacy.promises.measures import square_of

_WHOLE = "must be an integer: the noise lives on the integers, so the answer moves in whole steps"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Laplace(Event):
    """The answer plus noise of density e^{-|z|/scale}/(2 scale) in each coordinate; sensitivity is in L1.

    The pair is noise around 0 against noise around ``sensitivity`` on the line. It dominates every move of L1
    length ``sensitivity`` in any dimension: the noise is log-concave, so the largest power of a test after a move by
    a and then by b is the largest power after a move by a + b, and coordinates may be moved one after the other.

    >>> Laplace(scale=10)
    Laplace(scale=10, sensitivity=1)
    """

    scale: Fraction
    sensitivity: Fraction

    def __init__(self, scale: Number, sensitivity: Number = 1) -> None:
        self.fill(scale=positive(scale, "scale"), sensitivity=positive(sensitivity, "sensitivity"))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class DiscreteLaplace(Event):
    """A whole-number answer plus noise P(z) ∝ e^{-|z|/scale} in each coordinate; sensitivity is in L1, and whole.

    The pair is noise around 0 against noise around ``sensitivity`` on the integers; it dominates as in Laplace.

    >>> DiscreteLaplace(scale="1/2", sensitivity=3)
    DiscreteLaplace(scale='1/2', sensitivity=3)
    """

    scale: Fraction
    sensitivity: Fraction

    def __init__(self, scale: Number, sensitivity: Number = 1) -> None:
        moved = positive(sensitivity, "sensitivity")
        if moved.denominator != 1:
            raise BadParameter("sensitivity", sensitivity, _WHOLE)
        self.fill(scale=positive(scale, "scale"), sensitivity=moved)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Gaussian(Event):
    """The answer plus independent N(0, σ²) in each coordinate; sensitivity is in L2.

    The pair is N(0, σ²) against N(sensitivity, σ²) on the line, in any dimension, since the noise is round.
    Squares are kept, since σ or the sensitivity may be a root such as √2.

    >>> Gaussian(sigma=10), Gaussian(sigma_squared=2, sensitivity_squared=2).mu_squared
    (Gaussian(sigma_squared=100, sensitivity_squared=1), Fraction(1, 1))
    """

    sigma_squared: Fraction
    sensitivity_squared: Fraction

    def __init__(
        self,
        sigma: Number | None = None,
        sensitivity: Number | None = None,
        *,
        sigma_squared: Number | None = None,
        sensitivity_squared: Number | None = None,
    ) -> None:
        self.fill(
            sigma_squared=square_of("sigma", sigma, sigma_squared, positive),
            sensitivity_squared=_moved_squared(sensitivity, sensitivity_squared),
        )

    @property
    def mu_squared(self) -> Fraction:
        """(sensitivity / σ)², all that the pair of laws depends on."""
        return self.sensitivity_squared / self.sigma_squared

    @property
    def sigma(self) -> Fraction:
        """The standard deviation, exact or rounded up."""
        return sqrt_up(self.sigma_squared)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class DiscreteGaussian(Event):
    """A whole-number answer plus noise P(z) ∝ e^{-z²/(2σ²)} in each of ``dimension`` coordinates; sensitivity is in L2.

    In one dimension the pair is noise around 0 against noise around ``sensitivity``, on the integers. In more, the
    answer moves by any vector of integers of that length at most (its square is whole), and no one pair is known to
    dominate, except when the length is 1: then one coordinate moves by one. σ² is the parameter, not the variance.

    >>> DiscreteGaussian(sigma=10, sensitivity=2)
    DiscreteGaussian(sigma_squared=100, sensitivity_squared=4, dimension=1)
    """

    sigma_squared: Fraction
    sensitivity_squared: Fraction
    dimension: int

    def __init__(
        self,
        sigma: Number | None = None,
        sensitivity: Number | None = None,
        dimension: int = 1,
        *,
        sigma_squared: Number | None = None,
        sensitivity_squared: Number | None = None,
    ) -> None:
        moved = _moved_squared(sensitivity, sensitivity_squared)
        dimension = integer(dimension, "dimension", at_least=1)
        if moved.denominator != 1 or (dimension == 1 and math.isqrt(moved.numerator) ** 2 != moved):
            raise BadParameter("sensitivity", sensitivity if sensitivity is not None else sensitivity_squared, _WHOLE)
        self.fill(
            sigma_squared=square_of("sigma", sigma, sigma_squared, positive),
            sensitivity_squared=moved,
            dimension=dimension,
        )

    @property
    def shift(self) -> int | None:
        """How far the one coordinate that moves can move, or None where several may move together."""
        if self.dimension == 1 or self.sensitivity_squared == 1:
            return math.isqrt(self.sensitivity_squared.numerator)
        return None

    @property
    def sigma(self) -> Fraction:
        """The parameter σ, exact or rounded up."""
        return sqrt_up(self.sigma_squared)


def _moved_squared(sensitivity: Number | None, squared: Number | None) -> Fraction:
    if sensitivity is None and squared is None:
        return Fraction(1)
    return square_of("sensitivity", sensitivity, squared, positive)
