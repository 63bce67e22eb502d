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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from discreet.errors import LedgerBusy, LedgerMismatch, LedgerUnavailable, LedgerUnsafe
from discreet.ledger.durable_files import MEMORY, NETWORK, create_file, kind_of_disk, locked, report_disk_errors
from discreet.ledger.entries import BEFORE_ALL, Entry
from discreet.ledger.migrations import GUARDS_OF_ANSWERS, answers, head, sa, take_steps, version_of
from discreet.ledger.records import read_record
from discreet.ledger.storage.connections import (
    TOO_LONG,
    connect_postgres,
    connect_sqlite,
    hold_head,
    is_address,
    report_database_errors,
)
from discreet.ledger.storage.transactions import Reading, Writing, on_file

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
        self._process = os.getpid()

    def check_process(self) -> None:
        """Refused in a forked process: two that share a connection would read what the other asked for."""
        if os.getpid() != self._process:
            raise LedgerUnavailable("a ledger belongs to the process that opened it: open it again here")

    @property
    def local(self) -> bool:
        """Whether it is a file of this machine: reading then waits for nobody."""
        return self._path is not None

    def identity(self) -> str | None:
        """What tells this database from its copies: the number of its file on the disk, or what its server says.

        A dump that is restored elsewhere has another one; None if the server says nothing.
        """
        if self._path is not None:
            return None if self._identity is None else f"file {self._identity[1]}"
        columns = "SELECT system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database())"
        try:
            with report_database_errors(), self._engine.connect() as connection, connection.begin():
                return "database {} {}".format(*connection.exec_driver_sql(f"{columns} FROM pg_control_system()").one())
        except LedgerUnavailable:  # a server may keep it to itself
            return None

    @property
    def cautions(self) -> tuple[str, ...]:
        """What the owner should know about where the ledger is stored."""
        if self._path is not None and kind_of_disk(self._path) in MEMORY:
            return ("the ledger is stored in memory: it loses every charge when the machine stops",)
        return ()

    @contextmanager
    def write(self) -> Iterator[Writing]:
        """Hold the ledger alone; commit at the end."""
        self.check_process()
        self._check_identity()
        if self.local:
            with report_database_errors(), self._turn(), on_file(self._engine, "BEGIN IMMEDIATE") as file:
                yield Writing(file=file)
            return
        with self._alone(self._engine) as connection:
            hold_head(connection)
            yield Writing(connection)

    @contextmanager
    def answer(self) -> Iterator[Writing]:
        """Store an answer; commit at the end, with SQLite without waiting for the disk.

        A power cut may then lose it, a crash of this program may not. The charge is on the disk already, and stays.
        """
        self.check_process()
        self._check_identity()
        if self.local:
            with report_database_errors(), self._turn(), on_file(self._quick, "BEGIN IMMEDIATE") as file:
                yield Writing(file=file)
            return
        with self._alone(self._quick) as connection:
            yield Writing(connection)

    @contextmanager
    def read(self) -> Iterator[Reading]:
        """One consistent view."""
        self.check_process()
        if self.local:
            with report_database_errors(), on_file(self._views, "BEGIN") as file:
                yield Reading(file=file)
            return
        with report_database_errors(), self._views.connect() as connection, connection.begin():
            yield Reading(connection)

    def set_up(self, first: Sequence[Entry]) -> bool:
        """Make the tables and write the first entries if there are none; bring old tables up to date. Whether new."""
        with self._alone(self._engine) as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SETTING_UP)))
            version = version_of(connection)
            if not version and not first:
                raise LedgerUnavailable("there is no ledger here; create one")
            take_steps(connection)
            if version:
                return False
            connection.execute(head.insert().values(one=1, sequence=0, hash=BEFORE_ALL))
            for entry in first:
                record_columns = read_record(entry).columns(entry.by)
                Writing(connection).append(entry, record_columns, after=(entry.sequence - 1, entry.previous))
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
        self.check_process()
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


def open_database(location: str | Path, *, create: bool, patience: float) -> Database:
    """The database that a path or a PostgreSQL address names."""
    if is_address(location):
        engine = connect_postgres(str(location), patience)
        return Database(engine, quick=engine, path=None, patience=patience)
    path = Path(location)
    if kind_of_disk(path.parent) in NETWORK:
        raise LedgerUnsafe("an SQLite ledger must be on a disk of this machine, not on a network: locks fail there")
    with report_disk_errors("the ledger"):
        if not path.exists() and create:
            with suppress(FileExistsError):  # another process was quicker
                create_file(path)
    durable, quick = connect_sqlite(path, patience, "FULL"), connect_sqlite(path, patience, "NORMAL")
    return Database(durable, quick=quick, path=path, patience=patience)


def _identity(path: Path | None) -> tuple[int, int] | None:
    if path is None:
        return None
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
