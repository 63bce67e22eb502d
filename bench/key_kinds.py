"""GROUP BY keys of every kind over sources of every kind, at 1e4, 1e5 and 1e6 rows: time must grow with the rows.

.venv-bench/bin/python -m bench.key_kinds

The peer is the same question at a tenth of the rows: ten times the time is a ratio of 1. Half of that is still met,
since hash tables leave the caches of the processor.
"""

from __future__ import annotations

import tempfile
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp
from bench.measure import Row, cpu_seconds, show
from discreet.session.query import Query

SIZES = (10_000, 100_000, 1_000_000)
KINDS = {
    "no key": "",
    "listed text": "place",
    "unlisted text": "note",
    "integer": "age",
    "listed integers with gaps": "code",
    "truth": "paid",
    "day": "day",
    "DATE_TRUNC month of a day": "DATE_TRUNC('month', day)",
    "DATE_TRUNC day of a moment": "DATE_TRUNC('day', at)",
    "hour of a moment": "HOUR(at)",
    "day and text": "day, place",
}
SOURCES = ("Parquet", "Arrow", "database", "joined Parquet", "union of Parquet")
PLACES = [f"place {n}" for n in range(50)]
TARGET = 0.5


def rows(size: int) -> pa.Table:
    """Made-up visits: about ten of each person."""
    dice = np.random.default_rng(size)
    days = np.datetime64("2024-01-01") + dice.integers(0, 366, size)
    return pa.table(
        {
            "who": dice.integers(0, size // 10, size),
            "place": np.array(PLACES)[dice.integers(0, len(PLACES), size)],
            "note": np.array([f"note {n}" for n in range(300)])[dice.integers(0, 300, size)],
            "age": dice.integers(0, 100, size),
            "code": dice.integers(0, 100, size) * 7,
            "paid": dice.integers(0, 2, size).astype(bool),
            "day": days.astype("datetime64[D]"),
            "at": days.astype("datetime64[us]") + dice.integers(0, 86_400 * 10**6, size),
        }
    )


def stored(kind: str, table: pa.Table, folder: Path) -> Any:
    path = folder / f"{table.num_rows}.parquet"
    if not path.exists():
        pq.write_table(table, path)
    if kind == "Arrow":
        return table
    if kind != "database":
        return str(path)
    file = folder / f"{table.num_rows}.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(f"CREATE TABLE IF NOT EXISTS visits AS SELECT * FROM read_parquet('{path}')")
    return f"{file}::visits"


def asked(kind: str, source: Any, key: str) -> Query:
    """The question about a session of its own."""
    columns: dict[str, Any] = {
        "place": dp.keys(PLACES),
        "note": dp.unknown_keys(),
        "age": dp.bounds(0, 99),
        "code": dp.keys([7 * n for n in range(100)]),
        "day": dp.bounds(date(2024, 1, 1), date(2024, 12, 31)),
        "at": dp.bounds(datetime(2024, 1, 1), datetime(2024, 12, 31) + timedelta(hours=23)),
    }
    zones = pa.table({"place": PLACES, "zone": ["a", "b"] * 25})
    session = dp.Session(
        visits=dp.table(source, unit="who", columns=columns, max_rows=20),
        zones=dp.table(zones, public=True),
        budget=dp.Approx(10**9, "1e-3"),
        engine=dp.engines.duckdb(threads=1),
    )
    table = {
        "joined Parquet": "visits JOIN zones USING (place)",
        "union of Parquet": "(SELECT * FROM visits WHERE paid UNION ALL SELECT * FROM visits WHERE NOT paid) AS both",
    }.get(kind, "visits")
    numbered = ", ".join(f"{part} AS k{n}" for n, part in enumerate(split(key)))
    by = ", ".join(str(n + 1) for n in range(len(split(key))))
    return session.sql(
        f"SELECT {numbered}, COUNT(*) AS n FROM {table} GROUP BY {by}" if key else f"SELECT COUNT(*) AS n FROM {table}"
    )


def split(key: str) -> list[str]:
    return [key] if "(" in key else key.split(", ")


def main() -> None:
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = {size: rows(size) for size in SIZES}
        for source in SOURCES:
            for label, key in KINDS.items():
                times = []
                for table in tables.values():
                    query = asked(source, stored(source, table, folder), key)
                    times.append(cpu_seconds(partial(query.release, epsilon=1), repeats=1))
                ours = " / ".join(f"{1000 * seconds:,.0f} ms" for seconds in times)
                found.append(Row(f"{label}, {source}", ours, "a tenth", "", 10 * times[1] / times[2], TARGET))
    show("GROUP BY at 1e4 / 1e5 / 1e6 rows", found)


if __name__ == "__main__":
    main()
