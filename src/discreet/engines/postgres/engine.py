"""PostgreSQL: the data stays on its server, which does all the work up to the exact sums.

Promise: of the data nothing leaves the server but bounded sums by group, to this process alone. They are exact integers
(BIGINT and NUMERIC), the same as those of every other engine. All questions of a release see one state of the database.
Errors never hold messages of the server; the owner's log has its code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from discreet.engines.postgres.connections import LOG, Link, address, check, driver
from discreet.engines.postgres.result import fetch, fetch_sets
from discreet.engines.postgres.source import PostgresTable, describe, named, writable
from discreet.engines.sql.dialects import POSTGRES
from discreet.engines.sql.emit import emit
from discreet.engines.sql.grouping_sets import emit_sets
from discreet.engines.sql.reading import read_id
from discreet.engines.sql.relations import Origin, scanned
from discreet.engines.unchanged import check_unchanged
from discreet.errors import BadData, BadParameter, EngineFailed, EngineUnreachable
from discreet.exact import integer
from discreet.query.plan.schema import Schema, Stored
from discreet.query.plan.work import AnyWork, Cells, Exact, GroupingSets

if TYPE_CHECKING:
    from discreet.engines.postgres.connections import Connection

T = TypeVar("T")
_TIME = re.compile(r"[0-9]{1,9} ?(ms|s|min|h|d)", re.ASCII)
_SIZE = re.compile(r"[0-9]{1,9} ?(kB|MB|GB)", re.ASCII)
_TLS = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")


class Postgres:
    """Made by ``postgres()``."""

    def __init__(self, link: Link, schema: str) -> None:
        self._link = link
        self._schema = schema
        self._lock = Lock()
        self._known: dict[PostgresTable, Origin] = {}

    @property
    def name(self) -> str:
        """What it is called."""
        return "postgres"

    def __repr__(self) -> str:
        return "postgres(...)"  # the address may hold a password

    def ready(self) -> None:
        """Raise ``EngineUnreachable`` if the server cannot be reached now, or ``BadData`` if it cannot be used."""
        with self._link.open() as connection:
            check(connection)

    def columns(self, source: object) -> dict[str, Stored]:
        """The names and stored types of a table's or view's columns; ``BadData`` if it cannot be opened."""
        table = named(source)
        try:
            with self._link.open() as connection:
                check(connection)
                origin = describe(table, self._schema, connection)
        except driver().Error as error:
            code, away = _code(error), isinstance(error, driver().OperationalError)
        else:
            with self._lock:
                self._known[table] = origin
            return dict(origin.stored)
        LOG.error("PostgreSQL could not describe a table: %s", code)
        if away:
            raise EngineUnreachable("the PostgreSQL server")
        raise BadData(f"{table} must be a table or view that PostgreSQL can describe")

    def check(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> None:
        """``BadData`` if a table is gone, hidden from this role or has other columns by now; before the payment."""
        check_unchanged(works, schemas, self.columns)

    def check_role(self, source: object) -> None:
        """Refuse a role that could change the table: ``BadData``. A service that only reads needs no more."""
        with self._link.open() as connection:
            if writable(named(source), self._schema, connection):
                raise BadData("the PostgreSQL role must be one that may only read: it can change the data")

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        """The exact numbers of each work. An interruption from the keyboard also ends the work on the server."""
        return self._guarded(
            works, schemas, lambda link, origins: tuple(fetch(w, emit(w, POSTGRES, origins), link) for w in works)
        )

    def grouping_sets(self, work: GroupingSets, schemas: Mapping[str, Schema]) -> tuple[Cells, ...]:
        """The numbers of each set of keys, in one pass."""
        return self._guarded(
            [work], schemas, lambda link, origins: fetch_sets(work, emit_sets(work, POSTGRES, origins), link)
        )

    def smallest_hashes(self, source: object, column: str, most: int) -> list[str]:
        """The smallest hashes (MD5) of the distinct values of a column as text: for the owner, never an answer."""
        try:
            origin = self._origin(source)
            value = f'md5(CAST({read_id(column, origin.stored, POSTGRES)} AS TEXT)) COLLATE "C"'
            text = f"SELECT DISTINCT {value} AS h FROM {origin.sql} AS t ORDER BY h LIMIT {most + 1:d}"
            with self._link.open() as connection:
                return [str(row[0]) for row in connection.execute(text.encode()).fetchall() if row[0]][:most]
        except driver().Error as error:
            LOG.error("PostgreSQL could not finish: %s", _code(error))
        raise EngineFailed

    def _guarded(
        self,
        works: Sequence[AnyWork | GroupingSets],
        schemas: Mapping[str, Schema],
        job: Callable[[Connection, dict[str, Origin]], T],
    ) -> T:
        try:
            tables = {name: schemas[name].table.source for work in works for name in scanned(work.source)}
            with self._link.open() as connection:
                return job(connection, {name: self._same(source, connection) for name, source in tables.items()})
        except Exception as error:  # whatever it is, nobody learns more than that it failed
            LOG.error("PostgreSQL could not finish: %s", _code(error))
        raise EngineFailed

    def _same(self, source: object, connection: Connection) -> Origin:
        """The table as this transaction sees it: whatever its rows are, the work fails if it is another one by now."""
        origin = describe(named(source), self._schema, connection)
        if origin != self._origin(source):
            raise BadData("the columns have changed")
        return origin

    def _origin(self, source: object) -> Origin:
        table = named(source)
        if table not in self._known:
            self.columns(source)
        return self._known[table]


def _code(error: Exception) -> str:
    """The kind of an error and PostgreSQL's code for it, never its text."""
    return f"{type(error).__name__} {getattr(error, 'sqlstate', None) or ''}".strip()


def _like(value: str, form: re.Pattern[str], example: str, name: str) -> str:
    if not isinstance(value, str) or not form.fullmatch(value):
        raise BadParameter(name, value, f'must be such as "{example}"')
    return value


def postgres(
    dsn: str,
    *,
    schema: str = "public",
    statement_timeout: str | None = "10min",
    connect_timeout: int = 10,
    sslmode: str | None = None,
    work_mem: str | None = "256MB",
    parallel_workers: int | None = None,
) -> Postgres:
    """Tables and views of a PostgreSQL database (version 14 or newer), named as "table" or "schema.table".

    ``dsn`` as for every PostgreSQL client, such as "postgresql://reader@db.example.org/clinic"; leave the password out
    of it and in ``~/.pgpass``. ``schema`` is where a table without one is looked for.
    ``statement_timeout`` ends what takes longer, such as "30s" or "2h" (None: never); it stays paid.
    ``sslmode`` as in PostgreSQL: "verify-full" is best, with ``sslrootcert`` in the DSN. Where it is not given,
    a server on another machine must encrypt ("require").
    ``work_mem`` is what each step of a question may use of the server's memory (None: the server's default), and
    ``parallel_workers`` how many processes may help (None: the server's default).
    """
    settings = {
        "statement_timeout": "0"
        if statement_timeout is None
        else _like(statement_timeout, _TIME, "30s", "statement_timeout")
    }
    if work_mem is not None:
        settings["work_mem"] = _like(work_mem, _SIZE, "256MB", "work_mem")
    if parallel_workers is not None:
        workers = integer(parallel_workers, "parallel_workers", at_least=0)
        settings["max_parallel_workers_per_gather"] = str(workers)
    if sslmode is not None and sslmode not in _TLS:
        raise BadParameter("sslmode", sslmode, f"must be one of {', '.join(_TLS)}")
    if not isinstance(schema, str) or not schema or "\0" in schema:
        raise BadParameter("schema", schema, "must be the name of a schema")
    seconds = integer(connect_timeout, "connect_timeout", at_least=1)
    return Postgres(Link(address(dsn, connect_timeout=seconds, sslmode=sslmode), settings), schema)
