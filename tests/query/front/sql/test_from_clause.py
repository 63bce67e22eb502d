"""FROM, however joins are written: equal questions are equal plans, and nobody meets anybody else."""

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
