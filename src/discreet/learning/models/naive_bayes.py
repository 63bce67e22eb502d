"""Naive Bayes from one release: counts for categories, or counts, sums and sums of squares for numbers.

Guarantee: the fitted model keeps ``budget`` for adding or removing one row. A row adds to the sums of its own class
alone, so its whole contribution is one short vector. Proof: ../sums.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.learning.budget import Budget, mu_squared
from discreet.learning.estimator import Bounds, Estimator, read_bounds, read_classes, read_labels, scaled
from discreet.learning.preprocessing.columns import Column, codes_of, read_columns
from discreet.learning.sums import ExactSums, check_fits, on_grid, release
from discreet.privacy.promises.receipt import Receipt

_BITS = 16
_LEAST_VARIANCE = 1e-3  # of a range of length 2


class Bayes(Estimator, ABC):
    """Classes by the logarithm of their weight: what all models here share."""

    kind: ClassVar[str] = "classifier"
    needs_target: ClassVar[bool] = True

    classes_: NDArray[Any]
    released_: tuple[Any, ...]
    """The answers that a model from a table was made of."""
    class_count_: Floats
    """Noisy number of rows of each class, at least 1."""

    @abstractmethod
    def _log_joint(self, X: Any) -> Floats:
        """The logarithm of each class's weight, before they are made to add up to 1."""

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithm of each class's probability."""
        joint = self._log_joint(X)
        top = joint.max(axis=1, keepdims=True)
        return np.asarray(joint - top - np.log(np.exp(joint - top).sum(axis=1, keepdims=True)))

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely class of each row."""
        joint = self._log_joint(X)
        return np.asarray(self.classes_[joint.argmax(axis=1)])

    def score(self, X: Any, y: Any) -> float:
        """The share of rows that are classified right. It looks at data: pay before you publish it."""
        return float((self.predict(X) == np.asarray(y)).mean())

    def _log_prior(self) -> Floats:
        return np.asarray(np.log(self.class_count_ / self.class_count_.sum()))


class CategoricalNB(Bayes):
    """Naive Bayes on public bins of every column: one noisy table of counts by class for each.

    Guarantee: the model keeps ``budget`` for adding or removing one row.

    >>> from discreet.learning.preprocessing.columns import Categorical
    >>> from discreet.privacy.promises.measures import Approx
    >>> model = CategoricalNB(columns=[Categorical(["a", "b"])], classes=[0, 1], budget=Approx(1, "1e-5"))
    >>> int(model.fit([["a"], ["b"]] * 500, [0, 1] * 500).predict([["b"]])[0])
    1
    """

    columns_: tuple[Column, ...]
    """With as many bins as the budget chose."""
    feature_log_prob_: list[Floats]
    count_error_: float
    """The standard deviation of the noise of each count."""
    made_of_: tuple[Floats, float]
    """The numbers that ``fit_released`` was given."""

    def __init__(
        self, *, budget: Budget, columns: Sequence[Column] | None = None, classes: Sequence[Any] | None = None
    ) -> None:
        self.budget = budget
        self.columns = columns
        self.classes = classes

    def fit(self, X: Any, y: Any = None, *, receipt: Receipt | None = None) -> Self:
        """Check, pay, and learn."""
        square = mu_squared(self.budget)
        columns = read_columns(self.columns, square)
        classes = read_classes(self.classes)
        codes = codes_of(X, columns)
        codes, labels = read_labels(codes, y, classes)
        sizes = [column.size for column in columns]
        self._pay(receipt)
        noisy, sigma = release(_histograms(codes, labels, sizes, len(classes)), square)
        self._learn(noisy, sigma, sizes, classes)
        self.columns_ = columns
        self.n_features_in_ = len(columns)
        return self

    def fit_released(self, counts: Floats, sigma: float) -> Self:
        """From counts that were released elsewhere, with noise of about ``sigma`` in each: of classes, then of each
        column's bins within each class. Nothing is paid here: this only computes with released numbers.
        """
        self.made_of_ = (counts, sigma)
        columns = read_columns(self.columns, Fraction(1))
        self._learn(counts, sigma, [column.size for column in columns], read_classes(self.classes))
        self.columns_ = columns
        self.n_features_in_ = len(columns)
        return self

    def _learn(self, noisy: Floats, sigma: float, sizes: Sequence[int], classes: NDArray[Any]) -> None:
        k = len(classes)
        self.classes_ = classes
        self.class_count_ = np.maximum(noisy[:k], 1.0)
        tables = np.split(noisy[k:], np.cumsum([k * size for size in sizes])[:-1])
        smoothing = max(1.0, sigma)  # a count below the noise says nothing
        self.feature_log_prob_ = [_log_rows(table.reshape(k, -1), smoothing) for table in tables]
        self.count_error_ = sigma

    def _log_joint(self, X: Any) -> Floats:
        self._check_fitted()
        codes = codes_of(X, self.columns_)
        total = np.tile(self._log_prior(), (len(codes), 1))
        for j, table in enumerate(self.feature_log_prob_):
            total += table[:, codes[:, j]].T
        return total


def _log_rows(counts: Floats, smoothing: float) -> Floats:
    smooth = np.maximum(counts, 0.0) + smoothing
    return np.asarray(np.log(smooth / smooth.sum(axis=1, keepdims=True)))


def _histograms(codes: Integers, labels: Integers, sizes: Sequence[int], classes: int) -> ExactSums:
    """Counts of classes, then of each column's bins by class: a row adds 1 in one place of each table."""
    parts = [np.bincount(labels, minlength=classes)]
    parts += [np.bincount(labels * size + codes[:, j], minlength=classes * size) for j, size in enumerate(sizes)]
    return ExactSums(np.concatenate(parts).astype(np.int64), len(sizes) + 1)


class GaussianNB(Bayes):
    """Naive Bayes with a normal law for each column and class, on rows between public bounds.

    Guarantee: the model keeps ``budget`` for adding or removing one row.

    >>> from discreet.privacy.promises.measures import Approx
    >>> x = np.concatenate([np.full((500, 1), 2.0), np.full((500, 1), 8.0)])
    >>> model = GaussianNB(bounds=(0, 10), classes=[0, 1], budget=Approx(1, "1e-5"))
    >>> model.fit(x, [0] * 500 + [1] * 500).predict([[1.0], [9.0]]).tolist()
    [0, 1]
    """

    theta_: Floats
    var_: Floats
    sum_error_: float
    """The standard deviation of the noise of each count, and of each sum in half ranges."""

    def __init__(self, *, budget: Budget, bounds: Bounds = None, classes: Sequence[Any] | None = None) -> None:
        self.budget = budget
        self.bounds = bounds
        self.classes = classes

    def fit(self, X: Any, y: Any = None, *, receipt: Receipt | None = None) -> Self:
        """Check, pay, and learn."""
        square = mu_squared(self.budget)
        classes = read_classes(self.classes)
        rows = self._rows_to_fit(X)
        middle, half = read_bounds(self.bounds, rows.shape[1])
        rows, labels = read_labels(rows, y, classes)
        exact = moments_by_class(scaled(rows, middle, half), labels, len(classes))
        check_fits(exact.moves_squared, square)
        self._pay(receipt)
        noisy, sigma = release(exact, square)
        unit = float(1 << _BITS)
        count = np.maximum(noisy[:, 0] / unit, 1.0)
        mean, variance = mean_and_variance(noisy[:, 1:] / unit, count, sigma / unit)
        self.classes_, self.class_count_ = classes, count
        self.theta_, self.var_ = middle + half * mean, half**2 * variance
        self.sum_error_ = sigma / unit
        self._middle, self._half = middle, half
        self.n_features_in_ = rows.shape[1]
        return self

    def _log_joint(self, X: Any) -> Floats:
        rows = self._rows_to_use(X)
        rows = np.clip(rows, self._middle - self._half, self._middle + self._half)
        away = (rows[:, None, :] - self.theta_) ** 2 / self.var_
        return np.asarray(self._log_prior() - 0.5 * (np.log(self.var_) + away).sum(axis=2))


def moments_by_class(rows: Floats, labels: Integers, classes: int) -> ExactSums:
    """For each class, in cells: count, sums of x, sums of x². A row moves its own class by (1, x, x²), |x| <= 1.

    >>> moments_by_class(np.array([[0.5]]), np.array([1]), 2).values.tolist()
    [[0, 0, 0], [65536, 32768, 16384]]
    """
    values = np.hstack([np.ones((len(rows), 1)), rows, rows**2])
    cells = on_grid(values, _BITS).astype(np.int64)
    sums = np.zeros((classes, cells.shape[1]), dtype=np.int64)
    np.add.at(sums, labels, cells)
    return ExactSums(sums, (1 + 2 * rows.shape[1]) << (2 * _BITS))


def mean_and_variance(sums: Floats, count: Floats, sigma: float) -> tuple[Floats, Floats]:
    """Means within [-1, 1] and variances of sums of x and x², shrunk to (0, 1/3) where noise outweighs the count."""
    width = sums.shape[1] // 2
    prior = np.minimum(sigma, 1e12)
    weight = (count + prior)[:, None]
    mean = np.clip(sums[:, :width] / weight, -1.0, 1.0)
    second = np.clip((sums[:, width:] + prior / 3) / weight, 0.0, 1.0)
    least = np.minimum(np.maximum(prior / weight, _LEAST_VARIANCE), 1 / 3)  # none is known to be below its own noise
    return mean, np.maximum(second - mean**2, least)
