"""Questions on Spark beside the floor there: the same bounded sums in plain Spark SQL, without noise.

    .venv-bench/bin/python -m bench.on_spark 1e6 2        rows, cores; then, if not all, the questions
    .venv-bench/bin/python -m bench.on_spark groups 5e6   unknown keys with so many groups, and the driver's memory

One process and one session, which is warm before anything is measured; ours and the floor run in turns.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import discreet as dp
from bench.floors import BINS, GROUPS, ONE, ROWS
from bench.measure import Row, show
from bench.table_runs import DELTA, EPSILON, QUESTIONS
from bench.trips import DAYS, FOLDER, REGIONS, trips

REPEATS = 2
TUMULT = {"Q2": 50.0, "Q3": 36.0}
"""Seconds of Tumult Analytics 0.21 on Spark 3.5 at 1e6 rows, measured once on the same kind of table; not run here."""
_WEIGHT = (
    f"CASE WHEN g <= {GROUPS} THEN {ONE} "
    f"ELSE CAST(floor(sqrt(CAST({ONE * ONE * GROUPS} div g AS DOUBLE))) AS BIGINT) END"
)
_AMOUNT = "CAST(CASE WHEN amount > 100 THEN 12800 WHEN amount > 0 THEN floor(amount * 128) ELSE 0 END AS BIGINT)"
_PLACE = f"CASE WHEN amount >= 100 THEN {BINS - 1} WHEN amount > 0 THEN floor(amount * {BINS / 100}) ELSE 0 END"
_WEIGHED = (
    f"weights AS (SELECT user_id, {_WEIGHT} AS w FROM (SELECT user_id, count(*) AS g FROM pairs GROUP BY user_id))"
)
_LISTED = f"region IN ({', '.join(map(repr, REGIONS))})"
FLOORS = {
    "Q1": f"SELECT sum(n * CASE WHEN n <= {ROWS} THEN {ONE} ELSE {ONE * ROWS} div n END) AS n "
    "FROM (SELECT count(*) AS n FROM trips GROUP BY user_id)",
    "Q2": f"WITH pairs AS (SELECT user_id, region AS key, count(*) AS n, sum({_AMOUNT}) AS total FROM trips "
    f"WHERE {_LISTED} GROUP BY user_id, region), {_WEIGHED} "
    "SELECT key, sum(w div n * n) AS n, sum(w div n * total) AS total "
    "FROM pairs JOIN weights USING (user_id) GROUP BY key",
    "Q3": f"WITH pairs AS (SELECT user_id, product AS key FROM trips GROUP BY user_id, product), {_WEIGHED} "
    "SELECT key, sum(w) AS n FROM pairs JOIN weights USING (user_id) GROUP BY key",
    "Q4": f"WITH pairs AS (SELECT user_id, day AS key FROM trips GROUP BY user_id, day), {_WEIGHED} "
    "SELECT key, sum(w) AS n FROM pairs JOIN weights USING (user_id) GROUP BY key",
    "Q5": f"WITH pairs AS (SELECT user_id, region AS key, min({_PLACE}) AS bin FROM trips WHERE {_LISTED} "
    f"GROUP BY user_id, region), {_WEIGHED} "
    "SELECT key, bin, sum(w) AS n FROM pairs JOIN weights USING (user_id) GROUP BY key, bin",
}
"""The floor of Q3 leaves out the choice among too many keys of one user."""


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


def best(*works: Callable[[], Any]) -> list[float]:
    """The least seconds of each, in turns."""
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(REPEATS):
        for work, mine in zip(works, seconds, strict=True):
            start = time.perf_counter()
            work()
            mine.append(time.perf_counter() - start)
    return [min(mine) for mine in seconds]


def questions(rows: int, cores: int, *names: str) -> None:
    spark = started(cores)
    path = trips(rows)
    spark.read.parquet(str(path)).createOrReplaceTempView("trips")
    engine = dp.engines.spark(spark)
    figures: list[Row] = []
    for question in names or FLOORS:
        floor = FLOORS[question]
        asked(question, path, engine)
        ours, least = best(lambda q=question: asked(q, path, engine), lambda f=floor: spark.sql(f).toArrow())  # type: ignore[misc]
        figures.append(
            Row(
                f"{question}, {rows:.0e} rows, {cores} cores",
                f"{ours:.2f} s",
                "floor",
                f"{least:.2f} s",
                least / ours,
                2 / 3,
            )
        )
        if rows == 1_000_000 and question in TUMULT:
            theirs = TUMULT[question]
            figures.append(
                Row(f"{question}, {rows:.0e} rows", f"{ours:.2f} s", "Tumult", f"{theirs} s", theirs / ours, 3)
            )
    show("Spark", figures)


def groups(number: int) -> None:
    """As many groups as users' pairs; few of them have a name in the end."""
    spark = started(2)
    path = FOLDER / f"groups-{number:.0e}.parquet"
    if not path.exists():
        rows = spark.range(0, 2 * number, 1, 8)
        key = f"concat('key-', CASE WHEN id < {number // 5} THEN id % 1000 ELSE id % {number} END)"
        rows.selectExpr("id AS user_id", f"{key} AS key").write.parquet(str(path))
    start = time.perf_counter()
    table = dp.table(str(path), unit="user_id", columns={"key": dp.unknown_keys()}, max_groups=1, max_rows=1)
    session = dp.Session(t=table, budget=dp.Approx(EPSILON, DELTA), engine=dp.engines.spark(spark))
    answer = session.sql("SELECT key, COUNT(*) AS n FROM t GROUP BY key").release(epsilon=EPSILON)
    seconds = time.perf_counter() - start
    gateway: Any = spark.sparkContext._gateway
    java = subprocess.run(["ps", "-o", "rss=", "-p", str(gateway.proc.pid)], capture_output=True, text=True, check=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{number:.0e} groups: {len(answer)} named in {seconds:.1f} s; peak of this process {peak:.0f} MB; "
        f"Java (driver and executor in one) {int(java.stdout) / 1024:.0f} MB"
    )


def main() -> None:
    words = [word for word in sys.argv[1:] if word not in ("postgres", "spark")]
    if words[:1] == ["groups"]:
        groups(int(float(words[1])))
    else:
        questions(int(float(words[0])) if words else 1_000_000, int(words[1]) if words[1:] else 2, *words[2:])


if __name__ == "__main__":
    main()
