"""The noise of the oracle: exact laws of neighbours, lengths, tails, and a planted twin that forgets L1."""

from fractions import Fraction
from math import exp, sinh

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.learning.oracle_noise import GaussianNoise, LaplaceNoise, noise_for
from discreet.mechanisms.additive.laplace import Laplace
from discreet.privacy.promises.events import Pure as PureEvent
from discreet.privacy.promises.measures import GDP, Approx, Pure
from discreet.privacy.promises.neighbours import Neighbours

NOISE = LaplaceNoise(Pure(1))


def test_a_budget_without_delta_buys_laplace_noise() -> None:
    assert isinstance(noise_for(Pure("1/2")), LaplaceNoise)
    assert isinstance(noise_for(GDP(1)), GaussianNoise)
    assert noise_for(Pure("1/2")).whole_event == PureEvent("1/2").about(Neighbours.ADD_REMOVE)
    with pytest.raises(BadParameter, match="above 0"):
        noise_for(Pure(0))
    with pytest.raises(BadParameter):
        noise_for(Approx(1, 0))


def test_no_row_is_longer_than_the_radius_in_l1() -> None:
    rows = np.random.default_rng(1).integers(-50, 51, (500, 4)).astype(float)
    for radius in (1, 7, 60, 200):
        cut = NOISE.cut(rows, radius)
        assert np.abs(cut).sum(axis=1).max() <= radius
        short = np.abs(rows).sum(axis=1) <= radius
        assert (cut[short] == rows[short]).all()
        assert (np.abs(cut) <= np.abs(rows)).all()
        assert (cut * rows >= 0).all()


@pytest.mark.slow
def test_the_loss_of_a_row_is_the_amount_and_a_radius_in_l2_is_refuted() -> None:
    """Exact: the largest ratio of the laws of two sums that differ by two entries, noise as ``release`` takes it."""
    amount, radius = Fraction(1, 2), 6
    law = Laplace(scale=radius / amount, moves=radius, dimension=1).law(0)

    def largest_loss(first: int, second: int) -> float:
        ratios = [max(law[z][1] / law[z + shift][0] for z in (-9, -3, 0)) for shift in (-first, -second)]
        return float(ratios[0] * ratios[1])

    assert max(largest_loss(k, radius - k) for k in range(radius + 1)) <= exp(amount) * (1 + 1e-9)
    assert largest_loss(radius, radius) > exp(0.99)  # the twin: each entry at most the radius, as Linf would allow


def test_noise_has_the_stated_scale_and_tails() -> None:
    """40,000 draws: the mean of |Z| is within 5 % of b (10 sigma); beyond the reach of 0.1 are fewer than 11 % (6)."""
    noisy, scale = NOISE.release(np.zeros(40_000, dtype=np.int64), 3, Fraction(1, 4))
    assert scale == 12
    assert abs(np.abs(noisy).mean() - 12) < 0.6
    assert (np.abs(noisy) > scale * NOISE.reach(0.1)).mean() < 0.11
    assert 1 / sinh(1 / 12) < 12


def test_sums_beyond_64_bits_do_not_wrap() -> None:
    noisy, scale = NOISE.release(np.array([2**62]), 1, Fraction(10**6))
    assert abs(noisy[0] - 2.0**62) <= 1024
    assert scale == 1e-6
