"""Connections to a ledger's database: durable ones alone, which end in time, and whose errors are our own.

Promise: a connection that could lose a commit is refused. A PostgreSQL server that stops answering is given up after
``patience`` seconds, whatever it was doing. No error repeats a message of the database.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from discreet.errors import (
    BadParameter,
    LedgerBusy,
    LedgerError,
    LedgerMismatch,
    LedgerUnavailable,
    LedgerUnsafe,
    MissingExtra,
)
from discreet.ledger.migrations import head, sa

_BUSY, _DAMAGED = {5, 6}, {11, 26}  # SQLite: BUSY, LOCKED; CORRUPT, NOTADB; no code at all: text that is none
_NOT_LET_IN = {"28000", "28P01", "3D000"}  # PostgreSQL: no such role, password or database
_REFUSED = re.compile("password|authentication|does not exist")
_BUSY_STATES = {"55P03", "57014", "40001", "40P01", "23505"}  # PostgreSQL: no lock in time, cancelled, retry, deadlock
TOO_LONG = "others held the ledger for too long; nothing was spent, ask again"
"""What is said to whoever waited in vain."""
_DURABLE = {"on", "remote_apply"}


def is_address(location: str | Path) -> bool:
    """Whether this names a PostgreSQL database rather than a file."""
    given: object = location
    if not isinstance(given, (str, Path)) or not str(given):
        raise BadParameter("location", given, "must be the path of a file, or the address of a PostgreSQL database")
    return isinstance(location, str) and re.match(r"postgres(ql)?://|\w+\s*=", location) is not None


def connect_sqlite(path: Path, patience: float, synchronous: str) -> sa.Engine:
    """Connections to a file, with a stated durability of each commit."""
    address = sa.URL.create("sqlite", database=path.resolve().as_uri(), query={"mode": "rw", "uri": "true"})
    engine = sa.create_engine(address, connect_args={"timeout": patience}, pool_timeout=patience, max_overflow=30)

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        connection.isolation_level = None  # BEGIN is sent below
        connection.execute("PRAGMA secure_delete=ON")  # else free space of a page holds what was in memory before
        connection.execute("PRAGMA fullfsync=ON")
        connection.execute("PRAGMA checkpoint_fullfsync=ON")
        connection.execute(f"PRAGMA synchronous={synchronous}")
        mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
        wanted = {"NORMAL": 1, "FULL": 2}[synchronous]
        if mode != "wal" or connection.execute("PRAGMA synchronous").fetchone()[0] != wanted:
            raise LedgerUnsafe("SQLite does not keep this file with full durability (WAL, synchronous=FULL)")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        alone = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if alone else "BEGIN")

    return engine


def connect_postgres(address: str, patience: float) -> sa.Engine:
    """Connections to a server, which are given up after ``patience`` seconds."""
    engine = sa.create_engine(
        "postgresql+psycopg://",
        creator=lambda: limited(patience + 2).connect(address, connect_timeout=max(2, int(patience))),
        isolation_level="READ COMMITTED",
        pool_pre_ping=True,
        pool_timeout=patience,
        max_overflow=30,
    )

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        connection.execute(f"SET lock_timeout = {max(1, int(patience * 1000))}")
        connection.commit()

    return engine


def hold_head(connection: sa.Connection) -> None:
    """Lock the one row of the head, and refuse settings under which a commit could be lost."""
    setting = sa.func.current_setting
    row = connection.execute(
        sa.select(setting("fsync"), setting("synchronous_commit"), setting("full_page_writes"))
        .select_from(head)
        .with_for_update()
    ).one_or_none()
    if row is None:
        raise LedgerMismatch("the ledger has lost its head")
    fsync, commit, pages = row
    if fsync != "on" or commit not in _DURABLE or pages != "on":
        raise LedgerUnsafe("PostgreSQL may lose a commit: set fsync, full_page_writes and synchronous_commit to on")


# --- deadlines ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def limited(seconds: float) -> Any:
    """The class of connections on which every call ends after so many seconds, on this side of the line.

    Timeouts of the server do not end what hangs because its process was stopped or its network swallows everything.
    Then the connection is closed: nobody reads a late reply as their own. Believes: psycopg 3 sends 0 to its generators
    whenever it has waited for a moment in vain.
    """
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("ledgers on PostgreSQL", extra="postgres") from None

    class Limited(psycopg.Connection[tuple[Any, ...]]):
        """A connection whose calls end in time."""

        def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
            """Wait for a reply of the server."""
            try:
                return super().wait(until(gen, time.monotonic() + seconds), *args, **options)
            except TimeoutError:
                self.pgconn.finish()
                raise psycopg.OperationalError("the server does not answer") from None

    return Limited


def until(waiting: Generator[Any, Any, Any], deadline: float) -> Generator[Any, Any, Any]:
    """The same generator, ended with TimeoutError when it waits in vain after the deadline.

    >>> def nothing_comes():
    ...     while True:
    ...         yield "read"
    >>> steps = until(nothing_comes(), deadline=time.monotonic() - 1)
    >>> next(steps), steps.send(1)
    ('read', 'read')
    >>> steps.send(0)
    Traceback (most recent call last):
        ...
    TimeoutError
    """
    try:
        wanted = next(waiting)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > deadline:
                raise TimeoutError
            wanted = waiting.send(ready)
    except StopIteration as done:
        return done.value


# --- errors -------------------------------------------------------------------------------------------------------


@contextmanager
def report_database_errors() -> Iterator[None]:
    """Report every failure of the database as a LedgerError, with our own message."""
    try:
        yield
    except sa.exc.TimeoutError:
        raise LedgerBusy("too many are using the ledger in this process; ask again") from None
    except sa.exc.DBAPIError as failure:
        raise _translated(failure.orig) from None
    except sqlite3.Error as failure:
        raise _translated(failure) from None
    except sa.exc.SQLAlchemyError:
        raise LedgerUnavailable("the ledger cannot be used") from None


def _translated(cause: Any) -> LedgerError:
    code, state = getattr(cause, "sqlite_errorcode", None), getattr(cause, "sqlstate", None)
    if (code is not None and code & 0xFF in _BUSY) or state in _BUSY_STATES:
        return LedgerBusy(TOO_LONG)
    if (code is not None and code & 0xFF in _DAMAGED) or (code is None and isinstance(cause, sqlite3.Error)):
        return LedgerMismatch("the file of the ledger is damaged: restore a copy whose chain verifies")
    unconnected = code is None and state is None  # PostgreSQL gives no state before there is a connection
    if state in _NOT_LET_IN or (unconnected and _REFUSED.search(str(cause))):
        return LedgerUnavailable(
            "PostgreSQL does not let this role in: give its password in PGPASSWORD or in a password file (~/.pgpass), "
            "and check the name of the role and of the database; nothing was spent"
        )
    return LedgerUnavailable(
        "the ledger cannot be read or written: is the disk full or read-only, or the server away? A charge under way "
        "stands or not, once at most: ask again with the same key"
    )
