"""The normal law rounded down: floor(N(0, s^2)) on the integers.

Why: an integer answer plus this noise is floor(answer + N(0, s^2)), a function of the continuous Gaussian mechanism's
output. So it keeps every promise of that mechanism, in any number of coordinates, under sampling and composition.
The discrete Gaussian law (gaussian.py) has no such single pair behind it in more than one dimension.

Guarantee: exactly this law, for every rational s^2 > 0, if the bits are fair. Proof: floored_normal.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadParameter
from discreet.exact import exp_fixed, integer, positive
from discreet.noise.additive import LARGEST, gaussian
from discreet.noise.lazy import is_below
from discreet.randomness import Bits, words

_STEP = 32
_COIN = 32
_GUARD = 2  # units of 2^-32 that cover the roundings of three double operations


def floored_normal(sigma_squared: Fraction, size: int, bits: Bits) -> NDArray[np.int64]:
    """``size`` independent draws of floor(N(0, sigma_squared)).

    >>> from discreet.randomness import SystemBits
    >>> floored_normal(Fraction(2) ** 40, 3, SystemBits()).dtype
    dtype('int64')
    """
    s2 = positive(sigma_squared, "sigma_squared")
    count = integer(size, "size", at_least=0)
    if s2 > LARGEST**2:
        raise BadParameter("sigma_squared", sigma_squared, "must be at most 2^108, so that draws fit into 64 bits")
    out = np.empty(count, dtype=np.int64)
    missing = np.arange(count)
    while len(missing):
        value, kept = _propose(s2, len(missing), bits)
        out[missing[kept]] = value[kept]
        missing = missing[~kept]
    return out


def _propose(s2: Fraction, size: int, bits: Bits) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Draws of which those that are kept have the law: size k of weight e^(-k^2/2s^2), a sign, and two coins."""
    size_of = np.abs(gaussian(s2, size, bits))
    word = words(bits, size, np.uint64)
    sign = (word & np.uint64(1)).view(np.int64)
    # of the two signs of 0 the discrete Gaussian law has only one: keep half of its zeros
    kept = (size_of != 0) | ((word & np.uint64(2)) != 0)
    coin = word >> np.uint64(64 - _COIN)
    over = float(1 / s2)
    sure = 2.0**_COIN * (1.0 - np.minimum((size_of + 0.5) * over, 1.0)) - _GUARD  # 1 - x <= e^-x
    for i in np.flatnonzero(coin >= sure).tolist():
        kept[i] &= _keep(s2, int(size_of[i]), int(coin[i]), bits)
    return size_of ^ -sign, kept


def _keep(s2: Fraction, k: int, coin: int, bits: Bits) -> bool:
    """Whether U < e^(-(2ku + u^2)/2s^2), u uniform on [0, 1); the first 32 bits of U are known, none of u's."""
    place, depth = 0, 0

    def probability(n: int) -> tuple[int, int]:
        nonlocal place, depth
        while depth < n:  # as many bits of u as the coin has
            place, depth = place << _STEP | bits.bits(_STEP), depth + _STEP
        ends = (_exponent(s2, k, Fraction(place + end, 1 << depth)) for end in (1, 0))
        (low, _), (_, high) = (exp_fixed(-x, n) for x in ends)
        return low, high

    return is_below(probability, coin, _COIN, bits, _STEP)


def _exponent(s2: Fraction, k: int, u: Fraction) -> Fraction:
    """((k + u)^2 - k^2) / 2s^2."""
    return u * (2 * k + u) / (2 * s2)
