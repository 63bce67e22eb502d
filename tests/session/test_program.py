"""Programs: one payment for all steps, which go on after a failure and draw nothing twice."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event as Signal
from typing import Any

import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.errors import EngineFailed, EngineUnreachable, OverBudget, ReceiptRefused
from discreet.ledger import open_ledger, verify_ledger
from discreet.ledger.records import ChargeRecord
from discreet.privacy.promises import events
from discreet.privacy.promises.receipt import Receipt
from discreet.query.plan.work import AnyWork, Exact
from discreet.session.price import Price
from discreet.session.program import PartReceipt, Program
from discreet.session.query import program_of, release_query

STAGED = "SELECT COUNT(*) AS n FROM t WHERE e > (SELECT AVG(e) FROM t) AND e < (SELECT MAX(e) FROM t)"
ROWS = {"id": list(range(100)), "e": [n % 10 for n in range(100)]}
STEPS = 3


class Engine:
    """The memory engine, which counts its runs and fails at one of them."""

    name = "failing"

    def __init__(self, fails_at: int = 0, error: type[BaseException] = EngineFailed) -> None:
        self.runs, self.fails_at, self.error = 0, fails_at, error

    def columns(self, source: object) -> Any:
        return memory().columns(source)

    def run(self, works: Sequence[AnyWork], schemas: Any) -> tuple[Exact, ...]:
        self.runs += 1
        if self.runs == self.fails_at:
            raise self.error
        return memory().run(works, schemas)


class Killed(BaseException):
    """The process ends here."""


def session(engine: Any = None, budget: Any = None, max_rows: Any = 1, **options: Any) -> dp.Session:
    table = dp.table(ROWS, unit="id", max_rows=max_rows, columns={"e": dp.bounds(0, 9)})
    return dp.Session(t=table, budget=budget or dp.Pure(1), engine=engine or Engine(), **options)


# --- a failure at each step -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", range(1, STEPS + 1))
@pytest.mark.parametrize("budget", [dp.Pure(10**6), dp.Approx(10**6, "1e-6"), dp.ZCDP(10**6)])
def test_a_step_that_fails_goes_on_under_the_one_payment(at: int, budget: Any) -> None:
    engine = Engine(fails_at=at)
    own = session(engine, budget)
    price = Price(rho=10**5) if isinstance(budget, dp.ZCDP) else Price(10**5)
    with pytest.raises(EngineFailed) as failed:
        release_query(own.sql(STAGED), price)
    left, again = own.remaining, failed.value.again
    assert left != own.budget, "the whole is paid before the first step"
    assert again is not None
    answer = again()
    assert answer.value == pytest.approx(40, abs=1), "e is 5 to 8"
    assert answer.receipt.number == 1
    assert (own.remaining, engine.runs) == (left, STEPS + 1), "steps that were done were not run again"
    with pytest.raises(ReceiptRefused, match="one payment is good for one release"):
        again()


@pytest.mark.parametrize("at", range(1, 6))
def test_so_does_a_query_whose_steps_choose_what_is_open(at: int) -> None:
    engine = Engine(fails_at=at)
    own = session(engine, dp.Approx(10**7, "1e-6"), max_rows="auto")
    with pytest.raises(EngineFailed) as failed:
        own.sql(STAGED).release(epsilon=10**6)
    assert failed.value.again is not None
    assert failed.value.again().value == pytest.approx(40, abs=3)
    assert own.remaining == dp.Approx(9 * 10**6, own.remaining.delta)  # type: ignore[union-attr]


@pytest.mark.parametrize("at", range(1, STEPS + 1))
def test_a_process_that_ends_leaves_one_charge_for_the_whole(at: int, tmp_path: Path) -> None:
    place = tmp_path / "budget.db"
    with pytest.raises(Killed):
        session(Engine(at, Killed), ledger=place).sql(STAGED).release(epsilon="1/4")
    assert session(ledger=place).remaining == dp.Pure("3/4")
    with open_ledger(place) as ledger:
        (line,) = ledger.entries(kind=ChargeRecord.KIND)
        charge = ledger.charge(line.entry.sequence)
    assert (charge.record.query, charge.answer) == (STAGED, None), "what was asked, and that no answer left"
    assert verify_ledger(place).good


def test_an_engine_that_is_away_at_first_costs_nothing() -> None:
    class Away(Engine):
        def ready(self) -> None:
            raise EngineFailed

    own = session(Away())
    with pytest.raises(EngineFailed) as failed:
        own.sql(STAGED).release(epsilon=1)
    assert failed.value.again is None
    assert own.remaining == own.budget


class Away(Engine):
    """An engine that cannot be reached at one of the steps."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at

    def ready(self) -> None:
        self.at -= 1
        if not self.at:
            raise EngineUnreachable("the server")


@pytest.mark.parametrize("at", range(2, STEPS + 1))
def test_an_engine_that_is_away_before_a_later_step_loses_nothing(at: int) -> None:
    own = session(Away(at), dp.Pure(10**6))
    with pytest.raises(EngineFailed) as failed:
        own.sql(STAGED).release(10**5)
    assert failed.value.again is not None
    assert failed.value.again().value == pytest.approx(40, abs=1)
    assert own.remaining == dp.Pure(9 * 10**5)


def test_of_two_who_go_on_at_once_one_is_refused() -> None:
    inside, leave = Signal(), Signal()

    class Slow(Engine):
        def run(self, works: Sequence[AnyWork], schemas: Any) -> tuple[Exact, ...]:
            if self.runs >= 1:
                inside.set()
                leave.wait(30)
            return super().run(works, schemas)

    own = session(Slow(fails_at=1))
    with pytest.raises(EngineFailed) as failed:
        own.sql(STAGED).release(epsilon=1)
    again: Any = failed.value.again
    with ThreadPoolExecutor() as pool:
        first = pool.submit(again)
        assert inside.wait(30)
        with pytest.raises(ReceiptRefused, match="is being used"):
            again()
        leave.set()
        assert first.result(30).receipt.used


@pytest.mark.parametrize(("text", "at"), [(STAGED, 1), (STAGED, 5), ("SELECT SUM(e) AS n FROM t", 2)])
def test_a_fork_does_not_go_on_beside_its_parent(text: str, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both drew what was left of it with noise of their own: two answers for one payment."""
    own = session(Engine(fails_at=at), dp.Approx(10**7, "1e-6"), max_rows="auto")
    with pytest.raises(EngineFailed) as failed:
        own.sql(text).release(epsilon=10**6)
    again: Any = failed.value.again
    with monkeypatch.context() as forked:
        forked.setattr("os.getpid", lambda: 1)
        with pytest.raises(ReceiptRefused, match="the process that began it"):
            again()
    assert again().receipt.used


# --- receipts ---------------------------------------------------------------------------------------------------------


def test_the_parts_of_a_receipt_use_it_up_and_are_good_once() -> None:
    first, second = events.Pure("1/3"), events.Pure("2/3")
    whole = Receipt(events.Composed([first, second]), number=7, left=dp.Pure(0))
    parts = [PartReceipt(whole, one, dp.Pure(one.epsilon)) for one in (first, second)]
    with pytest.raises(ReceiptRefused):
        parts[0].redeem(second)
    parts[1].redeem(second)
    with pytest.raises(ReceiptRefused):
        whole.redeem(whole.what)
    with pytest.raises(ReceiptRefused):
        parts[1].redeem(second)
    whole.end()
    with pytest.raises(ReceiptRefused, match="closed"):
        parts[0].redeem(first)
    assert {part.number for part in parts} == {7}


def test_no_part_is_good_once_the_whole_was_used() -> None:
    """A whole that was redeemed for a release of its own is not taken apart afterwards."""
    own = session()
    program = program_of(own.sql(STAGED), Price(1))
    assert isinstance(program, Program)
    assert program.price == events.Composed([step.price for step in program.steps])
    assert program.cost == dp.Pure(1)
    one = program_of(own.sql("SELECT COUNT(*) AS n FROM t"), Price(1))
    assert one.price is one.answer.price, "a program of one step costs what its step does, to the byte"


# --- races ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [STAGED, "SELECT COUNT(*) AS n FROM t", "SELECT SUM(e) AS s FROM t"])
@pytest.mark.parametrize("kept", [False, True])
def test_of_24_who_ask_for_a_tenth_exactly_10_are_answered(text: str, kept: bool, tmp_path: Path) -> None:
    options = {"ledger": tmp_path / "budget.db"} if kept else {}
    sessions = [session(max_rows="auto", **options)]
    sessions += [session(max_rows="auto", **options) if kept else sessions[0] for _ in range(3)]

    def ask(i: int) -> int:
        try:
            sessions[i % 4].sql(text).release(epsilon="1/10")
        except OverBudget:
            return 0
        return 1

    with ThreadPoolExecutor(24) as pool:
        assert sum(pool.map(ask, range(24))) == 10
    assert sessions[1].remaining == dp.Pure(0)


PROCESS = """
import sys
from tests.session.test_program import STAGED, session
from discreet.errors import OverBudget
own, answered = session(ledger=sys.argv[1]), 0
print("ready", flush=True)
sys.stdin.readline()
for _ in range(12):
    try:
        own.sql(STAGED).release(epsilon="1/10")
        answered += 1
    except OverBudget:
        pass
print(answered, flush=True)
"""


@pytest.mark.slow
def test_two_processes_racing_for_the_last_of_a_budget_get_exactly_what_there_is(tmp_path: Path) -> None:
    place = str(tmp_path / "budget.db")
    session(ledger=place)
    asking = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for one in asking:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in asking:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    answered = [int(one.communicate(timeout=120)[0]) for one in asking]
    assert sum(answered) == 10
    assert session(ledger=place).remaining == dp.Pure(0)
    assert verify_ledger(Path(place)).good
