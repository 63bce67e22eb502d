"""The Gaussian mechanism: prices by hand, its law against the closed form, calibration by the discrete law."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.mechanisms.additive.gaussian import Gaussian, GaussianFor, gaussian
from discreet.mechanisms.base.sensitivity import L1, L2, Linf
from discreet.privacy.accountants.discrete_gaussian import delta_up
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Approx

F = Fraction


def test_two_of_three_give_the_third() -> None:
    assert gaussian(sensitivity=3, rho="1/2").sigma_squared == 9
    assert gaussian(sensitivity=3, sigma=3).rho == F(1, 2)
    assert gaussian(sensitivity=3, sigma_squared=9) == gaussian(sensitivity=3, sigma=3)
    given = gaussian(sigma=3, rho="1/2")
    assert isinstance(given, Gaussian)
    assert given.moves_squared == 9
    assert gaussian(rho=1) == GaussianFor(ZCDP(1), None)


@pytest.mark.parametrize(
    ("sensitivity", "squared"), [(L1(3), 9), (L2(2), 4), (L2(squared=50), 50), (Linf(2), 16)], ids=str
)
def test_norms_of_a_vector_of_four_whole_numbers(sensitivity: L1 | L2 | Linf, squared: int) -> None:
    m = gaussian(sensitivity=sensitivity, rho="1/2", dimension=4)
    assert (m.moves_squared, m.sigma_squared, m.price) == (squared, F(squared), ZCDP("1/2"))


def test_the_price_of_a_pair_is_kept_by_its_own_law() -> None:
    m = gaussian(sensitivity=2, epsilon=1, delta="1e-5")
    assert m.goal == Approx(1, "1e-5")
    assert m.cost.startswith("epsilon 1, delta 1e-05 (rho ")
    assert delta_up(m.sigma_squared, 2, F(1)) <= F(1, 10**5)


def test_the_event_at_another_distance() -> None:
    m = gaussian(sensitivity=2, sigma=3)
    assert m.event == events.DiscreteGaussian(sigma=3, sensitivity=2)
    assert m.event_at(6) == events.DiscreteGaussian(sigma=3, sensitivity=6)
    with pytest.raises(BadParameter, match="integer"):
        m.event_at(L2(squared=2))


@pytest.mark.parametrize("sigma", [F(1, 2), F(3), F(20)])
def test_the_law_is_the_closed_form(sigma: Fraction) -> None:
    m = gaussian(sensitivity=1, sigma=sigma)
    k = np.arange(-400, 401)
    weight = np.exp(-(k.astype(float) ** 2) / (2 * float(sigma) ** 2))
    chance = weight / weight.sum()
    for z in (0, 1, -1, 7):
        low, high = m.pmf(z)
        assert low <= high
        assert float(high) == pytest.approx(float(chance[k == z][0]), rel=1e-9, abs=1e-25)
    for reach in (0, 2, 5):
        assert float(m.tail_up(reach)) == pytest.approx(float(chance[np.abs(k) > reach].sum()), rel=1e-9, abs=1e-25)
    exact = float((np.abs(k) * chance).sum())
    assert exact * (1 - 1e-9) <= float(m.expected_size_up()) <= exact * 1.002


def test_what_waits_for_its_sensitivity_releases_nothing() -> None:
    waiting = gaussian(rho=1)
    with pytest.raises(BadParameter, match="sensitivity"):
        waiting.release(5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sensitivity": 1, "epsilon": 1}, "never purely private"),
        ({"sensitivity": 1, "delta": "1e-6"}, "with epsilon"),
        ({"sensitivity": 1, "rho": 1, "epsilon": 1, "delta": "1e-6"}, "together with epsilon"),
        ({"sensitivity": 1, "sigma": 1, "sigma_squared": 1}, "together with sigma_squared"),
        ({"sensitivity": 1}, "says nothing of the noise"),
        ({}, "two of sensitivity"),
        ({"sensitivity": 1, "rho": 1, "sigma": 1}, "two of sensitivity"),
        ({"sigma": "1/2", "rho": "1/8"}, "must be larger for integer answers"),
        ({"sensitivity": "1/2", "rho": 1, "real": False}, "leave out real=False"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        gaussian(**arguments)


@pytest.mark.slow
def test_for_error_is_the_cheapest() -> None:
    m = gaussian.for_error(100, "0.95", 1)
    assert 98 <= m.error_at("0.95") <= 100
    assert math.sqrt(m.sigma_squared) == pytest.approx(100 / 1.96, rel=0.03)


def test_calibration_by_the_discrete_law_is_certified_and_tight() -> None:
    m = gaussian(sensitivity=1, epsilon=1, delta="1e-6")
    assert delta_up(m.sigma_squared, 1, Fraction(1)) <= Fraction(1, 10**6)
    assert delta_up(m.sigma_squared * Fraction(99, 100), 1, Fraction(1)) > Fraction(1, 10**6)
    real = gaussian(sensitivity="1/2", epsilon=1, delta="1e-6")
    assert abs(float(real.sigma_squared) ** 0.5 * float(real.cell) * 2 - 4.224678889) < 1e-4
