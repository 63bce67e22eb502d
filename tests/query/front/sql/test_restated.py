"""PIVOT, MODE, WINDOW, EXISTS in an expression and SELECT without FROM: the values that DuckDB gives."""

from __future__ import annotations

from functools import cache

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BadQuestion, Unsupported

VISITS = {"id": [1, 1, 2, 3, 3, 3, 4, 5], "k": list("aabbbaab"), "c": list("xyxyyxyx"), "x": [1, 2, 3, 4, 5, 6, 7, 9]}
PEOPLE = {"pid": list(range(1, 8)), "city": list("uvuvuvu"), "low": [2, 9, 3, 8, 10, 0, 1]}
TABLES = {"visits": pa.table(VISITS), "people": pa.table(PEOPLE)}


@cache
def session() -> dp.Session:
    keys = {"k": dp.keys(["a", "b"]), "c": dp.keys(["x", "y"])}
    visits = dp.table(TABLES["visits"], unit="id", columns={**keys, "x": dp.bounds(0, 10)}, max_rows=9)
    people = dp.table(TABLES["people"], unit="pid", columns={"city": dp.keys(["u", "v"]), "low": dp.bounds(0, 10)})
    return dp.Session(visits=visits, people=people, budget=dp.Pure(10**12))


def plain(text: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as truth:
        for name, table in TABLES.items():
            truth.register(name, table)
        return sorted(truth.sql(text).fetchall(), key=str)


EXISTS = "EXISTS (SELECT 1 FROM visits v WHERE v.id = p.pid AND v.x > p.low)"


@pytest.mark.parametrize(
    "text",
    [
        "PIVOT visits ON c USING COUNT(*) GROUP BY k",
        "PIVOT visits ON c IN ('y', 'x') USING SUM(x) AS total, COUNT(*) GROUP BY k",
        "SELECT * FROM (SELECT k, c, x FROM visits) AS s PIVOT (SUM(x) FOR c IN ('x', 'y')) AS p",
        "SELECT k, MODE(c) AS usual FROM visits WHERE x > 1 AND x < 9 GROUP BY k",
        "SELECT MODE() WITHIN GROUP (ORDER BY k) AS usual FROM visits WHERE x > 1",
        "SELECT MODE(v.k) AS usual, p.city FROM visits v JOIN people p ON p.pid = v.id "
        "WHERE x > 1 AND x <> 3 GROUP BY p.city",
        f"SELECT city, SUM(CASE WHEN {EXISTS} THEN 1 ELSE 0 END) AS n FROM people p GROUP BY city",
        f"SELECT COUNT(*) AS n FROM people p WHERE city = 'v' OR NOT {EXISTS}",
        "SELECT (SELECT COUNT(*) FROM visits) AS n, (SELECT COUNT(*) FROM people WHERE city = 'u') AS u",
        "WITH busy AS (SELECT id FROM visits GROUP BY id HAVING COUNT(*) > 1) "
        "SELECT 100 * (SELECT COUNT(*) FROM busy) / (SELECT COUNT(*) FROM people) AS share",
        "SELECT place, COUNT(*) AS n FROM (SELECT ROW_NUMBER() OVER w AS place FROM visits "
        "WINDOW w AS (PARTITION BY id ORDER BY x)) AS t WHERE place <= 3 GROUP BY place",
        "SELECT SUM(CASE WHEN x > 4 THEN 1 END) - SUM(CASE WHEN x < 3 THEN 1 END) AS n FROM visits",
    ],
)
def test_what_duckdb_says(text: str) -> None:
    rows = [tuple(row.values()) for row in session().sql(text).release(epsilon=10**9).rows]
    right = plain(text)
    assert sorted([tuple(round(v) if isinstance(v, float) else v for v in row) for row in rows], key=str) == [
        tuple(round(v) if isinstance(v, float) else v for v in row) for row in right
    ]


def test_columns_of_a_pivot_are_called_as_duckdb_calls_them() -> None:
    text = "PIVOT visits ON c IN ('y', 'x') USING SUM(x) AS total, COUNT(*) GROUP BY k"
    with duckdb.connect() as truth:
        truth.register("visits", TABLES["visits"])
        names = [column[0] for column in truth.execute(text).description or []]
    assert list(session().sql(text).release(epsilon=10**9).rows[0]) == names


@pytest.mark.parametrize(
    ("text", "word", "right"),
    [
        ("PIVOT visits ON c USING COUNT(*)", "without GROUP BY", "PIVOT visits ON c USING COUNT(*) GROUP BY k"),
        ("PIVOT visits ON x USING COUNT(*) GROUP BY k", "list them",
         "PIVOT visits ON x IN (1, 2) USING COUNT(*) GROUP BY k"),
        ("SELECT * FROM visits PIVOT (SUM(x) FOR c IN ('x'))", "a subquery that names its columns",
         "SELECT * FROM (SELECT k, c, x FROM visits) AS s PIVOT (SUM(x) FOR c IN ('x')) AS p"),
        ("SELECT k, MODE(c), COUNT(*) FROM visits GROUP BY k", "beside the keys alone",
         "SELECT k, MODE(c) FROM visits GROUP BY k"),
    ],
)  # fmt: skip
def test_a_refusal_shows_what_works(text: str, word: str, right: str) -> None:
    before = session().remaining
    with pytest.raises(Unsupported, match=word):
        session().sql(text)
    assert session().remaining == before
    assert session().sql(right).preview(epsilon=1).columns


@pytest.mark.parametrize(
    ("text", "word"),
    [("SELECT SUM(x) OVER w FROM visits", "no window of this name"), ("SELECT MODE() FROM visits", r"write MODE\(x\)"),
     ("SELECT (SELECT x, k FROM visits)", "has one column"), ("SELECT MODE(k) AS m FROM nobody", "no table nobody")],
)  # fmt: skip
def test_refused(text: str, word: str) -> None:
    with pytest.raises(BadQuestion, match=word):
        session().sql(text)
