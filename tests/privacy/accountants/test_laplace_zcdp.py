"""laplace_zcdp.py against sums over the integers, and the coefficients of its proof, exactly."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

import mpmath
import pytest
from mpmath import mpf

from discreet.privacy.accountants.conversions import pure_to_zcdp_tight
from discreet.privacy.accountants.laplace_zcdp import discrete_laplace_rho, laplace_rho
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Pure

ORDERS = ("1.000001", "1.01", "1.3", "2", "3.7", "16", "200")
SCALES = (Fraction(1, 20), Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(30))
MOVES = (1, 2, 3, 10, 75)


def divergence(order: Any, scale: Fraction, moved: int) -> Any:
    """D_α of the discrete Laplace law against its shift, summed term by term; tails as geometric series."""
    each = mpf(scale.denominator) / scale.numerator
    share = (1 - mpmath.exp(-each)) / (1 + mpmath.exp(-each))
    inner = sum(
        share * mpmath.exp(-each * z) * mpmath.exp((order - 1) * each * (moved - 2 * z)) for z in range(1, moved)
    )
    below = mpmath.exp((order - 1) * each * moved) / (1 + mpmath.exp(-each))
    above = mpmath.exp(-each * moved) * mpmath.exp(-(order - 1) * each * moved) / (1 + mpmath.exp(-each))
    return mpmath.log(inner + below + above) / (order - 1)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("moved", MOVES)
def test_no_order_exceeds_it_and_the_lowest_attains_it(scale: Fraction, moved: int) -> None:
    rho = discrete_laplace_rho(scale, moved)
    with mpmath.workdps(60):
        bound = mpf(rho.numerator) / rho.denominator
        for text in ORDERS:
            order = mpf(text)
            assert divergence(order, scale, moved) <= order * bound * (1 + mpf(10) ** -30)
        assert divergence(mpf("1.000001"), scale, moved) > bound * mpf("0.999")  # so one per mille less is false


def test_at_sensitivity_one_it_is_randomized_response() -> None:
    for scale in SCALES:
        general = pure_to_zcdp_tight(Pure(1 / scale)).rho
        assert abs(discrete_laplace_rho(scale, 1) - general) <= general / 10**9


def test_on_the_line() -> None:
    with mpmath.workdps(80):
        for epsilon in (Fraction(1, 10**6), Fraction(1, 2), Fraction(1), Fraction(20)):
            e = mpf(epsilon.numerator) / epsilon.denominator
            rho = laplace_rho(epsilon)
            kl, ours = e - 1 + mpmath.exp(-e), mpf(rho.numerator) / rho.denominator
            assert kl <= ours <= kl * (1 + mpf(10) ** -25)
            for text in ORDERS:
                a = mpf(text)
                n = 2 * a - 1
                moment = a / n * mpmath.exp((a - 1) * e) + (a - 1) / n * mpmath.exp(-a * e)
                assert mpmath.log(moment) / (a - 1) <= a * ours
    assert laplace_rho(Fraction(10**6)) <= 10**6


def test_savings_that_the_accountant_hands_on() -> None:
    for epsilon, saved in ((Fraction(1, 2), 0.13), (Fraction(1), 0.20)):
        general = pure_to_zcdp_tight(Pure(epsilon)).rho
        for event in (
            events.Laplace(scale=1 / epsilon),
            events.DiscreteLaplace(scale=1000 / epsilon, sensitivity=1000),
        ):
            assert abs(1 - float(price_zcdp(event).rho / general) - saved) < 0.01


def polynomial(*terms: tuple[int, int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for power, factor in terms:
        found[power] = found.get(power, 0) + factor
    return found


def times(x: dict[int, int], y: dict[int, int]) -> dict[int, int]:
    return polynomial(*((i + j, a * b) for i, a in x.items() for j, b in y.items()))


def plus(*all_of: dict[int, int]) -> dict[int, int]:
    return polynomial(*(pair for one in all_of for pair in one.items()))


def power_of(constant: int, n: int) -> dict[int, int]:
    """(w + constant)^n."""
    return {i: comb(n, i) * constant ** (n - i) for i in range(n + 1)}


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8, 13, 30])
def test_the_coefficients_of_the_proof_are_not_negative(k: int) -> None:
    """As polynomials in w, with m = w + 1: every coefficient, exactly."""
    w, m, minus = {1: 1}, {0: 1, 1: 1}, {0: -1}
    wide = plus(power_of(2, 2 * k), times(minus, power_of(0, 2 * k)))  # (m+1)^2k - (m-1)^2k
    near = plus(power_of(1, 2 * k), times(minus, power_of(-1, 2 * k)))  # (w+1)^2k - (w-1)^2k
    odd_m, odd_w = power_of(1, 2 * k - 1), power_of(0, 2 * k - 1)
    wm = times(w, m)
    at_one = plus(times(times(w, w), wide), times(times(m, m), near), times({0: -4 * k}, times(wm, plus(odd_m, odd_w))))
    slope = plus(
        times({0: 2}, times(times(w, w), wide)),
        times(m, near),
        times({0: -4 * k}, times(times(w, {0: 1, 1: 2}), odd_m)),
    )
    assert min(at_one.values()) >= 0
    assert min(slope.values()) >= 0
