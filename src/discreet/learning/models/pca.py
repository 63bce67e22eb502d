"""Principal components from one noisy matrix of second moments.

Guarantee: the components keep ``budget`` for adding or removing one row. Rows, scaled by public bounds, are cut to a
public length, so the sum of (1, x)(1, x)ᵀ moves by at most its square. (Dwork, Talwar, Thakurta and Zhang 2014,
"Analyze Gauss".) Proof: ../sums.md.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from discreet.arrays import Floats
from discreet.errors import BadParameter
from discreet.exact import Number, integer, positive
from discreet.learning.budget import Budget, mu_squared
from discreet.learning.estimator import Bounds, Estimator, read_bounds, scaled
from discreet.learning.models.rows import DENSE_BITS, DenseRows
from discreet.learning.sums import check_fits, release, symmetric
from discreet.privacy.promises.receipt import Receipt


class PCA(Estimator):
    """The ``n_components`` directions of largest variance of rows between public bounds; also mean and covariance.

    Guarantee: the model keeps ``budget`` for adding or removing one row.

    ``length``: rows, scaled to [-1, 1] with a 1 put first, are cut to this L2 length; by default the longest possible.

    >>> from discreet.privacy.promises.measures import Approx
    >>> x = np.linspace(-1, 1, 3000)[:, None] * np.array([[1.0, 0.5]])
    >>> model = PCA(n_components=1, bounds=(-1, 1), budget=Approx(1, "1e-5")).fit(x)
    >>> model.transform(x).shape, bool(abs(model.components_[0, 0]) > 0.8)
    ((3000, 1), True)
    """

    kind: ClassVar[str] = "transformer"

    components_: Floats
    mean_: Floats
    covariance_: Floats
    """Noisy; it need not be positive definite."""
    explained_variance_: Floats
    entry_error_: float
    """The standard deviation of the noise in each entry of the covariance, in squared half ranges."""

    def __init__(
        self, *, budget: Budget, n_components: int | None = None, bounds: Bounds = None, length: Number | None = None
    ) -> None:
        self.budget = budget
        self.n_components = n_components
        self.bounds = bounds
        self.length = length

    def fit(self, X: Any, y: Any = None, *, receipt: Receipt | None = None) -> Self:
        """Check, pay, and learn; ``y`` is not used."""
        square = mu_squared(self.budget)
        values = self._rows_to_fit(X)
        columns = values.shape[1]
        middle, half = read_bounds(self.bounds, columns)
        wanted = columns if self.n_components is None else integer(self.n_components, "n_components", at_least=1)
        if wanted > columns:
            raise BadParameter("n_components", wanted, f"must be at most the number of columns, {columns}")
        length = (columns + 1) ** 0.5 + 1e-6 if self.length is None else float(positive(self.length, "length"))
        rows = DenseRows.of(scaled(values, middle, half), length)
        exact = rows.moments()
        check_fits(exact.moves_squared, square)
        self._pay(receipt)
        noisy, sigma = release(exact, square)
        unit = float(1 << 2 * DENSE_BITS)
        table = symmetric(noisy, columns + 1) / unit
        count = max(float(table[0, 0]), 1.0)
        mean = np.clip(table[0, 1:] / count, -1, 1)
        covariance = table[1:, 1:] / count - np.outer(mean, mean)
        widths, vectors = np.linalg.eigh(covariance * np.outer(half, half))
        order = np.argsort(widths)[::-1][:wanted]
        self.components_ = vectors[:, order].T
        self.explained_variance_ = np.maximum(widths[order], 0.0)
        self.mean_, self.covariance_ = middle + half * mean, covariance * np.outer(half, half)
        self.entry_error_ = sigma / unit / count
        self.n_features_in_ = columns
        return self

    def transform(self, X: Any) -> Floats:
        """Rows in the space of the components."""
        return np.asarray((self._rows_to_use(X) - self.mean_) @ self.components_.T)

    def fit_transform(self, X: Any, y: Any = None, *, receipt: Receipt | None = None) -> Floats:
        """Both at once."""
        return self.fit(X, y, receipt=receipt).transform(X)

    def inverse_transform(self, X: Any) -> Floats:
        """Back to the original columns."""
        self._check_fitted()
        return np.asarray(np.asarray(X, dtype=np.float64) @ self.components_ + self.mean_)
