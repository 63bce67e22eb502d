"""store.py: one charge per key, one answer per charge, and refusals that change nothing, on both databases."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import (
    AlreadyProtected,
    BadParameter,
    KeyReused,
    LedgerUnavailable,
    NoPrice,
    NotATheorem,
    NotRegistered,
    ReceiptRefused,
)
from discreet.ledger import Ledger, replace_key
from discreet.ledger.head_file import HeadFile
from discreet.ledger.signing import make_key
from discreet.mechanisms.additive.laplace import laplace
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from tests.helpers.ledger_places import Place, answered, ask, prepared


def charges(ledger: Ledger) -> int:
    return len(ledger.entries(kind="charge"))


# --- one charge per key -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_retry_gives_the_stored_answer(place: Place) -> None:
    with prepared(place) as ledger:
        first = answered(ledger, "k")
        again = ask(ledger, "k")
        assert (again.fresh, again.receipt, again.answer) == (False, None, b"answer to k")
        assert (again.proof, again.card) == (first.proof, first.card)
        assert charges(ledger) == 1
        with pytest.raises(KeyReused):
            ask(ledger, "k", query="another query")
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


@pytest.mark.slow
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
        assert ledger.standing("town").charged == Pure("0.2")


@pytest.mark.slow
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


# --- looking -----------------------------------------------------------------------------------------------------


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


def test_a_key_that_was_used_does_not_sign_again(lite: Place, tmp_path: Path) -> None:
    """Whoever has seen the old one could sign with it."""
    with prepared(lite) as ledger:
        ask(ledger, "k")
    new = tmp_path / "new.key"
    make_key(new)
    for used in (lite.key, str(new), lite.key):
        if used == str(new):
            replace_key(lite.location, key=used, head=lite.head, reason="lost")
        with pytest.raises(BadParameter, match="must be a new key"):
            replace_key(lite.location, key=used, head=lite.head, reason="lost")
    make_key(tmp_path / "third.key")
    with pytest.raises(BadParameter, match="must say why"):
        replace_key(lite.location, key=tmp_path / "third.key", head=lite.head, reason="")
    assert lite.verify().good


def test_a_head_that_a_crash_left_behind_is_brought_up_by_whoever_opens(lite: Place) -> None:
    with prepared(lite) as ledger:
        ask(ledger, "k0")
        old = Path(lite.head).read_bytes()
        ask(ledger, "k1")
        newest = ledger.head
    Path(lite.head).write_bytes(old)
    assert HeadFile(Path(lite.head)).read() != newest
    with lite.open() as ledger:
        assert ledger.trouble is None
    assert HeadFile(Path(lite.head)).read() == newest
