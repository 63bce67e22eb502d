"""A table on a real Spark behind a curator: answers, deadlines, what is refused before the payment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.curator.engine_process.process import Isolated, _Process
from discreet.curator.engine_process.remote import RemoteEngine
from discreet.curator.limits import Limits
from discreet.curator.service import declarations
from discreet.curator.service.config import read_config
from discreet.curator.service.library import read_answer
from discreet.curator.service.opening import open_curator
from discreet.curator.service.reply_timing import Grid
from discreet.errors import AlreadyProtected, BadData, EngineUnreachable
from discreet.privacy.promises.measures import Pure
from tests.curator.service.test_data_sources import ASKED, EXPECTED, ROWS, ann, configured, counts
from tests.helpers.extent import only_in_audit
from tests.helpers.processes import free_port
from tests.helpers.spark import Cluster, connect_address, environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def visits(spark: SparkSession) -> Iterator[str]:
    """The source of a table that other sessions of the same Spark can read."""
    rows = list(zip(ROWS["patient"], ROWS["city"], strict=True))
    spark.createDataFrame(rows, "patient int, city string").coalesce(1).write.saveAsTable("visits")
    yield f"{connect_address(spark)}::visits"
    spark.sql("DROP TABLE IF EXISTS visits")


@contextmanager
def hanging(spark: SparkSession) -> Iterator[None]:
    """Spark's own process stands still, as when its machine does."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    java = psutil.Process(gateway.proc.pid)
    family = [java, *java.children(recursive=True)]
    try:
        for one in family:
            one.suspend()
        yield
    finally:
        for one in family:
            one.resume()


def test_a_curator_of_a_spark_table(
    spark: SparkSession, visits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[float] = []
    monkeypatch.setattr(Grid, "hold", lambda _, began: held.append(began))
    config = read_config(configured(tmp_path, visits))
    curator = open_curator(config, create=True)
    try:
        caller = ann(curator)
        assert read_answer(curator.ask(caller, "clinic", ASKED, began=1.0))["rows"] == EXPECTED

        # the same people from a file are recognised
        (tmp_path / "data" / "again.csv").write_text("patient\n" + "".join(f"{i}\n" for i in ROWS["patient"][1:]))
        again = declarations.read({"tables": {"t": {"source": "again.csv", "unit": "patient"}}}, "again")
        with pytest.raises(AlreadyProtected, match="give a decision"):
            curator.register("again", again, "others", budget=Pure(1))

        # a table that is gone, and one that lost a column, cost nothing
        spark.sql("ALTER TABLE visits RENAME TO moved")
        with pytest.raises(BadData):
            curator.ask(caller, "clinic", ASKED, began=2.0)
        spark.sql("CREATE TABLE visits AS SELECT patient FROM moved")
        with pytest.raises(BadData):
            curator.ask(caller, "clinic", ASKED, began=3.0)
        spark.sql("DROP TABLE visits")
        spark.sql("ALTER TABLE moved RENAME TO visits")
        assert len(curator.ledger.entries(kind="charge")) == 1

        # what hangs after the payment ends at the deadline: one constant failure, charged, on the grid of time
        ask = _Process._ask

        def hangs(process: _Process, request: tuple[str, Any], seconds: float) -> bytes:
            if request[0] != "run":
                return ask(process, request, seconds)
            with hanging(spark):
                return ask(process, request, 0.5)

        with monkeypatch.context() as patch:
            patch.setattr(_Process, "_ask", hangs)
            assert "error" in read_answer(curator.ask(caller, "clinic", ASKED, began=4.0))
        assert len(curator.ledger.entries(kind="charge")) == 2
        assert held == [1.0, 4.0]
        assert read_answer(curator.ask(caller, "clinic", ASKED))["rows"] == EXPECTED
    finally:
        curator.close()


@pytest.mark.slow
def test_spark_that_is_away_is_unreachable() -> None:
    engine = Isolated(Limits(), remote=RemoteEngine("spark", f"sc://127.0.0.1:{free_port()}"))
    try:
        with pytest.raises(EngineUnreachable, match="nothing was spent"):
            engine.columns("visits")
        assert engine.failures == 0, "it said so itself"
    finally:
        engine.close()


def test_a_curator_takes_csv_files_of_spark(tmp_path: Path) -> None:
    """Nothing is guessed from their values any more."""
    read_config(configured(tmp_path, "sc://host:15002::/data/visits.csv"))


@only_in_audit  # a cluster's worth of time; what differs from Spark Connect is where the driver runs
def test_a_curator_of_files_on_a_spark_cluster(
    spark_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table(ROWS), tmp_path / "visits.parquet")
    (tmp_path / "spark-defaults.conf").write_text(
        "".join(f"{name} {value}\n" for name, value in spark_cluster.settings().items())
    )
    for name, value in (environment(tmp_path) | {"SPARK_CONF_DIR": str(tmp_path)}).items():
        monkeypatch.setenv(name, value)
    path = configured(tmp_path, f"{spark_cluster.url}::{tmp_path}/visits.parquet")
    path.write_text(path.read_text().replace("deadline = 5", "deadline = 120"))
    assert counts(path) == EXPECTED
