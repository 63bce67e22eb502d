"""Intervals of variances, covariances and correlations, by inverting a test of what they are made of.

Guarantee: an interval holds the exact value with probability at least 1 - miss. With the exact means m, the sum
Σ(x - m_x)(y - m_y) - c(n - 1) is 0 for the exact covariance c, and linear in the statistics: for the noisy ones it is a
weighted sum of noises. The means are known only within intervals of their own, which take a tenth of the miss; they
matter little, for that sum is least at them. Proof: inversion.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Floats
from discreet.query.estimate.inversion import Line, combined_error, ratio
from discreet.query.estimate.noise_plan import Noised

Range = tuple[Floats, Floats]

_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Noisy:
    """A statistic divided by a public unit: what was released, and its noise."""

    values: Floats
    noise: Noised
    unit: float = 1.0

    @property
    def deviation(self) -> float:
        """Of its noise."""
        return math.sqrt(float(self.noise.variance / Fraction(self.unit) ** 2))  # squares of tiny units are 0 as floats


@dataclass(frozen=True, slots=True)
class Products:
    """Σ(x·y - offset) of centred numbers in units of their reach, with their sums."""

    xy: Noisy
    offset: float
    x: Noisy
    y: Noisy

    @property
    def squares(self) -> bool:
        """Whether both are the same."""
        return self.x.noise is self.y.noise

    def total(self, n: Floats, m_x: Floats, m_y: Floats) -> Floats:
        """Σ(x - m_x)(y - m_y), as the released numbers have it."""
        return self.xy.values + self.offset * n - m_x * self.y.values - m_y * self.x.values + m_x * m_y * n

    def totals(self, n: Floats, m_x: Range, m_y: Range) -> Range:
        """Its range when the means are within theirs, for n > 0."""
        if self.squares:
            best = np.clip(self.x.values / n, *m_x)
            ends = np.stack([self.total(n, m, m) for m in m_x])
            return self.total(n, best, best), ends.max(axis=0)
        corners = np.stack([self.total(n, a, b) for a in m_x for b in m_y])
        return corners.min(axis=0), corners.max(axis=0)


def mean(total: Noisy, count: Noisy, between: tuple[float, float], miss: float) -> Range:
    """The mean of centred numbers, in units of their reach: N - θn."""
    lines = (Line(1 / total.unit, 0.0), Line(0.0, -1.0))
    values = (total.values * total.unit, count.values)
    return ratio(values, (total.noise, count.noise), lines, between, miss)


def covariance(
    products: Products, count: Noisy, means: tuple[Range, Range], between: tuple[float, float], miss: float
) -> Range:
    """c with |Σ(x - m_x)(y - m_y) - c(n - 1)| small enough for some means within their ranges; in units of reaches."""
    m_x, m_y = means
    n = count.values
    has_spread = n > 2
    many = np.where(has_spread, n, 3.0)
    first, last = products.totals(many, m_x, m_y)
    interval: Range = (np.full_like(n, between[0]), np.full_like(n, between[1]))
    terms = [products.xy, products.x, count] if products.squares else [products.xy, products.x, products.y, count]
    crossed = _squares(m_x) if products.squares else interval_product(m_x, m_y)
    for _ in range(_ROUNDS):
        of_count = largest((products.offset + crossed[0] - interval[1], products.offset + crossed[1] - interval[0]))
        weights = [np.ones_like(n), 2 * largest(m_x), of_count]
        if not products.squares:
            weights = [np.ones_like(n), largest(m_y), largest(m_x), of_count]
        error = weighted_error(terms, weights, miss)
        interval = _cut(((first - error) / (many - 1), (last + error) / (many - 1)), interval)
    return np.where(has_spread, interval[0], between[0]), np.where(has_spread, interval[1], between[1])


def correlation(
    products: Products,
    squares: tuple[Products, Products],
    count: Noisy,
    ranges: tuple[tuple[float, float], tuple[float, float]],
    miss: float,
) -> Range:
    """r with |2 S_xy - r(k S_xx + S_yy/k)| small enough for some means and k = √(S_yy/S_xx) within their ranges."""
    xx, yy = squares
    little = miss / 40
    m_x, m_y = mean(xx.x, count, ranges[0], little), mean(yy.x, count, ranges[1], little)
    n = count.values
    v_x = covariance(xx, count, (m_x, m_x), (0.0, 2.0), little)
    v_y = covariance(yy, count, (m_y, m_y), (0.0, 2.0), little)
    has_spread = (n > 2) & (v_x[0] > 0) & (v_y[0] > 0)
    many = np.where(has_spread, n, 3.0)
    v_x, v_y = ((np.where(has_spread, a, 1.0), np.where(has_spread, b, 1.0)) for a, b in (v_x, v_y))
    k = np.sqrt(v_y[0] / v_x[1]), np.sqrt(v_y[1] / v_x[0])
    over = 1 / k[1], 1 / k[0]
    both = products.totals(many, m_x, m_y)
    s_x, s_y = xx.totals(many, m_x, m_x), yy.totals(many, m_y, m_y)
    interval: Range = (np.full_like(n, -1.0), np.full_like(n, 1.0))
    best = np.sqrt(np.maximum(s_y[0], 0.0) / np.where(s_x[0] > 0, s_x[0], 1.0))
    least = _spread(np.clip(best, *k), s_x[0], s_y[0])
    most = np.maximum(_spread(k[0], s_x[1], s_y[1]), _spread(k[1], s_x[1], s_y[1]))
    has_spread &= least > 0
    terms = [products.xy, xx.xy, yy.xy, xx.x, yy.x, count]
    for _ in range(_ROUNDS):
        r_k, r_over = interval_product(interval, k), interval_product(interval, over)
        of_x = plus(times(-2, m_y), times(2, interval_product(r_k, m_x)))
        of_y = plus(times(-2, m_x), times(2, interval_product(r_over, m_y)))
        of_xx = interval_product(r_k, plus(_squares(m_x), (xx.offset, xx.offset)))
        of_yy = interval_product(r_over, plus(_squares(m_y), (yy.offset, yy.offset)))
        of_xy = times(2, plus(interval_product(m_x, m_y), (products.offset, products.offset)))
        of_count = plus(of_xy, times(-1, plus(of_xx, of_yy)))
        weights = [np.full_like(n, 2.0), *(largest(w) for w in (r_k, r_over, of_x, of_y, of_count))]
        error = weighted_error(terms, weights, miss * 0.85)
        low, high = 2 * both[0] - error, 2 * both[1] + error
        with np.errstate(divide="ignore", invalid="ignore"):
            found_now = np.where(low > 0, low / most, low / least), np.where(high > 0, high / least, high / most)
        interval = _cut(
            tuple(np.where(has_spread, f, e) for f, e in zip(found_now, (-1.0, 1.0), strict=True)), interval
        )
    return np.where(has_spread, interval[0], -1.0), np.where(has_spread, interval[1], 1.0)


def _spread(k: Floats, s_x: Floats, s_y: Floats) -> Floats:
    return k * s_x + s_y / k


# --- intervals of weights ---------------------------------------------------------------------------------------------


def weighted_error(terms: Sequence[Noisy], weights: Sequence[Floats], miss: float) -> Floats:
    """The error of Σ weight · statistic, each in its unit."""
    return combined_error([t.noise for t in terms], [w / t.unit for t, w in zip(terms, weights, strict=True)], miss)


def interval_product(a: Range, b: Range) -> Range:
    """All products."""
    corners = np.stack([x * y for x in a for y in b])
    return corners.min(axis=0), corners.max(axis=0)


def _squares(a: Range) -> Range:
    """All squares: none is below 0."""
    first, last = a[0] ** 2, a[1] ** 2
    return np.where((a[0] <= 0) & (a[1] >= 0), 0.0, np.minimum(first, last)), np.maximum(first, last)


def plus(a: tuple[Floats, Floats], b: tuple[Floats | float, Floats | float]) -> Range:
    """All sums."""
    return a[0] + b[0], a[1] + b[1]


def times(factor: float, a: Range) -> Range:
    """All multiples."""
    return (factor * a[0], factor * a[1]) if factor >= 0 else (factor * a[1], factor * a[0])


def largest(a: Range) -> Floats:
    """The largest size."""
    return np.maximum(np.abs(a[0]), np.abs(a[1]))


def _cut(interval: Sequence[Floats], within: Range) -> Range:
    """The part of an interval within another; where there is none, the other: the noise was larger than its bar."""
    low, high = np.maximum(interval[0], within[0]), np.minimum(interval[1], within[1])
    nothing = ~(low <= high)
    return np.where(nothing, within[0], low), np.where(nothing, within[1], high)
