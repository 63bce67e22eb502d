"""Rule.EITHER in the ledger: both accounts in every charge, under the population's budget and the analyst's cap."""

from __future__ import annotations

import json
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import OverBudget
from discreet.ledger.entries import Broken, canonical, digest, read_entry
from discreet.ledger.records import apply_entry, read_record
from discreet.ledger.standing import standing
from discreet.ledger.state import State
from discreet.privacy.budgets.currency import BEYOND
from discreet.privacy.budgets.filters import Filter, Rule
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from tests.helpers.ledger_places import Place, ask, prepared

BUDGET = Approx(1, "1e-6")
MADE = events.Stated(events.DiscreteGaussian(sigma=40), "0.1", "1e-8")
ASKED: list[Event] = [
    events.Laplace(scale=100),
    events.Laplace(scale=3),
    events.DiscreteGaussian(sigma=30),
    MADE,
    events.Composed([MADE, events.Threshold(0, "1e-7")]),
    events.Approx("0.5", "1e-6"),
    events.AboveThreshold("0.01"),
]


def test_it_is_the_default_and_a_charge_holds_both_accounts(lite: Place) -> None:
    with prepared(lite, BUDGET) as ledger:
        assert ledger.populations["town"].rule is Rule.EITHER
        charge = ask(ledger, "k", MADE)
        rho = Fraction(1, 3200)
        assert charge.record.price == (Fraction(1, 10), Fraction(1, 10**8), rho, Fraction(0))
        assert charge.record.total.after == charge.record.price
        assert charge.price == Approx("0.1", "1e-8")
        found = ledger.standing("town")
        assert found.charged == Approx("0.1", "1e-8")
        assert isinstance(found.remaining, Approx)
        assert found.remaining.epsilon > Fraction(9, 10)  # by rho more is left than by the sum
        assert found.accounts[0] == Approx("0.9", "4.9e-7")
        assert found.share < Fraction(1, 50)  # of the account of which least was spent


@pytest.mark.slow
@given(st.lists(st.sampled_from(ASKED), max_size=25), st.lists(st.booleans(), min_size=25, max_size=25))
@settings(max_examples=30, deadline=None)
def test_analysts_interleaved_are_one_filter(asked: list[Event], who: list[bool]) -> None:
    """Whatever order and mix: the population is counted as one Filter, and each analyst with a cap as another."""
    folder = Path(tempfile.mkdtemp())
    place = Place(str(folder / "l"), str(folder / "k"), str(folder / "h"))
    cap = Approx("1/2", "1e-6")
    whole, own = Filter(BUDGET), Filter(cap)
    with prepared(place, BUDGET, cap=cap) as ledger:
        for i, (event, capped) in enumerate(zip(asked, who, strict=False)):
            fits = whole.fits(event) and (not capped or own.fits(event))
            analyst = "ann" if capped else "bob"
            assert ledger.quote("visits", analyst, event).fits == fits
            if not fits:
                with pytest.raises(OverBudget):
                    ask(ledger, f"k{i}", event, analyst=analyst)
                continue
            ask(ledger, f"k{i}", event, analyst=analyst)
            for budget in (whole, own) if capped else (whole,):
                budget.spend(event)
        assert ledger.standing("town").charged == whole.charged
        assert ledger.standing("town").remaining == whole.remaining
        assert ledger.standing("town", "ann").charged == own.charged
    with place.open() as again:
        assert again.standing("town").remaining == whole.remaining
    assert place.verify().good


def test_many_small_questions_go_on_after_the_sum(lite: Place) -> None:
    with prepared(lite, BUDGET) as ledger:
        for i in range(12):
            ask(ledger, f"k{i}", events.Repeat(events.Pure("1/100"), 10))
        assert ledger.standing("town").accounts[0] == Approx(0, 0)
        left = ledger.standing("town").remaining
        assert isinstance(left, Approx)
        assert left.epsilon > Fraction(7, 10)
        with pytest.raises(OverBudget) as caught:
            ask(ledger, "more", Pure("0.9"))
        assert caught.value.left == left


def test_an_account_without_a_price_does_not_come_back_with_a_larger_budget(lite: Place) -> None:
    with prepared(lite, BUDGET) as ledger:
        charge = ask(ledger, "k", events.Interactive(events.Pure("1/10")))  # has no rho here
        assert charge.record.price[2] == BEYOND
        ledger.owner.set_budget("town", Approx(1000, "1e-6"), reason="a planted mistake would find room here")
        assert ledger.standing("town").accounts[1] == ZCDP(0)
        ledger.owner.set_budget("town", BUDGET, reason="back")
        with pytest.raises(OverBudget):
            ask(ledger, "more", Pure("0.95"))


def test_an_interactive_mechanism_leaves_rho(lite: Place) -> None:
    with prepared(lite, BUDGET) as ledger:
        assert ask(ledger, "k", events.AboveThreshold("0.01")).record.price[2] == BEYOND
        for i in range(9):
            ask(ledger, f"k{i}")
        with pytest.raises(OverBudget):
            ask(ledger, "more")


def test_the_first_question_may_take_all(lite: Place) -> None:
    with prepared(lite, BUDGET, cap=BUDGET) as ledger:
        assert ledger.standing("town").remaining == BUDGET
        ask(ledger, "all", BUDGET)
        assert ledger.standing("town").remaining == ledger.standing("town", "bob").remaining == Approx(0, 0)
        for event in (Pure("1e-6"), ZCDP("1e-9")):
            with pytest.raises(OverBudget):
                ask(ledger, "more", event, analyst="bob")
    with lite.open() as again:
        assert again.standing("town").share == 1
    assert lite.verify().good


def test_a_household_is_told_the_smaller_of_both(lite: Place) -> None:
    with prepared(lite, BUDGET) as ledger:
        ask(ledger, "k", Pure("0.1"))
        found = ledger.household("town", 2)
        assert found.charged == Approx("0.2", 0)
        assert found.promised == BUDGET.group(2)
        ask(ledger, "k2", ZCDP("1e-4"))
        second = ledger.household("town", 2).charged
        assert isinstance(second, Approx)
        assert second.epsilon > Fraction(1, 5)


# --- planted: entries that a wrong version would write ------------------------------------------------------------


def forged(lines: list[str], change: Any) -> State:
    """The last charge changed, in a chain that is whole."""
    state = State()
    for line in lines[:-1]:
        apply_entry(state, read_entry(line))
    body = json.loads(lines[-1])
    change(body["body"])
    apply_entry(state, read_entry(canonical(body)))
    return state


@pytest.fixture
def full(lite: Place) -> list[str]:
    """0.95 of the sum is spent, and all of rho; the last charge is of a hundredth."""
    with prepared(lite, BUDGET) as ledger:
        ask(ledger, "k0", Pure("0.95"))
        ask(ledger, "k1", Pure("0.01"))
        return list(ledger.export())


def test_a_charge_that_neither_account_admits_is_broken(full: list[str]) -> None:
    def larger(body: dict[str, Any]) -> None:
        price = ["1/10", "0", "1/200", "0"]
        body["price"] = price
        for sums in (body["total"], body["own"]):
            sums["after"] = [str(Fraction(b) + Fraction(p)) for b, p in zip(sums["before"], price, strict=True)]

    forged(full, lambda _: None)
    with pytest.raises(Broken, match="over a cap"):
        forged(full, larger)


@pytest.mark.parametrize("position", range(4))
def test_a_sum_that_starts_again_is_broken(full: list[str], position: int) -> None:
    """δ that is not added, an account that is reset: each of the four sums is checked."""

    def reset(body: dict[str, Any]) -> None:
        body["total"]["before"][position] = body["total"]["after"][position] = "1/3"

    with pytest.raises(Broken, match="sums are wrong"):
        forged(full, reset)


def test_what_an_earlier_version_wrote_keeps_its_rule() -> None:
    """The stored ledger of version 1 has budgets by zCDP and by the sum: they are counted as they were."""
    lines = (Path(__file__).parent / "ledger_v1.jsonl").read_text().splitlines()
    state = State()
    for line in lines:
        apply_entry(state, read_entry(line))
    rules = {one.rule for one in state.populations.values() if isinstance(one.budget, Approx)}
    assert Rule.ZCDP in rules
    for one in state.populations.values():
        assert one.rule is not Rule.EITHER
        assert len(one.limits.accounts) == 1
        assert one.currency.limits == one.limits


def test_a_stored_ledger_of_this_rule_is_read_as_it_was_written() -> None:
    """``ledger_either.jsonl`` never changes: later versions give the same sums, and the same bytes for each entry."""
    state = State()
    for line in (Path(__file__).parent / "ledger_either.jsonl").read_text().splitlines():
        entry = read_entry(line)
        apply_entry(state, entry)
        body = read_record(entry).body()
        assert digest(canonical(json.loads(entry.text) | {"body": body})) == entry.hash
    found = standing(state, state.populations["town"])
    assert (str(found.charged), str(found.remaining)) == (
        "epsilon 0.2877, delta 2.6e-07",
        "epsilon 1.971, delta 2.4e-07",
    )
    assert found.accounts[0] == Approx(
        0, 0
    )  # a write-off has no epsilon: the sum was left, and a raise changes nothing
    assert str(standing(state, state.populations["town"], "ann").charged) == "epsilon 0.11, delta 1e-08"
