"""Rates, sizes, times; and the grid of time. No test sleeps: clocks are moved by hand."""

from __future__ import annotations

import asyncio
import socket
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.curator.error_replies import Refusal
from discreet.curator.http import serving
from discreet.curator.limits import Limits, Meter
from discreet.curator.service.reply_timing import Grid
from discreet.curator.service.service import STRANGERS
from discreet.errors import BadParameter
from discreet.ledger import Ledger
from discreet.ledger.state import State
from tests.helpers.curator.town import Town, bearer, open_town, scope


class Ticking:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_then_the_rate_then_a_refill_and_everybody_for_themselves() -> None:
    clock = Ticking()
    meter = Meter(Limits(requests_per_second=Fraction(2), burst=3), clock)
    for _ in range(3):
        meter.count("ann")
    with pytest.raises(Refusal) as found:
        meter.count("ann")
    assert found.value.status == 429
    meter.count("bob")
    clock.now += 0.5
    meter.count("ann")
    with pytest.raises(Refusal):
        meter.count("ann")
    clock.now += 1000
    for _ in range(3):
        meter.count("ann")
    with pytest.raises(Refusal):
        meter.count("ann")


def test_refused_requests_do_not_push_the_refill_away() -> None:
    clock = Ticking()
    meter = Meter(Limits(requests_per_second=Fraction(1), burst=1), clock)
    meter.count("ann")
    for _ in range(9):
        clock.now += 0.1
        with pytest.raises(Refusal):
            meter.count("ann")
    clock.now += 0.11
    meter.count("ann")


def test_places_under_way_are_given_back_whatever_happens() -> None:
    meter = Meter(Limits(under_way=2))
    for _ in range(5):
        with pytest.raises(ZeroDivisionError), meter.under_way("ann"):
            raise ZeroDivisionError
    with meter.under_way("ann"), meter.under_way("ann"):
        with pytest.raises(Refusal), meter.under_way("ann"):
            pass
        with meter.under_way("bob"):
            pass
    with meter.under_way("ann"):
        pass


@pytest.mark.parametrize("name", ["burst", "under_way", "body", "groups", "tables", "memory", "deadline", "patience"])
def test_limits_are_above_0(name: str) -> None:
    with pytest.raises(BadParameter) as found:
        Limits(**{name: Fraction(0)})  # type: ignore[arg-type]
    assert found.value.name == name


# --- the grid -------------------------------------------------------------------------------------------------------


@given(st.floats(0, 1e6), st.floats(0, 50), st.floats(0.01, 10))
def test_a_reply_leaves_on_a_line_of_the_grid_and_on_the_next_one(began: float, took: float, quantum: float) -> None:
    wait = Grid(quantum).wait(began, began + took)
    lines = (took + wait) / quantum
    assert abs(lines - round(lines)) < 1e-6
    assert round(lines) >= 1
    assert -1e-9 <= wait <= quantum + 1e-9


@given(st.floats(0, 1e6), st.floats(0, 50), st.floats(0.01, 10))
def test_an_answer_is_stored_in_the_middle_between_two_lines(began: float, took: float, quantum: float) -> None:
    clock = Ticking()
    clock.now = began + took

    def sleep(seconds: float) -> None:
        clock.now += seconds

    Grid(quantum).hold(began, clock, sleep)
    lines = (clock.now - began) / quantum
    assert abs(lines % 1 - 0.5) < 1e-3 / quantum
    assert took - 1e-6 <= clock.now - began <= took + quantum + 1e-6


def test_the_wait_ends_on_the_line_even_if_sleep_comes_back_early() -> None:
    clock = Ticking()
    clock.now = 10.07

    async def sleep(seconds: float) -> None:
        clock.now += min(seconds, 0.05) + 1e-4

    asyncio.run(Grid(0.25).keep(10.0, clock, sleep))
    assert 10.25 <= clock.now < 10.31


# --- at the door ----------------------------------------------------------------------------------------------------


def test_too_many_requests_are_refused_by_name_and_cost_nothing(tmp_path: Path) -> None:
    with open_town(tmp_path / "town") as town:
        slow = Limits(requests_per_second=Fraction(1, 1000), burst=2)
        object.__setattr__(town.curator, "meter", Meter(slow, Ticking()))
        spent = town.curator.ledger.head
        statuses = [town.ask("SELECT COUNT(*) FROM people WHERE", epsilon="1").status_code for _ in range(4)]
        assert statuses == [422, 422, 429, 429]
        assert town.get("/api/me", town.bob).status_code == 200
        assert town.curator.ledger.head == spent


def test_bodies_are_limited_and_must_be_json(town: Town) -> None:
    most = town.config.limits.body
    path, head = "/api/datasets/town/preview", bearer(town.ann)
    json = head | {"content-type": "application/json"}
    assert town.http.post(path, content=b" " * (most + 1), headers=json).status_code == 413
    assert town.http.post(path, content=b" " * 10, headers=json | {"content-length": "9" * 30}).status_code == 413

    def chunks() -> object:
        for _ in range(100):
            yield b" " * 1000

    assert town.http.post(path, content=chunks(), headers=json).status_code == 413  # type: ignore[arg-type]
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json", ""):
        assert town.http.post(path, content=b"{}", headers=head | {"content-type": kind}).status_code == 415
    deep = [
        b"[" * 60_000,
        b'{"sql":' * 9_000,
        b'{"sql":"x","epsilon":' + b"9" * 60_000 + b"}",
        b"\xff\xfe",
        b"",
        b"null",
    ]
    for body in deep:
        assert town.http.post(path, content=body, headers=json).status_code in (400, 422)


def test_a_body_that_never_comes_is_given_up(new_town: Town) -> None:
    """What a slow client does, spoken to the application itself."""
    object.__setattr__(new_town.config.limits, "patience", Fraction(1, 50))
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(new_town.http.app(scope("/api/datasets/town/preview", new_town.ann), receive, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 408


def test_strangers_are_counted_by_address(new_town: Town) -> None:
    new_town.curator.strangers = Meter(STRANGERS, Ticking())
    statuses = [new_town.get("/api/health").status_code for _ in range(70)]
    assert statuses == [200] * 60 + [429] * 10
    assert new_town.get("/api/me", new_town.ann).status_code == 200
    assert new_town.get("/").status_code == 200


def test_bad_tokens_are_counted_before_the_ledger_is_read_and_good_ones_are_not(
    new_town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_town.curator.strangers = Meter(STRANGERS, Ticking())
    look, looked = Ledger.look, []

    def watched(ledger: Ledger) -> State:
        looked.append(ledger)
        return look(ledger)

    monkeypatch.setattr(Ledger, "look", watched)
    tokens = [None, "wrong", new_town.ann + "x", new_town.ann[:-1]]
    statuses = [new_town.get("/api/me", tokens[i % 4]).status_code for i in range(100)]
    assert statuses == [401] * 60 + [429] * 40
    assert len(looked) == 60
    assert new_town.get("/api/me", new_town.ann).status_code == 200
    later = new_town.post("/api/analysts", {"name": "zoe"}, new_town.owner).json()["token"]
    assert new_town.get("/api/me", later).status_code == 200


def test_a_client_that_never_ends_its_request_is_let_go(
    served: tuple[Town, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, url = served
    monkeypatch.setattr(serving, "PATIENCE", 0.2)
    address = (urlsplit(url).hostname, urlsplit(url).port)
    for begun in (b"", b"GET /api/health HTTP/1.1\r\nx: "):
        with socket.create_connection(address, timeout=60) as line:
            line.sendall(begun)
            assert line.recv(100) == b""  # closed by the server
    with socket.create_connection(address, timeout=60) as line:
        line.sendall(b"GET /api/health HTTP/1.1\r\nhost: x\r\n\r\n")
        assert b" 200 " in line.recv(1000)
        line.sendall(b"GET /api")  # a second request on the same line
        assert b"" in iter(lambda: line.recv(1000), None)


def test_a_body_in_many_pieces_is_read_once(new_town: Town) -> None:
    """Work grows with the bytes, not with the pieces times the bytes: every byte alone is as good as all at once."""
    body = b'{"sql": "SELECT COUNT(*) AS n FROM people", "epsilon": "1"' + b" " * 60_000 + b"}"
    pieces = iter([body[i : i + 1] for i in range(len(body))])
    sent: list[Any] = []
    left = len(body)

    async def receive() -> dict[str, Any]:
        nonlocal left
        left -= 1
        return {"type": "http.request", "body": next(pieces), "more_body": left > 0}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(new_town.http.app(scope("/api/datasets/town/preview", new_town.ann), receive, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 200


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM people WHERE " + "(" * 10_000 + "1=1" + ")" * 10_000,
        "SELECT COUNT(*) FROM people WHERE " + "NOT " * 9_000 + "true",
        "SELECT " + "+".join(["1"] * 9_000) + ", COUNT(*) FROM people",
        "SELECT COUNT(*) FROM " + " JOIN ".join(f"people p{i}" for i in range(500)),
        "SELECT COUNT(*) FROM people, people, people, people",
        "WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT * FROM t) SELECT COUNT(*) FROM t",
        "SELECT COUNT(*) FROM (" * 500 + "people" + ")" * 500,
        "SELECT COUNT(*) FROM people" + " UNION ALL SELECT COUNT(*) FROM people" * 500,
        "SELECT COUNT(*) FROM people WHERE city IN (" + ",".join(f"'{i}'" for i in range(5_000)) + ")",
    ],
    ids=range(9),
)
def test_questions_that_are_too_much_are_refused_or_answered_and_never_hang(town: Town, sql: str) -> None:
    reply = town.preview(sql, epsilon="1")
    assert reply.status_code in (200, 413, 422), reply.text


def test_answers_with_too_many_rows_are_refused_by_the_plan_alone(new_town: Town) -> None:
    object.__setattr__(new_town.curator.config.limits, "groups", 2)
    reply = new_town.preview("SELECT city, COUNT(*) AS n FROM people GROUP BY city", epsilon="1")
    assert reply.status_code == 422
    assert "at most 2" in reply.json()["error"]["message"]
