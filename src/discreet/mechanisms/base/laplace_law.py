"""The discrete Laplace law by itself: P[Z = k] and P[Z >= k] from both sides, for the laws that mechanisms write down.

Promise: the truth lies in each interval. Believes: exact.py, and ``Interval`` for long sums and products.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from discreet.exact import exp_down, exp_up
from discreet.privacy.numerics.interval import Interval

ONE = Interval.of(Fraction(1))  # with all its bits, so that what is made from it keeps them
_BITS = 192


def exp_bounds(x: Fraction) -> Interval:
    """e^x from both sides.

    >>> exp_bounds(Fraction(0)).lower
    Fraction(1, 1)
    """
    return ONE if x == 0 else Interval.of(exp_down(x, _BITS), exp_up(x, _BITS))


@lru_cache(maxsize=1 << 14)
def laplace_at(scale: Fraction, k: int) -> Interval:
    """P[Z = k] = (1 - q) q^|k| / (1 + q), q = e^(-1/scale).

    >>> float(laplace_at(Fraction(1), 0).lower), float(laplace_at(Fraction(1), -2).lower)
    (0.4621171572600097..., 0.0625407563662817...)
    """
    q = exp_bounds(-1 / scale)
    return ONE.minus(q) * exp_bounds(-abs(k) / scale) / (ONE + q)


@lru_cache(maxsize=1 << 14)
def laplace_from(scale: Fraction, k: int) -> Interval:
    """P[Z >= k] = q^k / (1 + q) for k >= 1, and 1 - P[Z >= 1 - k] for k <= 0, since Z is symmetric.

    >>> total = laplace_from(Fraction(2), 3) + laplace_from(Fraction(2), -2)
    >>> total.lower <= 1 <= total.upper
    True
    """
    if k <= 0:
        return ONE.minus(laplace_from(scale, 1 - k))
    return exp_bounds(-k / scale) / (ONE + exp_bounds(-1 / scale))


def laplace_below(scale: Fraction, k: int) -> Interval:
    """P[Z < k] = P[Z >= 1 - k]."""
    return laplace_from(scale, 1 - k)
