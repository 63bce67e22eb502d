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
from discreet.engines.sql.grouping_sets import arrow_places, coded, listed_places, read_sets, used_keys
from discreet.engines.sql.results import checked, distinct
from discreet.query.plan.work import AnyWork, Cells, Exact, GroupingSets, UnitSums, Work

_SENT = {Sort.DATE: "({0} - DATE '1970-01-01')", Sort.TIMESTAMP: "epoch_us({0})"}


def fetch(work: AnyWork, statement: Statement, cursor: driver.DuckDBPyConnection) -> Exact:
    """Run the statement; its keys and numbers."""
    columns = [f"{_SENT.get(sort, '{0}').format(name)} AS {name}" for name, sort in statement.keys]
    columns += _cells(statement)
    arrays = cursor.execute(f"SELECT {', '.join(columns)} FROM (\n{statement.sql}) AS t").fetchnumpy()
    rows = len(arrays["n0"])
    numbers = tuple(_numbers(arrays[f"n{i}"], arrays[f"t{i}"]) for i in range(statement.cells))
    keys = [_key(arrays[name], sort) for name, sort in statement.keys]
    return checked(work, statement, keys, numbers, rows)


def fetch_sets(work: GroupingSets, statement: Statement, cursor: driver.DuckDBPyConnection) -> tuple[Cells, ...]:
    """Run the statement of many sets; the numbers of each."""
    columns = [*(name for name, _ in statement.keys), "CAST(n0 AS BIGINT) AS n0"]
    table = cursor.sql(f"SELECT {', '.join(columns)} FROM (\n{statement.sql}) AS t").to_arrow_table()
    keys = [arrow_places(table.column(f"k{i}"), work.keys[i].allowed or ()) for i in used_keys(work)]
    return read_sets(work, keys, table.column("n0").to_numpy())


def fetch_by_unit(work: Work, statement: Statement, cursor: driver.DuckDBPyConnection) -> UnitSums:
    """Run a statement whose last key is the unit; places of the other keys, and which unit each row is of."""
    *keys, (unit, sort) = statement.keys
    if sort not in (Sort.INTEGER, Sort.TEXT):
        raise TypeError("units of another kind")
    columns = [*(name for name, _ in statement.keys), *_cells(statement)]
    table = cursor.sql(f"SELECT {', '.join(columns)} FROM (\n{statement.sql}) AS t").to_arrow_table()
    places = np.zeros(table.num_rows, dtype=np.int64)
    for (name, _), key in zip(keys, work.keys, strict=False):
        places = places * len(key.allowed or ()) + listed_places(table.column(name), key.allowed or ())
    units, whose = coded(table.column(unit))
    if distinct(places * max(len(whose), 1) + units) != len(places):
        raise ValueError("a group came twice")
    return UnitSums(places, units, whose, tuple(_exact(table, i) for i in range(statement.cells)))


def _cells(statement: Statement) -> list[str]:
    """Each number as 64 bits, and as text where it does not fit."""
    selected = []
    for i in range(statement.cells):
        selected.append(f"TRY_CAST(n{i} AS BIGINT) AS n{i}")
        selected.append(f"CASE WHEN TRY_CAST(n{i} AS BIGINT) IS NULL THEN CAST(n{i} AS VARCHAR) END AS t{i}")
    return selected


def _exact(table: Any, i: int) -> NDArray[Any]:
    short = table.column(f"n{i}")
    if not short.null_count:
        return np.asarray(short.to_numpy(), dtype=np.int64)
    mixed = zip(short.to_pylist(), table.column(f"t{i}").to_pylist(), strict=True)
    return np.array([int(text) if number is None else number for number, text in mixed], dtype=object)


def _numbers(short: NDArray[Any], long: NDArray[Any]) -> NDArray[Any]:
    if not np.ma.is_masked(short):
        plain = np.ma.getdata(short)
        if plain.dtype != np.int64:
            raise TypeError("not integers")
        return plain
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
