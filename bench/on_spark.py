"""Questions on Spark beside the floor there: the same bounded sums in plain Spark SQL, without noise.

    .venv-bench/bin/python -m bench.on_spark 1e6 2        rows, cores; then, if not all, the questions
    .venv-bench/bin/python -m bench.on_spark groups 5e6   unknown keys with so many groups, and the driver's memory
    .venv/bin/python -m bench.on_spark groups 5e6 cluster the same on a cluster of processes on this machine, whose
                                                          executors draw the noise; with "here", this process does
    .venv-bench/bin/python -m bench.on_spark scaling 1e6  one core beside two; then, if not all, the questions

One process and one session, which is warm before anything is measured; ours and the floor run in turns.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil

import discreet as dp
from bench.floors import BINS, GROUPS, MOST_KEYS, ONE, ROWS
from bench.measure import Row, show
from bench.table_runs import DELTA, EPSILON, QUESTIONS
from bench.trips import DAYS, FOLDER, REGIONS, trips

REPEATS = 4
TUMULT = {"Q2": 50.0, "Q3": 36.0}
"""Seconds of Tumult Analytics 0.21 on Spark 3.5 at 1e6 rows, measured once on the same kind of table; not run here."""


def _weight(groups: str) -> str:
    root = f"CAST(floor(sqrt(CAST({ONE * ONE * GROUPS} div {groups} AS DOUBLE))) AS BIGINT)"
    return f"CASE WHEN {groups} <= {GROUPS} THEN {ONE} ELSE {root} END"


_AMOUNT = "CAST(CASE WHEN amount > 100 THEN 12800 WHEN amount > 0 THEN floor(amount * 128) ELSE 0 END AS BIGINT)"
_PLACE = f"CASE WHEN amount >= 100 THEN {BINS - 1} WHEN amount > 0 THEN floor(amount * {BINS / 100}) ELSE 0 END"
_CHOSEN = f"min(((bin * 271828183 + 314159265) % 2147483647) * {BINS} + bin)"
_LISTED = f"region IN ({', '.join(map(repr, REGIONS))})"


def _sized(key: str, columns: str = "", sums: str = "", where: str = "true") -> str:
    """Pairs of user and group with g, the number of groups of the user; rows move once, to the place of their user."""
    rows = f"SELECT user_id, {key} AS key{columns} FROM trips WHERE {where} DISTRIBUTE BY user_id"
    pairs = f"SELECT user_id, key{sums} FROM ({rows}) GROUP BY user_id, key"
    return f"SELECT *, count(*) OVER (PARTITION BY user_id) AS g FROM ({pairs})"


_MANY = f"g > {MOST_KEYS}"
_HASHED = f"CASE WHEN {_MANY} THEN md5(concat('salt|', user_id, '|', key)) END, CASE WHEN {_MANY} THEN key END"
_RANKED = f"SELECT *, rank() OVER (PARTITION BY user_id ORDER BY {_HASHED}) AS place FROM ({_sized('product')})"
_BY_REGION = _sized("region", f", {_AMOUNT} AS x", ", count(*) AS n, sum(x) AS total", _LISTED)
_BY_BIN = _sized("region", f", CAST({_PLACE} AS BIGINT) AS bin", f", {_CHOSEN} AS chosen", _LISTED)
FLOORS = {
    "Q1": f"SELECT sum(n * CASE WHEN n <= {ROWS} THEN {ONE} ELSE {ONE * ROWS} div n END) AS n "
    "FROM (SELECT count(*) AS n FROM trips GROUP BY user_id)",
    "Q2": "SELECT key, sum(w div n * n) AS n, sum(w div n * total) AS total "
    f"FROM (SELECT key, n, total, {_weight('g')} AS w FROM ({_BY_REGION})) GROUP BY key",
    "Q3": f"SELECT key, sum({_weight(f'least(g, {MOST_KEYS})')}) AS n FROM ({_RANKED}) WHERE place <= {MOST_KEYS} "
    "GROUP BY key",
    "Q4": f"SELECT key, sum({_weight('g')}) AS n FROM ({_sized('day')}) GROUP BY key",
    "Q5": f"SELECT key, chosen % {BINS} AS bin, sum({_weight('g')}) AS n FROM ({_BY_BIN}) GROUP BY key, bin",
}
"""The fastest sound bounded sums that we know on this table, with sums of 64 bits that nobody checks; joins are slower
by a half. One user with most of the rows would make one task of them: ours sums first, then moves.
"""


def started(cores: int, memory: str = "2g") -> Any:
    """A session of so many cores."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{cores}]").appName("bench").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", memory).config("spark.log.level", "ERROR")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.sql.shuffle.partitions", str(4 * cores))
    return builder.getOrCreate()


def asked(question: str, path: Path, engine: Any) -> Any:
    columns = {
        "amount": dp.bounds(0, 100, nullable=False),
        "region": dp.keys(REGIONS),
        "day": dp.keys(range(DAYS)),
        "product": dp.unknown_keys(),
    }
    table = dp.table(path, unit="user_id", columns=columns, max_rows=ROWS, max_groups=GROUPS, max_rows_per_group=1)
    session = dp.Session(trips=table, budget=dp.Approx(EPSILON, DELTA), engine=engine)
    return session.sql(QUESTIONS[question]).release(epsilon=EPSILON)


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds, and CPU seconds of Java and of this process."""

    seconds: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s ({self.cpu:.2f} CPU)"


def java(spark: Any) -> psutil.Process:
    """The process of the driver, and in local mode of all else."""
    return psutil.Process(spark.sparkContext._gateway.proc.pid)


def busy(process: psutil.Process) -> float:
    """CPU seconds of Java and of this process."""
    times, own = process.cpu_times(), os.times()
    return float(times.user + times.system + own.user + own.system)


def best(process: psutil.Process, *works: Callable[[], Any]) -> list[Timed]:
    """The least of each, in turns."""
    found: list[list[Timed]] = [[] for _ in works]
    for _ in range(REPEATS):
        for work, mine in zip(works, found, strict=True):
            start, spent = time.perf_counter(), busy(process)
            work()
            mine.append(Timed(time.perf_counter() - start, busy(process) - spent))
    return [Timed(min(run.seconds for run in mine), min(run.cpu for run in mine)) for mine in found]


def questions(rows: int, cores: int, *names: str) -> None:
    spark = started(cores)
    path = trips(rows)
    spark.read.parquet(str(path)).createOrReplaceTempView("trips")
    engine = dp.engines.spark(spark)
    figures: list[Row] = []
    for question in names or FLOORS:
        work, floor = (
            partial(asked, question, path, engine),
            partial(lambda text: spark.sql(text).toArrow(), FLOORS[question]),
        )
        for _ in range(2):  # until Java has compiled what is hot
            work()
            floor()
        ours, least = best(java(spark), work, floor)
        task = f"{question}, {rows:.0e} rows, {cores} cores"
        figures.append(Row(task, str(ours), "floor", str(least), least.seconds / ours.seconds, 2 / 3))
        figures.append(
            Row(f"{task}, CPU", f"{ours.cpu:.2f} s", "floor", f"{least.cpu:.2f} s", least.cpu / ours.cpu, 2 / 3)
        )
        if rows == 1_000_000 and question in TUMULT:
            theirs = TUMULT[question]
            figures.append(
                Row(f"{question}, {rows:.0e} rows", str(ours), "Tumult", f"{theirs} s", theirs / ours.seconds, 3)
            )
    show("Spark", figures)


def groups(number: int, spark: Any, staging: str | None = None, *, executors: bool | None = None) -> None:
    """As many groups as users' pairs; few of them have a name in the end."""
    path = FOLDER / f"groups-{number:.0e}.parquet"
    if not path.exists():
        rows = spark.range(0, 2 * number, 1, 8)
        key = f"concat('key-', CASE WHEN id < {number // 5} THEN id % 1000 ELSE id % {number} END)"
        rows.selectExpr("id AS user_id", f"{key} AS key").write.parquet(str(path))
    start = time.perf_counter()
    table = dp.table(str(path), unit="user_id", columns={"key": dp.unknown_keys()}, max_groups=1, max_rows=1)
    engine = dp.engines.spark(spark, staging=staging, noise_on_executors=executors)
    session = dp.Session(t=table, budget=dp.Approx(EPSILON, DELTA), engine=engine)
    answer = session.sql("SELECT key, COUNT(*) AS n FROM t GROUP BY key").release(epsilon=EPSILON)
    seconds = time.perf_counter() - start
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    status = Path(f"/proc/{java(spark).pid}/status").read_text()
    driver = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024
    what = "driver alone" if staging else "driver and executor in one"
    print(
        f"{number:.0e} groups: {len(answer)} named in {seconds:.1f} s; peak of this process {own:.0f} MB, "
        f"of Java ({what}) {driver:.0f} MB, together {own + driver:.0f} MB"
    )


def groups_on_cluster(number: int, *, executors: bool) -> None:
    """The same on a cluster of processes, where the driver is by itself."""
    from pyspark.sql import SparkSession

    from tests.helpers.spark import Cluster, end, environment

    with Cluster(workers=2) as cluster:
        os.environ.update(environment(cluster.folder))
        builder = SparkSession.builder.appName("bench")
        for name, value in (cluster.settings() | {"spark.driver.memory": "512m"}).items():
            builder = builder.config(name, value)
        (cluster.folder / "staging").mkdir()
        spark = builder.getOrCreate()
        groups(number, spark, str(cluster.folder / "staging"), executors=executors)
        end(spark)


def scaling(rows: str, *names: str) -> None:
    """The same questions with one core and with two, each in a process of its own."""
    seconds: dict[str, list[float]] = {}
    for cores in ("1", "2"):
        command = [sys.executable, "-m", "bench.on_spark", rows, cores, *names]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        for row in (json.loads(line) for line in lines if line.startswith("{")):
            if row["peer"] == "floor" and not row["task"].endswith("CPU"):
                seconds.setdefault(row["task"].partition(",")[0], []).append(float(row["ours"].split()[0]))
    for question, (one, two) in seconds.items():
        print(f"{question}, {rows} rows: {one:.2f} s on 1 core, {two:.2f} s on 2: {one / two:.2f} times as fast")


def main() -> None:
    words = [word for word in sys.argv[1:] if word not in ("postgres", "spark")]
    if words[:1] == ["groups"]:
        number = int(float(words[1]))
        if "cluster" in words:
            groups_on_cluster(number, executors="here" not in words)
        else:
            groups(number, started(2))
    elif words[:1] == ["scaling"]:
        scaling(*words[1:])
    else:
        questions(int(float(words[0])) if words else 1_000_000, int(words[1]) if words[1:] else 2, *words[2:])


if __name__ == "__main__":
    main()
