"""Arrow tables as tables of a PostgreSQL database, value by value, also what no Python object can hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from itertools import count
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa

_NAMES = count()
_SIMPLE = {
    pa.int8(): "smallint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.uint64(): "numeric(20, 0)",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.string(): "text",
    pa.large_string(): "varchar",
}
LOOSE = (
    "CREATE COLLATION IF NOT EXISTS \"any case\" (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
)
"""Under this one é, E and e are equal: ours must not care."""
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_FIRST, _LAST = np.datetime64("-4700-01-01", "us"), np.datetime64("294000-01-01", "us")


def sql_type(kind: pa.DataType) -> str:
    """The type of a column; coded text is stored under the loose collation."""
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamptz" if kind.tz else "timestamp"
    if pa.types.is_dictionary(kind):
        return 'text COLLATE "any case"'
    if pa.types.is_time(kind):
        return "time"
    if pa.types.is_list(kind):
        return f"{sql_type(kind.value_type)}[]"
    return _SIMPLE[kind]


def load(dsn: str, table: pa.Table, *, name: str | None = None, schema: str = "public") -> str:
    """A new table with these rows; its name."""
    name = name or f"t{next(_NAMES)}"
    columns = ", ".join(f'"{field.name}" {sql_type(field.type)}' for field in table.schema)
    with psycopg.connect(dsn) as connection:
        connection.execute(LOOSE)
        connection.execute(f'CREATE UNLOGGED TABLE "{schema}"."{name}" ({columns})'.encode())
        fill(connection, f'"{schema}"."{name}"', table)
    return f"{schema}.{name}"


def fill(connection: psycopg.Connection[Any], name: str, table: pa.Table) -> None:
    """Add the rows to a table that is there."""
    with connection.cursor().copy(f"COPY {name} FROM STDIN".encode()) as copy:
        for row in zip(*(_texts(column) for column in table.columns), strict=True):
            copy.write_row(row)


def _texts(column: pa.ChunkedArray) -> Iterator[str | None]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _texts(column.cast(kind.value_type))
    if pa.types.is_timestamp(kind):  # PostgreSQL has microseconds, and ours are rounded down
        whole = (x if x is None else x * 10**6 // _PER_SECOND[kind.unit] for x in column.cast(pa.int64()).to_pylist())
        return (None if x is None else _moment(x, kind.tz is not None) for x in whole)
    if pa.types.is_date32(kind):
        days = column.cast(pa.int32()).to_pylist()
        return (None if x is None else _moment(x * 86_400_000_000, False) for x in days)
    return (None if x is None else _text(x) for x in column.to_pylist())


def _text(x: Any) -> str:
    if isinstance(x, list):
        quoted = ("NULL" if one is None else json.dumps(_text(one), ensure_ascii=False) for one in x)
        return f"{{{','.join(quoted)}}}"
    return format(x, "f") if isinstance(x, Decimal) else str(x)


def _moment(micros: int, zoned: bool) -> str:
    """A moment as PostgreSQL writes it; what it cannot hold is infinitely far away."""
    if not -(2**63) < micros < 2**63 or not _FIRST < np.datetime64(micros, "us") < _LAST:
        return "infinity" if micros > 0 else "-infinity"
    text = str(np.datetime64(micros, "us"))
    zone = "+00" if zoned else ""
    if text[0] != "-" and text[:4] != "0000":
        return text + zone
    year, _, rest = text.lstrip("-").partition("-")
    return f"{int(year) + 1:04}-{rest}{zone} BC"
