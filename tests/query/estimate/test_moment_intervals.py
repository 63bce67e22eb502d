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


# --- to the digit -----------------------------------------------------------------------------------------------------

SIZES = np.array([2.0, 3.0, 40.0, 86.0, 127.0, 400.0, 4000.0])
"""Groups; means and products are those of rows with mean (0.3, -0.2), variances 0.2 and 0.1 and covariance 0.06."""


def groups(kind: str) -> tuple[Products, Products, Products, Noisy]:
    """Exact sums of groups of every size, each moved by a little, in units of 1/2."""
    sums = {"x": 0.3, "y": -0.2, "xy": 0.06 - 0.06 - 0.25, "xx": 0.2 + 0.09 - 0.25, "yy": 0.1 + 0.04 - 0.25}
    one = noise(3, Fraction(1, 2), kind)
    x, y, xy, xx, yy = (
        Noisy(SIZES * part + 0.1 * (i + 1), replace(one, statistic=Rows(Column(name), 1, Fraction(1, 2))), 1.5)
        for i, (name, part) in enumerate(sums.items())
    )
    return Products(xy, 0.25, x, y), Products(xx, 0.25, x, x), Products(yy, 0.25, y, y), Noisy(SIZES, one)


def digits(found: tuple[np.ndarray, ...]) -> list[list[float]]:
    return [ends.round(6).tolist() for ends in found]


PINNED: dict[tuple[str, str], list[list[float]]] = {
    ("Laplace", "mean"): [
        [-1.0, -1.0, 0.135906, 0.222169, 0.247051, 0.283019, 0.298295],
        [1.0, 1.0, 0.490696, 0.384199, 0.356392, 0.31766, 0.301757],
    ],
    ("Laplace", "covariance"): [
        [-2.0, -2.0, -0.094221, 0.003829, 0.024424, 0.049736, 0.059014],
        [2.0, 2.0, 0.22801, 0.123474, 0.100587, 0.071865, 0.061146],
    ],
    ("Laplace", "variance"): [
        [0.0, 0.0, 0.06183, 0.146715, 0.165487, 0.189662, 0.198989],
        [2.0, 2.0, 0.402175, 0.272964, 0.246199, 0.213348, 0.201284],
    ],
    ("Laplace", "correlation"): [
        [-1.0, -1.0, -1.0, -0.67739, 0.006837, 0.335662, 0.416592],
        [1.0, 1.0, 1.0, 1.0, 0.843586, 0.509363, 0.432007],
    ],
    ("Gaussian", "mean"): [
        [-1.0, -1.0, 0.210124, 0.257136, 0.270768, 0.290619, 0.299057],
        [1.0, 1.0, 0.406392, 0.347583, 0.3319, 0.309991, 0.300994],
    ],
    ("Gaussian", "covariance"): [
        [-2.0, -2.0, -0.025533, 0.025802, 0.037781, 0.053347, 0.059351],
        [2.0, 2.0, 0.161058, 0.101637, 0.087272, 0.068256, 0.060809],
    ],
    ("Gaussian", "variance"): [
        [0.0, 0.0, 0.118684, 0.166438, 0.177959, 0.193289, 0.19934],
        [2.0, 2.0, 0.320066, 0.248445, 0.231587, 0.209513, 0.200931],
    ],
    ("Gaussian", "correlation"): [
        [-1.0, -1.0, -1.0, 0.020216, 0.195794, 0.36461, 0.418748],
        [1.0, 1.0, 1.0, 0.830936, 0.64706, 0.483653, 0.429887],
    ],
}


@pytest.mark.parametrize("kind", ["Laplace", "Gaussian"])
def test_ends_of_moments_to_the_digit(kind: str) -> None:
    """As the formulas have them, which the tests above hold against the truth: a digit that moves is a bar that moved.

    Groups of two rows say nothing, and one of three hardly anything.
    """
    products, xx, yy, count = groups(kind)
    wide, narrow = (-1.0, 1.0), (-0.9, 0.8)
    m_x, m_y = mean(xx.x, count, wide, 0.002), mean(yy.x, count, narrow, 0.002)
    found = {
        "mean": m_x,
        "covariance": covariance(products, count, (m_x, m_y), (-2.0, 2.0), 0.03),
        "variance": covariance(xx, count, (m_x, m_x), (0.0, 2.0), 0.03),
        "correlation": correlation(products, (xx, yy), count, (wide, narrow), 0.05),
    }
    assert {name: digits(ends) for name, ends in found.items()} == {name: PINNED[kind, name] for name in found}
    for (low, high), truth in zip(found.values(), (0.3, 0.06, 0.2, 0.06 / math.sqrt(0.02)), strict=True):
        assert ((low <= truth) & (truth <= high)).all()
    down = replace(products.y, values=-products.y.values)
    turned = Products(replace(products.xy, values=-products.xy.values), -products.offset, products.x, down)
    low, high = correlation(turned, (xx, Products(yy.xy, yy.offset, down, down)), count, (wide, (-0.8, 0.9)), 0.05)
    assert digits((-high, -low)) == pytest.approx(np.array(PINNED[kind, "correlation"]), abs=2e-6)
