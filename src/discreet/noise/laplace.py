"""The discrete Laplace law, P(x) proportional to exp(-|x|/b) on the integers, and its one-sided half, the geometric.

Guarantee: exactly this law, for every rational b > 0, if the bits are fair. Proof: laplace.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.exact import exp_fixed, float_down
from discreet.noise.blocks import block_bits
from discreet.noise.coin import flip_exp
from discreet.randomness import Bits

_GUARD = 32


class LaplaceLaw:
    """Blocks of the discrete Laplace law: P(g) = R^h (1 - R)/(1 + q), times q for g < 0; R = e^(-m/b), q = e^(-1/b)."""

    __slots__ = ("_over_scale", "one_sided", "r", "scale", "wrap")

    def __init__(self, scale: Fraction, *, one_sided: bool = False) -> None:
        self.scale = scale
        self.one_sided = one_sided
        self.r = block_bits(scale)
        self.wrap: int | None = 2 - (-11 * scale // (1 << self.r))
        self._over_scale = float_down(1 / scale)

    def thresholds(self, n: int) -> tuple[list[int], list[int]]:
        """Bounds of 2^n T_i: T_2k = 1 - R^k, T_2k+1 = 1 - R^k B, B = 1 - (1 - R)/(1 + q); one-sided T_k = 1 - R^k."""
        w = n + _GUARD
        one = 1 << w
        low_r, high_r = exp_fixed(Fraction(-(1 << self.r)) / self.scale, w)
        low_q, high_q = exp_fixed(-1 / self.scale, w)
        low_b = one + (-(one - low_r) << w) // (one + low_q)
        high_b = one - ((one - high_r) << w) // (one + high_q)
        low_power = high_power = one
        low: list[int] = []
        high: list[int] = []
        for _ in range(self.wrap or 0):
            if not self.one_sided:
                low.append((one + (-high_power * high_b >> w)) >> _GUARD)
                high.append(-((-one + (low_power * low_b >> w)) >> _GUARD))
            low_power = low_power * low_r >> w
            high_power = -(-high_power * high_r >> w)
            low.append((one - high_power) >> _GUARD)
            high.append(-((-one + low_power) >> _GUARD))
        return low, high

    def exponent(self, h: int, negative: int, low: int) -> tuple[int, int]:
        """low / b."""
        return low * self.scale.denominator, self.scale.numerator

    def exponents(
        self, h: NDArray[np.int64], negative: NDArray[np.int64], low: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """low / b in floats: three roundings, a relative 2^-51."""
        return low.astype(np.float64) * self._over_scale


def draw_geometric(scale: Fraction, bits: Bits) -> int:
    """One draw of P(x) proportional to exp(-x/b) on 0, 1, 2, ..., without a table.

    With m = 2^r at most b (or 1), x = h m + low: h counts heads of coins exp(-m/b) before the first tail, low is
    uniform below m and kept with probability exp(-low/b).
    """
    top, bottom = scale.numerator, scale.denominator
    r = max(0, (top // bottom).bit_length() - 1)
    low = 0
    if r:
        low = bits.bits(r)
        while not flip_exp(low * bottom, top, bits):
            low = bits.bits(r)
    h = 0
    while flip_exp(bottom << r, top, bits):
        h += 1
    return (h << r) + low


def draw_laplace(scale: Fraction, bits: Bits) -> int:
    """One draw without a table: a geometric size and a fair sign, again when the sign is minus and the size 0."""
    while True:
        size = draw_geometric(scale, bits)
        if not bits.bits(1):
            return size
        if size:
            return -size
