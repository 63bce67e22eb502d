"""Quantiles of sums of normal and Laplace noise against the exact laws of scipy."""

import numpy as np
import pytest
from scipy import stats

from discreet.learning.inference.noise_law import LAPLACE, Noise, chance_beyond, quantile


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_normal_quantiles_are_exact(level: float) -> None:
    assert quantile(level) == pytest.approx(stats.norm.ppf((1 + level) / 2), rel=1e-9)
    assert chance_beyond(quantile(level)) == pytest.approx(1 - level, rel=1e-6)


@pytest.mark.parametrize(("level", "rel"), [(0.9, 0.05), (0.95, 0.03), (0.99, 0.01)])
def test_laplace_noise_alone_is_held_as_often_as_said(level: float, rel: float) -> None:
    """Never less by more than 0.7 % of the level; a normal quantile holds 93.7 % of it at 95 %."""
    away = quantile(level, LAPLACE) * 2**0.5
    assert level - 0.007 < 1 - np.exp(-away) < level + rel
    assert 1 - np.exp(-quantile(0.95) * 2**0.5) < 0.94


@pytest.mark.parametrize("degrees", [10, 30, 100])
def test_students_law(degrees: int) -> None:
    assert quantile(0.95, degrees=degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=0.015)


@pytest.mark.parametrize("away", [0.5, 2.0, 5.0, 12.0])
@pytest.mark.parametrize(("excess", "degrees"), [(0.0, np.inf), (3.0, np.inf), (1.0, 20.0)])
def test_p_values_are_those_of_the_intervals(away: float, excess: float, degrees: float) -> None:
    chance = chance_beyond(away, excess, degrees)
    if chance > 1e-14:
        assert quantile(1 - chance, excess, degrees) == pytest.approx(away, rel=1e-2)
    assert 0 < chance <= 1


def test_sums_that_share_a_noise_vary_together() -> None:
    noise = Noise(np.array([2.0, 1.0]), np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([3.0, 0.0]))
    assert noise.covariance.tolist() == [[4.0, 4.0], [4.0, 5.0]]
    assert noise.fourth_cumulants(np.array([[1.0, -1.0], [1.0, 0.0]])).tolist() == [0.0, 48.0]
    assert Noise(np.ones(2)).fourth_cumulants(np.ones((1, 2))).tolist() == [0.0]
