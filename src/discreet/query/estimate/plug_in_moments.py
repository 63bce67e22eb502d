"""Intervals of variances, covariances and correlations by the law of their noise at the released means.

Not proven for every table, unlike ``moment_intervals.py``, which bounds what it does not know: here the released means
stand for the exact ones, with a deviation added to their weights. What is exact, what is not, and how often the
intervals were measured to hold, is in inversion.md. Groups whose means are too noisy for it are marked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.query.estimate.moment_intervals import Noisy, Products, weighted_error

Span = tuple[float, float]
Found = tuple[Floats, Floats, NDArray[np.bool_]]

LEAST_MISS = 0.01
"""Smaller misses are about extremes of the means' noise, too."""
_BENT, _SQUARED = 0.1, 0.05
"""The share of the error that the product of two errors of means may be; and of their square, which has a sign."""
_STRAIGHT = 0.001
"""The share of the error below which it is left out."""
_POINTS, _GENERATOR = 509, 110
_GROUPS = 1024  # at once
_ROUNDS = 3
_RATIOS = np.exp(np.linspace(-2.5, 2.5, 41))
_NORMAL = NormalDist()


def plug_in_covariance(products: Products, count: Noisy, spans: tuple[Span, Span], between: Span, miss: float) -> Found:
    """c for which Ŝ - c(n - 1) is where noise would put it if the exact means were the released ones, in units of
    reaches; and for which groups that is near enough.
    """
    n = np.maximum(count.values, 3.0)
    x, y = products.x, products.y
    total = products.total(n, x.values / n, y.values / n)
    means = np.clip(x.values / n, *spans[0]), np.clip(y.values / n, *spans[1])
    off = [np.hypot(ones.deviation, m * count.deviation) for ones, m in zip((x, y), means, strict=True)]
    bent = off[0] * off[1] / n
    sizes = [np.abs(m) + d / n for m, d in zip(means, off, strict=True)]
    terms = [products.xy, x, count] if products.squares else [products.xy, x, y, count]
    ones = np.ones_like(n)
    near = count.values > 2
    ends = [np.clip(total / (n - 1), *between)] * 2
    for i, side in 2 * ((0, 1.0), (1, -1.0)):  # the weight of the count depends on the end: twice is enough
        of_count = products.offset + means[0] * means[1] - ends[i]
        outer = [ones, 2 * sizes[0], of_count] if products.squares else [ones, sizes[1], sizes[0], of_count]
        inner = [ones, -2 * means[0], of_count] if products.squares else [ones, -means[1], -means[0], of_count]
        error = weighted_error(terms, outer, miss)
        near &= bent <= (_SQUARED if products.squares else _BENT) * error
        bend = np.zeros_like(n)
        some = np.flatnonzero(near & (bent > _STRAIGHT * error))
        for at in np.array_split(some, len(some) // _GROUPS + 1):
            bend[at] = _bend(terms, [w[at] for w in inner], (means[0][at], means[1][at]), side * error[at]) / n[at]
        ends[i] = np.clip((total - side * error + bend) / (n - 1), *between)
    return ends[0], ends[1], near & (ends[0] < ends[1])


def _bend(terms: Sequence[Noisy], weights: Sequence[Floats], means: tuple[Floats, Floats], at: Floats) -> Floats:
    """E[D_x D_y | L = at]: D = Z_x - m_x Z_n is how far the sum is off for its mean, L the weighted sum of all noises.

    The mean over the noises of sums and count, each as likely as what is then left for the noise of the products.
    """
    gaussian = isinstance(terms[0].noise.noise, Gaussian)
    z = [term.deviation * part for term, part in zip(terms[1:], _lattice(len(terms) - 1, gaussian), strict=True)]
    left = at[:, None] - sum(w[:, None] * part for w, part in zip(weights[1:], z, strict=True))
    left /= terms[0].deviation
    density = np.exp(-(left**2) / 2 if gaussian else -math.sqrt(2) * np.abs(left))
    d_x, d_y = z[0] - means[0][:, None] * z[-1], z[-2] - means[1][:, None] * z[-1]
    return np.asarray((d_x * d_y * density).sum(axis=1) / np.maximum(density.sum(axis=1), 1e-300))


@lru_cache(maxsize=8)
def _lattice(dimensions: int, gaussian: bool) -> Floats:
    """Noises of deviation 1 at the points of a lattice, which fill the cube evenly (Korobov 1959)."""
    steps = [pow(_GENERATOR, j, _POINTS) for j in range(dimensions)]
    u = (np.outer(steps, np.arange(_POINTS)) % _POINTS + 0.5) / _POINTS
    if gaussian:
        return np.asarray(np.vectorize(_NORMAL.inv_cdf)(u), dtype=np.float64)
    return np.asarray(np.where(u < 0.5, 1.0, -1.0) * np.log(2 * np.minimum(u, 1 - u)) / math.sqrt(2))


# --- correlations -----------------------------------------------------------------------------------------------------


def plug_in_correlation(
    products: Products, squares: tuple[Products, Products], count: Noisy, spans: tuple[Span, Span], miss: float
) -> Found:
    """r for which 2Ŝ_xy - 2r√(Ŝ_xx Ŝ_yy) is within the error of 2S_xy - r(k S_xx + S_yy/k) at the released means, for
    any k = √(S_yy/S_xx) that is within one deviation; and for which groups that is near enough.
    """
    x, y = squares
    n = np.maximum(count.values, 3.0)
    m_x, m_y = np.clip(x.x.values / n, *spans[0]), np.clip(y.x.values / n, *spans[1])
    terms = [products.xy, x.xy, y.xy, x.x, y.x, count]
    no, ones = np.zeros_like(n), np.ones_like(n)
    of_xy = np.stack([ones, no, no, -m_y, -m_x, products.offset + m_x * m_y])
    of_xx = np.stack([no, ones, no, -2 * m_x, no, x.offset + m_x**2])
    of_yy = np.stack([no, no, ones, no, -2 * m_y, y.offset + m_y**2])
    sums = [part.total(n, part.x.values / n, part.y.values / n) for part in (products, x, y)]
    low, high = np.full_like(n, -1.0), np.full_like(n, 1.0)
    near = count.values > 2
    for start in range(0, len(n), _GROUPS):
        some = slice(start, start + _GROUPS)
        weights = of_xy[:, some], of_xx[:, some], of_yy[:, some]
        low[some], high[some], error, k = _correlation(terms, weights, [s[some] for s in sums], miss)
        off_x, off_y = (ones.deviation**2 + (m[some] * count.deviation) ** 2 for ones, m in ((x.x, m_x), (y.x, m_y)))
        near[some] &= (k * off_x + off_y / k) / n[some] <= _BENT * error
    return low, high, near & (low < high)


def _correlation(
    terms: Sequence[Noisy], weights: Sequence[Floats], sums: Sequence[Floats], miss: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """The ends, an error and a likely k.

    The squared deviation of S_xy - r(k S_xx + S_yy/k)/2 is a square in r, so for a given number of deviations its ends
    are roots. That number depends little on r and k: it is found for one end, then the end again.
    """
    of_xy, of_xx, of_yy = weights
    s_xy, s_xx, s_yy = sums
    sizes = np.array([term.deviation for term in terms])[:, None] ** 2
    cross = {(i, j): (sizes * weights[i] * weights[j]).sum(axis=0) for i in range(3) for j in range(i, 3)}
    middle = np.sqrt(np.maximum(s_yy, np.sqrt(cross[2, 2])) / np.maximum(s_xx, np.sqrt(cross[1, 1])))
    k = middle * _RATIOS[:, None]
    plus, minus = (k**2 * cross[1, 1] + sign * 2 * cross[1, 2] + cross[2, 2] / k**2 for sign in (1, -1))
    likely = (k * s_xx - s_yy / k) ** 2 <= minus
    likely[len(k) // 2] = True
    both = np.sqrt(np.maximum(s_xx, 0.0) * np.maximum(s_yy, 0.0))
    mixed, squared = -(k * cross[0, 1] + cross[0, 2] / k) / 2, plus / 4
    groups = np.arange(len(s_xy))
    ends = []
    for side in (-1.0, 1.0):
        deviations = np.full(len(s_xy), 2.0)
        for _ in range(_ROUNDS):
            factor = deviations**2
            end = _root(both**2 - factor * squared, -s_xy * both - factor * mixed, s_xy**2 - factor * cross[0, 0], side)
            end = np.where(likely, end, np.nan)
            at = np.argmax(np.where(np.isnan(end), -np.inf, side * end), axis=0)
            r, ratio = np.nan_to_num(end[at, groups]), k[at, groups]
            used = of_xy - r / 2 * (ratio * of_xx + of_yy / ratio)
            error = weighted_error(terms, list(used), miss)
            deviations = error / np.sqrt((sizes * used**2).sum(axis=0))
        ends.append(end[at, groups])
    return np.nan_to_num(ends[0], nan=1.0), np.nan_to_num(ends[1], nan=-1.0), error, middle


def _root(a: Floats, b: Floats, c: Floats, side: float) -> Floats:
    """The outermost r from -1 to 1 on one side with a r² + 2b r + c <= 0; NaN where there is none.

    >>> a, b, c = np.array([[1, 1, 1], [-0.5, -0.5, 0], [0.16, -2, 1]])
    >>> _root(a, b, c, 1.0).round(2).tolist()
    [0.8, 1.0, nan]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        far = -(b + np.copysign(np.sqrt(b**2 - a * c), b))
        roots = np.stack([far / a, c / far])
    roots = np.where(np.abs(roots) <= 1, roots, np.nan)
    outer = side * np.fmax(side * roots[0], side * roots[1])
    return np.where(a + 2 * side * b + c <= 0, side, outer)
