"""The law of a weighted sum of discrete noises, against exact convolution."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.additive.gaussian import Gaussian, gaussian
from discreet.mechanisms.additive.laplace import Laplace, laplace
from discreet.mechanisms.statistics.error_bounds import Sums
from discreet.mechanisms.statistics.sum_law import LEAST, Terms, law_error
from discreet.mechanisms.statistics.worst_sum import noise_sum

NOISES: list[Laplace | Gaussian] = [
    *(laplace(sensitivity=1, scale=b) for b in ("1/3", 1, 6)),
    *(gaussian(sensitivity=1, sigma=s) for s in ("1/3", 1, 6)),
]
TERMS: list[Terms] = [((1.0, 1),), ((1.0, 5),), ((0.5, 3), (0.75, 2)), ((0.125, 8), (1.0, 1), (-0.625, 2))]
MISSES = (0.4, 0.2, 0.05, 1e-3, 1e-6)


def beyond(noise: Laplace | Gaussian, terms: Terms, error: float) -> float:
    """P[|sum| > error] by convolution, for weights that are eighths."""
    wide = 40 * math.ceil(float(noise.scale) if isinstance(noise, Laplace) else math.sqrt(noise.sigma_squared))
    z = np.arange(-wide, wide + 1)
    logs = -abs(z) / float(noise.scale) if isinstance(noise, Laplace) else -(z**2) / (2 * float(noise.sigma_squared))
    one = np.exp(logs) / np.exp(logs).sum()
    law = np.ones(1)
    for weight, many in terms:
        step = abs(round(8 * weight))
        spread = np.zeros(2 * wide * step + 1)
        spread[::step] = one
        for _ in range(many):
            law = np.convolve(law, spread)
    at = abs(np.arange(len(law)) - len(law) // 2) / 8
    return float(law[at > error + 1e-9].sum())


def bar(noise: Laplace | Gaussian, terms: Terms) -> Sums:
    return Sums(noise, Fraction(sum(many * w * w for w, many in terms)), 1, terms)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("terms", TERMS, ids=str)
def test_no_sum_misses_more_often_than_said(noise: Laplace | Gaussian, terms: Terms) -> None:
    """And a bar a tenth shorter (twin) misses too often somewhere: bars are as short as they can be."""
    weight = sum(many * w * w for w, many in terms)
    deviation = math.sqrt(float(bar(noise, terms).variance_up))
    for miss in MISSES:
        error = bar(noise, terms).error_at(1 - Fraction(miss))
        assert beyond(noise, terms, error) <= miss
        assert beyond(noise, terms, error - 0.03 * deviation - 0.13) > miss or error < 0.2
        assert beyond(noise, terms, noise_sum(noise, weight, miss)) <= miss


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_one_noise_has_its_exact_bar(noise: Laplace | Gaussian) -> None:
    for miss in MISSES:
        assert bar(noise, ((1.0, 1),)).error_at(1 - Fraction(miss)) == pytest.approx(
            noise.error_at(1 - Fraction(miss)), abs=1 if miss < 1e-4 else 0
        )
    assert bar(noise, ((1.0, 1),)).expected_error == noise.expected_error


def test_rare_misses_and_long_sums_have_other_bounds() -> None:
    noise = laplace(sensitivity=1, scale=6)
    assert law_error(noise, ((1.0, 1),), LEAST / 2, 200.0) is None
    assert law_error(noise, tuple((1 / k, 1) for k in range(1, 1000)), 0.05, 1e4) is None
    assert bar(noise, ((1.0, 1),)).error_at(1 - Fraction(1, 10**20)) < 400


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_thresholds_are_made_by_exact_arithmetic(noise: Laplace | Gaussian) -> None:
    """What privacy hangs on is never shorter than the bar that floats gave."""
    for miss in MISSES:
        sums = bar(noise, TERMS[2])
        assert sums.certified_error(1 - Fraction(miss)) >= sums.error_at(1 - Fraction(miss))
