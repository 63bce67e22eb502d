"""Logistic and Poisson regression as a table: Newton steps on noisy gradients and Hessians.

Guarantee: the fitted model keeps ``budget`` for adding or removing one unit with all of its rows: every step releases
two exact sums with Gaussian noise, whose squares of mu add up to the budget's. Proof: generalized.md.

A first few steps of small shares find the neighbourhood, one step comes close, and the last, with most of the budget,
is the estimate. Its interval counts the noise in gradient and Hessian and the sampling of the score. Where the Hessian
does not stand out from the noise, or the last step was so long that it may not have been the last, nothing is said.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.errors import BadParameter
from discreet.learning.budget import Budget, mu_squared, split
from discreet.learning.estimator import (
    Bounds,
    Estimator,
    check_widths,
    read_bounds,
    read_classes,
    read_labels,
    read_target,
    scaled,
)
from discreet.learning.inference.coefficients import Coefficients
from discreet.learning.inference.least_squares import Inverted, invert
from discreet.learning.inference.noise_law import Noise
from discreet.learning.sums import ExactSums, check_fits, exact_product, few_bits, release, symmetric, upper
from discreet.learning.unit_weights import WEIGHT_BITS, Weights, unit_weights
from discreet.privacy.promises.receipt import Receipt

_ROW_BITS = 12
_RESIDUAL_BITS = 14
_CURVE_BITS = 10
_PART = 1 << 17  # rows: sums of 44 bits each
_FIRST_STEPS = 9
_SHARES = (*(1 for _ in range(_FIRST_STEPS)), 22, 45)
_HESSIAN, _GRADIENT = 1, 2
_LONGEST_STEP = 2.0  # of all coefficients together, in scores at the bounds: Newton's steps from afar overshoot
_MOST = 1e15  # of the ends of counts: far within the doubles
_TOO_LONG = 0.5  # of the curvature that the last step leaves out, in standard errors


@dataclass(frozen=True, slots=True)
class _Data:
    """Integer rows (1, x), targets and weights: what each step looks at."""

    rows: Floats
    target: Floats
    weights: Weights


@dataclass(frozen=True, slots=True)
class _Step:
    """A noisy Newton system: Hessian and gradient, in the units of scaled columns, and the deviations of the noise."""

    hessian: Floats
    gradient: Floats
    hessian_noise: float
    gradient_noise: float


class Generalized(Estimator, ABC):
    """What logistic and Poisson regression share: ``coef_``, ``intercept_``, intervals, the table."""

    needs_target: ClassVar[bool] = True

    budget: Budget
    bounds: Bounds
    coef_: Floats
    intercept_: float
    table_: Coefficients

    def intervals(self, confidence: Any = "0.95", *, of: str = "population") -> Floats:
        """An array (terms, 2), intercept first: for the population (sampling and noise), or ``of="table"`` (noise)."""
        self._check_fitted()
        return self.table_.intervals(confidence, of=of)

    @property
    def standard_errors_(self) -> Floats:
        """Of intercept and slopes, sampling and noise; infinite where nothing is known."""
        return self.table_.standard_errors

    @property
    def p_values_(self) -> Floats:
        """Of intercept and slopes, each against 0."""
        return self.table_.p_values

    def summary(self, confidence: Any = "0.95") -> str:
        """The table as text."""
        self._check_fitted()
        return self.table_.summary(confidence)

    @property
    @abstractmethod
    def _largest(self) -> tuple[float, float]:
        """Of a residual in size, and of a curvature."""

    @abstractmethod
    def _means(self, scores: Floats) -> tuple[Floats, Floats]:
        """The mean and the curvature (the variance) at each score, within 0 and their largest."""

    def _start(self) -> float:
        """The score before anything is known."""
        return 0.0

    def _learn(self, values: Floats, target: Floats, weights: Weights, receipt: Receipt | None) -> Self:
        square = mu_squared(self.budget)
        columns = values.shape[1]
        middle, half = read_bounds(self.bounds, columns)
        grid = 1 << _ROW_BITS
        rows = np.hstack([np.full((len(values), 1), float(grid)), np.rint(scaled(values, middle, half) * grid) + 0.0])
        data = _Data(rows, target, weights)
        check_widths(half, "bounds")
        *first, last = split(square, *_SHARES)
        for_hessian, for_gradient = split(min(*first, last), _HESSIAN, _GRADIENT)
        none = np.zeros(0)
        hessian, gradient = newton_sums(rows[:0], none, none, Weights(none, weights.scale))
        check_fits(hessian.moves_squared, for_hessian)
        check_fits(gradient.moves_squared, for_gradient)
        self._pay(receipt)
        at = np.zeros(columns + 1)
        at[0] = self._start()
        for share in first:
            at = at + _careful(self._step(data, at, share))
        step = self._step(data, at, last)
        places = np.zeros((columns + 2, columns + 2), dtype=np.intp)
        places[upper(columns + 2)] = np.arange((columns + 2) * (columns + 3) // 2)
        places = np.maximum(places, places.T)
        deviations = np.zeros((columns + 2, columns + 2))
        deviations[:-1, :-1], deviations[:-1, -1] = step.hessian_noise, step.gradient_noise
        matrix = np.block([[step.hessian, step.gradient[:, None]], [step.gradient[None], np.zeros((1, 1))]])
        noise = Noise(deviations[upper(columns + 2)])
        found = invert(matrix, places, noise)
        if found is not None and _is_too_long(step, found):
            found = None
        at = at + (_careful(step) if found is None else found.estimates)
        self._describe(at, found, noise, middle, half)
        self.n_features_in_ = columns
        return self

    def _step(self, data: _Data, at: Floats, share: Fraction) -> _Step:
        """Two releases: of Σ w z zᵀ h and of Σ w z r."""
        for_hessian, for_gradient = split(share, _HESSIAN, _GRADIENT)
        most_residual, most_curve = self._largest
        hessian, gradient = newton_sums(data.rows, *self._terms(data, at), data.weights)
        noisy, deviation = release(hessian, for_hessian)
        slope, slope_deviation = release(gradient, for_gradient)
        grid, scale = float(1 << _ROW_BITS), data.weights.scale
        curve_unit = most_curve / (grid**2 * (1 << _CURVE_BITS) * scale)
        residual_unit = most_residual / (grid * (1 << _RESIDUAL_BITS) * scale)
        return _Step(
            symmetric(noisy * curve_unit, len(at)), slope * residual_unit,
            deviation * curve_unit, slope_deviation * residual_unit,
        )  # fmt: skip

    def _terms(self, data: _Data, at: Floats) -> tuple[Floats, Floats]:
        """Residuals and curvatures in integers, each row by itself."""
        most_residual, most_curve = self._largest
        scores = data.rows @ few_bits(at / (1 << _ROW_BITS), _ROW_BITS)
        mean, curve = self._means(scores)
        residual = np.clip((data.target - mean) / most_residual, -1.0, 1.0)
        return (
            np.rint(residual * (1 << _RESIDUAL_BITS)) + 0.0,
            np.rint(np.clip(curve / most_curve, 0.0, 1.0) * (1 << _CURVE_BITS)) + 0.0,
        )

    def _describe(self, at: Floats, found: Inverted | None, noise: Noise, middle: Floats, half: Floats) -> None:
        to_units = np.diag(np.append(1.0, 1 / half))
        to_units[0, 1:] = -middle / half
        estimates = to_units @ at
        size = len(at)
        variances = noise_variances = np.full(size, np.inf)
        excess = np.zeros(size)
        notes: tuple[str, ...] = ("Nothing is known: the noise is too large for these columns.",)
        if found is not None:
            noise_covariance = to_units @ found.noise_covariance @ to_units.T
            variances = np.diag(to_units @ found.inverse @ to_units.T + noise_covariance)
            noise_variances = np.diag(noise_covariance)
            excess = noise.fourth_cumulants(to_units @ found.noise_weights)
            notes = ('Intervals count sampling and noise; intervals(of="table") count the noise alone.',)
        self.intercept_, self.coef_ = float(estimates[0]), estimates[1:]
        self.table_ = Coefficients(
            terms=("Intercept", *(f"x{i}" for i in range(1, size))), estimates=estimates, variances=variances,
            noise_variances=noise_variances, excess=excess, rows=np.nan, kind=self._kind, notes=notes,
        )  # fmt: skip

    _kind: ClassVar[str] = ""

    def _scores(self, X: Any) -> Floats:
        rows = self._rows_to_use(X)
        middle, half = read_bounds(self.bounds, rows.shape[1])
        return np.asarray((middle + half * scaled(rows, middle, half)) @ self.coef_ + self.intercept_)


def newton_sums(rows: Floats, residuals: Floats, curves: Floats, weights: Weights) -> tuple[ExactSums, ExactSums]:
    """The upper triangle of Σ w z zᵀ h, and Σ w z r, in cells, for rows z = (grid, x) with |x_i| <= grid = 2^12.

    >>> from discreet.learning.unit_weights import unit_weights
    >>> hessian, gradient = newton_sums(np.array([[4096.0]]), np.array([-3.0]), np.array([5.0]), unit_weights(None, 1))
    >>> hessian.values.tolist(), gradient.values.tolist()
    ([83886080], [-12288])
    """
    width = rows.shape[1]
    table: NDArray[Any] = np.zeros((width, width), dtype=np.int64)
    slopes: NDArray[Any] = np.zeros(width, dtype=np.int64)
    for start in range(0, len(rows), _PART):
        if start == _PART:  # one part fits into 64 bits, several may not
            table, slopes = table.astype(object), slopes.astype(object)
        part = slice(start, start + _PART)
        weighted = rows[part] * (curves[part] * weights.values[part])[:, None]
        left_bits = _ROW_BITS + 1 + _CURVE_BITS + 1 + WEIGHT_BITS
        table = table + exact_product(weighted, rows[part], left_bits=left_bits, right_bits=_ROW_BITS + 1)
        counted = (residuals[part] * weights.values[part])[:, None]
        right_bits = _RESIDUAL_BITS + 1 + WEIGHT_BITS
        slopes = slopes + exact_product(rows[part], counted, left_bits=_ROW_BITS + 1, right_bits=right_bits)[:, 0]
    long = width << 2 * _ROW_BITS  # of a row, squared
    fourth = width << 4 * _ROW_BITS
    hessian_moves = (long**2 + fourth) // 2 << 2 * _CURVE_BITS
    gradient_moves = long << 2 * _RESIDUAL_BITS
    scale = weights.scale**2
    return ExactSums(table[upper(width)], hessian_moves * scale), ExactSums(slopes, gradient_moves * scale)


def _careful(step: _Step) -> Floats:
    """A Newton step with a ridge of the size of the noise, no longer than the longest."""
    values, vectors = np.linalg.eigh(step.hessian)
    ridge = 2 * step.hessian_noise * len(values) ** 0.5
    move: Floats = (vectors / np.maximum(values + ridge, max(ridge, 1e-9))) @ (vectors.T @ step.gradient)
    return move * min(1.0, _LONGEST_STEP / max(float(np.abs(move).sum()), 1e-300))


def _is_too_long(step: _Step, found: Inverted) -> bool:
    """Whether the curvature that one step leaves out may be as large as half of a standard error."""
    move = found.estimates
    length = max(float(move @ step.hessian @ move), 0.0) ** 0.5
    per_row = length / max(float(step.hessian[0, 0]), 1e-300) ** 0.5
    spread = float(len(move) + np.sum(step.hessian * found.noise_covariance)) ** 0.5
    return bool(per_row * length / 2 > _TOO_LONG * spread)


class Logit(Generalized):
    """Logistic regression as a table: what the second of two classes depends on, with intervals.

    Guarantee: the fitted model keeps ``budget`` for adding or removing one row; with ``fit(X, y, unit=...)`` for adding
    or removing one unit, whose rows share a weight of 1. No row is cut by default, and nothing shrinks.

    >>> from discreet.privacy.promises.measures import GDP
    >>> x = np.linspace(-1, 1, 8000)[:, None]
    >>> model = Logit(bounds=(-1, 1), classes=[0, 1], budget=GDP(20)).fit(x, (x[:, 0] > np.sin(np.arange(8000))))
    >>> low, high = model.intervals()[1]
    >>> bool(0 < low < high)
    True
    """

    kind: ClassVar[str] = "classifier"
    _kind: ClassVar[str] = "Logistic regression"

    classes_: NDArray[Any]

    def __init__(self, *, budget: Budget, bounds: Bounds = None, classes: Sequence[Any] | None = None) -> None:
        self.budget = budget
        self.bounds = bounds
        self.classes = classes

    def fit(self, X: Any, y: Any = None, *, unit: Any = None, receipt: Receipt | None = None) -> Self:
        """Check, pay, and learn. ``unit`` names the person of each row; without it each row is a person."""
        classes = read_classes(self.classes)
        if len(classes) != 2:
            raise BadParameter("classes", self.classes, "must be two: Logit is about the second of two classes")
        values = self._rows_to_fit(X)
        read_bounds(self.bounds, values.shape[1])
        weights = unit_weights(unit, len(values))
        weighted, labels = read_labels(np.hstack([weights.values[:, None], values]), y, classes)
        self.classes_ = classes
        kept = Weights(weighted[:, 0], weights.scale)
        return self._learn(weighted[:, 1:], labels.astype(np.float64), kept, receipt)

    @property
    def _largest(self) -> tuple[float, float]:
        return 1.0, 0.25

    def _means(self, scores: Floats) -> tuple[Floats, Floats]:
        with np.errstate(over="ignore"):
            mean = 1.0 / (1.0 + np.exp(-scores))
        return mean, mean * (1.0 - mean)

    def decision_function(self, X: Any) -> Floats:
        """The log-odds of the second class."""
        return self._scores(X)

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class."""
        p = self._means(self._scores(X))[0]
        return np.stack([1 - p, p], axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """The more likely class of each row."""
        return np.asarray(self.classes_[(self._scores(X) > 0).astype(np.intp)])

    def score(self, X: Any, y: Any) -> float:
        """The share of rows that are classified right. It looks at data: pay before you publish it."""
        return float((self.predict(X) == np.asarray(y)).mean())


class PoissonRegression(Generalized):
    """Poisson regression as a table: how the logarithm of a mean count depends on columns, with intervals.

    Guarantee: as for ``Logit``. ``most``: counts above it count as ``most``; public, never taken from the data.

    >>> from discreet.privacy.promises.measures import GDP
    >>> x = np.linspace(-1, 1, 8000)[:, None]
    >>> model = PoissonRegression(bounds=(-1, 1), most=10, budget=GDP(20)).fit(x, np.rint(np.exp(1 + 0.5 * x[:, 0])))
    >>> bool(0.3 < model.coef_[0] < 0.7)
    True
    """

    kind: ClassVar[str] = "regressor"
    _kind: ClassVar[str] = "Poisson regression"

    def __init__(self, *, budget: Budget, bounds: Bounds = None, most: Any = None) -> None:
        self.budget = budget
        self.bounds = bounds
        self.most = most

    def fit(self, X: Any, y: Any = None, *, unit: Any = None, receipt: Receipt | None = None) -> Self:
        """Check, pay, and learn. ``unit`` names the person of each row; without it each row is a person."""
        (middle,), _ = read_bounds((0, self.most), 1, "most")
        self._most = 2 * float(middle)
        if not 1 / _MOST <= self._most <= _MOST:
            raise BadParameter("most", self.most, "must lie between 1e-15 and 1e15")
        values = self._rows_to_fit(X)
        read_bounds(self.bounds, values.shape[1])
        given, weights = read_target(y, len(values)), unit_weights(unit, len(values))
        counted = Weights(np.where(np.isnan(given), 0.0, weights.values), weights.scale)  # no number: left out
        target = np.clip(np.nan_to_num(given, nan=0.0), 0.0, self._most)
        return self._learn(values, target, counted, receipt)

    @property
    def _largest(self) -> tuple[float, float]:
        return self._most, self._most

    def _start(self) -> float:
        return float(np.log(self._most / 8))

    def _means(self, scores: Floats) -> tuple[Floats, Floats]:
        mean = np.exp(np.clip(scores, -700.0, np.log(self._most)))
        return mean, mean

    def predict(self, X: Any) -> Floats:
        """The mean count of each row."""
        return self._means(self._scores(X))[0]

    def score(self, X: Any, y: Any) -> float:
        """R² on these rows. It looks at data: pay before you publish it."""
        target = np.asarray(y, dtype=np.float64)
        return float(1 - ((target - self.predict(X)) ** 2).sum() / ((target - target.mean()) ** 2).sum())
