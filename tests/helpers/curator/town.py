"""A town behind a curator, served in this process: a real ledger, a real engine in its own process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient

from discreet.curator.http.app import create_app
from discreet.curator.http.serving import options
from discreet.curator.limits import Meter
from discreet.curator.service.config import Config, read_config
from discreet.curator.service.opening import open_curator
from discreet.curator.service.people import Role
from discreet.curator.service.service import Curator
from discreet.ledger.journal import utc
from tests.helpers.curator.land import write_town
from tests.helpers.processes import until

COUNT = "SELECT city, COUNT(*) AS n FROM people GROUP BY city"


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = utc()

    def __call__(self) -> datetime:
        return self.now


class Ticking:
    """A clock in seconds that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True, slots=True)
class Town:
    """A curator with an owner and two analysts, and a way to talk to it."""

    folder: Path
    config: Config
    curator: Curator
    http: TestClient
    clock: Clock
    owner: str
    ann: str
    bob: str

    def get(self, path: str, token: str | None = None, **options: Any) -> Any:
        return self.http.get(path, headers=bearer(token), **options)

    def post(self, path: str, body: Any, token: str | None = None) -> Any:
        return self.http.post(path, json=body, headers=bearer(token))

    def ask(self, sql: str, token: str | None = None, *, epsilon: str = "1", **more: Any) -> Any:
        """A charge each time, unless ``fresh=False``."""
        body = {"sql": sql, "epsilon": epsilon, "fresh": True, **more}
        return self.post("/api/datasets/town/questions", body, token or self.ann)

    def preview(self, sql: str, token: str | None = None, **more: Any) -> Any:
        return self.post("/api/datasets/town/preview", {"sql": sql, **more}, token or self.ann)


def charges(town: Town) -> int:
    """How many questions were charged."""
    return len(town.curator.ledger.entries(kind="charge", limit=10_000))


def broken(town: Town, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """An engine that fails in this way, after the payment."""
    opened = town.curator.open(town.curator.ledger.datasets["town"])

    def run(*_: object) -> None:
        raise error

    monkeypatch.setattr(opened.engine, "run", run)
    monkeypatch.setattr(opened.engine, "grouping_sets", run)


def scope(path: str, token: str) -> dict[str, Any]:
    """A POST of JSON, as a server hands it to the application."""
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": b"",
        "query_string": b"",
        "headers": [
            (b"host", b"localhost"),
            (b"authorization", f"Bearer {token}".encode()),
            (b"content-type", b"application/json"),
        ],
    }


@contextmanager
def on_a_socket(town: Town, **more: Any) -> Iterator[str]:
    """The address of the town, served over a real socket by a thread of this process."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(town.http.app, lifespan="off", **options("127.0.0.1", port, **more)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    until(lambda: server.started, what="started")
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def bearer(token: str | None) -> dict[str, str]:
    return {} if token is None else {"authorization": f"Bearer {token}"}


@contextmanager
def open_town(folder: Path, **options: Any) -> Iterator[Town]:
    """A town, served in this process."""
    clock = Clock()
    config = read_config(write_town(folder, **options))
    curator = open_curator(config, create=True, clock=clock)
    curator.anonymous_meter = Meter(config.limits)
    for name in ("ann", "bob"):
        curator.ledger.owner.add_analyst(name)
        curator.ledger.owner.grant(name, "town")
    tokens = {
        "owner": curator.access.issue("owner", Role.OWNER),
        "ann": curator.access.issue("ann", Role.ANALYST),
        "bob": curator.access.issue("bob", Role.ANALYST),
    }
    with TestClient(create_app(curator), "http://localhost", raise_server_exceptions=False) as http:
        yield Town(folder, config, curator, http, clock, **tokens)
