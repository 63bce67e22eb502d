"""Sources of Spark: DataFrames, tables, files; how their columns are stored."""

from __future__ import annotations

import gzip
import re
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.spark.source import frame_of
from discreet.errors import BadData
from discreet.query.plan.schema import Stored, StoredKind
from tests.helpers.csv_lines import HOSTILE, fields_by_hand
from tests.helpers.spark_rows import COUNTS, ROWS, counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_frames_tables_and_files(spark: SparkSession, frame: Any, tmp_path: Path) -> None:
    frame.createOrReplaceTempView("some_trips")
    pq.write_table(ROWS, tmp_path / "one.parquet")
    (tmp_path / "folder").mkdir()
    pq.write_table(ROWS.slice(0, 31), tmp_path / "folder" / "x.parquet")
    pq.write_table(ROWS.slice(31), tmp_path / "folder" / "y.parquet")
    ROWS.to_pandas().to_csv(tmp_path / "trips.csv", index=False)
    sources = {
        "a DataFrame": frame,
        "a table": "some_trips",
        "a file": str(tmp_path / "one.parquet"),
        "a path": tmp_path / "one.parquet",
        "a folder": tmp_path / "folder",
        "CSV": str(tmp_path / "trips.csv"),
        "Arrow": ROWS,
        "pandas": ROWS.to_pandas(),
    }
    engine = dp.engines.spark(spark)
    for name, source in sources.items():
        assert counted(source, engine) == COUNTS, name
    spark.catalog.dropTempView("some_trips")


def test_a_line_of_a_csv_file_decides_about_itself_alone(spark: SparkSession, tmp_path: Path) -> None:
    """The same lines as on DuckDB: the rows of everybody else stay as they are, and so do the types."""
    engine = dp.engines.spark(spark)
    good = "".join(f"{i},ok\n" for i in range(300)).encode()
    path = tmp_path / "cell.csv"
    hostile = [(odd, kept) for name, (odd, kept) in HOSTILE.items() if "long" not in name]
    path.write_bytes(b"u,t\n" + good + b"".join(odd + b"\n" for odd, _ in hostile) + good)
    assert engine.columns(str(path)) == dict.fromkeys("ut", Stored(StoredKind.TEXT, untyped=True))
    found = [row.t for row in frame_of(str(path), spark).collect() if "\ufffd" not in (row.t or "")]
    assert found.count("ok") == 600
    assert sorted(text for text in found if text not in (None, "ok")) == sorted(t for _, kept in hostile for t in kept)
    lines = ["".join(letters) for letters in product('ab,"', repeat=5)]
    path.write_text("u,t\n" + "".join(f"{line}\n" for line in lines))
    read = [fields_by_hand(line) for line in lines]
    right = [tuple(fields) for fields in read if fields is not None and len(fields) == 2]
    assert sorted(map(repr, map(tuple, frame_of(str(path), spark).collect()))) == sorted(map(repr, right))


def test_csv_files_of_one_table_agree(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("u,n\n1,5\n")
    (tmp_path / "2.csv.gz").write_bytes(gzip.compress(b"u,n\n2,6\n"))
    assert sorted(map(tuple, frame_of(f"{tmp_path}/*.csv*", spark).collect())) == [("1", "5"), ("2", "6")]
    (tmp_path / "3.csv").write_text("n,u\n1,5\n")
    with pytest.raises(BadData, match="same columns"):
        frame_of(f"{tmp_path}/*.csv", spark)


def test_the_page_works_as_it_is_written(spark: SparkSession) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "spark.md").read_text()
    (example,) = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    trips = {"user_id": [1, 2], "amount": [3, 4], "region": ["north", "south"], "product": ["a", "b"]}
    spark.createDataFrame(pa.table(trips)).createOrReplaceTempView("page_trips")
    names: dict[str, Any] = {"my_session": spark}
    exec(compile(example.replace("shop.trips", "page_trips"), "spark.md", "exec"), names)  # noqa: S102 - our own page
    assert names["session"].remaining.epsilon == Fraction(1, 2)
    spark.catalog.dropTempView("page_trips")


@pytest.mark.parametrize("source", ["nowhere", "no/such.parquet", 7, None, [1, 2]])
def test_what_cannot_be_opened_is_said_before_anything_is_spent(spark: SparkSession, source: Any) -> None:
    with pytest.raises(BadData):
        dp.engines.spark(spark).columns(source)


def test_names_that_differ_in_case_only_are_refused(spark: SparkSession) -> None:
    with pytest.raises(BadData, match="upper and lower case"):
        dp.engines.spark(spark).columns(spark.createDataFrame(pa.table({"a": [1], "A": [2]})))


def test_a_frame_of_another_session_is_refused(spark: SparkSession) -> None:
    with pytest.raises(BadData):
        dp.engines.spark(spark).columns(spark.newSession().range(3))


@pytest.mark.slow
def test_without_a_session_that_of_the_frame_is_used(frame: Any) -> None:
    assert counted(frame, dp.engines.spark()) == COUNTS


def test_stored_types(spark: SparkSession) -> None:
    frame = spark.sql(
        "SELECT 1Y AS tiny, 1L AS big, 1.50BD AS cents, 1F AS f, 'x' COLLATE UTF8_LCASE AS t, true AS b, "
        "DATE '2024-01-01' AS d, TIMESTAMP_NTZ '2024-01-01 00:00:00' AS m, TIMESTAMP '2024-01-01 00:00:00' AS z, "
        "array(1) AS many"
    )
    kinds = {name: stored.kind.value for name, stored in dp.engines.spark(spark).columns(frame).items()}
    assert kinds == {
        "tiny": "integer", "big": "integer", "cents": "decimal", "f": "real", "t": "text", "b": "boolean",
        "d": "date", "m": "timestamp", "z": "timestamp", "many": "other",
    }  # fmt: skip


def test_no_moment_of_an_arrow_table_refuses_it(spark: SparkSession) -> None:
    """One that Arrow cannot write in microseconds made the whole table one that cannot be read."""
    ends = [-(2**63) + 1, 2**63 - 1, -1, 0, None]
    units = ["s", "ms", "us", "ns"]
    table = pa.table({"u": [*range(5)], **{unit: pa.array(ends, pa.timestamp(unit)) for unit in units}})
    session = dp.Session(t=dp.table(table, unit="u", max_rows=1), budget=dp.Pure(10**9), engine=dp.engines.spark(spark))
    counts = ", ".join(f"COUNT({unit}) AS {unit}" for unit in units)
    assert session.sql(f"SELECT {counts} FROM t").release(epsilon=10**8).rows == [dict.fromkeys(units, 4)]
    moments = [-(2**63), -(2**63) + 999, -1001, -1000, -999, -1, 0, 999, 1000, 2**63 - 1]
    column = frame_of(pa.table({"x": pa.array(moments, pa.timestamp("ns"))}), spark).toArrow().column("x")
    assert column.cast(pa.int64()).to_pylist() == [moment // 1000 for moment in moments]


@pytest.mark.slow
def test_collations_do_not_matter(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT CAST(id AS STRING) COLLATE UTF8_LCASE AS user, "
        "(CASE WHEN id % 2 = 0 THEN 'a' ELSE 'A' END) COLLATE UTF8_LCASE AS place, 1 AS amount "
        "FROM range(10)"
    )
    assert counted(rows, dp.engines.spark(spark)) == {"a": 5, "b": 0, "c": 0}
