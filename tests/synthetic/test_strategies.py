"""Strategies: exact measurements, sensitivities by enumeration, errors as predicted."""

import numpy as np
import pytest

from discreet.mechanisms.statistics.budget import Moves
from discreet.synthetic.strategies import Strategy, identity, least_squares, trees

CELLS = 8
PREFIXES = np.tri(CELLS)


def strategies() -> list[Strategy]:
    best = least_squares(PREFIXES.T @ PREFIXES)
    assert best is not None
    return [identity(CELLS), *trees(CELLS), best]


@pytest.mark.parametrize("strategy", strategies(), ids=lambda s: s.name)
def test_no_unit_moves_a_measurement_further_than_stated(strategy: Strategy) -> None:
    unit = Moves(2, 4)
    bound = strategy.moves(unit)
    for i in range(CELLS):
        for j in range(CELLS):
            moved = strategy.measured(np.eye(CELLS, dtype=np.int64)[i] + np.eye(CELLS, dtype=np.int64)[j]).tolist()
            assert sum(abs(v) for v in moved) <= bound.l1
            assert sum(v * v for v in moved) <= bound.l2_squared
    twice = strategy.measured(2 * np.eye(CELLS, dtype=np.int64)).T.tolist()
    assert max(sum(v * v for v in row) for row in twice) == bound.l2_squared  # attained


@pytest.mark.parametrize("strategy", strategies(), ids=lambda s: s.name)
def test_exact_measurements_give_back_the_cells(strategy: Strategy) -> None:
    cells = np.array([5, 0, 3, 1000, 7, 7, 0, 1], dtype=np.int64)
    assert np.allclose(strategy.estimate(strategy.measured(cells)), cells)


@pytest.mark.parametrize("strategy", strategies(), ids=lambda s: s.name)
def test_the_predicted_variance_is_that_of_least_squares(strategy: Strategy) -> None:
    matrix = np.eye(CELLS) if strategy.matrix is None else strategy.matrix.astype(float)
    back = PREFIXES @ np.linalg.pinv(matrix)
    assert np.allclose(strategy.spread(PREFIXES), (back**2).sum(axis=1))
    assert np.allclose(strategy.spread(None), (np.linalg.pinv(matrix) ** 2).sum(axis=1))


def test_the_matrix_is_best_for_prefixes() -> None:
    def error(s: Strategy) -> float:
        return float(s.spread(PREFIXES).sum()) * s.moves(Moves(1, 1)).l2_squared

    *others, best = strategies()
    assert error(best) < min(map(error, others))
    assert least_squares(np.eye(1)) is None
    assert least_squares(np.eye(2000)) is None
