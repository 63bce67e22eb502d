"""charges.py: exact sums, caps that hold by any amount, and prices that no theorem allows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import (
    BadParameter,
    NotATheorem,
    OverBudget,
)
from discreet.ledger import Ledger
from discreet.ledger.charges import Charge, left_after
from discreet.privacy.budgets.filters import Filter, Rule
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Measure, Pure, Renyi
from discreet.privacy.promises.neighbours import Neighbours
from tests.helpers.ledger_places import Place, ask, prepared


def charges(ledger: Ledger) -> int:
    return len(ledger.entries(kind="charge"))


@pytest.mark.slow
def test_a_cap_of_one_takes_ten_tenths(place: Place) -> None:
    with prepared(place) as ledger:
        for i in range(10):
            assert ask(ledger, f"k{i}").fresh
        with pytest.raises(OverBudget) as caught:
            ask(ledger, "k10", events.Pure("1e-300"))
        assert caught.value.left == Pure(0)
        assert charges(ledger) == 10
        assert ledger.standing("town").remaining == Pure(0)


def test_a_cap_of_three_tenths_takes_three(lite: Place) -> None:
    with prepared(lite, Pure("0.3")) as ledger:
        for i in range(3):
            ask(ledger, f"k{i}", Pure("0.1"))
        with pytest.raises(OverBudget):
            ask(ledger, "k3", Pure("1e-300"))


def test_a_subnormal_spend_is_not_lost(lite: Place) -> None:
    with prepared(lite) as ledger:
        ask(ledger, "k", Pure("1e-300"))
        with pytest.raises(OverBudget):
            ask(ledger, "whole", Pure(1))
        ask(ledger, "rest", Pure(1 - Fraction(1, 10**300)))


@pytest.mark.slow
def test_prices_of_any_length_are_written_down(lite: Place) -> None:
    """The sum stays short, and is never less than the truth."""
    with prepared(lite, ZCDP(1)) as ledger:
        truth = Fraction(0)
        for i in range(20):
            event = events.Gaussian(sigma=Fraction(7**310 + i, 3**500), sensitivity=Fraction(3**400, 7**200 + 3 * i))
            truth += event.mu_squared / 2
            ask(ledger, f"k{i}", event)
        spent = ledger.standing("town").charged
        assert isinstance(spent, ZCDP)
        assert truth <= spent.rho < truth + Fraction(1, 2**1000)
    with lite.open() as again:
        assert again.standing("town").charged == spent


BUDGETS: list[tuple[Measure, Rule | None, Measure | events.Event]] = [
    (Pure(1), None, events.Laplace(scale=7)),
    (Approx(1, "1e-6"), None, events.Gaussian(sigma=30)),
    (Approx(1, "1e-6"), None, events.Stated(events.DiscreteGaussian(sigma=30), "0.1", "1e-7")),
    (Approx(1, "1e-6"), None, events.Laplace(scale=6)),
    (Approx(1, "1e-6"), Rule.ZCDP, events.Gaussian(sigma=30)),
    (Approx(1, "1e-6"), Rule.BASIC, Approx("0.1", "1e-7")),
    (Approx(1, "1e-6"), Rule.ADVANCED, events.Threshold("0.05", "1e-8")),
    (ZCDP("1/8"), None, events.DiscreteGaussian(sigma=10)),
    (ZCDP("1/8", "1e-6"), None, events.Threshold("0.1", "1e-8")),
    (Renyi({2: 1, 8: 3}), None, Renyi({2: "0.1", 8: "0.3"})),
    (GDP(1), None, events.Gaussian(sigma=5)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("budget", "rule", "event"), BUDGETS, ids=lambda x: type(x).__name__)
def test_the_ledger_counts_as_the_filter_does(
    lite: Place, budget: Measure, rule: Rule | None, event: Measure | events.Event
) -> None:
    model = Filter(budget, rule)
    with lite.open(create=True) as ledger:
        ledger.owner.protect("town", budget, rule=rule)
        ledger.owner.register("visits", "town", marks=["visits"])
        ledger.owner.add_analyst("ann")
        ledger.owner.grant("ann", "town", budget)
        for i in range(4):
            assert ledger.standing("town").remaining == model.remaining
            charge, receipt = ask(ledger, f"k{i}", event), model.spend(event)
            assert charge.receipt is not None
            assert (charge.price, charge.receipt.left) == (receipt.price, receipt.left)
        assert ledger.standing("town").charged == ledger.standing("town", "ann").charged == model.charged
    with lite.open() as again:
        assert again.standing("town").charged == model.charged
        assert again.standing("town").remaining == model.remaining
        assert again.populations["town"].budget == budget


@pytest.mark.slow
def test_colluding_analysts_share_the_budget(place: Place) -> None:
    with prepared(place, Pure(1), cap=Pure("0.7")) as ledger:
        for i in range(7):
            ask(ledger, f"k{i}", analyst="ann")
        with pytest.raises(OverBudget):
            ask(ledger, "own cap", analyst="ann")
        assert ledger.standing("town", "ann").remaining == Pure(0)
        assert ledger.standing("town", "bob").remaining == Pure("0.3")
        for i in range(3):
            ask(ledger, f"k{i}", analyst="bob")  # the same keys: they are bound to the analyst
        with pytest.raises(OverBudget):
            ask(ledger, "the town's", analyst="bob")
        assert ledger.standing("town", "ann").charged == Pure("0.7")


ADDED = events.Parallel([events.Pure("0.1")])


CHANGED = events.Subsampled(events.Pure("0.1"), "1/2", events.Sampling.WITHOUT_REPLACEMENT)


@pytest.mark.parametrize("relation", Neighbours)
def test_a_price_for_another_relation_is_refused(lite: Place, relation: Neighbours) -> None:
    with lite.open(create=True) as ledger:
        ledger.owner.protect("town", Pure(1), neighbours=relation)
        ledger.owner.register("visits", "town", marks=["visits"])
        ledger.owner.add_analyst("ann")
        ledger.owner.grant("ann", "town")
        good, bad = (ADDED, CHANGED) if relation is Neighbours.ADD_REMOVE else (CHANGED, ADDED)
        for wrapped in (bad, events.Composed([bad]), events.Repeat(bad, 2)):
            with pytest.raises(NotATheorem, match="neighbours"):
                ask(ledger, "k", wrapped)
        assert charges(ledger) == 0
        ask(ledger, "k", good)
        ask(ledger, "k2", events.Pure("0.1"))


@pytest.mark.slow
def test_interactive_mechanisms_under_approximate_zcdp_are_refused(lite: Place) -> None:
    with prepared(lite, ZCDP(1, "1e-6")) as ledger:
        with pytest.raises(NotATheorem, match="interactive"):
            ask(ledger, "k", events.AboveThreshold("0.1"))
        ledger.owner.protect("village", ZCDP(1))
        ledger.owner.register("farms", "village", marks=["farms"])
        ledger.owner.grant("ann", "village")
        ledger.spend("farms", "ann", events.AboveThreshold("0.1"), key="k2", query="q")


def test_a_population_pays_for_its_own_neighbours_only(lite: Place) -> None:
    with prepared(lite) as ledger:
        ask(ledger, "own", events.Pure("0.1").about(Neighbours.ADD_REMOVE))
        with pytest.raises(NotATheorem, match="neighbours"):
            ask(ledger, "other", events.Pure("0.1").about(Neighbours.CHANGE_ONE))
        with pytest.raises(NotATheorem, match="biased bits"):
            ask(ledger, "biased", events.Biased("0.1"))
        assert (ledger.standing("town").charged, charges(ledger)) == (Pure("0.1"), 1)


@pytest.mark.parametrize("answer", [None, b"{}"])
@pytest.mark.parametrize("card", [None, "card"])
def test_a_charge_is_pending_pruned_or_answered(answer: bytes | None, card: str | None) -> None:
    nothing: Any = None
    charge = Charge(nothing, True, None, Pure(1), "", answer=answer, card=card)
    assert charge.pending is (answer is None and card is None)
    assert charge.pruned is (answer is None and card is not None)


def test_what_costs_nothing_needs_no_ledger(lite: Place) -> None:
    with prepared(lite) as ledger:
        with pytest.raises(BadParameter, match="must cost something"):
            ask(ledger, "k", Pure(0))
        assert charges(ledger) == 0


def test_what_was_left_after_a_charge_is_the_least_of_cap_and_budget(lite: Place) -> None:
    with prepared(lite, Pure(1), cap=Pure("0.5")) as ledger:
        town = ledger.populations["town"]
        made = [ask(ledger, f"k{i}", Pure(price), analyst=who) for i, (who, price) in enumerate(
            [("ann", "0.2"), ("bob", "0.6"), ("ann", "0.1")]
        )]  # fmt: skip
        assert [left_after(town, charge.record) for charge in made] == [Pure("0.3"), Pure("0.2"), Pure("0.1")]
        assert [charge.record.own.limit for charge in made] == [(Fraction(1, 2),), None, (Fraction(1, 2),)]
        assert [charge.record.total.after for charge in made] == [(Fraction(n, 10),) for n in (2, 8, 9)]
