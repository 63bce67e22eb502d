"""The discrete Gaussian law, P(x) proportional to exp(-x^2 / (2 s^2)) on the integers.

Guarantee: exactly this law, for every rational s^2 > 0, if the bits are fair. Proof: gaussian.md.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from discreet.exact import exp_fixed, float_down
from discreet.noise.blocks import block_bits
from discreet.noise.coin import flip_exp
from discreet.noise.laplace import draw_laplace
from discreet.randomness import Bits

_GUARD = 48


class GaussianLaw:
    """Blocks of the discrete Gaussian law: weights e^(-(hm)^2/2s^2) for g >= 0 and e^(-(hm+1)^2/2s^2) for g < 0."""

    __slots__ = ("_over", "one_sided", "r", "sigma_squared", "wrap")

    def __init__(self, sigma_squared: Fraction) -> None:
        self.sigma_squared = sigma_squared
        self.one_sided = False
        self.r = block_bits(Fraction(isqrt(int(sigma_squared))))
        self.wrap: int | None = None
        self._over = float_down(1 / (2 * sigma_squared))

    def _exp(self, top: int, w: int) -> tuple[int, int]:
        """Bounds of 2^w exp(-top / 2s^2)."""
        return exp_fixed(-top / (2 * self.sigma_squared), w)

    def thresholds(self, n: int) -> tuple[list[int], list[int]]:
        """Bounds of 2^n T_i = 2^n (w_0 + ... + w_(i-1)) / (all w), up to the weights that no longer count at n bits.

        Weights by recurrence: w(h+1)/w(h) = e^(-((2h+1)m^2 + 2ms)/2s^2), each ratio e^(-2m^2/2s^2) times the last.
        """
        m = 1 << self.r
        w = n + _GUARD
        # the first weight left out is below 2^-(n + 8): (H m)^2 / 2s^2 >= (n + 8) ln 2, and ln 2 < 7/10
        left_out = isqrt(int(2 * self.sigma_squared * (n + 8) * 7 / (10 * m * m))) + 2
        low_shrink, high_shrink = self._exp(2 * m * m, w)
        low: list[int] = []
        high: list[int] = []
        for s in (0, 1):
            low_weight, high_weight = self._exp(s, w)
            low_ratio, high_ratio = self._exp(m * m + 2 * m * s, w)
            for _ in range(left_out):
                low.append(low_weight)
                high.append(high_weight)
                low_weight = low_weight * low_ratio >> w
                high_weight = -(-high_weight * high_ratio >> w)
                low_ratio = low_ratio * low_shrink >> w
                high_ratio = -(-high_ratio * high_shrink >> w)
            # what is left out is at most a geometric series with the next ratio
            high.append(-(-(high_weight << w) // ((1 << w) - high_ratio)))
        rest = high.pop(left_out) + high.pop()
        low_sums = list(
            accumulate(weight for pair in zip(low[:left_out], low[left_out:], strict=True) for weight in pair)
        )
        high_sums = list(
            accumulate(weight for pair in zip(high[:left_out], high[left_out:], strict=True) for weight in pair)
        )
        low_all, high_all = low_sums[-1], high_sums[-1] + rest
        return [(x << n) // high_all for x in low_sums], [-((-x << n) // low_all) for x in high_sums]

    def exponent(self, h: int, negative: int, low: int) -> tuple[int, int]:
        """low (2 start + low) / 2s^2 with start = hm, or hm + 1 for g < 0."""
        start = (h << self.r) + negative
        return low * (2 * start + low) * self.sigma_squared.denominator, 2 * self.sigma_squared.numerator

    def exponents(
        self, h: NDArray[np.int64], negative: NDArray[np.int64], low: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The same in floats: below ten roundings of positive numbers, a relative 2^-49."""
        start = ((h << self.r) + negative).astype(np.float64)
        return (2 * start + low) * low * self._over


def draw_gaussian(sigma_squared: Fraction, bits: Bits) -> int:
    """One draw without a table (Canonne, Kamath, Steinke 2020, algorithm 3).

    y is discrete Laplace of scale t = floor(s) + 1, kept with probability exp(-(|y| - s^2/t)^2 / 2s^2).
    """
    top, bottom = sigma_squared.numerator, sigma_squared.denominator
    t = isqrt(top // bottom) + 1
    scale = Fraction(t)
    under = 2 * top * bottom * t * t
    while True:
        y = draw_laplace(scale, bits)
        if flip_exp((abs(y) * bottom * t - top) ** 2, under, bits):
            return y
