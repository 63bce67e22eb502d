"""``unit=dp.each_row``: a row is a person; nothing that would need to tell people apart is answered."""

import pytest

import discreet as dp
from discreet.checking.exact.queries import check_query
from discreet.errors import BadParameter, BadQuestion

ROWS = {"c": ["a"] * 5 + ["b"] * 3, "e": [1, 2, 3, 4, 5, 6, 7, 8], "f": ["x", "y"] * 4}
COLUMNS = {"c": dp.keys(["a", "b"]), "e": dp.bounds(0, 9), "f": dp.unknown_keys()}


def session() -> dp.Session:
    people = dp.table(ROWS, unit=dp.each_row, columns=COLUMNS)
    twice = dp.table({"k": ["a", "a", "b"], "w": [1, 2, 3]}, public=True, columns={"w": dp.keys([1, 2, 3])})
    return dp.Session(people=people, twice=twice, budget=dp.Approx(10**15, "0.5"))


def test_rows_are_counted() -> None:
    answer = session().sql("SELECT c, COUNT(*) AS n, SUM(e) AS s FROM people GROUP BY c").release(epsilon=10**9)
    assert answer.rows == [{"c": "a", "n": 5, "s": 15}, {"c": "b", "n": 3, "s": 21}]


def test_a_row_moves_a_count_by_one() -> None:
    """The noise is that of a table with an id and one row each."""
    with_id = dp.table({"id": list(range(8)), **ROWS}, unit="id", columns=COLUMNS, max_rows=1)
    named = dp.Session(people=with_id, budget=dp.Pure(10))
    text = "SELECT COUNT(*) AS n, SUM(e) AS s FROM people"
    assert session().sql(text).preview(epsilon=1, delta=0).columns == named.sql(text).preview(epsilon=1).columns


def test_rows_that_a_public_table_repeats_weigh_as_one() -> None:
    text = "SELECT w, COUNT(*) AS n FROM people JOIN twice ON c = k GROUP BY w"
    first, second, third = session().sql(text).release(epsilon=10**9, delta=0)["n"]
    assert {first, second} <= {2, 3}  # Laplace noise: five rows, half each
    assert third == 3
    assert session().sql(text).release(epsilon=10**9)["n"] == [4, 4, 3]  # Gaussian noise: five rows, 1/√2 each


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("SELECT COUNT(*) AS n FROM people a JOIN people b ON a.c = b.c", "no id for its people"),
        ("SELECT COUNT(*) AS n FROM (SELECT e FROM people UNION ALL SELECT e FROM people) AS u", "UNION ALL of tables"),
        ("SELECT f, COUNT(*) AS n FROM people JOIN twice ON c = k GROUP BY f", "undeclared keys after a join"),
        ("SELECT COUNT(DISTINCT e) AS n FROM people JOIN twice ON c = k", "COUNT.DISTINCT x. after a join"),
        ('SELECT COUNT(DISTINCT "#row") AS n FROM people', "no column"),
        (
            "SELECT COUNT(*) AS n FROM people WHERE EXISTS (SELECT * FROM people p WHERE p.c = people.c)",
            "else than the",
        ),
    ],
)
def test_refused_for_nothing(text: str, word: str) -> None:
    asking = session()
    with pytest.raises(BadQuestion, match=word):
        asking.sql(text)
    assert asking.remaining == asking.budget


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(BadParameter, match="one row here"):
        dp.table(ROWS, unit=dp.each_row, max_rows=3)
    with pytest.raises(BadParameter, match="rename it"):
        dp.Session(t=dp.table({"#row": [1]}, unit=dp.each_row), budget=dp.Pure(1))
    items = dp.table({"person": [1], "n": [1]}, unit="person -> people.e")
    people = dp.table(ROWS, unit=dp.each_row, columns=COLUMNS)
    asking = dp.Session(people=people, items=items, budget=dp.Pure(1))
    with pytest.raises(BadQuestion, match="without an id"):
        asking.sql("SELECT COUNT(*) AS n FROM items")


@pytest.mark.parametrize(
    "text",
    ["SELECT c, COUNT(*) AS n, SUM(e) AS s FROM people GROUP BY c", "SELECT w, COUNT(*) AS n FROM people JOIN twice ON "
     "c = k GROUP BY w", "SELECT f, COUNT(*) AS n, COUNT(DISTINCT e) AS d FROM people GROUP BY f"],
)  # fmt: skip
def test_no_neighbour_moves_further_than_the_noise_allows(text: str) -> None:
    assert check_query(session().sql(text), tables=20).ok
