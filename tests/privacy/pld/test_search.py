"""Where to look: moments of a sketch, tilts that hit what they aim at, and the common step of several lattices."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.privacy.pld.atoms import box, response
from discreet.privacy.pld.continuous import GaussianPair, LaplacePair
from discreet.privacy.pld.search import Sketch, common_lattice, gcd
from tests.helpers.exact_pairs import ListedPair

F = Fraction


def test_the_moments_of_gaussian_losses() -> None:
    """n losses N(μ²/2, μ²): K(θ) = n(θμ²/2 + θ²μ²/2), and its derivatives."""
    mu, n = 0.5, 12
    sketch = Sketch.of([(GaussianPair(mu), n)], 1e-12)
    for theta in (0.0, 1.0, 3.0):
        k, mean, variance = sketch.moments(theta)
        assert k == pytest.approx(n * mu**2 * (theta + theta**2) / 2, abs=2e-2)
        assert mean == pytest.approx(n * mu**2 * (0.5 + theta), rel=2e-2)
        assert variance == pytest.approx(n * mu**2, rel=2e-2)


def test_the_moments_of_a_list_are_exact() -> None:
    sketch = Sketch.of([(response(F(1), 2), 3), (response(F(2), 2), 1)], 1e-12)
    by_hand = 3 * math.log((math.exp(3) + math.exp(-2)) / (math.e + 1)) + math.log(
        (math.exp(6) + math.exp(-4)) / (math.exp(2) + 1)
    )
    assert sketch.moments(2.0)[0] == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("epsilon", [2.0, 4.0, 8.0])
def test_a_tilt_for_epsilon_has_its_mean_there(epsilon: float) -> None:
    sketch = Sketch.of([(GaussianPair(0.5), 12)], 1e-30)
    theta = sketch.tilt_for_epsilon(epsilon)
    assert sketch.moments(theta)[1] == pytest.approx(max(epsilon, 1.5), rel=0.5 if epsilon <= 2 else 0.05)


def test_a_smaller_delta_takes_a_steeper_tilt() -> None:
    sketch = Sketch.of([(GaussianPair(0.5), 12)], 1e-60)
    tilts = [sketch.tilt_for_delta(delta) for delta in (1e-2, 1e-6, 1e-12)]
    assert tilts == sorted(tilts)
    assert sketch.log_delta(tilts[1])[0] == pytest.approx(math.log(1e-6), abs=0.5)
    alarms = [sketch.tilt_for_false_alarms(alpha) for alpha in (1e-2, 1e-6)]
    assert alarms == sorted(alarms)


def test_at_the_largest_loss_the_tilt_does_not_run_away() -> None:
    sketch = Sketch.of([(LaplacePair(F(1), 1.0), 2)], 1e-12)
    assert sketch.tilt_for_epsilon(2.5) < 1e3


@pytest.mark.parametrize(
    ("a", "b", "common"),
    [(F(1, 2), F(1, 3), F(1, 6)), (F(4), F(6), F(2)), (F(3, 4), F(3, 4), F(3, 4)), (F(2, 3), F(4, 9), F(2, 9))],
)
def test_the_greatest_common_step(a: Fraction, b: Fraction, common: Fraction) -> None:
    assert gcd(a, b) == gcd(b, a) == common
    assert (a / common).denominator == (b / common).denominator == 1


def test_the_common_lattice_of_pairs() -> None:
    assert common_lattice([(response(F(1, 2), 3), 1), (response(F(1, 3), 3), 5)]) == F(1, 6)
    assert common_lattice([(box(F(1), F(0)), 1)]) == 2
    assert common_lattice([(GaussianPair(1.0), 1)]) is None
    assert common_lattice([(GaussianPair(1.0), 1), (response(F(1), 3), 1)]) == 1
    assert common_lattice([(response(F(1), 3), 1), (ListedPair([(1, 2), (3, 1)]), 1)]) is None
    assert np.isfinite(Sketch.of([(GaussianPair(1.0), 1)], 1e-9).loss).all()
