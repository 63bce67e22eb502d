"""Rows in memory against plain loops."""

import numpy as np

from discreet.learning.models.rows import DenseRows, OneHotRows
from discreet.learning.sums import symmetric

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
    assert np.array_equal(found, DenseRows(rows.values[:, order], rows.radius).scores(weights[order]))
    assert np.allclose(found, rows.values @ weights, rtol=1e-6, atol=1e-3)
