"""Additive models on public bins: one shape for each column, for classes and for numbers.

The score of a row is a sum of one weight for each column, that of the bin in which its value lies. All weights are
boosted together: every round releases the sums of residuals by bin, mapped to where columns hardly overlap
(whitened.py). Weights of neighbouring bins of a numeric column are expected to be alike, as far as noise hides them.

Guarantee: the fitted model, with its shapes, keeps ``budget`` for adding or removing one row, or one unit with all of
its rows where ``fit`` is given ``unit``. Bins follow from the declared ``columns`` alone; nothing is tuned on the data.
Proof: whitened.md.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.learning.budget import Budget, mu_squared
from discreet.learning.estimator import (
    Estimator,
    check_widths,
    read_bounds,
    read_classes,
    read_labels,
    read_target,
    scaled,
)
from discreet.learning.models.logistic import LinearClassifier
from discreet.learning.models.rows import OneHotRows
from discreet.learning.models.whitened import Fitted, Rows, check_noise_fits, fit_whitened, linear
from discreet.learning.preprocessing.columns import Categorical, Column, Numeric, codes_of, read_columns
from discreet.learning.unit_weights import Weights, unit_weights
from discreet.picture import new_figure
from discreet.privacy.promises.receipt import Receipt


class _Additive(Estimator, ABC):
    """What both models share: rows of bins, and the shapes."""

    shapes_: list[Floats]
    """For each column the effect of each of its bins, 0 on average: (bins,), or (bins, classes) of several classes."""
    intercept_: Any
    """The average score: a number, or one for each of several classes."""
    columns_: tuple[Column, ...]
    """With as many bins as the budget chose."""

    def _one_hot(self, codes: Integers, weights: Weights | None = None) -> OneHotRows:
        sizes = tuple(column.size for column in self.columns_)
        ordered = tuple(column.ordered if isinstance(column, Numeric) else 0 for column in self.columns_)
        return OneHotRows(codes, sizes, weights, ordered)

    def _rows(self, data: Any) -> Rows:
        self._check_fitted()
        return self._one_hot(codes_of(data, self.columns_))

    def _describe(self, fitted: Fitted, scale: float = 1.0) -> None:
        """Each shape less its average over the rows, by the released numbers of rows in bins."""
        ends = np.cumsum([column.size for column in self.columns_])[:-1]
        weights = scale * (fitted.weights[:, 0] if fitted.weights.shape[1] == 1 else fitted.weights)
        parts, counts = np.split(weights, ends), np.split(np.maximum(fitted.counts, 1e-9), ends)
        means = [np.average(part, axis=0, weights=count) for part, count in zip(parts, counts, strict=True)]
        self.shapes_ = [part - mean for part, mean in zip(parts, means, strict=True)]
        self.intercept_ = sum(means)
        self.n_features_in_ = len(self.columns_)

    def plot(self, names: Sequence[str] | None = None) -> Any:
        """The shapes, as a Figure of matplotlib: one picture for each column."""
        self._check_fitted()
        across = min(4, len(self.shapes_))
        down = -(-len(self.shapes_) // across)
        figure = new_figure(3 * across, 2.2 * down)
        pictures = figure.subplots(down, across, squeeze=False).ravel()
        for j, (ax, column, shape) in enumerate(zip(pictures, self.columns_, self.shapes_, strict=False)):
            ax.step(range(len(shape)), shape, where="mid")
            ax.set(title=names[j] if names else f"column {j}", xlabel=_axis(column))
        for ax in pictures[len(self.shapes_) :]:
            ax.set_axis_off()
        return figure


def _axis(column: Column) -> str:
    if isinstance(column, Categorical):
        return "category"
    return "bin" if column.edges is not None else f"bin, {column.low} to {column.high}"


class TabularClassifier(_Additive, LinearClassifier):
    """The classifier to start with: logistic regression on public bins of every column, as shapes.

    Guarantee: the fitted model keeps ``budget`` for adding or removing one row; with ``fit(X, y, unit=...)`` for adding
    or removing one unit, whose rows share a weight of 1.

    >>> from discreet.learning.preprocessing.columns import Categorical, Numeric
    >>> from discreet.privacy.promises.measures import Approx
    >>> model = TabularClassifier(
    ...     columns=[Numeric(0, 10), Categorical(["a", "b"])], classes=["no", "yes"], budget=Approx(1, "1e-5")
    ... )
    >>> rows = [[i % 10, "ab"[i % 2]] for i in range(4000)]
    >>> str(model.fit(rows, ["yes" if x > 4 else "no" for x, _ in rows]).predict([[9, "a"]])[0])
    'yes'
    >>> bool(model.shapes_[0][0] < model.shapes_[0][-1])
    True
    """

    def __init__(
        self, *, budget: Budget, columns: Sequence[Column] | None = None, classes: Sequence[Any] | None = None
    ) -> None:
        self.budget = budget
        self.columns = columns
        self.classes = classes

    def fit(self, X: Any, y: Any = None, *, unit: Any = None, receipt: Receipt | None = None) -> Self:
        """Check, pay, and learn. ``unit`` names the person of each row; without it each row is a person."""
        columns = read_columns(self.columns, mu_squared(self.budget))
        classes = read_classes(self.classes)
        codes = codes_of(X, columns)
        weights = unit_weights(unit, len(codes))
        kept, labels = read_labels(np.arange(len(codes)), y, classes)
        self.classes_, self.columns_ = classes, columns
        self._describe(self._learn(self._one_hot(codes[kept], weights.of(kept)), labels, receipt))
        return self


class TabularRegressor(_Additive):
    """The regressor to start with: a number as a sum of shapes, on public bins of every column.

    Guarantee: as for ``TabularClassifier``. Targets outside of ``target_bounds`` are moved to their ends; rows whose
    target is no number are left out.

    >>> from discreet.learning.preprocessing.columns import Numeric
    >>> from discreet.privacy.promises.measures import Approx
    >>> model = TabularRegressor(columns=[Numeric(-1, 1)], target_bounds=(0, 1), budget=Approx(1, "1e-5"))
    >>> x = np.linspace(-1, 1, 5000)[:, None]
    >>> bool(abs(model.fit(x, x[:, 0] ** 2).predict([[0.9]])[0] - 0.8) < 0.2)
    True
    """

    kind: ClassVar[str] = "regressor"
    needs_target: ClassVar[bool] = True

    n_rows_: float
    """About how many rows there were: a released number."""
    score_error_: float
    """About how far noise moves a prediction (standard deviation, average row): an estimate, not a bound."""

    def __init__(self, *, budget: Budget, columns: Sequence[Column] | None = None, target_bounds: Any = None) -> None:
        self.budget = budget
        self.columns = columns
        self.target_bounds = target_bounds

    def fit(self, X: Any, y: Any = None, *, unit: Any = None, receipt: Receipt | None = None) -> Self:
        """Check, pay, and learn. ``unit`` names the person of each row; without it each row is a person."""
        square = mu_squared(self.budget)
        columns = read_columns(self.columns, square)
        middle, half = read_bounds(self.target_bounds, 1, "target_bounds")
        check_widths(half, "target_bounds")
        codes = codes_of(X, columns)
        given, weights = read_target(y, len(codes)), unit_weights(unit, len(codes))
        counted = Weights(np.where(np.isnan(given), 0.0, weights.values), weights.scale)
        self.columns_, self._middle, self._half = columns, float(middle[0]), float(half[0])
        rows = self._one_hot(codes, counted)
        check_noise_fits(rows, square)
        self._pay(receipt)
        fitted = fit_whitened(rows, scaled(given, middle, half)[:, None], square, descent_of=linear)
        self._weights = fitted.weights
        self._describe(fitted, self._half)
        self.intercept_ += self._middle
        self.n_rows_, self.score_error_ = fitted.rows, fitted.noise * self._half
        return self

    def predict(self, X: Any) -> Floats:
        """Predictions within the declared range."""
        scores = self._rows(X).scores(self._weights)[:, 0]
        return np.asarray(self._middle + self._half * np.clip(scores, -1.0, 1.0))

    def score(self, X: Any, y: Any) -> float:
        """R² on these rows. It looks at data: pay before you publish it."""
        target = np.asarray(y, dtype=np.float64)
        return float(1 - ((target - self.predict(X)) ** 2).sum() / ((target - target.mean()) ** 2).sum())
