"""What may happen to a question on its way: the client goes, the engine hangs or is killed, the task is cancelled.

Always the same: it was charged before any data was read, it stays charged, and what was stored is what is handed out.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import socket
import termios
from array import array
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from discreet.curator.error_replies import Refusal, reply
from discreet.errors import EngineFailed
from discreet.query.interruption import check_interrupted
from tests.helpers.curator.town import Town, on_a_socket, scope
from tests.helpers.processes import stopped, until

SQL = "SELECT city, COUNT(*) AS n FROM people GROUP BY city"
PATH = "/api/datasets/town/questions"


@pytest.fixture
def engine(new_town: Town) -> Iterator[psutil.Process]:
    """The process that has the data, stopped: what is asked stays on its way until it goes on."""
    assert new_town.ask(SQL, key="warm").status_code == 200
    process = new_town.curator.open(new_town.curator.ledger.datasets["town"]).engine._all[0]._process
    assert process is not None
    found = psutil.Process(process.pid)
    found.suspend()
    until(lambda: stopped(found), what="stopped")
    yield found
    if found.is_running():
        found.resume()


def line(town: Town, key: str) -> Any:
    """The charge under a key, if there is one."""
    found = [one for one in town.curator.ledger.entries(kind="charge") if one.entry.body["key"] == key]
    assert len(found) <= 1
    return found[0] if found else None


def paid(town: Town, key: str) -> None:
    until(lambda: line(town, key) is not None, what="paid")
    assert not line(town, key).answered


def unread(town: Town) -> int:
    """How many bytes of a request wait for the process that has the data."""
    process = town.curator.open(town.curator.ledger.datasets["town"]).engine._all[0]._process
    found = array("i", [0])
    assert process is not None
    assert process.stdin is not None
    fcntl.ioctl(process.stdin.fileno(), termios.FIONREAD, found)
    return found[0]


@pytest.mark.slow
def test_the_client_goes_away(new_town: Town, engine: psutil.Process) -> None:
    body = json.dumps({"sql": SQL, "epsilon": "1", "key": "left", "fresh": True}).encode()
    with on_a_socket(new_town) as url:
        host, port = urlsplit(url).hostname, urlsplit(url).port
        with socket.create_connection((host, port)) as connection:
            head = f"POST {PATH} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {new_town.ann}\r\n"
            head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)
            paid(new_town, "left")
        engine.resume()
        until(lambda: line(new_town, "left").answered, what="answered")
    again = new_town.ask(SQL, key="left")
    assert again.status_code == 200
    assert again.json()["number"] == line(new_town, "left").entry.sequence
    assert new_town.ask(SQL, key="left").content == again.content


@pytest.mark.slow
def test_the_request_is_cancelled(new_town: Town, engine: psutil.Process) -> None:
    body = json.dumps({"sql": SQL, "epsilon": "1", "key": "cancelled", "fresh": True}).encode()
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    async def cancel() -> None:
        task = asyncio.ensure_future(new_town.http.app(scope(PATH, new_town.ann), receive, send))
        await asyncio.to_thread(paid, new_town, "cancelled")
        task.cancel()
        engine.resume()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert not sent
    until(lambda: line(new_town, "cancelled").answered, what="answered")
    assert new_town.ask(SQL, key="cancelled").json()["number"] == line(new_town, "cancelled").entry.sequence


@pytest.mark.slow
def test_the_engine_is_killed(new_town: Town, engine: psutil.Process) -> None:
    """By the kernel, when memory runs out, or by anybody else."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(new_town.ask, SQL, key="killed")
        paid(new_town, "killed")
        until(lambda: unread(new_town) > 0, what="sent to the engine")  # before that, a new process would be started
        engine.kill()
        failed = asked.result()
    assert (failed.status_code, failed.json()) == reply(EngineFailed())
    assert new_town.ask(SQL, key="killed").content == failed.content
    assert line(new_town, "killed").answered
    assert new_town.ask(SQL, key="next").status_code == 200  # a new process is there


@pytest.mark.slow
def test_the_engine_hangs_until_the_deadline(new_town: Town, engine: psutil.Process) -> None:
    object.__setattr__(new_town.config.limits, "deadline", Fraction(1, 4))
    failed = new_town.ask(SQL, key="late")
    assert (failed.status_code, failed.json()) == reply(EngineFailed())
    assert line(new_town, "late").answered
    object.__setattr__(new_town.config.limits, "deadline", Fraction(30))
    assert new_town.ask(SQL, key="late").content == failed.content
    assert new_town.ask(SQL, key="next").status_code == 200


@pytest.mark.slow
def test_nobody_sees_the_answer_before_the_grid_lets_it_go(
    new_town: Town, engine: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else whoever asks every millisecond whether the answer is there would know how long it took."""
    seen: list[tuple[bool, int, str]] = []

    def look(*_: object) -> None:
        number = line(new_town, "k").entry.sequence
        listed = new_town.get("/api/answers", new_town.ann).json()["charges"][-1]["answered"]
        again = new_town.ask(SQL, key="k").json()["error"]["kind"]
        seen.append((listed, new_town.get(f"/api/answers/{number}", new_town.ann).status_code, again))

    engine.resume()
    monkeypatch.setattr(type(new_town.curator.grid), "hold", look)
    assert new_town.ask(SQL, key="k").status_code == 200
    assert seen == [(False, 503, "LedgerBusy")]


PLAN = {"sqls": [SQL, "SELECT SUM(pay) AS s FROM people"], "epsilon": "1"}


def test_planning_that_takes_too_long_is_stopped_and_nothing_is_spent(new_town: Town) -> None:
    """A body of 7 kB kept a server busy for 20 s, for nothing."""
    object.__setattr__(new_town.config.limits, "planning", Fraction(1, 10**9))
    for route in ("plan/preview", "workload/preview", "plan", "workload"):
        refused = new_town.post(f"/api/datasets/town/{route}", PLAN, new_town.ann)
        assert (refused.status_code, refused.json()["error"]["kind"]) == (422, "TooLong"), route
        assert "nothing was spent" in refused.json()["error"]["message"]
    assert new_town.preview(SQL, epsilon="1").json()["error"]["kind"] == "TooLong"
    assert new_town.curator.ledger.entries(kind="charge") == []


@pytest.mark.parametrize(
    ("route", "made"), [("plan/preview", "preview_plan"), ("workload/preview", "preview"), ("preview", "preview")]
)
def test_planning_ends_when_its_client_leaves(
    new_town: Town, monkeypatch: pytest.MonkeyPatch, route: str, made: str
) -> None:
    """It went on to the end, and its place was taken from others."""
    object.__setattr__(new_town.config.limits, "planning", Fraction(10**6))
    ends: list[str] = []

    def forever(*_: object) -> None:
        try:
            while True:
                check_interrupted()
        except Refusal as end:
            ends.append(end.kind)
            raise

    monkeypatch.setattr(new_town.curator, made, forever)
    body = {"sql": SQL, "epsilon": "1"} if route == "preview" else PLAN
    messages = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]

    async def receive() -> dict[str, Any]:
        return messages.pop() if messages else {"type": "http.disconnect"}

    async def send(_: object) -> None:
        pass

    asyncio.run(new_town.http.app(scope(f"/api/datasets/town/{route}", new_town.ann), receive, send))  # type: ignore[arg-type]
    assert ends == ["ClientLeft"]
