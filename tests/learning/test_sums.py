"""Exact sums: every row's move by enumeration, exact products, clipping in integers."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadParameter
from discreet.learning.models.kmeans import _round
from discreet.learning.models.linear import _moments
from discreet.learning.models.naive_bayes import _histograms, moments_by_class
from discreet.learning.models.rows import DenseRows, OneHotRows
from discreet.learning.sums import ExactSums, clipped_rows, exact_product, noise_of, on_grid, release, symmetric
from discreet.learning.unit_weights import unit_weights

GRID = (-1.0, -0.4, 0.0, 0.3, 1.0)
POINTS = np.array(list(itertools.product(GRID, GRID)))


def of_dense(rows: np.ndarray) -> ExactSums:
    return DenseRows.of(rows, 1.2).moments()


def of_one_hot(rows: np.ndarray) -> ExactSums:
    return OneHotRows((rows > 0).astype(np.int64), (2, 2), unit_weights(None, len(rows))).moments()


def of_classes(rows: np.ndarray) -> ExactSums:
    return moments_by_class(rows, (rows[:, 0] > 0).astype(np.int64), 2, unit_weights(None, len(rows)))


def of_bins(rows: np.ndarray) -> ExactSums:
    labels = (rows[:, 0] > 0.5).astype(np.int64)
    return _histograms((rows > 0).astype(np.int64), labels, [2, 2], 2, unit_weights(None, len(rows)))


def of_clusters(rows: np.ndarray) -> ExactSums:
    return _round(rows, (rows[:, 1] > 0).astype(np.int64), 2, unit_weights(None, len(rows)))


def of_products(rows: np.ndarray) -> ExactSums:
    return _moments(rows[:, :1], rows[:, 1], unit_weights(None, len(rows)), 0.8)[0]


STATISTICS: list[Callable[[np.ndarray], ExactSums]] = [
    of_dense, of_one_hot, of_classes, of_bins, of_clusters, of_products,
]  # fmt: skip


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda f: f.__name__)
def test_no_row_moves_the_sums_further_than_stated(statistic: Callable[[np.ndarray], ExactSums]) -> None:
    """Every row of a grid, added to every single row: the move is the row's own, and at most as long as stated."""
    longest = 0
    for row in POINTS:
        for base in POINTS[::6]:
            with_it, without = statistic(np.array([base, row])), statistic(np.array([base]))
            move = (with_it.values - without.values).ravel().tolist()
            longest = max(longest, sum(int(m) ** 2 for m in move))
            assert with_it.moves_squared == without.moves_squared
    assert longest <= without.moves_squared
    assert longest > 0.2 * without.moves_squared  # and the statement is not idle


def of_units(rows: np.ndarray, units: list[str]) -> list[ExactSums]:
    """Every kind of sum, with the rows' units; a release of residuals by bin, too."""
    weights = unit_weights(units, len(rows))
    codes, labels = (rows > 0).astype(np.int64), (rows[:, 1] > 0).astype(np.int64)
    coded, dense = OneHotRows(codes, (2, 2), weights), DenseRows.of(rows, 1.2, weights)
    residuals = np.trunc(rows[:, :1] * 2.0**15)
    return [
        dense.moments(), coded.moments(), moments_by_class(rows, labels, 2, weights),
        _histograms(codes, labels, [2, 2], 2, weights), _round(rows, labels, 2, weights),
        _moments(rows[:, :1], rows[:, 1], weights, 0.8)[0],
        ExactSums(coded.weighted_sum(residuals), 2 * weights.scale**2 << 30),
        ExactSums(dense.weighted_sum(residuals), dense.radius**2 * weights.scale**2 << 30),
    ]  # fmt: skip


@pytest.mark.parametrize("many", [1, 2, 3])
def test_no_unit_moves_the_sums_further_than_stated(many: int) -> None:
    """A unit with up to three rows of a coarse grid, in every way, beside two other units."""
    points = POINTS[::3]
    others, names = points[[0, 4, 7]], ["ann", "bob", "ann"]
    without = of_units(others, names)
    longest = [0] * len(without)
    for own in itertools.combinations_with_replacement(points, many):
        with_it = of_units(np.array([*others, *own]), [*names, *["carl"] * many])
        for place, (after, before) in enumerate(zip(with_it, without, strict=True)):
            move = sum(int(m) ** 2 for m in (after.values - before.values).ravel().tolist())
            assert move <= after.moves_squared == before.moves_squared
            longest[place] = max(longest[place], move)
    assert all(most > 0.1 * one.moves_squared for most, one in zip(longest, without, strict=True))


def test_rows_that_all_count_fully_are_noticed() -> None:
    """The twin: three rows of one unit, each with a weight of its own."""
    weights = unit_weights(None, 3)
    three = _histograms(np.zeros((3, 2), dtype=np.int64), np.zeros(3, dtype=np.int64), [2, 2], 2, weights)
    assert int((three.values**2).sum()) > three.moves_squared


@given(st.integers(1, 300), st.integers(1, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_products_are_exact(rows: int, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left = rng.integers(-(2**24), 2**24, (rows, width))
    right = rng.integers(-(2**24), 2**24, (rows, 2))
    found = exact_product(left.astype(float), right.astype(float), left_bits=24, right_bits=24)
    truth = [[sum(int(a) * int(b) for a, b in zip(x, y, strict=True)) for y in right.T] for x in left.T]
    assert found.tolist() == truth


def test_too_many_bits_are_refused() -> None:
    with pytest.raises(BadParameter):
        exact_product(np.ones((1, 1)), np.ones((1, 1)), left_bits=30, right_bits=30)


@pytest.mark.slow
@given(st.lists(st.integers(-(2**20), 2**20), min_size=3, max_size=3), st.integers(1, 2**20))
@settings(max_examples=100, deadline=None)
def test_clipped_rows_are_short_enough_in_integers(row: list[int], radius: int) -> None:
    out = clipped_rows(np.array([row], dtype=float), radius)[0]
    assert sum(int(v) ** 2 for v in out) <= radius**2
    assert all(abs(int(v)) <= abs(w) and v == int(v) for v, w in zip(out, row, strict=True))


def test_the_grid_never_lengthens() -> None:
    values = np.linspace(-2, 2, 1001)
    cells = on_grid(values, 7)
    assert np.all(np.abs(cells) <= np.minimum(np.abs(values), 1) * 128)
    assert np.array_equal(cells, np.trunc(cells))


def test_noise_has_the_promised_size_at_any_scale() -> None:
    """The standard deviation over 4000 draws, within 6 of its own deviations."""
    for moves, mu in ((1, Fraction(1, 4)), (1 << 50, Fraction(1))):
        finer, sigma_squared = noise_of(moves, mu)
        assert sigma_squared / finer**2 == moves / mu
        noisy, sigma = release(ExactSums(np.zeros(4000, dtype=np.int64), moves), mu)
        assert sigma == pytest.approx(math.sqrt(moves / mu))
        assert abs(noisy.std() / sigma - 1) < 6 / math.sqrt(2 * 4000)


def test_large_sums_do_not_wrap() -> None:
    noisy, sigma = release(ExactSums(np.array([1 << 60, -(1 << 60)]), 1), Fraction(1))
    assert np.all(np.abs(noisy - np.array([2.0**60, -(2.0**60)])) < 1e6 + 20 * sigma)


def test_a_matrix_comes_back() -> None:
    assert np.array_equal(symmetric(np.arange(6.0), 3), symmetric(np.arange(6.0), 3).T)
    with pytest.raises(BadParameter):
        ExactSums(np.zeros(1, dtype=np.int64), 0)
