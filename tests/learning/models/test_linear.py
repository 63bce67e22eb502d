"""Linear regression: near the truth with a large budget, near the mean predictor with a small one, from an engine."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from discreet.learning.models.linear import LinearRegression, _shrunk
from discreet.privacy.promises.measures import GDP, Approx

RNG = np.random.default_rng(3)
X = RNG.uniform(-1, 1, (4000, 3))
Y = X @ np.array([1.0, -2.0, 0.5]) + 0.3
PUBLIC: dict[str, Any] = {"bounds": (-1, 1), "target_bounds": (-4, 4)}


def test_it_finds_the_slopes() -> None:
    model = LinearRegression(**PUBLIC, budget=GDP(50), length=2).fit(X, Y)
    assert np.allclose(model.coef_, [1, -2, 0.5], atol=0.05)
    assert model.intercept_ == pytest.approx(0.3, abs=0.05)
    assert model.residual_std_ < 0.2
    assert model.n_rows_ == pytest.approx(4000, rel=0.01)


def test_its_error_note_is_honest() -> None:
    """Slopes of 40 fits spread by at most three times and at least a third of what the note says."""
    fits = [LinearRegression(**PUBLIC, budget=Approx(1, "1e-5"), length=2).fit(X, Y) for _ in range(40)]
    seen = np.std([m.coef_ for m in fits], axis=0)
    told = np.mean([m.coef_error_ for m in fits], axis=0)
    assert np.all(seen < 3 * told)
    assert np.all(seen > told / 3)


@pytest.mark.usefixtures("fixed_noise")
def test_a_tiny_budget_is_not_far_below_the_mean() -> None:
    x, y = load_diabetes(return_X_y=True)
    scores = [
        LinearRegression(bounds=(-0.2, 0.2), target_bounds=(0, 350), budget=Approx(eps, "1e-5")).fit(x, y).score(x, y)
        for eps in ("0.1", 1, 10)
        for _ in range(15)
    ]
    small, one, ten = np.mean(np.reshape(scores, (3, 15)), axis=1)
    assert small > -0.6
    assert one > -0.05
    assert ten > 0.25


def test_it_fits_from_released_moments() -> None:
    """Moments of (1, x, y) between -1 and 1, as a session releases them."""
    rows = np.hstack([np.ones((len(X), 1)), X, Y[:, None] / 4])
    model = LinearRegression(**PUBLIC, budget=GDP(1)).fit_released(rows.T @ rows, 0.1)
    assert np.allclose(model.coef_, [1, -2, 0.5], atol=0.1)
    assert model.predict([[0.0, 0.0, 0.0]])[0] == pytest.approx(0.3, abs=0.1)


def test_noise_alone_shrinks_to_nothing() -> None:
    assert np.all(_shrunk(np.array([0.5, -0.5]), 1.0) == 0)
    assert np.allclose(_shrunk(np.array([500.0, -500.0]), 1.0), [500, -500], rtol=1e-3)
