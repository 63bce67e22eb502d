"""Error bars of weighted sums: never below the truth, and not far above it."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import noise
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.statistics.error_bounds import Scaled, Sums, Within
from tests.helpers.databases import too_few


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["1/3", 1, 20, 10**6])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("weight", [1, 9, 400])
def test_bars_cover_sums_of_noise(scale: str | int, kind: str, weight: int) -> None:
    if kind == "laplace":
        draws = noise.discrete_laplace(scale, size=(4000, weight)).sum(axis=1)
        bar = Sums(laplace(sensitivity=1, scale=scale), Fraction(weight), 1)
    else:
        draws = noise.discrete_gaussian(scale, size=(4000, weight)).sum(axis=1)
        bar = Sums(gaussian(sensitivity=1, sigma=scale), Fraction(weight), 1)
    for level in ("0.5", "0.9", "0.99"):
        assert not too_few(int((abs(draws) <= bar.error_at(level)).sum()), 4000, float(level))
    deviation = float(np.sqrt(float(bar.variance_up)))
    assert abs(draws).mean() <= bar.expected_error * 1.1
    assert bar.error_at("0.99") <= (4 if weight > 1 else 6) * deviation + 4
    assert abs(draws.std() - deviation) < 0.2 * deviation or kind == "gaussian"


def test_bars_of_fractional_weights() -> None:
    weights = np.array([1, -0.5, 0.25, 0.9, -1])
    bar = Sums(laplace(sensitivity=1, scale=5), Fraction(float((weights**2).sum())), 1)
    draws = noise.discrete_laplace(5, size=(4000, 5)) @ weights
    assert not too_few(int((abs(draws) <= bar.error_at("0.9")).sum()), 4000, 0.9)


def test_running_sums_are_covered_together() -> None:
    draws = abs(noise.discrete_laplace(3, size=(2000, 200)).cumsum(axis=1)).max(axis=1)
    bar = Sums(laplace(sensitivity=1, scale=3), Fraction(200), 2)  # Lévy: all cost what two like the last one cost
    assert not too_few(int((draws <= bar.error_at("0.8")).sum()), 2000, 0.8)


def test_more_answers_and_more_confidence_cost_width() -> None:
    m = laplace(sensitivity=1, scale=3)
    assert Sums(m, Fraction(4), 100).error_at("0.9") > Sums(m, Fraction(4), 1).error_at("0.9")
    assert Sums(m, Fraction(4), 1).error_at("0.99") > Sums(m, Fraction(4), 1).error_at("0.9")
    half = Scaled(m, Fraction(1, 2))
    assert (half.error_at("0.9"), half.expected_error) == (m.error_at("0.9") / 2, m.expected_error / 2)
    wide = Within(lambda level: float(10 * level), Fraction(5))
    assert wide.error_at("0.9") == 5
    assert 0 < wide.expected_error <= 7.5


def test_light_sums_have_bars_in_proportion() -> None:
    """A sum of weights 2^-20 has bars 2^-20 as long; the bound in exact arithmetic was as long as a whole noise."""
    noise = laplace(sensitivity=1, scale=1 << 20)
    whole, light = Sums(noise, Fraction(1), 1), Sums(noise, Fraction(1, 1 << 40), 1)
    for level in ("0.8", "0.999999"):
        assert light.certified_error(level) == pytest.approx(whole.certified_error(level) / (1 << 20), rel=1e-6)
        assert light.error_at(level) <= light.certified_error(level)
