"""Databases that we have no engine of their own for, over any Python driver (PEP 249): experimental.

Promise: the statements are those of every other engine, in the dialect of the database; before the first question the
server computes a made-up table, and is refused unless its numbers are those of plain Python (``trial_run.py``). What
comes back is checked for its shape. Assumes: the owner's driver and server. Errors never hold messages of the server.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from threading import Lock
from typing import Any

from discreet.engines.experimental.databases import WAREHOUSES
from discreet.engines.experimental.result import exact
from discreet.engines.experimental.source import Run, Table, Warehouse, describe, named
from discreet.engines.experimental.trial_run import check_server
from discreet.engines.sql.dialects import DUCKDB, POSTGRES, SPARK, Dialect
from discreet.engines.sql.emit import emit
from discreet.engines.sql.relations import Origin, scanned
from discreet.errors import BadData, BadParameter, DiscreetError, EngineFailed, EngineUnreachable
from discreet.query.plan.schema import Schema, Stored
from discreet.query.plan.work import AnyWork, Exact

LOG = logging.getLogger("discreet.engines")
"""For the owner: what kind of thing went wrong, never a value."""


class ExperimentalWarning(UserWarning):
    """A part that has not been run on the real thing yet."""


class Experimental:
    """Made by ``experimental()``."""

    def __init__(self, warehouse: Warehouse, connect: Callable[[], Any]) -> None:
        self._warehouse, self._connect = warehouse, connect
        self._lock = Lock()
        self._known: dict[Table, Origin] = {}
        self._server_checked = False

    @property
    def name(self) -> str:
        """What it is called."""
        return self._warehouse.dialect.name

    def __repr__(self) -> str:
        return f"experimental({self.name!r}, ...)"

    def ready(self) -> None:
        """Raise ``EngineUnreachable`` if the server cannot be reached now, or ``BadData`` if it computes otherwise."""
        with self._open() as run:
            self._prove(run)

    def columns(self, source: object) -> dict[str, Stored]:
        """The names and stored types of a table's or view's columns; ``BadData`` if it cannot be opened."""
        table = named(source)
        try:
            with self._open() as run:
                self._prove(run)
                origin = describe(self._warehouse, table, run)
        except DiscreetError:
            raise
        except Exception as error:
            kind = type(error).__name__
        else:
            with self._lock:
                self._known[table] = origin
            return dict(origin.stored)
        LOG.error("%s could not describe a table: %s", self.name, kind)
        raise BadData(f"{'.'.join(table)} must be a table or view that {self.name} can describe")

    def check(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> None:
        """Raise ``Unsupported`` if this database cannot compute all of it exactly. Nothing is sent."""
        self.statements(works, schemas)

    def statements(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[str, ...]:
        """The text of each work, as ``run`` sends it."""
        origins = self._origins(works, schemas)
        return tuple(emit(work, self._warehouse.dialect, origins).sql for work in works)

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        """The exact numbers of each work."""
        try:
            origins, dialect = self._origins(works, schemas), self._warehouse.dialect
            with self._open() as run:
                answers = []
                for work in works:
                    statement = emit(work, dialect, origins)
                    answers.append(exact(work, statement, run(statement.sql), dialect))
                return tuple(answers)
        except Exception as error:  # whatever it is, nobody learns more than that it failed
            LOG.error("%s could not finish: %s", self.name, type(error).__name__)
        raise EngineFailed

    def _origins(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> dict[str, Origin]:
        tables = {name: schemas[name].table.source for work in works for name in scanned(work.source)}
        return {name: self._origin(source) for name, source in tables.items()}

    def _origin(self, source: object) -> Origin:
        table = named(source)
        if table not in self._known:
            self.columns(source)
        return self._known[table]

    def _prove(self, run: Run) -> None:
        if not self._server_checked:
            check_server(self._warehouse.dialect, run)
            self._server_checked = True

    @contextmanager
    def _open(self) -> Iterator[Run]:
        """A new connection with our settings; rolled back and closed at the end."""
        connection = self._connected()
        if connection is None:
            raise EngineUnreachable(f"the {self.name} server")
        try:
            yield lambda sql: _all(connection, sql)
        finally:
            for last in (getattr(connection, "rollback", None), connection.close):
                with suppress(Exception):  # nothing was written; some drivers have no transactions at all
                    if last is not None:
                        last()

    def _connected(self) -> Any:
        connection = None
        try:
            connection = self._connect()
            for term in self._warehouse.terms:
                with closing(connection.cursor()) as cursor:
                    cursor.execute(term)
        except Exception as error:  # no statement on data was sent yet
            LOG.error("%s cannot be reached: %s", self.name, type(error).__name__)
            if connection is not None:
                with suppress(Exception):
                    connection.close()
            return None
        return connection


def _all(connection: Any, sql: str) -> list[Sequence[Any]]:
    with closing(connection.cursor()) as cursor:
        cursor.execute(sql)
        return [tuple(row) for row in cursor.fetchall()]


def sql_texts(database: str, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[str, ...]:
    """What a database would be asked for these works. A source that is no name is called like its table."""
    dialects = {each.name: each for each in (DUCKDB, POSTGRES, SPARK, *(w.dialect for w in WAREHOUSES.values()))}
    if not isinstance(database, str) or database not in dialects:
        raise BadParameter("database", database, f"must be one of {', '.join(dialects)}")
    dialect = dialects[database]
    origins = {name: Origin(_place(name, schema, dialect), schema.stored) for name, schema in schemas.items()}
    return tuple(emit(work, dialect, origins).sql for work in works)


def _place(name: str, schema: Schema, dialect: Dialect) -> str:
    try:
        parts = named(schema.table.source)
    except BadData:
        parts = (name,)
    return ".".join(dialect.identifier(part) for part in parts)


def experimental(database: str, connect: Callable[[], Any]) -> Experimental:
    """Tables of a database that nobody has tried with us yet: BigQuery, Snowflake, Databricks, MySQL, SQL Server.

    ``database`` is one of "bigquery", "snowflake", "databricks", "mysql", "mariadb", "sqlserver"; ``connect`` opens a
    connection of its Python driver (PEP 249): ``lambda: snowflake.connector.connect(...)``. Each call has a connection
    of its own. Before the first question the server is asked to compute a made-up table; it is refused if a number
    differs from plain Python's.

    Tables are named as "schema.table" or "catalog.schema.table". Warns: ``ExperimentalWarning``.
    """
    warehouse = WAREHOUSES.get(database) if isinstance(database, str) else None
    if warehouse is None:
        raise BadParameter("database", database, f"must be one of {', '.join(WAREHOUSES)}")
    if not callable(connect):
        raise BadParameter("connect", type(connect).__name__, "must be a function that opens a connection")
    warnings.warn(
        f"the engine for {database} is experimental: see docs/how-to/warehouses.md", ExperimentalWarning, stacklevel=2
    )
    return Experimental(warehouse, connect)
