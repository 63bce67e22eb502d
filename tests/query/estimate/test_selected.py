"""Intervals of groups that nobody listed hold given that the group is shown: by the exact law of the noise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import discreet as dp
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.additive.laplace import Laplace
from discreet.query.estimate.selected import interval
from tests.helpers.extent import extent

NOISES: list[Laplace | Gaussian] = [
    Laplace(scale=Fraction(7), moves=1),
    Laplace(scale=Fraction(1, 2), moves=1),
    Gaussian(sigma_squared=Fraction(49), moves_squared=1),
    Gaussian(sigma_squared=Fraction(1, 4), moves_squared=1),
]
THRESHOLD = 60


def law(noise: Laplace | Gaussian, reach: int = 400) -> np.ndarray:
    at = np.arange(-reach, reach + 1)
    if isinstance(noise, Laplace):
        found = np.exp(-np.abs(at) / float(noise.scale))
    else:
        found = np.exp(-(at**2.0) / (2 * float(noise.sigma_squared)))
    return np.asarray(found / found.sum())


def missed(noise: Laplace | Gaussian, units: int, miss: float, *, given_shown: bool = True) -> float:
    """The chance that the interval of a shown group misses, exactly."""
    chances, noisy = law(noise), units + np.arange(-400, 401)
    shown = noisy >= THRESHOLD
    if chances[shown].sum() < 1e-250:  # no float tells what happens then
        return 0.0
    seen = noisy[shown].astype(float)
    if given_shown:
        low, high = interval(seen, THRESHOLD, noise, miss)
    else:  # as if nothing had been selected
        error = (
            float(noise.scale) * -math.log(miss)
            if isinstance(noise, Laplace)
            else 1.96 * math.sqrt(noise.sigma_squared)
        )
        low, high = seen - error - 1, seen + error + 1
    wrong = (units < low) | (units > high)
    return float(chances[shown][wrong].sum() / chances[shown].sum())


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES, ids=["Laplace", "small Laplace", "Gaussian", "small Gaussian"])
@pytest.mark.parametrize("miss", [0.3, 0.05, 0.001])
def test_the_interval_of_a_shown_group_holds_whatever_its_size(noise: Laplace | Gaussian, miss: float) -> None:
    sizes = [*range(60), *range(60, 200, extent(7, 1))]
    assert max(missed(noise, units, miss) for units in sizes) <= miss * (1 + 1e-9)


@pytest.mark.parametrize("noise", [NOISES[0], NOISES[2]], ids=["Laplace", "Gaussian"])
def test_intervals_that_ignore_the_selection_would_be_caught(noise: Laplace | Gaussian) -> None:
    """The planted twin: a bar around the noisy number, which misses every small group."""
    assert max(missed(noise, units, 0.05, given_shown=False) for units in range(60)) > 0.9


@pytest.mark.parametrize("noise", [NOISES[0], NOISES[2]], ids=["Laplace", "Gaussian"])
def test_far_above_the_threshold_intervals_are_as_short_as_others(noise: Laplace | Gaussian) -> None:
    scale = (
        float(noise.scale) * -math.log(0.05) if isinstance(noise, Laplace) else 1.96 * math.sqrt(noise.sigma_squared)
    )
    low, high = interval(np.array([1e5]), THRESHOLD, noise, 0.05)
    assert high[0] - low[0] == pytest.approx(2 * scale, abs=2.01)


def test_it_holds_the_number_itself() -> None:
    noisy = np.arange(THRESHOLD, 500, dtype=float)
    for noise in NOISES:
        low, high = interval(noisy, THRESHOLD, noise, 0.05)
        assert (low <= noisy).all()
        assert (noisy <= high).all()
        assert (np.diff(low) >= -1e-6).all()
        assert (np.diff(high) >= -1e-6).all()


def small_groups(epsilon: str, budget: dp.Approx) -> dp.TableAnswer:
    groups, units = 20_000, 9
    rows = pa.table({"who": np.arange(groups * units), "key": np.repeat(np.arange(groups), units)})
    table = dp.table(rows, unit="who", columns={"key": dp.unknown_keys()}, max_rows=1)
    session = dp.Session(t=table, budget=budget)
    return session.sql("SELECT key, COUNT(*) AS n, COUNT(DISTINCT who) AS u FROM t GROUP BY key").release(
        epsilon=epsilon
    )


@pytest.mark.slow
def test_small_groups_that_the_noise_made_large() -> None:
    """20,000 groups of 9: some sixty are shown, and 95 % of their bars hold. An alarm has a chance below 1e-8: bars
    around the noisy number missed all of them.
    """
    answer = small_groups("1", dp.Approx(1, "1e-6"))
    assert len(answer) > 10
    for name in ("n", "u"):
        ends = answer.intervals("0.95")[name]
        misses = sum(end is None or not end[0] <= 9 <= end[1] for end in ends)
        assert misses <= binom.isf(1e-9, len(answer), 0.05)
        assert all(
            end is not None and end[0] <= 9 <= end[1]
            for end in answer.intervals("0.999999999", simultaneous=True)[name]
        )
