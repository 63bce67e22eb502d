"""A value that is released first, and questions in one, asked of a curator: every part is charged, once."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet import connect
from discreet.curator.client.client import RemoteQuery
from discreet.errors import BadQuestion, OverBudget
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


def test_a_key_reads_all_parts_back_when_nothing_is_left(
    served: tuple[Town, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last test here: it spends what there is."""
    town, url = served
    session = connect(url, town.ann)
    query, left = session.sql(TEXT), session.remaining
    assert isinstance(left, dp.Pure | dp.Approx)
    everything = left.epsilon if isinstance(left.epsilon, Fraction) else Fraction(0)
    answer = query.release(epsilon=everything, key="all of it")
    charges = len(session.answers())
    assert {"all of it-0", "all of it-1"} <= {one["key"] for one in session.answers()}
    assert not query.preview(epsilon=everything).affordable
    assert query.release(epsilon=everything, key="all of it").rows == answer.rows
    monkeypatch.delattr(RemoteQuery, "release")  # nothing is asked for values that only stand in
    for key in ("another", None):
        with pytest.raises(OverBudget):
            query.release(epsilon=everything, key=key)
    assert len(session.answers()) == charges
