"""The laws as they should be, in python-flint's ball arithmetic: nothing here comes from the code under test."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

from flint import arb, ctx, fmpq

PRECISION = 320

Pmf = Callable[[int], Any]


@contextmanager
def precise(bits: int = PRECISION) -> Iterator[None]:
    """Ball arithmetic at this precision (python-flint keeps it in a global)."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def ball(x: Fraction | int) -> Any:
    x = Fraction(x)
    return arb(fmpq(x.numerator, x.denominator))


@lru_cache(maxsize=1 << 16)
def exp_minus(x: Fraction) -> Any:
    with precise():
        return (-ball(x)).exp()


def whole(p: Any, n: int) -> int:
    """floor(2^n p), certain."""
    with precise():
        return int((p * ball(1 << n)).floor().unique_fmpz())


def surely_outside(low: Fraction, p: Any, high: Fraction) -> bool:
    """Whether p is certainly not in [low, high]. The balls are about 2^-310 wide."""
    with precise():
        return bool(p < ball(low)) or bool(p > ball(high))


def assert_law(law: dict[Any, Fraction], undecided: Fraction, truth: dict[Any, Any]) -> None:
    """Every outcome's true probability lies between its resolved mass and that plus the undecided mass."""
    assert sum(law.values()) + undecided == 1
    assert set(law) <= set(truth), "an outcome that the law does not have"
    for outcome, p in truth.items():
        mass = law.get(outcome, Fraction(0))
        assert not surely_outside(mass, p, mass + undecided), f"outcome {outcome}"


def laplace_pmf(scale: Fraction) -> Pmf:
    q = exp_minus(1 / scale)

    def pmf(x: int) -> Any:
        with precise():
            return (1 - q) / (1 + q) * q ** abs(x)

    return pmf


def geometric_pmf(scale: Fraction) -> Pmf:
    q = exp_minus(1 / scale)

    def pmf(x: int) -> Any:
        with precise():
            return (1 - q) * q**x if x >= 0 else arb(0)

    return pmf


def gaussian_pmf(sigma_squared: Fraction) -> Pmf:
    reach = math.isqrt(int(2 * sigma_squared * PRECISION)) + 4
    with precise():
        rest = arb(0, 2.0**-PRECISION)
        total = sum((2 * exp_minus(x * x / (2 * sigma_squared)) for x in range(1, reach)), arb(1)) + rest

    def pmf(x: int) -> Any:
        with precise():
            return exp_minus(x * x / (2 * sigma_squared)) / total

    return pmf


class BlockTruth:
    """The law of the block index j: weights exp(-phi(start of block)), added up one by one.

    Index j means h = j // 2, g = h for even j and g = -1 - h for odd j; for a one-sided law g = h = j.
    """

    def __init__(self, phi: Callable[[int], Fraction], *, r: int, one_sided: bool = False, count: int | None) -> None:
        self.phi = phi
        self.r = r
        self.one_sided = one_sided
        self.count = count
        """How many thresholds the table has; None if the law has no end there."""

    def split(self, j: int) -> tuple[int, int]:
        return (j, 0) if self.one_sided else (j >> 1, j & 1)

    def start(self, j: int) -> int:
        h, negative = self.split(j)
        return (h << self.r) + negative

    def g(self, j: int) -> int:
        h, negative = self.split(j)
        return -1 - h if negative else h

    def delta(self, j: int, low: int) -> Fraction:
        """phi(|x|) - phi(start) at a distance from the block's near end."""
        return self.phi(self.start(j) + low) - self.phi(self.start(j))

    @cached_property
    def thresholds(self) -> list[Any]:
        """T_1, T_2, ...: all of a table with an end; else as many as lie below 1 - 2^-200."""
        with precise():
            weights: list[Any] = []
            while not weights or self.phi(self.start(len(weights))) < (PRECISION + 40) * Fraction(7, 10):
                weights.append(exp_minus(self.phi(self.start(len(weights)))))
            total = sum(weights, arb(0, 2.0**-PRECISION))
            ends: list[Any] = []
            cumulated = arb(0)
            for weight in weights[: self.count]:
                cumulated += weight
                ends.append(cumulated / total)
            return [end for end in ends if self.count is not None or end < 1 - arb(2) ** -200]

    @cached_property
    def probabilities(self) -> list[Any]:
        """P(j), and behind the last threshold of a table with an end the probability of "beyond"."""
        with precise():
            edges = [arb(0), *self.thresholds, *([arb(1)] if self.count is not None else [])]
            return [b - a for a, b in pairwise(edges)]

    @lru_cache(maxsize=8)  # noqa: B019
    def floors(self, n: int) -> list[int]:
        """floor(2^n T_j); the T_j are irrational, so 2^n T_j lies strictly between this and the next integer."""
        return [whole(t, n) for t in self.thresholds]

    def index_at_start(self, word: int, n: int) -> int:
        """The index of U = word / 2^n exactly."""
        return bisect_left(self.floors(n), word)

    def index_at_end(self, word: int, n: int) -> int:
        """The index of U just below (word + 1) / 2^n."""
        return bisect_right(self.floors(n), word)


def laplace_blocks(law: Any) -> BlockTruth:
    count = law.wrap * (1 if law.one_sided else 2)
    return BlockTruth(lambda x: x / law.scale, r=law.r, one_sided=law.one_sided, count=count)


def gaussian_blocks(law: Any) -> BlockTruth:
    return BlockTruth(lambda x: x * x / (2 * law.sigma_squared), r=law.r, count=None)


# --- cumulative laws in floats, for the chi-square gates: within 1e-12, far below what 1e6 draws can see --------------


class Spread:
    """A law on the integers by P(X < k) and a width to lay bins by."""

    def __init__(self, below: Callable[[int], float], width: float) -> None:
        self.below = below
        self.width = width


def laplace_spread(scale: Fraction) -> Spread:
    q = math.exp(-1 / scale)

    def below(k: int) -> float:
        return math.exp(-(1 - k) / scale) / (1 + q) if k <= 0 else 1 - math.exp(-k / scale) / (1 + q)

    return Spread(below, float(scale))


def geometric_spread(scale: Fraction) -> Spread:
    return Spread(lambda k: 0.0 if k <= 0 else 1 - math.exp(-k / scale), float(scale))


def gaussian_spread(sigma_squared: Fraction) -> Spread:
    sigma = math.sqrt(sigma_squared)
    if sigma < 100:
        reach = int(40 * sigma) + 4
        weights = [math.exp(-x * x / (2 * sigma_squared)) for x in range(-reach, reach + 1)]
        total = math.fsum(weights)
        sums = [0.0]
        for weight in weights:
            sums.append(sums[-1] + weight / total)
        return Spread(lambda k: sums[min(max(k + reach, 0), len(sums) - 1)], sigma)
    # the sum up to k - 1 is the integral up to k - 1/2, within a relative 1 / (24 sigma^2) < 5e-6 / 100
    return Spread(lambda k: math.erfc(-(k - 0.5) / (sigma * math.sqrt(2))) / 2, sigma)
