"""Absurd parameters get an answer or a refusal at once: e^x is never written out for a huge x."""

from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import BadParameter, DiscreetError, NoPrice, NotATheorem
from discreet.privacy.accountants import conversions as to
from discreet.privacy.accountants.advanced import price_advanced
from discreet.privacy.accountants.amplification import amplified
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.discrete_gaussian import tail_down, tail_up
from discreet.privacy.accountants.interop import to_dp_accounting
from discreet.privacy.accountants.optimal import Optimal
from discreet.privacy.accountants.renyi import price_renyi
from discreet.privacy.accountants.shuffling import shuffled, shuffled_delta
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.attacker.meaning import advantage, posterior, true_positive_rate
from discreet.privacy.budgets.calibrate import budget_for, calibrate
from discreet.privacy.budgets.filters import Filter, Rule
from discreet.privacy.budgets.odometers import Odometer
from discreet.privacy.numerics import normal
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Pure, Renyi
from discreet.privacy.promises.neighbours import Neighbours

HUGE = Fraction(10) ** 300
TINY = 1 / HUGE


def test_groups() -> None:
    with pytest.raises(NotATheorem):
        Approx(HUGE, TINY).group(2)
    assert Approx(HUGE, 0).group(2) == Approx(2 * HUGE, 0)
    assert Approx(TINY, TINY).group(10**9).delta >= 10**9 * TINY


@pytest.mark.slow
@pytest.mark.parametrize(
    "event",
    [
        events.Laplace(TINY), events.DiscreteLaplace(TINY), events.Pure(HUGE), events.RandomizedResponse(HUGE, 3),
        events.PermuteAndFlip(HUGE), events.Exponential(HUGE), events.Subsampled(events.Laplace(TINY), "0.5"),
        events.Repeat(events.Pure("0.1"), 10**18), events.DiscreteLaplace(HUGE, 10**200), events.Laplace(HUGE),
        events.Gaussian(TINY), events.Gaussian(HUGE), events.Subsampled(events.Laplace(HUGE), TINY),
    ],
)  # fmt: skip
def test_prices(event: Any) -> None:
    for price in (price_zcdp, lambda e: price_renyi(e, [2, 64]), price_basic, lambda e: budget_for(e, delta="1e-6")):
        try:
            assert price(event) == price(event)
        except (NoPrice, NotATheorem):
            assert not isinstance(event, events.Pure)


def test_conversions() -> None:
    assert to.pure_to_zcdp_tight(Pure(HUGE)) == ZCDP(HUGE)
    assert to.pure_to_zcdp_tight(Pure(TINY)).rho <= TINY**2 / 2
    assert to.pure_to_renyi(Pure(HUGE), [2]) == Renyi({2: HUGE})
    assert to.zcdp_to_approx(ZCDP(TINY), epsilon=HUGE).delta < Fraction(1, 2**1000)
    assert to.zcdp_to_approx(ZCDP(HUGE), delta=TINY).epsilon >= HUGE
    assert to.zcdp_to_approx_classical(ZCDP(TINY), epsilon=HUGE).delta < Fraction(1, 2**1000)
    assert to.renyi_to_approx(Renyi({2: 1}), epsilon=HUGE).delta < Fraction(1, 2**1000)
    assert to.gdp_delta(GDP(1), HUGE).upper < Fraction(1, 2**1000)
    assert to.gdp_delta(GDP(HUGE), 1).upper == 1
    assert to.gdp_delta(GDP(HUGE), 10**6).lower == 0
    assert to.gdp_delta(GDP(TINY), 0).upper < 2 * TINY
    with pytest.raises(BadParameter):
        to.pure_to_gdp(Pure(HUGE))
    assert to.pure_to_gdp(Pure(4000)).mu > 100
    assert normal.cdf_up(Fraction(-(10**9))) > normal.cdf_down(Fraction(-(10**9))) == 0


def test_meaning() -> None:
    for promise in (Pure(HUGE), Approx(HUGE, "1e-6"), GDP(HUGE), ZCDP(HUGE)):
        assert true_positive_rate(promise, "0.5") == 1
        assert advantage(promise) == 1
    assert posterior(Pure(HUGE), TINY) == 1
    assert true_positive_rate(Approx(HUGE, "0.25"), 0) == 0.25


def test_amplification_and_composition() -> None:
    assert amplified(Approx(HUGE, 0), "0.5", events.Sampling.POISSON, Neighbours.ADD_REMOVE).epsilon == HUGE
    with pytest.raises(NoPrice):
        price_advanced(events.Pure(HUGE), "1e-6")
    with pytest.raises(BadParameter):
        Optimal(HUGE, 0, 2)
    with pytest.raises(BadParameter):
        Optimal(1, 0, 10**12)
    assert Optimal(1, 0, 2).delta_at(HUGE).upper == 0
    with pytest.raises(BadParameter):
        shuffled(HUGE, 10, delta="0.1")
    assert shuffled_delta(8, 10**12, "0.5").upper < Fraction(1, 100)
    assert shuffled_delta(TINY, 10, 0).upper < Fraction(1, 10**200)
    with pytest.raises(NoPrice):
        to_dp_accounting(events.RandomizedResponse(HUGE))


def test_filters() -> None:
    for budget, rule in ((Approx(HUGE, "1e-6"), Rule.ADVANCED), (Pure(HUGE), None), (Approx(1, TINY), Rule.ZCDP)):
        spending = Filter(budget, rule)
        try:
            spending.spend(events.Pure(TINY))
        except DiscreetError:
            assert rule is Rule.ZCDP


@pytest.mark.slow
def test_far_tails_and_tiny_deltas() -> None:
    assert 0 < tail_up(Fraction(100), 10**12) < Fraction(1, 10**1000)
    assert tail_down(Fraction(100), 10**12) == 0
    assert tail_down(Fraction(100), 1000) < tail_up(Fraction(100), 1000)
    assert Odometer("1e-6", first="1e-700").record(Pure(1)).epsilon == 1
    assert calibrate(lambda s: events.Laplace(scale=s), Approx(1, "1e-400")) == events.Laplace(scale=1)
