"""Consistent answers: totals that are sums to the last bit, values that can be, error bars that hold."""

import math
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.query.answer import consistency
from discreet.query.answer.answer import TableAnswer

N = 6_000
TRIPS = pa.table(
    {
        "user": [i // 3 for i in range(N)],
        "region": [("north", "south", "east", "elsewhere", None)[i * 7 % 11 % 5] for i in range(N)],
        "month": [1 + i * i % 4 for i in range(N)],
        "paid": [i % 3 == 0 for i in range(N)],
        "amount": [i * 37 % 101 - 20 for i in range(N)],
    }
)
REGIONS = ["north", "south", "east"]
BUDGETS: list[dp.Pure | dp.ZCDP] = [dp.Pure(50), dp.ZCDP(500, "1e-9")]
SETS = {
    "rollup": ("ROLLUP (region, month)", [("region", "month"), ("region",), ()]),
    "cube": ("CUBE (region, month)", [("region", "month"), ("region",), ("month",), ()]),
    "sets": ("GROUPING SETS ((month, paid, region), (region, month), (paid))",
             [("month", "paid", "region"), ("region", "month"), ("paid",)]),
}  # fmt: skip


def session(budget: dp.Pure | dp.ZCDP = BUDGETS[0], table: pa.Table = TRIPS, **more: Any) -> dp.Session:
    columns = {"region": dp.keys(REGIONS), "month": dp.bounds(1, 4), "amount": dp.bounds(-20, 80, nullable=False)}
    return dp.Session(trips=dp.table(table, unit="user", columns=columns, **{"max_rows": 3, **more}), budget=budget)


def ask(s: dp.Session, sets: str, **price: Any) -> TableAnswer:
    text = "SELECT region, month, paid, COUNT(*) AS n, SUM(amount) AS total, AVG(amount) AS mean FROM trips GROUP BY "
    return s.sql((text if "paid" in sets else text.replace(" paid,", "")) + sets).release(**price)


def price(budget: dp.Pure | dp.ZCDP, epsilon: str) -> dict[str, Any]:
    return {"rho": epsilon} if isinstance(budget, dp.ZCDP) else {"epsilon": epsilon}


def sums_that_differ(answer: TableAnswer, sets: list[tuple[str, ...]], column: str) -> int:
    """How many totals are not, to the last bit, the sums of the finest rows below them."""
    keys = [c for c in answer.columns if c in ("region", "month", "paid")]
    rows = list(answer.rows)
    finest, wrong = [row for row in rows if all(row[k] is not None for k in sets[0])], 0
    for row in rows:
        given = {k: row[k] for k in keys if row[k] is not None}
        below = [r[column] for r in finest if all(r[k] == v for k, v in given.items())]
        wrong += math.fsum(below) != row[column]
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS, ids=["laplace", "gaussian"])
@pytest.mark.parametrize("name", SETS)
def test_totals_are_the_sums_of_their_parts_exactly(name: str, budget: dp.Pure | dp.ZCDP) -> None:
    text, sets = SETS[name]
    answer = ask(session(budget), text, **price(budget, "0.01"))
    found = answer.consistent()
    for column in ("n", "total"):
        assert sums_that_differ(answer, sets, column) > 0  # the planted twin: as released, they do not add up
        assert sums_that_differ(found, sets, column) == 0
    assert found.consistent() is found


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_an_average_is_its_sum_by_its_count(name: str) -> None:
    found = ask(session(), SETS[name][0], epsilon="0.05").consistent()
    for row in found.rows:
        assert row["n"] >= 0
        assert -20 * row["n"] - 1e-6 <= row["total"] <= 80 * row["n"] + 1e-6
        if row["n"]:
            assert row["mean"] == pytest.approx(row["total"] / row["n"], rel=1e-9, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS, ids=["laplace", "gaussian"])
def test_error_bars_hold_and_are_shorter(budget: dp.Pure | dp.ZCDP) -> None:
    """All of them at once with confidence 1 - 1e-8: a false alarm is that rare."""
    answer = ask(session(budget), SETS["cube"][0], **price(budget, "0.5"))
    found = answer.consistent()
    sure = found.intervals("0.99999999", simultaneous=True)
    for i, row in enumerate(found.rows):
        mine = [
            (r, a)
            for r, m, a in zip(*(TRIPS[c].to_pylist() for c in ("region", "month", "amount")), strict=True)
            if r in REGIONS and row["region"] in (None, r) and row["month"] in (None, m)
        ]
        for column, truth in (("n", len(mine)), ("total", sum(a for _, a in mine))):
            low, high = sure[column][i] or (math.nan, math.nan)
            assert low <= truth <= high
            assert low <= row[column] <= high
    for before, after in zip(answer.released, found.released, strict=True):
        for statistic, estimate in after.estimates.items():
            assert estimate.error(0.05) < before.estimates[statistic].error(0.05)


ONE_EACH = TRIPS.set_column(0, "user", pa.array(range(N))).slice(0, 900)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_totals_agree_where_a_unit_has_one_row(name: str) -> None:
    """They were left as they were, without a word: such a unit is counted as one, not by its rows.

    48 groups of 4 numbers at most: a false alarm has probability below 2e-7.
    """
    text = ("SELECT region, month, paid, COUNT(*) AS n, SUM(amount) AS total, COUNT(DISTINCT user) AS users, "
            "COUNT(*) FILTER (WHERE amount > 9) AS large FROM trips GROUP BY ")  # fmt: skip
    text = text if name == "sets" else text.replace(" paid,", "")
    answer = session(table=ONE_EACH, max_rows=1).sql(text + SETS[name][0]).release(epsilon=2)
    found, numbers = answer.consistent(), ("n", "total", "users", "large")
    exact = session(table=ONE_EACH, max_rows=1, budget=dp.Pure(10**6)).sql(text + SETS[name][0]).release(epsilon=10**5)
    ends = found.intervals("0.999999999")
    for column in numbers:
        assert sums_that_differ(found, SETS[name][1], column) == 0
        assert all(isinstance(value, int) for value in found[column])
        both = zip(ends[column], exact[column], strict=True)
        assert all(one is not None and one[0] <= value <= one[1] for one, value in both)
    assert sums_that_differ(answer, SETS[name][1], "total") > 0
    assert found.notes == answer.notes


@pytest.mark.slow
def test_totals_that_are_left_alone_are_told() -> None:
    rollup = "SELECT region, month, COUNT(*) AS n FROM trips GROUP BY ROLLUP (region, month)"
    sets = "SELECT region, month, COUNT(*) AS n FROM trips GROUP BY GROUPING SETS ((region), (month))"
    for answer, why in (
        (session(max_rows_per_group=1).sql(rollup).release(epsilon=1), "a unit counts once in each"),
        (session().sql(sets).release(epsilon=1), "no grouping set has all keys"),
    ):
        assert f"Totals are left as they are: {why}" in answer.consistent().explain()
        assert "Totals are left" not in answer.explain()
    plain = session().sql("SELECT region, COUNT(*) AS n FROM trips GROUP BY region").release(epsilon=1)
    assert "totals are left" not in str(plain.consistent())


def test_totals_count_only_rows_of_their_groups() -> None:
    answer = ask(session(dp.Pure(10**6)), SETS["rollup"][0], epsilon=10**6 // 2)
    total = next(row["n"] for row in answer.rows if row["region"] is None)
    assert total == sum(1 for r in TRIPS["region"].to_pylist() if r in REGIONS)


def test_one_grouping_set_stays_whole_and_becomes_possible() -> None:
    empty = session(table=TRIPS.slice(0, 0))
    answer = empty.sql("SELECT region, COUNT(*) AS n, SUM(amount) AS t FROM trips GROUP BY region").release(
        epsilon="0.01"
    )
    for row in answer.consistent().rows:
        assert isinstance(row["n"], int)
        assert row["n"] >= 0
        assert -20 * row["n"] - 20 <= row["t"] <= 80 * row["n"] + 80  # n and t are rounded
    alone = session(table=TRIPS.slice(0, 0)).sql("SELECT region, SUM(amount + 20) AS t FROM trips GROUP BY region")
    assert min(alone.release(epsilon="0.01").consistent()["t"]) >= 0


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"max_rows_per_group": 1}, "SELECT region, month, COUNT(*) AS n FROM trips GROUP BY ROLLUP (region, month)"),
        ({}, "SELECT region, month, COUNT(*) AS n FROM trips GROUP BY GROUPING SETS ((region), (month))"),
        ({}, "SELECT region, month, COUNT(DISTINCT user) AS n FROM trips GROUP BY ROLLUP (region, month)"),
    ],
    ids=["one row in a group", "no finest set", "units"],
)
def test_what_does_not_add_up_is_only_kept_from_below_zero(more: dict[str, Any], text: str) -> None:
    answer = session(**more).sql(text).release(epsilon="0.01")
    found = answer.consistent()
    assert found["n"] == [max(n, 0) for n in answer["n"]]


@pytest.mark.slow
def test_keys_that_nobody_listed_are_left_alone() -> None:
    s = dp.Session(
        trips=dp.table(TRIPS, unit="user", columns={"region": dp.unknown_keys(), "month": dp.bounds(1, 4)}, max_rows=3),
        budget=dp.Approx(50, "1e-6"),
    )
    answer = s.sql("SELECT region, month, COUNT(*) AS n FROM trips GROUP BY ROLLUP (region, month)").release(epsilon=5)
    assert answer.consistent()["n"] == [max(n, 0) for n in answer["n"]]
    assert answer.consistent().story[-1] == consistency.ALONE
