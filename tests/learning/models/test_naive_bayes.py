"""Naive Bayes from one release."""

import numpy as np

from discreet.learning.models.naive_bayes import CategoricalNB, GaussianNB, _histograms, mean_and_variance
from discreet.learning.preprocessing.columns import Categorical
from discreet.learning.unit_weights import unit_weights
from discreet.privacy.promises.measures import GDP, Approx

RNG = np.random.default_rng(4)
LABELS = RNG.integers(0, 3, 3000)
NUMBERS = RNG.normal(size=(3000, 2)) + 4 * LABELS[:, None]
CODES = np.stack([LABELS, RNG.integers(0, 3, 3000)], axis=1)


def test_gaussian() -> None:
    model = GaussianNB(bounds=(-4, 12), classes=range(3), budget=Approx(1, "1e-5")).fit(NUMBERS, LABELS)
    assert model.score(NUMBERS, LABELS) > 0.9
    assert np.all(np.abs(model.theta_ - 4 * np.arange(3)[:, None]) < 1)


def test_categorical_and_from_released_counts() -> None:
    model = CategoricalNB(columns=[Categorical(3)] * 2, classes=range(3), budget=Approx(1, "1e-5"))
    assert model.fit(CODES, LABELS).score(CODES, LABELS) > 0.95
    assert np.allclose(model.predict_proba(CODES[:9]).sum(axis=1), 1)

    counts = _histograms(CODES, LABELS, [4, 4], 3, unit_weights(None, len(CODES))).values.astype(float)
    assert model.fit_released(counts, 1.0).score(CODES, LABELS) > 0.95


def test_an_absent_class_breaks_nothing() -> None:
    model = GaussianNB(bounds=(-4, 12), classes=range(5), budget=GDP("1/10")).fit(NUMBERS, LABELS)
    assert np.all(np.isfinite(model.predict_proba(NUMBERS)))
    assert np.all(model.var_ > 0)


def test_noise_alone_gives_the_prior() -> None:
    mean, variance = mean_and_variance(np.zeros((1, 2)), np.ones(1), 1e9)
    assert abs(mean[0, 0]) < 1e-6
    assert abs(variance[0, 0] - 1 / 3) < 1e-3
