"""The Spark engine in real life: sessions that somebody else uses too, sources of all kinds, interruptions."""

from __future__ import annotations

import json
import os
import signal
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BadParameter, EngineFailed, EngineUnreachable
from tests.helpers.processes import until
from tests.helpers.spark import Cluster
from tests.helpers.spark_rows import COUNTS, ROWS, SURE, counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

"""An epsilon at which noise is 0, but for a chance below 1e-100."""


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


@pytest.mark.slow
def test_settings_do_not_matter_and_come_back(odd: SparkSession) -> None:
    views = {table.name for table in odd.catalog.listTables()}
    odd_text = "a\\'b"
    rows = ROWS.set_column(1, "place", [[odd_text] * 60])
    table = dp.table(rows, unit="user", columns={"place": dp.keys([odd_text])}, max_rows=2)
    s = dp.Session(t=table, budget=dp.Pure(SURE), engine=dp.engines.spark(odd))
    assert s.sql("SELECT place, COUNT(*) AS n FROM t GROUP BY place").release(epsilon=SURE)["n"] == [60]
    assert {table.name for table in odd.catalog.listTables()} == views


@pytest.mark.slow
def test_moments_without_a_zone_are_not_moved(odd: SparkSession) -> None:
    moments = pa.array([f"2024-01-01T0{i % 3}:30:00" for i in range(60)]).cast(pa.timestamp("us"))
    zoned = moments.cast(pa.timestamp("us", "UTC"))
    rows = ROWS.append_column("m", moments).append_column("z", zoned)
    for column in ("m", "z"):
        table = dp.table(rows, unit="user", columns={}, max_rows=2)
        s = dp.Session(t=table, budget=dp.Pure(SURE), engine=dp.engines.spark(odd))
        asked = s.sql(f"SELECT COUNT(*) FILTER (WHERE EXTRACT(HOUR FROM {column}) = 1) AS n FROM t")
        assert asked.release(epsilon=SURE)["n"] == [20], column


@pytest.mark.slow
def test_settings_come_back_after_a_failure(odd: SparkSession) -> None:
    broken = odd.range(10).selectExpr("id AS user", "CAST(raise_error('a secret') AS STRING) AS place")
    columns = {"place": dp.keys(["a"])}
    s = dp.Session(t=dp.table(broken, unit="user", columns=columns), budget=dp.Pure(2), engine=dp.engines.spark(odd))
    with pytest.raises(EngineFailed) as caught:
        s.sql("SELECT place, COUNT(*) AS n FROM t GROUP BY place").release(epsilon=1)
    assert "secret" not in str(caught.value) + repr(caught.value.__cause__) + repr(caught.value.__context__)
    assert s.remaining == dp.Pure(1), "charged, once"


@pytest.mark.slow
def test_a_text_is_a_text(spark: SparkSession) -> None:
    # Spark would put settings and variables of the machine into the text of a query
    texts = ["${env:HOME}", "${spark.app.name}", "${system:user.name}", "a${x}b"]
    rows = pa.table({"user": list(range(8)), "place": [*texts, "/root", "tests", "root", "ab"]})
    table = dp.table(rows, unit="user", columns={"place": dp.keys(texts)})
    s = dp.Session(t=table, budget=dp.Pure(SURE), engine=dp.engines.spark(spark))
    asked = s.sql("SELECT COUNT(*) AS n FROM t WHERE place IN ('${env:HOME}', '${spark.app.name}')")
    assert asked.release(epsilon=SURE // 2)["n"] == [2]
    assert set(s.sql("SELECT place, COUNT(*) AS n FROM t GROUP BY place").release(epsilon=SURE // 2)["n"]) == {1}


@pytest.mark.slow
def test_no_warning_reaches_the_user(spark: SparkSession) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert counted(ROWS.to_pandas(), dp.engines.spark(spark)) == COUNTS


# --- away, or interrupted ---------------------------------------------------------------------------------------------


def test_who_does_not_answer_in_time_is_unreachable_and_nothing_is_spent(spark: SparkSession, frame: Any) -> None:
    engine = dp.engines.spark(spark, patience=1e-9)
    s = dp.Session(t=dp.table(frame, unit="user", columns={}), budget=dp.Pure(1), engine=engine)
    with pytest.raises(EngineUnreachable):
        s.sql("SELECT COUNT(*) AS n FROM t").release(epsilon=1)
    assert s.remaining == dp.Pure(1)


@pytest.mark.slow
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


@pytest.mark.slow
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
