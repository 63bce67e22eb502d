"""The fit: the optimum's own equation, no noise no error, public shares, zeros; the same as scipy on the whole."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.synthetic.model.fit import _FREE, Measured, fit, pooled, total_of

SIZES = (3, 4, 2)
CLIQUES = [(0,), (1,), (0, 1), (1, 2)]


def data(rows: int = 1000) -> NDArray[Any]:
    """Counts of a table that is a Markov chain."""
    draw = np.random.default_rng(3)
    a = draw.integers(0, 3, rows)
    b = (a + draw.integers(0, 2, rows)) % 4
    c = (b > 1) ^ (draw.random(rows) < 0.1)
    return np.histogramdd(np.stack([a, b, c.astype(int)], axis=1), bins=SIZES, range=[(0, s) for s in SIZES])[0]


def marginal(counts: NDArray[Any], clique: tuple[int, ...]) -> NDArray[Any]:
    table: NDArray[Any] = counts.sum(axis=tuple(c for c in range(3) if c not in clique)).astype(np.int64)
    return table


def test_exact_marginals_are_reproduced() -> None:
    counts = data()
    found = fit(SIZES, [Measured(c, marginal(counts, c), 1e-3) for c in CLIQUES], steps=500)
    for clique in CLIQUES:
        assert np.abs(found.model.marginal(clique) * found.total - marginal(counts, clique)).max() < 0.5
    assert abs(found.total - 1000) < 0.1


@pytest.mark.parametrize("prior", [0.03, 1.0])
def test_the_optimum_satisfies_its_equation(prior: float) -> None:
    draw = np.random.default_rng(7)
    counts = data()
    measured = [
        Measured(c, marginal(counts, c) + draw.integers(-30, 30, marginal(counts, c).shape), 300.0) for c in CLIQUES
    ]
    found = fit(SIZES, measured, prior=prior, steps=2000)
    for m in measured:
        held = m.variance * (prior if len(m.clique) > 1 else prior * _FREE)
        pull = found.total * found.model.marginal(m.clique) - m.noisy + held * found.potentials[m.clique]
        assert np.abs(pull).max() < 1.0  # counts are hundreds; L-BFGS stops near the optimum
    again = fit(SIZES, measured, prior=prior, steps=5, start=found.potentials)
    assert np.abs(again.model.marginal((0, 1)) - found.model.marginal((0, 1))).max() < 1e-3


def test_tables_of_one_clique_are_pooled_by_their_variances() -> None:
    one, two = Measured((0,), np.array([10, 20, 30]), 1.0), Measured((0,), np.array([20, 30, 40]), 3.0)
    table, variance = pooled([one, two], 1.0)[0,]
    assert np.allclose(table, [12.5, 22.5, 32.5])
    assert np.isclose(variance, 0.75)
    assert np.isclose(total_of([one]), 60)
    assert total_of([Measured((0,), np.array([-5, -5, 0]), 1.0)]) == 1.0


def test_public_shares_and_impossible_cells_are_kept() -> None:
    counts = data()
    shares = np.array([0.2, 0.3, 0.5])
    impossible: dict[tuple[int, ...], NDArray[Any]] = {(0, 1): np.where(np.eye(3, 4, dtype=bool), -np.inf, 0.0)}
    measured = [Measured((0,), shares, 0.0), Measured((1, 2), marginal(counts, (1, 2)), 100.0)]
    found = fit(SIZES, measured, base=impossible, steps=300)
    assert np.abs(found.model.marginal((0,)) - shares).max() < 0.01
    assert np.diag(found.model.marginal((0, 1))[:, :3]).max() == 0.0
