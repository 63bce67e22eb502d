"""Probabilities of local randomizers as dyadic rationals, rounded to the private side, so that laws are exact.

Promise: a chance of being honest is never above the stated one, a chance of hiding never below it, both within 2^-40.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from discreet.exact import exp_down

FINE = 40
_ONE = 1 << FINE


def up(x: Fraction) -> Fraction:
    """The next multiple of 2^-40, not below x and not above 1.

    >>> up(Fraction(1, 3)) >= Fraction(1, 3) > up(Fraction(1, 3)) - Fraction(1, 2**40)
    True
    """
    return min(Fraction(ceil(x * _ONE), _ONE), Fraction(1))


def down(x: Fraction) -> Fraction:
    """The next multiple of 2^-40, not above x."""
    return Fraction(floor(x * _ONE), _ONE)


def grown(epsilon: Fraction) -> Fraction:
    """A lower bound of e^ε: whatever is private with it in the place of e^ε is ε-private."""
    return exp_down(epsilon)


def flip_chance(epsilon: Fraction) -> Fraction:
    """1/(e^ε + 1), rounded up: a bit that is turned over with this chance is ε-private.

    >>> 0.26894142 < flip_chance(Fraction(1)) < 0.26894143
    True
    """
    return up(1 / (grown(epsilon) + 1))
