"""A value that is released first, and questions in one, asked of a curator: every part is charged, once."""

import pytest

from discreet import connect
from discreet.errors import BadQuestion
from tests.helpers.curator.town import Town

TEXT = "SELECT COUNT(*) AS n FROM people WHERE pay > (SELECT AVG(pay) FROM people)"


def test_a_value_is_released_first(served: tuple[Town, str]) -> None:
    town, url = served
    session = connect(url, town.ann)
    query = session.sql(TEXT)
    shown = query.preview(epsilon=10)
    assert "released first, for epsilon 2" in str(shown)
    before = len(session.answers())
    answer = query.release(epsilon=1000, key="once")
    assert 0 < answer.value < 120
    assert len(session.answers()) == before + 2
    assert query.release(epsilon=1000, key="once").rows == answer.rows
    assert len(session.answers()) == before + 2
    with pytest.raises(BadQuestion, match="say it in the text"):
        query.limit(1)


def test_questions_in_one_are_one_charge(served: tuple[Town, str]) -> None:
    town, url = served
    session = connect(url, town.ann)
    text = "SELECT 'all' AS what, COUNT(*) AS n FROM people UNION ALL SELECT city, COUNT(*) FROM people GROUP BY city"
    query = session.sql(text)
    assert len(query.preview(epsilon=1000).columns) == 2
    before = len(session.answers())
    answer = query.release(epsilon=1000)
    assert len(session.answers()) == before + 1
    assert answer["n"][0] == pytest.approx(120, abs=5)
    assert sum(answer["n"][1:]) <= answer["n"][0] + 15
    assert None not in answer.errors()["n"]
    most = session.sql("SELECT MAX(n) AS most FROM (SELECT city, COUNT(*) AS n FROM people GROUP BY city) AS g")
    assert most.release(epsilon=1000).value <= 125
