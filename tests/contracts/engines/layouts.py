"""The same rows, stored in other ways: in another order, in pieces, in one file or many, in other frames."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb.prepared import prepare
from discreet.engines.sources import DatabaseTable


def shuffled(table: pa.Table, seed: int) -> pa.Table:
    order = list(range(table.num_rows))
    random.Random(seed).shuffle(order)
    return table.take(pa.array(order, pa.int64()))


def pieces(table: pa.Table, rows: int) -> list[pa.Table]:
    """Parts of so many rows, at least one."""
    return [table.slice(start, rows) for start in range(0, max(table.num_rows, 1), rows)]


def parquet_loader(request: pytest.FixtureRequest) -> Callable[[str, pa.Table], str]:
    """Tables as Parquet, a few rows in each group: what the statistics of a group say must not matter."""
    folder: Path = request.getfixturevalue("tmp_path_factory").mktemp("parquet")
    numbers = count()

    def load(name: str, table: pa.Table) -> str:
        path = folder / f"{name}-{next(numbers)}.parquet"
        pq.write_table(table, path, row_group_size=3, use_dictionary=False)
        return str(path)

    return load


def prepared_loader(request: pytest.FixtureRequest) -> Callable[[str, pa.Table], DatabaseTable]:
    """Tables as prepared copies of Parquet files."""
    written = parquet_loader(request)

    def load(name: str, table: pa.Table) -> DatabaseTable:
        source = written(name, table)
        unit = "id" if "id" in table.column_names else None
        return prepare(source, Path(source).with_suffix(".duckdb"), unit=unit)

    return load


def plain_layouts(table: pa.Table, _folder: Path) -> dict[str, Any]:
    """In memory: other orders and other containers."""
    return {
        "reversed": table.take(pa.array(range(table.num_rows - 1, -1, -1), pa.int64())),
        "shuffled": shuffled(table, 1),
        "in pieces": pa.concat_tables(pieces(table, 7)),
        "list of dicts": table.to_pylist(),
        "dict of lists": shuffled(table, 2).to_pydict(),
    }


def duckdb_layouts(table: pa.Table, folder: Path) -> dict[str, Any]:
    """Frames, Parquet in one file and many, with few rows in each group, and a table of a DuckDB file."""
    pq.write_table(table, folder / "one.parquet")
    pq.write_table(shuffled(table, 3), folder / "small groups.parquet", row_group_size=3, use_dictionary=False)
    many = folder / "many"
    many.mkdir()
    for n, piece in enumerate(pieces(shuffled(table, 4), 11)):
        pq.write_table(piece, many / f"part-{n}.parquet", compression="zstd" if n % 2 else "none")
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.register("given", shuffled(table, 5))
        connection.execute("CREATE TABLE rows AS SELECT * FROM given")
        loose = [f"{c.name} VARCHAR COLLATE NOCASE.NOACCENT" for c in table.schema if pa.types.is_string(c.type)]
        connection.execute("CREATE TABLE loose AS SELECT * FROM given LIMIT 0")
        for column in loose:
            connection.execute(f"ALTER TABLE loose ALTER {column.replace(' VARCHAR', ' TYPE VARCHAR')}")
        connection.execute("INSERT INTO loose SELECT * FROM given")
    found = plain_layouts(table, folder)
    del found["list of dicts"], found["dict of lists"]  # their types follow from their values: not the same table
    return found | {
        "one file": folder / "one.parquet",
        "small row groups": str(folder / "small groups.parquet"),
        "a folder": many,
        "a glob": str(many / "*.parquet"),
        "a list of files": sorted(map(str, many.iterdir()), reverse=True),
        "a database": f"{folder / 'shop.duckdb'}::rows",
        "a database where A is a": f"{folder / 'shop.duckdb'}::loose",
        "polars": pl.from_arrow(table),
    }
