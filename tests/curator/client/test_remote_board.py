"""remote_board.py: a dashboard of a curator, from here; a day whose reply was lost is not read twice."""

from __future__ import annotations

from datetime import date

import pytest

import discreet as dp
from discreet.errors import BadParameter, DiscreetError
from tests.helpers.curator.town import Town

SQL = "SELECT city, COUNT(*) AS n FROM trips GROUP BY city"


@pytest.mark.slow
def test_days_come_with_their_bars(served: tuple[Town, str]) -> None:
    town, url = served
    session = dp.connect(url, town.ann, "town")
    board = session.continual(SQL, by="day", horizon=10, epsilon=1, name="trips")
    left = session.remaining
    first = board.advance("2025-01-01")
    assert (first.day, first.position, [row["city"] for row in first.rows]) == (
        date(2025, 1, 1),
        1,
        ["Aton", "Bury", "Cold"],
    )
    board.advance(date(2025, 1, 3))
    assert session.remaining == left
    again = session.continual(SQL, by="day", horizon=10, epsilon=1, name="trips")
    assert [one.day.day for one in again.history()] == [1, 3]
    assert [one.width for one in again.history(0, "0.5")] == [1, 2]
    bar, wide = again.history()[0].errors["n"][0], again.history(confidence="0.9999")[0].errors["n"][0]
    assert bar is not None
    assert wide is not None
    assert bar < wide
    assert again.advance("2025-01-01").rows == first.rows  # it was released already: the same again
    with pytest.raises(BadParameter, match="lies before"):
        again.advance("2025-01-02")


def test_the_method_is_the_callers_choice(served: tuple[Town, str]) -> None:
    town, url = served
    session = dp.connect(url, town.ann, "town")
    bars = {}
    for method in ("best", "values"):
        board = session.continual(SQL, by="day", horizon=300, days=2, epsilon=1, name=f"by {method}", method=method)
        day, total = board.advance("2025-01-01"), board.advance("2025-01-02")
        assert total.rows
        bars[method] = day.errors["n"][0]
    assert bars["best"] is not None
    assert bars["values"] is not None
    assert bars["values"] < bars["best"]  # noise on each day alone is best for a day
    with pytest.raises(BadParameter, match="method"):
        session.continual(SQL, by="day", horizon=300, epsilon=1, name="x", method="magic")


def test_a_method_is_part_of_the_question(served: tuple[Town, str]) -> None:
    """Fails if a remote dashboard cannot be made by another method, or forgets that it was."""
    town, url = served
    session = dp.connect(url, town.ann, "town")
    plain = session.continual(SQL, by="day", horizon=16, epsilon=1, name="best of all")
    daily = session.continual(SQL, by="day", horizon=16, epsilon=1, name="a tree", method="tree")
    bars = [one.advance("2025-01-01").errors["n"][0] for one in (plain, daily)]
    assert bars[0] != bars[1]
    with pytest.raises(BadParameter, match="must be new"):
        session.continual(SQL, by="day", horizon=16, epsilon=1, name="a tree")
    with pytest.raises(DiscreetError):
        session.continual(SQL, by="day", horizon=16, epsilon=1, name="third", method="worst")
