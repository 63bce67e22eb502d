"""Principal components from noisy second moments."""

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.learning.models.pca import PCA
from discreet.privacy.promises.measures import GDP, Approx

RNG = np.random.default_rng(8)
ROWS = np.clip(RNG.normal(size=(5000, 1)) * np.array([[0.3, 0.3, 0.0]]) + RNG.normal(size=(5000, 3)) * 0.05, -1, 1)


def test_the_first_component() -> None:
    model = PCA(n_components=1, bounds=(-1, 1), budget=Approx(1, "1e-5")).fit(ROWS)
    assert abs(model.components_[0] @ np.array([0.5**0.5, 0.5**0.5, 0])) > 0.98
    assert model.transform(ROWS).shape == (5000, 1)
    assert model.inverse_transform(model.transform(ROWS)).shape == ROWS.shape


def test_the_covariance_is_as_far_off_as_told() -> None:
    """Nine entries within 7 deviations of the note, with room for the rounding of rows."""
    model = PCA(bounds=(-1, 1), budget=GDP(1)).fit(ROWS)
    assert np.abs(model.covariance_ - np.cov(ROWS.T)).max() < 7 * model.entry_error_ + 0.01


def test_more_components_than_columns() -> None:
    with pytest.raises(BadParameter):
        PCA(n_components=4, bounds=(-1, 1), budget=GDP(1)).fit(ROWS)
