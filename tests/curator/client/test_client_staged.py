"""A value that is released first, and questions in one, asked of a curator: all of it is one charge."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

import discreet as dp
from discreet import connect
from discreet.errors import BadQuestion, OverBudget
from tests.helpers.curator.town import Town

TEXT = "SELECT COUNT(*) AS n FROM people WHERE pay > (SELECT AVG(pay) FROM people)"


def test_a_value_is_released_first_under_the_one_charge(served: tuple[Town, str]) -> None:
    town, url = served
    session = connect(url, town.ann)
    query = session.sql(TEXT)
    shown = query.preview(epsilon=10)
    assert "released first, for epsilon 2" in str(shown)
    assert shown.cost == "epsilon 10"
    assert "COUNT" in query.explain(epsilon=10).upper()
    before, left = len(session.charges()), str(session.remaining)
    answer = query.release(epsilon=1000, key="once")
    assert 0 < answer.value < 120
    assert any("released first" in str(note) for note in answer.notes)
    (charge,) = session.charges()[before:]
    assert (charge["query"], charge["key"]) == (TEXT, "once")
    assert str(session.remaining) != left
    assert query.release(epsilon=1000, key="once").rows == answer.rows
    assert len(session.charges()) == before + 1
    with pytest.raises(BadQuestion, match="say it in the text"):
        query.limit(1)


def test_values_of_public_and_private_tables_are_asked_alike(served: tuple[Town, str]) -> None:
    """A verb after a text with a value that only the curator knows would be about another value: it is refused."""
    town, url = served
    session = connect(url, town.ann)
    for refused in (session.sql(TEXT).explain, lambda: session.workload([TEXT]).preview(epsilon=1)):
        with pytest.raises(dp.errors.DiscreetError):
            refused()


def test_questions_in_one_are_one_charge(served: tuple[Town, str]) -> None:
    town, url = served
    session = connect(url, town.ann)
    text = "SELECT 'all' AS what, COUNT(*) AS n FROM people UNION ALL SELECT city, COUNT(*) FROM people GROUP BY city"
    query = session.sql(text)
    assert len(query.preview(epsilon=1000).columns) == 2
    before = len(session.charges())
    answer = query.release(epsilon=1000)
    assert len(session.charges()) == before + 1
    assert answer["n"][0] == pytest.approx(120, abs=5)
    assert sum(answer["n"][1:]) <= answer["n"][0] + 15
    assert None not in answer.errors()["n"]
    most = session.sql("SELECT MAX(n) AS most FROM (SELECT city, COUNT(*) AS n FROM people GROUP BY city) AS g")
    assert most.release(epsilon=1000).value <= 125


def test_of_24_who_ask_for_a_tenth_of_what_is_left_exactly_10_are_answered(served: tuple[Town, str]) -> None:
    """The last test here: it spends what there is."""
    town, url = served
    session = connect(url, town.ann)
    query, left = session.sql(TEXT), session.remaining
    assert isinstance(left, dp.Pure | dp.Approx)
    assert isinstance(left.epsilon, Fraction)
    tenth, charges = left.epsilon / 10, len(session.charges())

    def ask(i: int) -> int:
        try:
            query.release(epsilon=tenth, key=f"tenth {i}", fresh=True)
        except OverBudget:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        answered = list(pool.map(ask, range(24)))
    assert sum(answered) == 10
    assert len(session.charges()) == charges + 10
    paid = answered.index(1)
    assert not query.preview(epsilon=tenth).affordable
    assert query.release(epsilon=tenth, key=f"tenth {paid}").paid_before
    with pytest.raises(OverBudget):
        query.release(epsilon=tenth, key="another", fresh=True)
