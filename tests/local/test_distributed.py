"""Noise in shares: laws by convolution, a simulated secure sum with dropouts, the proven gap against the truth."""

import secrets
from fractions import Fraction
from math import exp, lgamma, log
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.local.distributed import (
    GaussianShares,
    _thresholds,
    gaussian_shares,
    laplace_shares,
    negative_binomial,
)
from discreet.privacy.promises import events
from discreet.randomness import SystemBits
from tests.helpers.laws import misfit

MODULUS = 1 << 32


def pmf(r: float, scale: float, reach: int) -> list[float]:
    """The negative binomial law, independently, through gamma functions."""
    q = exp(-1 / scale)
    return [
        exp(lgamma(k + r) - lgamma(r) - lgamma(k + 1) + r * log(1 - q) + k * log(q)) for k in range(reach)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("r", "scale"), [(Fraction(1, 7), Fraction(2)), (Fraction(1), Fraction(1)), (Fraction(1, 9), Fraction(9))]
)
def test_thresholds_enclose_the_law(r: Fraction, scale: Fraction) -> None:
    low, high = _thresholds(r, scale, 40)
    total = 0.0
    for j, chance in enumerate(pmf(float(r), float(scale), len(low))):
        total += chance
        assert low[j] <= high[j] <= low[j] + 2
        assert total == pytest.approx(low[j] / 2**40, abs=1e-10)
    assert low == sorted(low)
    finer, _ = _thresholds(r, scale, 72)
    assert len(finer) > len(low)
    assert all(a == b >> 32 or abs(a - (b >> 32)) <= 2 for a, b in zip(low, finer, strict=False))


def test_draws_have_the_law() -> None:
    r, scale = Fraction(1, 3), Fraction(2)
    law = {k: (Fraction(p), Fraction(p)) for k, p in enumerate(pmf(1 / 3, 2.0, 80))}
    draws = [negative_binomial(r, scale, SystemBits()) for _ in range(20_000)]
    assert misfit(draws, law) < 1
    assert misfit([negative_binomial(Fraction(1, 2), scale, SystemBits()) for _ in range(5000)], law) > 1


@pytest.mark.parametrize("honest", [1, 2, 5])
def test_shares_add_up_to_discrete_laplace_noise(honest: int) -> None:
    """By convolution: honest times NB(1/honest), and the same subtracted."""
    scale, reach = 1.5, 120
    one = np.array(pmf(1 / honest, scale, reach))
    total = np.array([1.0])
    for _ in range(honest):
        total = np.convolve(total, one)[:reach]
    q = exp(-1 / scale)
    both = np.convolve(total, total[::-1])
    middle = len(both) // 2
    expected = [(1 - q) / (1 + q) * q ** abs(z) for z in range(-10, 11)]
    assert np.allclose(both[middle - 10 : middle + 11], expected, atol=1e-12)


def secure_sum(masked: list[int], lost: set[int]) -> int:
    """A simulated secure sum: pairwise masks that cancel; those of clients who dropped out are taken back."""
    n = len(masked)
    masks = {(i, j): secrets.randbelow(MODULUS) for i in range(n) for j in range(i + 1, n)}
    sent = [
        (masked[i] + sum(masks[i, j] for j in range(i + 1, n)) - sum(masks[j, i] for j in range(i))) % MODULUS
        for i in range(n)
    ]
    total = sum(sent[i] for i in range(n) if i not in lost)
    for i in lost:
        for j in set(range(n)) - lost:
            total -= masks[min(i, j), max(i, j)] * (1 if j < i else -1)
    result = total % MODULUS
    return result - MODULUS if result >= MODULUS // 2 else result


def test_a_secure_sum_with_dropouts_has_at_least_the_noise_that_is_priced() -> None:
    plain = secure_sum([5] * 10, {2, 7})
    assert plain == 40
    shares = laplace_shares(epsilon=1, clients=10, dropouts=2)
    law_scale = float(shares.scale)
    q = exp(-1 / law_scale)
    law = {z: (Fraction((1 - q) / (1 + q) * q ** abs(z)),) * 2 for z in range(-40, 41)}
    draws = [secure_sum([shares.masked(1) for _ in range(10)], {0, 1}) - 8 for _ in range(2000)]
    assert misfit(draws, law) < 1  # exactly as many as may: exactly the law
    short = [secure_sum([shares.masked(1) for _ in range(10)], {0, 1, 2, 3, 4, 5}) - 4 for _ in range(2000)]
    assert misfit(short, law) > 1  # too many dropped out: less noise
    assert shares.event == events.DiscreteLaplace(1)


@pytest.mark.parametrize("sigma_squared", [0.25, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_proven_gap_holds_for_sums_that_can_be_computed(sigma_squared: float, n: int) -> None:
    made = GaussianShares(Fraction(sigma_squared), 1, n, 0)
    reach = 60
    one = np.array([exp(-k * k / (2 * sigma_squared)) for k in range(-reach, reach + 1)])
    one /= one.sum()
    total = np.array([1.0])
    for _ in range(n):
        total = np.convolve(total, one)
    for alpha in (1.5, 2.0, 4.0):
        p, q = total[1:], total[:-1]
        good = (p > 1e-60) & (q > 1e-60)  # what is left out adds nothing that floats can see
        divergence = log((p[good] * (p[good] / q[good]) ** (alpha - 1)).sum()) / (alpha - 1)
        assert divergence <= alpha * float(made.rho) + 1e-9
    if n == 1:
        assert made.gap == 0
    elif sigma_squared == 0.25:
        assert made.gap > Fraction(1, 10)  # and where shares are small, the gap is in the price


def test_gaussian_shares_cost_what_was_asked() -> None:
    for rho, n, lost in (("1/8", 10, 0), ("1/2", 3, 1), ("1/100", 50, 10)):
        shares = gaussian_shares(rho=rho, clients=n, dropouts=lost)
        assert shares.rho <= Fraction(rho)
        assert shares.event == events.ZCDP(shares.rho)
        assert shares.each >= Fraction(1, 4)
    total = gaussian_shares(rho="1/8", clients=100).shares(1000)
    assert total.shape == (1000,)
    assert isinstance(shares.masked(3), int)


@pytest.mark.parametrize("given", [{"clients": 0}, {"dropouts": 10}, {"dropouts": -1}, {"sensitivity": 0}])
def test_bad_parameters(given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        laplace_shares(**{"epsilon": 1, "clients": 10, **given})
    with pytest.raises(BadParameter):
        gaussian_shares(**{"rho": 1, "clients": 10, **given})
    with pytest.raises(BadParameter):
        laplace_shares(epsilon=0, clients=3)
