"""Questions on PostgreSQL beside the floor: the best bounded aggregate without noise that we know in plain SQL.

Ours and the floor run in turns on a server that is started for this and holds one table. Seconds are the best of
several runs, from the question to the answer in hand, connecting included; CPU seconds are those of the server.
"""

from __future__ import annotations

import io
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import psutil
import psycopg
import pyarrow.parquet as pq
from pyarrow import csv

from bench.floors import BINS, GROUPS, MOST_KEYS, ONE, ROWS
from bench.measure import Row, show
from bench.table_runs import DELTA, EPSILON, QUESTIONS
from bench.trips import DAYS, REGIONS, trips
from tests.helpers.postgres import Postgres

RUNS = 3
LARGE = os.environ.get("DISCREET_BENCH_ROWS", "1e7")
EARLIER = {  # measured once at 1e6 rows on PostgreSQL 15, on the same kind of table; not run here
    "SmartNoise SQL 1.0.10": {"Q2": 1.5, "Q3": 5.6},
    "Qrlew 0.9.27": {"Q2": 3.6, "Q3": 11.7},
}
SETTINGS = {"shared_buffers": "1GB", "max_wal_size": "4GB", "autovacuum": "off", "effective_cache_size": "4GB"}


# --- the floor --------------------------------------------------------------------------------------------------------
# One sort by user and group, runs of neighbours, windows over the same order: hash tables and joins are slower by up to
# 2, lists by 1.2. Weights as in ``floors.py``.


def _l2(groups: str) -> str:
    root = f"CAST(floor(sqrt(CAST({ONE * ONE * GROUPS} / {groups} AS DOUBLE PRECISION))) AS BIGINT)"
    return f"CASE WHEN {groups} <= {GROUPS} THEN {ONE} ELSE {root} END"


def _l1(count: str, cap: int) -> str:
    return f"CASE WHEN {count} <= {cap} THEN {ONE} ELSE {ONE * cap} / {count} END"


_KNOWN = f"region IN ({', '.join(map(repr, REGIONS))})"
_AMOUNT = "CAST(CASE WHEN amount > 100 THEN 12800 WHEN amount > 0 THEN amount * 128 ELSE 0 END AS BIGINT)"
_PLACE = f"CASE WHEN amount >= 100 THEN {BINS - 1} WHEN amount > 0 THEN floor(amount * {BINS / 100}) ELSE 0 END"


def _pairs(key: str, columns: str = "", more: str = "", where: str = "true") -> str:
    rows = f"SELECT user_id, {key} AS key{columns} FROM {{table}} WHERE {where} ORDER BY user_id, {key}"
    return f"SELECT user_id, key{more} FROM ({rows}) AS rows GROUP BY user_id, key"


def _sized(pairs: str, columns: str = "") -> str:
    return f"SELECT user_id, key{columns}, count(*) OVER (PARTITION BY user_id) AS g FROM ({pairs}) AS pairs"


_REGION, _PRODUCT = 'region COLLATE "C"', 'product COLLATE "C"'
_BY_REGION = _sized(_pairs(_REGION, f", {_AMOUNT} AS x", ", count(*) AS n, sum(x) AS total", _KNOWN), ", n, total")
_CHOSEN = f"min(((bin * 271828183 + 314159265) % 2147483647) * {BINS} + bin)"
_BY_BIN = _sized(_pairs(_REGION, f", CAST({_PLACE} AS BIGINT) AS bin", f", {_CHOSEN} AS chosen", _KNOWN), ", chosen")
_RANKED = "row_number() OVER (PARTITION BY user_id ORDER BY md5('salt|' || user_id || '|' || key), key)"
FLOORS = {
    "Q1": f"""
    SELECT sum(n * {_l1("n", ROWS)})
    FROM (SELECT count(*) AS n FROM (SELECT user_id FROM {{table}} ORDER BY user_id) AS rows GROUP BY user_id) AS users
    """,
    "Q2": f"""
    SELECT key, sum(w / n * n), sum(w / n * total)
    FROM (SELECT key, n, total, {_l2("g")} AS w FROM ({_BY_REGION}) AS sized) AS weighted GROUP BY key
    """,
    "Q3": f"""
    WITH sized AS MATERIALIZED ({_sized(_pairs(_PRODUCT))}),
    ranked AS (SELECT key, {_RANKED} AS rank FROM sized WHERE g > {MOST_KEYS})
    SELECT key, sum(w) FROM (
        SELECT key, {_l2("g")} AS w FROM sized WHERE g <= {MOST_KEYS}
        UNION ALL SELECT key, {_l2(str(MOST_KEYS))} FROM ranked WHERE rank <= {MOST_KEYS}
    ) AS weighted GROUP BY key
    """,
    "Q4": f"SELECT key, sum({_l2('g')}) FROM ({_sized(_pairs('day'))}) AS sized GROUP BY key",
    "Q5": f"SELECT key, chosen % {BINS} AS bin, sum({_l2('g')}) FROM ({_BY_BIN}) AS sized GROUP BY 1, 2",
}


# --- a server ---------------------------------------------------------------------------------------------------------


@contextmanager
def server() -> Iterator[Postgres]:
    """PostgreSQL with room for the table, and no other work to do."""
    postgres = Postgres(durable=False)
    postgres.settings = {**postgres.settings, **SETTINGS}
    with postgres:
        yield postgres


def load(dsn: str, rows: str) -> str:
    """The trips as a table of the server."""
    name = f"trips_{rows}"
    with psycopg.connect(dsn) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {name}".encode())
        connection.execute(
            f"CREATE UNLOGGED TABLE {name} (user_id bigint, region text, product text, day integer, "
            "amount double precision, rating integer)".encode()
        )
        with connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv)".encode()) as copy:
            for batch in pq.ParquetFile(trips(int(float(rows)))).iter_batches(200_000):
                text = io.BytesIO()
                csv.write_csv(batch, text, csv.WriteOptions(include_header=False))
                copy.write(text.getvalue())
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"VACUUM ANALYZE {name}".encode())
    return name


@dataclass(frozen=True, slots=True)
class Timed:
    seconds: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.seconds:.3g} s ({self.cpu:.3g} CPU)"


def timed(work: Callable[[], object], postgres: Postgres) -> Timed:
    """Seconds of a call, and CPU seconds of the processes that the server started for it and that have ended."""
    main = psutil.Process(postgres.pid)
    idle, before, start = len(main.children()), _spent(main), time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    while len(main.children()) > idle:
        time.sleep(0.01)
    return Timed(seconds, _spent(main) - before)


def _spent(main: psutil.Process) -> float:
    times = main.cpu_times()
    return times.children_user + times.children_system


def best(runs: list[Timed]) -> Timed:
    return Timed(min(run.seconds for run in runs), statistics.median(run.cpu for run in runs))


# --- figures ----------------------------------------------------------------------------------------------------------


def ours(dsn: str, table: str, question: str) -> Any:
    """As a user writes it."""
    dp: Any = import_module("discreet")
    declared = {
        "amount": dp.bounds(0, 100),
        "region": dp.keys(REGIONS),
        "day": dp.keys(range(DAYS)),
        "product": dp.unknown_keys(),
    }
    source = dp.table(table, unit="user_id", columns=declared, max_rows=ROWS, max_groups=GROUPS, max_rows_per_group=1)
    session = dp.Session(trips=source, budget=dp.Approx(EPSILON, DELTA), engine=dp.engines.postgres(dsn))
    return session.sql(QUESTIONS[question]).release(epsilon=EPSILON).to_arrow()


def floor(dsn: str, table: str, question: str) -> int:
    with psycopg.connect(dsn) as connection:
        connection.execute("SET work_mem = '256MB'")
        connection.execute("SET jit = off")
        return len(connection.execute(FLOORS[question].format(table=table).encode()).fetchall())


def main() -> None:
    """Q1 to Q5 at 1e7 rows beside the floor, and at 1e6 rows beside what peers took."""
    rows = []
    with server() as running:
        small = load(running.dsn, "1e6")
        for question in ("Q2", "Q3"):
            ours(running.dsn, small, question)
            mine = best([timed(partial(ours, running.dsn, small, question), running) for _ in range(RUNS)])
            for peer, seconds in EARLIER.items():
                took = seconds[question]
                rows.append(Row(f"{question} at 1e6 rows", str(mine), peer, f"{took} s", took / mine.seconds, 1))
        large = load(running.dsn, LARGE)
        for question in QUESTIONS:
            turns = [
                [timed(partial(side, running.dsn, large, question), running) for side in (floor, ours)]
                for _ in range(RUNS)
            ]
            least, mine = (best(list(side)) for side in zip(*turns, strict=True))
            task = f"{question} at {LARGE} rows"
            rows.append(Row(task, str(mine), "floor", str(least), least.seconds / mine.seconds, 1 / 1.5))
            rows.append(
                Row(f"{task}, CPU", f"{mine.cpu:.3g} s", "floor", f"{least.cpu:.3g} s", least.cpu / mine.cpu, 1 / 1.5)
            )
    show("PostgreSQL", rows)
