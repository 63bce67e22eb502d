"""Paid scaling and binning."""

import numpy as np

from discreet.learning.preprocessing.scaling import QuantileBinner, StandardScaler
from discreet.privacy.promises.measures import GDP, Approx

ROWS = np.random.default_rng(9).normal(3, 2, (5000, 2))


def test_scaler() -> None:
    model = StandardScaler(bounds=(-10, 15), budget=Approx(1, "1e-5")).fit(ROWS)
    assert np.all(np.abs(model.mean_ - ROWS.mean(axis=0)) < 8 * model.mean_error_ + 0.05)
    assert np.all(np.abs(model.scale_ / ROWS.std(axis=0) - 1) < 0.3)
    assert np.allclose(model.inverse_transform(model.transform(ROWS)), ROWS)


def test_binner() -> None:
    model = QuantileBinner(n_bins=4, bounds=(-10, 15), budget=Approx(1, "1e-5"))
    bins = model.fit_transform(ROWS)
    shares = np.bincount(bins[:, 0].astype(int), minlength=4) / len(ROWS)
    assert np.all(np.abs(shares - 0.25) < 0.08)
    assert all(np.all(np.diff(edges) >= 0) for edges in model.edges_)


def test_noise_alone_breaks_nothing() -> None:
    for model in (
        StandardScaler(bounds=(0, 1), budget=GDP("1/1000")),
        QuantileBinner(bounds=(0, 1), budget=GDP("1/1000")),
    ):
        assert np.all(np.isfinite(model.fit(ROWS[:5]).transform(ROWS)))
