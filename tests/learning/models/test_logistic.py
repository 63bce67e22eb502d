"""Logistic regression on dense rows: it learns, and cuts no row by default."""

import numpy as np
import pytest

from discreet.learning.models.logistic import LogisticRegression, longest
from discreet.privacy.promises.measures import Approx

X = np.random.default_rng(11).uniform(0, 1, (6000, 4))


@pytest.mark.slow
@pytest.mark.usefixtures("fixed_noise")
def test_two_classes() -> None:
    y = (X[:, 0] + X[:, 1] > 1).astype(int)
    model = LogisticRegression(bounds=(0, 1), classes=[0, 1], budget=Approx(1, "1e-5")).fit(X, y)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("features", [1, 8, 100])
def test_no_row_is_longer_than_the_default_length(features: int) -> None:
    assert (features + 1) ** 0.5 < longest(features) < 1.01 * (features + 1) ** 0.5
