"""The trial run: a server that means something else is refused before it sees data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb as driver
import psycopg
import pytest

from discreet.engines.experimental.databases import WAREHOUSES
from discreet.engines.experimental.dialects import DATABRICKS, MARIADB
from discreet.engines.experimental.engine import Experimental
from discreet.engines.experimental.trial_run import agrees, check_server, origin, works
from discreet.engines.sql.dialects import DUCKDB, POSTGRES
from discreet.errors import BadData
from tests.helpers.mariadb import MariaDB

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


def on_duckdb(sql: str) -> Sequence[Sequence[Any]]:
    with driver.connect() as connection:
        return connection.execute(sql).fetchall()


def test_a_server_that_computes_as_we_do_passes(postgres_dsn: str) -> None:
    check_server(DUCKDB, on_duckdb)
    with psycopg.connect(postgres_dsn) as connection:
        check_server(POSTGRES, lambda sql: connection.execute(sql.encode()).fetchall())


TEXT = MARIADB.templates["cast_text"]


WRONG = {
    "division rounds": {"quotient": "CAST(round({0} / {1}) AS SIGNED)"},
    "division goes down": {"div": "CAST(floor({0} / NULLIF({1}, 0)) AS SIGNED)"},
    "the rest follows the divisor": {"mod": "((({0} % NULLIF({1}, 0)) + {1}) % NULLIF({1}, 0))"},
    "half is cut": {"half": "({0} DIV 2)"},
    "another hash": {"md5": "sha1({0})"},
    "another joint in the hash": {"integer_to_text": "CAST({0} + 0.0 AS CHAR)"},
    "spaces at the end do not count": {"cast_text": TEXT.replace("nopad_bin", "bin")},
    "letters of any case are equal": {"cast_text": TEXT.replace("nopad_bin", "general_nopad_ci")},
    "lengths in bytes": {"length": "length({0})"},
    "all letters are lowered": {"lower": "lower({0})"},
    "a number may end with a line": {"matching": "nullif(regexp_substr(replace({0}, '\n', ''), {1}), '')"},
    "weeks begin on Sunday": {"day_of_week": "dayofweek({0})"},
    "floats are summed": {"sum": "sum(CAST({0} AS DOUBLE))"},
    "no such function": {"sign": "no_such_function({0})"},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_server_that_means_something_else_is_refused(wrong: str, mariadb: MariaDB) -> None:
    planted = replace(MARIADB, templates={**MARIADB.templates, **WRONG[wrong]})
    engine = Experimental(replace(WAREHOUSES["mariadb"], dialect=planted), mariadb.connect)
    with pytest.raises(BadData, match="must compute as plain Python does"):
        engine.ready()


def test_a_refused_server_sees_no_table(mariadb: MariaDB) -> None:
    planted = replace(MARIADB, templates={**MARIADB.templates, "md5": "reverse(md5({0}))"})
    engine = Experimental(replace(WAREHOUSES["mariadb"], dialect=planted), mariadb.connect)
    with pytest.raises(BadData, match="the bounding"):
        engine.columns("lab.nothing")


def test_databricks_text_on_spark(spark: SparkSession) -> None:
    """A few of them: the contract suite has asked Spark for all of it, in the same words."""
    here = origin(DATABRICKS)
    for what, work in works(DATABRICKS, here)[2::9]:
        assert agrees(work, DATABRICKS, here, lambda sql: [tuple(row) for row in spark.sql(sql).collect()]), what
