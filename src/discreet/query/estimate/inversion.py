"""Intervals by inverting a test: a value is in the interval unless the noise would have to be too large for it.

Guarantee: an interval holds the exact value with probability at least 1 - miss. For a value θ that is a ratio, N - θD
is 0 for the exact sums, so for the noisy ones it is a weighted sum of noises, whose law is known (Fieller 1954): θ
stays if it is within the error of that law. One law is used for all statistics together, not one error for each of
them; that is what makes the intervals short. Proof: inversion.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from discreet.arrays import Floats
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.query.estimate.noise_plan import Noised

_NORMAL = NormalDist()
_APART = 1.02
"""Scales are raised until each is so many times the next smaller one."""
_LEAST = 1e-8
_RARER = 1e-7
"""A miss below which nothing rarer is looked for."""
_GROUPS = 1024  # at once
_PIECES = (128, 16, 16, 16)
"""Into how many pieces the possible values of a ratio are cut; then those that are left, once more."""
_ROOM = 1e-9
"""Steps aim at so much less than the miss, in parts of it, that rounding does not put them beyond it."""
_STEPS = 5
"""Newton's, from the bound of Chernoff on; each ends where the law is fine, and the last is hardly shorter."""
_RATES = 32
_FEW_RATES = 8
"""Enough of them to start from."""


def combined_error(noises: Sequence[Noised], weights: Sequence[Floats], miss: float) -> Floats:
    """For each group, |Σ w_i Z_i| is at most this with probability 1 - miss; it grows with the size of each weight."""
    miss = max(miss, 1e-15)
    sizes = np.abs(np.stack([np.asarray(w, dtype=np.float64) for w in weights]))
    cells = sum(size * float(noised.unit) for noised, size in zip(noises, sizes, strict=True))
    if not isinstance(noises[0].noise, Gaussian):
        scales = np.array([_size(noised) for noised in noises])
        return np.asarray(_laplace(scales[:, None] * sizes, miss) + cells)
    deviations = np.array([_size(noised) for noised in noises])
    deviation = np.sqrt(((deviations[:, None] * sizes) ** 2).sum(axis=0))
    if all(isinstance(noised.noise, Gaussian) and noised.noise.sigma_squared >= 1 for noised in noises):
        return np.asarray(deviation * -_NORMAL.inv_cdf(miss / 2) + cells)
    return np.asarray(deviation * math.sqrt(2 * math.log(2 / miss)))  # sub-Gaussian, whatever σ


def _size(noised: Noised) -> float:
    """The scale of Laplace noise or the deviation of Gaussian noise, in the statistic's units."""
    noise = noised.noise
    cells = math.sqrt(noise.sigma_squared) if isinstance(noise, Gaussian) else float(noise.scale)
    return cells * float(noised.unit)


def _laplace(scales: Floats, miss: float) -> Floats:
    """For each column, a t with P[|Σ X_i| > t] <= miss for Laplace X_i of these scales.

    >>> _laplace(np.array([[1.0, 1.0], [0.0, 1.0]]), 0.05).round(2).tolist()  # the second: 4.11 by its own law
    [3.0, 4.15]
    """
    largest = np.maximum(scales.max(axis=0), 1e-300)
    s = np.sort(scales / largest, axis=0)
    for i in range(1, len(s)):
        s[i] = np.maximum(s[i], _APART * s[i - 1])
    high = _chernoff(s, miss, _RATES if miss < _LEAST else _FEW_RATES)
    if miss < _LEAST:
        return np.asarray(high * largest)
    shares = _shares(s)
    rates = np.divide(-1.0, s, out=np.zeros_like(s), where=s > 0)  # no noise has no share
    near, most = high, miss - 1e-10
    for _ in range(
        _STEPS
    ):  # a sum of such noises is log-concave: a tangent from the right ends to the right of the root
        parts = shares * np.exp(rates * near)
        tail = parts.sum(axis=0)
        high = np.where(tail <= most, np.minimum(near, high), high)
        falls = -(rates * parts).sum(axis=0)
        rise = np.log(np.maximum(tail, 1e-300) / (most * (1 - _ROOM))) * tail
        near = np.maximum(near + np.divide(rise, falls, out=np.zeros_like(near), where=falls > 0), 0.0)
    return np.asarray(high * largest)


def _shares(s: Floats) -> Floats:
    """c_i of P[|Σ X_i| > t] = Σ c_i exp(-t/s_i): Π_{j≠i} s_i²/(s_i² - s_j²)."""
    squares = s**2
    apart = squares[:, None] - squares
    parts = np.divide(squares[:, None], apart, out=np.zeros_like(apart), where=apart != 0)
    parts[np.diag_indices(len(s))] = 1.0
    return np.where(s > 0, parts.prod(axis=1), 0.0)


def _chernoff(s: Floats, miss: float, rates: int = _RATES) -> Floats:
    """min over a few rates r < 1/max s of (Σ -log(1 - s²r²) + log 2/miss)/r."""
    largest = np.maximum(s.max(axis=0), 1e-300)
    best = np.full(s.shape[1], np.inf)
    for k in range(1, rates):
        rate = k / rates / largest
        best = np.minimum(best, (-np.log1p(-((s * rate) ** 2)).sum(axis=0) + math.log(2 / miss)) / rate)
    return best


# --- ratios -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """A weight that changes with θ: start + slope · θ."""

    start: float
    slope: float

    def at(self, theta: Floats) -> Floats:
        """For these θ."""
        return self.start + self.slope * theta


def ratio(
    values: Sequence[Floats],
    noises: Sequence[Noised],
    lines: Sequence[Line],
    between: tuple[float, float],
    miss: float,
) -> tuple[Floats, Floats]:
    """The θ in a public range for which Σ line_i(θ) · value_i, which is 0 for exact values, is small enough; from the
    first to the last. Where there is none, the noise was larger than its bar: then those for a thousandth of the miss,
    or the whole range where there are none of these either.
    """
    start = np.asarray(sum(line.start * v for line, v in zip(lines, values, strict=True)), dtype=np.float64)
    slope = np.asarray(sum(line.slope * v for line, v in zip(lines, values, strict=True)), dtype=np.float64)
    low, high = np.empty_like(start), np.empty_like(start)
    for i in range(0, len(start), _GROUPS):
        some = slice(i, i + _GROUPS)
        first, last = np.array([between[0]]), np.array([between[1]])
        nowhere = np.zeros(len(start[some]), dtype=bool)
        for pieces in _PIECES:
            grid = first + (last - first) * np.linspace(0.0, 1.0, pieces + 1)[:, None]
            errors = _errors(grid, noises, lines, miss)
            ends = _solved(start[some], slope[some], grid[:-1], grid[1:], errors)
            first, last = ends[0].min(axis=0), ends[1].max(axis=0)
            nowhere |= first > last
            first, last = np.where(nowhere, between[0], first), np.where(nowhere, between[1], last)
        low[some], high[some] = np.where(nowhere, np.inf, first), np.where(nowhere, -np.inf, last)
    nothing = np.flatnonzero(low > high)
    if len(nothing) and miss > _RARER:
        low[nothing], high[nothing] = ratio([v[nothing] for v in values], noises, lines, between, miss / 1000)
    else:
        low[nothing], high[nothing] = between
    return low, high


def _errors(grid: Floats, noises: Sequence[Noised], lines: Sequence[Line], miss: float) -> Floats:
    """For each piece of a grid, an error that is large enough for the weights of every θ in it."""
    sizes = [np.abs(line.at(grid)) for line in lines]
    largest = [np.maximum(size[:-1], size[1:]) for size in sizes]
    return combined_error(noises, [size.reshape(-1) for size in largest], miss).reshape(largest[0].shape)


def _solved(start: Floats, slope: Floats, left: Floats, right: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Where |start + slope·θ| <= error between two ends: from first to last; (inf, -inf) where nowhere.

    For each group and each pair of ends at once.
    """
    at = start + slope * left
    steep = np.abs(slope) * (right - left) > 1e-12 * (np.abs(at) + error)
    safe = np.where(steep, slope, 1.0)
    a, b = (-error - at) / safe, (error - at) / safe
    first = np.where(steep, np.maximum(np.minimum(a, b), 0.0), 0.0)
    last = np.where(steep, np.minimum(np.maximum(a, b), right - left), right - left)
    inside = np.where(steep, first <= last, np.abs(at) <= error * (1 + 1e-9))
    return np.where(inside, left + first, np.inf), np.where(inside, left + last, -np.inf)
