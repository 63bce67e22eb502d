"""Parquet files on object stores (s3://) and web servers (https://), read by the extension that the owner installed.

Promise: nothing is installed or downloaded here: DuckDB's extension httpfs is loaded from a folder of this machine, and
without it the source is refused, before anything is spent. A connection reads the addresses of its sources and no
others. What lets one in comes from the environment and is never in an address, a message or a log.
Believes: the extension keeps to DuckDB's list of allowed paths, and what it is given is Parquet as it was when the data
set was opened; a file that is replaced in the middle of a question can make that question fail.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import duckdb as driver

from discreet.engines.sources import Files, Format
from discreet.engines.sql.dialects import DUCKDB
from discreet.errors import BadData, BadParameter

FOLDER = "DISCREET_DUCKDB_EXTENSIONS"
"""The environment variable that names the folder of extensions, if it is not DuckDB's own."""
MISSING = (
    "reading s3:// and https:// takes DuckDB's extension httpfs, which is not installed here; nothing is downloaded by "
    'itself: install it as the user of the service, with duckdb -c "INSTALL httpfs", or name the folder of its '
    f"extensions in {FOLDER}"
)
_HERE = ("localhost", "127.0.0.1", "::1")
_SECRETS = {
    "KEY_ID": ("AWS_ACCESS_KEY_ID",),
    "SECRET": ("AWS_SECRET_ACCESS_KEY",),
    "SESSION_TOKEN": ("AWS_SESSION_TOKEN",),
    "REGION": ("AWS_REGION", "AWS_DEFAULT_REGION"),
}


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """How a store is reached: the folder of DuckDB's extensions, and what lets one in.

    >>> ObjectStore("/home/curator/.duckdb/extensions", (("KEY_ID", "me"), ("SECRET", "hush")))
    ObjectStore(folder='/home/curator/.duckdb/extensions')
    """

    folder: str
    secret: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def load(self, connection: driver.DuckDBPyConnection) -> None:
        """Let a connection that is not locked yet read addresses; BadData if the extension is not here."""
        connection.execute(f"SET extension_directory = {DUCKDB.text(self.folder)}")
        try:
            connection.execute("LOAD httpfs")
        except driver.Error:
            raise BadData(MISSING) from None
        if self.secret:
            options = "".join(f", {name} {DUCKDB.text(value)}" for name, value in self.secret)
            connection.execute(f"CREATE SECRET discreet (TYPE s3{options})")


def object_store(environment: Mapping[str, str] = os.environ) -> ObjectStore:
    """The store that the environment describes, in the words of AWS's own programs.

    >>> dict(object_store({"HOME": "/home/curator", "AWS_ENDPOINT_URL": "http://localhost:9000"}).secret)["ENDPOINT"]
    'localhost:9000'
    """
    settings = {
        name: value
        for name, variables in _SECRETS.items()
        for value in [next((environment[variable] for variable in variables if environment.get(variable)), "")]
        if value
    }
    endpoint = urlsplit(environment.get("AWS_ENDPOINT_URL", ""))
    if endpoint.netloc:
        settings |= {
            "ENDPOINT": endpoint.netloc,
            "URL_STYLE": "path",
            "USE_SSL": str(endpoint.scheme == "https").lower(),
        }
    folder = environment.get(FOLDER) or str(Path(environment.get("HOME", "~")).expanduser() / ".duckdb" / "extensions")
    return ObjectStore(folder, tuple(sorted(settings.items())))


def check_address(source: str) -> None:
    """Refuse what is not the address of one Parquet file, or would travel in the clear."""
    parts = urlsplit(source)
    shown = f"{parts.scheme}://..."
    if parts.scheme == "http" and parts.hostname not in _HERE:
        raise BadParameter("source", shown, "must be https://: data would travel in the clear")
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise BadParameter("source", shown, "must not hold a password, a signature or a fragment")
    if not parts.path.lower().endswith((".parquet", ".pq")) or set("*?[") & set(source) or not source.isprintable():
        raise BadParameter("source", shown, "must be one Parquet file, without a pattern")


def files_at(source: object) -> Files:
    """The file behind an address, as the engine reads it."""
    if not isinstance(source, str) or "://" not in source:
        raise BadData("a source on an object store must be an address")
    check_address(source)
    return Files(Format.PARQUET, (source,))
