"""What ``dp.table`` accepts as data, distinguished without reading a value.

  files      a path, a list of paths, a glob or a folder of Parquet or CSV files: "trips.parquet", "2024/*.csv", "data/"
  one file   of Stata, SPSS, SAS or Excel: "survey.sav", "survey.dta", "survey.xlsx"
  database   "shop.duckdb::orders", or duckdb_table("shop.duckdb", "orders", schema="main")
  memory     an Arrow table, record batch, reader or dataset; a Polars or pandas frame; a relation of DuckDB; anything
             with the Arrow C stream interface; a dict of columns; a list of dicts

Globs and folders are listed again for each question, before it is paid: files that came since are part of the table.
Names that start with "." or "_" are skipped in folders. Frames are turned into Arrow, without a copy where their memory
allows it.

Promise: what cannot be opened is refused with ``BadData`` before anything is spent; the message never holds a value.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeAlias

from discreet.errors import BadData, BadParameter

_PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst", ".txt")
_LABELLED = (".dta", ".sav", ".zsav", ".sas7bdat", ".xpt")
_WORKBOOK = (".xlsx", ".xlsm")
_DATABASE = "::"
_GLOB = frozenset("*?[")
REMOTE = (
    "data must be in files on this machine: remote addresses are not opened, so that no query can reach them. Copy "
    "the data first, with DuckDB's own program: duckdb -c \"INSTALL httpfs; LOAD httpfs; COPY "
    "(FROM 's3://bucket/*.parquet') TO 'visits.parquet'\"; or let Spark read them where they are"
)
"""For object stores and other addresses."""
SERVER = (
    "a table of PostgreSQL is named by its schema and name, and its server by the engine: "
    'dp.Session(visits=dp.table("schema.visits", unit=...), engine=dp.engines.postgres(address), budget=...)'
)
_POSTGRES = ("postgresql://", "postgres://")
STORED_AS = b"discreet: stored as"
"""The mark of a column that cannot be read, in its Arrow field: the type that it has."""
UNTYPED = b"discreet: text of a file without types"
"""The mark of a column, in its Arrow field, whose text is read as a number or a time where a query needs one."""


class Format(Enum):
    """How files are stored."""

    PARQUET = "Parquet"
    CSV = "CSV"
    LABELLED = "Stata, SPSS or SAS"
    WORKBOOK = "Excel"


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one format, by their full paths, in order."""

    format: Format
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    """A table of a DuckDB file."""

    path: str
    table: str
    schema: str = "main"


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows in memory (or an Arrow dataset): an object that DuckDB can scan."""

    arrow: Any


Opened: TypeAlias = Files | DatabaseTable | Frame
FileMarks: TypeAlias = tuple[tuple[str, int, int, int], ...]
"""Path, identity, size and time of each file."""


def duckdb_table(path: str | os.PathLike[str], table: str, *, schema: str = "main") -> DatabaseTable:
    """A table or view of a DuckDB file, as a source for ``dp.table``; the file is opened for reading only."""
    for name, value in (("table", table), ("schema", schema)):
        if not isinstance(value, str) or not value:
            raise BadParameter(name, value, "must be a name")
    return DatabaseTable(_existing(os.fspath(path)), table, schema)


def open_source(source: object) -> Opened:
    """What a source is; files are looked for, and none is read."""
    if isinstance(source, DatabaseTable):
        return DatabaseTable(_existing(source.path), source.table, source.schema)
    if isinstance(source, (str, os.PathLike)):
        return _path(os.fspath(source))
    if isinstance(source, Sequence) and source and all(isinstance(part, (str, os.PathLike)) for part in source):
        return _together([_path(os.fspath(part)) for part in source])
    return Frame(_arrow(source))


def marks_of(opened: Opened) -> FileMarks:
    """What tells from outside whether the files of a source are still the same; none for rows in memory.

    >>> marks_of(Frame(None))
    ()
    """
    paths = opened.paths if isinstance(opened, Files) else (opened.path,) if isinstance(opened, DatabaseTable) else ()
    marks = []
    for path in paths:
        try:
            seen = os.stat(path)
        except OSError:
            raise BadData(f"the file {path} must exist") from None
        marks.append((path, seen.st_ino, seen.st_size, seen.st_mtime_ns))
    return tuple(marks)


# --- files ------------------------------------------------------------------------------------------------------------


def _path(path: str | bytes) -> Opened:
    if not isinstance(path, str) or not path or "\0" in path:
        raise BadData("a path must be text")
    if path.startswith(_POSTGRES):
        raise BadData(SERVER)
    file, separator, table = path.partition(_DATABASE)
    if separator:
        return duckdb_table(file, table)
    if "://" in path:
        raise BadData(REMOTE)
    if path.lower().endswith(_LABELLED + _WORKBOOK) and not os.path.isdir(path):
        return Files(Format.LABELLED if path.lower().endswith(_LABELLED) else Format.WORKBOOK, (_existing(path),))
    if os.path.isdir(path):
        names = sorted(str(file) for file in Path(path).rglob("*") if file.is_file() and not _hidden(file, Path(path)))
        return _files([name for name in names if _format(name) is not None], f"the folder {path} must hold")
    if _GLOB & set(path) and not os.path.exists(path):
        return _files(sorted(glob.glob(path, recursive=True)), f"the pattern {path} must match")
    return _files([_existing(path)], f"the file {path} must be one of")


def _hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def _existing(path: str) -> str:
    full = os.path.realpath(path)
    if not os.path.isfile(full):
        raise BadData(f"the file {path} must exist")
    return full


def _format(path: str) -> Format | None:
    name = path.lower()
    return Format.PARQUET if name.endswith(_PARQUET) else Format.CSV if name.endswith(_CSV) else None


def _files(paths: Sequence[str], must: str) -> Files:
    formats = {_format(path) for path in paths}
    if len(formats) != 1 or None in formats:
        raise BadData(f"{must} Parquet files (.parquet) or CSV files (.csv, .tsv, .txt), of one kind")
    full = tuple(os.path.realpath(path) for path in paths)
    for path in full:
        if _GLOB & set(path):
            raise BadData(f"the path {path} must not hold any of * ? [: rename the file or its folder")
        if not os.access(path, os.R_OK):
            raise BadData(f"the file {path} must be readable")
    return Files(next(kind for kind in formats if kind), full)


def _together(parts: Sequence[Opened]) -> Files:
    if not all(isinstance(part, Files) for part in parts):
        raise BadData("a list of sources must be a list of files")
    paths = [path for part in parts if isinstance(part, Files) for path in part.paths]
    if len(set(paths)) != len(paths):
        raise BadData("a list of files must name each file once")
    return _files(paths, "a list of files must hold")


# --- memory -----------------------------------------------------------------------------------------------------------


def _arrow(source: Any) -> Any:
    """An Arrow table or dataset with the same rows."""
    import pyarrow as pa  # heavy, and not needed for files

    package = type(source).__module__.partition(".")[0]
    kind = type(source).__name__
    try:
        if package == "pyarrow" and (kind == "Table" or hasattr(source, "scanner")):
            table = source
        elif package == "pandas" and kind == "DataFrame":
            table = _from_pandas(source)
        elif package == "polars" and kind in ("DataFrame", "LazyFrame"):
            table = (_collected(source) if kind == "LazyFrame" else source).to_arrow()
        elif "duckdb" in package and kind == "DuckDBPyRelation":
            table = source.to_arrow_table()
        elif isinstance(source, Mapping):
            table = pa.table(dict(source))
        elif isinstance(source, list) and all(isinstance(row, Mapping) for row in source):
            table = pa.Table.from_pylist(source)
        elif hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
            table = pa.table(source)
        else:
            raise BadData(
                "a source must be a file, folder or glob of Parquet or CSV, a file of Stata, SPSS, SAS or Excel, a "
                f"DuckDB table, an Arrow, Polars or pandas table, or a dict of columns; not a {kind}"
            )
    except BadData:
        raise
    except Exception:  # Arrow's message may hold values
        raise BadData(f"this {kind} must hold columns that Arrow can represent, each of one type") from None
    names = list(table.schema.names)
    if len({name.lower() for name in names}) != len(names):
        raise BadData("a table must have different names for its columns, whatever their case")
    return table


def _collected(frame: Any) -> Any:
    try:
        return frame.collect()
    except Exception:  # Polars' message may hold values
        raise BadData("this LazyFrame cannot be collected: collect() it yourself, and see what Polars says") from None


def _from_pandas(frame: Any) -> Any:
    """The same rows. A column that Arrow cannot represent stands there without values, and cannot be used."""
    import pyarrow as pa  # heavy, and not needed for files

    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        tables = [_alone(frame.iloc[:, [i]]) for i in range(frame.shape[1])]
        return pa.table(
            [table.column(0) for table in tables], schema=pa.schema([table.schema.field(0) for table in tables])
        )


def _alone(column: Any) -> Any:
    import pyarrow as pa  # heavy, and not needed for files

    try:
        return pa.Table.from_pandas(column, preserve_index=False)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        named = pa.field(str(column.columns[0]), pa.binary(), metadata={STORED_AS: str(column.dtypes.iloc[0])})
        return pa.table([pa.nulls(len(column), pa.binary())], schema=pa.schema([named]))
