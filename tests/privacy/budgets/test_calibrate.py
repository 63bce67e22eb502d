"""calibrate.py: what fits, fits; one tolerance less does not."""

from fractions import Fraction
from typing import Any

import pytest
from dp_accounting import dp_event, rdp
from dp_accounting.pld import privacy_loss_distribution as pld

from discreet.errors import BadParameter, NoPrice
from discreet.privacy.accountants.conversions import gdp_delta, zcdp_to_approx
from discreet.privacy.budgets.calibrate import budget_for, calibrate, covers
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Measure, Pure, Renyi

TENTH = "1/10"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "budget"),
    [
        (events.Laplace, Pure(TENTH)),
        (lambda s: events.DiscreteLaplace(s, 3), Pure("0.7")),
        (events.Gaussian, GDP("0.3")),
        (events.Gaussian, ZCDP("0.3")),
        (events.DiscreteGaussian, ZCDP("0.01")),
        (events.Gaussian, Renyi({2: "0.1", 8: "0.2"})),
        (events.Gaussian, Approx(1, "1e-6")),
        (events.DiscreteGaussian, Approx(1, "1e-6")),
        (events.Laplace, Approx(1, "1e-6")),
        (lambda s: events.Repeat(events.Laplace(s), 500), Approx(1, "1e-6")),
        (lambda s: events.Composed([events.Gaussian(s), events.Laplace(2 * s)]), Approx(1, "1e-6")),
        (lambda s: events.Repeat(events.Subsampled(events.Gaussian(s), "0.01"), 100), Approx(1, "1e-5")),
        (lambda s: events.Composed([events.DiscreteGaussian(s), events.Approx(0, "1e-7")]), Approx(1, "1e-6")),
    ],
)
def test_fits_and_no_less_does(make: Any, budget: Measure) -> None:
    scales: list[Fraction] = []

    def recorded(s: Fraction) -> events.Event:
        scales.append(s)
        event: events.Event = make(s)
        return event

    event = calibrate(recorded, budget, tolerance="1e-4")
    assert covers(event, budget)
    scale = next(s for s in scales if make(s) == event)
    assert not covers(make(scale * (1 - Fraction(2, 10**4))), budget)


def test_known_figures() -> None:
    event: Any = calibrate(lambda s: events.Repeat(events.Gaussian(s), 1000), Approx(1, 1e-6))
    assert 133.596077 - 1e-6 < float(event.event.sigma) < 133.596077 + 2e-6
    assert gdp_delta(GDP(mu_squared=1000 * event.event.mu_squared), 1).upper <= Fraction(1e-6)
    assert calibrate(events.Laplace, Pure("1/2")) == events.Laplace(2)


def test_the_closed_form_beats_rdp() -> None:
    event: Any = calibrate(events.Gaussian, Approx(1, 1e-6))
    accountant = rdp.RdpAccountant()
    accountant.compose(dp_event.GaussianDpEvent(float(event.sigma)))
    assert accountant.get_epsilon(1e-6) > 1


def test_another_accountant_may_decide() -> None:
    def by_pld(event: events.Event, budget: Measure) -> bool:
        assert isinstance(event, events.Laplace)
        assert isinstance(budget, Approx)
        theirs = pld.from_laplace_mechanism(float(event.scale), value_discretization_interval=1e-3)
        return bool(theirs.get_epsilon_for_delta(float(budget.delta)) <= budget.epsilon)

    event: Any = calibrate(events.Laplace, Approx(1, "0.01"), fits=by_pld, tolerance="1e-3")
    assert event.scale < 1


def test_impossible_budgets() -> None:
    with pytest.raises(NoPrice):
        calibrate(events.Gaussian, Pure(1))
    with pytest.raises(BadParameter, match="budget"):
        calibrate(events.Gaussian, Approx(1, 0))
    with pytest.raises(BadParameter, match="budget"):
        calibrate(events.Laplace, Pure(0))
    with pytest.raises(BadParameter):
        calibrate(events.Laplace, Pure(1), tolerance=0)


def test_budget_for() -> None:
    assert budget_for(events.Laplace(2)) == Approx("1/2", 0)
    better = budget_for(events.Approx(1, "1e-9"), delta="1e-6")  # the rest of delta buys a little epsilon
    assert Approx("0.99999", "1e-6") < better < Approx(1, "1e-6")
    repeated = events.Repeat(events.Gaussian(10), 100)
    assert float(budget_for(repeated, delta=1e-6).epsilon) == pytest.approx(4.886554117, rel=1e-9)
    discrete = events.DiscreteGaussian(1)
    assert budget_for(discrete, delta="1e-6").epsilon <= zcdp_to_approx(ZCDP("1/2"), delta="1e-6").epsilon
    calls: list[Any] = [
        lambda: budget_for(events.Gaussian(1)),
        lambda: budget_for(events.Approx(1, "1e-3"), delta="1e-6"),
    ]
    for call in calls:
        with pytest.raises(NoPrice):
            call()


def test_covers_refuses_what_nobody_prices() -> None:
    sampled = events.Subsampled(events.Gaussian(1), "0.1", events.Sampling.WITHOUT_REPLACEMENT)
    with pytest.raises(NoPrice):
        covers(sampled, Approx(1, "1e-6"))
