"""store.py, owner.py, charges.py: exact caps, one charge per key, budgets that belong to people, on both stores."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import (
    AlreadyProtected,
    BadParameter,
    BadSignature,
    KeyReused,
    LedgerUnavailable,
    LedgerUnsafe,
    NoPrice,
    NotATheorem,
    NotRegistered,
    OverBudget,
    ReceiptRefused,
)
from discreet.ledger import Ledger, replace_key, verify_card, verify_receipt
from discreet.ledger.signing import make_key
from discreet.mechanisms.additive.laplace import laplace
from discreet.privacy.budgets.filters import Filter, Rule
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Measure, Pure, Renyi
from discreet.privacy.promises.neighbours import Neighbours
from tests.helpers.ledger_places import Place, answered, ask, prepared


def charges(ledger: Ledger) -> int:
    return len(ledger.entries(kind="charge"))


# --- sums ---------------------------------------------------------------------------------------------------------


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


def test_prices_of_any_length_are_written_down(lite: Place) -> None:
    """The sum stays short, and is never less than the truth."""
    with prepared(lite, ZCDP(1)) as ledger:
        truth = Fraction(0)
        for i in range(20):
            event = events.Gaussian(sigma=Fraction(7**310 + i, 3**500), sensitivity=Fraction(3**400, 7**200 + 3 * i))
            truth += event.mu_squared / 2
            ask(ledger, f"k{i}", event)
        spent = ledger.standing("town").spent
        assert isinstance(spent, ZCDP)
        assert truth <= spent.rho < truth + Fraction(1, 2**1000)
    with lite.open() as again:
        assert again.standing("town").spent == spent


BUDGETS: list[tuple[Measure, Rule | None, Measure | events.Event]] = [
    (Pure(1), None, events.Laplace(scale=7)),
    (Approx(1, "1e-6"), None, events.Gaussian(sigma=30)),
    (Approx(1, "1e-6"), Rule.BASIC, Approx("0.1", "1e-7")),
    (Approx(1, "1e-6"), Rule.ADVANCED, events.Threshold("0.05", "1e-8")),
    (ZCDP("1/8"), None, events.DiscreteGaussian(sigma=10)),
    (ZCDP("1/8", "1e-6"), None, events.Threshold("0.1", "1e-8")),
    (Renyi({2: 1, 8: 3}), None, Renyi({2: "0.1", 8: "0.3"})),
    (GDP(1), None, events.Gaussian(sigma=5)),
]


@pytest.mark.parametrize(("budget", "rule", "event"), BUDGETS, ids=lambda x: type(x).__name__)
def test_the_ledger_counts_as_the_filter_does(
    lite: Place, budget: Measure, rule: Rule | None, event: Measure | events.Event
) -> None:
    model = Filter(budget, rule or (Rule.ZCDP if isinstance(budget, Approx) else None))
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
        assert ledger.standing("town").spent == ledger.standing("town", "ann").spent == model.spent
    with lite.open() as again:
        assert again.standing("town").spent == model.spent
        assert again.standing("town").remaining == model.remaining
        assert again.populations["town"].budget == budget


def test_the_split_of_delta_is_fixed_when_the_budget_is_opened(lite: Place) -> None:
    with lite.open(create=True) as ledger:
        ledger.owner.protect("town", Approx(1, "1e-6"), reserve="1/4")
        left = ledger.standing("town").remaining
        assert isinstance(left, ZCDP)
        assert left.delta == Fraction(1, 4 * 10**6)
        assert ledger.populations["town"].rule is Rule.ZCDP


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
        assert ledger.standing("town", "ann").spent == Pure("0.7")


def test_a_quote_is_free_and_right(lite: Place) -> None:
    with prepared(lite, Pure(1), cap=Pure("0.5")) as ledger:
        quote = ledger.quote("visits", "ann", events.Pure("0.4"))
        assert (quote.price, quote.fits, quote.left_after) == (Pure("0.4"), True, Pure("0.1"))
        assert charges(ledger) == 0
        assert not ledger.quote("visits", "ann", events.Pure("0.6")).fits
        assert ledger.quote("visits", "bob", events.Pure("0.6")).fits


def test_the_owner_raises_a_budget_and_nothing_comes_back(lite: Place) -> None:
    with prepared(lite, Pure("0.1")) as ledger:
        ask(ledger, "k0")
        with pytest.raises(OverBudget):
            ask(ledger, "k1")
        ledger.owner.set_budget("town", Pure("0.2"), reason="a new year, and a new decision")
        ask(ledger, "k1")
        ledger.owner.set_budget("town", Pure("0.05"), reason="less after all")
        assert ledger.standing("town").remaining == Pure(0)
        assert ledger.standing("town").spent == Pure("0.2")
        with pytest.raises(BadParameter):
            ledger.owner.set_budget("town", ZCDP(1), reason="another kind")
        ledger.owner.write_off("town", Pure(3), reason="published elsewhere")
        assert ledger.standing("town").spent == Pure("3.2")
    assert lite.verify().good


# --- one charge per key -------------------------------------------------------------------------------------------


def test_a_retry_gives_the_stored_answer(place: Place) -> None:
    with prepared(place) as ledger:
        first = answered(ledger, "k")
        again = ask(ledger, "k")
        assert (again.fresh, again.receipt, again.answer) == (False, None, b"answer to k")
        assert (again.proof, again.card) == (first.proof, first.card)
        assert charges(ledger) == 1
        with pytest.raises(KeyReused):
            ask(ledger, "k", query="another question")
        with pytest.raises(KeyReused):
            ledger.spend("visits", "ann", Pure("0.1"), key="k", query="q", parameters={"epsilon": "0.2"})
        assert charges(ledger) == 1
        assert ledger.charge(first.sequence).answer == b"answer to k"


def test_a_retry_needs_no_budget_and_no_price(lite: Place) -> None:
    with prepared(lite, Pure("0.1")) as ledger:
        answered(ledger, "k")
        assert ask(ledger, "k").answer == b"answer to k"
        assert ask(ledger, "k", events.Gaussian(sigma=1)).answer == b"answer to k"  # as after an update of the planner
        ledger.owner.retire("visits", reason="moved")
        assert ask(ledger, "k").answer == b"answer to k"
        with pytest.raises(NotRegistered):
            ask(ledger, "new")


def test_a_charge_without_an_answer_stays_and_shows(place: Place) -> None:
    with prepared(place) as ledger:
        lost = ask(ledger, "k")
        answered(ledger, "other")
    with place.open() as ledger:
        assert [entry.sequence for entry in ledger.unanswered()] == [lost.sequence]
        assert ledger.unanswered(analyst="bob") == []
        again = ask(ledger, "k")
        assert again.pending
        assert not again.fresh
        with pytest.raises(ReceiptRefused):
            ledger.store_answer(again, b"late")
        assert ledger.standing("town").spent == Pure("0.2")


def test_an_answer_is_stored_once(place: Place) -> None:
    with prepared(place) as ledger:
        charge = ask(ledger, "k")
        ledger.store_answer(charge, b"one")
        with pytest.raises(ReceiptRefused):
            ledger.store_answer(charge, b"two")
        assert ask(ledger, "k").answer == b"one"


def test_the_receipt_pays_for_one_release(lite: Place) -> None:
    mechanism = laplace(sensitivity=1, epsilon="1/10")
    with prepared(lite) as ledger:
        charge = ask(ledger, "k", mechanism.event)
        mechanism.release(42, charge.receipt)
        with pytest.raises(ReceiptRefused):
            mechanism.release(42, charge.receipt)


def test_keys_of_threads_are_charged_once(lite: Place) -> None:
    with prepared(lite, Pure(1)) as ledger:
        fresh: list[bool] = []
        start = threading.Barrier(8)

        def work() -> None:
            start.wait()
            fresh.extend(ask(ledger, f"k{i}").fresh for i in range(5))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (len(fresh), sum(fresh), charges(ledger)) == (40, 5, 5)


# --- what is refused ----------------------------------------------------------------------------------------------

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


def test_interactive_mechanisms_under_approximate_zcdp_are_refused(lite: Place) -> None:
    with prepared(lite, Approx(1, "1e-6")) as ledger:
        with pytest.raises(NotATheorem, match="interactive"):
            ask(ledger, "k", events.AboveThreshold("0.1"))
        ledger.owner.protect("village", ZCDP(1))
        ledger.owner.register("farms", "village", marks=["farms"])
        ledger.owner.grant("ann", "village")
        ledger.spend("farms", "ann", events.AboveThreshold("0.1"), key="k2", query="q")


def refusals(ledger: Ledger) -> list[tuple[type[Exception], Callable[[], Any]]]:
    one: Any = 1
    return [
        (NotRegistered, lambda: ledger.spend("nothing", "ann", Pure("0.1"), key="k", query="q")),
        (NotRegistered, lambda: ask(ledger, "k", analyst="eve")),
        (NotRegistered, lambda: ask(ledger, "k", analyst="carl")),
        (NotRegistered, lambda: ask(ledger, "k", analyst="dora")),
        (NotRegistered, lambda: ledger.standing("nowhere")),
        (NotRegistered, lambda: ledger.standing("town", "carl")),
        (NotRegistered, lambda: ledger.charge(1)),
        (NotRegistered, lambda: ledger.charge(99)),
        (NotRegistered, lambda: ledger.owner.grant("eve", "town")),
        (NotRegistered, lambda: ledger.owner.grant("ann", "nowhere")),
        (NotRegistered, lambda: ledger.owner.retire("nothing", reason="x")),
        (NotRegistered, lambda: ledger.owner.register("more", "nowhere", marks=["more"])),
        (NoPrice, lambda: ask(ledger, "k", events.Gaussian(sigma=1))),
        (BadParameter, lambda: ask(ledger, "k", Pure(0))),
        (BadParameter, lambda: ask(ledger, "k", events.Composed([]))),
        (BadParameter, lambda: ask(ledger, "k", one)),
        (BadParameter, lambda: ask(ledger, "")),
        (BadParameter, lambda: ask(ledger, "two\nlines")),
        (BadParameter, lambda: ledger.spend("visits", "ann", Pure(1), key="k", query="q", parameters={"x": 0.1})),
        (BadParameter, lambda: ledger.owner.add_analyst("ann")),
        (BadParameter, lambda: ledger.owner.add_analyst(" x")),
        (BadParameter, lambda: ledger.owner.add_analyst("x" * 101)),
        (BadParameter, lambda: ledger.owner.grant("ann", "town", ZCDP(1))),
        (BadParameter, lambda: ledger.owner.protect("x", one)),
        (BadParameter, lambda: ledger.owner.protect("x", Pure(1), neighbours=one)),
        (BadParameter, lambda: ledger.owner.protect("x", Pure(1), rule=Rule.ZCDP)),
        (NotATheorem, lambda: ledger.owner.protect("x", Approx(1, "1e-6"), rule=Rule.PLD)),
        (AlreadyProtected, lambda: ledger.owner.protect("town", Pure(1))),
        (BadParameter, lambda: ledger.owner.set_budget("town", Pure(2), reason=" ")),
        (BadParameter, lambda: ledger.owner.record("charge", {})),
        (BadParameter, lambda: ledger.owner.record("access.token", {"x": 0.5})),
        (BadParameter, lambda: ledger.owner.acknowledge(reason="nothing happened")),
        (BadParameter, lambda: ledger.household("town", 0)),
    ]


def test_refusals_change_nothing(lite: Place) -> None:
    with prepared(lite) as ledger:
        ledger.owner.add_analyst("carl")  # has no grant
        ledger.owner.add_analyst("dora")
        ledger.owner.grant("dora", "town")
        ledger.owner.revoke_analyst("dora", reason="left")
        before = ledger.head
        for kind, call in refusals(ledger):
            with pytest.raises(kind):
                call()
        assert ledger.head == before
        assert ledger.trouble is None


def test_a_ledger_that_is_not_there(lite: Place) -> None:
    with pytest.raises(LedgerUnavailable):
        lite.open()
    with pytest.raises(BadParameter):
        replace_key("postgresql://", key="x", reason="y")


def test_a_fork_must_open_the_ledger_itself(lite: Place) -> None:
    with prepared(lite) as ledger:
        child = os.fork()
        if child == 0:
            try:
                ask(ledger, "k")
            except LedgerUnavailable:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0


# --- budgets belong to people -------------------------------------------------------------------------------------


def test_the_same_data_under_another_name_takes_a_decision(place: Place) -> None:
    with prepared(place) as ledger:
        ledger.owner.protect("second", Pure(1))
        for name, marks in (("copy", ["/data/visits"]), ("copy", ["x", "/data/visits"]), ("visits", [])):
            with pytest.raises(AlreadyProtected):
                ledger.owner.register(name, "second", marks=marks)
        ledger.owner.register("copy", "town", marks=["/data/visits"])  # the same people, the same budget: fine
        ask(ledger, "k")
        ledger.spend("copy", "ann", Pure("0.2"), key="k2", query="q")
        assert ledger.standing("town").spent == Pure("0.3")
        ledger.owner.register("other", "second", marks=["/data/visits"], decision="they all agreed to a second study")
        (line,) = [line for line in ledger.entries(kind="dataset") if line.entry.body["dataset"] == "other"]
        assert line.entry.body["decision"] == "they all agreed to a second study"
        assert "/data/visits" not in line.entry.text  # what marks the data is hidden under the key


def test_a_data_set_can_be_described_anew(lite: Place) -> None:
    with prepared(lite) as ledger:
        ask(ledger, "k")
        ledger.owner.register("visits", "town", about={"columns": ["cost", "year"]}, marks=["/data/visits.2"])
        assert ledger.datasets["visits"].about == {"columns": ["cost", "year"]}
        assert ledger.standing("town").spent == Pure("0.1")


def test_a_new_key_cannot_compare_old_marks_and_says_so(lite: Place, tmp_path: Path) -> None:
    with prepared(lite) as ledger:
        old = ledger.public_key
        charge = answered(ledger, "k")
    new = tmp_path / "new.key"
    make_key(new)
    with pytest.raises(LedgerUnsafe):
        Place(lite.location, str(new), lite.head).open()
    replace_key(lite.location, key=new, head=lite.head, reason="the old one was lost")
    with Place(lite.location, str(new), lite.head).open() as ledger:
        assert ledger.public_key != old
        assert verify_receipt(charge.proof, old).sequence == charge.sequence
        assert ask(ledger, "k").answer == b"answer to k"
        ledger.owner.protect("second", Pure(1))
        with pytest.raises(AlreadyProtected, match="may hold"):
            ledger.owner.register("anything", "second", marks=["anything"])
        ledger.owner.register("anything", "second", marks=["anything"], decision="other people: the staff")
    with pytest.raises(LedgerUnsafe):
        lite.open()


# --- receipts, cards, views ---------------------------------------------------------------------------------------


def test_receipts_and_cards_can_be_checked_offline(place: Place) -> None:
    with prepared(place, Approx(1, "1e-6")) as ledger:
        ask(ledger, "before", events.Gaussian(sigma=20))
        charge = ledger.store_answer(
            ask(ledger, "k", events.Gaussian(sigma=20)), b"42", accuracy="within 40 with 95 %", versions={"engine": "2"}
        )
        receipt = verify_receipt(charge.proof, ledger.public_key)
        assert (receipt.sequence, receipt.hash) == (charge.sequence, charge.entry.hash)
        assert (receipt.analyst, receipt.dataset, receipt.query) == ("ann", "visits", "q")
        assert charge.card is not None
        card = verify_card(charge.card, ledger.public_key, b"42")
        assert (card["unit"], card["neighbours"], card["rule"]) == ("one person", "ADD_REMOVE", "ZCDP")
        rho = [card["total"][when]["promise"]["rho"] for when in ("before", "after")]
        assert rho == ["1/800", "1/400"]
        assert card["price"]["promise"]["rho"] == "1/800"
        assert card["event"]["event"] == {"kind": "Gaussian", "sigma_squared": "400", "sensitivity_squared": "1"}
        assert card["accuracy"] == "within 40 with 95 %"
        assert {"discreet", "python", "engine"} == card["versions"].keys()
        assert "time" not in card  # how long an answer took is nobody's business
        with pytest.raises(BadSignature):
            verify_card(charge.card, ledger.public_key, b"43")
        with pytest.raises(BadSignature):
            verify_receipt(charge.card, ledger.public_key)
        another = make_key(Path(place.key).with_name("another")).public
        for text, check in ((charge.proof, verify_receipt), (charge.card, verify_card)):
            for changed, key in ((text.replace("ann", "eve"), ledger.public_key), (text, another)):
                with pytest.raises(BadSignature):
                    check(changed, key)


def test_what_a_household_has_lost(lite: Place) -> None:
    with lite.open(create=True) as ledger:
        ledger.owner.add_analyst("ann")
        cases: list[tuple[Measure, Rule | None, Measure | events.Event]] = [
            (Pure(1), None, Pure("0.1")),
            (ZCDP(1), None, ZCDP("0.01")),
            (GDP(1), None, GDP("0.1")),
            (Renyi({2: 1, 16: 2}), None, Renyi({2: "0.1", 16: "0.2"})),
            (Approx(1, "1e-6"), Rule.BASIC, Approx("0.1", "1e-8")),
            (Approx(1, "1e-6"), Rule.ADVANCED, Approx("0.1", "1e-8")),
            (Approx(1, "1e-6"), Rule.ZCDP, events.Gaussian(sigma=100)),
            (Approx(1, "1e-6"), Rule.ZCDP, Approx("0.001", "1e-8")),
        ]
        spent = []
        for i, (budget, rule, event) in enumerate(cases):
            ledger.owner.protect(f"p{i}", budget, rule=rule)
            ledger.owner.register(f"d{i}", f"p{i}", marks=[f"d{i}"])
            ledger.owner.grant("ann", f"p{i}")
            ledger.spend(f"d{i}", "ann", event, key=f"k{i}", query="q")
            alone: Any = ledger.household(f"p{i}", 1)
            four: Any = ledger.household(f"p{i}", 4)
            assert alone.promised is not None
            assert alone.spent <= four.spent
            spent.append(four.spent)
        assert spent[:3] == [Pure("0.4"), ZCDP("0.16"), GDP("0.4")]
        assert isinstance(spent[4], Approx)
        assert spent[4].epsilon == Fraction(4, 10)
        gaussian = spent[6]
        assert isinstance(gaussian, Approx)
        assert gaussian.epsilon < 4 * Fraction(3, 10)  # sigma 25 for the household: some epsilon 0.17 at delta 1e-6
        assert gaussian.delta == Fraction(1, 10**6)
        assert ledger.household("p4", 40).promised is None  # delta would reach 1


def test_acts_of_others_are_kept(place: Place) -> None:
    with prepared(place) as ledger:
        ledger.owner.record("access.token", {"analyst": "ann", "hash": "ab"}, by="owner")
        ledger.owner.record("access.token", {"analyst": "bob", "hash": "cd"}, by="owner")
        with place.open() as other:
            assert [act.body["hash"] for act in other.owner.acts("access.token")] == ["ab", "cd"]
            ledger.owner.record("access.revoke", {"hash": "ab"})
            assert [act.body for act in other.owner.acts("access.revoke")] == [{"hash": "ab"}]
        assert ledger.owner.acts("access.other") == ()


def test_two_servers_see_each_other(place: Place) -> None:
    with prepared(place) as one, place.open() as two:
        for i in range(5):
            ask(one, f"a{i}")
            ask(two, f"b{i}")
        for ledger in (one, two):
            with pytest.raises(OverBudget):
                ask(ledger, "more")
            assert ledger.standing("town").remaining == Pure(0)
        one.owner.revoke_analyst("ann", reason="left")
        with pytest.raises(NotRegistered):
            ask(two, "again")
        assert two.analysts["ann"].revoked


def test_an_analyst_sees_their_own_entries(lite: Place) -> None:
    with prepared(lite) as ledger:
        mine = answered(ledger, "k")
        ask(ledger, "k", analyst="bob")
        lines = ledger.entries(analyst="ann", kind="charge")
        assert [(line.entry.sequence, line.answered) for line in lines] == [(mine.sequence, True)]
        assert {line.entry.kind for line in ledger.entries(analyst="ann")} == {"analyst", "grant", "charge"}
        every = ledger.entries()
        assert [line.entry.sequence for line in every] == list(range(1, len(every) + 1))
        assert [line.entry.sequence for line in ledger.entries(after=3, limit=2)] == [4, 5]
        assert json.loads(every[-1].entry.text)["by"] == "bob"
