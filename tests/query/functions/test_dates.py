"""Dates and times with bounds: aggregates of them are dates and times, noisy in proportion to the bounds."""

from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BadParameter, BadQuestion, Unsupported
from discreet.query.estimate.statistics import Rows

N = 3_000
START = datetime(2024, 2, 29, 6)
TABLE = pa.table(
    {
        "user": list(range(N)),
        "clinic": [("a", "b")[i % 2] for i in range(N)],
        "day": [date(2024, 1, 1) + timedelta(days=i * 7 % 366) for i in range(N)],
        "at": [START + timedelta(seconds=i * 11) for i in range(N)],
    }
)
COLUMNS = {
    "clinic": dp.keys(["a", "b"]),
    "day": dp.bounds("2024-01-01", "2024-12-31"),
    "at": dp.bounds("2024-02-01", "2024-03-31"),
}


def session(columns: dict[str, Any] | None = None, table: pa.Table = TABLE) -> dp.Session:
    given = COLUMNS if columns is None else columns
    return dp.Session(visits=dp.table(table, unit="user", columns=given, max_rows=1), budget=dp.Pure(10**9))


def one(text: str, *, epsilon: int = 10**6) -> dict[str, Any]:
    return session().sql(text).release(epsilon=epsilon).rows[0]


def test_bounds_are_read_as_they_are_written() -> None:
    day, noon = date(2024, 5, 6), datetime(2024, 5, 6, 12)
    assert dp.bounds("2024-05-06", "2024-05-07") == dp.bounds(day, date(2024, 5, 7))
    assert dp.bounds("2024-05-06 12:00", "2024-05-07T00:00:00.5") == dp.bounds(
        noon, datetime(2024, 5, 7, 0, 0, 0, 500_000)
    )
    times = session({"at": dp.bounds(day, day)}).schemas["visits"].fields["at"].kind
    assert (times.low, times.high) == (datetime(2024, 5, 6), datetime(2024, 5, 6, 23, 59, 59, 999_999))  # type: ignore[union-attr]
    assert dp.bounds("1", "2") == dp.bounds(1, 2)


def test_bounds_must_fit_the_column() -> None:
    for columns in (
        {"day": dp.bounds("2024-01-01 12:00", "2024-12-31")},
        {"user": dp.bounds("2024-01-01", "2024-12-31")},
    ):
        with pytest.raises(BadParameter):
            session(columns)


# --- aggregates -------------------------------------------------------------------------------------------------------


def test_both_interfaces_agree() -> None:
    s = session()
    verbs = s["visits"].group_by("clinic").agg(
        first=dp.agg.min("day"), middle=dp.agg.median("at"), mean=dp.agg.mean("day"),
        w=dp.agg.count(where="WEEK(day) = 7"),
    )  # fmt: skip
    text = """SELECT clinic, MIN(day) AS first, MEDIAN(at) AS middle, AVG(day) AS mean,
        COUNT(*) FILTER (WHERE WEEK(day) = 7) AS w FROM visits GROUP BY clinic"""
    assert s.sql(text).plan == verbs.plan


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """MIN and MAX stop too far outside once in a hundred releases, however small the noise. Not the point here."""
    monkeypatch.setattr("discreet.query.run.add", lambda cells, *_: cells)


@pytest.mark.usefixtures("no_noise")
def test_aggregates_of_days_are_days_and_averages_times() -> None:
    row = one("SELECT MIN(day) AS a, MAX(day) AS b, MEDIAN(day) AS m, AVG(day) AS v FROM visits")
    days = sorted(TABLE["day"].to_pylist())
    assert (type(row["a"]), row["a"], row["b"]) == (date, days[0], days[-1])
    assert abs(row["m"] - days[N // 2]) <= timedelta(days=1)
    mean = datetime(2024, 1, 1) + timedelta(days=sum((d - date(2024, 1, 1)).days for d in days) / N)
    assert abs(row["v"] - mean) <= timedelta(minutes=5)


@pytest.mark.usefixtures("no_noise")
def test_aggregates_of_times_are_times() -> None:
    row = one("SELECT AVG(at) AS v, MIN(at) AS a, MAX(at) AS b FROM visits")
    assert abs(row["v"] - (START + timedelta(seconds=(N - 1) * 11 / 2))) <= timedelta(minutes=1)
    width = timedelta(days=60) / 4096 + timedelta(seconds=1)
    assert abs(row["a"] - START) <= width
    assert abs(row["b"] - TABLE["at"][N - 1].as_py()) <= width


@pytest.mark.slow
@pytest.mark.usefixtures("no_noise")
def test_times_beyond_the_bounds_are_the_bounds() -> None:
    narrow = session({"at": dp.bounds("2024-03-01", "2024-03-02")})
    row = narrow.sql("SELECT MIN(at) AS a FROM visits").release(epsilon=10**6).rows[0]
    assert row["a"] - datetime(2024, 3, 1) <= timedelta(minutes=1)
    found = session().sql("SELECT MAX(day) AS m FROM visits WHERE day <= '2024-05-06'").release(epsilon=10**6)
    assert found["m"][0] == max(d for d in TABLE["day"].to_pylist() if d <= date(2024, 5, 6))


def test_noise_is_in_proportion_to_the_bounds_not_to_the_calendar() -> None:
    quote = session().sql("SELECT AVG(day) AS v FROM visits").quote(epsilon=1)
    assert {s.bound for s in quote.plan.sets[0] if isinstance(s, Rows)} == {365}


@pytest.mark.slow
def test_error_bars_are_in_days_and_hold() -> None:
    """With confidence 1 - 1e-9."""
    query = session().sql("SELECT clinic, AVG(day) AS v, MEDIAN(at) AS m FROM visits GROUP BY clinic")
    answer = query.release(epsilon=50)
    for i, clinic in enumerate("ab"):
        days = [d for d, c in zip(TABLE["day"].to_pylist(), TABLE["clinic"].to_pylist(), strict=True) if c == clinic]
        truth = datetime(2024, 1, 1) + timedelta(days=sum((d - date(2024, 1, 1)).days for d in days) / len(days))
        low, high = answer.intervals("0.999999999")["v"][i] or (datetime.max, datetime.min)
        assert low <= truth <= high
        assert low <= answer["v"][i] <= high
    assert all(0 < (e or 0) < 5 for e in answer.errors()["v"])
    assert "days" in str(answer)
    assert "days" in str(query.preview(epsilon=50))
    frame = answer.to_arrow()
    assert str(frame.schema.field("v").type) == "timestamp[us]"
    assert str(frame.schema.field("v_error").type) == "double"
    assert answer.plot("v").axes[0].get_ylabel() == "v"
    assert answer.consistent()["v"] == pytest.approx(answer["v"], abs=timedelta(days=1))
    bound = query.release(error={"v": 2}, confidence="0.95")
    assert max(e or 0 for e in bound.errors("0.95")["v"]) < 4


@pytest.mark.slow
def test_days_may_be_one_of_few_numbers() -> None:
    """As DATEADD(day, -DATEPART(weekday, x), x) of T-SQL asks it."""
    for moved, right in (("day - DAYOFWEEK(day)", "Sunday"), ("ADD_DAYS(at, DAY_OF_WEEK(at))", "Monday")):
        assert round(one(f"SELECT COUNT(*) AS n FROM visits WHERE DAYNAME({moved}) = '{right}'")["n"]) == N
    with pytest.raises(BadQuestion, match="at most 100 values"):
        session().sql("SELECT COUNT(*) FROM visits WHERE ADD_DAYS(day, DAY_OF_YEAR(day)) > day")


def test_distances_and_weeks() -> None:
    row = one("SELECT MAX(day) - MIN(day) AS d, DATE_DIFF('week', MIN(day), MAX(day)) AS w FROM visits")
    assert row == {"d": 365, "w": 52}
    weeks = session().sql("SELECT WEEK(day) AS w, COUNT(*) AS n FROM visits GROUP BY w").release(epsilon=10**6)
    right = [d.isocalendar()[1] for d in TABLE["day"].to_pylist()]
    assert [(r["w"], r["n"]) for r in weeks.rows] == [(w, right.count(w)) for w in sorted(set(right))]
    mean = one(
        "SELECT AVG(day - DATE '2024-01-01') AS d, COUNT(*) FILTER (WHERE day + 7 > '2024-12-31') AS n FROM visits"
    )
    assert mean["n"] == sum(d + timedelta(days=7) > date(2024, 12, 31) for d in TABLE["day"].to_pylist())
    assert mean["d"] == pytest.approx(sum((d - date(2024, 1, 1)).days for d in TABLE["day"].to_pylist()) / N, abs=0.01)
    sundays = one("SELECT COUNT(*) AS n FROM visits WHERE DAYOFWEEK(day) = 0")
    assert sundays["n"] == sum(d.isoweekday() == 7 for d in TABLE["day"].to_pylist())


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("SELECT SUM(day) FROM visits", Unsupported, "DATE_DIFF"),
        ("SELECT STDDEV(at) FROM visits", Unsupported, "DATE_DIFF"),
        ("SELECT MAKE_DATE(2024, 1, 1) AS y, COUNT(*) FROM visits GROUP BY y", Unsupported, "DATE_TRUNC"),
    ],
)
def test_what_cannot_be_asked_of_dates_is_refused_by_name(text: str, error: type[Exception], said: str) -> None:
    s = session()
    with pytest.raises(error, match=said):
        s.sql(text)
    assert s.remaining == s.budget


def test_without_bounds_an_aggregate_of_dates_is_answered_or_null() -> None:
    """Years that stand out from the noise bound the answer; where none does it is NULL, with the reason."""
    s = session({})
    for text in ("SELECT AVG(day) AS d FROM visits", "SELECT MIN(at) AS d FROM visits WHERE at > '2024-01-01'"):
        (day,) = s.sql(text).release(epsilon=9)["d"]
        assert day.year in (2023, 2024, 2025)
        answer = s.sql(text).release(epsilon="1e-6")
        assert answer["d"] == [None]
        assert "d is NULL" in str(answer)
    assert s.sql("SELECT MIN(at) AS a FROM visits WHERE at BETWEEN '2024-01-01' AND '2025-01-01'").release(epsilon=9)


@pytest.mark.slow
def test_no_unit_moves_dates_and_times_further_than_claimed() -> None:
    query = session().sql("SELECT clinic, AVG(day) AS d, AVG(at) AS t, MAX(at) AS last FROM visits GROUP BY clinic")
    assert dp.check(query, searches=15).ok
