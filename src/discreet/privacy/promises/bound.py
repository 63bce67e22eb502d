"""Bound: a certified pair of numbers around a truth that has no closed form.

Promise: the truth lies between the two, which are rounded outwards when they leave for floats.
Believes: whoever makes a Bound has proven its two sides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from discreet.errors import BadParameter
from discreet.exact import float_down, float_up

Real: TypeAlias = float | Fraction


@dataclass(frozen=True, slots=True)
class Bound:
    """The truth is at least ``lower`` and at most ``upper``.

    >>> bound = Bound(lower=4.8865, upper=4.8866)
    >>> bound, 4.88655 in bound, 5 in bound
    (Bound(lower=4.8865, upper=4.8866), True, False)
    """

    lower: Real
    upper: Real

    def __post_init__(self) -> None:
        for name, value in (("lower", self.lower), ("upper", self.upper)):
            if isinstance(value, float) and math.isnan(value):
                raise BadParameter(name, value, "must be a number")
        if not self.lower <= self.upper:
            raise BadParameter("lower", self.lower, f"must be at most upper, which is {self.upper}")

    @classmethod
    def outwards(cls, lower: Fraction, upper: Fraction) -> Bound:
        """The same bound in floats, the lower side rounded down and the upper side up.

        >>> Bound.outwards(Fraction(1, 3), Fraction(1, 3))
        Bound(lower=0.3333333333333333, upper=0.33333333333333337)
        """
        return cls(float_down(lower), float_up(upper))

    @property
    def width(self) -> Real:
        """How far the two sides are apart (0 for a bound at infinity); a float width is rounded up."""
        if self.lower == self.upper:
            return 0.0 if isinstance(self.upper, float) else Fraction(0)
        if isinstance(self.lower, Fraction) and isinstance(self.upper, Fraction):
            return self.upper - self.lower
        if math.isinf(self.lower) or math.isinf(self.upper):
            return math.inf
        return float_up(Fraction(self.upper) - Fraction(self.lower))

    def __contains__(self, value: Real) -> bool:
        return bool(self.lower <= value <= self.upper)
