"""A small town behind a curator: real files, a real ledger, a real engine in its own process.

Its data hold canaries: texts and numbers that no answer may ever show.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import uvicorn
from starlette.testclient import TestClient

from discreet.curator.access import Role
from discreet.curator.app import create_app
from discreet.curator.config import Config, read_config
from discreet.curator.journal import utc
from discreet.curator.service import Curator, open_curator
from discreet.curator.serving import options
from tests.helpers.processes import until

CANARY = "canary7f3a"
"""Stands in every text of the data."""
NUMBER = 48_213_977
"""Stands in the data as a number."""
CITIES = ("Aton", "Bury", "Cold")
TOML = """
[server]
data = "data"
quantum = 0.01
[limits]
requests_per_second = 100000
burst = 100000
under_way = 64
patience = 20
[datasets.town]
protects = "one person"
budget = {{epsilon = "{epsilon}", delta = "1e-18"}}
[datasets.town.tables.people]
source = "people.parquet"
unit = "person_id"
max_rows = 1
columns.city = {{keys = ["Aton", "Bury", "Cold"]}}
columns.pay = {{bounds = [0, 1000]}}
columns.name = {{unknown_keys = true}}
[datasets.town.tables.trips]
source = "trips.parquet"
unit = "person_id"
max_rows = 5
columns.day = {{bounds = ["2025-01-01", "2025-12-31"]}}
columns.length = {{bounds = [0, 100]}}
columns.city = {{keys = ["Aton", "Bury", "Cold"]}}
[datasets.other]
budget = {{epsilon = "1"}}
[datasets.other.tables.notes]
source = "notes.csv"
unit = "who"
"""


def write_town(folder: Path, *, people: int = 120, epsilon: str = "1000000") -> Path:
    """Files of a town and a curator.toml for them."""
    data = folder / "data"
    data.mkdir(parents=True)
    ids = list(range(1, people + 1))
    pq.write_table(
        pa.table(
            {
                "person_id": ids,
                "name": [f"{CANARY} person {i}" for i in ids],
                "city": [CITIES[i % 3] for i in ids],
                "pay": [float(i % 100) for i in ids],
                "secret": [f"{CANARY} secret {i}" for i in ids],
                "big": [NUMBER + i for i in ids],
            }
        ),
        data / "people.parquet",
    )
    pq.write_table(
        pa.table(
            {
                "person_id": [i for i in ids for _ in range(3)],
                "day": pa.array([datetime(2025, 1 + i % 12, 1 + k).date() for i in ids for k in range(3)]),
                "length": [float(i % 90) for i in ids for _ in range(3)],
                "city": [CITIES[(i + k) % 3] for i in ids for k in range(3)],
                "note": [f"{CANARY} note {i}" for i in ids for _ in range(3)],
            }
        ),
        data / "trips.parquet",
    )
    (data / "notes.csv").write_text("who,text\n" + "".join(f"{i},{CANARY} text {i}\n" for i in ids))
    config = folder / "curator.toml"
    config.write_text(TOML.format(epsilon=epsilon))
    return config


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = utc()

    def __call__(self) -> datetime:
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
        body = {"sql": sql, "epsilon": epsilon, **more}
        return self.post("/api/datasets/town/questions", body, token or self.ann)

    def preview(self, sql: str, token: str | None = None, **more: Any) -> Any:
        return self.post("/api/datasets/town/preview", {"sql": sql, **more}, token or self.ann)


@contextmanager
def on_a_socket(town: Town) -> Iterator[str]:
    """The address of the town, served over a real socket by a thread of this process."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(town.http.app, lifespan="off", **options("127.0.0.1", port)))
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
    for name in ("ann", "bob"):
        curator.ledger.owner.add_analyst(name)
        curator.ledger.owner.grant(name, "town")
    tokens = {
        "owner": curator.access.issue("owner", Role.OWNER),
        "ann": curator.access.issue("ann", Role.ANALYST),
        "bob": curator.access.issue("bob", Role.ANALYST),
    }
    with TestClient(create_app(curator), raise_server_exceptions=False) as http:
        yield Town(folder, config, curator, http, clock, **tokens)
