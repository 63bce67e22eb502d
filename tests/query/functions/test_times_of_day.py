"""TIME: times of day from columns, moments and text, the same on every engine that stores them."""

from __future__ import annotations

from datetime import datetime, time
from functools import cache

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.errors import BadQuestion
from discreet.query.plan.types import TimeOfDay
from tests.helpers.postgres import Postgres
from tests.helpers.postgres_tables import load

ROWS = pa.table({
    "id": [1, 1, 2, 3, 4, 5],
    "ts": [datetime(2024, 1, 1, 22, 30), datetime(2024, 1, 1, 5), datetime(2024, 1, 1, 12, 0, 1), None,
           datetime(2024, 1, 1, 23, 59, 59), datetime(2024, 1, 2)],
    "opens": pa.array([time(8, 30), time(9), None, time(23, 59, 59), time(0), time(8, 30)], pa.time64("us")),
    "written": ["08:30", "x", "22:15:01", "7:00", None, "23:59:59"],
})  # fmt: skip


@cache
def session() -> dp.Session:
    return dp.Session(t=dp.table(ROWS, unit="id", max_rows=9), budget=dp.Approx(10**15, "0.5"))


def answered(asking: dp.Session, text: str) -> set[tuple[object, ...]]:
    rows = asking.sql(text).release(epsilon=10**11).rows
    return {tuple(round(x, 3) if isinstance(x, float) else x for x in row.values()) for row in rows}


CONDITIONS = [
    "CAST(ts AS TIME) >= TIME '22:00:00' OR CAST(ts AS TIME) < TIME '06:00:00'", "ts::TIME > '12:00'",
    "CAST(ts AS TIME) BETWEEN '05:00' AND '12:00:01'", "opens IN (TIME '08:30', TIME '09:00')", "opens IS NULL",
    "TRY_CAST(written AS TIME) > '08:00'", "opens < CAST(ts AS TIME)", "EXTRACT(HOUR FROM opens) = 8",
    "EXTRACT(MINUTE FROM opens) > EXTRACT(SECOND FROM opens)", "CASE WHEN id > 2 THEN opens END >= '08:30'",
    "CAST(opens AS TEXT) = '08:30:00'", "COALESCE(opens, TIME '00:00') = '00:00'", "NOT opens = '09:00'",
]  # fmt: skip


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_are_those_of_plain_sql(condition: str) -> None:
    text = f"SELECT COUNT(*) AS n FROM t WHERE {condition}"
    with duckdb.connect() as truth:
        truth.register("t", ROWS)
        assert answered(session(), text) == set(truth.sql(text).fetchall())
    query = session().sql(text)
    assert session().sql(query.text).text == query.text


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["memory", "postgres"])
def test_other_engines_say_the_same(engine: str, request: pytest.FixtureRequest) -> None:
    if engine == "memory":
        asking = dp.Session(t=dp.table(ROWS, unit="id", max_rows=9), budget=dp.Pure(10**15), engine=memory())
    else:
        server: Postgres = request.getfixturevalue("postgres")
        dsn = server.fresh()
        request.addfinalizer(lambda: server.drop(dsn))
        given = dp.table(load(dsn, ROWS), unit="id", max_rows=9)
        asking = dp.Session(t=given, budget=dp.Pure(10**15), engine=dp.engines.postgres(dsn))
    for condition in CONDITIONS:
        text = f"SELECT COUNT(*) AS n FROM t WHERE {condition}"
        got = {tuple(row.values()) for row in asking.sql(text).release(epsilon=10**11).rows}
        assert got == answered(session(), text), condition


def test_differences_are_durations_and_epochs_are_numbers() -> None:
    assert answered(session(), "SELECT COUNT(*) AS n FROM t WHERE CAST(ts AS TIME) - opens > INTERVAL '2 hours'") == {
        (2,)
    }
    assert answered(session(), "SELECT SUM(EXTRACT(EPOCH FROM opens)) AS s FROM t") == {(179_999,)}


def test_a_group_key_is_text_in_the_order_of_the_day() -> None:
    rows = session().sql("SELECT opens, COUNT(*) AS n FROM t WHERE opens = '08:30' GROUP BY opens")
    assert [row["opens"] for row in rows.release(epsilon=10**11, delta="0.01").rows] == ["08:30:00"]


def test_what_is_stored_beyond_whole_seconds_is_cut_off() -> None:
    late = pa.table({"id": [1], "x": pa.array([86_399_999_999], pa.time64("us"))})
    asking = dp.Session(t=dp.table(late, unit="id"), budget=dp.Pure(10**15))
    assert answered(asking, "SELECT COUNT(*) AS n FROM t WHERE x = '23:59:59'") == {(1,)}


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("opens > '25:00'", "22:30"), ("opens > 5", "a time of day cannot be compared with a number"),
        ("opens = ts", "a time of day cannot be compared with a time"), ("TIME '24:00' > opens", "22:30"),
        ("DAY(opens) = 1", "it has hours, minutes"), ("opens + 1 > 2", "a duration is added to durations"),
        ("opens * 2 > 1", "EXTRACT"), ("YEAR(opens) = 1", "a time of day"),
        ("CAST(id AS TIME) > '08:00'", "CAST AS TIME"),
    ],
)  # fmt: skip
def test_refused(said: str, word: str) -> None:
    with pytest.raises(BadQuestion, match=word):
        session().sql(f"SELECT COUNT(*) FROM t WHERE {said}")


@pytest.mark.parametrize("aggregate", ["AVG", "SUM", "MIN", "MAX", "MEDIAN"])
def test_aggregates_are_asked_of_its_seconds(aggregate: str) -> None:
    with pytest.raises(BadQuestion, match="EXTRACT"):
        session().sql(f"SELECT {aggregate}(opens) FROM t")
    assert session().sql(f"SELECT {aggregate}(EXTRACT(EPOCH FROM opens)) AS x FROM t").text.startswith("SELECT")


def test_a_text_is_read_strictly() -> None:
    assert [TimeOfDay.cells_of(text) for text in ("00:00", "23:59:59", "09:05:00.000", "9:05", "09:05:00.5", "")] == [
        0, 86_399, 32_700, None, None, None,
    ]  # fmt: skip
