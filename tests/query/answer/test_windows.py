"""Window functions over released rows, held against DuckDB's on the same rows."""

from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BadQuestion
from discreet.query.answer.windows import ALL, windowed

WINDOWS = [
    "ROW_NUMBER() OVER (ORDER BY n, c)", "RANK() OVER (ORDER BY n DESC)", "DENSE_RANK() OVER (ORDER BY n)",
    "PERCENT_RANK() OVER (ORDER BY n)", "CUME_DIST() OVER (ORDER BY n)", "NTILE(3) OVER (ORDER BY n, c)",
    "LAG(n) OVER (ORDER BY c)", "LEAD(n, 2, -1) OVER (PARTITION BY h ORDER BY c)",
    "FIRST_VALUE(c) OVER (ORDER BY n, c)",
    "LAST_VALUE(c) OVER (PARTITION BY h ORDER BY c ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
    "NTH_VALUE(n, 2) OVER (ORDER BY c)", "SUM(n) OVER ()", "SUM(n) OVER (PARTITION BY h)", "SUM(n) OVER (ORDER BY n)",
    "AVG(n) OVER (ORDER BY c ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)", "COUNT(*) OVER (PARTITION BY h ORDER BY n)",
    "COUNT(n) OVER ()", "MIN(n) OVER (PARTITION BY h)", "MAX(c) OVER (ORDER BY n ROWS UNBOUNDED PRECEDING)",
    "SUM(n) OVER (ORDER BY c ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
    "SUM(n) OVER (ORDER BY n RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
]  # fmt: skip
KEYS = ["a", "b", "c", "d", "e", "f", "g"]


def rows() -> dict[str, list[Any]]:
    random = Random(3)
    keys = random.choices(KEYS, [5, 5, 3, 3, 3, 2, 1], k=210)
    return {"id": list(range(210)), "c": keys, "h": [KEYS.index(key) % 2 for key in keys]}


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
def test_the_same_as_duckdb_says(window: str) -> None:
    data = rows()
    columns = {"c": dp.keys(KEYS), "h": dp.bounds(0, 1)}
    session = dp.Session(t=dp.table(data, unit="id", columns=columns), budget=dp.Pure(10**12))
    inner = "SELECT c, h, COUNT(*) AS n FROM t GROUP BY c, h HAVING COUNT(*) > 0"
    text = f"SELECT c, n, {window} AS w FROM ({inner}) AS g ORDER BY c"
    database = duckdb.connect()
    database.register("t", pa.table(data))
    query = session.sql(text)
    assert [tuple(row.values()) for row in query.release(epsilon=10**9).rows] == database.sql(text).fetchall()
    assert session.sql(query.text).plan == query.plan


@pytest.mark.parametrize(
    "window",
    [
        "RANK(n) OVER (ORDER BY n)", "NTILE(0) OVER (ORDER BY n)", "NTILE(n) OVER (ORDER BY n)", "LAG(n, 1.5) OVER ()",
        "SUM(c) OVER ()", "SUM(*) OVER ()", "MEDIAN(n) OVER ()", "LAG(n, 1, 'x') OVER (ORDER BY c)",
        "SUM(n) OVER (ORDER BY n RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)", "SUM(n) OVER (ORDER BY c NULLS FIRST)",
        "SUM(n) FILTER (WHERE n > 1) OVER ()",
    ],
)  # fmt: skip
def test_refused_for_nothing(window: str) -> None:
    session = dp.Session(t=dp.table(rows(), unit="id", columns={"c": dp.keys(KEYS)}), budget=dp.Pure(1))
    with pytest.raises(BadQuestion):
        session.sql(f"SELECT c, {window} AS w FROM (SELECT c, COUNT(*) AS n FROM t GROUP BY c) AS g")


def test_parts_that_are_empty_or_null() -> None:
    assert windowed("sum", [[None, None]], [0, 0], None, ordered=False) == [None, None]
    assert windowed("percent_rank", [], [0], None, ordered=True) == [0.0]
    assert windowed("sum", [[1.5, 2]], [0, 1], None, ordered=True) == [1.5, 3.5]
    assert windowed("nth_value", [[1, 2], [3, 3]], [0, 1], None, ordered=False) == [None, None]
    assert {"rank", "lag", "sum"} <= ALL
