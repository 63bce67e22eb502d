"""A real PostgreSQL server for tests: own data, own socket, no network.

``durable=False`` does not wait for the disk, so it is quick; ``durable=True`` keeps PostgreSQL's own settings.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from tests.helpers.processes import kill_tree, launch, until
from tools.servers import POSTGRES, find

QUICK = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
SMALL = {"shared_buffers": "32MB", "max_wal_size": "256MB", "autovacuum_naptime": "1h", "jit": "off"}


class Postgres:
    """A server in a folder of its own; start, stop, kill and start again as often as you like."""

    def __init__(self, *, durable: bool) -> None:
        self.bin = find(POSTGRES)
        # Debian's own user, since PostgreSQL refuses to run as root.
        self.user = "postgres" if os.geteuid() == 0 else None
        # Straight under /tmp: the path of a socket may have 107 bytes, and the other user must get there.
        self.folder = Path(tempfile.mkdtemp(prefix="discreet-pg-", dir="/tmp"))
        self.log = self.folder / "log"
        self.settings = SMALL if durable else SMALL | QUICK
        self._process: subprocess.Popen[bytes] | None = None
        self._names = count()
        if self.user:
            shutil.chown(self.folder, self.user, self.user)
        self._run("initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8")

    def _run(self, program: str, *options: str) -> None:
        process = launch(
            [self.bin / program, *options, f"--pgdata={self.folder}/data"],
            log=self.log,
            folder=self.folder,
            user=self.user,
        )
        if process.wait():
            raise RuntimeError(f"{program} failed:\n{self.log.read_text()}")

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process that starts all others."""
        assert self._process is not None
        return self._process.pid

    @property
    def dsn(self) -> str:
        return self.address("postgres")

    def address(self, database: str) -> str:
        """Where a database is, as a URL for psycopg, libpq and (with ``postgresql+psycopg:``) SQLAlchemy."""
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def fresh(self) -> str:
        """The address of a new, empty database."""
        name = f"fresh_{next(self._names)}"
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.address(name)

    def drop(self, dsn: str) -> None:
        """Remove a database that ``fresh`` made, whoever still uses it."""
        name = psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def start(self) -> None:
        """Start, if it is not running; returns when it answers."""
        if self.running:
            return
        settings = {"listen_addresses": "", "unix_socket_directories": str(self.folder), **self.settings}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self._process = launch(
            [self.bin / "postgres", "-D", self.folder / "data", *options],
            log=self.log,
            folder=self.folder,
            user=self.user,
        )
        until(self._answers, process=self._process, log=self.log)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.dsn).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        """An orderly end that does not wait for clients."""
        if self.running and self._process:
            self._process.send_signal(signal.SIGINT)  # PostgreSQL's "fast shutdown"
            self._process.wait()

    def kill(self) -> None:
        """Kill -9 the server and all its processes at one instant."""
        if self.running and self._process:
            kill_tree(self._process)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        shutil.rmtree(self.folder)
