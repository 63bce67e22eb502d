"""What every request passes: token, rate, size, type; and the headers of every reply."""

from __future__ import annotations

import asyncio
import json
import time
from fractions import Fraction
from typing import Any

import pytest

from discreet.curator.error_replies import Refusal
from discreet.curator.http.middleware import HEADERS
from discreet.curator.limits import Meter
from discreet.curator.logs import Lines
from discreet.curator.service.access import PAID
from discreet.curator.service.reply_timing import Grid
from discreet.curator.service.service import ANONYMOUS_LIMITS
from discreet.ledger import Ledger
from discreet.ledger.state import State
from tests.helpers.curator.town import COUNT, Ticking, Town, bearer, scope


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_who_only_looks_waits_for_a_place(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails where forty first looks at once get 429; a question is refused at once, before it is paid."""
    meter, asked = town.curator.meter, list[str]()

    def taken_once(name: str) -> Any:
        asked.append(name)
        if len(asked) == 1:
            raise Refusal(429, "TooMany", "too many requests at the same time; wait for an answer")
        return Meter.under_way(meter, name)

    monkeypatch.setattr(meter, "under_way", taken_once)
    assert town.get("/api/me", town.ann).status_code == 200
    assert len(asked) == 2
    asked.clear()
    assert town.post("/api/datasets/town/preview", {"sql": COUNT, "epsilon": "1"}, town.ann).status_code == 429
    assert len(asked) == 1


@pytest.mark.slow
def test_anonymous_requests_are_counted_by_address(new_town: Town) -> None:
    new_town.curator.anonymous_meter = Meter(ANONYMOUS_LIMITS, Ticking())
    statuses = [new_town.get("/api/key").status_code for _ in range(70)]
    assert statuses == [200] * 60 + [429] * 10
    assert [new_town.get(path).status_code for path in ("/healthz", "/readyz", "/api/health")] == [200] * 3
    assert new_town.get("/api/me", new_town.ann).status_code == 200
    assert new_town.get("/").status_code == 200


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_other_names_are_refused_and_addresses_are_not(town: Town) -> None:
    for host, status in (("127.0.0.1:8750", 200), ("[::1]:80", 200), ("localhost", 200), ("evil.example", 421)):
        reply = town.http.get("/healthz", headers={"host": host})
        assert reply.status_code == status, host
    assert reply.json()["error"]["kind"] == "OtherHost"


@pytest.mark.slow
def test_strangers_behind_a_trusted_proxy_are_counted_apart(new_town: Town) -> None:
    """The test client's own address is "testclient"."""
    new_town.curator.anonymous_meter = Meter(ANONYMOUS_LIMITS, Ticking())
    object.__setattr__(new_town.config, "proxies", ("testclient",))

    def key(address: str) -> int:
        return int(new_town.http.get("/api/key", headers={"x-forwarded-for": address}).status_code)

    assert [key("203.0.113.1") for _ in range(61)] == [200] * 60 + [429]
    assert key("203.0.113.2") == 200
    object.__setattr__(new_town.config, "proxies", ())
    assert [key(f"203.0.113.{i}") for i in range(61)][-1] == 429  # nobody is believed


def test_every_reply_has_an_identity_that_its_log_line_has_too(town: Town, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "discreet.curator")
    caplog.handler.setFormatter(Lines(as_json=True))
    replies = [town.ask(COUNT), town.get("/api/nowhere/canary7f3a?x=canary7f3a"), town.get("/api/me", "wrong")]
    identities = [one.headers["x-request-id"] for one in replies]
    assert len(set(identities)) == 3
    lines = [json.loads(line) for line in caplog.text.splitlines() if '"replied"' in line]
    assert [line["request"] for line in lines] == identities
    assert [(line["route"], line["status"]) for line in lines] == [
        ("/api/datasets/{dataset}/questions", 200), ("none", 404), ("/api/me", 401),
    ]  # fmt: skip
    assert lines[0]["caller"] == "ann"
    assert "canary" not in caplog.text
    assert town.ann not in caplog.text


@pytest.mark.slow
def test_a_data_set_has_its_own_grid_for_those_who_may_know_of_it(new_town: Town) -> None:
    town = new_town
    configured = town.config.datasets["town"]
    object.__setattr__(town.config, "datasets", {"town": configured.model_copy(update={"quantum": Fraction(1, 2)})})
    began = time.monotonic()
    assert town.ask(COUNT).status_code == 200
    assert time.monotonic() - began >= 0.5
    assert town.curator.grid_of("other") == town.curator.grid


@pytest.mark.parametrize(("method", "path"), sorted(PAID))
def test_every_paid_route_uses_the_grid_of_its_data_set(
    new_town: Town, monkeypatch: pytest.MonkeyPatch, method: str, path: str
) -> None:
    """Dashboards and synthetic rows left on the server's grid, whatever the data set said."""
    town = new_town
    configured = town.config.datasets["town"]
    object.__setattr__(town.config, "datasets", {"town": configured.model_copy(update={"quantum": Fraction(7)})})
    used: list[float] = []

    async def keep(grid: Grid, *_: object) -> None:
        used.append(grid.quantum)

    monkeypatch.setattr(Grid, "keep", keep)
    for name, token in [("town", town.ann), ("nowhere", town.ann), ("town", "wrong")]:
        town.http.request(method, path.format(dataset=name, board="b"), json={}, headers=bearer(token))
    assert used == [7.0, 0.01, 0.01]  # those who may not know of it learn nothing of its grid
