"""by_day.py: a question of one day's rows, and what is refused of a dashboard before anything is read."""

from datetime import date, datetime

import pytest

import discreet as dp
from discreet.continual.by_day import by_day, read_day
from discreet.errors import BadParameter, BadQuestion, DiscreetError
from discreet.query.plan.nodes import Filter, PerUnit, Scan
from tests.helpers.boards import SQL, day, session


@pytest.mark.parametrize("column", ["day", "at"])
def test_a_day_holds_the_rows_of_that_day_and_no_others(column: str) -> None:
    """Exact counts at a price without noise to speak of; times one microsecond before midnight are in the day."""
    s = session([(1, 0, "North", 5), (2, 1, "North", 7), (3, 1, "South", 9)], budget=dp.Pure(10**9))
    board = s.continual("SELECT COUNT(*) AS n, SUM(cost) AS s FROM visits", by=column, horizon=3, epsilon=10**7)
    assert [board.advance(day(i)).today.rows[0] for i in range(3)] == [
        {"n": 1, "s": 5},
        {"n": 2, "s": 16},
        {"n": 0, "s": 0},
    ]


def test_the_condition_stands_right_above_the_table() -> None:
    s = session()
    inner = "SELECT patient, SUM(cost) AS c FROM visits GROUP BY patient"
    plan = s.sql(f"SELECT SUM(CLAMP(c, 0, 50)) AS s FROM ({inner}) AS x").plan
    found = by_day(plan, "day", s.schemas).on(day(1)).source
    while not isinstance(found, PerUnit):
        found = found.source  # type: ignore[union-attr]
    assert isinstance(found.source, Filter)
    assert isinstance(found.source.source, Scan)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT COUNT(DISTINCT patient) AS n FROM visits", "can be added up"),
        ("SELECT MEDIAN(cost) AS m FROM visits", "can be added up"),
        ("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY ROLLUP (clinic)", "one grouping"),
        ("SELECT day, COUNT(*) AS n FROM visits WHERE day IN (DATE '2026-11-01') GROUP BY day", "day"),
        ("SELECT COUNT(*) AS n FROM visits JOIN visits AS w ON visits.patient = w.patient", "one private table"),
        ("SELECT SUM(EXTRACT(YEAR FROM day)) AS y FROM visits", "day|bounds|constant"),
    ],
)
def test_what_cannot_be_added_up_over_days_is_refused_and_nothing_is_spent(sql: str, words: str) -> None:
    s = session()
    with pytest.raises(DiscreetError, match=words):
        s.continual(sql, by="day", horizon=10, epsilon=1)
    assert s.remaining == s.budget


def test_keys_that_nobody_listed_are_refused() -> None:
    visits = dp.table({"patient": [1], "day": [day(0)], "drug": ["a"]}, unit="patient",
                      columns={"drug": dp.unknown_keys()})  # fmt: skip
    s = dp.Session(visits=visits, budget=dp.Approx(1, "1e-6"))
    with pytest.raises(BadQuestion, match="needs public groups"):
        s.continual("SELECT drug, COUNT(*) AS n FROM visits GROUP BY drug", by="day", horizon=10, epsilon=1)


@pytest.mark.parametrize("column", ["cost", "clinic", "nothing", "patient", 3, None])
def test_the_day_must_be_a_column_of_dates_or_times(column: str) -> None:
    with pytest.raises(BadParameter, match="by is"):
        session().continual(SQL, by=column, horizon=10, epsilon=1)


def test_a_day_beyond_the_bounds_of_its_column_is_refused() -> None:
    visits = dp.table({"patient": [1], "day": [day(0)]}, unit="patient",
                      columns={"day": dp.bounds("2026-11-01", "2026-11-30")})  # fmt: skip
    s = dp.Session(visits=visits, budget=dp.Pure(1))
    board = s.continual("SELECT COUNT(*) AS n FROM visits", by="day", horizon=10, epsilon=1)
    with pytest.raises(BadParameter, match="within the bounds"):
        board.advance("2026-12-01")
    assert s.remaining == dp.Pure(1)
    board.advance("2026-11-30")


@pytest.mark.parametrize(
    "given", ["15.11.2026", "2026-11-31", "", None, 3, datetime(2026, 11, 15, 3), "2026-11-15 03:00"]
)
def test_what_is_no_day_is_refused(given: object) -> None:
    with pytest.raises(BadParameter, match="day is"):
        read_day(given)
    assert read_day("2026-11-15") == date(2026, 11, 15)
