"""Variance, standard deviation, covariance and correlation, from noisy centred sums and products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.query.estimate import statistics as st
from discreet.query.estimate.estimators import Estimate, Estimates, Recipe, possible
from discreet.query.estimate.moment_intervals import Noisy, Products, correlation, covariance, mean
from discreet.query.estimate.plug_in_moments import LEAST_MISS, plug_in_correlation, plug_in_covariance
from discreet.query.estimate.statistics import Centred, Statistic
from discreet.query.plan.nodes import Aggregate


@dataclass(frozen=True, slots=True)
class Moment(Recipe):
    """Variance, standard deviation, covariance or correlation, from centred sums and products."""

    aggregate: Aggregate
    x: Centred
    y: Centred
    count: st.Rows | st.Units
    x_total: st.Rows
    y_total: st.Rows
    xy: st.Product
    xx: st.Product | None = None
    yy: st.Product | None = None

    @property
    def depends_on_values(self) -> bool:
        """A root or a ratio of what is nearly 0 is far off."""
        return True

    @property
    def needs(self) -> dict[Statistic, float]:
        """Products matter most."""
        needs: dict[Statistic, float] = {self.count: 1 / 4}
        for statistic in (self.x_total, self.y_total):
            needs[statistic] = needs.get(statistic, 0) + 1 / 2
        for part in (self.xy, self.xx, self.yy):
            if part is not None:
                needs[part.statistic] = needs.get(part.statistic, 0) + 1
        return needs

    def value(self, noisy: Estimates) -> Floats:
        """The middle of all: the formula on the released numbers."""
        low, high = self._range(noisy, None)
        return (low + high) / 2

    def size_if(self, noise: Callable[[Statistic, Floats], Estimate], rows: float) -> float:
        """Of two columns it cannot be said: it may be 0."""
        return Recipe.size_if(self, noise, rows) if self.x == self.y else 0.0

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """By inverting a test; where a number has several noises, the range when all move within their errors."""
        if any(noisy[s].own_noise is None for s in self.needs):
            return self._range(noisy, miss / len(self.needs))
        low, high = self._inverted(noisy, miss)
        value = self.value(noisy)
        return np.minimum(low, value), np.maximum(high, value)

    def may_be_null(self, noisy: Estimates, ends: tuple[Floats, Floats], miss: float) -> NDArray[np.bool_]:
        """With fewer than two rows the inverted test holds for 0; otherwise the count tells."""
        if any(noisy[s].own_noise is None for s in self.needs):
            return np.asarray(noisy[self.count].ends(miss / len(self.needs))[0] < 2)
        return np.asarray((ends[0] <= 0) & (ends[1] >= 0))

    def _inverted(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """Short by the released means where these say enough, else by all means that are possible."""
        low, high = self._over_means(noisy, miss)
        if miss < LEAST_MISS:
            return low, high
        first, last, near = self._at_means(noisy, miss)
        return np.where(near, first, low), np.where(near, last, high)

    def _over_means(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        count, products, squares = self._parts(noisy)
        if squares is not None:
            return correlation(products, squares, count, (_span(self.x), _span(self.y)), miss)
        m_x = mean(products.x, count, _span(self.x), miss / 25)
        m_y = m_x if products.squares else mean(products.y, count, _span(self.y), miss / 25)
        return self._scaled(*covariance(products, count, (m_x, m_y), self._between, miss * 23 / 25))

    def _at_means(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        count, products, squares = self._parts(noisy)
        spans = _span(self.x), _span(self.y)
        if squares is not None:
            return plug_in_correlation(products, squares, count, spans, miss)
        low, high, near = plug_in_covariance(products, count, spans, self._between, miss)
        return *self._scaled(low, high), near

    @property
    def _between(self) -> tuple[float, float]:
        """A covariance is, in units of reaches."""
        return (-2.0, 2.0) if self.aggregate is Aggregate.COVARIANCE else (0.0, 2.0)

    def _scaled(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        unit = _reach(self.x) * _reach(self.y)
        if self.aggregate is Aggregate.STDDEV:
            return np.sqrt(unit * low), np.sqrt(unit * high)
        return unit * low, unit * high

    def _parts(self, noisy: Estimates) -> tuple[Noisy, Products, tuple[Products, Products] | None]:
        """Count, products and, for correlations, squares."""
        x, y = (self.x_total, _reach(self.x)), (self.y_total, _reach(self.y))
        squares = None
        if self.xx is not None and self.yy is not None:
            squares = self._products(noisy, self.xx, x, x), self._products(noisy, self.yy, y, y)
        return _read(noisy, self.count, 1.0), self._products(noisy, self.xy, x, y), squares

    @staticmethod
    def _products(noisy: Estimates, xy: st.Product, x: tuple[st.Rows, float], y: tuple[st.Rows, float]) -> Products:
        unit = x[1] * y[1]
        return Products(_read(noisy, xy.statistic, unit), float(xy.offset) / unit, _read(noisy, *x), _read(noisy, *y))

    def _range(self, noisy: Estimates, miss: float | None) -> tuple[Floats, Floats]:
        cov = self._covariance(noisy, self.xy, self.x_total, self.y_total, miss)
        if self.aggregate is Aggregate.COVARIANCE:
            return cov
        if self.aggregate in (Aggregate.VARIANCE, Aggregate.STDDEV):
            most = (float(self.x.high) - float(self.x.low)) ** 2 / 2
            low, high = (np.clip(end, 0.0, most) for end in cov) if miss is None else possible(*cov, 0.0, most)
            return (low, high) if self.aggregate is Aggregate.VARIANCE else (np.sqrt(low), np.sqrt(high))
        assert self.xx is not None  # noqa: S101
        assert self.yy is not None  # noqa: S101
        left = self._covariance(noisy, self.xx, self.x_total, self.x_total, miss)
        right = self._covariance(noisy, self.yy, self.y_total, self.y_total, miss)
        spread_low = np.sqrt(np.maximum(left[0], 0.0)) * np.sqrt(np.maximum(right[0], 0.0))
        spread_high = np.sqrt(np.maximum(left[1], 0.0)) * np.sqrt(np.maximum(right[1], 0.0))
        flat = 1e-9 * float(self.x.reach * self.x.step * self.y.reach * self.y.step)  # no spread, but for rounding
        with np.errstate(divide="ignore", invalid="ignore"):
            corners = np.stack([np.where(s > flat, c / s, np.sign(c)) for c in cov for s in (spread_low, spread_high)])
        if miss is None:
            corners = np.where(spread_high > flat, np.clip(corners, -1.0, 1.0), 0.0)
            return corners.min(axis=0), corners.max(axis=0)
        low, high = possible(corners.min(axis=0), corners.max(axis=0), -1.0, 1.0)
        has_sign = spread_low > flat  # a spread that may be nothing says nothing of the sign
        return np.where(has_sign, low, -1.0), np.where(has_sign, high, 1.0)

    def _covariance(
        self, noisy: Estimates, xy: st.Product, x: st.Rows, y: st.Rows, miss: float | None
    ) -> tuple[Floats, Floats]:
        def ends(statistic: Statistic) -> tuple[Floats, Floats]:
            values = noisy[statistic].values
            return (values, values) if miss is None else noisy[statistic].ends(miss)

        n_low, n_high = (np.maximum(n, 2.0) for n in ends(self.count))
        p_low, p_high = ends(xy.statistic)
        offset = float(xy.offset)
        products = np.stack([p / n for p in (p_low, p_high) for n in (n_low, n_high)])
        means = [np.stack([t / n for t in ends(s) for n in (n_low, n_high)]) for s in (x, y)]
        (x_low, x_high), (y_low, y_high) = [(m.min(axis=0), m.max(axis=0)) for m in means]
        crossed = np.stack([x_low * y_low, x_low * y_high, x_high * y_low, x_high * y_high])
        top = crossed.max(axis=0)
        bottom = crossed.min(axis=0)
        if x == y:  # a square is never below 0
            bottom = np.where((x_low <= 0) & (x_high >= 0), 0.0, np.minimum(x_low**2, x_high**2))
            top = np.maximum(x_low**2, x_high**2)
        inner = (products.min(axis=0) + offset - top, products.max(axis=0) + offset - bottom)
        ends_of = np.stack([n / (n - 1) * v for n in (n_low, n_high) for v in inner])
        return ends_of.min(axis=0), ends_of.max(axis=0)


def _reach(x: Centred) -> float:
    return float(max(x.high - x.centre, x.centre - x.low))


def _span(x: Centred) -> tuple[float, float]:
    """Where a mean may lie, from the centre, in units of the reach."""
    return float(x.low - x.centre) / _reach(x), float(x.high - x.centre) / _reach(x)


def _read(noisy: Estimates, statistic: Statistic, unit: float) -> Noisy:
    estimate = noisy[statistic]
    assert estimate.own_noise is not None  # noqa: S101
    return Noisy(estimate.middle / unit, estimate.own_noise, unit)
