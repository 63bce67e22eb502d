"""Questions that go on when nobody waits: the engine is held back by the test, and clocks decide nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from discreet.curator.error_replies import Refusal
from discreet.curator.service import long_questions as module
from discreet.curator.service.access import Caller
from discreet.curator.service.long_questions import LongQuestions
from discreet.curator.service.questions import SqlQuestion
from discreet.curator.service.reply_timing import Grid
from discreet.errors import BadQuestion, EngineFailed, KeyReused, OverBudget
from discreet.ledger.charges import Charge
from discreet.session.price import Price
from tests.helpers.curator.town import COUNT, Town, charges
from tests.helpers.processes import until

pytestmark = pytest.mark.slow
ASKED = SqlQuestion(sql=COUNT, price=Price("1/4"))


class Held:
    """An engine that computes when it is let go, and fails when it is killed."""

    def __init__(self, town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
        engine = town.curator.open(town.curator.ledger.datasets["town"]).engine
        self.go, self.killed, run = threading.Event(), threading.Event(), engine.run

        def held(*arguments: Any) -> Any:
            while not self.go.wait(0.01):
                if self.killed.is_set():
                    raise EngineFailed
            return run(*arguments)

        monkeypatch.setattr(engine, "run", held)
        monkeypatch.setattr(engine, "stopper", lambda: self.killed.set)
        monkeypatch.setattr(module, "WATCH", 0.02)


@pytest.fixture
def held(new_town: Town, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    engine = Held(new_town, monkeypatch)
    yield engine
    engine.go.set()


def ann(town: Town) -> Caller:
    return town.curator.access.who(f"Bearer {town.ann}")


def begun(town: Town, key: str = "k", wait: int = 0) -> Charge | int:
    return LongQuestions(town.curator).ask(ann(town), "town", ASKED, key, wait=wait, began=time.monotonic())


def state(town: Town, number: int) -> str:
    """Another server would see the same: nothing but the ledger is looked at."""
    return LongQuestions(town.curator).state(ann(town), number)[0]


def test_a_short_question_is_answered_at_once(new_town: Town) -> None:
    charge = begun(new_town, wait=60)
    assert isinstance(charge, Charge)
    assert state(new_town, charge.sequence) == "done"


def test_a_long_one_goes_on_and_is_paid_once(new_town: Town, held: Held) -> None:
    number = begun(new_town)
    assert isinstance(number, int)
    assert state(new_town, number) == "running"
    assert begun(new_town) == number  # the same key
    held.go.set()
    until(lambda: state(new_town, number) == "done", what="answered")
    assert LongQuestions(new_town.curator).state(ann(new_town), number)[1] is not None
    assert charges(new_town) == 1


def test_a_cancelled_one_ends_on_any_server_and_stays_charged(new_town: Town, held: Held) -> None:
    number = begun(new_town)
    assert isinstance(number, int)
    elsewhere = LongQuestions(new_town.curator)
    elsewhere.cancel(ann(new_town), number)
    assert state(new_town, number) == "cancelled"
    assert held.killed.wait(10)
    until(lambda: not new_town.curator.ledger.charge(number).pending, what="stored")
    assert state(new_town, number) == "cancelled"
    elsewhere.cancel(ann(new_town), number)
    acts = new_town.curator.ledger.owner.acts("question.cancelled")
    assert [(act.by, act.body["charge"]) for act in acts] == [("ann", number)]
    reply = new_town.get(f"/api/answers/{number}", new_town.ann)
    assert (reply.status_code, reply.json()["error"]["kind"]) == (409, "Cancelled")
    assert new_town.curator.budget(ann(new_town))[0]["charged"]["epsilon"] == "1/4"


def test_whether_the_engine_was_done_decides_nothing(new_town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question that is cancelled before its line of the grid is cancelled, though its numbers were there."""
    waits, lets = threading.Event(), threading.Event()

    def hold(*_: object) -> None:
        waits.set()
        assert lets.wait(30)

    monkeypatch.setattr(Grid, "hold", hold)
    number = begun(new_town)
    assert isinstance(number, int)
    assert waits.wait(30)
    LongQuestions(new_town.curator).cancel(ann(new_town), number)
    lets.set()
    until(lambda: not new_town.curator.ledger.charge(number).pending, what="stored")
    assert state(new_town, number) == "cancelled"


def test_what_is_answered_stays_answered(new_town: Town) -> None:
    charge = begun(new_town, wait=60)
    assert isinstance(charge, Charge)
    LongQuestions(new_town.curator).cancel(ann(new_town), charge.sequence)
    assert state(new_town, charge.sequence) == "done"
    assert not new_town.curator.ledger.owner.acts("question.cancelled")


def test_others_and_refusals(new_town: Town, held: Held) -> None:
    number = begun(new_town)
    assert isinstance(number, int)
    bob = new_town.curator.access.who(f"Bearer {new_town.bob}")
    for look in (LongQuestions(new_town.curator).state, LongQuestions(new_town.curator).cancel):
        with pytest.raises(Refusal, match="nothing here"):
            look(bob, number)
    assert charges(new_town) == 1


def test_what_is_refused_is_refused_at_once_and_costs_nothing(new_town: Town) -> None:
    for wrong, error in (
        (replace(ASKED, price=Price("2000000")), OverBudget),
        (replace(ASKED, sql="nonsense"), BadQuestion),
    ):
        with pytest.raises(error):
            LongQuestions(new_town.curator).ask(ann(new_town), "town", wrong, None, wait=0, began=time.monotonic())
    assert isinstance(begun(new_town, wait=60), Charge)
    other = replace(ASKED, price=Price("1/8"))
    with pytest.raises(KeyReused):
        LongQuestions(new_town.curator).ask(ann(new_town), "town", other, "k", wait=0, began=time.monotonic())
    assert charges(new_town) == 1
