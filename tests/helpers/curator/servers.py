"""Real server processes for a town, over HTTP: started, asked from many threads, killed.

``python -m tests.helpers.curator.servers CONFIG PORT [POINT]`` serves; at the named point of a question it dies,
at once, as if the power had failed.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from discreet.curator.http.app import create_app
from discreet.curator.http.serving import options
from discreet.curator.service.config import Config, read_config
from discreet.curator.service.opening import open_curator
from discreet.curator.service.people import Role
from tests.helpers.curator.land import write_town
from tests.helpers.processes import free_port, kill_tree, launch, until

ROOT = Path(__file__).resolve().parents[3]
QUESTION = {"sql": "SELECT COUNT(*) AS n FROM notes", "epsilon": "0.1", "fresh": True}


class Village:
    """A town on disk, whose servers come and go. Its ledger lies in SQLite, or where ``ledger`` says."""

    def __init__(
        self, folder: Path, *, ledger: str | None = None, analysts: int = 4, about: Sequence[str] = ("other",)
    ) -> None:
        self.path = write_town(folder)
        self.folder = folder
        self.temporary = folder / "temporary"
        if ledger is not None:
            where = f'data = "data"\nledger = "{ledger}"\nkey = "key"\nhead = "head"'
            self.path.write_text(self.path.read_text().replace('data = "data"', where))
        self.config: Config = read_config(self.path)
        curator = open_curator(self.config, create=True)
        self.tokens = []
        for i in range(analysts):
            curator.ledger.owner.add_analyst(f"analyst {i}")
            for population in about:
                curator.ledger.owner.grant(f"analyst {i}", population)
            self.tokens.append(curator.access.issue(f"analyst {i}", Role.ANALYST))
        curator.close()

    @contextmanager
    def server(self, point: str = "") -> Iterator[Server]:
        server = Server(self.folder, self.path, point)
        try:
            yield server
        finally:
            server.kill()


class Server:
    """One server process, ready when it is made."""

    def __init__(self, folder: Path, config: Path, point: str = "") -> None:
        self.port = free_port()
        self.log = folder / f"server-{self.port}.log"
        command = [sys.executable, "-m", "tests.helpers.curator.servers", str(config), str(self.port), point]
        (folder / "temporary").mkdir(exist_ok=True)
        own = {"TMPDIR": str(folder / "temporary")}
        self.process: subprocess.Popen[bytes] = launch(command, log=self.log, folder=ROOT, env=own)
        until(self.up, process=self.process, log=self.log, what="serving")

    def up(self) -> bool:
        try:
            return self.ask_for("GET", "/api/health", None, None)[0] == 200
        except OSError:
            return False

    def ask_for(self, method: str, path: str, body: Any, token: str | None) -> tuple[int, Any]:
        """Status and JSON; OSError when the server dies on the way."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            headers = {"content-type": "application/json"}
            if token is not None:
                headers["authorization"] = f"Bearer {token}"
            line.request(method, path, None if body is None else json.dumps(body), headers)
            reply = line.getresponse()
            return reply.status, json.loads(reply.read())
        except (http.client.HTTPException, ValueError) as broken:
            raise ConnectionError from broken
        finally:
            line.close()

    def ask(self, token: str, key: str) -> tuple[int, Any]:
        return self.ask_for("POST", "/api/datasets/other/questions", {**QUESTION, "key": key}, token)

    def kill(self) -> None:
        """Kill -9, with the engine's processes: when the power fails, nobody survives."""
        if self.process.poll() is None:
            kill_tree(self.process)
        self.process.wait()


def main(config: str, port: str, point: str = "") -> None:
    def at(name: str) -> None:
        if point and name == point:
            os._exit(137)

    curator = open_curator(read_config(Path(config)), at=at)
    uvicorn.run(create_app(curator), **options("127.0.0.1", int(port)))


if __name__ == "__main__":
    main(*sys.argv[1:])
