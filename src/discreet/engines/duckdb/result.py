"""What DuckDB sent back, as exact integers and plain keys; anything else is refused.

A sum may have 128 bits, which numpy cannot hold: it comes as a 64-bit integer where it fits, and as text where not.
"""

from __future__ import annotations

from typing import Any

import duckdb as driver
import numpy as np
from numpy.typing import NDArray

from discreet.engines.sql.dialects import Sort
from discreet.engines.sql.emit import Statement
from discreet.engines.sql.grouping_sets import arrow_places, read_sets, used_keys
from discreet.engines.sql.results import checked
from discreet.query.plan.work import AnyWork, Cells, Exact, GroupingSets

_SENT = {Sort.DATE: "({0} - DATE '1970-01-01')", Sort.TIMESTAMP: "epoch_us({0})"}


def fetch(work: AnyWork, statement: Statement, cursor: driver.DuckDBPyConnection) -> Exact:
    """Run the statement; its keys and numbers."""
    columns = [f"{_SENT.get(sort, '{0}').format(name)} AS {name}" for name, sort in statement.keys]
    for i in range(statement.cells):
        columns.append(f"TRY_CAST(n{i} AS BIGINT) AS n{i}")
        columns.append(f"CASE WHEN TRY_CAST(n{i} AS BIGINT) IS NULL THEN CAST(n{i} AS VARCHAR) END AS t{i}")
    found = cursor.execute(f"SELECT {', '.join(columns)} FROM (\n{statement.sql}) AS t").fetchnumpy()
    rows = len(found["n0"])
    numbers = tuple(_numbers(found[f"n{i}"], found[f"t{i}"]) for i in range(statement.cells))
    keys = [_key(found[name], sort) for name, sort in statement.keys]
    return checked(work, statement, keys, numbers, rows)


def fetch_sets(work: GroupingSets, statement: Statement, cursor: driver.DuckDBPyConnection) -> tuple[Cells, ...]:
    """Run the statement of many sets; the numbers of each."""
    columns = [*(name for name, _ in statement.keys), "CAST(n0 AS BIGINT) AS n0"]
    found = cursor.sql(f"SELECT {', '.join(columns)} FROM (\n{statement.sql}) AS t").to_arrow_table()
    keys = [arrow_places(found.column(f"k{i}"), work.keys[i].allowed or ()) for i in used_keys(work)]
    return read_sets(work, keys, found.column("n0").to_numpy())


def _numbers(short: NDArray[Any], long: NDArray[Any]) -> NDArray[Any]:
    if not np.ma.is_masked(short):
        found = np.ma.getdata(short)
        if found.dtype != np.int64:
            raise TypeError("not integers")
        return found
    mixed = zip(short.tolist(), long.tolist(), strict=True)
    return np.array([int(text) if number is None else number for number, text in mixed], dtype=object)


def _key(values: NDArray[Any], sort: Sort) -> list[Any]:
    if sort in (Sort.DATE, Sort.TIMESTAMP):
        unit = "datetime64[D]" if sort is Sort.DATE else "datetime64[us]"
        days: list[Any] = np.ma.filled(values, 0).astype(np.int64).astype(unit).tolist()
        missing = np.ma.getmaskarray(values)
        return (
            [None if gone else day for day, gone in zip(days, missing.tolist(), strict=True)] if missing.any() else days
        )
    listed: list[Any] = values.tolist()
    return listed
