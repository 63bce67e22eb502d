"""What every request passes: token, rate, size, type; and the headers of every reply."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from typing import Any

import pytest

from discreet.curator.http.middleware import HEADERS
from discreet.curator.limits import Meter
from discreet.curator.service.service import ANONYMOUS_LIMITS
from discreet.ledger import Ledger
from discreet.ledger.state import State
from tests.helpers.curator.town import COUNT, Ticking, Town, bearer, scope


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


def test_anonymous_requests_are_counted_by_address(new_town: Town) -> None:
    new_town.curator.anonymous_meter = Meter(ANONYMOUS_LIMITS, Ticking())
    statuses = [new_town.get("/api/health").status_code for _ in range(70)]
    assert statuses == [200] * 60 + [429] * 10
    assert new_town.get("/api/me", new_town.ann).status_code == 200
    assert new_town.get("/").status_code == 200


def test_bad_tokens_are_counted_before_the_ledger_is_read_and_good_ones_are_not(
    new_town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_town.curator.anonymous_meter = Meter(ANONYMOUS_LIMITS, Ticking())
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


def test_what_should_not_happen_says_nothing(
    town: Town, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("canary7f3a")

    monkeypatch.setattr(town.curator, "budget", fail)
    reply = town.get("/api/budget", town.ann)
    assert reply.status_code == 500
    assert reply.json()["error"]["kind"] == "Fault"
    assert "RuntimeError at fail" in caplog.text
    assert "canary" not in caplog.text + reply.text


def test_every_reply_has_the_headers_and_tells_no_time(town: Town) -> None:
    replies = [
        town.get("/"),
        town.get("/nowhere"),
        town.get("/api/me"),
        town.get("/api/me", town.ann),
        town.ask(COUNT),
        town.ask("nonsense"),
        town.http.delete("/api/me"),
        town.http.options(
            "/api/me", headers={"origin": "https://evil.example", "access-control-request-method": "GET"}
        ),
    ]
    for one in replies:
        for name, value in HEADERS.items():
            assert one.headers[name] == value
        assert not {"date", "server", "x-process-time", "server-timing", "set-cookie"} & set(one.headers)
        assert not [name for name in one.headers if name.startswith("access-control-")]
    assert [one.status_code for one in replies] == [200, 404, 401, 200, 200, 422, 405, 405]
    assert replies[6].headers["allow"] == "GET"


def test_form_posts_from_elsewhere_change_nothing(town: Town) -> None:
    before = town.curator.ledger.head
    for path in ("/api/analysts", "/api/datasets/town/questions", "/api/ledger/acknowledge"):
        for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain"):
            sent = {"content-type": kind, "origin": "https://evil.example", "authorization": f"Bearer {town.owner}"}
            assert town.http.post(path, content=b'{"name":"eve"}', headers=sent).status_code in (403, 415)
    assert town.curator.ledger.head == before
