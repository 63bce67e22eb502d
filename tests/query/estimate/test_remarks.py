"""What must be said beside an answer is said: in print, in HTML and in JSON."""

from __future__ import annotations

from typing import Any

import pytest

import discreet as dp
from discreet.query.answer.serialize import answer as as_json


def _session(**columns: Any) -> dp.Session:
    many = 2000
    rows = {"u": list(range(many)), "x": [i % 7 for i in range(many)], "g": ["a", "b"] * (many // 2)}
    declared = {"x": dp.bounds(0, 6), "g": dp.keys(["a", "b"]), **columns}
    return dp.Session(t=dp.table(rows, unit="u", max_rows=1, columns=declared), budget=dp.Approx(10**6, "0.1"))


def _everywhere(answer: Any) -> list[str]:
    told = as_json(answer, "0.95")
    return [str(answer), answer._repr_html_(), "\n".join([told["counted"], *told["notes"]])]


@pytest.mark.parametrize("aggregate", ["AVG(x)", "STDDEV(x)", "VARIANCE(x)"])
def test_a_mean_whose_bar_is_all_that_is_possible_says_so_before_and_after(aggregate: str) -> None:
    """At an epsilon of 1e-6 noise is 10^5 times the data: the bar is the whole range but with a chance below 1e-6."""
    query = _session().sql(f"SELECT g, {aggregate} AS m FROM t GROUP BY g")
    assert "m would say nothing" in str(query.preview("1e-6"))
    assert "m would say nothing" in " ".join(query.preview("1e-6").as_dict()["notes"])
    for text in _everywhere(query.release("1e-6")):
        assert "m says nothing in 2 of 2 groups" in text


def test_a_mean_that_is_known_is_left_in_peace() -> None:
    """At an epsilon of 10^4 the noise is nothing."""
    query = _session().sql("SELECT g, AVG(x) AS m, STDDEV(x) AS d FROM t GROUP BY g")
    assert "say nothing" not in str(query.preview(10**4))
    assert query.release(10**4).remarks == ()


def test_an_answer_with_keys_that_nobody_listed_says_from_when_on_they_are_named() -> None:
    query = _session(g=dp.unknown_keys()).sql("SELECT g, COUNT(*) AS n FROM t GROUP BY g")
    named = query.preview(1).named_from
    for text in _everywhere(query.release(1)):
        assert f"a key is named from about {named} units on" in text
