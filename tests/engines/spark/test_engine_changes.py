"""Rows and files that made a paid question fail, or answer 0, on Spark: each with the row and without it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import BadData
from tests.helpers.spark_rows import SURE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = "SELECT COUNT(*) AS n FROM t"
TWO = pa.table({"id": [1, 2], "x": [3, 4]})
THREE = pa.table({"id": [5, 6, 7], "x": [1, 1, 1]})


def opened(spark: SparkSession, source: Any, **columns: Any) -> dp.Session:
    table = dp.table(source, unit="id", max_rows=1, columns=columns)
    return dp.Session(t=table, budget=dp.Approx(10 * SURE, "1e-6"), engine=dp.engines.spark(spark))


def count(session: dp.Session) -> Any:
    return session.sql(COUNT).release(epsilon=SURE).value


def refused(session: dp.Session, question: str = COUNT) -> None:
    """Before anything is spent."""
    before = session.remaining
    with pytest.raises(BadData):
        session.sql(question).release(epsilon=1)
    assert session.remaining == before


# --- text -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ["", " UNION ALL SELECT 99, cast(X'ff61' AS string)"], ids=["without it", "with it"])
@pytest.mark.parametrize("key", ["k", "SUBSTRING(k, 1, 1)"])
def test_text_that_is_not_utf8_is_null(spark: SparkSession, row: str, key: str) -> None:
    """One such row made a question about keys that nobody listed fail after its payment."""
    frame = spark.sql(f"SELECT id, 'a' AS k FROM range(50){row}")
    session = opened(spark, frame, k=dp.unknown_keys())
    answer = session.sql(f"SELECT {key} AS g, COUNT(*) AS n FROM t GROUP BY 1").release(epsilon=SURE)
    assert {row["g"]: row["n"] for row in answer.rows if row["g"] is not None} == {"a": 50}


def test_people_whose_names_are_not_utf8_are_not_one_person(spark: SparkSession) -> None:
    """A replacement character would make one unit of them; they are left out, as rows without a unit are."""
    frame = spark.sql("SELECT cast(unhex(concat('ff', hex(id))) AS string) AS id FROM range(10, 99)")
    assert count(opened(spark, frame)) == 0


def test_char_is_read_without_its_padding(spark: SparkSession) -> None:
    """Declared keys counted 0."""
    spark.sql("CREATE OR REPLACE TEMP VIEW none AS SELECT 1")
    spark.sql("DROP TABLE IF EXISTS padded")
    spark.sql("CREATE TABLE padded (id BIGINT, k CHAR(5), v VARCHAR(5)) USING parquet")
    try:
        spark.sql("INSERT INTO padded VALUES (1, 'a', 'x '), (2, 'a', 'x'), (3, 'b ', 'x '), (4, NULL, NULL)")
        for source in ("padded", spark.table("padded"), spark.table("padded").where("id > 0")):
            session = opened(spark, source, k=dp.keys(["a", "b", "c"]), v=dp.keys(["x", "x "]))
            counts = session.sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k").release(epsilon=SURE)
            assert counts["n"] == [2, 1, 0]
            counts = session.sql("SELECT v, COUNT(*) AS n FROM t GROUP BY v").release(epsilon=SURE)
            assert counts["n"] == [1, 2], "varchar keeps its spaces"
    finally:
        spark.sql("DROP TABLE padded")


# --- files ------------------------------------------------------------------------------------------------------------


def kinds(spark: SparkSession, folder: Path, kind: str) -> Any:
    if kind == "path":
        return str(folder)
    if kind == "Path":
        return folder
    if kind == "frame":
        return spark.read.parquet(str(folder))
    spark.sql("DROP TABLE IF EXISTS in_files")
    spark.sql(f"CREATE TABLE in_files USING parquet LOCATION '{folder}'")
    return "in_files"


@pytest.mark.parametrize("kind", ["path", "Path", "frame", "table"])
def test_files_that_come_later_are_read(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """They were never seen, and a file with another name was paid for and lost."""
    pq.write_table(TWO, tmp_path / "a.parquet")
    session = opened(spark, kinds(spark, tmp_path, kind))
    assert count(session) == 2
    pq.write_table(THREE, tmp_path / "b.parquet")
    assert count(session) == 5
    (tmp_path / "a.parquet").rename(tmp_path / "c.parquet")
    if kind == "frame":  # it may be made of this very file
        refused(session)
    else:
        assert count(session) == 5


@pytest.mark.parametrize("rows", [{"id": [1], "x": ["a"]}, {"id": [1], "x": ["7"]}, {"id": [1]}], ids=str)
def test_other_columns_are_refused_before_the_payment(spark: SparkSession, tmp_path: Path, rows: Any) -> None:
    pq.write_table(TWO, tmp_path / "a.parquet")
    session = opened(spark, str(tmp_path), x=dp.bounds(0, 9))
    pq.write_table(pa.table(rows), tmp_path / "a.parquet")
    refused(session, "SELECT SUM(x) AS s FROM t")


def test_a_folder_that_is_gone_is_refused_before_the_payment(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    folder.mkdir()
    pq.write_table(TWO, folder / "a.parquet")
    sessions = [opened(spark, kinds(spark, folder, kind)) for kind in ("path", "frame")]
    folder.rename(tmp_path / "moved")
    for session in sessions:
        refused(session)


# --- old moments ------------------------------------------------------------------------------------------------------


@pytest.fixture
def strict(spark: SparkSession) -> Iterator[SparkSession]:
    """The session of an owner who wants an error for days before 1582 in files of old writers."""
    names = [f"spark.sql.parquet.{of}RebaseModeInRead" for of in ("datetime", "int96")]
    for name in names:
        spark.conf.set(name, "EXCEPTION")
    yield spark
    for name in names:
        assert spark.conf.get(name) == "EXCEPTION", "it came back"
        spark.conf.unset(name)


@pytest.mark.parametrize("year", [1200, 2024], ids=["with the row", "without it"])
@pytest.mark.parametrize("old", [True, False], ids=["int96", "int64"])
def test_no_old_moment_makes_a_question_fail(strict: SparkSession, tmp_path: Path, year: int, old: bool) -> None:
    """With EXCEPTION, one moment before 1582 made a question fail after its payment."""
    moments = pa.array([f"{year}-01-01T00:00:00", "2024-01-01T00:00:00"]).cast(pa.timestamp("us"))
    options: dict[str, Any] = {"use_deprecated_int96_timestamps": True} if old else {}
    pq.write_table(pa.table({"id": [1, 2], "m": moments}), tmp_path / "a.parquet", **options)
    session = opened(strict, str(tmp_path / "a.parquet"))
    assert session.sql("SELECT COUNT(*) AS n FROM t WHERE YEAR(m) < 2030").release(epsilon=SURE).value == 2
