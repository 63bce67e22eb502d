"""EXISTS and IN (SELECT ...) keep rows, never repeat them, and never look at anybody else's."""

import pytest

import discreet as dp
from discreet.errors import BadQuestion, Unsupported

PEOPLE = {"id": [1, 2, 3, 4], "city": ["a", "a", "b", "b"]}
VISITS = {"person": [1, 1, 1, 3, 9, None], "cost": [5, 6, 7, 1, 5, 5], "host": [2, 2, 2, 2, 2, 2]}


def session() -> dp.Session:
    people = dp.table(PEOPLE, unit="id", columns={"city": dp.keys(["a", "b"])})
    visits = dp.table(VISITS, unit="person", max_rows=9, columns={"cost": dp.bounds(0, 9)})
    cities = dp.table({"city": ["a", "a"]}, public=True)
    return dp.Session(people=people, visits=visits, cities=cities, budget=dp.Pure(10**12))


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
    ],
)  # fmt: skip
def test_as_sql_says(where: str, many: int) -> None:
    assert session().sql(f"SELECT COUNT(*) AS n FROM people WHERE {where}").release(epsilon=10**9)["n"] == [many]


@pytest.mark.parametrize(
    ("where", "word"),
    [
        ("EXISTS (SELECT * FROM visits WHERE host = id)", "pairs different people|groups by something else"),
        ("id IN (SELECT host FROM visits)", "pairs different people|groups by something else"),
        ("id NOT IN (SELECT person FROM visits)", "NOT IN"),
        ("EXISTS (SELECT * FROM visits)", "subquery in a condition"),
        ("EXISTS (SELECT person FROM visits WHERE person = id GROUP BY person)", "subquery in a condition"),
        ("id + 1 IN (SELECT person FROM visits)", "subquery in a condition"),
        ("city NOT IN (SELECT city FROM cities)", "NOT IN"),
        ("id IN (SELECT person, cost FROM visits)", "subquery in a condition"),
        ("city = 'a' OR EXISTS (SELECT * FROM visits WHERE person = id)", "a subquery inside"),
        ("EXISTS (SELECT * FROM visits WHERE person = id AND cost > city)", "no column city|city"),
        ("id IN (SELECT person FROM visits UNION ALL SELECT id FROM people)", "subquery in a condition"),
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
