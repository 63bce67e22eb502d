"""Where the tables of a data set lie: files below the folder of the data, DuckDB files, PostgreSQL, Spark.

    source = "visits.parquet"                              a file, a glob, or a folder of files with the same columns
    source = "clinic.duckdb::visits"                       a table or view of a DuckDB file
    source = "postgresql://reader@db.example/clinic::visits"       or ::schema.visits
    source = "spark://master.example:7077::clinic.visits"  or "sc://connect.example:15002::visits"; or Parquet files
                                                           that the cluster reads: "sc://...::hdfs://data/visits"
    source = "s3://bucket/visits.parquet"                  or https://: if the owner installed DuckDB's httpfs

Promise: an address never holds a password: it comes from PGPASSWORD or a password file (PGPASSFILE, ~/.pgpass, or
``?passfile=`` in the address), a token of Spark Connect or the keys of an object store from the environment, too, and
goes to the engine's process alone. All tables of a data set lie in one place, so that they can be joined there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from discreet.curator.engine_process.remote import RemoteEngine
from discreet.engines import data_paths
from discreet.engines.duckdb.object_store import ObjectStore, check_address, object_store
from discreet.engines.sources import REMOTE
from discreet.errors import BadParameter

_KINDS: Mapping[str, Literal["postgres", "spark"]] = {
    "postgresql": "postgres",
    "postgres": "postgres",
    "spark": "spark",
    "sc": "spark",
}
_STORES = frozenset({"s3", "http", "https"})
_OTHER_STORES = frozenset({"s3a", "gs", "gcs", "r2", "az", "azure", "abfss", "hf", "hdfs"})
_SPLIT = "::"


@dataclass(frozen=True, slots=True)
class RemoteTable:
    """A table on a server."""

    kind: Literal["postgres", "spark"]
    address: str
    table: str


def read_source(source: str) -> RemoteTable | None:
    """The table on a server that a source names; None for files, here or on an object store.

    >>> read_source("postgresql://reader@db/clinic::visits")
    RemoteTable(kind='postgres', address='postgresql://reader@db/clinic', table='visits')
    >>> read_source("visits.parquet") is None
    True
    """
    address, _, table = source.partition(_SPLIT)
    scheme, separator, _ = address.partition("://")
    if not separator:
        return None
    must = 'must be a file, or such as "postgresql://reader@host/database::table" or "sc://host:15002::table"'
    shown = f"{scheme}://..."
    if scheme in _STORES:
        check_address(source)
        return None
    if scheme in _OTHER_STORES:
        raise BadParameter("source", shown, f"must be elsewhere: {REMOTE} (sc://host:15002::s3a://bucket/visits)")
    if scheme not in _KINDS or not table or not source.isprintable() or len(source) > 1000:
        raise BadParameter("source", shown, must)
    try:
        parts = urlsplit(address)
        password = parts.password
    except ValueError:
        raise BadParameter("source", shown, must) from None
    if password is not None or any(secret in address.lower() for secret in ("password=", "token=")):
        how = "must not hold a password or token: use PGPASSWORD, a password file or SPARK_CONNECT_AUTHENTICATE_TOKEN"
        raise BadParameter("source", shown, how)
    return RemoteTable(_KINDS[scheme], address, table)


def on_store(source: str) -> bool:
    """Whether a source is a file behind an address.

    >>> on_store("s3://bucket/visits.parquet"), on_store("visits.parquet")
    (True, False)
    """
    return source.partition("://")[0] in _STORES


def engine_of(sources: Iterable[str]) -> RemoteEngine | ObjectStore | None:
    """The server or store that all tables of a data set lie on; None for files."""
    places = {object_store() if on_store(source) else _server(read_source(source)) for source in sources}
    if len(places) > 1:
        raise BadParameter(
            "source", "several places", "must be in one place for all tables of a data set: they are joined there"
        )
    place = next(iter(places), None)
    if isinstance(place, RemoteEngine) and place.kind == "postgres":
        return RemoteEngine(place.kind, _with_password(place.address))
    return place


def _server(remote: RemoteTable | None) -> RemoteEngine | None:
    return None if remote is None else RemoteEngine(remote.kind, remote.address)


def place_of_table(root: Path, source: str) -> str | list[str]:
    """What an engine calls the table of a source."""
    remote = read_source(source)
    if remote is not None:
        return remote.table
    if on_store(source):
        return source
    if _SPLIT in source:
        file, _, table = source.partition(_SPLIT)
        return f"{data_paths.find_database(root, file)}{_SPLIT}{table}"
    return [str(path) for path in data_paths.find(root, source)]


def files_of(root: Path, source: str) -> tuple[Path, ...]:
    """The files of a source on this machine; none for a table on a server or a store."""
    if read_source(source) is not None or on_store(source):
        return ()
    if _SPLIT in source:
        return (data_paths.find_database(root, source.partition(_SPLIT)[0]),)
    return data_paths.find(root, source)


def marks_of(root: Path, source: str) -> list[str]:
    """Texts by which the same data can be recognised under another name."""
    remote = read_source(source)
    if on_store(source):
        return [f"address {source}"]
    if remote is None:
        return data_paths.marks(files_of(root, source))
    parts = urlsplit(remote.address)
    host, port, path = parts.hostname or "", parts.port or "", parts.path.partition("?")[0]
    return [f"{remote.kind} {host}:{port}{path} {remote.table.casefold()}"]


def _with_password(address: str) -> str:
    """The address with what lets one in, as libpq would find it here: the engine's process has another environment."""
    from psycopg import conninfo

    more = {}
    if os.environ.get("PGPASSWORD"):
        more["password"] = os.environ["PGPASSWORD"]
    elif "passfile" not in conninfo.conninfo_to_dict(address):
        more["passfile"] = os.environ.get("PGPASSFILE") or str(Path.home() / ".pgpass")
    return conninfo.make_conninfo(address, **more)
