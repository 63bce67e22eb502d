"""Answers that follow from stored numbers: the same numbers, true sums with the law of their noise, and refusals."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.derived import derived, kept_numbers
from discreet.query.estimate.error_bounds import Share, sum_error
from discreet.query.plan.work import Form

ROWS = 60
TABLE = pa.table(
    {
        "who": [i // 4 for i in range(ROWS)],  # four rows each: more than the bound
        "city": ["abc"[i % 3] for i in range(ROWS)],
        "old": [i % 2 == 0 for i in range(ROWS)],
        "year": [2024 + i % 2 for i in range(ROWS)],
        "town": ["xy"[i % 2] for i in range(ROWS)],
        "pay": [float(i % 50) for i in range(ROWS)],
    }
)
FINE = "SELECT city, old, COUNT(*) AS n, SUM(pay) AS total FROM people WHERE city IN ('a', 'b', 'c') GROUP BY city, old"


def session(**caps: Any) -> dp.Session:
    columns = {
        "city": dp.keys(["a", "b", "c"]),
        "old": dp.keys([True, False, None]),
        "year": dp.keys([2024, 2025]),
        "town": dp.unknown_keys(),
        "pay": dp.bounds(0, 50),
    }
    people = dp.table(TABLE, unit="who", columns=columns, **(caps or {"max_rows": 3}))
    return dp.Session(people=people, budget=dp.Approx(10**9, "0.1"))


def derive(s: dp.Session, stored: str, text: str, epsilon: object = 1) -> tuple[TableAnswer, TableAnswer | None]:
    """The answer to ``stored``, and what follows from it for ``text``, by way of JSON."""
    query, other = s.sql(stored), s.sql(text)
    answer = query.release(epsilon=epsilon)  # type: ignore[arg-type]
    numbers = kept_numbers(answer)
    if numbers is None:
        return answer, None
    kept = json.loads(json.dumps(numbers))
    quote = query.quote(epsilon=epsilon)  # type: ignore[arg-type]
    left = s.remaining
    made = derived(other.prepared, other.plan.outcome, quote, quote.questions[0], kept, 7)
    assert s.remaining == left
    return answer, made


@pytest.mark.parametrize(
    "text",
    [
        "SELECT city, old, COUNT(*) AS many FROM people WHERE city IN ('a', 'b', 'c') GROUP BY city, old",
        FINE.replace("SELECT city, old,", "SELECT old, city,") + " ORDER BY total DESC",
        FINE + " ORDER BY n LIMIT 2",
        FINE + " HAVING COUNT(*) > 4",
        FINE.replace("SUM(pay) AS total", "SUM(pay) / COUNT(*) AS mean"),
    ],
)
def test_the_same_groups_have_the_same_numbers_and_intervals(text: str) -> None:
    answer, made = derive(session(), FINE, text)
    assert made is not None
    by_key = {(row["city"], row["old"]): row for row in answer.rows}
    for row in made.rows:
        source = by_key[row["city"], row["old"]]
        assert row.get("many", row.get("n", source["n"])) == source["n"]
        assert row.get("total", source["total"]) == source["total"]
    if "HAVING" not in text and "LIMIT" not in text:
        name = "many" if "many" in text else "n"
        assert set(made.errors()[name]) == set(answer.errors()["n"])
    assert "nothing was spent now" in " ".join(map(str, made.notes))


@pytest.mark.parametrize("key", ["city", "old", None])
def test_totals_are_the_sums_of_all_groups_with_the_law_of_their_noise(key: str | None) -> None:
    where = "WHERE city IN ('a', 'b', 'c')"
    text = f"SELECT {key}, COUNT(*) AS n FROM people {where} GROUP BY {key}" if key else \
        f"SELECT COUNT(*) AS n FROM people {where}"  # fmt: skip
    s = session()
    answer, made = derive(s, FINE, text)
    assert made is not None
    for row in made.rows:
        parts = [one["n"] for one in answer.rows if key is None or one[key] == row[key]]
        assert abs(row["n"] - sum(parts)) <= len(parts) / 2 + 1  # parts are rounded where they are shown
    (statistic,) = {s for part in made.released for s in part.estimates}
    noised = s.sql(FINE).quote(epsilon=1).plan.sets[0][statistic]
    many = 9 // len(made.rows)
    error = sum_error([Share(noised, 1.0, many)], 0.05)
    assert made.errors()["n"][0] == pytest.approx(error, abs=1.0)
    assert error > sum_error([Share(noised, 1.0, 1)], 0.05)


@pytest.mark.parametrize("most", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "columns", ["COUNT(*) AS n, SUM(pay) AS total", "old, SUM(pay) AS total", "old, COUNT(*) AS n"]
)
def test_a_derived_total_counts_at_most_so_many_rows_of_each_unit(columns: str, most: int) -> None:
    """Without noise to speak of, beside a sum by hand: each unit has four rows, and each row weighs most/4 or 1."""
    group = " GROUP BY old" if columns.startswith("old") else ""
    text = f"SELECT {columns} FROM people WHERE city IN ('a', 'b', 'c'){group}"
    _, made = derive(session(max_rows=most), FINE, text, 10**7)
    assert made is not None
    weight, rows = min(1, most / 4), TABLE.to_pylist()
    for row in made.rows:
        some = [one for one in rows if "old" not in row or one["old"] == row["old"]]
        wanted = {"n": weight * len(some), "total": weight * sum(one["pay"] for one in some)}
        for name in {"n", "total"} & row.keys():
            assert row[name] == pytest.approx(wanted[name], abs=0.51)  # numbers of rows are rounded


def test_no_totals_where_a_unit_may_count_for_more_in_all_groups_together() -> None:
    """A bound on the length of what a unit has in all groups lets it count for more rows than that in their sum."""
    s = session(max_rows=1)
    query, other = (
        s.sql("SELECT old, COUNT(*) AS n FROM people GROUP BY old"),
        s.sql("SELECT COUNT(*) AS n FROM people"),
    )
    for epsilon, delta in ((1, None), (1, "1e-6"), (10**7, "1e-6")):
        quote = query.quote(epsilon=epsilon, delta=delta)
        forms = {noised.weights.form for noised in quote.plan.sets[0].values()}
        numbers = kept_numbers(query.release(epsilon=epsilon, delta=delta))
        made = derived(other.prepared, other.plan.outcome, quote, quote.questions[0], numbers or [], 7)
        assert (made is None) == (Form.L2 in forms)


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        # the list of cities may not be whole
        ("SELECT city, old, COUNT(*) n FROM people GROUP BY 1, 2", "SELECT old, COUNT(*) n FROM people GROUP BY old"),
        ("SELECT year, COUNT(*) AS n FROM people GROUP BY year", "SELECT COUNT(*) AS n FROM people"),
        # groups that nobody listed: those that are not shown are part of the total
        ("SELECT town, COUNT(*) AS n FROM people GROUP BY town", "SELECT COUNT(*) AS n FROM people"),
        ("SELECT town, COUNT(*) n FROM people GROUP BY town", "SELECT town, COUNT(*) m FROM people GROUP BY town"),
        # other rows
        (FINE, FINE.replace("WHERE", "WHERE pay > 3 AND")),
        (FINE, "SELECT COUNT(*) AS n FROM people"),
        # no sums of rows
        ("SELECT old, COUNT(DISTINCT who) AS n FROM people GROUP BY old", "SELECT COUNT(DISTINCT who) n FROM people"),
        ("SELECT old, AVG(pay) AS m FROM people GROUP BY old", "SELECT AVG(pay) AS m FROM people"),
        # numbers that were not released
        ("SELECT old, COUNT(*) n FROM people GROUP BY old", "SELECT old, SUM(pay) n FROM people GROUP BY old"),
        ("SELECT old, COUNT(*) n FROM people GROUP BY old", "SELECT year, COUNT(*) n FROM people GROUP BY year"),
        ("SELECT COUNT(*) AS n FROM people", "SELECT old, COUNT(*) AS n FROM people GROUP BY old"),
    ],
)  # fmt: skip
def test_what_does_not_follow_is_not_offered(stored: str, text: str) -> None:
    assert derive(session(), stored, text)[1] is None


@pytest.mark.parametrize("caps", [{"max_groups": 2, "max_rows_per_group": 2}, {"max_rows": 3, "max_groups": 2}])
def test_no_totals_where_a_bound_is_on_groups(caps: dict[str, int]) -> None:
    text = "SELECT COUNT(*) AS n FROM people"
    assert derive(session(**caps), "SELECT old, COUNT(*) AS n FROM people GROUP BY old", text)[1] is None
    assert derive(session(), "SELECT old, COUNT(*) AS n FROM people GROUP BY old", text)[1] is not None


def test_totals_hold_as_often_as_they_say() -> None:
    """300 derived totals of 9 groups: a miss has chance 5 % at most; more than 36 misses have one below 1e-6."""
    s, text = session(), "SELECT COUNT(*) AS n FROM people WHERE city IN ('a', 'b', 'c')"
    truth = s.sql(text).release(epsilon=10**7)["n"][0]
    query, other = s.sql(FINE), s.sql(text)
    quote, misses, planted = query.quote(epsilon=1), 0, 0
    for _ in range(300):
        answer = query.release(epsilon=1)
        made = derived(other.prepared, other.plan.outcome, quote, quote.questions[0], kept_numbers(answer) or [], 7)
        assert made is not None
        ((low, high),) = made.intervals()["n"]  # type: ignore[misc]
        misses += not low <= truth <= high
        planted += abs(made["n"][0] - truth) > answer.errors()["n"][0]
    assert misses <= 36 < planted  # the bar of one group would miss too often
