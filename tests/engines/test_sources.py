"""Every kind of source is opened, described and read; what cannot be opened is refused before anything is spent."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import date, datetime
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
from discreet.engines.memory.source import rows as memory_rows
from discreet.engines.sources import duckdb_table, open_source
from discreet.errors import BadData, BadParameter
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Project, Scan
from discreet.query.plan.schema import Schema, Stored, StoredKind, Table
from discreet.query.plan.work import Form, RowSum, Weights, Work, WorkKey

ROWS = pa.table(
    {
        "u": pa.array([1, 1, 2, 3, None], pa.int64()),
        "g": pa.array(["a", "b", "a", None, "b"], pa.string()),
        "x": pa.array([1.5, -0.25, float("nan"), 4.0, 5.0], pa.float64()),
        "d": pa.array([date(2024, 2, 29), None, date(1, 1, 1), date(9999, 12, 31), date(2024, 1, 1)], pa.date32()),
        "b": pa.array([True, False, None, True, True], pa.bool_()),
    }
)
READS: dict[StoredKind, Callable[[str], Expression]] = {
    StoredKind.INTEGER: lambda name: Call("read_integer", (Column(name), Literal(-(1 << 62)), Literal(1 << 62))),
    StoredKind.REAL: lambda name: Call("read_real", (Column(name), Literal(-2), Literal(-1000), Literal(1000))),
    StoredKind.DECIMAL: lambda name: Call("read_decimal", (Column(name), Literal(2), Literal(-1000), Literal(1000))),
    StoredKind.TEXT: lambda name: Call("read_text", (Column(name),)),
    StoredKind.DATE: lambda name: Call("read_date", (Column(name),)),
    StoredKind.TIMESTAMP: lambda name: Call("read_timestamp", (Column(name),)),
    StoredKind.BOOLEAN: lambda name: Call("read_boolean", (Column(name),)),
}


def rows(source: Any, *names: str, unit: str = "u") -> list[tuple[Any, ...]]:
    """All rows that have a unit, as the engine reads them."""
    engine = duckdb(threads=1)
    stored = engine.columns(source)
    names = names or tuple(name for name in stored if name != unit and stored[name].kind in READS)
    columns = [("__unit", Column(unit)), *((name, READS[stored[name].kind](name)) for name in names)]
    work = Work(
        source=Project(Scan("t"), tuple(columns)),
        unit="__unit",
        keys=tuple(WorkKey(name, Column(name), None) for name in names),
        cells=(RowSum(Literal(1)),),
        weights=Weights(form=Form.ROWS, cap=1 << 16, scale=1),
    )
    schema = Schema(table=Table(source=source, unit=unit), stored=stored, fields={})
    (exact,) = engine.run([work], {"t": schema})
    found = [key for key, n in zip(exact.keys, exact.numbers[0].tolist(), strict=True) for _ in range(n)]
    return sorted(found, key=repr)


RIGHT = sorted(
    [
        ("a", 6, date(2024, 2, 29), True),
        ("b", -1, None, False),
        ("a", None, date(1, 1, 1), None),
        (None, 16, date(9999, 12, 31), True),
    ],
    key=repr,
)


def kinds(source: Any) -> dict[str, StoredKind]:
    return {name: stored.kind for name, stored in duckdb(threads=1).columns(source).items()}


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


def test_a_frame_with_a_column_of_two_types_is_refused_without_its_values() -> None:
    with pytest.raises(BadData) as refused:
        open_source(pd.DataFrame({"u": [1, 2], "g": pd.Series(["secret", 5], dtype=object)}))
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


def test_a_type_that_duckdb_cannot_scan_is_refused() -> None:
    with pytest.raises(BadData):
        duckdb(threads=1).columns(pa.table({"u": pa.array([1.5]).cast(pa.float16())}))


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


def test_parquet_files_are_read(folder: Path) -> None:
    assert rows(folder) == rows(str(folder)) == RIGHT
    assert rows([folder / "1.parquet", str(folder / "more" / "2.PARQUET")]) == RIGHT
    assert rows(f"{folder}/*.parquet") == rows(folder / "1.parquet") == rows(ROWS.slice(0, 2))
    assert rows(f"{folder}/**/[12].*") == RIGHT


def test_a_file_that_appears_later_is_not_part_of_the_table(folder: Path) -> None:
    engine = duckdb(threads=1)
    before = engine.columns(folder)
    pq.write_table(pa.table({"u": ["other"]}), folder / "3.parquet")
    assert engine.columns(folder) == before


def test_folders_named_for_values_are_columns(tmp_path: Path) -> None:
    for year, rows_ in (("2023", ROWS.slice(0, 1)), ("2024", ROWS.slice(1))):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(rows_, tmp_path / f"year={year}" / "x.parquet")
    assert rows(tmp_path, "year") == [(2023,), (2024,), (2024,), (2024,)]
    assert "year" not in kinds(tmp_path / "year=2023" / "x.parquet")


def test_files_with_other_types_or_columns_get_what_holds_all(tmp_path: Path) -> None:
    pq.write_table(pa.table({"u": pa.array([1], pa.int32()), "n": pa.array([7], pa.int8())}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"n": pa.array(["x"]), "u": pa.array([1 << 40], pa.int64())}), tmp_path / "2.parquet")
    pq.write_table(pa.table({"u": pa.array([3], pa.int64())}), tmp_path / "3.parquet")
    assert kinds(tmp_path) == {"u": StoredKind.INTEGER, "n": StoredKind.TEXT}
    assert rows(tmp_path, "n") == [("7",), ("x",), (None,)]


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


# --- stored types ---------------------------------------------------------------------------------------------------


def test_stored_types() -> None:
    with driver.connect() as connection:
        relation = connection.sql(
            "SELECT 1::TINYINT AS a, 1::UBIGINT AS b, 1::HUGEINT AS c, 1.5::DECIMAL(10, 2) AS d, "
            "1::DECIMAL(38, 30) AS e, 1::FLOAT AS f, 'x'::ENUM('x') AS g, "
            "TIMESTAMP_NS '1969-12-31 23:59:59.999999999' AS h, "
            "TIMESTAMPTZ '2024-01-01 01:00:00+01' AS i, TIMESTAMP_S '2024-01-01 00:00:00' AS j, TIME '10:00' AS k, "
            "'7d444840-9dc0-11d1-b245-5ffdce74fad2'::UUID AS l"
        )
        stored = duckdb(threads=1).columns(relation)
    assert stored["d"] == Stored(StoredKind.DECIMAL, 2)
    assert [stored[name].kind.value for name in "abcefghijk"] == [
        "integer", "integer", "decimal", "other", "real", "text", "timestamp", "timestamp", "timestamp", "other",
    ]  # fmt: skip


def test_a_database_with_every_type_is_read(tmp_path: Path) -> None:
    path = tmp_path / "types.duckdb"
    with driver.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT '7d444840-9dc0-11d1-b245-5ffdce74fad2'::UUID AS u, 'x'::ENUM('y', 'x') AS g, "
            "TIMESTAMP_NS '1969-12-31 23:59:59.999999999' AS h, TIMESTAMPTZ '2024-01-01 01:00:00+01' AS i, "
            "'infinity'::TIMESTAMP_S AS j, '-infinity'::DATE AS k, 1.57::DECIMAL(4, 2) AS d, "
            "170141183460469231731687303715884105727::HUGEINT AS n"
        )
    assert rows(f"{path}::t", *"ghijkdn") == [
        (
            "x",
            datetime(1969, 12, 31, 23, 59, 59, 999999),
            datetime(2024, 1, 1),
            datetime.max,
            date.min,
            157,
            1 << 62,
        )
    ]


def test_a_wide_decimal_is_exact() -> None:
    cents = [
        Decimal("10.00"),
        Decimal("-10.00"),
        Decimal("9.99"),
        Decimal("99999999999999999999999999999999999.99"),
        None,
    ]
    table = pa.table({"u": range(5), "d": pa.array(cents, pa.decimal128(38, 2))})
    assert rows(table) == sorted([(1000,), (-1000,), (999,), (1000,), (None,)], key=repr)


# --- values that DuckDB itself cannot read ----------------------------------------------------------------------------

FAR = (2**62, -(2**62), 2**63 - 1, 2**63 - 2, -(2**63), 1 - 2**63, 2 - 2**63, -9223372022400000001)
BROKEN = (b"\xff\xfe", b"a\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"ab\xe2\x82", b"\x80" * 30)


def moments(unit: str, zone: str | None, *values: int) -> pa.Table:
    numbers = pa.array([1_704_412_800, *values], pa.int64())
    return pa.table({"u": range(len(numbers)), "v": numbers.view(pa.timestamp(unit, zone))})


def broken_text() -> pa.Table:
    raw = pa.array([b"ab", *BROKEN, None], pa.binary())
    return pa.table({"u": range(len(raw)), "v": pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())})


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Kolkata"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_no_moment_of_a_frame_makes_a_question_fail(unit: str, zone: str | None) -> None:
    """They are those of plain Python: the nearest of the years 1 to 9999."""
    for value in FAR:
        table = moments(unit, zone, value)
        if unit in {"s", "ms"}:
            assert rows(table) == sorted([(row["v"],) for row in memory_rows(table)], key=repr)
        else:
            assert len(rows(table)) == 2  # two values of 64 bits are the infinities of DuckDB


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Kolkata"])
@pytest.mark.parametrize("unit", ["us", "ns"])
def test_no_moment_of_a_parquet_file_makes_a_question_fail(tmp_path: Path, unit: str, zone: str | None) -> None:
    for value in FAR:
        pq.write_table(moments(unit, zone, value), tmp_path / "far.parquet")
        assert len(rows(tmp_path / "far.parquet", "v")) == 2


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_moments_that_are_turned_on_the_way_cannot_be_used(tmp_path: Path, zone: str | None) -> None:
    """DuckDB's reader multiplies milliseconds, and fails where the product is too large: whatever the data, refused."""
    table = moments("ms", zone, 0)
    pq.write_table(table, tmp_path / "ms.parquet")
    assert kinds(tmp_path / "ms.parquet")["v"] is StoredKind.OTHER
    pq.write_table(table.rename_columns(["v", "V"]), tmp_path / "twice.parquet")  # DuckDB calls the second one V_1
    assert list(kinds(tmp_path / "twice.parquet").values()) == [StoredKind.INTEGER, StoredKind.OTHER]
    dataset = pyarrow.dataset.dataset(table)
    assert kinds(dataset)["v"] is (StoredKind.TIMESTAMP if zone is None else StoredKind.OTHER)
    listed = pa.table({"u": table["u"], "v": table["v"].combine_chunks().dictionary_encode()})
    assert kinds(listed)["v"] is (StoredKind.TIMESTAMP if zone is None else StoredKind.OTHER)


def test_text_of_a_frame_that_is_not_utf8_is_null() -> None:
    table = broken_text()
    assert rows(table) == sorted([(row["v"],) for row in memory_rows(table)], key=repr)
    assert rows(table) == [("ab",), *[(None,)] * (len(BROKEN) + 1)]
    assert rows(table, "u", unit="v") == [(0,)]  # and whoever it names has no rows


@pytest.mark.parametrize("encoding", ["dictionary", "PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_text_of_a_parquet_file_that_is_not_utf8_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "broken.parquet"
    listed = encoding == "dictionary"
    pq.write_table(broken_text(), path, use_dictionary=listed, column_encoding=None if listed else {"v": encoding})
    right = ["ab", "??", "a?", "???", "??", "ab??", "?" * 30, None]
    assert rows(path, "v") == sorted([(text,) for text in right], key=repr)
    assert len(rows(path, "u", unit="v")) == len(BROKEN) + 1


# --- CSV --------------------------------------------------------------------------------------------------------------


def csv(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_files_are_read(tmp_path: Path) -> None:
    text = "u;g;n;x;d;b\n1;'a;b';7;1.5;2024-02-29;true\n2;;-8;nan;;false\n;z;9;2.5;2024-01-01;true\n"
    for name, opened in (("a.csv", text.replace("'", '"')), ("a.tsv", text.replace("a;b", "a\tb").replace(";", "\t"))):
        path = csv(tmp_path / name, opened)
        assert kinds(path) == KINDS | {"n": StoredKind.INTEGER}
        found = rows(path, "n", "x", "d", "b")
        assert found == sorted([(7, 6, date(2024, 2, 29), True), (-8, None, None, False)], key=repr)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(text.replace("'", '"').encode()))
    assert rows(tmp_path / "b.csv.gz", "g") == [("a;b",), (None,)]


def test_no_line_of_a_csv_file_makes_a_question_fail(tmp_path: Path) -> None:
    """Types are sniffed from the beginning; what does not fit them later is NULL."""
    good = "".join(f"{i},{i},2024-01-02,t{i},1.5,true\n" for i in range(30_000))
    odd = '7,many,yesterday,x,much,perhaps\n8,9\n9,1,2024-01-03,"unended\n'
    path = csv(tmp_path / "late.csv", "u,n,d,t,x,b\n" + good + odd)
    assert rows(path, "n", "d", "x", "b").count((None, None, None, None)) == 1
    found = rows(path, "n")  # alone: DuckDB would leave the type to its reader, which leaves out what does not fit
    assert len(found) == 30_003
    assert found.count((None,)) == 1
    wide = csv(tmp_path / "wide.csv", "u,n\n" + "".join(f"{i},{i}\n" for i in range(30_000)) + "1,2,3,4\n5,6\n")
    assert (6,) in rows(wide, "n")
    (tmp_path / "bytes.csv").write_bytes(b"u,t\n" + b"1,a\n" * 30_000 + b"2,\xff\xfe\n3,last\n")
    assert ("last",) in rows(tmp_path / "bytes.csv", "t")


@pytest.mark.parametrize(
    ("odd", "kept"),
    [
        ('7,"a\nb"\n', "a\nb"),
        ('7,"a\r\nb"\n', "a\r\nb"),
        ('7,"a\n\n\nb"\n8\n9,c,d,e\n', "a\n\n\nb"),
        ("7," + "x" * (3 << 20) + "\n", None),
        ('7,"' + "x\n" * (2 << 20) + '"\n', None),
        ("7,a\0b\n", "a\0b"),
        ("7,a\rb\n", "a"),
        ('7,"a""b"\n', 'a"b'),
        ('7,"a"b"\n', None),
    ],
    ids=["newline", "windows", "many", "long", "long quoted", "zero byte", "old mac", "doubled quote", "stray quote"],
)
def test_no_cell_of_a_csv_file_makes_a_question_fail(tmp_path: Path, odd: str, kept: str | None) -> None:
    """DuckDB's parallel reader of CSV gives up on a line break inside quotes, if short lines are to be filled up."""
    good = "".join(f"{i},ok\n" for i in range(30_000))
    path = tmp_path / "cell.csv"
    path.write_bytes(f"u,t\n{good}{odd}{good}".encode())
    found = rows(path, "t")
    assert found.count(("ok",)) >= 30_000
    assert kept is None or (kept,) in found


def test_csv_files_of_one_table_agree(tmp_path: Path) -> None:
    csv(tmp_path / "1.csv", "u,n\n1,5\n2,6\n")
    csv(tmp_path / "2.csv", "u,n\n3,1.5\n4,2.5\n")
    assert kinds(tmp_path) == {"u": StoredKind.INTEGER, "n": StoredKind.REAL}
    assert rows(tmp_path, "n") == sorted([(20,), (24,), (6,), (10,)], key=repr)
    csv(tmp_path / "3.csv", "n,u\n3,1.5\n")
    with pytest.raises(BadData, match="same columns"):
        duckdb(threads=1).columns(tmp_path)


def test_dates_of_a_csv_file_are_read_as_they_are_written(tmp_path: Path) -> None:
    lines = "".join(f"{i},{1 + i % 28:02}/{1 + i % 12:02}/2024\n" for i in range(60))
    path = csv(tmp_path / "d.csv", "u,d\n" + lines)
    assert (date(2024, 1, 13),) in rows(path, "d")
