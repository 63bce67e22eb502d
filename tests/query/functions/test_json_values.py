"""JSON_VALUE of flat objects: what Python's own reader says; NULL of everything else; the same on every engine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import duckdb as driver
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb.engine import duckdb
from discreet.engines.memory.engine import memory
from discreet.engines.postgres.engine import postgres
from discreet.errors import Unsupported
from discreet.query.engine import Engine
from tests.helpers.postgres_engine import execute

KEYS = ["mode", "m", "mode2", "a-b"]
VALUES = ["mode", "m", "", "x y", ",", "}", ":", "walk-in", "null", 0, 7, -3, 12345, True, False, None, "ä"]


def right(text: str | None, key: str) -> str | None:
    """What ->> gives of a flat object; None of other texts."""
    if text is None:
        return None
    value = json.loads(text).get(key)
    return value if value is None or isinstance(value, str) else json.dumps(value)


def texts(many: int) -> list[str | None]:
    random = Random(8)
    made: list[str | None] = [None, "{}"]
    for _ in range(many):
        keys = random.sample(KEYS, random.randint(1, 4))
        spaces = (random.choice([", ", ",", " ,  "]), random.choice([":", ": ", " : "]))
        values = {key: random.choice(VALUES) for key in keys}
        indent = random.choice([None, None, 1])
        made.append(json.dumps(values, ensure_ascii=False, indent=indent, separators=spaces))
    return made


def counts(engine: Engine, text: str, rows: list[str | None]) -> dict[object, int]:
    source = pa.table({"id": list(range(len(rows))), "x": pa.array(rows, pa.string())})
    table = dp.table(source, unit="id", max_rows=1, columns={"x": dp.unknown_keys()})
    session = dp.Session(t=table, engine=engine, budget=dp.Approx(10**9, "0.1"), progress=False)
    answer = session.sql(text).release(epsilon=10**6, delta="0.01")
    return {row["k"]: row["n"] for row in answer.rows}


@pytest.mark.parametrize("engine", [duckdb, memory], ids=["duckdb", "memory"])
@pytest.mark.parametrize("key", ["mode", "a-b"])
def test_what_json_says(engine: Callable[[], Engine], key: str) -> None:
    rows = [text for text in texts(60) for _ in range(30)]
    found = counts(engine(), f"SELECT JSON_VALUE(x, '$.\"{key}\"') AS k, COUNT(*) AS n FROM t GROUP BY 1", rows)
    assert found == Counter(right(text, key) for text in rows)


def test_bytes_that_are_no_text_are_null() -> None:
    stored = pa.array([b'{"a": "b"}', b"\xff{", b'{"a"'], pa.binary()).view(pa.string())
    for column in (stored, pa.ExtensionArray.from_storage(pa.json_(), stored)):
        table = dp.table(pa.table({"id": [1, 2, 3], "x": column}), unit="id", max_rows=1)
        session = dp.Session(t=table, budget=dp.Pure(10**9), progress=False)
        text = "SELECT COUNT(x) AS texts, COUNT(x ->> 'a') AS values FROM t"
        assert session.sql(text).release(epsilon=10**6).rows == [{"texts": 2, "values": 1}]


@pytest.mark.slow
def test_the_same_on_postgresql(fresh_database: str) -> None:
    rows = [text for text in texts(40) for _ in range(30)]
    execute(fresh_database, "CREATE TABLE t (id bigint, x text, j json)")
    lines = ", ".join(f"({i}, {_quoted(text)}, {_quoted(text)})" for i, text in enumerate(rows))
    execute(fresh_database, f"INSERT INTO t VALUES {lines}")
    for column in "xj":
        text = f"SELECT {column} ->> 'mode' AS k, COUNT(*) AS n FROM t GROUP BY 1"
        table = dp.table("t", unit="id", max_rows=1, columns={column: dp.unknown_keys()})
        session = dp.Session(t=table, engine=postgres(fresh_database), budget=dp.Approx(10**9, "0.1"), progress=False)
        answer = session.sql(text).release(epsilon=10**6, delta="0.01")
        assert {row["k"]: row["n"] for row in answer.rows} == Counter(right(each, "mode") for each in rows)


def _quoted(text: str | None) -> str:
    return "NULL" if text is None else "'" + text.replace("'", "''") + "'"


@pytest.mark.parametrize("text", ['{"mode": {"a": 1}}', '{"a": [1], "mode": "x"}', '["mode"]', "", "mode", '"mode"',
                                  '{"a": "\\"", "mode": "x"}', '{"a": {"mode": "y"}, "mode": "x"}'])  # fmt: skip
def test_null_of_what_is_not_flat(text: str) -> None:
    table = dp.table({"id": [1, 2], "x": [text, None]}, unit="id", max_rows=1)
    session = dp.Session(t=table, budget=dp.Pure(10**9), progress=False)
    assert session.sql("SELECT COUNT(x ->> 'mode') AS n FROM t").release(epsilon=10**6).rows == [{"n": 0}]


def test_paths_of_snowflake_and_stored_json(tmp_path: Path) -> None:
    path = tmp_path / "stored.duckdb"
    with driver.connect(str(path)) as made:
        made.execute('CREATE TABLE t AS SELECT 1 AS id, CAST(\'{"a": "b"}\' AS JSON) AS x')
    session = dp.Session(t=dp.table(f"{path}::t", unit="id", max_rows=1), budget=dp.Pure(10**9), progress=False)
    for condition in ("x:a::STRING = 'b'", "t.x:a = 'b'", "x:\"a\" || 'c' = 'bc'"):
        query = session.sql(f"SELECT COUNT(*) AS n FROM t WHERE {condition}", dialect="snowflake")
        assert query.release(epsilon=10**6).rows == [{"n": 1}]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("x ->> '$.a.b' = 'c'", "x ->> 'a' = 'c'"), ("JSON_VALUE(x, '$.a[0]') = 'c'", "JSON_VALUE(x, '$.a') = 'c'"),
     ("x -> 'a' = 'c'", "x ->> 'a' = 'c'"), ("JSON_EXTRACT(x, '$.a') = 'c'", "JSON_VALUE(x, '$.a') = 'c'")],
)  # fmt: skip
def test_other_paths_are_refused_with_what_works(wrong: str, right: str) -> None:
    table = dp.table({"id": [1], "x": ["{}"]}, unit="id", max_rows=1)
    session = dp.Session(t=table, budget=dp.Pure(10**9), progress=False)
    with pytest.raises(Unsupported, match=r"JSON_VALUE\(x, '\$.key'\)"):
        session.sql(f"SELECT COUNT(*) FROM t WHERE {wrong}")
    assert session.remaining == session.budget
    assert session.sql(f"SELECT COUNT(*) AS n FROM t WHERE {right}").preview(epsilon=1).columns
