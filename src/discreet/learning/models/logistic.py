"""Logistic regression on dense rows, and on public bins: the classifier to start with on a table.

Both are fitted by noisy gradients in a whitened space (whitened.py), with no settings to tune.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.errors import BadParameter
from discreet.exact import Number, positive
from discreet.learning.budget import Budget, mu_squared
from discreet.learning.estimator import Bounds, Estimator, read_bounds, read_classes, read_labels, scaled
from discreet.learning.models.rows import DenseRows, OneHotRows
from discreet.learning.models.whitened import Rows, fit_whitened, probabilities
from discreet.learning.preprocessing.columns import Column, codes_of, read_columns
from discreet.privacy.promises.receipt import Receipt


class _Linear(Estimator, ABC):
    """Scores that are linear in integer rows; the probability of a class is logistic in them."""

    kind: ClassVar[str] = "classifier"
    needs_target: ClassVar[bool] = True

    classes: Sequence[Any] | None
    classes_: NDArray[Any]
    coef_: Floats
    """Weights of the integer rows, one column for two classes, else one for each class."""
    steps_: int
    n_rows_: float
    """About how many rows there were: a released number."""
    score_error_: float
    """About how far noise moves a score (standard deviation, average row): an estimate, not a bound."""

    def _learn(self, rows: Rows, labels: NDArray[np.int64], budget: Budget, receipt: Receipt | None) -> Self:
        square = mu_squared(budget)
        self._pay(receipt)
        several = len(self.classes_) > 2
        target = np.eye(len(self.classes_))[labels] if several else labels[:, None].astype(np.float64)
        fitted = fit_whitened(rows, target, square)
        self.coef_, self.steps_, self.n_rows_ = fitted.weights, fitted.steps, fitted.rows
        self.score_error_ = fitted.noise
        return self

    @abstractmethod
    def _rows(self, data: Any) -> Rows:
        """The rows as integers on the grid of the fit."""

    def decision_function(self, X: Any) -> Floats:
        """The score of the second class, or of each class."""
        self._check_fitted()
        scores = self._rows(X).scores(self.coef_)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class."""
        self._check_fitted()
        p = probabilities(self._rows(X).scores(self.coef_))
        return np.hstack([1 - p, p]) if len(self.classes_) == 2 else p

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def score(self, X: Any, y: Any) -> float:
        """The share of rows that are classified right. It looks at data: pay before you publish it."""
        return float((self.predict(X) == np.asarray(y)).mean())


class LogisticRegression(_Linear):
    """Logistic regression on rows of numbers between public bounds.

    Guarantee: the fitted model keeps ``budget`` for adding or removing one row. ``bounds`` are public; rows (scaled
    to [-1, 1], with a 1 put first) are cut to ``length``, by default half of the longest possible length.

    >>> from discreet.privacy.promises.measures import Approx
    >>> model = LogisticRegression(bounds=(0, 1), classes=[0, 1], budget=Approx(1, "1e-5"))
    >>> x = np.linspace(0, 1, 4000)[:, None]
    >>> bool(model.fit(x, (x[:, 0] > 0.5).astype(int)).predict([[0.95]])[0])
    True
    """

    def __init__(
        self, *, budget: Budget, bounds: Bounds = None, classes: Sequence[Any] | None = None,
        length: Number | None = None,
    ) -> None:  # fmt: skip
        self.budget = budget
        self.bounds = bounds
        self.classes = classes
        self.length = length

    def fit(self, X: Any, y: Any = None, *, receipt: Receipt | None = None) -> Self:
        """Check, pay, and learn."""
        mu_squared(self.budget)
        classes = read_classes(self.classes)
        values = self._rows_to_fit(X)
        middle, half = read_bounds(self.bounds, values.shape[1])
        length = default_length(values.shape[1]) if self.length is None else float(positive(self.length, "length"))
        values, labels = read_labels(values, y, classes)
        self.classes_, self._middle, self._half, self._length = classes, middle, half, length
        self._learn(DenseRows.of(scaled(values, middle, half), length), labels, self.budget, receipt)
        self.n_features_in_ = values.shape[1]
        return self

    def _rows(self, data: Any) -> Rows:
        values = scaled(self._rows_to_use(data), self._middle, self._half)
        return DenseRows.of(values, self._length)  # cut as they were to learn


class TabularClassifier(_Linear):
    """The classifier to start with: logistic regression on public bins of every column.

    Guarantee: the fitted model keeps ``budget`` for adding or removing one row. Bins follow from the declared
    ``columns`` alone, and nothing is tuned on the data.

    >>> from discreet.learning.preprocessing.columns import Categorical, Numeric
    >>> from discreet.privacy.promises.measures import Approx
    >>> model = TabularClassifier(
    ...     columns=[Numeric(0, 10), Categorical(["a", "b"])], classes=["no", "yes"], budget=Approx(1, "1e-5")
    ... )
    >>> rows = [[i % 10, "ab"[i % 2]] for i in range(4000)]
    >>> str(model.fit(rows, ["yes" if x > 4 else "no" for x, _ in rows]).predict([[9, "a"]])[0])
    'yes'
    """

    def __init__(
        self, *, budget: Budget, columns: Sequence[Column] | None = None, classes: Sequence[Any] | None = None
    ) -> None:
        self.budget = budget
        self.columns = columns
        self.classes = classes

    def fit(self, X: Any, y: Any = None, *, receipt: Receipt | None = None) -> Self:
        """Check, pay, and learn."""
        columns = read_columns(self.columns, mu_squared(self.budget))
        classes = read_classes(self.classes)
        codes = codes_of(X, columns)
        codes, labels = read_labels(codes, y, classes)
        self.classes_, self._columns = classes, columns
        self._learn(OneHotRows(codes, self._sizes), labels, self.budget, receipt)
        self.n_features_in_ = len(columns)
        return self

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(column.size for column in self._columns)

    def _rows(self, data: Any) -> Rows:
        self._check_fitted()
        return OneHotRows(codes_of(data, self._columns), self._sizes)


def default_length(features: int) -> float:
    """Half of the longest possible length of a row with a 1 put first; never below that 1.

    >>> default_length(8)
    1.5
    """
    if features < 1:
        raise BadParameter("features", features, "must be at least 1")
    return float(max(1.0, (features + 1) ** 0.5 / 2))
