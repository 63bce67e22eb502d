"""Linear regression from one noisy matrix of second moments: unbiased where that can be, else with a ridge.

Guarantee: the fitted model keeps ``budget`` for adding or removing one row, or one unit with all of its rows: it is a
function of one Gaussian release of sums of products. Where the columns stand out from the noise, its slopes are those
of least squares, debiased, with intervals (inference/least_squares.py). Where they do not, nothing is said of them;
slopes and mean then shrink to 0 and to the middle of the declared range, so that predictions are never far below the
mean predictor. Proof: ../sums.md.
(Vu and Slavković 2009; Wang 2018, AdaSSP; James and Stein 1961 for the shrinking.)
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar, Self

import numpy as np

from discreet.arrays import Floats
from discreet.errors import BadParameter
from discreet.exact import Number, number, positive
from discreet.learning.budget import Budget, mu_squared
from discreet.learning.estimator import Bounds, Estimator, read_bounds, read_target, scaled
from discreet.learning.inference.coefficients import Coefficients
from discreet.learning.inference.least_squares import Solved, Units, coefficients, solve
from discreet.learning.inference.noise_law import Noise
from discreet.learning.sums import ExactSums, check_fits, clipped_rows, exact_product, release, symmetric, upper
from discreet.learning.unit_weights import WEIGHT_BITS, Weights, unit_weights
from discreet.privacy.promises.receipt import Receipt

_BITS = 12
_SIDE = 0.6  # how the constant and the target are weighed against a row of full length
_LONGER = 1 + 2.0**-9  # than the longest row, so that rounding to the grid makes none too long
_RIDGE = 2.0
_LEVEL = 0.95
_HEAVIER = 1.3  # noise of sums that were released elsewhere may be Laplace: squares of it have longer tails


@dataclass(frozen=True, slots=True)
class _Spread:
    """How far targets lie from predictions, and how far noise moves those; all in half ranges."""

    variance: float
    """Of targets around the released line, bias included: not below the truth but for noise beyond two deviations."""
    sigma: float
    """Of the noise of each moment, times the length of the line's weights."""
    slopes: Floats
    inverse: Floats
    mean: Floats
    sums: tuple[float, float]
    """The number of rows, and the constant's side."""

    def variances(self, rows: Floats) -> Floats:
        """Of a new target around its prediction, for each row: its own, noise, and the chance choice of the rows."""
        count, side = self.sums
        away = rows - self.mean
        moved = away @ self.inverse
        noise = (moved**2).sum(axis=1) + (moved @ self.slopes) ** 2 + 1 / (side * count) ** 2
        chance = self.variance * (1 / count + (away * moved).sum(axis=1))
        return np.asarray(self.variance + self.sigma**2 * noise + chance)


class LinearRegression(Estimator):
    """Linear regression on rows and targets between public bounds.

    Guarantee: the fitted model, with all its notes and intervals, keeps ``budget`` for adding or removing one row; with
    ``fit(X, y, unit=...)`` for adding or removing one unit, whose rows share a weight of 1.

    ``intervals()`` are 95 % confidence intervals of intercept and slopes, for the population: they count sampling and
    noise. ``summary()`` prints the table, ``table_`` holds it.

    ``length``: rows, scaled to [-1, 1], are cut to this L2 length. By default no row is cut, so that nothing but noise
    stands between the slopes and those of least squares. A smaller one means less noise, and other slopes wherever
    rows are longer: take it where columns rarely come near their bounds.

    >>> from discreet.privacy.promises.measures import Approx
    >>> x = np.linspace(-1, 1, 5000)[:, None]
    >>> model = LinearRegression(bounds=(-1, 1), target_bounds=(-3, 3), budget=Approx(1, "1e-5"), length=1)
    >>> bool(abs(model.fit(x, 2 * x[:, 0] + 1).predict([[0.5]])[0] - 2) < 0.2)
    True
    """

    kind: ClassVar[str] = "regressor"
    needs_target: ClassVar[bool] = True

    coef_: Floats
    released_: tuple[Any, ...]
    """The answers that a model from a table was made of."""
    made_of_: tuple[Floats, float]
    """The numbers that ``fit_released`` was given."""
    intercept_: float
    n_rows_: float
    """About how many rows there were: a released number."""
    residual_std_: float
    """About how far targets lie from predictions, from the released moments alone."""
    coef_error_: Floats
    """With probability 95 % all slopes of least squares on the rows (on a grid of 2^-12 of a half range, cut to bounds
    and length) lie within these of ``coef_``: noise and the shrinking together; inf where noise leaves them open.
    Which rows happened to be there is not in it."""

    def __init__(
        self, *, budget: Budget, bounds: Bounds = None, target_bounds: Any = None, length: Number | None = None
    ) -> None:
        self.budget = budget
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.length = length

    def fit(self, X: Any, y: Any = None, *, unit: Any = None, receipt: Receipt | None = None) -> Self:
        """Check, pay, and learn. ``unit`` names the person of each row; without it each row is a person."""
        square = mu_squared(self.budget)
        rows = self._rows_to_fit(X)
        weights = unit_weights(unit, len(rows))
        middle, half = read_bounds(self.bounds, rows.shape[1])
        y_middle, y_half = read_bounds(self.target_bounds, 1, "target_bounds")
        target = scaled(read_target(y, len(rows)), y_middle[0], y_half[0])
        columns = rows.shape[1]
        length = columns**0.5 * _LONGER if self.length is None else float(positive(self.length, "length"))
        exact, cells, side = _moments(scaled(rows, middle, half), target, weights, length)
        check_fits(exact.moves_squared, square)
        self._pay(receipt)
        noisy, sigma = release(exact, square)
        matrix, sigma = symmetric(noisy, columns + 2) / cells, sigma / cells
        self._length = length
        sides = np.array([side, *np.ones(columns), side])
        each = np.outer(sides, sides)[upper(columns + 2)]
        noise = Noise(sigma / each)
        solved = solve(matrix[upper(columns + 2)] / each, noise, columns + 2)
        ranges = (middle, half, float(y_middle[0]), float(y_half[0]))
        self._solve(matrix, sigma, (side, side), ranges, 1.0, solved)
        names = tuple(f"x{i}" for i in range(1, columns + 1))
        self.table_ = coefficients(solved, noise, Units(*ranges), terms=names, kind="Linear regression")
        return self

    def intervals(self, confidence: Number = "0.95", *, of: str = "population") -> Floats:
        """An array (terms, 2), intercept first: for the population (sampling and noise), or ``of="table"`` (noise).

        Infinite where noise leaves a coefficient open, and for models of released sums: ``session.regress`` has them.

        >>> from discreet.privacy.promises.measures import Approx
        >>> x = np.linspace(-1, 1, 5000)[:, None]
        >>> model = LinearRegression(bounds=(-1, 1), target_bounds=(-3, 3), budget=Approx(1, "1e-5"))
        >>> low, high = model.fit(x, 2 * x[:, 0] + 1).intervals("0.999999")[1]
        >>> bool(low < 2 < high < low + 1)
        True
        """
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

    def summary(self, confidence: Number = "0.95") -> str:
        """The table as text."""
        self._check_fitted()
        return self.table_.summary(confidence)

    def fit_released(self, moments: Floats, sigma: float) -> Self:
        """From sums of products of (1, x, y) that were released elsewhere, with noise of about ``sigma`` in each.

        Each column is mapped to [-1, 1] by its bounds. Nothing is paid here: this only computes with released numbers.
        """
        self.made_of_ = (moments, sigma)
        middle, half = read_bounds(self.bounds, len(moments) - 2)
        y_middle, y_half = read_bounds(self.target_bounds, 1, "target_bounds")
        self._length = float("inf")
        ranges = (middle, half, float(y_middle[0]), float(y_half[0]))
        self._solve(moments, sigma, (1.0, 1.0), ranges, _HEAVIER, None)
        self.table_ = _without_intervals(self.intercept_, self.coef_, self.n_rows_)
        return self

    def _solve(  # noqa: PLR0917 - one caller's state
        self,
        matrix: Floats,
        sigma: float,
        sides: tuple[float, float],
        ranges: tuple[Floats, Floats, float, float],
        heavier: float,
        solved: Solved | None,
    ) -> None:
        """From the noisy second moments of (a, x, b y) to slopes; post-processing."""
        a, b = sides
        middle, half, y_middle, y_half = ranges
        count = max(float(matrix[0, 0]), 2 * sigma) / a**2  # never so small that noise is divided by almost nothing
        mean_x = _shrunk(matrix[0, 1:-1] / a / count, sigma / a / count)
        mean_y = float(_shrunk(matrix[0, -1:] / a / b / count, sigma / a / b / count)[0])
        mean_y = float(np.clip(mean_y, -1, 1))
        spread = matrix[1:-1, 1:-1] - count * np.outer(mean_x, mean_x)
        with_y = matrix[1:-1, -1] / b - count * mean_x * mean_y
        widths, vectors = np.linalg.eigh(spread)
        widths = np.maximum(widths, 0.0) + max(_RIDGE * sigma * len(matrix) ** 0.5, 1e-9)
        inverse = (vectors / widths) @ vectors.T
        slopes = inverse @ _shrunk(with_y, sigma / b)
        explained = float(slopes @ with_y)
        variance = max(float(matrix[-1, -1]) / b**2 - count * mean_y**2 - explained, 0.0) / count
        constant = mean_y - float(mean_x @ slopes)
        if solved is not None and solved.is_known:  # nothing shrinks
            mean_x = matrix[0, 1:-1] / a / count
            inverse = np.linalg.inv(matrix[1:-1, 1:-1] - count * np.outer(mean_x, mean_x))
            constant, slopes, variance = float(solved.estimates[0]), solved.estimates[1:], solved.residual_variance
        line = np.array([-constant / a, *-slopes, 1 / b])
        self._spread = _spread(matrix, sigma, line, inverse=inverse, mean=mean_x, sums=(count, a))
        self.coef_ = slopes * y_half / half
        self.intercept_ = y_middle + y_half * constant - float(self.coef_ @ middle)
        self.coef_error_ = _slope_errors(matrix, sigma, slopes * b, heavier) / b * y_half / half
        self.residual_std_ = float(variance**0.5 * y_half)
        self.n_rows_ = count
        self._middle, self._half, self._range = middle, half, (y_middle - y_half, y_middle + y_half)
        self.n_features_in_ = len(half)

    def predict(self, X: Any) -> Floats:
        """Predictions within the declared range; rows are cut to bounds and length as they were to learn."""
        return np.asarray(np.clip(self._line(self._cut(X)), *self._range))

    def predict_interval(self, X: Any, confidence: Number = "0.95") -> tuple[Floats, Floats]:
        """Lower and upper ends between which the target of a new row lies, about so often.

        From released numbers alone, so it costs nothing. It counts the spread of targets around the line, the noise and
        the chance choice of rows, each from above, and so is rather too wide than too narrow. It assumes that new rows
        come from where the old ones came from, that targets spread around the line about normally and everywhere alike,
        and that the declared bounds cut few of them; it is right on average over rows and fits, not for each row.

        >>> from discreet.privacy.promises.measures import Approx
        >>> x = np.linspace(-1, 1, 5000)[:, None]
        >>> model = LinearRegression(bounds=(-1, 1), target_bounds=(-3, 3), budget=Approx(1, "1e-5"), length=1)
        >>> low, high = model.fit(x, 2 * x[:, 0] + 1).predict_interval([[0.5]])
        >>> bool(low[0] < 2 < high[0] < low[0] + 3)
        True
        """
        level = number(confidence, "confidence")
        if not 0 < level < 1:
            raise BadParameter("confidence", confidence, "must lie between 0 and 1")
        rows = self._cut(X)
        away = NormalDist().inv_cdf(float((1 + level) / 2)) * np.sqrt(self._spread.variances(rows))
        line, away = self._line(rows), away * (self._range[1] - self._range[0]) / 2
        return np.clip(line - away, *self._range), np.clip(line + away, *self._range)

    def _line(self, cut: Floats) -> Floats:
        return np.asarray((self._middle + self._half * cut) @ self.coef_ + self.intercept_)

    def _cut(self, X: Any) -> Floats:
        """Rows between -1 and 1, of at most the length."""
        rows = scaled(self._rows_to_use(X), self._middle, self._half)
        longest = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        return np.asarray(rows * np.minimum(1.0, self._length / np.maximum(longest, 1e-300)))

    def score(self, X: Any, y: Any) -> float:
        """R² on these rows. It looks at data: pay before you publish it."""
        target = np.asarray(y, dtype=np.float64)
        return float(1 - ((target - self.predict(X)) ** 2).sum() / ((target - target.mean()) ** 2).sum())


def _shrunk(values: Floats, sigma: float) -> Floats:
    """James and Stein's shrinking towards 0, by what noise of this size rarely adds to the squared length."""
    length = float(values @ values)
    noise = (len(values) + 2 * (2 * len(values)) ** 0.5) * sigma**2  # mean and two deviations of chi-square
    return values * max(0.0, 1 - noise / length) if length > 0 else values


def _slope_errors(matrix: Floats, sigma: float, slopes: Floats, heavier: float) -> Floats:
    """How far the slopes of (a, x) that least squares has for b y may lie from others, with probability 95 % at once.

    With the exact moments G and g, the weights t of least squares have g - G t = 0. So with noise e and E in them,
    g - G t = e - E t, whose covariance is at most σ² (1 + 2|t|²) times the identity, as E is symmetric: its squared
    length is at most q σ² (1 + 2|t|²), q a quantile of chi-square. The t for which that is so are an ellipsoid around
    c = t₀ + 2qσ² Q⁻¹ t₀, t₀ = G⁻¹g and Q = G² - 2qσ², where Q is positive; its half axes follow (Fieller 1954).
    """
    from scipy.stats import chi2

    gram, product = matrix[:-1, :-1], matrix[:-1, -1]
    noise = heavier * float(chi2.ppf(_LEVEL, len(gram))) * sigma**2
    form = gram @ gram - 2 * noise * np.eye(len(gram))
    if np.linalg.eigvalsh(form)[0] <= 1e-12 * np.linalg.norm(form):
        return np.full(len(slopes), np.inf)
    plain, inverse = np.linalg.solve(gram, product), np.linalg.inv(form)
    centre = plain + 2 * noise * inverse @ plain
    reach = np.sqrt(noise * (1 + 2 * plain @ centre) * np.diag(inverse))
    return np.asarray(np.abs(centre[1:] - slopes) + reach[1:])


def _spread(
    matrix: Floats, sigma: float, line: Floats, *, inverse: Floats, mean: Floats, sums: tuple[float, float]
) -> _Spread:
    """From the noisy moments at the weights ``line`` of (a, x, b y) whose combination is the distance from the line.

    lineᵀ matrix line is the sum of squared distances. Its noise has a deviation of at most √2 σ |line|²; and since the
    line was chosen on the same noisy moments, it is too small by about 2 σ² |line|² (tr inverse + 1/(a² rows)).
    """
    count, side = sums
    weight = sigma * float(np.linalg.norm(line))
    seen = max(float(line @ matrix @ line), 0.0)
    chosen = 2 * weight**2 * (float(np.trace(inverse)) + 1 / (side**2 * count))
    doubt = 2 * 2**0.5 * sigma * float(line @ line)
    return _Spread((seen + chosen + doubt) / count, weight, -line[1:-1] / np.linalg.norm(line), inverse, mean, sums)


def _without_intervals(intercept: float, slopes: Floats, rows: float) -> Coefficients:
    """A model that was made to predict: its coefficients may be shrunk, and nothing is said of how far."""
    size = len(slopes) + 1
    return Coefficients(
        terms=("Intercept", *(f"x{i}" for i in range(1, size))), estimates=np.array([intercept, *slopes]),
        variances=np.full(size, np.inf), noise_variances=np.full(size, np.inf), excess=np.zeros(size), rows=rows,
        kind="Linear regression", notes=("Made to predict: session.regress gives coefficients with intervals.",),
    )  # fmt: skip


def _moments(rows: Floats, target: Floats, weights: Weights, length: float) -> tuple[ExactSums, float, float]:
    """Weighted sums of products of (side, x, side y) in cells; how many cells are 1 (squared); and that side."""
    wanted = _SIDE * length
    grid = int((1 << _BITS) / max(1.0, wanted))  # no entry of a row is larger
    radius = max(int(length * grid), 1)
    ends = int(wanted * grid)
    if not 0 < ends <= 1 << _BITS:
        raise BadParameter("length", length, "must be above 0.001 and below 1000: rows are scaled to [-1, 1]")
    x = clipped_rows(np.rint(rows * grid) + 0.0, radius)
    whole = np.hstack([np.full((len(x), 1), float(ends)), x, np.rint(target * ends)[:, None] + 0.0])
    weighted = whole * weights.values[:, None]
    table = exact_product(weighted, whole, left_bits=_BITS + 1 + WEIGHT_BITS, right_bits=_BITS + 1)
    # of one row the upper triangle has the squared length (|v|⁴ + Σ v_i⁴) / 2
    fourth = 2 * ends**4 + min(radius, grid) ** 2 * radius**2
    moves = ((2 * ends**2 + radius**2) ** 2 + fourth + 1) // 2
    exact = ExactSums(table[upper(whole.shape[1])], moves * weights.scale**2)
    return exact, float(grid) ** 2 * weights.scale, ends / grid
