"""Subqueries about the row around them keep rows, value them, never repeat them, and never look at anybody else's."""

import pytest

import discreet as dp
from discreet.errors import BadQuestion, Unsupported

PEOPLE = {"id": [1, 2, 3, 4], "city": ["a", "a", "b", "b"], "age": [6, None, 2, 9]}
VISITS = {"person": [1, 1, 1, 3, 9, None], "cost": [5, 6, 7, 1, 5, 5], "host": [2, 2, 2, 2, 2, 2]}


def session() -> dp.Session:
    people = dp.table(PEOPLE, unit="id", columns={"city": dp.keys(["a", "b"]), "age": dp.bounds(0, 9)})
    visits = dp.table(VISITS, unit="person", max_rows=9, columns={"cost": dp.bounds(0, 9)})
    cities = dp.table({"city": ["a", "a"]}, public=True)
    holes = dp.table({"city": ["a", None]}, public=True)
    return dp.Session(people=people, visits=visits, cities=cities, holes=holes, budget=dp.Pure(10**12))


@pytest.mark.parametrize(
    ("where", "many"),
    [
        ("EXISTS (SELECT * FROM visits WHERE person = id)", 2),
        ("EXISTS (SELECT 1 FROM visits v WHERE people.id = v.person AND v.cost > 3)", 1),
        ("NOT EXISTS (SELECT * FROM visits WHERE person = id)", 2),
        ("NOT (EXISTS (SELECT * FROM visits WHERE person = id AND cost > 3)) AND city = 'b'", 2),
        ("id IN (SELECT person FROM visits)", 2), ("id IN (SELECT person FROM visits WHERE cost > 3)", 1),
        ("(id IN (SELECT person FROM visits GROUP BY person HAVING SUM(cost) > 10)) AND city = 'a'", 1),
        ("city = 'b' AND EXISTS (SELECT * FROM visits WHERE person = id)", 1),
        ("city IN (SELECT city FROM cities)", 2), ("city IN (SELECT city FROM cities WHERE city > 'a')", 0),
        ("EXISTS (SELECT * FROM cities c WHERE c.city = people.city)", 2),
        ("NOT EXISTS (SELECT * FROM cities c WHERE c.city = people.city)", 2),
        ("id NOT IN (SELECT person FROM visits)", 2), ("id NOT IN (SELECT person FROM visits WHERE cost > 3)", 3),
        ("city NOT IN (SELECT city FROM cities)", 2), ("city NOT IN (SELECT city FROM holes)", 0),
        ("city NOT IN (SELECT city FROM holes WHERE city > 'a')", 4), ("age NOT IN (SELECT 9 FROM cities)", 2),
        ("age NOT IN (SELECT v.cost FROM visits v WHERE v.person = people.id)", 3),
        ("age IN (SELECT v.cost FROM visits v WHERE v.person = people.id)", 1),
        ("EXISTS (SELECT 1 FROM visits v WHERE v.person = people.id AND v.cost > people.age)", 1),
        ("NOT EXISTS (SELECT 1 FROM visits v WHERE v.person = people.id AND v.cost > people.age)", 3),
        ("6 < (SELECT MAX(v.cost) FROM visits v WHERE v.person = people.id)", 1),
        ("0 = (SELECT COUNT(*) FROM visits v WHERE v.person = people.id)", 2),
        ("2 = (SELECT COUNT(*) FROM visits v WHERE v.person = people.id AND v.cost >= people.age)", 1),
        ("7 = (SELECT v.cost FROM visits v WHERE v.person = people.id ORDER BY v.cost DESC LIMIT 1)", 1),
        ("id IN (SELECT person FROM visits INTERSECT SELECT id FROM people WHERE city = 'b')", 1),
        ("id IN (SELECT person FROM visits UNION SELECT id FROM people WHERE city = 'b')", 3),
        ("EXISTS (SELECT 1 FROM visits v WHERE v.person = id AND NOT EXISTS "
         "(SELECT 1 FROM visits w WHERE w.person = v.person AND w.cost > v.cost))", 2),
    ],
)  # fmt: skip
def test_as_sql_says(where: str, many: int) -> None:
    assert session().sql(f"SELECT COUNT(*) AS n FROM people WHERE {where}").release(epsilon=10**9)["n"] == [many]


@pytest.mark.parametrize(
    ("where", "word"),
    [
        ("EXISTS (SELECT * FROM visits WHERE host = id)", "pairs different people|groups by something else"),
        ("id IN (SELECT host FROM visits)", "pairs different people|groups by something else"),
        ("id NOT IN (SELECT host FROM visits)", "pairs different people|groups by something else"),
        ("age NOT IN (SELECT cost FROM visits)", "groups by something else|pairs different people"),
        ("id > (SELECT MAX(v.cost) FROM visits v WHERE v.host = people.id)", "pairs different|groups by"),
        ("id > (SELECT MAX(v.cost) FROM visits v WHERE v.cost < people.id)", "without a pair"),
        ("EXISTS (SELECT * FROM visits v WHERE v.host = people.id AND v.cost > people.age)", "different people"),
        ("EXISTS (SELECT * FROM visits)", "subquery in a condition"),
        ("EXISTS (SELECT person FROM visits WHERE person = id GROUP BY person)", "subquery in a condition"),
        ("id + 1 IN (SELECT person FROM visits)", "pairs different people"),
        ("id IN (SELECT person, cost FROM visits)", "subquery in a condition"),
        ("EXISTS (SELECT * FROM visits WHERE person = id AND cost > nowhere)", "no column nowhere"),
    ],
)  # fmt: skip
def test_refused_for_nothing(where: str, word: str) -> None:
    asking = session()
    with pytest.raises(BadQuestion, match=word):
        asking.sql(f"SELECT COUNT(*) AS n FROM people WHERE {where}")
    assert asking.remaining == asking.budget


def test_a_stranger_keeps_nobody() -> None:
    """A visit says whose it is; that it is at somebody else's place tells nothing about them."""
    asking = session()
    with pytest.raises(Unsupported):
        asking.sql("SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT * FROM people WHERE people.id = visits.host)")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT COUNT(v.cost) AS n, COUNT(*) AS m FROM people p LEFT JOIN LATERAL "
         "(SELECT w.cost FROM visits w WHERE w.person = p.id ORDER BY w.cost DESC LIMIT 1) v ON TRUE", [2, 4]),
        ("SELECT SUM(v.cost) AS n, COUNT(*) AS m FROM people p, LATERAL "
         "(SELECT w.cost FROM visits w WHERE w.person = p.id ORDER BY w.cost DESC LIMIT 2) v", [14, 3]),
        ("SELECT SUM(v.n) AS n, COUNT(v.high) AS m FROM people p CROSS JOIN LATERAL "
         "(SELECT COUNT(*) AS n, MAX(w.cost) AS high FROM visits w WHERE w.person = p.id) v", [4, 2]),
        ("SELECT SUM(CLAMP(n, 0, 9)) AS n, COUNT(*) AS m FROM (SELECT id, (SELECT COUNT(*) FROM visits v "
         "WHERE v.person = p.id AND v.cost < p.age) AS n FROM people p) t", [2, 4]),
    ],
)  # fmt: skip
def test_beside_each_row(text: str, rows: list[int]) -> None:
    answer = session().sql(text).release(epsilon=10**9)
    assert [answer["n"][0], answer["m"][0]] == rows


@pytest.mark.parametrize(
    ("join", "word"),
    [
        ("JOIN LATERAL (SELECT w.cost FROM visits w LIMIT 1) v ON TRUE", "without a pair"),
        ("JOIN LATERAL (SELECT w.cost FROM visits w WHERE w.host = p.id LIMIT 1) v ON TRUE", "different people"),
        ("RIGHT JOIN LATERAL (SELECT w.cost FROM visits w WHERE w.person = p.id) v ON TRUE", "join with LATERAL"),
        ("JOIN LATERAL (SELECT * FROM visits w WHERE w.person = p.id) v ON TRUE", "SELECT"),
        ("JOIN LATERAL (SELECT cost FROM visits w WHERE w.person = p.id GROUP BY cost) v ON TRUE", "GROUP BY"),
    ],
)
def test_lateral_is_refused_for_nothing(join: str, word: str) -> None:
    asking = session()
    with pytest.raises(BadQuestion, match=word):
        asking.sql(f"SELECT COUNT(*) AS n FROM people p {join}")
    assert asking.remaining == asking.budget
