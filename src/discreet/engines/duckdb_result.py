"""What DuckDB sent back, as exact integers and plain keys; anything else is refused.

A sum may have 128 bits, which numpy cannot hold: it comes as a 64-bit integer where it fits, and as text where not.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import duckdb as driver
import numpy as np
from numpy.typing import NDArray

from discreet.engines.dialects import Sort
from discreet.engines.emit import Statement
from discreet.table.work import AnyWork, Exact, WorkKey

_SENT = {Sort.DATE: "({0} - DATE '1970-01-01')", Sort.TIMESTAMP: "epoch_us({0})"}
_TYPES: dict[Sort, type] = {
    Sort.INTEGER: int,
    Sort.TEXT: str,
    Sort.BOOLEAN: bool,
    Sort.DATE: date,
    Sort.TIMESTAMP: datetime,
}


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
    split = getattr(work, "split", None)
    for declared, (_, sort), values in zip(_declared(work, split), statement.keys, keys, strict=True):
        _check(declared, sort, values)
    if split is not None and None in keys[-1]:
        raise ValueError("a split that should have been dropped")
    groups = tuple(zip(*keys, strict=True)) if keys else ((),) * rows
    if len(set(groups)) != rows:
        raise ValueError("a group came twice")
    return Exact(groups, numbers)


def _declared(work: AnyWork, split: WorkKey | None) -> tuple[WorkKey, ...]:
    return work.keys if split is None else (*work.keys, split)


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


def _check(declared: WorkKey, sort: Sort, values: list[Any]) -> None:
    """Keys are of the kind that was asked for, and among those that were listed."""
    if {type(value) for value in values} - {_TYPES.get(sort), type(None)}:
        raise TypeError("a key of another kind")
    if declared.allowed is not None and not set(values) <= set(declared.allowed):
        raise ValueError("a key that nobody asked for")
