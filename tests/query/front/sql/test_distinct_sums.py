"""SUM(DISTINCT x): the plan of the same question written as a SELECT over SELECT DISTINCT."""

from __future__ import annotations

import pytest

import discreet as dp
from discreet.errors import BadQuestion

ROWS = {"id": list(range(8)), "x": [1, 1, 2, 5, 5, 5, 9, None], "g": list("aaabbabb"), "free": list(range(8))}
COLUMNS = {"x": dp.bounds(0, 10), "g": dp.keys(["a", "b"])}


def session() -> dp.Session:
    return dp.Session(t=dp.table(ROWS, unit="id", columns=COLUMNS, max_rows=1), budget=dp.Pure(10**9))


@pytest.mark.parametrize(
    ("text", "same", "rows"),
    [
        ("SELECT SUM(DISTINCT x) AS s FROM t", "SELECT SUM(x) AS s FROM (SELECT DISTINCT x FROM t) AS d", [{"s": 17}]),
        ("SELECT SUM(DISTINCT t.x) AS s FROM t WHERE x > 1",
         "SELECT SUM(x) AS s FROM (SELECT DISTINCT x FROM t WHERE x > 1) AS d", [{"s": 16}]),
        ("SELECT g, AVG(DISTINCT x) AS m, COUNT(DISTINCT x) AS n FROM t GROUP BY 1 ORDER BY m DESC",
         "SELECT g, AVG(x) AS m, COUNT(x) AS n FROM (SELECT DISTINCT g, x FROM t) AS d GROUP BY g ORDER BY m DESC",
         [{"g": "b", "m": 7, "n": 2}, {"g": "a", "m": 8 / 3, "n": 3}]),
        ("SELECT UPPER(g) AS big, SUM(DISTINCT x) + 1 AS s FROM t GROUP BY big HAVING SUM(DISTINCT x) > 8",
         'SELECT "key 1" AS big, SUM(x) + 1 AS s FROM (SELECT DISTINCT UPPER(g) AS "key 1", x FROM t) AS d '
         'GROUP BY "key 1" HAVING SUM(x) > 8', [{"big": "B", "s": 15}]),
        ("SELECT UPPER(g) AS g, SUM(DISTINCT x) AS s FROM t GROUP BY g",
         "SELECT UPPER(g) AS g, SUM(x) AS s FROM (SELECT DISTINCT g, x FROM t) AS d GROUP BY g",
         [{"g": "A", "s": 8}, {"g": "B", "s": 14}]),
        ("WITH c AS (SELECT * FROM t WHERE g = 'a') SELECT SUM(DISTINCT 2 * x) AS s FROM c",
         "WITH c AS (SELECT * FROM t WHERE g = 'a') SELECT SUM(\"key 1\") AS s FROM "
         '(SELECT DISTINCT 2 * x AS "key 1" FROM c) AS d', [{"s": 16}]),
    ],
)  # fmt: skip
def test_it_is_the_question_over_different_values(text: str, same: str, rows: list[dict[str, object]]) -> None:
    asked = session().sql(text)
    assert asked.plan == session().sql(same).plan
    assert asked.quote(epsilon=1).plan == session().sql(same).quote(epsilon=1).plan
    assert asked.release(epsilon=10**6).rows == rows  # a wrong count: below 1e-1000


def test_min_and_max_do_not_care() -> None:
    s = session()
    assert s.sql("SELECT MIN(DISTINCT x) AS m, COUNT(*) AS n FROM t").plan == s.sql(
        "SELECT MIN(x) AS m, COUNT(*) AS n FROM t").plan  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT SUM(DISTINCT x) AS s, COUNT(*) AS n FROM t", "a query of its own"),
        ("SELECT SUM(DISTINCT x) AS s, SUM(DISTINCT free) AS f FROM t", "a query of its own"),
        ("SELECT SUM(DISTINCT x) FILTER (WHERE g = 'a') AS s FROM t", "a query of its own"),
        ("SELECT g, SUM(DISTINCT x) AS s FROM t GROUP BY ROLLUP (g)", "ROLLUP"),
        ("SELECT g, SUM(DISTINCT x) AS s FROM t GROUP BY 3", "no place in SELECT"),
    ],
)
def test_others_are_refused_by_name_for_nothing(text: str, words: str) -> None:
    s = session()
    with pytest.raises(BadQuestion, match=words):
        s.sql(text).release(epsilon=1)
    assert s.remaining == dp.Pure(10**9)
