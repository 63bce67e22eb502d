"""A question is one charge, whatever nobody declared: it is chosen within it, and nothing that others asked matters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from discreet.curator.error_replies import reply
from discreet.curator.http.routes_look import answer_out
from discreet.curator.service.access import Caller
from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from discreet.curator.service.people import Role
from discreet.curator.service.questions import AnyQuestion, PlanQuestion, ProfileQuestion, SqlQuestion, WorkloadQuestion
from discreet.curator.service.service import Curator
from discreet.engines.duckdb.engine import duckdb
from discreet.errors import BadParameter, BadQuestion, EngineFailed, KeyReused, LedgerBusy, OverBudget
from discreet.ledger.records import ChargeRecord
from discreet.privacy.promises.measures import Approx
from discreet.session.price import Price
from tests.helpers.curator.land import CITIES, write_town
from tests.helpers.curator.town import Clock

pytestmark = pytest.mark.slow

CHOSEN_CAPS = True
ANN, BOB, EVE = (Caller(name, Role.ANALYST, "t", datetime(2099, 1, 1, tzinfo=UTC)) for name in ("ann", "bob", "eve"))
ALL = SqlQuestion(
    sql="SELECT city, COUNT(*) AS n, SUM(length) AS s, AVG(length) AS m FROM trips GROUP BY city", price=Price(2000)
)
COUNT = SqlQuestion(sql="SELECT COUNT(*) AS n FROM trips", price=Price(20))
STAGED = SqlQuestion(
    sql="SELECT COUNT(*) AS n FROM trips WHERE length > (SELECT AVG(length) FROM trips)", price=Price(20)
)
STEPS = 4
"""Runs of the engine for ALL: groups, values, totals, and the answer."""
PLAN = PlanQuestion(sqls=(COUNT.sql, "SELECT city, COUNT(*) AS n FROM trips GROUP BY city"), price=Price(20))


class EngineHere:
    """An engine without a process of its own, which takes longer to start than all that is asked here."""

    in_batches = True
    """Whether groups are sent one after the other: an engine in a process of its own never does."""

    def __init__(self, *_: object, **__: object) -> None:
        self._engine, self._lock = duckdb(), Lock()

    def __getattr__(self, name: str) -> Any:
        if name in {"staged", "batches"} and not self.in_batches:
            raise AttributeError(name)
        return getattr(self._engine, name)

    def smallest_hashes(self, *_: object) -> list[str]:
        return []

    def reserved(self, _: str = "") -> Lock:
        return self._lock

    def allow(self, *_: object) -> None:
        """All columns were there from the beginning."""

    def left_out(self) -> tuple[str, ...]:
        return ()

    def stopper(self) -> Callable[[], None]:
        return self.close

    def close(self) -> None:
        """Nothing is left open."""


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.curator.service.open_datasets.Isolated", EngineHere)


class Killed(BaseException):
    """The server ends here."""


@contextmanager
def opened(folder: Path, budget: str = '{epsilon = "1000000", delta = "1e-6"}', **options: Any) -> Iterator[Curator]:
    """A town of which nothing is declared but who a person is."""
    path, new = folder / "curator.toml", not folder.exists()
    if new:
        write_town(folder)
        text = re.sub(r"(?m)^(max_rows|columns\.).*\n", "", path.read_text())
        path.write_text(re.sub(r"budget = \{epsilon = \"1000000\".*", f"budget = {budget}", text))
    with closing(open_curator(read_config(path), create=new, **options)) as curator:
        if new:
            for one in (ANN, BOB, EVE):
                curator.ledger.owner.add_analyst(one.name)
                curator.ledger.owner.grant(one.name, "town")
        yield curator


def paid(curator: Curator) -> list[tuple[str, Fraction | int]]:
    """Each charge: what was asked, and its epsilon."""
    lines = [ChargeRecord.read(line.entry) for line in curator.ledger.entries(kind=ChargeRecord.KIND)]
    return [(one.query, one.price[0]) for one in lines]


def answer(curator: Curator, caller: Caller, asked: AnyQuestion, key: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(curator.ask(caller, "town", asked, key, fresh=True).answer or b"")
    return found


def check_near(found: dict[str, Any]) -> None:
    """Three trips of each of 120 people, as many in each city, 37.25 long on average."""
    rows = {row[0]: row[1:] for row in found["rows"]}
    assert set(rows) == set(CITIES)
    for n, total, mean in rows.values():
        assert n == pytest.approx(120, abs=10)
        assert total == pytest.approx(120 * 37.25, rel=0.05)
        assert mean == pytest.approx(37.25, rel=0.05)


def test_the_first_question_is_one_charge_and_is_answered(tmp_path: Path) -> None:
    with opened(tmp_path / "t") as curator:
        (shown,) = curator.preview(ANN, "town", ALL)
        assert shown["price"]["epsilon"] == "2000"
        assert "of the cost chooses" in str(shown["notes"])
        assert [one["error"] is None for one in shown["columns"]] == [False, True, True]
        assert not paid(curator)
        check_near(answer(curator, ANN, ALL))
        assert paid(curator) == [(ALL.query, 2000)]


def test_cheap_questions_of_others_spoil_no_later_answer(tmp_path: Path) -> None:
    price = Price("1e-6")
    cheap, profile = replace(ALL, price=price), ProfileQuestion(table="trips", columns=None, price=price)
    with opened(tmp_path / "t") as curator:
        (before,) = curator.preview(ANN, "town", ALL)
        for who in (BOB, EVE):
            curator.ask(who, "town", cheap)
            curator.ask(who, "town", profile)
        (after,) = curator.preview(ANN, "town", ALL)
        left = {name for name in before if name.startswith(("left", "remaining", "more"))}
        assert {name for name in before if before[name] != after[name]} <= left
        check_near(answer(curator, ANN, ALL))


@pytest.mark.parametrize("whole", ["1", "1/3"])
def test_a_price_that_just_fits_is_paid(tmp_path: Path, whole: str) -> None:
    with opened(tmp_path / "t", f'{{epsilon = "{whole}"}}') as curator:
        curator.ask(ANN, "town", replace(COUNT, price=Price(whole)))
        assert curator.ledger.standing("town").remaining.epsilon == 0  # type: ignore[union-attr]


def test_of_many_at_once_exactly_those_are_answered_that_the_budget_covers(tmp_path: Path) -> None:
    """Three servers with one ledger, eight threads in each: each asks for a tenth of the budget."""
    tenth = replace(COUNT, price=Price("0.1"))
    with ExitStack() as held, ThreadPoolExecutor(24) as pool:
        servers = [held.enter_context(opened(tmp_path / "t", '{epsilon = "1"}')) for _ in range(3)]

        def asks(i: int) -> bool:
            try:
                return "rows" in answer(servers[i % 3], (ANN, BOB, EVE)[i % 2], tenth)
            except OverBudget:
                return False

        answered = list(pool.map(asks, range(24)))
        assert sum(answered) == 10
        assert [price for _, price in paid(servers[0])] == [Fraction(1, 10)] * 10
        assert servers[0].verified()["ok"]


def test_another_server_sees_what_was_charged(tmp_path: Path) -> None:
    with opened(tmp_path / "t") as first, opened(tmp_path / "t") as second:
        second.preview(BOB, "town", COUNT)
        first.ask(ANN, "town", COUNT)
        assert second.ledger.standing("town") == first.ledger.standing("town")
        assert second.ask(BOB, "town", COUNT).again
        second.ask(BOB, "town", COUNT, fresh=True)
        assert [price for _, price in paid(first)] == [20, 20]


# --- refusals -------------------------------------------------------------------------------------------------------


def test_a_refusal_costs_nothing(tmp_path: Path) -> None:
    refused: list[tuple[AnyQuestion, type[Exception]]] = [
        (COUNT, OverBudget),
        (PLAN, OverBudget),
        (replace(COUNT, price=Price(error=5)), BadParameter),
        (replace(PLAN, price=Price(error=(5, 5))), BadParameter),
        (replace(COUNT, sql="SELECT COUNT(*) AS n FROM tripes"), BadQuestion),
        (replace(COUNT, price=Price(1)), KeyReused),
        (replace(COUNT, price=Price(20, confidence=1)), BadParameter),
        (replace(COUNT, sql=f"{STAGED.sql} AND length < (SELECT city FROM people)"), BadQuestion),
        (replace(STAGED, price=Price(90)), OverBudget),
        (replace(PLAN, sqls=(STAGED.sql,)), BadQuestion),
        (PlanQuestion(sqls=(f"{COUNT.sql} UNION ALL SELECT COUNT(*) FROM people",), price=Price(1)), BadQuestion),
    ]
    with opened(tmp_path / "t") as curator:
        curator.ledger.owner.grant("ann", "town", Approx(19, "1e-6"))
        curator.ask(ANN, "town", SqlQuestion(sql="SELECT COUNT(*) AS n FROM people", price=Price("1e-3")), "used")
        for asked, refusal in refused:
            with pytest.raises(refusal):
                curator.ask(ANN, "town", asked, "used" if refusal is KeyReused else None)
        assert len(paid(curator)) == 1


def test_a_query_that_is_refused_for_released_values_names_them_again_and_again(tmp_path: Path) -> None:
    text = "SELECT SUM(length / (SELECT COUNT(*) - COUNT(*) FROM trips)) AS n FROM trips"
    asked = SqlQuestion(sql=text, price=Price(20))
    with opened(tmp_path / "t") as curator:
        for _ in range(2):
            charge = curator.ask(ANN, "town", asked, "k")
            with pytest.raises(BadQuestion, match=r"sub_count = .* was released first"):
                answer_out(charge, ANN)
        assert len(paid(curator)) == 1


# --- crashes and failures -------------------------------------------------------------------------------------------


def killed(folder: Path, asked: AnyQuestion, point: str) -> None:
    """Ask, under the key "k", a server that ends when it comes to a point."""

    def at(name: str) -> None:
        if name == point:
            raise Killed

    with opened(folder) as curator:
        curator.at = at
        with pytest.raises(Killed):
            curator.ask(ANN, "town", asked, "k")


@pytest.mark.parametrize("asked", [COUNT, PLAN, STAGED], ids=["question", "plan", "values"])
def test_a_crash_before_the_payment_costs_nothing_and_one_after_it_costs_once(
    tmp_path: Path, asked: SqlQuestion | PlanQuestion
) -> None:
    killed(tmp_path / "t", asked, "planned")
    killed(tmp_path / "t", asked, "noise")
    clock = Clock()
    with opened(tmp_path / "t", clock=clock) as curator:
        assert paid(curator) == [(asked.query, 20)]
        with pytest.raises(LedgerBusy, match="was charged, and is being answered or was lost"):
            curator.ask(ANN, "town", asked, "k")
        clock.now += timedelta(hours=1)
        with pytest.raises(EngineFailed):
            curator.ask(ANN, "town", asked, "k")
        assert len(paid(curator)) == 1
        stored = curator.ask(ANN, "town", asked, "new").answer
    with opened(tmp_path / "t") as curator:
        again = curator.ask(ANN, "town", asked, "new")
        assert (again.answer, again.again) == (stored, True)
        assert [price for _, price in paid(curator)] == [20, 20]


def test_an_engine_that_fails_at_any_step_is_charged_once_and_asked_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key has its constant reply: a retry reads nothing, draws nothing and pays nothing."""
    runs, good = list[int](), STEPS
    with opened(tmp_path / "t") as curator:
        engine: Any = curator.open(curator.ledger.datasets["town"]).engine
        run = engine.run

        def counted(*works: Any) -> Any:
            runs.append(1)
            if len(runs) > good:
                raise EngineFailed
            return run(*works)

        monkeypatch.setattr(EngineHere, "in_batches", False)
        monkeypatch.setattr(engine, "run", counted)
        check_near(answer(curator, ANN, ALL))
        assert len(runs) == STEPS
        for good in range(STEPS):
            runs.clear()
            failed = curator.ask(ANN, "town", ALL, f"fails after {good}", fresh=True)
            assert (len(runs), json.loads(failed.answer or b"")) == (good + 1, reply(EngineFailed())[1])
            again = curator.ask(ANN, "town", ALL, f"fails after {good}")
            assert (again.answer, again.again, len(runs)) == (failed.answer, True, good + 1)
            assert len(paid(curator)) == good + 2


# --- several questions ----------------------------------------------------------------------------------------------


def test_workloads_plans_and_joins_are_one_charge_each(tmp_path: Path) -> None:
    joined = "SELECT COUNT(*) AS n, SUM(length) AS s FROM people JOIN trips ON people.person_id = trips.person_id"
    both = WorkloadQuestion(sqls=(ALL.sql, joined), price=Price(2000))
    plan = replace(PLAN, price=Price(2000))
    with opened(tmp_path / "t") as curator:
        first, second = answer(curator, ANN, both)["answers"]
        check_near(first)
        assert second["rows"][0][0] == pytest.approx(360, abs=20)
        shown = curator.preview_plan(ANN, "town", plan)
        assert {one["price"]["epsilon"] for one in shown["questions"]} == {"2000"}
        counted, groups = answer(curator, ANN, plan)["answers"]
        assert counted["rows"][0][0] == pytest.approx(360, abs=20)
        assert [row[1] for row in groups["rows"]] == pytest.approx([120] * 3, abs=10)
        assert [price for _, price in paid(curator)] == [2000, 2000]
