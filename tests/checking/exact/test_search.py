"""The way to a small counterexample, and what a search says that it tried."""

import math
from typing import Any

from discreet.checking.exact.check import check
from discreet.checking.exact.search import look
from discreet.checking.exact.small_data import Space
from discreet.stable.core.metrics import CHANGE, NUMBER
from tests.checking.planted import Map, by


def test_a_fault_that_needs_many_rows_is_found_and_made_small() -> None:
    """Nothing is wrong with up to six rows: random search must find it, and shrinking must bring it down to seven."""

    def late(rows: Any) -> int:
        return len(rows) + (50 if len(rows) > 6 else 0)

    report = check(Map(late, by(1)), values=[0, 1, 2], rows=2)
    assert report.smallest is not None
    assert sorted([len(report.smallest.first), len(report.smallest.second)]) == [6, 7]
    assert set(report.smallest.first) | set(report.smallest.second) == {0}


def test_a_fault_that_needs_one_value_is_shown_with_that_value_alone() -> None:
    def bad(rows: Any) -> int:
        return len(rows) + 9 * sum(x is None for x in rows)

    report = check(Map(bad, by(1)))
    assert report.smallest is not None
    assert {tuple(report.smallest.first), tuple(report.smallest.second)} == {(None,), ()}


def test_dependence_on_the_order_is_a_counterexample_at_distance_0() -> None:
    report = check(Map(lambda rows: rows[0] if rows else 0, by(10)), values=[0, 1])
    assert report.smallest is not None
    assert report.smallest.distance == 0


def test_what_was_tried_is_said() -> None:
    report = check(Map(len, by(1)), values=[0, 1], rows=2, searches=7)
    assert "all data of up to 2 rows over 2 different ones" in report.method
    assert "7 random pairs" in report.method
    cut = check(Map(len, by(1)), rows=3, most_pairs=100, searches=0)
    assert "up to 1 rows" in cut.method
    assert cut.tried == 100


def test_no_finite_distance_no_claim() -> None:
    space = Space((0, 1), CHANGE)
    seen: list[float] = []

    def judge(a: Any, b: Any) -> None:
        seen.append(space.distance(a, b))

    look(space, judge, rows=2, most_pairs=100, searches=20)
    assert all(math.isfinite(d) for d in seen)


def test_metrics_are_shown_in_words() -> None:
    assert "rows added or removed" in check(Map(len, by(1)), rows=1).claim
    assert str(NUMBER) in check(Map(len, by(1)), rows=1).claim
