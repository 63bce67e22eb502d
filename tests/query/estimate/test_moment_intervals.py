"""What the intervals of variances, covariances and correlations rest on: sums that are 0 for the exact values."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.additive.laplace import Laplace
from discreet.query.estimate.moment_intervals import Noisy, Products, correlation, covariance, mean
from discreet.query.estimate.noise_plan import Noised
from discreet.query.estimate.statistics import Rows
from discreet.query.plan.expressions import Column

UNITS = st.floats(-1, 1, allow_subnormal=False)
ROWS = st.lists(st.tuples(UNITS, UNITS), min_size=4, max_size=60)


def noise(scale: int, cell: Fraction, kind: str = "Laplace") -> Noised:
    law: Laplace | Gaussian = Laplace(Fraction(scale), 1) if kind == "Laplace" else Gaussian(Fraction(scale**2), 1)
    return Noised(Rows(Column("x"), 1, cell), None, law)


CELL = Fraction(1, 10**6)


def released(
    rows: list[tuple[float, float]], moved: list[float], size: float, offset: float
) -> tuple[Products, Products, Products, Noisy]:
    """Sums of centred numbers, each moved by some of ``size``, which is far below its error."""
    x, y = np.array(rows).T
    law = [noise(int(10**6 * size) + 1, CELL) for _ in range(6)]
    exact = [x.sum(), y.sum(), (x * y - offset).sum(), (x * x - offset).sum(), (y * y - offset).sum(), len(rows)]
    a, b, ab, aa, bb, n = (Noisy(np.array([v + m * size]), one) for v, m, one in zip(exact, moved, law, strict=True))
    return Products(ab, offset, a, b), Products(aa, offset, a, a), Products(bb, offset, b, b), n


@pytest.mark.slow
@given(
    rows=ROWS,
    moved=st.lists(st.floats(-1, 1), min_size=6, max_size=6),
    size=st.sampled_from([1e-6, 0.01, 0.3]),
    offset=st.sampled_from([0.0, 0.5]),
)
def test_exact_values_are_inside_while_the_noise_is_within_a_scale(
    rows: list[tuple[float, float]], moved: list[float], size: float, offset: float
) -> None:
    """A deviation within one scale each is within the error of any sum at 95 %."""
    products, xx, yy, count = released(rows, moved, size, offset)
    x, y = np.array(rows).T
    m_x, m_y = mean(xx.x, count, (-1, 1), 0.002), mean(yy.x, count, (-1, 1), 0.002)
    assert m_x[0][0] - 1e-9 <= x.mean() <= m_x[1][0] + 1e-9
    low, high = covariance(products, count, (m_x, m_y), (-2.0, 2.0), 0.03)
    assert low[0] - 1e-6 <= np.cov(x, y)[0, 1] <= high[0] + 1e-6
    low, high = covariance(xx, count, (m_x, m_x), (0.0, 2.0), 0.03)
    assert low[0] - 1e-6 <= x.var(ddof=1) <= high[0] + 1e-6
    if x.std() > 1e-3 and y.std() > 1e-3:
        low, high = correlation(products, (xx, yy), count, ((-1, 1), (-1, 1)), 0.03)
        assert -1 <= low[0] <= high[0] <= 1
        assert low[0] - 1e-4 <= np.corrcoef(x, y)[0, 1] <= high[0] + 1e-4


def test_with_little_noise_intervals_are_short() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(-0.9, 0.4, 500)
    rows = [(float(a), float(b)) for a, b in zip(x, -0.5 * x + rng.uniform(-0.2, 0.2, 500), strict=True)]
    products, xx, yy, count = released(rows, [0.0] * 6, 1e-3, 0.5)
    low, high = correlation(products, (xx, yy), count, ((-1, 1), (-1, 1)), 0.05)
    assert 0 < high[0] - low[0] < 1e-3


def test_few_rows_say_nothing() -> None:
    products, xx, yy, count = released([(0.5, 0.5), (-0.5, 0.2)], [0.0] * 6, 1.0, 0.5)
    none = replace(count, values=np.array([-3.0]))
    everything = np.array([-1.0]), np.array([1.0])
    assert [float(e[0]) for e in covariance(xx, none, (everything, everything), (0.0, 2.0), 0.05)] == [0, 2]
    assert [float(e[0]) for e in correlation(products, (xx, yy), none, ((-1, 1), (-1, 1)), 0.05)] == [-1, 1]


@pytest.mark.parametrize("kind", ["Laplace", "Gaussian"])
def test_a_parabola_is_least_at_the_mean(kind: str) -> None:
    one = noise(3, CELL, kind)
    total = Noisy(np.array([4.0]), one)
    squares = Products(Noisy(np.array([9.0]), one), 0.5, total, total)
    n = np.array([10.0])
    low, high = squares.totals(n, (np.array([0.1]), np.array([0.9])), (np.array([0.1]), np.array([0.9])))
    grid = np.linspace(0.1, 0.9, 801)
    values = [float(squares.total(n, np.array([m]), np.array([m]))[0]) for m in grid]
    assert low[0] == pytest.approx(min(values))
    assert high[0] == pytest.approx(max(values))
    assert math.isclose(grid[int(np.argmin(values))], 0.4, abs_tol=1e-9)
