"""SELECT over released groups: the same question, written flat."""

import pytest

import discreet as dp
from discreet.errors import BadQuestion
from discreet.query.front.sql.parse import question_about

ROWS = {"id": list(range(100)), "c": ["a"] * 50 + ["b"] * 30 + ["d"] * 20, "e": [n % 10 for n in range(100)]}


def session() -> dp.Session:
    columns = {"e": dp.bounds(0, 9), "c": dp.keys(["a", "b", "d"])}
    return dp.Session(t=dp.table(ROWS, unit="id", columns=columns), budget=dp.Pure(10**12))


G = "(SELECT c, COUNT(*) AS n, AVG(e) AS m FROM t GROUP BY c) AS g"


@pytest.mark.parametrize(
    ("written", "flat"),
    [
        (f"SELECT c, n * 2 AS twice FROM {G} WHERE n > 25 ORDER BY twice LIMIT 2 OFFSET 1",
         "SELECT c, COUNT(*) * 2 AS twice FROM t GROUP BY c HAVING COUNT(*) > 25 ORDER BY twice LIMIT 2 OFFSET 1"),
        (f"SELECT * FROM {G}", "SELECT c, COUNT(*) AS n, AVG(e) AS m FROM t GROUP BY c"),
        ("WITH g AS (SELECT c, COUNT(*) AS n FROM t GROUP BY c) SELECT g.c, n / SUM(n) OVER () AS s FROM g",
         "SELECT c, COUNT(*) / SUM(COUNT(*)) OVER () AS s FROM t GROUP BY c"),
        ("WITH g AS (SELECT c, COUNT(*) AS n FROM t GROUP BY c HAVING COUNT(*) > 1), h(k, n) AS (SELECT * FROM g) "
         "SELECT k FROM h WHERE n < 40",
         "SELECT c AS k FROM t GROUP BY c HAVING COUNT(*) > 1 AND COUNT(*) < 40"),
        (f"SELECT c, n FROM (SELECT c, n, ROW_NUMBER() OVER (ORDER BY n DESC) AS r FROM {G}) AS y WHERE r <= 2",
         "SELECT c, COUNT(*) AS n FROM t GROUP BY c QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) <= 2"),
        ("SELECT n AS c, m FROM (SELECT c, COUNT(*) AS n, AVG(e) AS m FROM t GROUP BY c HAVING n > 5) AS g",
         "SELECT COUNT(*) AS c, AVG(e) AS m FROM t GROUP BY t.c HAVING COUNT(*) > 5"),
        ("SELECT s / n AS mean FROM (SELECT SUM(e) AS s, COUNT(*) AS n FROM t) AS g",
         "SELECT SUM(e) / COUNT(*) AS mean FROM t"),
        ("SELECT CASE WHEN n > 25 THEN 'large' ELSE 'small' END AS size, c AS n FROM (SELECT c, COUNT(*) AS n FROM t "
         "GROUP BY c ORDER BY n LIMIT 2) AS g",
         "SELECT CASE WHEN COUNT(*) > 25 THEN 'large' ELSE 'small' END AS size, c AS n FROM t GROUP BY c "
         "ORDER BY COUNT(*) LIMIT 2"),
    ],
)  # fmt: skip
def test_the_same_question_written_flat(written: str, flat: str) -> None:
    asking = session()
    asked = asking.sql(written)
    assert asked.plan == question_about(flat, asking.schemas)
    assert asking.sql(asked.text).plan == asked.plan
    assert asked.release(epsilon=10**6).rows


def test_a_summary_of_units_is_still_one() -> None:
    asked = session().sql("SELECT COUNT(*) AS n FROM (SELECT id, COUNT(*) AS n FROM t GROUP BY id) AS g WHERE n >= 1")
    assert asked.release(epsilon=10**6)["n"] == [100]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (f"SELECT q FROM {G}", "no column q"),
        ("SELECT a FROM (SELECT c, COUNT(*) AS n FROM t GROUP BY c) AS g(a)", "1 names"),
        (f"SELECT GROUPING(c) AS x FROM {G}", "GROUPING"), (f"SELECT c FROM {G} WHERE n", "HAVING needs a condition"),
    ],
)  # fmt: skip
def test_refused_for_nothing(text: str, word: str) -> None:
    asking = session()
    with pytest.raises(BadQuestion, match=word):
        asking.sql(text)
    assert asking.remaining == asking.budget
