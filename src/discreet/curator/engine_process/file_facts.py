"""Public facts about the files of a source, by which a change is noticed before anybody pays.

Promise: what is compared are facts about files (there or not, size, time, identity, first line of CSV), and no value of
any person: the first line of a CSV file is its header.
"""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass

from discreet.errors import BadData

_LONGEST = 1 << 16


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What the files of one source look like from outside."""

    identity: tuple[tuple[str, int, int, int], ...]
    first_lines: tuple[bytes, ...] | None
    """Of CSV files; None for formats that store the types of their columns."""


def file_facts(source: object) -> FileFacts | None:
    """The facts about a source that is made of files; None if it is not, or if one of them is gone."""
    paths = [source] if isinstance(source, str) else source
    if not isinstance(paths, list | tuple) or not all(isinstance(path, str) for path in paths):
        return None
    try:
        found = [(path, os.stat(path.partition("::")[0])) for path in paths]
        csv = any(".csv" in path.lower() or ".tsv" in path.lower() for path in paths)
        lines = tuple(_first_line(path) for path in paths) if csv else None
    except (OSError, EOFError):
        return None
    return FileFacts(tuple((path, one.st_ino, one.st_size, one.st_mtime_ns) for path, one in found), lines)


def _first_line(path: str) -> bytes:
    with gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb") as file:
        return file.readline(_LONGEST)


def check_same_columns(source: object) -> None:
    """Refuse files of one table that do not have the same columns: by their metadata, or by the header of CSV."""
    if not isinstance(source, list) or len(source) < 2:
        return
    if source[0].lower().endswith((".parquet", ".pq")):
        from pyarrow import ArrowException, parquet

        try:
            found: set[object] = {
                tuple((one.name, str(one.type)) for one in parquet.read_schema(path)) for path in source
            }
        except (OSError, ArrowException):
            raise BadData("the files of a table must be Parquet that can be read") from None
    else:
        found = {_first_line(path) for path in source}
    if len(found) > 1:
        raise BadData("the files of a table must have the same columns, of the same types")
