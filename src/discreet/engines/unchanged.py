"""Whether the tables of a question still have the columns with which it was typed, and whether they are the same still.

Promise: what decides are names and stored types of columns, and what files look like from outside: no value of any
person. A refusal comes before anybody pays.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from discreet.engines.sql.relations import scanned
from discreet.errors import BadData
from discreet.query.plan.schema import Schema, Stored, StoredKind
from discreet.query.plan.work import AnyWork


def check_unchanged(
    works: Sequence[AnyWork], schemas: Mapping[str, Schema], columns: Callable[[object], Mapping[str, Stored]]
) -> None:
    """Refuse tables whose columns are others than their schemas say; ``columns`` opens a source as it is now.

    New columns are no change: no question of this session names them.
    """
    for name in sorted({name for work in works for name in scanned(work.source)}):
        now = columns(schemas[name].table.source)
        stored = schemas[name].stored.items()
        usable = {column: how for column, how in stored if how.kind is not StoredKind.OTHER or how.element is not None}
        if any(now.get(column) != _in_the_source(how) for column, how in usable.items()):
            raise BadData(
                f"the columns of {name} have changed since this session was opened; nothing was spent. Open a new one"
            )


def _in_the_source(how: Stored) -> Stored:
    """How a column is stored, whatever was declared of it: without types it is text."""
    return Stored(StoredKind.TEXT, untyped=True) if how.untyped else how


def source_identity(source: object) -> object:
    """What tells a table from another or a later one: of files, what they look like from outside."""
    paths = [source] if isinstance(source, str | os.PathLike) else source
    if not isinstance(paths, list | tuple):
        return id(source), source  # in memory: held, so that nothing else gets its identity
    try:
        stats = [(os.fspath(path), os.stat(path)) for path in paths]
    except (OSError, TypeError, ValueError):
        return object()  # a table of a server, a glob: there is no telling whether it is the same
    return tuple((path, stat.st_ino, stat.st_size, stat.st_mtime_ns) for path, stat in stats)
