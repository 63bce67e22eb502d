"""zcdp.py against sums over the integers and small mechanisms."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import pytest
from mpmath import mpf

from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.privacy.promises.events import MaxNoise
from discreet.privacy.promises.measures import ZCDP


@pytest.fixture(autouse=True, scope="module")
def _precise() -> Iterator[None]:
    with mpmath.workdps(40):
        yield


@pytest.mark.slow
def test_discrete_gaussian_is_attained() -> None:
    """At whole orders D_α is exactly αρ, so one per cent less is false; summed over the integers, orders 2 to 4."""
    for sigma_squared, shift in ((Fraction(1), 1), (Fraction(9, 4), 2), (Fraction(1, 4), 1)):
        rho = price_zcdp(events.DiscreteGaussian(sigma_squared=sigma_squared, sensitivity=shift)).rho
        s = mpf(sigma_squared.numerator) / sigma_squared.denominator
        p = {z: mpmath.exp(-mpf(z * z) / (2 * s)) for z in range(-60, 61)}
        total = sum(p.values())
        for order in (mpf("1.5"), 2, 3, 4):
            moments = sum(
                mpmath.exp(-order * mpf(z * z) / (2 * s) - (1 - order) * mpf((z - shift) ** 2) / (2 * s))
                for z in range(-300, 301)
            )
            divergence = mpmath.log(moments / total) / (order - 1)
            bound = mpf(rho.numerator) / rho.denominator * order
            assert divergence <= bound * (1 + mpf(10) ** -12)
            if order == int(order):
                assert divergence > bound * mpf("0.99")


def test_zcdp_prices() -> None:
    assert price_zcdp(events.Gaussian(2, 3)) == ZCDP("9/8")
    assert price_zcdp(events.Repeat(events.Gaussian(sigma=10), 100)) == ZCDP("1/2")
    assert price_zcdp(events.Composed([events.Gaussian(1), events.ZCDP("1/2", "1e-6")])) == ZCDP(1, "1e-6")
    assert price_zcdp(events.Parallel([events.Gaussian(1), events.Gaussian(2)])) == ZCDP("1/2")
    assert price_zcdp(events.Exponential(1)) == ZCDP("1/8") == price_zcdp(events.NoisyMax(1, MaxNoise.GUMBEL))
    assert price_zcdp(events.Approx(1, "1e-6")).delta == Fraction(1, 10**6)


@pytest.mark.parametrize(
    "event",
    [events.PermuteAndFlip(1), events.NoisyMax(1), events.NoisyMax(1, MaxNoise.EXPONENTIAL), events.Pure(1)],
)
def test_never_borrow_bounded_range(event: Any) -> None:
    rho = price_zcdp(event).rho
    assert Fraction(46, 100) < rho <= Fraction(1, 2)


def test_permute_and_flip_is_not_of_bounded_range() -> None:
    """A pair of scores for which ε²/8 would be false: exact law for two candidates, found by enumeration."""
    epsilon = mpf(3)

    def law(scores: tuple[int, int]) -> list[Any]:  # sensitivity 1, P(take i) = e^{ε(u_i - max)/2}
        take = [mpmath.exp(epsilon * (u - max(scores)) / 2) for u in scores]
        first = (take[0] + (1 - take[1]) * take[0]) / 2 if min(take) < 1 else mpf(1) / 2
        return [first, 1 - first]

    worst = mpf(0)
    for a, b in product(range(-3, 4), repeat=2):
        for c, d in product((-1, 0, 1), repeat=2):
            p, q = law((a, b)), law((a + c, b + d))
            for order in (mpf("1.01"), 2, 8):
                moment = sum(x**order * y ** (1 - order) for x, y in zip(p, q, strict=True))
                worst = max(worst, mpmath.log(moment) / (order - 1) / order)
    assert worst > epsilon**2 / 8 * mpf("0.5")
    rho = price_zcdp(events.PermuteAndFlip(3)).rho
    assert worst < mpf(rho.numerator) / rho.denominator
