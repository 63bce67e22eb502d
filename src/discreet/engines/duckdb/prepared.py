"""A private copy of a table that is asked often: in a DuckDB file, its rows sorted by unit, integers in few bits.

Promise: the copy has the same columns, kinds of types and rows as its source, so every exact number is the same; only
its owner can read it; a half-made copy never gets its name. ``is_current`` says whether the files of the source are
still those that were copied: by name, identity, size and time, never by a value.
Believes: nobody changes a copy by hand.

Rows of one unit lie together, so that its sums fill a few pages rather than all of them, and DuckDB's own format needs
no decoding. Integers, units among them, have the narrowest type that holds all of them. Beside the columns of the table
a copy keeps what the usual questions compute again and again (``kept_columns.py``): numbers on their public grid,
listed keys as ENUM, units as dense integers, and how many rows each unit has in each group, so that a bounded sum needs
no hash table. Of 1e7 trips, such questions take 0.1 to 0.4 of the processor time that they take on Parquet
(`bench/curator.py`). The hash that chooses among the keys of a unit still sees its own name, not its number: numbers
are the same.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any

import duckdb as driver

from discreet.engines.duckdb.kept_columns import add_kept, narrowest, wanted
from discreet.engines.duckdb.source import KEPT, UNTYPED, UNUSED_OPTIMIZERS, describe, needs, no_progress_bar, scannable
from discreet.engines.sources import DatabaseTable, Opened, marks_of, open_source
from discreet.engines.sql.dialects import DUCKDB
from discreet.engines.sql.relations import Origin
from discreet.engines.sql.scope import free_prefix
from discreet.errors import BadData, BadParameter
from discreet.query.plan.schema import StoredKind
from discreet.query.plan.work import Work

_FACTS = "discreet_source"
_VERSION = 1
"""Of the meaning of what is kept: copies of another version are made again."""


def prepare(
    source: object,
    path: Path,
    *,
    unit: str | None,
    table: str = "rows",
    memory: int | None = None,
    works: Sequence[Work] = (),
) -> DatabaseTable:
    """Make the copy in a file, in place of one that may be there; a source for ``dp.table``. ``memory`` is in bytes.

    What these works compute again and again is kept beside the rows.

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
        _copy(opened, draft / "copy", unit, table, memory=memory, works=works)
        (draft / "copy").chmod(0o600)
        (draft / "copy").replace(path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return DatabaseTable(str(path.resolve()), table)


def keep_copy(
    source: object,
    folder: str,
    name: str,
    *,
    unit: str | None,
    memory: int | None = None,
    works: Sequence[Work] = (),
) -> DatabaseTable:
    """The copy of a source in a folder, made unless the one that is there is current."""
    path = Path(folder) / f"{name}.duckdb"
    if is_current(source, path, unit=unit, works=works):
        return DatabaseTable(str(path.resolve()), name)
    return prepare(source, path, unit=unit, table=name, memory=memory, works=works)


def private_folder(user: object) -> str:
    """A folder for its owner alone, removed when ``user`` is gone."""
    folder = tempfile.mkdtemp(prefix="discreet-prepared-")
    weakref.finalize(user, shutil.rmtree, folder, ignore_errors=True)
    return folder


def _copy(
    opened: Opened, path: Path, unit: str | None, table: str, *, memory: int | None, works: Sequence[Work]
) -> None:
    settings: dict[str, Any] = {
        "temp_directory": str(path.parent),
        **({} if memory is None else {"memory_limit": f"{memory >> 20}MiB"}),
    }
    facts = _facts(opened, unit, works)
    try:
        with closing(driver.connect(str(path), config=settings)) as connection:
            no_progress_bar(connection)
            connection.execute(f"SET disabled_optimizers = {UNUSED_OPTIMIZERS}")
            wanted_here = needs(opened, "source")
            for label, file in wanted_here.databases.items():
                connection.execute(f"ATTACH {DUCKDB.text(file)} AS {DUCKDB.identifier(label)} (READ_ONLY)")
            for label, arrow in wanted_here.frames.items():
                connection.register(label, arrow)
            origin = describe(opened, "source", connection, whole=True)
            if unit is not None and unit not in origin.stored:
                raise BadParameter("unit", unit, "must be a column of the table")
            rows, kept = _rows(connection, origin, unit, works)
            connection.execute(f"CREATE TABLE {DUCKDB.identifier(table)} AS SELECT * FROM {rows}")
            for column in (name for name, how in origin.stored.items() if how.untyped):
                named = f"{DUCKDB.identifier(table)}.{DUCKDB.identifier(column)}"
                connection.execute(f"COMMENT ON COLUMN {named} IS {DUCKDB.text(UNTYPED)}")
            connection.execute(f"CREATE TABLE {KEPT} (copy VARCHAR, holds VARCHAR, name VARCHAR)")
            for holds, name in kept:
                connection.execute(f"INSERT INTO {KEPT} VALUES (?, ?, ?)", [table, holds, name])
            connection.execute(f"CREATE TABLE {_FACTS} (name VARCHAR, inode UBIGINT, size UBIGINT, changed BIGINT)")
            for row in facts.items():
                connection.execute(f"INSERT INTO {_FACTS} VALUES (?, ?, ?, ?)", [row[0], *row[1]])
    except driver.Error as error:
        kind = type(error).__name__
    else:
        return
    raise BadData(f"the source must be a table that DuckDB can read and copy; its error was {kind}")


def _rows(
    connection: driver.DuckDBPyConnection, origin: Origin, unit: str | None, works: Sequence[Work]
) -> tuple[str, list[tuple[str, str]]]:
    """The rows of the copy as an item for FROM; and what the columns hold that are kept beside its own."""
    columns = _narrow(connection, origin)
    if unit is None:
        return f"(SELECT {columns} FROM {origin.sql})", []
    number = free_prefix("discreet_row", origin.stored)
    ordered = f"SELECT {columns} FROM {origin.sql} ORDER BY {DUCKDB.identifier(unit)}"
    connection.execute(f"CREATE TEMP TABLE staged AS SELECT *, row_number() OVER () AS {number} FROM ({ordered})")
    staged = describe(DatabaseTable("", "staged"), "temp", connection)
    return add_kept(connection, staged, number, wanted(works, unit))


def _narrow(connection: driver.DuckDBPyConnection, origin: Origin) -> str:
    """The columns of a table, integers in the narrowest types that hold them."""
    columns = {name: DUCKDB.identifier(name) for name in origin.stored}
    integers = [name for name, how in origin.stored.items() if how.kind is StoredKind.INTEGER]
    if integers:
        ends_of = ", ".join(f"min({columns[name]}), max({columns[name]})" for name in integers)
        ends = connection.execute(f"SELECT {ends_of} FROM {origin.sql}").fetchone()
        assert ends is not None  # noqa: S101 - an aggregate has one row
        for name, low, high in zip(integers, ends[::2], ends[1::2], strict=True):
            kind = narrowest(low or 0, high or 0)
            if kind is not None:
                columns[name] = f"CAST({columns[name]} AS {kind}) AS {columns[name]}"
    return ", ".join(columns.values())


def is_current(source: object, path: Path, *, unit: str | None, works: Sequence[Work] = ()) -> bool:
    """Whether a copy is there, keeps what these works need, and the files of its source are those that were copied."""
    facts = _facts(open_source(source), unit, works)
    if len(facts) < 2 or not path.is_file():
        return False
    try:
        with closing(driver.connect(str(path), read_only=True)) as connection:
            copied = connection.execute(f"SELECT name, inode, size, changed FROM {_FACTS}").fetchall()
    except driver.Error:
        return False
    return {name: tuple(rest) for name, *rest in copied} == facts


def _facts(opened: Opened, unit: str | None, works: Sequence[Work]) -> Mapping[str, tuple[int, int, int]]:
    """What is public about the files of a source, none for rows in memory; and what the copy keeps, as a number."""
    kept = "" if unit is None else repr((_VERSION, unit, wanted(works, unit).names()))
    digest = int.from_bytes(blake2b(kept.encode(), digest_size=7).digest())
    return {path: (inode, size, changed) for path, inode, size, changed in marks_of(opened)} | {KEPT: (0, 0, digest)}
