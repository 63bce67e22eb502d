"""Count, sum, mean, variance, standard deviation, covariance, correlation: from noisy sums of centred whole numbers.

Guarantee: each record, by itself, becomes a few whole numbers in public ranges (on a public grid, counted from the
middle of the public bounds); only their exact sums get noise, each sum a part of the budget. A record added or removed
moves a sum by at most max(|low|, |high|) of its range, a changed one by at most high - low. The estimate and its error
bar are made from the noisy sums alone. Proof: moments.md.

NaN counts as the middle of the bounds; records outside the bounds count as the nearer bound. Variance and covariance
divide by n. Where there are no records, the mean is the middle of the bounds, and variances are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answer import Accuracy
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, float_down, float_up, number, sqrt_down
from discreet.mechanisms.budget import Budget, Moves, Noise, noise_for, part, read_budget, read_neighbours
from discreet.mechanisms.cells import count_records
from discreet.mechanisms.estimate import Estimate
from discreet.mechanisms.noised import Noised
from discreet.mechanisms.span import Span
from discreet.mechanisms.tails import Within, error_of
from discreet.noise.grid import FINENESS, Grid, public_grid
from discreet.privacy.events import Composed, Event
from discreet.privacy.measures import Pure
from discreet.privacy.neighbours import Neighbours
from discreet.randomness import Bits

Integers = NDArray[np.int64]
LEVELS = 24  # records are at most 2^24 cells from the middle, so that products of two fit into 48 bits
_WIDEST = 1 << 62
_LARGEST = Fraction(2) ** 1023
Bounds = tuple[Number, Number]


@dataclass(frozen=True, slots=True)
class Term:
    """What one record adds to a sum: the product of its cells in some columns, less a public offset.

    It is a whole number between two public bounds, whatever the record holds.
    """

    name: str
    low: int
    high: int
    factors: tuple[int, ...] = ()
    offset: int = 0

    def moves(self, neighbours: Neighbours) -> Moves:
        """How far the sum moves; at least one, so that there is always noise."""
        largest = max(abs(self.low), abs(self.high))
        moved = max(1, largest if neighbours is Neighbours.ADD_REMOVE else self.high - self.low)
        return Moves(l1=moved, l2_squared=moved**2)

    def sum_of(self, cells: Sequence[Integers]) -> int:
        """The exact sum over all records."""
        product = np.ones(len(cells[0]), dtype=np.int64)
        for factor in self.factors:
            product = product * cells[factor]
        return exact_sum(product - self.offset, max(abs(self.low), abs(self.high)))


COUNT = Term("count", 1, 1)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of records on its public grid."""

    grid: Grid
    low: Fraction
    high: Fraction

    @property
    def cell(self) -> Fraction:
        """The width of a cell."""
        return Fraction(2) ** self.grid.exponent

    @property
    def rounding(self) -> Fraction:
        """How far a record within the bounds, as a float, may lie from its cell: see noise/grid.md."""
        return 2 * self.cell + self.width / (1 << 52)

    @property
    def width(self) -> Fraction:
        """The width of the public range."""
        return self.high - self.low


def column(low: Number, high: Number) -> Column:
    """A public grid of about 2^25 cells from low to high, counted from the middle."""
    bottom, top = number(low, "low"), number(high, "high")
    if bottom > top:
        raise BadParameter("low", low, f"must be at most high, which is {high}")
    try:
        centre = Fraction(float((bottom + top) / 2))
    except OverflowError:
        raise BadParameter("high", high, "must be below 2^900 in size") from None
    reach = max(abs(bottom - centre), abs(top - centre)) or max(abs(centre), Fraction(1))  # one value needs one cell
    return Column(public_grid(bottom, top, scale=reach * (1 << (FINENESS - LEVELS)), centre=centre), bottom, top)


def exact_sum(values: Integers, largest: int) -> int:
    """The sum as a Python integer, of numbers at most ``largest`` in size.

    >>> exact_sum(np.array([2**61] * 5), 2**61) == 5 * 2**61
    True
    """
    step = max(1, _WIDEST // max(1, largest))  # so many of them cannot leave 64 bits
    if len(values) <= step:
        return int(values.sum())
    whole = len(values) // step * step
    parts: list[int] = values[:whole].reshape(-1, step).sum(axis=1).tolist()
    return sum(parts) + int(values[whole:].sum())


# --- count and sum ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Count(Noised[int, int]):
    """Made by ``count(...)``: how many records there are."""

    noise: Noise

    def story(self) -> str:
        """One line on what was done."""
        return f"counted the records, {self.noise.story()}"

    def read(self, value: Any) -> int:
        """How many records there are, whatever they hold."""
        return count_records(value)

    def draw(self, value: int, bits: Bits) -> int:
        """The noisy count."""
        return as_int(self.noise.draw(value, bits))

    def law(self, value: int) -> dict[Any, tuple[Fraction, Fraction]]:
        """Bounds of the probability of each noisy count."""
        return self.noise.law(value)


def count(*, epsilon: Number | None = None, rho: Number | None = None) -> Count:
    """How many records there are; NaN and missing values count too.

    Guarantee: ε-differentially private, or ρ-zCDP, for one record added or removed. (Where records only change, their
    number is public.)

    >>> m = count(epsilon=1)
    >>> m.event, m.accuracy.error_at(0.95), isinstance(m.release(["a", None]).value, int)
    (DiscreteLaplace(scale=1, sensitivity=1), 3.0, True)
    """
    return Count(noise_for(read_budget(epsilon, rho), COUNT.moves(Neighbours.ADD_REMOVE)))


@dataclass(frozen=True, slots=True)
class BoundedSum(Noised[int, float]):
    """Made by ``bounded_sum(...)``: the sum of records between public bounds, in cells of a public grid."""

    grid: Grid
    noise: Noise

    @property
    def expected_error(self) -> float:
        """E|error| against the exact sum of the records on the grid, which is 2^40 times finer than the noise."""
        return float_up(Fraction(self.noise.expected_error) * self._cell)

    def error_at(self, confidence: Number) -> float:
        """The error bar, against the exact sum of the records on the grid."""
        return float_up(Fraction(self.noise.error_at(confidence)) * self._cell)

    @property
    def accuracy(self) -> Accuracy:
        """The mechanism knows its own accuracy."""
        return self

    @property
    def _cell(self) -> Fraction:
        return Fraction(2) ** self.grid.exponent

    def story(self) -> str:
        """One line on what was done."""
        return (
            f"summed the records, each moved into its bounds, {self.noise.story()} in cells of 2^{self.grid.exponent}"
        )

    def read(self, value: Any) -> int:
        """The exact sum in cells."""
        return self.grid.total(value)

    def draw(self, value: int, bits: Bits) -> float:
        """The noisy sum."""
        return self.grid.value(as_int(self.noise.draw(value, bits)))

    def law(self, value: int) -> dict[Any, tuple[Fraction, Fraction]]:
        """Bounds of the probability of each noisy sum, in cells."""
        return self.noise.law(value)


def bounded_sum(
    *,
    low: Number,
    high: Number,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> BoundedSum:
    """The sum of the records, each moved into the public bounds; NaN counts as the public value nearest to 0.

    Guarantee: ε-differentially private, or ρ-zCDP. A record moves the sum by max(|low|, |high|), or high - low when it
    only changes.

    >>> m = bounded_sum(low=0, high=100, epsilon=1)
    >>> round(m.error_at(0.95)), m.grid.value(m.read([1.5, 2.25, 1e9, float("nan")]))
    (300, 103.75)
    """
    budget, relation = read_budget(epsilon, rho), read_neighbours(neighbours)
    bottom, top = number(low, "low"), number(high, "high")
    moved = max(abs(bottom), abs(top)) if relation is Neighbours.ADD_REMOVE else top - bottom
    spread = moved / budget.epsilon if isinstance(budget, Pure) else moved / sqrt_down(2 * budget.rho)
    grid = public_grid(bottom, top, scale=spread or Fraction(1))
    return BoundedSum(grid, noise_for(budget, Term("sum", grid.low, grid.high).moves(relation)))


# --- what is made from several sums -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums in the order of the terms, exact or noisy, and the number of records where that is public."""

    values: tuple[int, ...]
    records: int | None


@dataclass(frozen=True, slots=True)
class _Statistic:
    """What is estimated: its name, which products are summed, the formula, its public range, its value for nothing."""

    name: str
    factors: dict[str, tuple[int, ...]]
    formula: Callable[[tuple[Column, ...], list[Span]], Span]
    bounds: tuple[Fraction, Fraction]
    nothing: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True, eq=False)
class Moments(Estimate[Sums, Sums]):
    """Made by ``mean``, ``variance``, ``standard_deviation``, ``covariance`` and ``correlation``."""

    statistic: _Statistic
    columns: tuple[Column, ...]
    terms: tuple[Term, ...]
    noises: tuple[Noise, ...]
    neighbours: Neighbours
    budget: Budget

    @property
    def event(self) -> Event:
        """What a release writes into the ledger."""
        events = [noise.event for noise in self.noises]
        return events[0] if len(events) == 1 else Composed(events)

    @property
    def cost(self) -> str:
        """The price in words."""
        return str(self.budget)

    def story(self) -> str:
        """One line on what was done."""
        noises = ", ".join(
            f"{noise.story()} on the {term.name}" for term, noise in zip(self.terms, self.noises, strict=True)
        )
        return f"summed whole numbers, each record moved into its bounds: {noises}"

    def told(self) -> str:
        """One line on how the answer is made."""
        return f"the {self.statistic.name} from the noisy sums, moved into its public range"

    def read(self, value: Any) -> Sums:
        """The exact sums."""
        cells = [c.grid.quantise(v) for c, v in zip(self.columns, self._split(value), strict=True)]
        if len({len(c) for c in cells}) != 1:
            raise BadData("the two columns must have the same number of records")
        records = len(cells[0])
        sums = tuple(term.sum_of(cells) for term in self.terms)
        return Sums(sums, records if self.neighbours is Neighbours.CHANGE_ONE else None)

    def _split(self, value: Any) -> Sequence[Any]:
        if len(self.columns) == 1:
            return (value,)
        if isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[1] == 2:
            return value[:, 0], value[:, 1]
        if isinstance(value, tuple) and len(value) == 2:
            return value
        raise BadData("data must be a pair (xs, ys) of columns, or an array with two columns")

    def draw(self, value: Sums, bits: Bits) -> Sums:
        """The noisy sums."""
        noisy = tuple(as_int(noise.draw(v, bits)) for noise, v in zip(self.noises, value.values, strict=True))
        return Sums(noisy, value.records)

    def finish(self, noisy: Sums) -> tuple[float, Accuracy]:
        """The estimate and its error bar."""
        low, high = self.statistic.bounds
        middle = self.estimate(noisy, None).middle
        near = float(min(max(middle, -_LARGEST), _LARGEST))  # a variance may leave the floats; its error bar says so
        value = min(max(near, float_up(low)), float_down(high)) if low < high else float(low)

        def radius(level: Fraction) -> float:
            each = 1 - (1 - level) / len(self.noises)
            span = self.estimate(noisy, [error_of(noise, each) for noise in self.noises])
            return float_up(max(span.high - Fraction(value), Fraction(value) - span.low))

        return value, Within(radius, high - low + abs(low) / (1 << 52))

    def estimate(self, noisy: Sums, errors: list[Fraction] | None) -> Span:
        """All answers that are possible if each exact sum lies within its error of the noisy one.

        Without errors, the answer that the noisy sums give by themselves.
        """
        spans = [
            Span(v - e, v + e) for v, e in zip(noisy.values, errors or [Fraction(0)] * len(self.terms), strict=True)
        ]
        terms = list(self.terms)
        if noisy.records == 0:
            return Span.at(self.statistic.nothing)
        if noisy.records is not None:
            size = Span.at(noisy.records)
        else:
            size, spans, terms = spans[0], spans[1:], terms[1:]
            if size.low < 1:
                if errors is not None:
                    return Span(*self.statistic.bounds)  # there may be no record at all
                size = Span.at(1)
        means = [(span / size).within(t.low, t.high) + Span.at(t.offset) for t, span in zip(terms, spans, strict=True)]
        return self.statistic.formula(self.columns, means).within(*self.statistic.bounds)


def as_int(value: Any) -> int:
    """A single noisy number."""
    return int(value)


def _term(columns: Sequence[Column], factors: tuple[int, ...], name: str) -> Term:
    """The product of cells, less the middle of its public range where that range is not around 0 by itself."""
    grids = [columns[f].grid for f in factors]
    if len(grids) == 1:
        return Term(name, grids[0].low, grids[0].high, factors)
    ends = [a * b for a in (grids[0].low, grids[0].high) for b in (grids[1].low, grids[1].high)]
    low, high = min(ends), max(ends)
    if factors[0] == factors[1]:  # squares are not below 0
        low = 0 if grids[0].low <= 0 <= grids[0].high else min(grids[0].low ** 2, grids[0].high ** 2)
    offset = (low + high) // 2
    return Term(name, low - offset, high - offset, factors, offset)


def _make(
    statistic: _Statistic,
    columns: tuple[Column, ...],
    *,
    epsilon: Number | None,
    rho: Number | None,
    neighbours: Neighbours,
) -> Moments:
    budget, relation = read_budget(epsilon, rho), read_neighbours(neighbours)
    terms = [_term(columns, factors, name) for name, factors in statistic.factors.items()]
    if relation is Neighbours.ADD_REMOVE:
        terms = [COUNT, *terms]
    each = part(budget, Fraction(1, len(terms)))
    noises = tuple(noise_for(each, term.moves(relation)) for term in terms)
    return Moments(statistic, columns, tuple(terms), noises, relation, budget)


# --- formulas: from the means of the terms to the answer, in the records' own units --------------------------------


def _mean(columns: tuple[Column, ...], means: list[Span]) -> Span:
    (x,) = columns
    return (Span.at(x.grid.centre) + Span.at(x.cell) * means[0]).wider(x.rounding)


def _deviation(x: Column, mean_cells: Span, squares: Span) -> Span:
    """Rounding each record by at most r moves the standard deviation by at most r."""
    variance = squares - mean_cells.square()
    return (Span.at(x.cell) * variance.root()).wider(x.rounding).within(0, x.width / 2)


def _standard_deviation(columns: tuple[Column, ...], means: list[Span]) -> Span:
    return _deviation(columns[0], means[0], means[1])


def _variance(columns: tuple[Column, ...], means: list[Span]) -> Span:
    return _deviation(columns[0], means[0], means[1]).square()


def _covariance(columns: tuple[Column, ...], means: list[Span]) -> Span:
    x, y = columns
    moved = x.rounding * (y.width / 2 + y.rounding) + y.rounding * (x.width / 2 + x.rounding)
    return (Span.at(x.cell * y.cell) * (means[2] - means[0] * means[1])).wider(moved)


def _correlation(columns: tuple[Column, ...], means: list[Span]) -> Span:
    x, y = columns
    together = _covariance(columns, means)
    apart = _deviation(x, means[0], means[3]) * _deviation(y, means[1], means[4])
    if apart.low <= 0:
        return Span(Fraction(-1), Fraction(1))
    return together / apart


_SQUARES: dict[str, tuple[int, ...]] = {"sum": (0,), "sum of squares": (0, 0)}
_PRODUCTS: dict[str, tuple[int, ...]] = {"sum of x": (0,), "sum of y": (1,), "sum of products": (0, 1)}

# --- what to ask for ----------------------------------------------------------------------------------------------


def mean(
    *,
    low: Number,
    high: Number,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Moments:
    """The mean of records between public bounds: noisy sum over noisy count; over n itself where n is public.

    Guarantee: ε-differentially private, or ρ-zCDP, for count and sum together.

    >>> m = mean(low=0, high=100, epsilon=1)
    >>> answer = m.release([20.0] * 5000 + [float("inf")])
    >>> 19 < answer.value < 21, answer.error_at(0.95) < 1, answer.cost, len(m.terms)
    (True, True, 'epsilon 1', 2)
    """
    x = column(low, high)
    middle = min(max(x.grid.centre, x.low), x.high)
    statistic = _Statistic("mean", {"sum": (0,)}, _mean, (x.low, x.high), middle)
    return _make(statistic, (x,), epsilon=epsilon, rho=rho, neighbours=neighbours)


def variance(
    *,
    low: Number,
    high: Number,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Moments:
    """The variance (over n) of records between public bounds, from noisy count, sum and sum of squares.

    Guarantee: ε-differentially private, or ρ-zCDP, for all three together.

    >>> variance(low=0, high=10, epsilon=1).release([2.0, 4.0] * 5000).error_at(0.95) < 1
    True
    """
    x = column(low, high)
    statistic = _Statistic("variance", _SQUARES, _variance, (Fraction(0), (x.width / 2) ** 2))
    return _make(statistic, (x,), epsilon=epsilon, rho=rho, neighbours=neighbours)


def standard_deviation(
    *,
    low: Number,
    high: Number,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Moments:
    """The standard deviation (over n) of records between public bounds, from noisy count, sum and sum of squares.

    Guarantee: ε-differentially private, or ρ-zCDP, for all three together.

    >>> 0 <= standard_deviation(low=0, high=10, epsilon=1).release([2.0, 4.0]).value <= 5
    True
    """
    x = column(low, high)
    statistic = _Statistic("standard deviation", _SQUARES, _standard_deviation, (Fraction(0), x.width / 2))
    return _make(statistic, (x,), epsilon=epsilon, rho=rho, neighbours=neighbours)


def covariance(
    *,
    x: Bounds,
    y: Bounds,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Moments:
    """The covariance (over n) of two columns between public bounds; data are a pair (xs, ys) or an (n, 2) array.

    Guarantee: ε-differentially private, or ρ-zCDP, for all sums together; a record is one pair.

    >>> m = covariance(x=(0, 1), y=(0, 10), epsilon=1)
    >>> -2.5 <= m.release(([0.5, 1], [3, 4])).value <= 2.5
    True
    """
    columns = (_read_bounds(x, "x"), _read_bounds(y, "y"))
    most = columns[0].width * columns[1].width / 4
    statistic = _Statistic("covariance", _PRODUCTS, _covariance, (-most, most))
    return _make(statistic, columns, epsilon=epsilon, rho=rho, neighbours=neighbours)


def correlation(
    *,
    x: Bounds,
    y: Bounds,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Moments:
    """Pearson's correlation of two columns between public bounds; 0 where a column does not vary.

    Guarantee: ε-differentially private, or ρ-zCDP, for all sums together; a record is one pair.

    >>> -1 <= correlation(x=(0, 1), y=(0, 10), epsilon=1).release(np.array([[0.5, 3], [1, 4]])).value <= 1
    True
    """
    columns = (_read_bounds(x, "x"), _read_bounds(y, "y"))
    factors = _PRODUCTS | {"sum of squares of x": (0, 0), "sum of squares of y": (1, 1)}
    statistic = _Statistic("correlation", factors, _correlation, (Fraction(-1), Fraction(1)))
    return _make(statistic, columns, epsilon=epsilon, rho=rho, neighbours=neighbours)


def _read_bounds(bounds: Bounds, name: str) -> Column:
    given: object = bounds
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise BadParameter(name, given, "must be a pair of public bounds, as in (0, 100)")
    return column(given[0], given[1])
