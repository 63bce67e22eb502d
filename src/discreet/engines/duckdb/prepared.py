"""A private copy of a table that is asked often: in a DuckDB file, its rows sorted by unit, integers in few bits.

Promise: the copy has the same columns, kinds of types and rows as its source, so every exact number is the same; only
its owner can read it; a half-made copy never gets its name. ``is_current`` says whether the files of the source are
still those that were copied: by name, identity, size and time, never by a value.
Believes: nobody changes a copy by hand.

Rows of one unit lie together, so that its sums fill a few pages rather than all of them, and DuckDB's own format needs
no decoding: of 1e7 trips, questions take 0.26 to 0.66 of the processor time that they take on Parquet
(`bench/curator.py`). Integers, units among them, have the narrowest type that holds all of them. Text stays text: in
DuckDB 2.0 its own dictionaries are as fast as ENUM for listed keys (within 5 %), and the number of a unit in place of
its text would change which of its keys are kept where there are too many, so that numbers would not be the same.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb as driver

from discreet.engines.duckdb.source import UNUSED_OPTIMIZERS, describe, needs, scannable
from discreet.engines.sources import DatabaseTable, Files, open_source
from discreet.engines.sql.dialects import DUCKDB
from discreet.engines.sql.relations import Origin
from discreet.errors import BadData, BadParameter
from discreet.query.plan.schema import StoredKind

_FACTS = "discreet_source"


def prepare(
    source: object, path: Path, *, unit: str | None, table: str = "rows", memory: int | None = None
) -> DatabaseTable:
    """Make the copy in a file, in place of one that may be there; a source for ``dp.table``. ``memory`` is in bytes.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     copy = prepare({"id": [2, 1]}, Path(folder) / "copy.duckdb", unit="id")
    ...     driver.connect(copy.path, read_only=True).execute("SELECT id FROM rows").fetchall()
    [(1,), (2,)]
    """
    opened = scannable(open_source(source))
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))  # for its owner alone
    try:
        _copy(opened, draft / "copy", unit, table, memory)
        (draft / "copy").chmod(0o600)
        (draft / "copy").replace(path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return DatabaseTable(str(path.resolve()), table)


def keep_copy(source: object, folder: str, name: str, *, unit: str | None, memory: int | None = None) -> DatabaseTable:
    """The copy of a source in a folder, made unless the one that is there is current."""
    path = Path(folder) / f"{name}.duckdb"
    if is_current(source, path):
        return DatabaseTable(str(path.resolve()), name)
    return prepare(source, path, unit=unit, table=name, memory=memory)


def private_folder(user: object) -> str:
    """A folder for its owner alone, removed when ``user`` is gone."""
    folder = tempfile.mkdtemp(prefix="discreet-prepared-")
    weakref.finalize(user, shutil.rmtree, folder, ignore_errors=True)
    return folder


def _copy(opened: object, path: Path, unit: str | None, table: str, memory: int | None) -> None:
    settings: dict[str, Any] = {
        "temp_directory": str(path.parent),
        **({} if memory is None else {"memory_limit": f"{memory >> 20}MiB"}),
    }
    facts = _facts(opened)
    try:
        with closing(driver.connect(str(path), config=settings)) as connection:
            connection.execute(f"SET disabled_optimizers = {UNUSED_OPTIMIZERS}; SET enable_progress_bar = false")
            wanted = needs(opened, "source")  # type: ignore[arg-type]
            for label, file in wanted.databases.items():
                connection.execute(f"ATTACH {DUCKDB.text(file)} AS {DUCKDB.identifier(label)} (READ_ONLY)")
            for label, arrow in wanted.frames.items():
                connection.register(label, arrow)
            origin = describe(opened, "source", connection)  # type: ignore[arg-type]
            if unit is not None and unit not in origin.stored:
                raise BadParameter("unit", unit, "must be a column of the table")
            narrow = _narrow(connection, origin)
            order = "" if unit is None else f" ORDER BY {DUCKDB.identifier(unit)}"
            connection.execute(f"CREATE TABLE {DUCKDB.identifier(table)} AS SELECT *{narrow} FROM {origin.sql}{order}")
            connection.execute(f"CREATE TABLE {_FACTS} (name VARCHAR, inode UBIGINT, size UBIGINT, changed BIGINT)")
            for row in facts.items():
                connection.execute(f"INSERT INTO {_FACTS} VALUES (?, ?, ?, ?)", [row[0], *row[1]])
    except driver.Error as error:
        kind = type(error).__name__
    else:
        return
    raise BadData(f"the source must be a table that DuckDB can read and copy; its error was {kind}")


def _narrow(connection: driver.DuckDBPyConnection, origin: Origin) -> str:
    """The integers of a table in the narrowest types that hold them: the REPLACE of a SELECT."""
    named = [DUCKDB.identifier(name) for name, how in origin.stored.items() if how.kind is StoredKind.INTEGER]
    if not named:
        return ""
    asked = ", ".join(f"min({one}), max({one})" for one in named)
    ends = connection.execute(f"SELECT {asked} FROM {origin.sql}").fetchone()
    assert ends is not None  # noqa: S101 - an aggregate has one row
    kinds = [_kind(low or 0, high or 0) for low, high in zip(ends[::2], ends[1::2], strict=True)]
    casts = [f"CAST({one} AS {kind}) AS {one}" for one, kind in zip(named, kinds, strict=True) if kind is not None]
    return f" REPLACE ({', '.join(casts)})" if casts else ""


def _kind(low: int, high: int) -> str | None:
    """The narrowest signed type for a range; None if BIGINT is too narrow, too.

    >>> _kind(0, 127), _kind(-129, 0), _kind(0, 1 << 63)
    ('TINYINT', 'SMALLINT', None)
    """
    types = ((7, "TINYINT"), (15, "SMALLINT"), (31, "INTEGER"), (63, "BIGINT"))
    return next((kind for bits, kind in types if -(1 << bits) <= low and high < 1 << bits), None)


def is_current(source: object, path: Path) -> bool:
    """Whether a copy is there, and the files of its source are still those that were copied."""
    facts = _facts(open_source(source))
    if not facts or not path.is_file():
        return False
    try:
        with closing(driver.connect(str(path), read_only=True)) as connection:
            found = connection.execute(f"SELECT name, inode, size, changed FROM {_FACTS}").fetchall()
    except driver.Error:
        return False
    return {name: tuple(rest) for name, *rest in found} == facts


def _facts(opened: object) -> Mapping[str, tuple[int, int, int]]:
    """What is public about the files of a source; nothing for rows in memory."""
    paths = opened.paths if isinstance(opened, Files) else (opened.path,) if isinstance(opened, DatabaseTable) else ()
    found = {path: os.stat(path) for path in paths}
    return {path: (one.st_ino, one.st_size, one.st_mtime_ns) for path, one in found.items()}
