"""Where the data of a curator lie: files under one folder, and nowhere else.

Promise: a place that is accepted is a file inside the folder of the data, or a folder of such files, reached without
"..", without a link and without the network, whatever was written. Refusals name what was written and never what is on
the disk.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from discreet.errors import BadData, BadParameter

SUFFIXES = (".parquet", ".pq", ".csv", ".tsv", ".csv.gz", ".tsv.gz")
DATABASES = (".duckdb", ".ddb")
_PIECE = 1 << 20
_MOST = 10_000
_GLOB = frozenset("*?[")
_LONGEST_NAME = 255  # bytes: to ask a file system for a longer one is an error


def find(root: Path, source: str) -> tuple[Path, ...]:
    """The files that a source names: one file, a glob or a folder, relative to the folder of the data."""
    base = _root(root)
    relative = _checked(source, folder=not source.lower().endswith(SUFFIXES))
    if (base / relative).is_dir() and not _GLOB & set(source):
        candidates = [base / name for name in listed(root) if Path(name).is_relative_to(relative)]
    else:
        candidates = sorted(base.glob(str(relative))) if _GLOB & set(source) else [base / relative]
    files = tuple(path for path in candidates if _inside(base, path))
    if not files or len(files) != len(candidates):
        raise BadData(f"the source {source!r} must be files of Parquet or CSV inside the folder of the data, not links")
    if len({path.suffix for path in files}) > 1 or len(files) > _MOST:
        raise BadData(f"the source {source!r} must be files of one kind, at most {_MOST:,}")
    return files


def find_database(root: Path, source: str) -> Path:
    """The DuckDB file that a source names, relative to the folder of the data."""
    path = _root(root) / _checked(source, suffixes=DATABASES)
    if not (path.is_file() and path.resolve() == path):
        raise BadData(f"the source {source!r} must be a DuckDB file inside the folder of the data, not a link")
    return path


def listed(root: Path) -> Iterator[str]:
    """All files that could be a source, in order."""
    base = _root(root)
    for folder, folders, names in os.walk(base):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder) / name
            if _inside(base, path):
                yield path.relative_to(base).as_posix()


def marks(files: tuple[Path, ...]) -> list[str]:
    """Texts by which the same files can be recognised under another name: path, identity on the disk, content."""
    texts = []
    for path in files:
        seen = path.stat()
        texts += [f"path {path}", f"file {seen.st_dev} {seen.st_ino}", f"content {_content(path, seen.st_size)}"]
    return texts


def _checked(source: str, *, suffixes: tuple[str, ...] = SUFFIXES, folder: bool = False) -> PurePosixPath:
    must = 'must be a file, glob or folder of Parquet or CSV below the folder of the data, such as "visits.parquet"'
    given: object = source
    if not isinstance(given, str) or not 0 < len(given) <= 1000 or not given.isprintable():
        raise BadParameter("source", given, must)
    if "://" in given or "\\" in given or given.startswith(("/", "~")) or "::" in given:
        raise BadParameter("source", given, must)
    path = PurePosixPath(given)
    if not path.parts or any(part == ".." or part.startswith(".") or "**" in part for part in path.parts):
        raise BadParameter("source", given, must)
    if len(given.encode()) > 2000 or any(len(part.encode()) > _LONGEST_NAME for part in path.parts):
        raise BadParameter("source", given, must)
    if not folder and not given.lower().endswith(suffixes):
        raise BadParameter("source", given, must)
    return path


def _root(root: Path) -> Path:
    base = root.resolve()
    if not base.is_dir():
        raise BadData("the folder of the data must exist")
    return base


def _inside(base: Path, path: Path) -> bool:
    """Whether this is a file below the folder, with no link on the way to it."""
    try:
        return path.is_file() and path.resolve() == path and path.is_relative_to(base) and _named(path)
    except (OSError, ValueError, RuntimeError):  # names too long, loops of links
        return False


def _named(path: Path) -> bool:
    return path.name.lower().endswith(SUFFIXES) and not path.name.startswith(".") and path.name.isprintable()


def _content(path: Path, size: int) -> str:
    """A hash of the size, the beginning and the end: enough to know a copy again, and quick for any size."""
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        digest.update(file.read(_PIECE))
        file.seek(max(0, size - _PIECE))
        digest.update(file.read(_PIECE))
    return digest.hexdigest()
