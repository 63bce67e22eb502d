"""The Spark engine in real life: sessions that somebody else uses too, sources of all kinds, interruptions."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.spark import staging as spark_staging
from discreet.errors import BadData, BadParameter, EngineFailed, EngineUnreachable
from tests.helpers.processes import until
from tests.helpers.spark import Cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = pa.table(
    {
        "user": [i // 2 for i in range(60)],
        "place": ["a" if i % 3 else "b" for i in range(60)],
        "amount": [i % 7 for i in range(60)],
    }
)
COUNTS = {"a": 40, "b": 20, "c": 0}
SURE = 1000
"""An epsilon at which noise is 0, but for a chance below 1e-100."""


def counted(source: Any, engine: Any, question: str = "SELECT place, COUNT(*) AS n FROM t GROUP BY place") -> Any:
    """The number of rows at each place."""
    columns = {"place": dp.keys(list(COUNTS)), "amount": dp.bounds(0, 6)}
    table = dp.table(source, unit="user", columns=columns, max_rows=2)
    answer = dp.Session(t=table, budget=dp.Pure(SURE), engine=engine).sql(question).release(epsilon=SURE)
    return dict(zip(answer["place"], answer["n"], strict=True))


@pytest.fixture
def frame(spark: SparkSession) -> Any:
    return spark.createDataFrame(ROWS)


# --- sources ----------------------------------------------------------------------------------------------------------


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


def test_bad_parameters() -> None:
    bad: tuple[dict[str, Any], ...] = (
        {"session": 3},
        {"master": ""},
        {"staging": ""},
        {"patience": 0},
        {"patience": "soon"},
    )
    for options in bad:
        with pytest.raises(BadParameter):
            dp.engines.spark(**options)


# --- a session that others use ----------------------------------------------------------------------------------------


@pytest.fixture
def odd(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with settings under which our SQL would mean something else."""
    strange = {
        "spark.sql.session.timeZone": "Asia/Kolkata",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.parser.escapedStringLiterals": "true",
        "spark.sql.groupByOrdinal": "false",
    }
    before = {name: spark.conf.get(name, None) for name in strange}
    for name, value in strange.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in strange.items():
        assert spark.conf.get(name) == value, "it came back"
    for name, old in before.items():
        spark.conf.unset(name) if old is None else spark.conf.set(name, old)


def test_settings_do_not_matter_and_come_back(odd: SparkSession) -> None:
    views = {table.name for table in odd.catalog.listTables()}
    odd_text = "a\\'b"
    rows = ROWS.set_column(1, "place", [[odd_text] * 60])
    table = dp.table(rows, unit="user", columns={"place": dp.keys([odd_text])}, max_rows=2)
    s = dp.Session(t=table, budget=dp.Pure(SURE), engine=dp.engines.spark(odd))
    assert s.sql("SELECT place, COUNT(*) AS n FROM t GROUP BY place").release(epsilon=SURE)["n"] == [60]
    assert {table.name for table in odd.catalog.listTables()} == views


def test_moments_without_a_zone_are_not_moved(odd: SparkSession) -> None:
    moments = pa.array([f"2024-01-01T0{i % 3}:30:00" for i in range(60)]).cast(pa.timestamp("us"))
    zoned = moments.cast(pa.timestamp("us", "UTC"))
    rows = ROWS.append_column("m", moments).append_column("z", zoned)
    for column in ("m", "z"):
        table = dp.table(rows, unit="user", columns={}, max_rows=2)
        s = dp.Session(t=table, budget=dp.Pure(SURE), engine=dp.engines.spark(odd))
        asked = s.sql(f"SELECT COUNT(*) FILTER (WHERE EXTRACT(HOUR FROM {column}) = 1) AS n FROM t")
        assert asked.release(epsilon=SURE)["n"] == [20], column


def test_settings_come_back_after_a_failure(odd: SparkSession) -> None:
    broken = odd.range(10).selectExpr("id AS user", "CAST(raise_error('a secret') AS STRING) AS place")
    columns = {"place": dp.keys(["a"])}
    s = dp.Session(t=dp.table(broken, unit="user", columns=columns), budget=dp.Pure(2), engine=dp.engines.spark(odd))
    with pytest.raises(EngineFailed) as caught:
        s.sql("SELECT place, COUNT(*) AS n FROM t GROUP BY place").release(epsilon=1)
    assert "secret" not in str(caught.value) + repr(caught.value.__cause__) + repr(caught.value.__context__)
    assert s.remaining == dp.Pure(1), "charged, once"


def test_a_text_is_a_text(spark: SparkSession) -> None:
    # Spark would put settings and variables of the machine into the text of a query
    texts = ["${env:HOME}", "${spark.app.name}", "${system:user.name}", "a${x}b"]
    rows = pa.table({"user": list(range(8)), "place": [*texts, "/root", "tests", "root", "ab"]})
    table = dp.table(rows, unit="user", columns={"place": dp.keys(texts)})
    s = dp.Session(t=table, budget=dp.Pure(SURE), engine=dp.engines.spark(spark))
    asked = s.sql("SELECT COUNT(*) AS n FROM t WHERE place IN ('${env:HOME}', '${spark.app.name}')")
    assert asked.release(epsilon=SURE // 2)["n"] == [2]
    assert set(s.sql("SELECT place, COUNT(*) AS n FROM t GROUP BY place").release(epsilon=SURE // 2)["n"]) == {1}


def test_collations_do_not_matter(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT CAST(id AS STRING) COLLATE UTF8_LCASE AS user, "
        "(CASE WHEN id % 2 = 0 THEN 'a' ELSE 'A' END) COLLATE UTF8_LCASE AS place, 1 AS amount "
        "FROM range(10)"
    )
    assert counted(rows, dp.engines.spark(spark)) == {"a": 5, "b": 0, "c": 0}


def test_no_warning_reaches_the_user(spark: SparkSession) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert counted(ROWS.to_pandas(), dp.engines.spark(spark)) == COUNTS


# --- many groups ------------------------------------------------------------------------------------------------------


MANY = pa.table({"user": list(range(3000)), "key": [f"k{i % 40}" if i < 2000 else f"rare {i}" for i in range(3000)]})


@pytest.mark.parametrize("staging", ["of its own", "given", "none", "heavy units"])
def test_unknown_keys_in_batches(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, staging: str
) -> None:
    monkeypatch.setattr(spark_staging, "BATCH", 97)
    given = str(tmp_path) if staging == "given" else None
    engine = dp.engines.spark(spark, staging=given, heavy_units=staging == "heavy units")
    if staging == "none":
        monkeypatch.setattr(sys.modules[type(engine).__module__], "_here", lambda _session: False)
    table = dp.table(MANY, unit="user", columns={"key": dp.unknown_keys()})
    s = dp.Session(t=table, budget=dp.Approx(2 * SURE, "1e-15"), engine=engine)
    answer = s.sql("SELECT key, COUNT(*) AS n FROM t GROUP BY key").release(epsilon=SURE)
    assert dict(zip(answer["key"], answer["n"], strict=True)) == {f"k{i}": 50 for i in range(40)}
    assert not list(tmp_path.iterdir()), "nothing stays behind"
    for copy in ("one", "two"):  # what was released once is the same in every copy
        answer.write(tmp_path / copy)
        assert pq.read_table(tmp_path / copy).equals(answer.to_arrow())


# --- away, or interrupted ---------------------------------------------------------------------------------------------


def test_who_does_not_answer_in_time_is_unreachable_and_nothing_is_spent(spark: SparkSession, frame: Any) -> None:
    engine = dp.engines.spark(spark, patience=1e-9)
    s = dp.Session(t=dp.table(frame, unit="user", columns={}), budget=dp.Pure(1), engine=engine)
    with pytest.raises(EngineUnreachable):
        s.sql("SELECT COUNT(*) AS n FROM t").release(epsilon=1)
    assert s.remaining == dp.Pure(1)


def test_an_interruption_ends_the_jobs_and_stays_charged(spark: SparkSession) -> None:
    endless = spark.range(0, 1 << 50, 1, 2).selectExpr("id AS user", "CAST(rand() AS STRING) AS place")
    table = dp.table(endless, unit="user", columns={"place": dp.keys(["a"])})
    s = dp.Session(t=table, budget=dp.Pure(2), engine=dp.engines.spark(spark))
    tracker = spark.sparkContext.statusTracker()

    def interrupt() -> None:
        until(lambda: s.remaining == dp.Pure(1) and bool(tracker.getActiveJobsIds()))
        os.kill(os.getpid(), signal.SIGINT)  # as Ctrl-C does

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        s.sql("SELECT place, COUNT(*) AS n FROM t GROUP BY place").release(epsilon=1)
    other.join()
    until(lambda: not tracker.getActiveJobsIds())
    assert s.remaining == dp.Pure(1)


# --- a cluster that loses its parts -----------------------------------------------------------------------------------

PROGRAM = """
import json, os, pathlib, sys, threading, time
from pyspark.sql import SparkSession
import discreet as dp

folder = pathlib.Path(sys.argv[1])
session = SparkSession.builder.getOrCreate()

def gated(step):
    def wait(batches):
        for batch in batches:
            (folder / f"{step}-started-{os.getpid()}").touch()
            while not (folder / f"{step}-go").exists():
                time.sleep(0.02)
            yield batch
    return wait

rows = session.range(0, 4000, 1, 4).selectExpr("id div 2 AS user", "CAST(id % 5 AS STRING) AS place")
engine = dp.engines.spark(session)
tables = {
    step: dp.table(rows.mapInArrow(gated(step), rows.schema), unit="user",
                   columns={"place": dp.keys(list("01234"))}, max_rows=2)
    for step in ("worker", "driver")
}
s = dp.Session(**tables, budget=dp.Pure(3000), engine=engine)

def ask(step):
    try:
        said = s.sql(f"SELECT place, COUNT(*) AS n FROM {step} GROUP BY place").release(epsilon=1000)["n"]
    except dp.errors.DiscreetError as error:
        said = type(error).__name__
    print("SAID", json.dumps([step, said, str(s.remaining)]), flush=True)

ask("worker")

def stop():
    while not list(folder.glob("driver-started-*")):
        time.sleep(0.02)
    session.stop()

threading.Thread(target=stop, daemon=True).start()
ask("driver")
ask("worker")
os._exit(0)
"""


def test_a_worker_is_lost_then_the_driver(spark_cluster: Cluster, tmp_path: Path) -> None:
    driver = spark_cluster.driver(PROGRAM, str(tmp_path))
    until(lambda: len(list(tmp_path.glob("worker-started-*"))) >= 2, process=driver.process, log=driver.log)
    spark_cluster.workers[0].kill()  # in the middle of the query, with what it had computed
    (tmp_path / "worker-go").touch()
    said = [json.loads(line[5:]) for line in driver.finish().splitlines() if line.startswith("SAID ")]
    first, second, third = said
    assert first[1] in ([800] * 5, "EngineFailed")
    assert first[2] == str(dp.Pure(2000)), "charged once, whatever happened"
    assert second[1:] == ["EngineFailed", str(dp.Pure(1000))]
    assert third[1:] == ["EngineUnreachable", str(dp.Pure(1000))]
