"""k-means by noisy sums: a fixed number of Lloyd's rounds, each a count and a sum for every cluster.

Guarantee: the centres keep ``budget`` for adding or removing one row. In each round a row adds to one cluster alone.
The first centres are drawn around the noisy mean by public coins. Proof: ../sums.md.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.exact import integer
from discreet.learning.budget import Budget, mu_squared, split
from discreet.learning.estimator import Bounds, Estimator, read_bounds, scaled
from discreet.learning.models.naive_bayes import mean_and_variance, moments_by_class
from discreet.learning.sums import ExactSums, check_fits, few_bits, on_grid, release
from discreet.noise import discrete_gaussian
from discreet.privacy.promises.receipt import Receipt

_BITS = 16
_CELLS = 1 << 16
_START_SHARE = 1


class KMeans(Estimator):
    """Centres of ``n_clusters`` clusters of rows between public bounds, after ``rounds`` rounds.

    Guarantee: the model keeps ``budget`` for adding or removing one row.

    >>> from discreet.privacy.promises.measures import Approx
    >>> x = np.repeat([[1.0], [9.0]], 500, axis=0)
    >>> model = KMeans(n_clusters=2, bounds=(0, 10), budget=Approx(2, "1e-5")).fit(x)
    >>> model.cluster_centers_.shape
    (2, 1)
    """

    kind: ClassVar[str] = "clusterer"

    cluster_centers_: Floats
    cluster_sizes_: Floats
    """Noisy number of rows of each cluster."""
    size_error_: float
    """The standard deviation of the noise of each size."""

    def __init__(self, *, budget: Budget, n_clusters: int = 8, bounds: Bounds = None, rounds: int = 5) -> None:
        self.budget = budget
        self.n_clusters = n_clusters
        self.bounds = bounds
        self.rounds = rounds

    def fit(self, X: Any, y: Any = None, *, receipt: Receipt | None = None) -> Self:
        """Check, pay, and learn; ``y`` is not used."""
        square = mu_squared(self.budget)
        clusters = integer(self.n_clusters, "n_clusters", at_least=1)
        rounds = integer(self.rounds, "rounds", at_least=1)
        rows = self._rows_to_fit(X)
        middle, half = read_bounds(self.bounds, rows.shape[1])
        values = scaled(rows, middle, half)
        for_start, for_rounds = split(square, _START_SHARE, rounds)
        exact = moments_by_class(values, np.zeros(len(values), dtype=np.int64), 1)
        check_fits(exact.moves_squared, min(for_start, for_rounds / rounds))  # those of a round move less
        self._pay(receipt)
        noisy, sigma = release(exact, for_start)
        count = np.maximum(noisy[:, 0] / _CELLS, 1.0)
        mean, variance = mean_and_variance(noisy[:, 1:] / _CELLS, count, sigma / _CELLS)
        spread = np.sqrt(variance[0])
        centres = np.clip(mean[0] + spread * _public_normals(clusters, len(spread)), -1, 1)
        for _ in range(rounds):
            sums = _round(values, _nearest(values, centres), clusters)
            noisy, sigma = release(sums, for_rounds / rounds)
            centres, sizes = _moved(noisy / _CELLS, sigma / _CELLS, mean[0], spread)
        self.cluster_centers_ = middle + half * centres
        self.cluster_sizes_, self.size_error_ = sizes, sigma / _CELLS
        self._middle, self._half, self._centres = middle, half, centres
        self.n_features_in_ = rows.shape[1]
        return self

    def predict(self, X: Any) -> Integers:
        """The nearest centre of each row."""
        return _nearest(scaled(self._rows_to_use(X), self._middle, self._half), self._centres)


def _public_normals(clusters: int, width: int) -> Floats:
    """Directions for the first centres: they depend on no data."""
    return np.asarray(discrete_gaussian(1 << 20, size=(clusters, width)) / float(1 << 20))


def _nearest(rows: Floats, centres: Floats) -> Integers:
    """On grids so coarse that the products are exact: no row's cluster depends on how many others there are."""
    centres = few_bits(centres.T, _BITS).T
    far = -2 * (on_grid(rows, _BITS) @ centres.T) / _CELLS + (centres**2).sum(axis=1)
    return np.asarray(far.argmin(axis=1), dtype=np.int64)


def _round(rows: Floats, labels: Integers, clusters: int) -> ExactSums:
    """(1, x) summed by cluster, in cells: a row is at most sqrt(1 + width) long."""
    cells = on_grid(np.hstack([np.ones((len(rows), 1)), rows]), _BITS).astype(np.int64)
    sums = np.zeros((clusters, cells.shape[1]), dtype=np.int64)
    np.add.at(sums, labels, cells)
    return ExactSums(sums, cells.shape[1] << (2 * _BITS))


def _moved(sums: Floats, sigma: float, mean: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Centres from noisy sums; a cluster whose size is lost in the noise starts again around the common mean."""
    sizes = np.maximum(sums[:, 0], 0.0)
    weight = np.maximum(sizes, 1.0)[:, None]
    trust = np.maximum(0.0, 1 - (sigma / weight) ** 2)  # shrink towards the mean what noise dominates
    centres = mean + trust * (sums[:, 1:] / weight - mean)
    lost = sizes < 2 * sigma
    centres[lost] = mean + spread * _public_normals(int(lost.sum()), len(mean)) if lost.any() else centres[lost]
    return np.clip(centres, -1, 1), sizes
