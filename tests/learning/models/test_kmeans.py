"""k-means by noisy sums."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from discreet.errors import BadParameter
from discreet.learning.models.kmeans import KMeans, _nearest
from discreet.privacy.promises.measures import GDP, Approx

RNG = np.random.default_rng(6)
LABELS = RNG.integers(0, 2, 4000)
ROWS = RNG.normal(size=(4000, 2)) * 0.3 + np.where(LABELS[:, None] == 0, 2.0, 8.0)


@pytest.mark.slow
def test_it_finds_two_far_clusters() -> None:
    """The best of ten fits is perfect; a start may be unlucky, noise is not the reason."""
    fits = [KMeans(n_clusters=2, bounds=(0, 10), budget=Approx(2, "1e-5")).fit(ROWS) for _ in range(10)]
    assert max(adjusted_rand_score(LABELS, m.predict(ROWS)) for m in fits) > 0.95
    assert all(np.all((m.cluster_centers_ >= 0) & (m.cluster_centers_ <= 10)) for m in fits)


def test_sizes_come_with_their_noise() -> None:
    model = KMeans(n_clusters=1, bounds=(0, 10), rounds=1, budget=GDP(1)).fit(ROWS)
    assert abs(model.cluster_sizes_[0] - 4000) < 7 * model.size_error_


def test_bad_settings() -> None:
    with pytest.raises(BadParameter):
        KMeans(n_clusters=0, bounds=(0, 1), budget=GDP(1)).fit(ROWS)
    with pytest.raises(BadParameter):
        KMeans(rounds=0, bounds=(0, 1), budget=GDP(1)).fit(ROWS)


def test_a_cluster_does_not_depend_on_the_order_of_addition() -> None:
    """Rows as far from one centre as from the other: rounding, which depends on the other rows, decides nothing."""
    a, b, c = (np.array([3, 7, 5]) * 100_003) / 2**21
    rows = np.repeat(RNG.uniform(-1, 1, (200, 1)), 3, axis=1)
    assert set(_nearest(rows, np.array([[a, b, c], [c, a, b], [b, c, a]])).tolist()) == {0}
