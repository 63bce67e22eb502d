"""A standard scaler and quantile bins that are paid for.

Guarantee: what is learned keeps ``budget`` for adding or removing one row. Transformed rows are still private data:
only the means, scales and edges are released. Proof: ../sums.md.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from discreet.arrays import Floats
from discreet.exact import integer
from discreet.learning.budget import Budget, mu_squared
from discreet.learning.estimator import Bounds, Estimator, read_bounds, scaled
from discreet.learning.models.naive_bayes import mean_and_variance, moments_by_class
from discreet.learning.sums import ExactSums, check_fits, release
from discreet.privacy.promises.receipt import Receipt

_CELLS = 1 << 16


class StandardScaler(Estimator):
    """Columns shifted and scaled to mean about 0 and variance about 1, from one noisy release.

    Guarantee: what is learned (not the rows that are transformed) keeps ``budget`` for adding or removing one row.

    >>> from discreet.privacy.promises.measures import Approx
    >>> model = StandardScaler(bounds=(0, 10), budget=Approx(1, "1e-5"))
    >>> bool(abs(model.fit(np.full((1000, 1), 7.0)).mean_[0] - 7) < 1)
    True
    """

    kind: ClassVar[str] = "transformer"

    mean_: Floats
    scale_: Floats
    mean_error_: Floats
    """About how far noise moves each mean (standard deviation)."""

    def __init__(self, *, budget: Budget, bounds: Bounds = None) -> None:
        self.budget = budget
        self.bounds = bounds

    def fit(self, X: Any, y: Any = None, *, receipt: Receipt | None = None) -> Self:
        """Check, pay, and learn; ``y`` is not used."""
        square = mu_squared(self.budget)
        rows = self._rows_to_fit(X)
        middle, half = read_bounds(self.bounds, rows.shape[1])
        exact = moments_by_class(scaled(rows, middle, half), np.zeros(len(rows), dtype=np.int64), 1)
        check_fits(exact.moves_squared, square)
        self._pay(receipt)
        noisy, sigma = release(exact, square)
        count = np.maximum(noisy[:, 0] / _CELLS, 1.0)
        mean, variance = mean_and_variance(noisy[:, 1:] / _CELLS, count, sigma / _CELLS)
        self.mean_, self.scale_ = middle + half * mean[0], half * np.sqrt(variance[0])
        self.mean_error_ = half * (sigma / _CELLS / float(count[0]))
        self.n_features_in_ = rows.shape[1]
        return self

    def transform(self, X: Any) -> Floats:
        """Scaled rows."""
        return np.asarray((self._rows_to_use(X) - self.mean_) / self.scale_)

    def fit_transform(self, X: Any, y: Any = None, *, receipt: Receipt | None = None) -> Floats:
        """Both at once."""
        return self.fit(X, y, receipt=receipt).transform(X)

    def inverse_transform(self, X: Any) -> Floats:
        """Back to the original columns."""
        self._check_fitted()
        return np.asarray(np.asarray(X, dtype=np.float64) * self.scale_ + self.mean_)


class QuantileBinner(Estimator):
    """Bins of about equal numbers of rows, from noisy counts of ``cells`` public cells of each column.

    Guarantee: what is learned (not the rows that are transformed) keeps ``budget`` for adding or removing one row.

    >>> from discreet.privacy.promises.measures import Approx
    >>> model = QuantileBinner(n_bins=2, bounds=(0, 100), budget=Approx(1, "1e-5"))
    >>> edge = model.fit(np.arange(10000)[:, None] % 50).edges_[0][0]
    >>> bool(20 < edge < 30)
    True
    """

    kind: ClassVar[str] = "transformer"

    edges_: list[Floats]
    count_error_: float
    """The standard deviation of the noise of each cell's count."""

    def __init__(self, *, budget: Budget, n_bins: int = 8, bounds: Bounds = None, cells: int = 128) -> None:
        self.budget = budget
        self.n_bins = n_bins
        self.bounds = bounds
        self.cells = cells

    def fit(self, X: Any, y: Any = None, *, receipt: Receipt | None = None) -> Self:
        """Check, pay, and learn; ``y`` is not used."""
        square = mu_squared(self.budget)
        bins = integer(self.n_bins, "n_bins", at_least=2)
        cells = integer(self.cells, "cells", at_least=bins)
        rows = self._rows_to_fit(X)
        middle, half = read_bounds(self.bounds, rows.shape[1])
        place = np.minimum((scaled(rows, middle, half) + 1) / 2 * cells, cells - 1).astype(np.int64)
        counts = np.stack([np.bincount(column, minlength=cells) for column in place.T])
        self._pay(receipt)
        noisy, sigma = release(ExactSums(counts.astype(np.int64), rows.shape[1]), square)
        levels = np.arange(1, bins) / bins
        ends = np.linspace(-1.0, 1.0, cells + 1)[1:]
        self.edges_ = [middle[j] + half[j] * _edges(noisy[j], levels, ends) for j in range(rows.shape[1])]
        self.count_error_ = sigma
        self.n_features_in_ = rows.shape[1]
        return self

    def transform(self, X: Any) -> Floats:
        """The bin of each value, as a number."""
        rows = self._rows_to_use(X)
        places = [np.searchsorted(edges, rows[:, j], side="left") for j, edges in enumerate(self.edges_)]
        return np.stack(places, axis=1).astype(np.float64)

    def fit_transform(self, X: Any, y: Any = None, *, receipt: Receipt | None = None) -> Floats:
        """Both at once."""
        return self.fit(X, y, receipt=receipt).transform(X)


def _edges(counts: Floats, levels: Floats, ends: Floats) -> Floats:
    """Where the noisy cumulated counts, made to rise, pass each level."""
    cumulated = np.maximum.accumulate(np.cumsum(counts))
    whole = max(float(cumulated[-1]), 1.0)
    return ends[np.minimum(np.searchsorted(cumulated, levels * whole), len(ends) - 1)]
