"""Two laws against a promise: no alarm where it is kept exactly, an alarm just above it."""

import math
from fractions import Fraction
from typing import Any

import pytest

from discreet.checking.exact.laws import Law, against, delta_down, kl_down, refutations, renyi_down
from discreet.exact import exp_down, exp_up
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Pure, Renyi

HALF = (Fraction(1, 2),) * 2


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1/5", 1, 7, 35, 50, 69, 120, 500])
def test_a_large_epsilon_raises_no_alarm_at_the_ends_of_the_law(epsilon: Any) -> None:
    """What a law leaves out is rare on one side, and e^ε times as likely on the other."""
    m = laplace(sensitivity=1, epsilon=epsilon)
    assert not list(refutations(m.event, m.law(0), m.law(1)))
    assert not list(refutations(m.event, m.law(1), m.law(0)))


@pytest.mark.parametrize(
    "claim", [Pure(1), Approx(1, "1e-9"), ZCDP("1/2"), ZCDP("1/2", "1e-9"), GDP(1), Renyi({2: 1, 8: 4})]
)
def test_an_output_that_only_one_side_gives_refutes_every_promise(claim: object) -> None:
    p: Law = {0: HALF, 1: HALF}
    q: Law = {0: (Fraction(1),) * 2}
    assert list(against(claim, p, q))  # type: ignore[arg-type]


def test_the_hockey_stick_of_randomized_response_is_exact() -> None:
    keep = exp_down(Fraction(1)) / (1 + exp_down(Fraction(1)))
    p: Law = {0: (keep, keep), 1: (1 - keep, 1 - keep)}
    q: Law = {0: (1 - keep, 1 - keep), 1: (keep, keep)}
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(9, 10)):
        truth = keep - (exp_up(epsilon) if epsilon else 1) * (1 - keep)
        assert 0 <= truth - delta_down(p, q, epsilon) < Fraction(1, 1 << 90)
    assert delta_down(p, q, Fraction(1)) == 0


def test_the_renyi_divergence_of_two_coins_is_exact() -> None:
    third = Fraction(1, 3)
    p: Law = {0: HALF, 1: HALF}
    q: Law = {0: (third, third), 1: (1 - third, 1 - third)}
    # sum p^2/q = 1/4 * 3 + 1/4 * 3/2 = 9/8, and sum p log(p/q) = log(9/8)/2
    assert abs(float(renyi_down(p, q, 2)) - math.log(9 / 8)) < 1e-15
    assert abs(float(kl_down(p, q)) - math.log(9 / 8) / 2) < 1e-15


@pytest.mark.parametrize("mechanism", [gaussian(sensitivity=1, sigma=2), gaussian(sensitivity=3, sigma="1/2")])
def test_the_divergences_of_a_gaussian_are_those_of_its_rho(mechanism: Any) -> None:
    """For a discrete Gaussian moved by a whole number, D_α = ρα at every order, 1 included."""
    p, q = mechanism.law(0), mechanism.law(3 if mechanism.moves_squared == 9 else 1)
    rho = float(mechanism.rho)
    assert 0 <= 1 - float(kl_down(p, q)) / rho < 1e-9
    assert 0 <= 1 - float(renyi_down(p, q, 2)) / (2 * rho) < 1e-9


def test_mass_that_may_lie_anywhere_is_taken_off() -> None:
    p: Law = {0: HALF, 1: HALF}
    q: Law = {0: HALF}
    assert float(delta_down(p, q, Fraction(0), missing=Fraction(1, 2))) == 0
    assert float(delta_down(p, q, Fraction(0), missing=Fraction(1, 4))) == 0.25


def test_a_gaussian_one_percent_too_narrow_is_refuted() -> None:
    honest, narrow = gaussian(sensitivity=1, rho="1/2"), gaussian(sensitivity=1, sigma="0.99")
    assert not list(refutations(honest.event, honest.law(0), honest.law(1)))
    assert list(refutations(honest.event, narrow.law(0), narrow.law(1)))
