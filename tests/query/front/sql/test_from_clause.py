"""FROM, however joins are written: equal questions are equal plans, and nobody meets anybody else."""

from functools import cache

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BadQuestion, Unsupported
from discreet.query.front.sql.parse import question

TABLES = {"a": ["x", "k", "v"], "b": ["x", "y", "w"], "c": ["y", "z"]}
AB = "SELECT COUNT(*) AS n FROM a JOIN b ON a.x = b.x"
ABC = f"{AB} JOIN c ON b.y = c.y"


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("SELECT COUNT(*) AS n FROM a, b WHERE a.x = b.x", AB),
        ("SELECT COUNT(*) AS n FROM a CROSS JOIN b WHERE b.x = a.x", AB),
        ("SELECT COUNT(*) AS n FROM a NATURAL JOIN b", AB),
        ("SELECT COUNT(*) AS n FROM (a JOIN b USING (x))", AB),
        ("SELECT COUNT(*) AS n FROM main.a AS a, other.main.b WHERE main.a.x = b.x", AB),
        ("SELECT COUNT(*) AS n FROM a, c, b WHERE c.y = b.y AND a.x = b.x", ABC),
        ("SELECT COUNT(*) AS n FROM (a JOIN b ON a.x = b.x) JOIN c ON c.y = b.y", ABC),
        ("SELECT COUNT(*) AS n FROM a, b JOIN c ON b.y = c.y WHERE a.x = b.x", ABC),
        ("SELECT COUNT(*) AS n FROM a, b WHERE a.x = b.x AND v > 1", f"{AB} WHERE v > 1"),
        ("SELECT COUNT(*) AS n FROM a, b WHERE (a.x = b.x AND v = 1) OR (w = 2 AND a.x = b.x)",
         f"{AB} WHERE (a.x = b.x AND v = 1) OR (w = 2 AND a.x = b.x)"),
        ("SELECT COUNT(*) AS n FROM a JOIN b ON (a.x = b.x AND v = 1) OR (w = 2 AND a.x = b.x)",
         f"{AB} WHERE (a.x = b.x AND v = 1) OR (w = 2 AND a.x = b.x)"),
        ("SELECT COUNT(*) AS n FROM a RIGHT JOIN b ON a.x = b.x",
         "SELECT COUNT(*) AS n FROM b LEFT JOIN a ON b.x = a.x"),
        ("SELECT COUNT(*) AS n FROM a LEFT JOIN b ON a.x = b.x AND w > 3",
         "SELECT COUNT(*) AS n FROM a LEFT JOIN (SELECT * FROM b WHERE w > 3) AS b ON a.x = b.x"),
        ("SELECT SUM(z) AS n FROM (SELECT * FROM a, c, b WHERE a.x = b.x AND c.y = b.y) AS q",
         "SELECT SUM(z) AS n FROM (SELECT a.x, a.k, a.v, c.y AS y_2, c.z, b.x AS x_2, b.y, b.w FROM a "
         "JOIN b ON a.x = b.x JOIN c ON b.y = c.y) AS q"),
        ("SELECT SUM(v) AS n FROM ((a)) AS q(x, k, v)",
         "SELECT SUM(v) AS n FROM (SELECT x AS x, k AS k, v AS v FROM a) AS q"),
    ],
)  # fmt: skip
def test_the_same_join(written: str, same: str) -> None:
    assert question(written, TABLES) == question(same, TABLES)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("SELECT COUNT(*) FROM a, b", "pair of equal columns"), ("SELECT COUNT(*) FROM a, b WHERE a.x > b.x", "pair"),
        ("SELECT COUNT(*) FROM a, b WHERE a.x = b.x OR v = 1", "pair"), ("SELECT COUNT(*) FROM a FULL JOIN b USING (x)",
                                                                         "FULL"),
        ("SELECT COUNT(*) FROM a NATURAL JOIN c", "common column"),
        ("SELECT COUNT(*) FROM a, a WHERE a.x = a.x", "two"),
        ("SELECT COUNT(*) FROM a LEFT JOIN b ON a.x = b.x AND v > 3", "LEFT JOIN on more"),
        ("SELECT COUNT(*) FROM a LEFT JOIN b ON a.x = b.x AND x > 3", "ambiguous"),
        ("SELECT COUNT(*) FROM a JOIN b ON v > w", "pair"), ("SELECT COUNT(*) FROM a ASOF JOIN b USING (x)", "ASOF"),
    ],
)  # fmt: skip
def test_refused(text: str, word: str) -> None:
    with pytest.raises(BadQuestion, match=word):
        question(text, TABLES)


def test_strangers_do_not_meet_in_where() -> None:
    """A comma join of two private tables is one on the unit, or it is refused; whatever else is equal comes after."""
    people = dp.table({"id": [1, 2, 3], "city": ["a", "a", "b"]}, unit="id", columns={"city": dp.keys(["a", "b"])})
    visits = dp.table({"id": [1, 1, 2], "city": ["a", "b", "a"]}, unit="id", max_rows=9)
    session = dp.Session(people=people, visits=visits, budget=dp.Pure(10**9))
    with pytest.raises(Unsupported, match="pairs different people"):
        session.sql("SELECT COUNT(*) FROM people p, visits v WHERE p.city = v.city")
    asked = session.sql("SELECT COUNT(*) AS n FROM people p, visits v WHERE p.id = v.id AND p.city = v.city")
    assert asked.release(epsilon=10**6)["n"] == [2]


# --- lists ------------------------------------------------------------------------------------------------------------

VISITS = pa.table({"id": [1, 1, 2, 3], "k": list("abab"), "tags": [["new", "old"], [], None, ["new", "new"]]})
PEOPLE = pa.table({"pid": [1, 2, 3, 4], "city": list("uvuv"), "codes": [[1, 2], [3], None, [1]]})
COUNTED = "SELECT tag, COUNT(*) AS n FROM (SELECT UNNEST(tags) AS tag FROM visits) AS t GROUP BY tag"


@cache
def session() -> dp.Session:
    tags = {"k": dp.keys(["a", "b"]), "tags": dp.keys(["new", "old", None])}
    people = {"city": dp.keys(["u", "v"]), "codes": dp.bounds(0, 9)}
    return dp.Session(
        visits=dp.table(VISITS, unit="id", columns=tags, max_rows=9),
        people=dp.table(PEOPLE, unit="pid", columns=people, max_rows=9),
        budget=dp.Pure(10**13),
    )


@pytest.mark.parametrize(
    ("text", "dialect", "same"),
    [
        (COUNTED, None, ""), ("SELECT tag, COUNT(*) AS n FROM visits, UNNEST(tags) AS t(tag) GROUP BY tag", None, ""),
        ("SELECT UNNEST(tags) AS tag, COUNT(*) AS n FROM visits GROUP BY 1", None, COUNTED),
        ("SELECT tag, COUNT(*) AS n FROM visits, UNNEST(tags) AS tag GROUP BY tag", "bigquery", COUNTED),
        ("SELECT t.tag, COUNT(*) AS n FROM visits LATERAL VIEW EXPLODE(tags) t AS tag GROUP BY 1", "spark", COUNTED),
        ("SELECT f.value AS tag, COUNT(*) AS n FROM visits v, LATERAL FLATTEN(input => v.tags) f GROUP BY 1",
         "snowflake", COUNTED),
        ("SELECT tag, COUNT(*) AS n FROM visits LEFT JOIN UNNEST(tags) AS t(tag) ON TRUE GROUP BY tag", None, ""),
        ("SELECT k, SUM(code) AS n FROM visits JOIN people ON id = pid, UNNEST(codes) AS t(code) GROUP BY k", None, ""),
        ("SELECT city, COUNT(tag) AS n FROM people LEFT JOIN visits v ON id = pid LEFT JOIN UNNEST(v.tags) AS t(tag) "
         "ON TRUE GROUP BY city", None, ""),
        ("SELECT COUNT(*) AS n FROM (SELECT id, COUNT(DISTINCT tag) AS c FROM visits, UNNEST(tags) AS t(tag) "
         "GROUP BY id) AS s WHERE c > 1", None, ""),
    ],
)  # fmt: skip
def test_lists_are_taken_apart_as_in_plain_sql(text: str, dialect: str | None, same: str) -> None:
    query = session().sql(text, dialect=dialect)
    rows = {tuple(row.values()) for row in query.release(epsilon=10**9).rows if list(row.values())[-1]}
    with duckdb.connect() as truth:
        truth.register("visits", VISITS)
        truth.register("people", PEOPLE)
        right = [row for row in truth.sql(same or text).fetchall() if row[-1]]
    assert {tuple(round(x, 3) if isinstance(x, float) else x for x in row) for row in rows} == set(right)
    assert session().sql(query.text).text == query.text


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("SELECT COUNT(*) FROM people LEFT JOIN visits ON id = pid, UNNEST(tags) AS t(tag)", "after a LEFT JOIN"),
        ("SELECT COUNT(*) FROM visits RIGHT JOIN people ON id = pid, UNNEST(tags) AS t(tag)", "after a LEFT JOIN"),
        ("SELECT COUNT(*) FROM visits a JOIN visits b ON a.id = b.id, UNNEST(tags) AS t(tag)", "ambiguous"),
        ("SELECT COUNT(*) FROM visits, UNNEST(k) AS t(tag)", "no column k that is a list"),
        ("SELECT COUNT(*) FROM visits, UNNEST(tags)", "without a name"),
        ("SELECT COUNT(*) FROM visits, UNNEST(tags, tags) AS t(a, b)", "more than one column"),
        ("SELECT COUNT(*) FROM (SELECT UNNEST(tags) AS a, UNNEST(tags) AS b FROM visits) t", "among the columns"),
        ("SELECT COUNT(*) FROM visits JOIN UNNEST(tags) AS t(tag) ON t.tag = k", "this join with UNNEST"),
        ("SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM UNNEST(tags) AS t(tag))", "UNNEST here"),
        ("SELECT COUNT(tags) FROM visits", r"UNNEST\(tags\) AS t\(element\)"),
        ("SELECT tags, COUNT(*) FROM visits GROUP BY tags", r"UNNEST\(tags\) AS t\(element\)"),
        ("SELECT COUNT(*) FROM visits WHERE 'new' = ANY(tags)", "FROM visits, UNNEST"),
    ],
)  # fmt: skip
def test_other_uses_of_lists_are_refused_by_name(text: str, word: str) -> None:
    with pytest.raises(BadQuestion, match=word):
        session().sql(text)
