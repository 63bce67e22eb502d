"""Every kind of source is opened, described and read; what cannot be opened is refused before anything is spent."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb as driver
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb.engine import duckdb
from discreet.engines.sources import duckdb_table, open_source
from discreet.errors import BadData, BadParameter
from discreet.query.plan.schema import StoredKind
from tests.helpers.source_rows import kinds, rows

ROWS = pa.table(
    {
        "u": pa.array([1, 1, 2, 3, None], pa.int64()),
        "g": pa.array(["a", "b", "a", None, "b"], pa.string()),
        "x": pa.array([1.5, -0.25, float("nan"), 4.0, 5.0], pa.float64()),
        "d": pa.array([date(2024, 2, 29), None, date(1, 1, 1), date(9999, 12, 31), date(2024, 1, 1)], pa.date32()),
        "b": pa.array([True, False, None, True, True], pa.bool_()),
    }
)


RIGHT = sorted(
    [
        ("a", 6, date(2024, 2, 29), True),
        ("b", -1, None, False),
        ("a", None, date(1, 1, 1), None),
        (None, 16, date(9999, 12, 31), True),
    ],
    key=repr,
)


KINDS = {
    "u": StoredKind.INTEGER,
    "g": StoredKind.TEXT,
    "x": StoredKind.REAL,
    "d": StoredKind.DATE,
    "b": StoredKind.BOOLEAN,
}

# --- memory -----------------------------------------------------------------------------------------------------------

FRAMES: dict[str, Callable[[], Any]] = {
    "an Arrow table": lambda: ROWS,
    "a record batch": lambda: ROWS.combine_chunks().to_batches()[0],
    "a reader": ROWS.to_reader,
    "a dataset": lambda: pyarrow.dataset.dataset(ROWS),
    "a Polars frame": lambda: pl.from_arrow(ROWS),
    "a lazy Polars frame": lambda: pl.DataFrame(ROWS).lazy(),
    "pandas with Arrow types": lambda: ROWS.to_pandas(types_mapper=pd.ArrowDtype),
    "a dict of columns": ROWS.to_pydict,
    "a dict of Arrow columns": lambda: {name: ROWS.column(name) for name in ROWS.column_names},
    "a list of dicts": ROWS.to_pylist,
}


@pytest.mark.slow
@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_a_frame_is_read(make: Callable[[], Any]) -> None:
    source = make()
    assert kinds(source if not hasattr(source, "read_all") else make()) == KINDS
    assert rows(source) == RIGHT


def test_a_plain_pandas_frame_is_read() -> None:
    frame = pd.DataFrame({"u": [1, 2], "g": ["a", None], "n": np.array([3, 4], dtype=np.uint8)}, index=[7, 9])
    assert rows(frame) == [("a", 3), (None, 4)]


def test_a_relation_of_duckdb_is_read() -> None:
    with driver.connect() as connection:
        connection.register("given", ROWS)
        assert rows(connection.sql("SELECT * FROM given")) == RIGHT


def test_a_dict_with_a_column_of_two_types_is_refused_without_its_values() -> None:
    with pytest.raises(BadData) as refused:
        open_source({"u": [1, 2], "g": ["secret", 5]})
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("source", [7, None, object(), [1, 2], [], {"a": [1], "b": [1, 2]}, b"x.parquet"])
def test_what_is_no_source_is_refused(source: Any) -> None:
    with pytest.raises(BadData):
        duckdb(threads=1).columns(source)


@pytest.mark.parametrize("names", [["a", "a"], ["a", "A"]])
def test_two_columns_of_one_name_are_refused(names: list[str]) -> None:
    with pytest.raises(BadData, match="different names"):
        open_source(pa.table([pa.array([1]), pa.array([2])], names=names))


def test_a_column_of_another_kind_is_there_and_of_no_use() -> None:
    table = pa.table({"u": [1], "l": [[1, 2]], "z": pa.nulls(1), "bytes": pa.array([b"x"]), "n": [5]})
    assert {name for name, kind in kinds(table).items() if kind is StoredKind.OTHER} == {"l", "z", "bytes"}
    assert rows(table, "n") == [(5,)]


def test_a_type_that_duckdb_cannot_scan_does_not_block_the_columns_beside_it() -> None:
    wide = pa.array([Decimal("1.5")], pa.decimal256(60, 2))
    table = pa.table({"u": [1], "h": pa.array([1.5]).cast(pa.float16()), "d": wide, "l": pa.array([[wide[0]]])})
    found = duckdb(threads=1).columns(table)
    assert found["u"].kind is StoredKind.INTEGER
    assert {name: found[name].type for name in "hdl"} == {
        "h": "halffloat",
        "d": "decimal256(60, 2)",
        "l": "list<item: decimal256(60, 2)>",
    }
    assert all(found[name].kind is StoredKind.OTHER for name in "hdl")


def test_a_column_of_pandas_that_arrow_cannot_hold_does_not_block_the_columns_beside_it() -> None:
    frame = pd.DataFrame(
        {"u": [1, 2], "c": [1j, 2j], "m": ["secret", 5], "b": [10**30, 1], "n": [5, 6], "t": ["x", None]}
    )
    found = duckdb(threads=1).columns(frame)
    assert {name: one.type for name, one in found.items() if one.kind is StoredKind.OTHER} == {
        "c": "complex128",
        "m": "object",
        "b": "object",
    }
    assert rows(frame, "n", "t") == [(5, "x"), (6, None)]
    with pytest.raises(BadData, match="different names"):
        open_source(pd.DataFrame([[1j, 1]], columns=["a", "a"]))


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two Parquet files with the rows, and things that are no data beside them."""
    parts = tmp_path / "parts"
    (parts / "more").mkdir(parents=True)
    pq.write_table(ROWS.slice(0, 2), parts / "1.parquet")
    pq.write_table(ROWS.slice(2), parts / "more" / "2.PARQUET")
    (parts / "_SUCCESS").touch()
    (parts / ".hidden.parquet").write_text("not Parquet")
    (parts / "readme.md").write_text("not data")
    return parts


@pytest.mark.slow
def test_parquet_files_are_read(folder: Path) -> None:
    assert rows(folder) == rows(str(folder)) == RIGHT
    assert rows([folder / "1.parquet", str(folder / "more" / "2.PARQUET")]) == RIGHT
    assert rows(f"{folder}/*.parquet") == rows(folder / "1.parquet") == rows(ROWS.slice(0, 2))
    assert rows(f"{folder}/**/[12].*") == RIGHT


def test_a_file_that_appears_later_is_part_of_the_table(folder: Path) -> None:
    engine = duckdb(threads=1)
    before = engine.columns(folder)
    pq.write_table(pa.table({"u": ["other"], "more": [1]}), folder / "3.parquet")
    assert engine.columns(folder).keys() == {*before, "more"}


@pytest.mark.slow
def test_folders_named_for_values_are_columns(tmp_path: Path) -> None:
    for year, rows_ in (("2023", ROWS.slice(0, 1)), ("2024", ROWS.slice(1))):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(rows_, tmp_path / f"year={year}" / "x.parquet")
    assert rows(tmp_path, "year") == [(2023,), (2024,), (2024,), (2024,)]
    assert "year" not in kinds(tmp_path / "year=2023" / "x.parquet")


@pytest.mark.slow
def test_files_with_other_types_or_columns_get_what_holds_all(tmp_path: Path) -> None:
    pq.write_table(pa.table({"u": pa.array([1], pa.int32()), "n": pa.array([7], pa.int8())}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"n": pa.array(["x"]), "u": pa.array([1 << 40], pa.int64())}), tmp_path / "2.parquet")
    pq.write_table(pa.table({"u": pa.array([3], pa.int64())}), tmp_path / "3.parquet")
    assert kinds(tmp_path) == {"u": StoredKind.INTEGER, "n": StoredKind.TEXT}
    assert rows(tmp_path, "n") == [("7",), ("x",), (None,)]


@pytest.mark.slow
def test_a_duckdb_table_is_read(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with driver.connect(str(path)) as connection:
        connection.register("given", ROWS)
        connection.execute('CREATE TABLE rows AS SELECT * FROM given; CREATE SCHEMA "odd;"')
        connection.execute('CREATE VIEW "odd;"."it""s" AS SELECT * FROM main.rows')
    assert rows(f"{path}::rows") == RIGHT
    assert rows(duckdb_table(path, 'it"s', schema="odd;")) == RIGHT
    for wrong in ("nothing", 'rows"; DROP TABLE rows; --', "odd;.it"):
        with pytest.raises(BadData):
            duckdb(threads=1).columns(f"{path}::{wrong}")


@pytest.mark.slow
def test_a_database_that_is_open_for_writing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with driver.connect(str(path)) as connection:
        connection.execute("CREATE TABLE rows AS SELECT 1 AS u")
        with pytest.raises(BadData):
            duckdb(threads=1).columns(f"{path}::rows")
        assert rows(connection.table("rows"), "u") == [(1,)]


@pytest.mark.parametrize(
    "name", ["it's.parquet", 'a"b.parquet', "x; DROP TABLE t.parquet", "é 日本.parquet", "a=b.parquet"]
)
def test_a_file_of_any_name_is_read(tmp_path: Path, name: str) -> None:
    pq.write_table(ROWS, tmp_path / name)
    assert rows(tmp_path / name) == RIGHT


NAMES = ['a"b', "it's", "x; DROP TABLE t; --", "select", " ", "c0", "x0_0", "k0", "t", "é", "日本", "a\nb", "{0}"]


@pytest.mark.slow
@pytest.mark.parametrize("stored", ["memory", "parquet", "duckdb"])
def test_columns_of_any_name_are_read(tmp_path: Path, stored: str) -> None:
    table = pa.table({"u": [1, 2]} | {name: [i, i + 100] for i, name in enumerate(NAMES)})
    source: Any = table
    if stored == "parquet":
        source = tmp_path / "x.parquet"
        pq.write_table(table, source)
    if stored == "duckdb":
        source = f"{tmp_path}/x.duckdb::rows"
        with driver.connect(f"{tmp_path}/x.duckdb") as connection:
            connection.register("given", table)
            connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    names = table.column_names[1:]
    assert rows(source, *names) == [tuple(column[i] for column in table.to_pydict().values())[1:] for i in range(2)]


@pytest.mark.slow
def test_a_wrong_path_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 this is no Parquet file PAR1")
    (tmp_path / "data.xlsx").touch()
    (tmp_path / "mixed").mkdir()
    pq.write_table(ROWS, tmp_path / "mixed" / "a.parquet")
    (tmp_path / "mixed" / "b.csv").write_text("u\n1\n")
    pq.write_table(ROWS, tmp_path / "what[1].parquet")
    wrong = ["nowhere.parquet", "empty", "broken.parquet", "data.xlsx", "*.nothing", "mixed", "nowhere.duckdb::t", ""]
    for name in wrong:
        with pytest.raises(BadData):
            duckdb(threads=1).columns(str(tmp_path / name) if name else "")
    for remote in ("https://example.org/a.parquet", "s3://bucket/a.parquet"):
        with pytest.raises(BadData, match="remote"):
            duckdb(threads=1).columns(remote)
    for server in ("postgresql://db.example/clinic::visits", "postgres://db.example/clinic"):
        with pytest.raises(BadData, match=r"engine=dp\.engines\.postgres"):
            duckdb(threads=1).columns(server)
    with pytest.raises(BadData, match="rename"):
        duckdb(threads=1).columns(str(tmp_path / "what[1].parquet"))
    with pytest.raises(BadData, match="once"):
        duckdb(threads=1).columns(
            [tmp_path / "mixed" / "a.parquet", str(tmp_path / "mixed" / ".." / "mixed" / "a.parquet")]
        )
    with pytest.raises(BadData):
        duckdb(threads=1).columns([tmp_path / "mixed" / "a.parquet", ROWS])
    with pytest.raises(BadParameter):
        duckdb_table(tmp_path / "data.xlsx", "")


def test_a_source_that_failed_can_be_opened_when_it_is_there(tmp_path: Path) -> None:
    engine = duckdb(threads=1)
    with pytest.raises(BadData):
        engine.columns(tmp_path / "x.parquet")
    pq.write_table(ROWS, tmp_path / "x.parquet")
    assert engine.columns(tmp_path / "x.parquet")


def test_a_lazy_frame_that_cannot_be_collected_is_not_said_to_hold_odd_columns(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("u,x\n" + "1,2\n" * 200 + "1,n/a\n")
    lazy = pl.scan_csv(tmp_path / "odd.csv")
    with pytest.raises(BadData, match="cannot be collected") as refused:
        duckdb().columns(lazy)
    assert "n/a" not in str(refused.value)
