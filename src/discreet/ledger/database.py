"""Where the entries are stored: an SQLite file, or PostgreSQL for several servers.

Promise: ``write`` holds the ledger alone, over all processes and servers; what it appended is durable when it ends
without an error, and not there at all if it ends with one, except that a connection lost while committing leaves it
open which of the two it is. Nothing depends on serializable isolation: one row is locked, and changed only if it is
still what was read. No error repeats a message of the database. A PostgreSQL server that stops answering is given up
after ``patience`` seconds, whatever it was doing; a disk that hangs cannot be.
Believes: SQLite in WAL mode with synchronous=FULL, PostgreSQL with fsync and synchronous_commit on; both are checked.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
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
from discreet.ledger.durable_files import MEMORY, NETWORK, create_file, kind_of_disk, locked, report_disk_errors
from discreet.ledger.entries import BEFORE_ALL, Entry
from discreet.ledger.migrations import GUARDS_OF_ANSWERS, answers, entries, head, sa, take_steps, version_of
from discreet.ledger.records import Columns, read_record

_BUSY, _DAMAGED = {5, 6}, {11, 26}  # SQLite: BUSY, LOCKED; CORRUPT, NOTADB; no code at all: text that is none
_BUSY_STATES = {"55P03", "57014", "40001", "40P01", "23505"}  # PostgreSQL: no lock in time, cancelled, retry, deadlock
TOO_LONG = "others held the ledger for too long; nothing was spent, ask again"
"""What is said to whoever waited in vain."""
_DURABLE = {"on", "remote_apply"}
_SETTING_UP = 0x6469736372656574  # the advisory lock under which PostgreSQL tables are made: "discreet"


class Database:
    """The database of one ledger."""

    def __init__(self, engine: sa.Engine, *, quick: sa.Engine, path: Path | None, patience: float) -> None:
        self._engine = engine
        self._quick = quick
        self.patience = patience
        """Seconds after which a wait for the ledger ends."""
        postgres = engine.dialect.name == "postgresql"
        self._views = engine.execution_options(isolation_level="REPEATABLE READ") if postgres else engine
        self._path = path
        self._identity = _identity(path)

    @property
    def local(self) -> bool:
        """Whether it is a file of this machine: reading then waits for nobody."""
        return self._path is not None

    @property
    def cautions(self) -> tuple[str, ...]:
        """What the owner should know about where the ledger is stored."""
        if self._path is not None and kind_of_disk(self._path) in MEMORY:
            return ("the ledger is stored in memory: it loses every charge when the machine stops",)
        return ()

    @contextmanager
    def write(self) -> Iterator[Writing]:
        """Hold the ledger alone; commit at the end."""
        self._check_identity()
        if self.local:
            with report_database_errors(), self._turn(), _on_file(self._engine, "BEGIN IMMEDIATE") as file:
                yield Writing(file=file)
            return
        with self._alone(self._engine) as connection:
            _hold(connection)
            yield Writing(connection)

    @contextmanager
    def answer(self) -> Iterator[Writing]:
        """Store an answer; commit at the end, with SQLite without waiting for the disk.

        A power cut may then lose it, a crash of this program may not. The charge is on the disk already, and stays.
        """
        self._check_identity()
        if self.local:
            with report_database_errors(), self._turn(), _on_file(self._quick, "BEGIN IMMEDIATE") as file:
                yield Writing(file=file)
            return
        with self._alone(self._quick) as connection:
            yield Writing(connection)

    @contextmanager
    def read(self) -> Iterator[Reading]:
        """One consistent view."""
        if self.local:
            with report_database_errors(), _on_file(self._views, "BEGIN") as file:
                yield Reading(file=file)
            return
        with report_database_errors(), self._views.connect() as connection, connection.begin():
            yield Reading(connection)

    def set_up(self, first: Sequence[Entry]) -> bool:
        """Make the tables and write the first entries if there are none; bring old tables up to date. Whether new."""
        with self._alone(self._engine) as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SETTING_UP)))
            known = version_of(connection)
            if not known and not first:
                raise LedgerUnavailable("there is no ledger here; create one")
            take_steps(connection)
            if known:
                return False
            connection.execute(head.insert().values(one=1, sequence=0, hash=BEFORE_ALL))
            for entry in first:
                found = read_record(entry).columns(entry.by)
                Writing(connection).append(entry, found, after=(entry.sequence - 1, entry.previous))
            return True

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for the lock file of an SQLite ledger: SQLite polls in steps of up to 0.1 s, this in smaller ones."""
        if self._path is None:
            yield
            return
        with ExitStack() as held:
            with report_disk_errors("the ledger"):
                try:
                    held.enter_context(locked(self._path.with_name(f"{self._path.name}.lock"), patience=self.patience))
                except TimeoutError:
                    raise LedgerBusy(TOO_LONG) from None
            yield

    def _check_identity(self) -> None:
        if _identity(self._path) != self._identity:
            raise LedgerMismatch("the file of the ledger was replaced while it was open")

    @contextmanager
    def _alone(self, engine: sa.Engine) -> Iterator[sa.Connection]:
        with report_database_errors(), self._turn(), engine.connect() as plain:
            connection = plain.execution_options(writes=True)
            with connection.begin():
                yield connection

    def prune(self, charges: Sequence[int]) -> int:
        """Empty the stored answers to these charges; how many were there. Their cards stay."""
        with self._alone(self._engine) as connection:
            off, on = GUARDS_OF_ANSWERS[connection.dialect.name]
            connection.exec_driver_sql(off)
            done = 0
            for at in range(0, len(charges), 500):
                some = charges[at : at + 500]
                wanted = answers.c.charge.in_(some) & (answers.c.answer != b"")
                done += connection.execute(answers.update().where(wanted).values(answer=b"")).rowcount
            connection.exec_driver_sql(on)
            return done

    def exists(self) -> bool:
        """Whether there is a ledger."""
        if self._path is not None and not self._path.exists():
            return False
        # in turn: of two that make a new file WAL at once, SQLite refuses one without waiting
        with report_database_errors(), self._turn(), self._engine.connect() as connection, connection.begin():
            return version_of(connection) > 0

    def version(self) -> int:
        """How many steps its tables have taken; 0 where there is no ledger."""
        with report_database_errors(), self._engine.connect() as connection, connection.begin():
            return version_of(connection)

    def sound(self) -> bool:
        """Whether the database finds nothing wrong with its own file; PostgreSQL keeps checksums of its own."""
        with report_database_errors(), self._engine.connect() as connection:
            if connection.dialect.name != "sqlite":
                return True
            return bool(connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one() == "ok")

    def reopen(self) -> None:
        """Close all connections and use the file that is there now."""
        self.close()
        self._identity = _identity(self._path)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()
        self._quick.dispose()


class Reading:
    """What can be read inside a transaction."""

    def __init__(self, connection: sa.Connection | None = None, *, file: sqlite3.Connection | None = None) -> None:
        self._connection: Any = connection
        self._file = file

    def _execute(self, statement: _Statement, parameters: Mapping[str, object]) -> Any:
        """Run a statement; on an SQLite file without SQLAlchemy, which takes several times as long as SQLite."""
        if self._file is None:
            return self._connection.execute(statement.made, parameters)
        return self._file.execute(statement.text, parameters)

    def _select(self, wanted: sa.Select[Any]) -> Any:
        """The rows of a query that is made for one occasion."""
        if self._file is None:
            return self._connection.execute(wanted)
        written = wanted.compile(dialect=_SQLITE)
        return self._file.execute(str(written), written.params)

    def _one(self, statement: _Statement, **parameters: object) -> Sequence[Any] | None:
        """The first row, if there is one."""
        found: Sequence[Any] | None = self._execute(statement, parameters).fetchone()
        return found

    def head(self) -> tuple[int, str]:
        """The number and hash of the last entry, as the database keeps them."""
        row = self._one(_HEAD)
        if row is None or not isinstance(row[0], int):
            raise LedgerMismatch("the ledger has lost its head")
        return row[0], row[1]

    def lines(self, after: int = 0) -> Sequence[Sequence[Any]]:
        """All entries after a number, in order, column by column; the text is the last one."""
        found: Sequence[Sequence[Any]] = self._execute(_LINES, {"after": after}).fetchall()
        return found

    def by_token(self, token: str) -> str | None:
        """The line of the charge that was made under an idempotency key."""
        row = self._one(_BY_TOKEN, wanted=token)
        return None if row is None else row[0]

    def hash_at(self, sequence: int) -> str | None:
        """The hash of one entry."""
        row = self._one(_HASH, wanted=sequence)
        return None if row is None else row[0]

    def texts(
        self, *, after: int = 0, limit: int = -1, open_only: bool = False, **only: object
    ) -> list[tuple[str, bool]]:
        """The lines of some entries, and whether each has a stored answer."""
        wanted = (
            sa.select(entries.c.text, answers.c.charge)
            .outerjoin(answers, answers.c.charge == entries.c.sequence)
            .where(entries.c.sequence > after)
            .order_by(entries.c.sequence)
        )
        for name, value in only.items():
            if value is not None:
                wanted = wanted.where(entries.c[name] == value)
        if open_only:
            wanted = wanted.where(entries.c.kind == "charge", answers.c.charge.is_(None))
        if limit >= 0:
            wanted = wanted.limit(limit)
        return [(text, charge is not None) for text, charge in self._select(wanted)]

    def answer(self, charge: int) -> tuple[bytes, str] | None:
        """The stored answer to a charge, and its card."""
        row = self._one(_ANSWER, wanted=charge)
        return None if row is None else (_stored(row[0], charge), row[1])

    def all_answers(self) -> Iterator[tuple[int, bytes, str]]:
        """Every stored answer."""
        for charge, answer, card in self._select(sa.select(answers).order_by(answers.c.charge)):
            yield charge, _stored(answer, charge), card


class Writing(Reading):
    """What can be done while the ledger is held alone."""

    def append(self, entry: Entry, columns: Columns, *, after: tuple[int, str]) -> None:
        """Add an entry after the last one, if that is still the last one; ``columns`` are those of its record."""
        self._execute(
            _APPEND, {"sequence": entry.sequence, **columns._asdict(), "hash": entry.hash, "text": entry.text}
        )
        moved = self._execute(
            _MOVE, {"sequence": entry.sequence, "hash": entry.hash, "before": after[0], "hash_before": after[1]}
        )
        if moved.rowcount != 1:
            raise LedgerBusy("somebody else wrote to the ledger at the same moment; ask again")

    def add_answer(self, charge: int, answer: bytes, card: str) -> None:
        """Store the answer to a charge, once."""
        self._execute(_STORE, {"charge": charge, "answer": answer, "card": card})


@contextmanager
def _on_file(engine: sa.Engine, begin: str) -> Iterator[sqlite3.Connection]:
    """A transaction on an SQLite file: committed at the end, undone by an error."""
    held = engine.raw_connection()
    try:
        file: Any = held.dbapi_connection
        file.execute(begin)
        try:
            yield file
        except BaseException:
            file.rollback()
            raise
        file.commit()
    finally:
        held.close()  # what a commit that failed has left is undone


def _stored(answer: object, charge: int) -> bytes:
    if not isinstance(answer, (bytes, memoryview)):  # SQLite lets any column hold anything
        raise LedgerMismatch(f"the answer to entry {charge} is not the one that was stored")
    return bytes(answer)


_SQLITE: Any = sa.make_url("sqlite://").get_dialect()
_SQLITE = _SQLITE(paramstyle="named")


class _Statement:
    """A statement that is run for every question, with its text for SQLite."""

    def __init__(self, made: Any) -> None:
        self.made = made
        self.text = str(made.compile(dialect=_SQLITE))


_HEAD = _Statement(sa.select(head.c.sequence, head.c.hash))
_LINES = _Statement(sa.select(entries).where(entries.c.sequence > sa.bindparam("after")).order_by(entries.c.sequence))
_BY_TOKEN = _Statement(sa.select(entries.c.text).where(entries.c.token == sa.bindparam("wanted")))
_HASH = _Statement(sa.select(entries.c.hash).where(entries.c.sequence == sa.bindparam("wanted")))
_ANSWER = _Statement(sa.select(answers.c.answer, answers.c.card).where(answers.c.charge == sa.bindparam("wanted")))
_APPEND = _Statement(entries.insert())
_STORE = _Statement(answers.insert())
_MOVE = _Statement(
    head.update()
    .where(
        head.c.one == sa.literal_column("1"),
        head.c.sequence == sa.bindparam("before"),
        head.c.hash == sa.bindparam("hash_before"),
    )
    .values(sequence=sa.bindparam("sequence"), hash=sa.bindparam("hash"))
)


# --- opening ------------------------------------------------------------------------------------------------------


def open_database(location: str | Path, *, create: bool, patience: float) -> Database:
    """The database that a path or a PostgreSQL address names."""
    if is_address(location):
        engine = _postgres(str(location), patience)
        return Database(engine, quick=engine, path=None, patience=patience)
    path = Path(location)
    if kind_of_disk(path.parent) in NETWORK:
        raise LedgerUnsafe("an SQLite ledger must be on a disk of this machine, not on a network: locks fail there")
    with report_disk_errors("the ledger"):
        if not path.exists() and create:
            with suppress(FileExistsError):  # another process was quicker
                create_file(path)
    durable, quick = _sqlite(path, patience, "FULL"), _sqlite(path, patience, "NORMAL")
    return Database(durable, quick=quick, path=path, patience=patience)


def _sqlite(path: Path, patience: float, synchronous: str) -> sa.Engine:
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


def _postgres(address: str, patience: float) -> sa.Engine:
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


def _hold(connection: sa.Connection) -> None:
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


def _identity(path: Path | None) -> tuple[int, int] | None:
    if path is None:
        return None
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


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
    return LedgerUnavailable(
        "the ledger cannot be read or written: is the disk full or read-only, or the server away? A charge under way "
        "stands or not, once at most: ask again with the same key"
    )


def is_address(location: str | Path) -> bool:
    """Whether this names a PostgreSQL database rather than a file."""
    given: object = location
    if not isinstance(given, (str, Path)) or not str(given):
        raise BadParameter("location", given, "must be the path of a file, or the address of a PostgreSQL database")
    return isinstance(location, str) and re.match(r"postgres(ql)?://|\w+\s*=", location) is not None
