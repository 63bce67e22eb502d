"""Mean, variance, standard deviation, covariance, correlation: from noisy sums of centred whole numbers.

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

from discreet.answer import Accuracy
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, float_down, float_up
from discreet.mechanisms.base.estimate import Estimate
from discreet.mechanisms.base.span import Span
from discreet.mechanisms.statistics.budget import Budget, Noise, noise_for, part, read_budget, read_neighbours
from discreet.mechanisms.statistics.error_bounds import Within, error_of
from discreet.mechanisms.statistics.terms import COUNT, Column, Term, column, product
from discreet.privacy.promises.events import Composed, Event
from discreet.privacy.promises.neighbours import Neighbours
from discreet.randomness import Bits

_LARGEST = Fraction(2) ** 1023
Bounds = tuple[Number, Number]


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
        return (events[0] if len(events) == 1 else Composed(events)).about(self.neighbours)

    @property
    def cost(self) -> str:
        """The price as text."""
        return str(self.budget)

    def story(self) -> str:
        """One line on what was done."""
        noises = ", ".join(
            f"{noise.story()} on the {term.name}" for term, noise in zip(self.terms, self.noises, strict=True)
        )
        return f"summed integers, each record moved into its bounds: {noises}"

    def derivation(self) -> str:
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
        noisy = tuple(int(noise.draw(v, bits)) for noise, v in zip(self.noises, value.values, strict=True))
        return Sums(noisy, value.records)

    def independent(self, value: Sums) -> list[tuple[Noise, int]]:
        """Each noise with the sum that it is added to."""
        return list(zip(self.noises, value.values, strict=True))

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
        each = [(t, span / size) for t, span in zip(terms, spans, strict=True)]
        formula_span = self.statistic.formula(
            self.columns, [mean.within(t.low, t.high) + Span.at(t.offset) for t, mean in each]
        )
        if errors is not None and (
            formula_span.misses(*self.statistic.bounds) or any(mean.misses(t.low, t.high) for t, mean in each)
        ):
            return Span(*self.statistic.bounds)  # more noise than its bar: a point would look certain
        return formula_span.within(*self.statistic.bounds)


def _make(
    statistic: _Statistic,
    columns: tuple[Column, ...],
    *,
    epsilon: Number | None,
    rho: Number | None,
    neighbours: Neighbours,
) -> Moments:
    budget, relation = read_budget(epsilon, rho), read_neighbours(neighbours)
    terms = [product(columns, factors, name) for name, factors in statistic.factors.items()]
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
    if variance.low < variance.high < 0:  # more noise than its bar; a point is an estimate without errors
        return Span(Fraction(0), x.width / 2)
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

    A record that is no number (None, NaN) counts as the middle of the bounds, since no call may fail because of one
    person: leave such records out before, each by itself.

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

    A record that is no number (None, NaN) counts as the middle of the bounds, since no call may fail because of one
    person: leave such records out before, each by itself.

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
