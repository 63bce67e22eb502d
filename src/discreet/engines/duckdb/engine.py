"""The embedded engine: DuckDB in this process, over files and frames that stay where they are.

Promise: what comes back is exact integers and nothing else; every failure gives the same message. The connection
reads the files of its sources and no others: no extension is loaded (but by object_store.py), no file is written
outside its own folder for what does not fit into memory, no variable of the program is found by name, and no setting
can be changed afterwards.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

import duckdb as driver

from discreet.engines.duckdb.object_store import ObjectStore, files_at
from discreet.engines.duckdb.result import fetch, fetch_by_unit, fetch_sets
from discreet.engines.duckdb.source import UNUSED_OPTIMIZERS, Needs, describe, needs, no_progress_bar, scannable
from discreet.engines.duckdb.unit_histograms import shared_histograms
from discreet.engines.sources import FileMarks, Opened, marks_of, open_source
from discreet.engines.sql.dialects import DUCKDB
from discreet.engines.sql.emit import emit
from discreet.engines.sql.grouping_sets import emit_sets
from discreet.engines.sql.reading import read_id
from discreet.engines.sql.relations import Origin, scanned
from discreet.engines.unchanged import check_unchanged
from discreet.errors import BadData, BadParameter, DiscreetError, EngineFailed
from discreet.exact import integer
from discreet.query.plan.schema import Schema, Stored
from discreet.query.plan.work import AnyWork, Cells, Exact, GroupingSets, UnitSums, Work

T = TypeVar("T")
LOG = logging.getLogger("discreet.engines")
"""For the owner: what kind of thing went wrong, never a value."""

_LOCKED = {
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "preserve_insertion_order": "false",
    "TimeZone": "'UTC'",
    "disabled_optimizers": UNUSED_OPTIMIZERS,
}


_MESSAGES = {
    "Cannot open file": "a file cannot be opened",
    "Cannot access file": "a file is gone or may not be read",
    "No files found": "a file is gone or may not be read",
    "Too many open files": "too many files are open",
    "No space left on device": "the disk is full",
    "max_temp_directory_size": "the folder for intermediate results is full",
    "not valid UTF8": "text is not UTF-8",
    "Overflow": "a number or moment is too large for its type",
    "out of range": "a number or moment is too large for its type",
    "database has been invalidated": "an earlier internal error ended the connection; the next query gets a new one",
    "quoted new lines": "a CSV file has line breaks inside quotes",
    "Maximum line size": "a line of a CSV file is too long",
    "Unimplemented type": "a type of the source cannot be read",
    "Unsupported Internal Arrow Type": "a type of the source cannot be read",
}


def kind_of(error: Exception) -> str:
    """The kind of an error, for the log: its message may hold values, so only fixed texts are logged.

    >>> kind_of(driver.IOException("Cannot open file 'x'"))
    'IOException (a file cannot be opened)'
    """
    text = str(error)
    texts = dict.fromkeys(ours for theirs, ours in _MESSAGES.items() if theirs in text)
    return type(error).__name__ + (f" ({'; '.join(texts)})" if texts else "")


@dataclass(frozen=True, slots=True)
class _Known:
    """A source that was opened before."""

    source: object
    opened: Opened
    label: str
    origin: Origin
    marks: FileMarks | None
    """Of its files, when they were looked at; None if that is not known."""


class DuckDB:
    """Made by ``duckdb()``."""

    def __init__(self, settings: Mapping[str, str], folder: str | None, store: ObjectStore | None = None) -> None:
        if folder is None:
            folder = tempfile.mkdtemp(prefix="discreet-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._settings = {**_LOCKED, **settings, "temp_directory": DUCKDB.text(folder)}
        self._store = store
        self._lock = Lock()
        self._known: dict[Hashable, _Known] = {}
        self._connected: tuple[Needs, driver.DuckDBPyConnection] | None = None

    @property
    def name(self) -> str:
        """What it is called."""
        return "duckdb"

    def columns(self, source: object) -> dict[str, Stored]:
        """The names and stored types of a source's columns, as it is now; ``BadData`` if it cannot be opened.

        Files are listed again: those of a folder or a glob that came since are read from now on.
        """
        key = _identity(source)
        with self._lock:
            kept = self._known.get(key)
            in_memory = kept is not None and kept.marks == ()
            if kept is not None and not in_memory and (kept.marks is None or kept.marks != self._marks(source)):
                self._known[key] = self._opened(source, kept.label)
        return dict(self._open(source).origin.stored)

    def check(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> None:
        """``BadData`` if a source is gone or has other columns by now; before the payment. Looks at no value."""
        check_unchanged(works, schemas, self.columns)

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        """The exact numbers of each work."""

        def job(cursor: driver.DuckDBPyConnection, origins: dict[str, Origin]) -> tuple[Exact, ...]:
            shared = shared_histograms(works, cursor, origins)
            return tuple(
                shared[i] if i in shared else fetch(work, emit(work, DUCKDB, origins), cursor)
                for i, work in enumerate(works)
            )

        return self._guarded(works, schemas, job)

    def by_unit(self, works: Sequence[Work], schemas: Mapping[str, Schema]) -> tuple[UnitSums, ...]:
        """The numbers of each work by place and unit, as arrays."""
        return self._guarded(
            works,
            schemas,
            lambda cursor, origins: tuple(fetch_by_unit(w, emit(w, DUCKDB, origins), cursor) for w in works),
        )

    def grouping_sets(self, work: GroupingSets, schemas: Mapping[str, Schema]) -> tuple[Cells, ...]:
        """The numbers of each set of keys, in one pass."""
        return self._guarded(
            [work], schemas, lambda cursor, origins: fetch_sets(work, emit_sets(work, DUCKDB, origins), cursor)
        )

    def smallest_hashes(self, source: object, column: str, most: int) -> list[str]:
        """The smallest hashes (MD5) of the distinct values of a column as text: for the owner, never an answer."""
        opened = self._open(source)
        value = f"md5(CAST({read_id(column, opened.origin.stored, DUCKDB)} AS VARCHAR))"
        text = f"SELECT DISTINCT {value} AS h FROM {opened.origin.sql} WHERE h IS NOT NULL ORDER BY h LIMIT {most:d}"
        try:
            with closing(self._connection(Needs()).cursor()) as cursor:
                _register(cursor, needs(opened.opened, opened.label))
                return [str(row[0]) for row in cursor.execute(text).fetchall()]
        except driver.Error as error:
            LOG.error("duckdb could not finish: %s", kind_of(error))
        raise EngineFailed

    def _guarded(
        self,
        works: Sequence[AnyWork | GroupingSets],
        schemas: Mapping[str, Schema],
        job: Callable[[driver.DuckDBPyConnection, dict[str, Origin]], T],
    ) -> T:
        """What a job finds over the tables of these works; whatever goes wrong, nobody learns more than that it did."""
        try:
            return self._run(works, schemas, job)
        except Exception as error:
            LOG.error("duckdb could not finish: %s", kind_of(error))
            if isinstance(error, (driver.FatalException, driver.InternalException)):
                self._renew()
        raise EngineFailed

    # --- sources ------------------------------------------------------------------------------------------------------

    def _open(self, source: object) -> _Known:
        key = _identity(source)
        with self._lock:
            if key not in self._known:
                self._known[key] = self._opened(source, f"source{len(self._known)}")
            return self._known[key]

    def _marks(self, source: object) -> FileMarks | None:
        return None if self._store is not None else marks_of(open_source(source))

    def _opened(self, source: object, label: str) -> _Known:
        place = open_source(source) if self._store is None else files_at(source)
        marks = None if self._store is not None else marks_of(place)
        opened = scannable(place)
        wanted = needs(opened, label)
        try:
            with closing(self._connection(wanted, anew=bool(wanted.databases)).cursor()) as cursor:
                _register(cursor, wanted)
                return _Known(source, opened, label, describe(opened, label, cursor), marks)
        except DiscreetError:
            raise
        except Exception as error:
            failed, kind = type(error).__name__, kind_of(error)
        LOG.error("duckdb could not open a source: %s", kind)
        raise BadData(f"the source must be a table that DuckDB can read; its error was {failed}")

    def _connection(self, wanted: Needs, *, anew: bool = False) -> driver.DuckDBPyConnection:
        """A connection that may read what is wanted, and what earlier sources wanted; made anew when that grows, and
        for a database whose file may be another one by now.
        """
        before = self._connected[0] if self._connected else Needs()
        paths, databases = before.paths | wanted.paths, {**before.databases, **wanted.databases}
        if anew or self._connected is None or paths != before.paths or databases != before.databases:
            allowed = Needs(paths=paths, databases=databases)
            self._connected = (allowed, _locked(allowed, self._settings, self._store))
        return self._connected[1]

    def _renew(self) -> None:
        """A new connection: after an internal error, DuckDB refuses all that follows on the old one."""
        with self._lock:
            if self._connected is not None:
                self._connected = (self._connected[0], _locked(self._connected[0], self._settings, self._store))

    # --- running ------------------------------------------------------------------------------------------------------

    def _run(
        self,
        works: Sequence[AnyWork | GroupingSets],
        schemas: Mapping[str, Schema],
        job: Callable[[driver.DuckDBPyConnection, dict[str, Origin]], T],
    ) -> T:
        names = {name for work in works for name in scanned(work.source)}
        opened = {name: self._open(schemas[name].table.source) for name in names}
        with self._lock:
            connection = self._connection(Needs())
        with closing(connection.cursor()) as cursor:
            for source in opened.values():
                _register(cursor, needs(source.opened, source.label))
            return job(cursor, {name: source.origin for name, source in opened.items()})


def _identity(source: object) -> Hashable:
    """Equal paths are one source; of frames, only the same object is."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    if isinstance(source, (list, tuple)) and all(isinstance(part, (str, os.PathLike)) for part in source):
        return tuple(os.fspath(part) for part in source)
    return ("object", id(source))


def _register(cursor: driver.DuckDBPyConnection, wanted: Needs) -> None:
    for label, arrow in wanted.frames.items():
        cursor.register(label, arrow)


def _locked(allowed: Needs, settings: Mapping[str, str], store: ObjectStore | None = None) -> driver.DuckDBPyConnection:
    connection = driver.connect(":memory:")
    no_progress_bar(connection)
    for name, value in settings.items():
        connection.execute(f"SET {name} = {value}")
    if store is not None and allowed.paths:
        store.load(connection)
    for label, path in allowed.databases.items():
        connection.execute(f"ATTACH {DUCKDB.text(path)} AS {DUCKDB.identifier(label)} (READ_ONLY)")
    paths = ", ".join(DUCKDB.text(path) for path in sorted(allowed.paths))
    connection.execute(f"SET allowed_paths = [{paths}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def duckdb(
    *,
    memory_limit: str | None = None,
    threads: int | None = None,
    temp_directory: str | os.PathLike[str] | None = None,
    store: ObjectStore | None = None,
) -> DuckDB:
    """The engine that needs nothing set up. Files, frames and DuckDB tables are read where they are.

    ``memory_limit`` such as "4GB" (default: 80% of the machine's memory); ``threads`` (default: all cores);
    ``temp_directory``, where intermediate results go that do not fit into memory: private data, so it should be a
    folder that only you can read. Without it a private folder is made, and removed at the end. ``store`` is for an
    engine whose sources are all addresses of an object store.

    >>> duckdb(threads=1).columns({"age": [30, 41]})["age"].kind.value
    'integer'
    """
    settings = {}
    if memory_limit is not None:
        settings["memory_limit"] = DUCKDB.text(str(memory_limit))
    if threads is not None:
        settings["threads"] = str(integer(threads, "threads", at_least=1))
    folder = None if temp_directory is None else os.path.realpath(temp_directory)
    engine = DuckDB(settings, folder, store)
    try:
        engine._connection(Needs())
    except driver.Error as error:
        if memory_limit is None:
            rule = f"must take the settings that answers rely on; it refused with {kind_of(error)}"
            raise BadParameter("duckdb", driver.__version__, rule) from None
        raise BadParameter("memory_limit", memory_limit, 'must be a size such as "4GB"') from None
    return engine
