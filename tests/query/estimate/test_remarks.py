"""What must be said beside an answer is said: in print, in HTML and in JSON."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

import discreet as dp
from discreet.query.answer.serialize import answer as as_json
from discreet.query.estimate.remarks import without_use

SIXTY = dp.keys(["a", "b", *(f"empty {i}" for i in range(58))])


def _session(**columns: Any) -> dp.Session:
    many = 2000
    rows = {"u": list(range(many)), "x": [i % 7 for i in range(many)], "g": ["a", "b"] * (many // 2)}
    declared = {"x": dp.bounds(0, 6), "g": dp.keys(["a", "b"]), **columns}
    return dp.Session(t=dp.table(rows, unit="u", max_rows=1, columns=declared), budget=dp.Approx(10**6, "0.1"))


def _everywhere(answer: Any) -> list[str]:
    notes = "\n".join(note["text"] for note in as_json(answer, "0.95")["notes"])
    return [answer.explain(), answer._repr_html_(), notes]


@pytest.mark.parametrize("aggregate", ["AVG(x)", "STDDEV(x)", "VARIANCE(x)", "MEDIAN(x)", "QUANTILE(x, 0.9)"])
def test_what_has_a_bar_over_all_that_is_possible_says_so_before_and_after(aggregate: str) -> None:
    """At an epsilon of 1e-6 noise is 10^5 times the data: a bar is the whole range with a chance of at least 0.9, and
    those of fewer than 30 of 60 groups with one below 1e-12.
    """
    query = _session(g=SIXTY).sql(f"SELECT g, {aggregate} AS m FROM t GROUP BY g")
    assert "m would say nothing" in str(query.preview("1e-6"))
    assert "m would say nothing" in str(query.preview("1e-6").as_dict()["notes"])
    for text in _everywhere(query.release("1e-6")):
        found = re.search(r"m says nothing in (\d+) of 60 groups", text)
        assert found is not None
        assert int(found[1]) >= 30


def test_a_mean_that_is_known_is_left_in_peace() -> None:
    """At an epsilon of 10^4 the noise is nothing."""
    query = _session().sql("SELECT g, AVG(x) AS m, STDDEV(x) AS d FROM t GROUP BY g")
    assert "say nothing" not in str(query.preview(10**4))
    assert {note.code for note in query.release(10**4).notes} == {"groups_limited", "left_out"}


def test_an_answer_with_keys_that_nobody_listed_says_from_when_on_they_are_named() -> None:
    query = _session(g=dp.unknown_keys()).sql("SELECT g, COUNT(*) AS n FROM t GROUP BY g")
    named = query.preview(1).named_from
    for text in _everywhere(query.release(1)):
        assert f"Groups are named from about {named} units on" in text


def test_a_quantile_near_an_end_whose_bar_leaves_out_the_other_end_says_something() -> None:
    """Its bar is longer than half of the range, and yet it is known to lie above the middle."""
    nearly = _session().sql("SELECT QUANTILE(x, 0.9) AS q FROM t")
    assert "say nothing" not in str(nearly.preview(1))
    recipe = nearly.prepared.parts[0].recipes[0]
    assert without_use("q", recipe, 4.0) is None  # 5.4 of 0 to 6, down to 1.4
    assert without_use("q", recipe, 5.0) is not None


@pytest.mark.slow
def test_what_may_be_any_number_is_null_and_not_drawn() -> None:
    """It was a number without an error bar: such a share of an empty year looks like any other.

    At an epsilon of 1e-6 noise is 10^5 times the data, so what is divided by may be 0: in each of 60 groups with a
    chance of at least 0.9, so in fewer than 30 with one below 1e-20.
    """
    share = "100.0 * COUNT(*) FILTER (WHERE x > 3) / COUNT(*) AS share"
    nested = "SELECT g, k / n AS share FROM (SELECT g, COUNT(x) AS k, COUNT(*) AS n FROM t GROUP BY g) AS each"
    for text in (f"SELECT g, {share} FROM t GROUP BY g", nested):
        found = _session(g=SIXTY).sql(text).release("1e-6")
        bare = [bar is None for bar in found.errors()["share"]]
        assert sum(bare) >= 30
        assert [value is None for value in found["share"]] == bare
        assert all(f"share is NULL in {sum(bare)} of 60 rows" in told for told in _everywhere(found))
        axes = found.plot("share").axes[0]
        assert [math.isnan(bar.get_height()) for bar in axes.patches] == bare
        assert axes.get_title().endswith(f"not drawn: {sum(bare)} rows without")
        sure = _session().sql(text).release(1000)
        assert None not in sure["share"]
        assert not any("share is NULL" in told for told in _everywhere(sure))
    average = "SELECT AVG(share) AS m FROM (SELECT g, COUNT(x) / COUNT(*) AS share FROM t GROUP BY g) AS each"
    assert _session(g=SIXTY).sql(average).release("1e-6").errors() == {"m": [None]}  # of all groups, none left out
    ranks = _session().sql("SELECT g, RANK() OVER (ORDER BY COUNT(*)) AS place FROM t GROUP BY g").release(1)
    assert {note.code for note in ranks.notes} == {"groups_limited", "left_out"}


def test_aggregates_of_groups_say_that_empty_ones_are_among_them() -> None:
    """SQL has no groups without rows, and nobody may know here which these are."""
    asked = "SELECT {} AS m FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g{}) AS each"
    session = _session(g=SIXTY)
    for text in _everywhere(session.sql(asked.format("AVG(n)", "")).release(1000)):
        assert "AVG of groups: all 60 listed groups count, also empty ones." in text
    for aggregate, having in (("SUM(n)", ""), ("MAX(n)", ""), ("AVG(n)", " HAVING COUNT(*) >= 1")):
        answer = session.sql(asked.format(aggregate, having)).release(1000)
        assert "listed groups" not in str(answer.notes)
    assert round(answer.rows[0]["m"]) == 1000
