"""Logistic and linear models by noisy gradients in a whitened space.

A tenth of the budget buys the noisy matrix of second moments of the rows. What stands out from the noise of how it
differs from that of independent columns gives the directions and their widths. In the space where the rows are then
about round, each row is cut to a common length and a few full-batch gradient steps are taken, the later half of which
is averaged. All that steers them (clipping length, number of steps) follows from what was released.

Guarantee: the whole is Gaussian differentially private with ``mu_squared`` for adding or removing one row.
Proof: whitened.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.learning.budget import split
from discreet.learning.sums import ExactSums, check_fits, release, symmetric
from discreet.randomness import Bits

MOMENTS_SHARE = (1, 9)
_EDGE = 2.0  # the largest eigenvalue of symmetric noise is about 2 sigma sqrt(d)
_RIDGE = 0.4  # of that edge, added to every eigenvalue
_CLIP = 0.9  # of the root mean square length of a whitened row
_PACE = 3.3
_STEPS = (5, 600)
_LINEAR_STEPS = (8, 200)
_LOUD = 1e4  # rows over noise in each direction: from here on cutting rows or residuals costs more than it saves
_MAP_BITS = 18
_RADIUS_BITS = 24
_RESIDUAL_BITS = 15
_WIDEST_NOISE = 2.0**36  # of a step, in residuals: with those it fits into 64 bits
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

    @property
    def scale(self) -> int:
        """What the rows of one unit count at most, together."""
        ...

    @property
    def moves_squared(self) -> int:
        """How far one unit moves the moments: the squared L2 length."""
        ...

    def moments(self) -> ExactSums:
        """The upper triangle of the sum of w x xᵀ, w being a row's weight."""
        ...

    def count(self, moments: Floats) -> float:
        """About how many rows noisy moments are of."""
        ...

    def independent(self, moments: Floats) -> Floats:
        """What noisy moments would be if columns did not depend on each other."""
        ...

    def roughness(self) -> Floats:
        """A quadratic form of weights that is large where nobody expects them; the identity has no opinion."""
        ...

    def scores(self, weights: Floats) -> Floats:
        """x · w for each row and each column of weights, in floats."""
        ...

    def lengths(self, matrix: Floats) -> Floats:
        """|M x| for each row, within a relative 2^-35."""
        ...

    def weighted_sum(self, residuals: Floats) -> Integers:
        """The sum of w x rᵀ over all rows for integer residuals, exactly."""
        ...


@dataclass(frozen=True, slots=True)
class Descent:
    """How scores become predictions, and how the steps go about it."""

    guess: Callable[[Floats], Floats]
    steps: int
    pace: float
    """The length of a step: one over the largest curvature."""
    reach: float = 1.0
    """Each residual is cut to this size."""


DescentOf = Callable[[float, int], Descent]
"""From how far the rows stand out from the noise, and the number of outputs."""


def logistic(signal: float, outputs: int) -> Descent:
    """Probabilities of one class, or of each of several: curvature is at most a quarter, or a half, of the moments."""
    steps = int(np.clip(round(_PACE * signal ** (1 / 3)), *_STEPS))
    return Descent(probabilities, steps, 4.0 if outputs == 1 else 2.0)


def linear(signal: float, outputs: int) -> Descent:
    """Numbers in [-1, 1]: where there is little noise, no residual is cut."""
    steps = int(np.clip(round(signal ** (1 / 3)), *_LINEAR_STEPS))
    return Descent(lambda scores: np.clip(scores, -1.0, 1.0), steps, 1.0, 1.0 if signal < _LOUD else 2.0)


@dataclass(frozen=True, slots=True)
class Fitted:
    """Weights for each column and output, and the facts that an accuracy note needs."""

    weights: Floats
    steps: int
    rows: float
    """About how many rows there are, as released."""
    counts: Floats
    """The noisy sums of squares of each column: of bins, how many rows they have."""
    noise: float
    """The standard deviation of a prediction's score that is due to noise, for an average row; an estimate."""


def fit_whitened(
    rows: Rows, target: Floats, mu_squared: Fraction, bits: Bits | None = None, *, descent_of: DescentOf = logistic
) -> Fitted:
    """Weights of a model. ``target`` has one 0/1 column for two classes, one for each of more, or one of numbers."""
    for_moments, for_steps = split(mu_squared, *MOMENTS_SHARE)
    noisy, sigma = release(rows.moments(), for_moments, bits)
    moments = symmetric(noisy / rows.scale, rows.width)
    whitening = _whitening(rows, moments, sigma / rows.scale)
    outputs = target.shape[1]
    signal = whitening.rows * float(for_steps) ** 0.5 / rows.width**0.5
    descent = descent_of(signal, outputs)
    longest = float(np.linalg.norm(whitening.matrix, 2)) * rows.length_squared**0.5
    clip = min(whitening.clip * max(1.0, signal / _LOUD), max(longest, whitening.clip))
    whitening = replace(whitening, clip=clip)
    gradient = _Gradient.of(rows, whitening, mu_squared=for_steps / descent.steps, outputs=outputs, descent=descent)
    at = np.zeros((rows.width, outputs))
    mean = np.zeros_like(at)
    averaged = 0
    for step in range(descent.steps):
        at = at - descent.pace * gradient.noisy(at, target, bits)
        if 2 * step >= descent.steps:
            mean += at
            averaged += 1
    noise = descent.pace * gradient.sigma * (rows.width / max(whitening.rows, 1.0) / averaged) ** 0.5
    return Fitted(gradient.back(mean / averaged), descent.steps, whitening.rows, np.diag(moments), noise)


def check_noise_fits(rows: Rows, mu_squared: Fraction) -> None:
    """Refuse, before anything is paid, a budget whose noise no draw could hold."""
    for_moments, for_steps = split(mu_squared, *MOMENTS_SHARE)
    check_fits(rows.moves_squared, for_moments)
    check_fits(2 * rows.scale**2 << 2 * _RESIDUAL_BITS, for_steps / _STEPS[1])


@dataclass(frozen=True, slots=True)
class _Whitening:
    matrix: Floats
    clip: float
    rows: float


def _whitening(rows: Rows, moments: Floats, sigma: float) -> _Whitening:
    """From noisy second moments to the map that makes rows about round; post-processing."""
    edge = _EDGE * sigma * len(moments) ** 0.5
    expected = rows.independent(moments)
    values, vectors = np.linalg.eigh(moments - expected)
    clear = np.where(np.abs(values) > edge, values, 0.0)
    values, vectors = np.linalg.eigh(expected + (vectors * clear) @ vectors.T)
    second = (vectors * np.maximum(values, 0.0)) @ vectors.T
    ridged, vectors = np.linalg.eigh(second + _RIDGE * edge * rows.roughness())
    matrix = (vectors / np.sqrt(np.maximum(ridged, 1.0))).T
    count = max(rows.count(moments), 1.0)
    mean_square = float(np.sum((matrix @ second) * matrix)) / count
    return _Whitening(matrix, _CLIP * max(mean_square, 1e-12) ** 0.5, count)


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
    descent: Descent

    @classmethod
    def of(
        cls, rows: Rows, whitening: _Whitening, *, mu_squared: Fraction, outputs: int, descent: Descent
    ) -> _Gradient:
        finest = float(1 << _MAP_BITS) / float(np.abs(whitening.matrix).max())
        reach = min(float(1 << _RADIUS_BITS), _WIDEST_NOISE * float(mu_squared) ** 0.5 / rows.scale)
        scale = min(finest, reach / whitening.clip)
        matrix = np.rint(whitening.matrix * scale)
        radius = max(1, int(whitening.clip * scale))
        with np.errstate(divide="ignore"):
            weights = np.minimum(1.0, _SAFE * radius / rows.lengths(matrix))
        longest = (radius << _RESIDUAL_BITS) ** 2 * rows.scale**2
        # residuals of one output are at most 1 long, those of a softmax sqrt(2)
        return cls(rows, matrix, scale, weights, radius, longest if outputs == 1 else 2 * longest, mu_squared, descent)

    @property
    def sigma(self) -> float:
        return float(float(self.moves_squared / self.mu_squared) ** 0.5 / self._unit)

    @property
    def _unit(self) -> float:
        return self.scale * (1 << _RESIDUAL_BITS) * self.rows.scale / self.descent.reach

    def noisy(self, at: Floats, target: Floats, bits: Bits | None) -> Floats:
        off = self.descent.guess(self.rows.scores(self.back(at))) - target
        cut = np.clip(off / self.descent.reach, -1.0, 1.0)
        residual = np.trunc(cut * self.weights[:, None] * float(1 << _RESIDUAL_BITS))
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
