"""Answers of a session that are there already: used again only when asked to, and only where they are good."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.session import stored_answers

COUNT = "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic"
ROWS = pa.table({"patient": [1, 2, 2, 3], "clinic": ["a", "b", "a", "b"]})


def session(source: object = ROWS) -> dp.Session:
    table = dp.table(source, unit="patient", max_rows=2, columns={"clinic": dp.keys(["a", "b"])})
    return dp.Session(visits=table, budget=dp.Approx(100, "1e-6"))


def test_the_same_plan_for_no_more_comes_back_and_says_so() -> None:
    s = session()
    first = s.sql(COUNT).release(epsilon=1)
    left = s.remaining
    for query in (s.sql(COUNT), s.sql("select clinic, count(*) n from visits v group by 1"),
                  s["visits"].group_by("clinic").agg(n=dp.agg.count())):  # fmt: skip
        again = query.release(epsilon="0.5", fresh=False)
        assert again.rows == first.rows
        assert "nothing was spent now" in " ".join(map(str, again.notes))
    assert s.remaining == left
    assert [stored.answer for stored in s.answers()] == [first]


@pytest.mark.parametrize(
    ("text", "epsilon", "options"),
    [
        (COUNT, 2, {}),
        (COUNT, 1, {"confidence": "0.9"}),
        (COUNT.replace("AS n", "AS m"), 1, {}),
        (COUNT + " LIMIT 1", 1, {}),
        (COUNT.replace(" GROUP", " WHERE patient > 1 GROUP"), 1, {}),
    ],
)
def test_what_differs_is_paid(text: str, epsilon: int, options: dict[str, str]) -> None:
    s = session()
    s.sql(COUNT).release(epsilon=1)
    left = s.remaining
    s.sql(text).release(epsilon=epsilon, fresh=False, **options)
    assert s.remaining != left


def test_without_a_word_the_same_query_is_paid_again() -> None:
    s = session()
    assert len({str(s.sql(COUNT).release(epsilon="0.01")["n"]) for _ in range(9)}) > 1
    assert len(s.answers()) == 9


def test_a_file_that_changed_is_other_data(tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    pq.write_table(ROWS, path)
    s = session(str(path))
    s.sql(COUNT).release(epsilon=1)
    left = s.remaining
    s.sql(COUNT).release(epsilon=1, fresh=False)
    assert s.remaining == left
    os.utime(path, ns=(1, 1))
    s.sql(COUNT).release(epsilon=1, fresh=False)
    assert s.remaining != left


def test_answers_are_searched_printed_and_forgotten_by_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    s = session()
    assert repr(s.answers()) == "no answers yet"
    s.sql(COUNT).release(epsilon=1)
    s.sql("SELECT COUNT(*) AS total FROM visits").release(epsilon=1)
    assert [stored.number for stored in s.answers()] == [2, 1]
    (found,) = s.answers("Total count")
    assert found.number == 2
    assert "epsilon 1" in repr(s.answers())
    monkeypatch.setattr(stored_answers, "MOST_ROWS", 3)
    s.sql(COUNT).release(epsilon=1)
    assert [stored.number for stored in s.answers()] == [3, 2]
