"""Sources of Spark: DataFrames, tables, files; how their columns are stored."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import BadData
from tests.helpers.spark_rows import COUNTS, ROWS, counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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


def test_collations_do_not_matter(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT CAST(id AS STRING) COLLATE UTF8_LCASE AS user, "
        "(CASE WHEN id % 2 = 0 THEN 'a' ELSE 'A' END) COLLATE UTF8_LCASE AS place, 1 AS amount "
        "FROM range(10)"
    )
    assert counted(rows, dp.engines.spark(spark)) == {"a": 5, "b": 0, "c": 0}
