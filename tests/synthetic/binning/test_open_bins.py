"""Bins that nobody declared: a public grid, bins from counts over it, and values drawn as the counts are spread."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import BadParameter
from discreet.synthetic.binning.open_bins import EQUAL, chosen, equal_bins

RANGES: list[tuple[Any, Any, bool]] = [
    (0, 1000, False), (0, 5000, True), (-5000, 5000, False), (0, 10**12, False), (0, 10**15, True), (18, 200, True),
    (10**6, 10**6 + 500, False), (Fraction(1, 10**9), 1, False), (-300, -1, True), (0, Fraction(1, 1000), False),
]  # fmt: skip


@pytest.mark.parametrize(("low", "high", "integral"), RANGES)
def test_the_grid_follows_from_the_bounds_and_fills_them(low: Any, high: Any, integral: bool) -> None:
    column = equal_bins(Fraction(low), Fraction(high), integral=integral)
    grid = column.grid
    assert (grid.edges[0], grid.edges[-1]) == (low, high) == (column.edges[0], column.edges[-1])
    assert column.values == EQUAL
    assert EQUAL < grid.values < 500
    assert all(float(a) < float(b) for a, b in pairwise(grid.edges))
    assert (grid.integral, grid.nullable) == (integral, True)
    assert not integral or all(edge.denominator == 1 for edge in grid.edges)
    widest = max(b - a for a, b in pairwise(grid.edges))
    assert widest <= Fraction(high - low) / 25  # a column that is not skewed has bins as narrow as before, about


def test_cells_shrink_towards_zero() -> None:
    edges = equal_bins(Fraction(0), Fraction(100_000)).grid.edges
    near = [(a, b) for a, b in pairwise(edges) if Fraction(1, 10**6) <= a < 1000]
    assert all(b / a <= Fraction(4, 3) for a, b in near)
    assert edges[1] <= Fraction(1, 10**6)


def test_bounds_that_floats_cannot_part_are_refused() -> None:
    with pytest.raises(BadParameter, match="floats can tell"):
        equal_bins(Fraction(10**18), Fraction(10**18 + 1))


KINDS: dict[str, Any] = {
    "uniform": lambda draw, n: draw.uniform(0, 10_000, n),
    "normal": lambda draw, n: np.clip(draw.normal(5000, 500, n), 0, 10_000),
    "lognormal": lambda draw, n: np.minimum(draw.lognormal(3, 1, n), 10_000),
    "pareto": lambda draw, n: np.minimum((draw.pareto(1.5, n) + 1) * 10, 10_000),
    "zeros": lambda draw, n: np.where(draw.random(n) < 0.8, 0.0, np.minimum(draw.lognormal(4, 1, n), 10_000)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_drawn_as_the_counts_are_spread(kind: str) -> None:
    draw = np.random.default_rng(3)  # fixed: nothing here is noise for privacy
    values = KINDS[kind](draw, 50_000)
    grid = equal_bins(Fraction(0), Fraction(10_000)).grid
    counts = np.bincount(grid.encode(pa.array(values)), minlength=grid.size).astype(float)
    column, sums, variance = chosen(grid, counts + np.rint(draw.normal(0, 10, grid.size)), 100.0)
    assert 1 <= column.values <= EQUAL
    assert sums.shape == (column.size,)
    assert variance >= 100
    codes = column.encode(pa.array(values))
    assert np.bincount(codes, minlength=column.size)[: column.values] == pytest.approx(sums[:-1], abs=250)
    back = np.asarray(column.decode(codes, draw))
    assert (column.encode(pa.array(back)) == codes).all()
    assert back.mean() == pytest.approx(values.mean(), rel=0.05)
    assert np.quantile(back, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(values, [0.1, 0.5, 0.9]), rel=0.1)
    if kind == "zeros":
        assert (back == 0).mean() == pytest.approx(0.8, abs=0.02)  # exactly 0, not nearly


def test_where_nothing_stands_out_all_values_are_alike() -> None:
    grid = equal_bins(Fraction(0), Fraction(1000), nullable=False).grid
    column, sums, variance = chosen(grid, np.zeros(grid.size), 100.0)
    assert (column.values, sums.tolist(), variance) == (1, [0.0], 100.0 * grid.values)
    back = np.asarray(column.decode(np.zeros(20_000, dtype=np.int64), np.random.default_rng(4)))
    assert back.mean() == pytest.approx(500, rel=0.05)


def test_whole_numbers_stay_whole_and_null_keeps_its_code() -> None:
    grid = equal_bins(Fraction(0), Fraction(5000), integral=True).grid
    counts = np.zeros(grid.size)
    counts[[0, 3, -1]] = 1000, 2000, 500
    column, sums, _ = chosen(grid, counts, 1.0)
    assert sums.tolist() == [1000.0, 2000.0, 500.0]
    back = column.decode(np.array([0, 1, 2] * 10), np.random.default_rng(5))
    assert back.type == pa.int64()
    assert set(back.to_pylist()) == {0, 3, None}


def test_money_is_in_hundredths() -> None:
    grid = equal_bins(Fraction(0), Fraction(1000)).grid
    counts = np.array([1000.0 if low >= 1 else 0.0 for low, _ in grid.labels] + [0.0])  # a hundredth lies in each
    column, _, _ = chosen(grid, counts, 1.0)
    money = replace(column, step=Fraction(1, 100))
    codes = np.repeat(np.arange(column.values), 200)
    back = np.asarray(money.decode(codes, np.random.default_rng(6)))
    assert all(Fraction(str(value)).denominator in (1, 2, 4, 5, 10, 20, 25, 50, 100) for value in back.tolist())
    assert (money.encode(pa.array(back)) == codes).all()
    plain = np.asarray(column.decode(codes, np.random.default_rng(6)))
    assert back.mean() == pytest.approx(plain.mean(), rel=0.01)
