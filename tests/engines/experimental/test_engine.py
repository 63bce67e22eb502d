"""The engine over any PEP 249 driver, on real databases: DuckDB, PostgreSQL, MariaDB; and Databricks' text on Spark.

The class is the same for all; so is the trial run, which must find a server that means something else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb as driver
import psycopg
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.experimental.databases import kinds, reading
from discreet.engines.experimental.engine import Experimental, ExperimentalWarning, experimental
from discreet.engines.experimental.source import Warehouse
from discreet.engines.sql.dialects import DUCKDB, POSTGRES
from discreet.errors import BadData, BadParameter, EngineFailed, EngineUnreachable, Unsupported
from discreet.query.plan.schema import StoredKind
from tests.helpers.mariadb import MariaDB

if TYPE_CHECKING:
    pass

KINDS = kinds(
    INTEGER="integer bigint", REAL="double double+precision", TEXT="varchar text", BOOLEAN="boolean", DATE="date",
    DECIMAL="numeric decimal", TIMESTAMP="timestamp timestamp+without+time+zone",
)  # fmt: skip
ON_DUCKDB = Warehouse(dialect=DUCKDB, kinds=KINDS, read=reading())
ON_POSTGRES = Warehouse(dialect=POSTGRES, kinds=KINDS, read=reading(TEXT='({0} COLLATE "C")'))
ROWS = "CREATE TABLE visits AS SELECT x % 40 AS patient, x % 7 AS cost, 'w' || (x % 3) AS ward FROM range(400) AS t(x)"
PATIENTS = {"unit": "patient", "columns": {"cost": dp.bounds(0, 5), "ward": dp.keys(["w0", "w1"])}}
EXACTLY = dp.Pure(10**9)
"""So much that the noise rounds to nothing."""


@pytest.fixture
def duckdb_file(tmp_path: Any) -> Callable[[], Any]:
    path = str(tmp_path / "clinic.duckdb")
    with driver.connect(path) as connection:
        connection.execute(ROWS)
    return lambda: driver.connect(path, read_only=True)


def session(engine: Any, table: str = "main.visits", budget: Any = EXACTLY) -> dp.Session:
    return dp.Session(visits=dp.table(table, **PATIENTS), engine=engine, budget=budget)  # type: ignore[arg-type]


def released(asked: dp.Session) -> list[tuple[Any, ...]]:
    answer = asked.sql("SELECT ward, COUNT(*) AS n, SUM(cost) AS total FROM visits GROUP BY ward").release(
        epsilon=10**8
    )
    columns = (answer["ward"], map(round, answer["n"]), map(round, answer["total"]))
    return list(zip(*columns, strict=True))


@pytest.mark.slow
def test_over_duckdb(duckdb_file: Callable[[], Any]) -> None:
    rows = [(f"w{x % 3}", min(x % 7, 5)) for x in range(400)]
    counted = [(w, sum(r[0] == w for r in rows), sum(r[1] for r in rows if r[0] == w)) for w in ("w0", "w1")]
    assert released(session(Experimental(ON_DUCKDB, duckdb_file))) == counted


@pytest.mark.slow
def test_over_postgres(fresh_database: str) -> None:
    with psycopg.connect(fresh_database) as connection:
        connection.execute(ROWS.replace("range(400)", "generate_series(0, 399)").encode())
    engine = Experimental(ON_POSTGRES, lambda: psycopg.connect(fresh_database))
    rows = released(session(engine, "public.visits"))
    assert [row[0] for row in rows] == ["w0", "w1"]
    assert [row[1] for row in rows] == [134, 133]
    assert {how.kind for how in engine.columns("public.visits").values()} == {StoredKind.INTEGER, StoredKind.TEXT}


@pytest.mark.slow
def test_over_mariadb(mariadb: MariaDB) -> None:
    table = pa.table({
        "patient": pa.array([x % 40 for x in range(400)], pa.int32()),
        "cost": pa.array([x % 7 for x in range(400)], pa.int8()),
        "ward": [f"w{x % 3}" for x in range(400)],
    })  # fmt: skip
    with pytest.warns(ExperimentalWarning, match="mariadb"):
        engine = experimental("mariadb", mariadb.connect)
    rows = released(session(engine, mariadb.load(table)))
    assert [row[:2] for row in rows] == [("w0", 134), ("w1", 133)]


@pytest.mark.slow
def test_a_server_that_is_away_costs_nothing(duckdb_file: Callable[[], Any]) -> None:
    away = False

    def connect() -> Any:
        if away:
            raise OSError("password=secret")
        return duckdb_file()

    asked = session(Experimental(ON_DUCKDB, connect))
    away = True
    with pytest.raises(EngineUnreachable) as raised:
        released(asked)
    assert "secret" not in str(raised.value)
    assert asked.remaining == EXACTLY


@pytest.mark.slow
def test_what_a_dialect_cannot_do_is_refused_before_the_payment(duckdb_file: Callable[[], Any]) -> None:
    lacking = {name: form for name, form in DUCKDB.templates.items() if name != "length"}
    engine = Experimental(replace(ON_DUCKDB, dialect=replace(DUCKDB, name="lacking", templates=lacking)), duckdb_file)
    asked = session(engine)
    with pytest.raises(Unsupported, match="length on lacking"):
        asked.sql("SELECT COUNT(*) AS n FROM visits WHERE LENGTH(ward) = 2").release(epsilon=1)
    assert asked.remaining == EXACTLY


@pytest.mark.slow
def test_a_failure_says_nothing(duckdb_file: Callable[[], Any], caplog: pytest.LogCaptureFixture) -> None:
    asked = session(Experimental(ON_DUCKDB, Later(duckdb_file)))
    with caplog.at_level(logging.ERROR), pytest.raises(EngineFailed) as raised:
        released(asked)
    assert "Meier" not in str(raised.value) + caplog.text
    assert asked.remaining != EXACTLY  # it stays paid


class Later:
    """Connections that fail on the first statement over the owner's rows, after those that describe them."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self.connect = connect
        self.rows: list[Any] = []

    def __call__(self) -> Any:
        return self

    def cursor(self) -> Any:
        return self

    def execute(self, sql: str) -> None:
        if '"visits"' in sql:
            raise driver.Error("the row of Meier is broken")
        with self.connect() as connection:
            self.rows = connection.execute(sql).fetchall()

    def fetchall(self) -> list[Any]:
        return self.rows

    def close(self) -> None:
        pass


@pytest.mark.slow
def test_a_table_that_is_not_there(duckdb_file: Callable[[], Any]) -> None:
    engine = Experimental(ON_DUCKDB, duckdb_file)
    for source in ("main.nothing", "main.nothing'; DROP TABLE visits; --", ("main", 'x"y')):
        with pytest.raises(BadData, match="may read"):
            engine.columns(source)
    assert engine.columns("main.visits")


def test_bad_parameters() -> None:
    with pytest.raises(BadParameter, match="must be one of bigquery"):
        experimental("oracle", lambda: None)
    with pytest.raises(BadParameter, match="function that opens"):
        experimental("bigquery", "a connection")  # type: ignore[arg-type]
