"""Connections to PostgreSQL: how they are made, and the settings under which every question runs.

Promise: a connection serves one call and is closed. All statements of a call see one state of the database, in a
transaction that cannot write; functions and operators are PostgreSQL's own, whatever else the database holds; and the
settings of a role or a database change no result. Over a network the connection is encrypted unless the caller chooses
otherwise.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.errors import BadData, BadParameter, EngineUnreachable, MissingExtra

if TYPE_CHECKING:
    import psycopg

    Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

LOG = logging.getLogger("discreet.engines")
"""For the owner: what kind of thing went wrong, never a value."""

OLDEST = 140_000
"""EXTRACT gives exact numbers since version 14."""
_HERE = ("", "localhost", "127.0.0.1", "::1")
_TERMS = {
    "search_path": "pg_catalog, pg_temp",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "row_security": "off",  # a policy is an error, not a choice of rows
    "client_min_messages": "error",
    "jit": "off",  # it takes longer than it saves
    "enable_nestloop": "off",  # a wrong guess at sizes must not cost the square of them
}
_ALIVE = {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3", "tcp_user_timeout": "60000"}


def driver() -> Any:
    """The package psycopg, which is an extra."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("tables in PostgreSQL", extra="postgres") from None
    return psycopg


def address(dsn: str, *, connect_timeout: int, sslmode: str | None) -> dict[str, str]:
    """The parameters of a connection, from a DSN or URL and what is given besides. The DSN is never shown."""
    psycopg = driver()
    try:
        given = psycopg.conninfo.conninfo_to_dict(dsn) if isinstance(dsn, str) else None
    except psycopg.Error:
        given = None
    if given is None:
        raise BadParameter(
            "dsn", "not shown", 'must be such as "postgresql://role@host/database" or "host=... dbname=..."'
        )
    parameters = {**_ALIVE, **{name: str(value) for name, value in given.items() if value is not None}}
    parameters.setdefault("connect_timeout", str(connect_timeout))
    parameters.setdefault("application_name", "discreet")
    parameters["client_encoding"] = "UTF8"
    if sslmode is not None:
        parameters["sslmode"] = sslmode
    elif "sslmode" not in parameters and "PGSSLMODE" not in os.environ and _over_network(parameters):
        parameters["sslmode"] = "require"
    return parameters


def _over_network(parameters: Mapping[str, str]) -> bool:
    """Whether the way to the server leads over a network."""
    if "service" in parameters and "host" not in parameters:
        return False  # the service file decides
    hosts = parameters.get("hostaddr") or parameters.get("host") or os.environ.get("PGHOST", "")
    return any(host not in _HERE and not host.startswith(("/", "@")) for host in hosts.split(","))


@dataclass(frozen=True, slots=True)
class Link:
    """A database, and how it is asked."""

    parameters: Mapping[str, str]
    settings: Mapping[str, str]

    def __repr__(self) -> str:
        return "Link(...)"  # there may be a password inside

    @contextmanager
    def open(self) -> Iterator[Connection]:
        """A connection inside a transaction under our terms; closed, and rolled back, at the end."""
        connection = self._connected()
        if connection is None:
            raise EngineUnreachable("the PostgreSQL server")
        try:
            yield connection
        finally:
            connection.close()

    def _connected(self) -> Connection | None:
        psycopg = driver()
        connection: Connection | None = None
        terms = {**_TERMS, **self.settings}
        each = ", ".join(["pg_catalog.set_config(%s, %s, true)"] * len(terms))
        try:
            connection = psycopg.connect(**self.parameters, prepare_threshold=None)
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            connection.execute(f"SELECT {each}".encode(), [word for pair in terms.items() for word in pair])
        except psycopg.Error as error:  # no statement on data was sent yet: its text holds none
            LOG.error("PostgreSQL cannot be reached: %s", " ".join(str(error).split()))
            if connection is not None:
                connection.close()
            return None
        return connection


def check(connection: Connection) -> None:
    """Refuse a database on which an answer could differ from other engines."""
    if connection.info.server_version < OLDEST:
        raise BadData("the PostgreSQL server must be version 14 or newer")
    if connection.execute("SELECT current_setting('server_encoding')").fetchone() != ("UTF8",):
        raise BadData("the PostgreSQL database must have the encoding UTF8: text is compared by code point")
    try:
        md5 = connection.execute("SELECT md5('discreet')").fetchone()
    except driver().Error:
        md5 = None
    if md5 != ("4131d75ed98882566390b88649a3198e",):
        raise BadData("the PostgreSQL server must offer md5(), which chooses among the keys of a unit")
