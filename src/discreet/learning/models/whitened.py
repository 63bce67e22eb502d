"""Logistic regression by noisy gradients in a whitened space.

A tenth of the budget buys the noisy matrix of second moments of the rows. Its eigenvalues that stand out from the noise
give the directions and their widths; all others share what is left of the trace. In the space where the rows are then
about round, each row is cut to a common length and a few full-batch gradient steps are taken, the later half of which
is averaged. All that steers them (clipping length, number of steps) follows from what was released.

Guarantee: the whole is Gaussian differentially private with ``mu_squared`` for adding or removing one row.
Proof: whitened.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.learning.budget import split
from discreet.learning.sums import ExactSums, release, symmetric
from discreet.randomness import Bits

MOMENTS_SHARE = (1, 9)
_EDGE = 2.0  # the largest eigenvalue of symmetric noise is about 2 sigma sqrt(d)
_RIDGE = 0.4  # of that edge, added to every eigenvalue
_CLIP = 0.9  # of the root mean square length of a whitened row
_PACE = 3.3
_STEPS = (5, 60)
_MAP_BITS = 18
_RADIUS_BITS = 24
_RESIDUAL_BITS = 15
_SAFE = 1 - 2.0**-30


class Rows(Protocol):
    """Integer rows: what the two passes over the data need of them."""

    @property
    def width(self) -> int:
        """How many columns."""
        ...

    @property
    def length_squared(self) -> int:
        """No row is longer than its root."""
        ...

    def moments(self) -> ExactSums:
        """The upper triangle of the sum of x xᵀ."""
        ...

    def scores(self, weights: Floats) -> Floats:
        """x · w for each row and each column of weights, in floats."""
        ...

    def lengths(self, matrix: Floats) -> Floats:
        """|M x| for each row, within a relative 2^-35."""
        ...

    def weighted_sum(self, residuals: Floats) -> Integers:
        """The sum of x rᵀ over all rows for integer residuals, exactly."""
        ...


@dataclass(frozen=True, slots=True)
class Fitted:
    """Weights for each column and output, and the facts that an accuracy note needs."""

    weights: Floats
    steps: int
    rows: float
    """About how many rows there are, as released."""
    noise: float
    """The standard deviation of a prediction's score that is due to noise, for an average row; an estimate."""


def fit_whitened(rows: Rows, target: Floats, mu_squared: Fraction, bits: Bits | None = None) -> Fitted:
    """Weights of a logistic model. ``target`` has one 0/1 column for two classes, else one for each class."""
    for_moments, for_steps = split(mu_squared, *MOMENTS_SHARE)
    noisy, sigma = release(rows.moments(), for_moments, bits)
    whitening = _whitening(symmetric(noisy, rows.width), sigma, rows.length_squared)
    outputs = target.shape[1]
    signal = whitening.rows * float(for_steps) ** 0.5 / rows.width**0.5
    steps = int(np.clip(round(_PACE * signal ** (1 / 3)), *_STEPS))
    gradient = _Gradient.of(rows, whitening, mu_squared=for_steps / steps, outputs=outputs)
    pace = 4.0 if outputs == 1 else 2.0  # the Hessian is at most a quarter, or a half, of the second moments
    at = np.zeros((rows.width, outputs))
    mean = np.zeros_like(at)
    averaged = 0
    for step in range(steps):
        at = at - pace * gradient.noisy(at, target, bits)
        if 2 * step >= steps:
            mean += at
            averaged += 1
    noise = pace * gradient.sigma * (rows.width / max(whitening.rows, 1.0) / averaged) ** 0.5
    return Fitted(gradient.back(mean / averaged), steps, whitening.rows, noise)


@dataclass(frozen=True, slots=True)
class _Whitening:
    matrix: Floats
    clip: float
    rows: float


def _whitening(moments: Floats, sigma: float, length_squared: int) -> _Whitening:
    """From noisy second moments to the map that makes rows about round; post-processing."""
    width = len(moments)
    values, vectors = np.linalg.eigh(moments)
    trace = max(float(np.trace(moments)), 1.0)
    edge = _EDGE * sigma * width**0.5
    clear = values > edge
    hidden = int((~clear).sum())
    rest = max(trace - float(values[clear].sum()), 0.0) / max(hidden, 1)
    widths = np.where(clear, values, rest)
    ridged = np.maximum(widths + _RIDGE * edge, 1.0)
    count = max(trace / length_squared, 1.0)  # rows that are shorter than the longest only make it smaller
    mean_square = float((widths / ridged).sum()) / count
    return _Whitening((vectors / np.sqrt(ridged)).T, _CLIP * max(mean_square, 1e-12) ** 0.5, count)


@dataclass(frozen=True, slots=True)
class _Gradient:
    """The noisy gradient in the whitened space: M xᵀr summed over rows, M and r integers, each term bounded."""

    rows: Rows
    matrix: Floats
    """The whitening map, integer entries."""
    scale: float
    weights: Floats
    """How much of each row's residual counts, so that |r| |M x| stays within ``radius``."""
    radius: int
    moves_squared: int
    mu_squared: Fraction

    @classmethod
    def of(cls, rows: Rows, whitening: _Whitening, *, mu_squared: Fraction, outputs: int) -> _Gradient:
        finest = float(1 << _MAP_BITS) / float(np.abs(whitening.matrix).max())
        scale = min(finest, float(1 << _RADIUS_BITS) / whitening.clip)
        matrix = np.rint(whitening.matrix * scale)
        radius = max(1, int(whitening.clip * scale))
        with np.errstate(divide="ignore"):
            weights = np.minimum(1.0, _SAFE * radius / rows.lengths(matrix))
        longest = (radius << _RESIDUAL_BITS) ** 2
        # a residual is at most 1 long for two classes, and sqrt(2) for a softmax
        return cls(rows, matrix, scale, weights, radius, longest if outputs == 1 else 2 * longest, mu_squared)

    @property
    def sigma(self) -> float:
        return float(float(self.moves_squared / self.mu_squared) ** 0.5 / self._unit)

    @property
    def _unit(self) -> float:
        return self.scale * (1 << _RESIDUAL_BITS)

    def noisy(self, at: Floats, target: Floats, bits: Bits | None) -> Floats:
        guess = probabilities(self.rows.scores(self.back(at)))
        residual = np.trunc((guess - target) * self.weights[:, None] * float(1 << _RESIDUAL_BITS))
        total = integer_product(self.matrix, self.rows.weighted_sum(residual))
        noisy, _ = release(ExactSums(total, self.moves_squared), self.mu_squared, bits)
        return noisy / self._unit

    def back(self, at: Floats) -> Floats:
        """Weights of the original columns."""
        return self.matrix.T @ at / self.scale


def probabilities(scores: Floats) -> Floats:
    """One column: the probability of the second class; several: of each class. Entries lie in [0, 1]."""
    if scores.shape[1] == 1:
        with np.errstate(over="ignore"):
            return 1.0 / (1.0 + np.exp(-scores))
    with np.errstate(over="ignore", under="ignore"):
        shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(np.minimum(shifted / shifted.sum(axis=1, keepdims=True), 1.0))


def integer_product(matrix: Floats, sums: Integers) -> Integers:
    """``matrix @ sums`` in integers; Python's own where 64 bits would not do."""
    largest = int(np.abs(sums).max(initial=0)) * int(np.abs(matrix).max(initial=0)) * matrix.shape[1]
    if largest < 1 << 62:
        return matrix.astype(np.int64) @ sums
    wide: NDArray[Any] = matrix.astype(np.int64).astype(object) @ sums.astype(object)
    return wide
