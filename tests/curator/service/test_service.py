"""The curator: charged once for a key, plan before payment before data, failures after it all alike."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from discreet import errors
from discreet.curator.error_replies import reply
from discreet.curator.service.questions import SqlQuestion
from discreet.curator.service.reply_timing import Grid
from discreet.errors import EngineFailed
from discreet.session.price import Price
from tests.helpers.curator.town import COUNT, Town, broken, charges


@pytest.mark.slow
def test_a_key_that_comes_many_times_at_once_is_charged_once(town: Town) -> None:
    caller = town.curator.access.who(f"Bearer {town.ann}")
    before = charges(town)

    def ask(_: int) -> bytes | None:
        try:
            return town.curator.ask(caller, "town", SqlQuestion(sql=COUNT, price=Price("1")), "at once").answer
        except errors.LedgerBusy:  # the first one is still being answered
            return None

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(ask, range(8)))
    assert charges(town) == before + 1
    assert len(answers - {None}) == 1
    assert ask(0) in answers


@pytest.mark.slow
@pytest.mark.parametrize(
    "error", [EngineFailed(), ValueError("canary7f3a"), MemoryError("canary7f3a"), KeyError("canary7f3a")]
)
def test_after_the_payment_every_failure_is_the_same_and_is_charged(
    town: Town, monkeypatch: pytest.MonkeyPatch, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    before = charges(town)
    key = f"fail {type(error).__name__} {error}"[:50]
    with monkeypatch.context() as patch:
        broken(town, patch, error)
        failed = town.ask(COUNT, key=key)
    assert (failed.status_code, failed.json()) == reply(EngineFailed())
    assert charges(town) == before + 1
    again = town.ask(COUNT, key=key)  # the engine is well again, and the stored failure stays
    assert (again.status_code, again.content) == (failed.status_code, failed.content)
    assert charges(town) == before + 1
    assert "canary" not in caplog.text


@pytest.mark.slow
def test_a_charge_whose_answer_was_lost_in_a_crash_stays_charged(
    new_town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object, **__: object) -> None:
        raise Killed

    caller = new_town.curator.access.who(f"Bearer {new_town.ann}")
    with monkeypatch.context() as patch:
        patch.setattr(new_town.curator.ledger, "store_answer", die)
        with pytest.raises(Killed):
            new_town.curator.ask(caller, "town", SqlQuestion(sql=COUNT, price=Price("1")), "lost")
    busy = new_town.ask(COUNT, key="lost")  # it may still be under way elsewhere
    assert busy.json()["error"]["kind"] == "LedgerBusy"
    assert "was charged, and is being answered or was lost" in busy.json()["error"]["message"]
    wait = int(new_town.config.limits.deadline + new_town.config.limits.patience) + 5
    assert f"after {wait} s it is known" in busy.json()["error"]["message"]
    new_town.clock.now += timedelta(seconds=wait - 1)
    assert "after 1 s " in new_town.ask(COUNT, key="lost").json()["error"]["message"]
    new_town.clock.now += timedelta(minutes=10)
    lost = new_town.ask(COUNT, key="lost")
    assert (lost.status_code, lost.json()) == reply(EngineFailed())
    assert charges(new_town) == 1
    number = new_town.get("/api/answers", new_town.ann).json()["charges"][0]["number"]
    assert new_town.get(f"/api/answers/{number}", new_town.ann).status_code == 500
    assert new_town.get(f"/api/answers/{number}/card", new_town.ann).status_code == 404
    assert new_town.get(f"/api/answers/{number}/receipt", new_town.ann).status_code == 200
    assert new_town.get("/api/audit", new_town.owner).json()["unanswered"] == [number]


@pytest.mark.slow
def test_the_order_is_plan_pay_run_noise_store(new_town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    opened = new_town.curator.open(new_town.curator.ledger.datasets["town"])
    run, store = opened.engine.run, new_town.curator.ledger.store_answer

    def watched_run(*given: Any) -> Any:
        seen.append(f"run after {charges(new_town)} charges")
        return run(*given)

    def watched_store(*given: Any, **more: Any) -> Any:
        seen.append("store")
        return store(*given, **more)

    monkeypatch.setattr(opened.engine, "run", watched_run)
    monkeypatch.setattr(new_town.curator.ledger, "store_answer", watched_store)
    monkeypatch.setattr(new_town.curator, "at", seen.append)
    monkeypatch.setattr(Grid, "hold", lambda *_: seen.append("grid"))
    new_town.ask(COUNT)
    assert seen == ["planned", "run after 1 charges", "noise", "grid", "store", "sending"]


def test_a_question_under_way_is_not_an_error_of_the_ledger(new_town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """History showed it in red, as LedgerUnavailable; and one that was lost looked the same."""
    town = new_town
    broken_store = pytest.raises(RuntimeError)
    caller = town.curator.access.who(f"Bearer {town.ann}")

    def die(*_: object, **__: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch, broken_store:
        patch.setattr(town.curator.ledger, "store_answer", die)
        town.curator.ask(caller, "town", SqlQuestion(sql=COUNT, price=Price("1")), "soon")
    number = town.get("/api/answers", town.ann).json()["charges"][-1]["number"]
    for path in (f"/api/answers/{number}", f"/api/answers/{number}/parquet"):
        under_way = town.get(path, town.ann)
        assert (under_way.status_code, under_way.json()["error"]["kind"]) == (503, "UnderWay")
    wait = int(town.config.limits.deadline + town.config.limits.patience) + 5
    town.clock.now += timedelta(seconds=wait + 1)
    lost = town.get(f"/api/answers/{number}", town.ann)
    assert (lost.status_code, lost.json()["error"]["kind"]) == (500, "EngineFailed")
