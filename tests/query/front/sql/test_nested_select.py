"""Aggregates, joins and unions of released groups: what SQL says of the released rows, at the price of these alone."""

from collections.abc import Iterable
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.checking.exact.queries import check_query
from discreet.errors import BadParameter, BadQuestion

ROWS = {
    "id": list(range(100)), "c": ["a"] * 50 + ["b"] * 30 + ["d"] * 20, "e": [n % 10 for n in range(100)],
    "f": ["x" if n % 3 else "y" for n in range(100)],
}  # fmt: skip
G = "(SELECT c, COUNT(*) AS n, SUM(e) AS m FROM t GROUP BY c) AS g"
CTE = (
    "WITH g AS (SELECT c, COUNT(*) AS n FROM t GROUP BY c), "
    "h AS (SELECT c, COUNT(*) AS n FROM t WHERE e > 7 GROUP BY c)"
)
PARTS = (
    "WITH a AS (SELECT c, COUNT(*) AS n FROM t WHERE c < 'd' GROUP BY c), "
    "b AS (SELECT c, COUNT(*) AS n FROM t WHERE c > 'a' GROUP BY c)"
)
TEXTS = [
    f"SELECT AVG(n) AS a, MAX(n) AS b, MIN(n) AS l, COUNT(*) AS k, SUM(m) AS s FROM {G}",
    f"SELECT MEDIAN(n) AS a, STDDEV(n) AS b, VARIANCE(n) AS v, COUNT(DISTINCT n > 25) AS d FROM {G}",
    f"SELECT n > 25 AS large, COUNT(*) AS k, SUM(n) AS s FROM {G} GROUP BY n > 25 ORDER BY large",
    f"SELECT n > 25 AS large, SUM(n) FILTER (WHERE m > 100) AS s FROM {G} GROUP BY large HAVING COUNT(*) > 1",
    f"SELECT COUNT(*) AS k, SUM(n) AS s FROM {G} WHERE n < 10",
    f"SELECT DISTINCT n > 25 AS l FROM {G} ORDER BY l",
    "SELECT c FROM (SELECT c, COUNT(*) AS n FROM t GROUP BY c ORDER BY n LIMIT 2) AS g WHERE n > 25",
    f"SELECT c, RANK() OVER (ORDER BY r DESC) AS x FROM (SELECT c, RANK() OVER (ORDER BY n) AS r FROM {G}) AS h "
    "WHERE r > 1 ORDER BY c",
    "SELECT SUM(SUM(n)) OVER () AS x, f FROM (SELECT f, c, COUNT(*) AS n FROM t GROUP BY f, c) AS z GROUP BY f "
    "ORDER BY f",
    "SELECT AVG(s) AS a FROM (SELECT f, SUM(n) AS s FROM (SELECT f, c, COUNT(*) AS n FROM t GROUP BY f, c) AS z "
    "GROUP BY f) AS y",
    "SELECT 'all' AS what, COUNT(*) AS n FROM t UNION ALL SELECT c, COUNT(*) FROM t GROUP BY c ORDER BY n DESC LIMIT 3",
    "SELECT COUNT(*) AS n FROM t UNION ALL (SELECT COUNT(*) FROM t WHERE e > 3 UNION ALL SELECT SUM(e) FROM t) "
    "ORDER BY n",
    "SELECT SUM(n) AS s FROM (SELECT COUNT(*) AS n FROM t UNION ALL SELECT COUNT(*) FROM t WHERE e > 3) AS u",
    f"{CTE} SELECT g.c, 100.0 * h.n / g.n AS share FROM g JOIN h ON g.c = h.c ORDER BY share, g.c",
    f"{CTE} SELECT c, g.n, h.n AS high FROM g LEFT JOIN h USING (c) WHERE g.n > 25 ORDER BY c",
    f"{CTE} SELECT x.c, y.c AS other FROM g AS x, g AS y WHERE x.n = y.n AND x.n < 40 ORDER BY x.c",
    f"{CTE}, w AS (SELECT COUNT(*) AS n FROM t) SELECT g.c, g.n / w.n AS share FROM g CROSS JOIN w ORDER BY g.c",
    f"{CTE} SELECT SUM(g.n) AS s, COUNT(*) AS k FROM g, h WHERE g.c = h.c AND h.n > 4",
    f"{PARTS} SELECT a.c, b.c AS d, a.n, b.n AS m FROM a FULL JOIN b ON a.c = b.c ORDER BY a.c, d",
    f"{PARTS} SELECT COALESCE(a.c, b.c) AS c, COALESCE(a.n, 0) - COALESCE(b.n, 0) AS n FROM a FULL JOIN b ON a.c = b.c "
    "ORDER BY c",
    f"{PARTS} SELECT a.n, b.c, b.n AS m FROM a RIGHT JOIN b ON a.c = b.c ORDER BY b.c",
    f"{PARTS} SELECT COUNT(*) AS k, SUM(n) AS s FROM (SELECT a.n, b.c FROM a FULL JOIN b ON a.c = b.c) AS z",
]
ON_EXPRESSIONS = [
    f"{PARTS} SELECT a.c, b.c AS d FROM a FULL JOIN b ON UPPER(a.c) = UPPER(b.c) WHERE a.n IS NULL OR b.n IS NULL "
    "ORDER BY a.c, d",
    f"{PARTS} SELECT a.n, b.n AS m FROM a FULL JOIN b ON a.n = b.n + 30 ORDER BY a.n, m",
    f"{PARTS} SELECT a.n, b.n AS m FROM a FULL JOIN b ON a.n % 5 = b.n % 10 ORDER BY a.n, m",
]


def session() -> dp.Session:
    columns = {"e": dp.bounds(0, 9), "c": dp.keys(["a", "b", "d"]), "f": dp.keys(["x", "y"])}
    return dp.Session(t=dp.table(ROWS, unit="id", columns=columns, max_rows=1), budget=dp.Pure(10**15))


def rounded(rows: Iterable[Iterable[object]]) -> list[tuple[object, ...]]:
    return [tuple(round(v, 6) if isinstance(v, float) else v for v in row) for row in rows]


@pytest.mark.parametrize("text", [*TEXTS, *ON_EXPRESSIONS])
def test_as_sql_says(text: str) -> None:
    t = pa.table(ROWS)  # noqa: F841 - DuckDB finds it by its name
    expected = duckdb.execute(text).fetchall()
    asking = session()
    answer = asking.sql(text).release(epsilon=10**9)
    assert rounded(row.values() for row in answer.rows) == rounded(expected)
    assert isinstance(asking.remaining, (dp.Approx, dp.Pure))
    assert asking.remaining == dp.Pure(10**15 - 10**9)


@pytest.mark.parametrize("text", TEXTS)
def test_its_text_is_read_back(text: str) -> None:
    asking = session()
    asked = asking.sql(text)
    assert asking.sql(asked.text).plan == asked.plan


def test_a_question_that_is_used_twice_is_released_once() -> None:
    twice = session().sql(f"{CTE} SELECT x.c, x.n + y.n AS s FROM g AS x JOIN g AS y ON x.c = y.c")
    once = session().sql("SELECT c, COUNT(*) AS n FROM t GROUP BY c")
    assert not twice.plan.beside
    assert twice.preview(epsilon=1).columns == once.preview(epsilon=1).columns


def test_what_nothing_uses_is_not_paid_for() -> None:
    asked = session().sql(f"SELECT MAX(n) AS x FROM {G}")
    assert [m.name for m in asked.plan.measures] == ["n"]


def test_several_questions_share_one_price() -> None:
    asking = session()
    alone = asking.sql("SELECT COUNT(*) AS n FROM t").preview(epsilon=1)
    both = asking.sql("SELECT COUNT(*) AS n FROM t UNION ALL SELECT COUNT(*) FROM t WHERE e > 3").preview(epsilon=1)
    assert len(both.columns) == 2
    assert both.error("n") > 1.8 * alone.error("n")  # each gets half of it; bars end on whole numbers
    assert both.cost == alone.cost


def test_error_bars_hold_the_exact_values() -> None:
    """All intervals of an answer hold together but with the chance of 1e-9."""
    text = f"SELECT SUM(n) AS s, AVG(n) AS a, MAX(n) AS x FROM {G}"
    answer = session().sql(text).release(epsilon=1)
    for name, exact in (("s", 100), ("a", 100 / 3), ("x", None)):
        (found,) = answer.intervals(1 - 1e-9)[name]
        assert found is not None
        low, high = found
        assert exact is None or low <= exact <= high
        assert low <= answer[name][0] <= high


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (f"SELECT SUM(c) AS s FROM {G}", "SUM needs a number"),
        (f"SELECT AVG(n) AS s FROM {G} WHERE n", "condition"),
        (f"SELECT CORR(n, m) AS s FROM {G}", "CORRELATION"),
        (f"SELECT c, SUM(n) AS s FROM {G} GROUP BY ROLLUP (c)", "ROLLUP"),
        ("SELECT c, COUNT(*) AS n FROM t GROUP BY c UNION ALL SELECT COUNT(*), 1 FROM t", "UNION ALL is"),
        ("SELECT c, COUNT(*) AS n FROM t GROUP BY c UNION ALL SELECT COUNT(*) FROM t", "as many columns"),
        ("SELECT COUNT(*) AS n FROM t INTERSECT ALL SELECT COUNT(*) FROM t", "INTERSECT ALL"),
        ("SELECT COUNT(*) AS n FROM t UNION ALL SELECT e FROM t", "returns rows"),
        (f"{CTE} SELECT g.c FROM g, h", "equal columns"),
        (f"{CTE} SELECT g.c FROM g JOIN h ON g.c > h.c", "equal columns"),
        (f"{CTE} SELECT g.c FROM g JOIN h ON g.c = h.n", "cannot mix"),
        (f"{CTE} SELECT g.c FROM g FULL JOIN h USING (c)", "FULL"),
        (f"{CTE} SELECT g.c FROM g LEFT JOIN h ON g.c = h.c AND h.n > 3", "more than equal values"),
        (f"{CTE} SELECT g.c FROM g JOIN g ON g.c = g.c", "same name|ambiguous"),
        (f"SELECT e FROM t WHERE e > 3 UNION ALL SELECT n FROM {G}", "returns rows"),
    ],
)
def test_refused_for_nothing(text: str, word: str) -> None:
    asking = session()
    with pytest.raises(BadQuestion, match=word):
        asking.sql(text)
    assert asking.remaining == asking.budget


def test_no_neighbour_moves_several_questions_further_than_their_price() -> None:
    text = f"{CTE} SELECT SUM(g.n) AS s FROM g JOIN h ON g.c = h.c UNION ALL SELECT COUNT(*) FROM t WHERE f = 'x'"
    assert check_query(session().sql(text), tables=20).ok


def test_verbs_say_the_same() -> None:
    asking = session()
    counts = asking["t"].group_by("c").agg(n=dp.agg.count())
    flat = "SELECT c, COUNT(*) AS n FROM t GROUP BY c"
    most = asking.sql(f"SELECT MAX(n) AS most FROM ({flat}) AS g")
    assert counts.agg(most=dp.agg.max("n")).plan == most.plan
    by = asking.sql(f"SELECT n > 25 AS large, SUM(n) AS s FROM ({flat}) AS g GROUP BY n > 25")
    assert counts.agg(s=dp.agg.sum("n"), by=dp.expr("n > 25 AS large")).plan == by.plan
    both = asking.sql(f"{flat} UNION ALL SELECT f, COUNT(*) AS n FROM t GROUP BY f")
    assert counts.union_all(asking["t"].group_by("f").agg(n=dp.agg.count())).plan == both.plan
    some = "SELECT c, COUNT(*) AS n FROM t WHERE f = 'x' GROUP BY c"
    for how, word in (("inner", "JOIN"), ("left", "LEFT JOIN")):
        beside = counts.join(asking["t"].filter("f = 'x'").group_by("c").agg(n=dp.agg.count()), on="c", how=how)
        text = f"SELECT a.c AS c, a.n AS n, b.n AS n_2 FROM ({flat}) AS a {word} ({some}) AS b ON a.c = b.c"
        assert beside.plan == asking.sql(text).plan == asking.sql(beside.text).plan


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (lambda q: q.join(q, on="nothing"), "there is no column nothing"),
        (lambda q: q.join(q), "join needs on="),
        (lambda q: q.join("t", on="c"), "a query of the same session"),
        (lambda q: q.join(q, on="c", how="full"), "neither inner nor left"),
    ],
)
def test_a_wrong_join_of_questions_says_what_is_wrong(wrong: Any, word: str) -> None:
    with pytest.raises((BadQuestion, BadParameter), match=word):
        wrong(session()["t"].group_by("c").agg(n=dp.agg.count()))
