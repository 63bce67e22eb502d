"""The binned square root against dense linear algebra."""

import numpy as np
import pytest

from discreet.continual.binned import BLOCK, ROWS, Binned, Schedule, _largest_column, squares_up
from discreet.continual.toeplitz import UNIT
from tests.helpers.continual_matrices import matrix
from tools import binned_rows


@pytest.mark.slow
def test_bins_against_dense_linear_algebra() -> None:
    """The largest column exactly; and every row's weight below the bound that was computed once for 2^20 steps."""
    steps = 1024
    c = matrix(Binned(steps), steps)
    assert int((c**2).sum(axis=0).max()) == _largest_column(steps)[1]
    assert int(c.sum(axis=0).max()) == _largest_column(steps)[0]
    b = np.linalg.solve(c.T.astype(float), np.triu(np.ones((steps, steps)))).T
    rows = (b**2).sum(axis=1) * UNIT**2
    best = np.array([float(squares_up(t)) for t in range(1, steps + 1)])
    assert (rows <= float(ROWS) * best).all()
    assert 1.0003 < rows.max() / best[-1] < 1.002
    assert np.allclose(rows, binned_rows.weights(steps), rtol=1e-8)  # the recursion from which the bound was taken
    assert np.allclose(best, binned_rows.best(steps), rtol=1e-4)
    assert rows[BLOCK * 10] == pytest.approx(best[BLOCK * 10], rel=1e-4)  # near blocks alone: the square root itself


def test_bins_cover_the_past_once_and_only_join() -> None:
    """Every earlier step has one coefficient, close to that of the square root at its distance."""
    schedule = Schedule()
    for _ in range(3000):
        coefficients = schedule.coefficients()
        assert (np.diff(coefficients) >= 0).all()  # the oldest bin is farthest
        before = schedule.bins
        left, joined = schedule.advance()
        assert schedule.bins == before + left - len(joined)
    assert schedule.bins < 26 * 8
