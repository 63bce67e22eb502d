"""What PostgreSQL sent back, as exact integers and plain keys; anything else is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.engines.sql.emit import Statement
from discreet.engines.sql.grouping_sets import places_of, read_sets, used_keys
from discreet.engines.sql.results import checked, integers
from discreet.query.plan.work import AnyWork, Cells, Exact, GroupingSets

if TYPE_CHECKING:
    from discreet.engines.postgres.connections import Connection

_PIECE = 1 << 16


def fetch(work: AnyWork, statement: Statement, connection: Connection) -> Exact:
    """Run the statement; its keys and numbers. Numbers come as text, so that none passes through a decimal or float."""
    names = [name for name, _ in statement.keys]
    columns = [*names, *(f"CAST(n{i} AS TEXT)" for i in range(statement.cells))]
    text = f"SELECT {', '.join(columns)} FROM (\n{statement.sql}) AS t"
    rows = connection.execute(text.encode()).fetchall()
    by_column = list(zip(*rows, strict=True)) or [()] * len(columns)
    numbers = [integers([int(digits) for digits in column]) for column in by_column[len(names) :]]
    return checked(work, statement, by_column[: len(names)], numbers, len(rows))


def fetch_sets(work: GroupingSets, statement: Statement, connection: Connection) -> tuple[Cells, ...]:
    """Run the statement of many sets; the numbers of each. Rows become objects a piece at a time."""
    columns = [*(name for name, _ in statement.keys), "CAST(n0 AS BIGINT)"]
    cursor = connection.execute(f"SELECT {', '.join(columns)} FROM (\n{statement.sql}) AS t".encode())
    keys: list[list[np.ndarray[tuple[int], np.dtype[np.int64]]]] = [[] for _ in statement.keys]
    counts = [np.zeros(0, dtype=np.int64)]
    while rows := cursor.fetchmany(_PIECE):
        *key_columns, numbers = zip(*rows, strict=True)
        for listed, i, values in zip(keys, used_keys(work), key_columns, strict=True):
            listed.append(places_of(values, work.keys[i].allowed or ()))
        counts.append(np.array(numbers, dtype=np.int64))
    empty = np.zeros(0, dtype=np.int64)
    return read_sets(work, [np.concatenate([empty, *listed]) for listed in keys], np.concatenate(counts))
