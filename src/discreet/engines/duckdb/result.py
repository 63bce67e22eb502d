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


def fetch_by_unit(work: Work, statement: Statement, cursor: driver.DuckDBPyConnection) -> UnitSums:
    """Run a statement whose last key is the unit; places of the other keys, and which unit each row is of."""
    *keys, (unit, sort) = statement.keys
    if sort not in (Sort.INTEGER, Sort.TEXT):
        raise TypeError("units of another kind")
    columns = [*(name for name, _ in statement.keys), *_cells(statement)]
    found = cursor.sql(f"SELECT {', '.join(columns)} FROM (\n{statement.sql}) AS t").to_arrow_table()
    places = np.zeros(found.num_rows, dtype=np.int64)
    for (name, _), key in zip(keys, work.keys, strict=False):
        places = places * len(key.allowed or ()) + listed_places(found.column(name), key.allowed or ())
    units, whose = coded(found.column(unit))
    if distinct(places * max(len(whose), 1) + units) != len(places):
        raise ValueError("a group came twice")
    return UnitSums(places, units, whose, tuple(_exact(found, i) for i in range(statement.cells)))


def _cells(statement: Statement) -> list[str]:
    """Each number as 64 bits, and as text where it does not fit."""
    found = []
    for i in range(statement.cells):
        found.append(f"TRY_CAST(n{i} AS BIGINT) AS n{i}")
        found.append(f"CASE WHEN TRY_CAST(n{i} AS BIGINT) IS NULL THEN CAST(n{i} AS VARCHAR) END AS t{i}")
    return found


def _exact(found: Any, i: int) -> NDArray[Any]:
    short = found.column(f"n{i}")
    if not short.null_count:
        return np.asarray(short.to_numpy(), dtype=np.int64)
    mixed = zip(short.to_pylist(), found.column(f"t{i}").to_pylist(), strict=True)
    return np.array([int(text) if number is None else number for number, text in mixed], dtype=object)


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
