"""The normal law rounded down: floor(N(0, s^2)) on the integers.

Why: an integer answer plus this noise is floor(answer + N(0, s^2)), a function of the continuous Gaussian mechanism's
output. So it keeps every promise of that mechanism, in any number of coordinates, under sampling and composition.
The discrete Gaussian law (gaussian.py) has no such single pair behind it in more than one dimension.

Guarantee: exactly this law, for every rational s^2 > 0, if the bits are fair. Proof: floored_normal.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadParameter
from discreet.exact import exp_fixed, integer, positive
from discreet.noise.additive import LARGEST
from discreet.noise.blocks import Blocks
from discreet.noise.gaussian import GaussianLaw
from discreet.noise.lazy import is_below
from discreet.randomness import Bits

_STEP = 32
_GUARD = 48
_DEPTH = 96
_REACH = 16  # draws beyond so many sigma are looked at one by one
_REFUSED = -(1 << 63)


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
    out = _propose(s2, count, bits)
    missing = np.flatnonzero(out == _REFUSED)
    while len(missing):
        out[missing] = _propose(s2, len(missing), bits)
        missing = missing[out[missing] == _REFUSED]
    return out


def _propose(s2: Fraction, size: int, bits: Bits) -> NDArray[np.int64]:
    """Sizes k of weight e^(-k^2/2s^2) with a fair sign, marked where a coin refuses them."""
    sizes = _table(s2).sample(size, bits)
    refused = refused_places(
        s2,
        size,
        bits,
        largest=int(sizes.max(initial=0)),
        size_at=lambda i: int(sizes[i]),
        beyond=lambda far: np.flatnonzero(sizes > far).tolist(),
    )
    signs = np.unpackbits(np.frombuffer(bits.bytes(-(-size // 8)), dtype=np.uint8), count=size)
    np.bitwise_xor(sizes, -signs.view(np.int8), out=sizes)  # k, or -1 - k
    sizes[refused] = _REFUSED
    return sizes


def refused_places(
    s2: Fraction,
    size: int,
    bits: Bits,
    *,
    largest: int,
    size_at: Callable[[int], int],
    beyond: Callable[[int], list[int]],
) -> list[int]:
    """Where coins refuse sizes k of weight e^(-k^2/2s^2): each with probability 1 - E e^(-(2ku + u^2)/2s^2), u uniform.

    ``size_at(i)`` is the i-th size and ``beyond(k)`` says where sizes above k are: only a few places are looked at.
    """
    usual = usual_size(s2)
    doubtful = _doubtful(s2, size, usual, bits)
    coins = [(i, doubtful.rate) for i in doubtful.places if size_at(i) <= usual]
    coins += [(i, 0) for i in beyond(usual)] if largest > usual else []
    return [i for i, rate in coins if refused(s2, size_at(i), rate, bits)]


def usual_size(s2: Fraction) -> int:
    """Sizes beyond this, 16 sigma, are looked at one by one."""
    return _REACH * (isqrt(int(s2)) + 1)


def picked_places(s2: Fraction, size: int, bits: Bits) -> list[int]:
    """Places that are picked, each by itself with one known chance: only these may be refused, up to the usual size."""
    return _doubtful(s2, size, usual_size(s2), bits).places


def draw_picked(s2: Fraction, bits: Bits) -> int:
    """One draw for a place that was picked: a size that a coin may refuse, and then a new draw."""
    size = int(_table(s2).sample(1, bits)[0])
    usual = usual_size(s2)
    rate = _doubtful(s2, 0, usual, bits).rate if size <= usual else 0
    return int(floored_normal(s2, 1, bits)[0]) if refused(s2, size, rate, bits) else size ^ -bits.bits(1)


@lru_cache(maxsize=8)
def _table(s2: Fraction) -> Blocks:
    return Blocks(HalfGaussianLaw(s2))


class HalfGaussianLaw(GaussianLaw):
    """The discrete Gaussian law on 0, 1, 2, ...: weights e^(-k^2/2s^2)."""

    __slots__ = ()

    def __init__(self, sigma_squared: Fraction) -> None:
        super().__init__(sigma_squared)
        self.one_sided = True

    def thresholds(self, n: int) -> tuple[list[int], list[int]]:
        """As for the whole law, of which every second weight is left out."""
        low_both, high_both = self.weights(n)
        low, high = list(accumulate(low_both)), list(accumulate(high_both[:-1]))
        low_all, high_all = low[-1], high[-1] + high_both[-1]
        return [(x << n) // high_all for x in low], [-((-x << n) // low_all) for x in high]

    def weights(self, n: int) -> tuple[list[int], list[int]]:
        """Bounds of the weights that count at n bits, by recurrence; the last upper one is all that is left out."""
        m, w = 1 << self.r, n + _GUARD
        # the first weight left out is below 2^-(n + 8): (H m)^2 / 2s^2 >= (n + 8) ln 2, and ln 2 < 7/10
        count = isqrt(int(2 * self.sigma_squared * (n + 8) * 7 / (10 * m * m))) + 2
        low_shrink, high_shrink = exp_fixed(-2 * m * m / (2 * self.sigma_squared), w)
        low_ratio, high_ratio = exp_fixed(-m * m / (2 * self.sigma_squared), w)
        low_weight = high_weight = 1 << w
        low, high = [], []
        for _ in range(count):
            low.append(low_weight)
            high.append(high_weight)
            low_weight, high_weight = low_weight * low_ratio >> w, -(-high_weight * high_ratio >> w)
            low_ratio, high_ratio = low_ratio * low_shrink >> w, -(-high_ratio * high_shrink >> w)
        # what is left out is at most a geometric series with the next ratio
        high.append(-(-(high_weight << w) // ((1 << w) - high_ratio)))
        return low, high


@dataclass(frozen=True, slots=True)
class _Doubtful:
    """Each draw was picked by itself with probability 2^-rate: only these may be refused."""

    places: list[int]
    rate: int


def _doubtful(s2: Fraction, size: int, usual: int, bits: Bits) -> _Doubtful:
    """A draw of size k <= usual is refused with probability at most (2 usual + 1)/2s^2 <= 2^-rate."""
    most = Fraction(2 * usual + 1) / (2 * s2)
    rate = max(0, (most.denominator // most.numerator).bit_length() - 1) if most < 1 else 0
    if rate == 0:
        return _Doubtful(list(range(size)), 0)
    places: list[int] = []
    at = 0
    while (at := at + geometric_skip(rate, size - at, bits)) < size:
        places.append(at)
        at += 1
    return _Doubtful(places, rate)


def geometric_skip(rate: int, most: int, bits: Bits) -> int:
    """min(m, most) for m with P[m] = (1 - p)^m p, p = 2^-rate, by inversion of a lazily drawn uniform number."""
    low, high = 0, most
    coin = _Uniform(bits)
    if most == 0 or coin.is_below_power(rate, most):  # U < (1 - p)^most: the skip is at least so long
        return most
    while high - low > 1:
        middle = (low + high) // 2
        if coin.is_below_power(rate, middle):
            low = middle
        else:
            high = middle
    return low


class _Uniform:
    """A uniform number of which only as many bits are drawn as comparisons need."""

    __slots__ = ("_bits", "_depth", "_prefix")

    def __init__(self, bits: Bits) -> None:
        self._bits = bits
        self._prefix, self._depth = bits.bits(_DEPTH), _DEPTH

    def is_below_power(self, rate: int, times: int) -> bool:
        """Whether U < (1 - 2^-rate)^times."""
        while True:
            low, high = _power(rate, times, self._depth)
            if self._prefix < low:
                return True
            if self._prefix >= high:
                return False
            self._prefix = self._prefix << _STEP | self._bits.bits(_STEP)
            self._depth += _STEP


@lru_cache(maxsize=4096)
def _power(rate: int, times: int, n: int) -> tuple[int, int]:
    """Bounds of 2^n (1 - 2^-rate)^times, by squaring with directed rounding."""
    w = n + 2 * times.bit_length() + 8
    one = (1 << w) - (1 << (w - rate)) if w >= rate else 0
    low = high = 1 << w
    base_low, base_high = (one, one) if w >= rate else (0, 1 << w)
    left = times
    while left:
        if left & 1:
            low, high = low * base_low >> w, -(-high * base_high >> w)
        base_low, base_high = base_low * base_low >> w, -(-base_high * base_high >> w)
        left >>= 1
    return low >> (w - n), -(-high >> (w - n))


def refused(s2: Fraction, k: int, rate: int, bits: Bits) -> bool:
    """Whether U 2^-rate < 1 - e^(-(2ku + u^2)/2s^2), u uniform on [0, 1), both drawn as far as needed."""
    place, depth = 0, 0

    def probability(n: int) -> tuple[int, int]:
        nonlocal place, depth
        while depth < n:  # as many bits of u as of U
            place, depth = place << _STEP | bits.bits(_STEP), depth + _STEP
        m = n + rate
        (_, most), (least, _) = (exp_fixed(-_exponent(s2, k, Fraction(place + end, 1 << depth)), m) for end in (0, 1))
        return (1 << m) - most, (1 << m) - least  # 2^m (1 - e^-x) = 2^n (2^rate (1 - e^-x))

    return is_below(probability, bits.bits(_STEP), _STEP, bits, _STEP)


def _exponent(s2: Fraction, k: int, u: Fraction) -> Fraction:
    """((k + u)^2 - k^2) / 2s^2."""
    return u * (2 * k + u) / (2 * s2)
