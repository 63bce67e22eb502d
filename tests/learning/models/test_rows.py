"""Rows in memory against plain loops."""

from itertools import product

import numpy as np

from discreet.learning.models.rows import DenseRows, OneHotRows
from discreet.learning.sums import symmetric
from discreet.learning.unit_weights import unit_weights

RNG = np.random.default_rng(2)
CODES = RNG.integers(0, 3, (40, 2))
DENSE = np.zeros((40, 6))
DENSE[np.arange(40), CODES[:, 0]] = 1
DENSE[np.arange(40), 3 + CODES[:, 1]] = 1


def test_one_hot_rows_are_what_they_stand_for() -> None:
    rows = OneHotRows(CODES, (3, 3))
    weights, matrix = RNG.normal(size=(6, 2)), RNG.normal(size=(6, 6))
    assert np.array_equal(symmetric(rows.moments().values.astype(float), 6), DENSE.T @ DENSE)
    assert np.allclose(rows.scores(weights), DENSE @ weights)
    assert np.allclose(rows.lengths(matrix), np.linalg.norm(DENSE @ matrix.T, axis=1))
    residuals = RNG.integers(-100, 100, (40, 2)).astype(float)
    assert np.array_equal(rows.weighted_sum(residuals), DENSE.T @ residuals)


def test_dense_rows_are_cut_in_integers() -> None:
    rows = DenseRows.of(RNG.uniform(-1, 1, (200, 5)), 1.3)
    assert max(sum(int(v) ** 2 for v in row) for row in rows.values) <= rows.length_squared
    table = symmetric(rows.moments().values.astype(float), 6)
    assert np.array_equal(table, rows.values.T @ rows.values)


def test_scores_do_not_depend_on_the_order_of_addition() -> None:
    """A matrix product adds in an order that depends on how many rows there are: here all orders give one result."""
    rows, weights, order = (
        DenseRows.of(RNG.uniform(-1, 1, (200, 30)), 9.0),
        RNG.normal(size=(31, 2)),
        RNG.permutation(31),
    )
    found = rows.scores(weights)
    assert np.array_equal(found, DenseRows(rows.values[:, order], rows.radius, rows.weights).scores(weights[order]))
    assert np.allclose(found, rows.values @ weights, rtol=1e-6, atol=1e-3)


def test_weights_multiply_rows() -> None:
    """Exactly, in moments and sums of residuals."""
    weights = unit_weights(np.arange(40) // 3, 40)
    w, residuals = weights.values[:, None], RNG.integers(-100, 100, (40, 2)).astype(float)
    dense = DenseRows.of(RNG.uniform(-1, 1, (40, 5)), 9.0, weights)
    for rows, plain in ((OneHotRows(CODES, (3, 3), weights), DENSE), (dense, dense.values)):
        assert np.array_equal(symmetric(rows.moments().values.astype(float), 6), plain.T @ (w * plain))
        assert np.array_equal(rows.weighted_sum(residuals), plain.T @ (w * residuals))


def test_independent_columns_have_the_moments_that_are_expected() -> None:
    """Codes in all combinations equally often: nothing differs but noise, of which there is none here."""
    codes = np.array(list(product(range(3), range(2))) * 5)
    rows = OneHotRows(codes, (3, 2))
    table = symmetric(rows.moments().values.astype(float), 5)
    assert np.allclose(rows.independent(table), table)
    values = np.array(list(product([-1.0, 0.0, 1.0], [-0.5, 1.0])))
    dense = DenseRows.of(values, 9.0)
    table = symmetric(dense.moments().values.astype(float), 3)
    cells = float(1 << 24)  # it knows numbers of rows by the first column, a 1
    assert np.allclose(dense.independent(table / cells), table / cells)


def test_neighbouring_bins_are_alike_where_columns_have_an_order() -> None:
    form = OneHotRows(CODES[:, :1], (17,), ordered=(16,)).roughness()
    smooth, rough = np.append(np.ones(16), 0), np.append(np.tile([1, -1], 8), 0)
    assert smooth @ form @ smooth < rough @ form @ rough / 10
    assert np.array_equal(form[16], np.eye(17)[16])  # missing values have no neighbours
    assert np.array_equal(OneHotRows(CODES, (3, 3)).roughness(), np.eye(6))
