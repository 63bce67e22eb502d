"""Runs of schedules: once each, with the rights of their day, whichever servers there are and however they end."""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from discreet.curator.service.library import read_answer
from discreet.curator.service.opening import open_curator
from discreet.curator.service.scheduler import DueRuns
from discreet.curator.service.schedules import Schedules, new_schedule, schedules_of
from discreet.curator.service.service import Curator
from discreet.session.price import Price
from tests.helpers.curator.servers import Village
from tests.helpers.curator.town import COUNT, Town, charges
from tests.helpers.processes import NotReady, until

pytestmark = pytest.mark.slow


def scheduled(curator: Curator, token: str, *, dataset: str = "town", query: str = COUNT, **more: Any) -> str:
    """A schedule of every day from tomorrow on; its name."""
    caller, now = curator.access.who(f"Bearer {token}"), curator.now()
    at = (now - timedelta(minutes=1)).strftime("%H:%M")
    last = (now.date() + timedelta(days=9)).isoformat()
    options: dict[str, Any] = {"board": None, "every": "day", "at": at, "until": last} | more
    price = options.pop("price", Price("1/8"))
    made = new_schedule(caller, dataset, () if options["board"] else (query,), price, now=now, **options)
    Schedules(curator).set(caller, made)
    return made.record.schedule


def looked(curator: Curator) -> None:
    """One server looks what is due; it remembers nothing of others."""
    DueRuns(curator).run()


@pytest.fixture(autouse=True)
def noon(request: pytest.FixtureRequest) -> None:
    """A town whose clock stands at noon, within the days that its tables declare."""
    if "new_town" in request.fixturenames:
        request.getfixturevalue("new_town").clock.now = datetime(2025, 6, 10, 12, tzinfo=UTC)


def test_a_run_is_paid_on_its_day_and_once(new_town: Town) -> None:
    identity = scheduled(new_town.curator, new_town.ann)
    looked(new_town.curator)
    assert charges(new_town) == 0
    new_town.clock.now += timedelta(days=1)
    for _ in range(3):  # three servers, one after the other: none remembers what another did
        looked(new_town.curator)
    assert charges(new_town) == 1
    new_town.clock.now += timedelta(days=3)
    looked(new_town.curator)
    assert charges(new_town) == 2  # the days between were missed
    paid = new_town.curator.ledger.entries(kind="charge", limit=10)[-1].entry
    assert (paid.by, paid.body["query"]) == ("ann", COUNT)
    assert paid.body["key"].startswith(f"schedule {identity} ")
    assert read_answer(new_town.curator.ledger.charge(paid.sequence))["rows"]
    new_town.clock.now += timedelta(days=30)
    looked(new_town.curator)
    looked(new_town.curator)
    assert charges(new_town) == 3  # the last one


def test_several_servers_at_once_pay_once(new_town: Town) -> None:
    for _ in range(3):
        scheduled(new_town.curator, new_town.ann)
    new_town.clock.now += timedelta(days=1)
    threads = [threading.Thread(target=looked, args=(new_town.curator,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert charges(new_town) == 3


def test_the_rights_of_the_day_count_and_a_refusal_is_recorded_once(new_town: Town) -> None:
    identity = scheduled(new_town.curator, new_town.ann, price=Price("900"))
    new_town.clock.now += timedelta(days=1)
    new_town.curator.ledger.owner.revoke_analyst("ann", reason="left")
    for _ in range(2):
        looked(new_town.curator)
    other = scheduled(new_town.curator, new_town.bob, price=Price("1"))
    new_town.curator.ledger.owner.retire("town", reason="moved")
    new_town.clock.now += timedelta(days=1)
    looked(new_town.curator)
    assert charges(new_town) == 0
    found = schedules_of(new_town.curator.ledger.look())
    assert set(found[identity].refused.values()) == {"Unauthorised"}
    assert len(found[identity].refused) == 2
    assert list(found[other].refused.values()) == ["NotRegistered"]
    assert len(new_town.curator.ledger.owner.acts("schedule.refused")) == 3


def test_a_dashboard_goes_on_by_itself_and_misses_no_day(new_town: Town) -> None:
    body = {"sql": "SELECT city, COUNT(*) AS n FROM trips GROUP BY city", "by": "day", "horizon": 8, "max_rows": 1}
    opened = new_town.post("/api/datasets/town/boards/b", body | {"epsilon": "1"}, new_town.ann)
    assert opened.status_code == 200, opened.text
    scheduled(new_town.curator, new_town.ann, board="b")
    new_town.clock.now += timedelta(days=3)
    for _ in range(2):
        looked(new_town.curator)
    board = new_town.get("/api/datasets/town/boards/b", new_town.ann).json()
    today = new_town.clock.now.date()
    assert [one["day"] for one in board["days"]] == [(today - timedelta(days=i)).isoformat() for i in (3, 2, 1)]
    assert charges(new_town) == 1  # the dashboard itself


def test_a_server_runs_what_is_due_while_it_serves(tmp_path: Path) -> None:
    village = Village(tmp_path)
    set_yesterday(village)
    with village.server():
        curator = open_curator(village.config)
        until(lambda: paid(curator) == 1, what="run")
        curator.close()


@pytest.mark.parametrize("point", ["appended", "committed", "noise", "stored"])
def test_a_run_is_paid_once_by_servers_of_which_one_is_killed(tmp_path: Path, point: str) -> None:
    """One server dies at a point of the run (kill -9); two others find it paid, or pay."""
    village = Village(tmp_path)
    set_yesterday(village)
    with suppress(NotReady), village.server(point) as first:  # it may die before it is up
        until(lambda: first.process.poll() is not None, what="killed")
    curator = open_curator(village.config)
    assert paid(curator) == (point != "appended")
    curator.close()
    with village.server(), village.server():
        curator = open_curator(village.config)
        until(lambda: paid(curator) > 0, what="paid")
        looked(curator)
        assert paid(curator) == 1
        curator.close()


def set_yesterday(village: Village) -> None:
    """A schedule that was set yesterday and is due since midnight."""
    curator = open_curator(village.config)
    caller, now = curator.access.who(f"Bearer {village.tokens[0]}"), curator.now()
    made = new_schedule(
        caller, "other", ("SELECT COUNT(*) AS n FROM notes",), Price("1/8"), board=None, every="day", at="00:00",
        until=now.date().isoformat(), now=now - timedelta(days=1),
    )  # fmt: skip
    Schedules(curator).set(caller, made)
    curator.close()


def paid(curator: Curator) -> int:
    return len(curator.ledger.entries(kind="charge", limit=10))
