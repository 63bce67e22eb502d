"""The normal distribution function and its inverse, rounded in a stated direction.

Promise: ``cdf_down(x) <= Φ(x) <= cdf_up(x)`` and the same for the quantile. The smaller of Φ and 1 - Φ is within a
relative 2^-bits or so, out to 2048 standard deviations in the tail.
Believes: exact.py.

How: with I_n = ∫ s^n/n! e^{-xs-s²/2} ds over s > 0, parts give 1 = x I_0 + I_1 and I_{n-1} = x I_n + (n+1) I_{n+1}.
Now Φ(-x) = φ(x) I_0, so with r_n = I_{n-1}/I_n: 1/I_0 = x + 1/r_1 and r_n = x + (n+1)/r_{n+1}, where r_n lies between
x and x + (n+1)/x. Starting from that interval far out and walking back gives an enclosure. Near 0, where this is slow,
Φ(x) - 1/2 = φ(x) (x + x³/3 + x⁵/15 + ...), all terms positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from discreet.errors import BadParameter
from discreet.exact import BITS, exp_down, exp_up, sqrt_down, sqrt_up

_NEAR = 3  # below: the series; above: the continued fraction
_FAR = Fraction(2048)  # beyond, Φ is below 10^-900000: bounded, not computed


def cdf_down(x: Fraction, bits: int = BITS) -> Fraction:
    """A lower bound of Φ(x)."""
    return _tail_down(-x, bits) if x < 0 else 1 - _tail_up(x, bits)


def cdf_up(x: Fraction, bits: int = BITS) -> Fraction:
    """An upper bound of Φ(x).

    >>> cdf_down(Fraction(-2)) < cdf_up(Fraction(-2)), float(cdf_up(Fraction(-2)))
    (True, 0.022750131948179...)
    """
    return _tail_up(-x, bits) if x < 0 else 1 - _tail_down(x, bits)


def quantile_down(p: Fraction, bits: int = 64) -> Fraction:
    """A lower bound of Φ⁻¹(p), within 2^-bits or so of it, for 0 < p < 1."""
    return _quantile(p, bits, lambda x: cdf_up(x) <= p, -1)


def quantile_up(p: Fraction, bits: int = 64) -> Fraction:
    """An upper bound of Φ⁻¹(p), within 2^-bits or so of it, for 0 < p < 1.

    >>> float(quantile_up(Fraction(975, 1000)))
    1.95996398454005...
    """
    return _quantile(p, bits, lambda x: cdf_down(x) >= p, 1)


def _quantile(p: Fraction, bits: int, holds: Callable[[Fraction], bool], sign: int) -> Fraction:
    """Newton's steps guide; the answer is the first step outwards for which the bound is seen to hold."""
    if not 0 < p < 1:
        raise BadParameter("p", p, "must lie strictly between 0 and 1")
    x = _guess(p)
    for _ in range(60):
        density = exp_up(-x * x / 2) / sqrt_up(2 * pi_bounds(BITS)[1])
        last, x = x, _round(x - (cdf_up(x) - p) / density, bits + 8)
        if abs(x - last) < Fraction(1, 1 << bits // 2):
            break
    step = Fraction(1, 1 << bits)
    while not holds(x + sign * step):
        step *= 2
    return x + sign * step


def _guess(p: Fraction) -> Fraction:
    if Fraction(1, 10**300) < p < 1 - Fraction(1, 10**12):
        return Fraction(NormalDist().inv_cdf(float(p)))
    tail, sign = (p, -1) if p < Fraction(1, 2) else (1 - p, 1)
    # Φ(-x) is about e^{-x²/2}/(x √2π): two rounds of x² = 2 log(1/tail) - 2 log(x √2π)
    size = (tail.denominator.bit_length() - tail.numerator.bit_length()) * math.log(2)
    x = math.sqrt(2 * size)
    for _ in range(4):
        x = math.sqrt(2 * (size - math.log(x * math.sqrt(2 * math.pi))))
    return sign * Fraction(x)


def _round(x: Fraction, bits: int) -> Fraction:
    return Fraction(round(x * (1 << bits)), 1 << bits)


# --- enclosures ---------------------------------------------------------------------------------------------------


def _tail_down(x: Fraction, bits: int) -> Fraction:
    """A lower bound of Φ(-x) for x >= 0."""
    if x > _FAR:
        return Fraction(0)
    w = _grid(x, bits)
    return _tail_on_grid(math.ceil(x * (1 << w)), w)[0]


def _tail_up(x: Fraction, bits: int) -> Fraction:
    """An upper bound of Φ(-x) for x >= 0."""
    x = min(x, _FAR)
    w = _grid(x, bits)
    return _tail_on_grid(math.floor(x * (1 << w)), w)[1]


def _grid(x: Fraction, bits: int) -> int:
    """Φ falls by a factor e^{-xh} over a step h: a grid of 2^-w moves it by less than a relative 2^-bits."""
    return bits + 16 + 2 * math.ceil(x).bit_length()


@lru_cache(maxsize=256)
def _tail_on_grid(x: int, w: int) -> tuple[Fraction, Fraction]:
    """Bounds of Φ(-x/2^w), x >= 0."""
    if x == 0:
        return Fraction(1, 2), Fraction(1, 2)
    exact = Fraction(x, 1 << w)
    low_pi, high_pi = pi_bounds(w)
    low_density = exp_down(-exact * exact / 2, w) / sqrt_up(2 * high_pi, w)
    high_density = exp_up(-exact * exact / 2, w) / sqrt_down(2 * low_pi, w)
    if exact < _NEAR:
        low, high = _series(x, w)
        half = Fraction(1, 2)
        return half - high_density * Fraction(high, 1 << w), half - low_density * Fraction(low, 1 << w)
    low, high = _mills(x, w)
    return low_density * Fraction(low, 1 << w), high_density * Fraction(high, 1 << w)


def _series(x: int, w: int) -> tuple[int, int]:
    """Bounds of 2^w (t + t³/3 + t⁵/15 + ...) for t = x/2^w < 3."""
    low = high = low_term = high_term = x
    n = 1
    while high_term > 1 or n < 2 * _NEAR**2:
        n += 2
        low_term = (low_term * x >> w) * x // (n << w)
        high_term = -((-high_term * x >> w) * x // (n << w))
        low += low_term
        high += high_term
    return low, high + 2  # beyond n = 18 each term is below half of the one before


def _mills(x: int, w: int) -> tuple[int, int]:
    """Bounds of 2^w Φ(-t)/φ(t) for t = x/2^w >= 3, by the continued fraction walked backwards."""
    one = 1 << (2 * w)
    n = 64
    while True:
        low, high = x, x - (-(n + 1) * one // x)
        for k in range(n, 0, -1):
            low, high = x + k * one // high, x - (-k * one // low)
        if high - low <= high >> (w - 12):
            return one // high, -(-one // low)
        n *= 2


@lru_cache(maxsize=16)
def pi_bounds(bits: int) -> tuple[Fraction, Fraction]:
    """Bounds of π, at most 2^-bits apart, by Machin's 16 arctan(1/5) - 4 arctan(1/239).

    >>> [float(bound) for bound in pi_bounds(64)]
    [3.141592653589793, 3.141592653589793]
    """
    w = bits + 24
    total = 16 * _arctan_inverse(5, w) - 4 * _arctan_inverse(239, w)
    slack = 20 * (w + 2)  # each of fewer than w/2 terms, and the rest of each series, is off by less than 2 units
    return Fraction(total - slack, 1 << w), Fraction(total + slack, 1 << w)


def _arctan_inverse(n: int, w: int) -> int:
    """2^w arctan(1/n), each term rounded down: off by less than two units a term."""
    total, power, k, sign = 0, (1 << w) // n, 1, 1
    while power:
        total += sign * (power // k)
        power //= n * n
        k += 2
        sign = -sign
    return total
