"""A query with nothing declared but the unit: one charge, every step once, no Python error, no made-up number."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.errors import EngineFailed, OverBudget
from discreet.query.plan.schema import Schema, Stored
from discreet.query.plan.work import AnyWork, Exact, UnitClasses

CHOSEN_CAPS = True
RNG = np.random.default_rng(7)
PEOPLE = np.repeat(np.arange(4000), RNG.geometric(0.3, 4000))
AMOUNTS = RNG.gamma(0.7, 60, len(PEOPLE))
GROUPS = RNG.choice(["a", "b", "c"], len(PEOPLE), p=[0.5, 0.3, 0.2])
TABLE = pa.table({"id": PEOPLE, "g": GROUPS, "x": AMOUNTS, "k": (AMOUNTS * 10).astype(int)})
ALL = "SELECT g, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m, COUNT(DISTINCT id) AS u FROM t GROUP BY g"


def session(rows: Any = TABLE, budget: Any = None, rule: Any = dp.Rule.BASIC, **more: Any) -> dp.Session:
    return dp.Session(t=dp.table(rows, unit="id"), budget=budget or dp.Approx(100, "1e-6"), rule=rule, **more)


def test_sums_means_and_counts_by_groups_that_nobody_declared() -> None:
    """At epsilon 40 each number is within 5 % of the raw table: noise is below 0.5 % of it, so a false alarm is a draw
    beyond 10 deviations."""
    own = session()
    answer = own.sql(ALL).release(epsilon=40)
    assert own.remaining.epsilon == 60  # type: ignore[union-attr]
    assert answer["g"] == ["a", "b", "c"]
    for i, group in enumerate("abc"):
        here = np.equal(GROUPS, group)
        truth = {"n": here.sum(), "s": AMOUNTS[here].sum(), "m": AMOUNTS[here].mean(), "u": len(set(PEOPLE[here]))}
        for name, value in truth.items():
            assert answer[name][i] == pytest.approx(value, rel=0.05), (group, name)


def test_rare_values_of_the_other_sign_count_in_a_mean() -> None:
    """200 of 20,000 people are too few to stand out in the histogram of values (some 300 are seen), and move the mean
    from 100 to 89. Its noise has a deviation below 0.5, so 4 away is a false alarm in fewer than one in 1e6 draws.
    """
    amounts = [-1_000.0] * 200 + [100.0] * 19_800
    for sign in (1, -1):
        rows = {"id": range(20_000), "x": [sign * x for x in amounts]}
        (mean,) = session(rows).sql("SELECT AVG(x) AS m FROM t").release(epsilon=1)["m"]
        assert mean == pytest.approx(sign * 89, abs=4)


@pytest.mark.parametrize("text", [
    ALL, "SELECT COUNT(*) AS n FROM t", "SELECT SUM(-k) AS s, SUM(x) AS r FROM t",
    "SELECT AVG(k) AS m FROM t WHERE k > 5",
    "SELECT VARIANCE(x) AS v, MEDIAN(k) AS q, COUNT(DISTINCT g) AS d FROM t",
    "SELECT g, SUM(k) AS s FROM t GROUP BY ROLLUP (g)",
    "SELECT AVG(n) AS m FROM (SELECT id, COUNT(*) AS n FROM t GROUP BY id) AS per_person",
])  # fmt: skip
@pytest.mark.parametrize("rows", [
    pytest.param({"id": [], "g": [], "x": [], "k": []}, id="empty"),
    pytest.param({"id": [1], "g": ["a"], "x": [2.5], "k": [3]}, id="one person"),
    pytest.param({"id": range(500), "g": ["a"] * 500, "x": [0.0] * 500, "k": [0] * 500}, id="all zero"),
    pytest.param({"id": range(500), "g": ["a"] * 500, "x": [7.0] * 500, "k": [7] * 500}, id="all equal"),
    pytest.param({"id": [1] * 500, "g": ["a"] * 500, "x": [1e300] * 500, "k": [2**62] * 500}, id="one giant"),
    pytest.param({"id": range(500), "g": ["b"] * 500, "x": [-1e12] * 500, "k": [-(2**63)] * 500},
                 id="far and negative"),
    pytest.param({"id": range(500), "g": [None] * 500, "x": [None] * 500, "k": [None] * 500}, id="NULLs only"),
    pytest.param({"id": range(500), "g": ["a"] * 500, "x": [float("nan")] * 499 + [float("inf")], "k": [1] * 500},
                 id="NaN"),
])  # fmt: skip
def test_no_table_makes_a_query_fail_after_it_was_paid(text: str, rows: dict[str, Any]) -> None:
    kinds = {"id": pa.int64(), "g": pa.string(), "x": pa.float64(), "k": pa.int64()}
    table = pa.table({name: pa.array(list(rows[name]), kinds[name]) for name in kinds})
    own = session(table)
    answer = own.sql(text).release(epsilon=1)
    assert own.remaining.epsilon == 99  # type: ignore[union-attr]
    for name, bars in answer.errors().items():
        assert len(bars) == len(answer[name])
    assert str(answer)


def test_what_cannot_be_known_is_null_with_the_reason() -> None:
    own = session(pa.table({"id": [1, 2, 3], "x": [1.5, 2.5, 3.5]}))
    answer = own.sql("SELECT COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM t").release(epsilon="0.1")
    assert answer["s"] == [None]
    assert answer["m"] == [None]
    assert answer.errors()["s"] == [None]
    assert "s is NULL: too few units" in str(answer)
    assert "m is NULL: " in answer.explain()


def test_few_people_in_many_groups_are_not_counted_with_the_noise_of_ten_rows() -> None:
    """Each has one row. An ascent passes the first step if its threshold's noise, of scale 70, is beyond 1,600: once in
    1e10 runs."""
    keys = [f"g{i}" for i in range(400)]
    table = dp.table({"id": list(range(400)), "g": keys}, unit="id", columns={"g": dp.keys(keys)})
    own = dp.Session(t=table, budget=dp.Pure(1))
    answer = own.sql("SELECT g, COUNT(*) AS n FROM t GROUP BY g").release(epsilon="0.3")
    most = answer.released[0].part.caps.max_rows
    assert most is not None
    assert most < 10


@pytest.mark.parametrize("text", [
    "SELECT COUNT(*) AS n FROM t", "SELECT l, SUM(k) AS s, COUNT(*) AS n FROM t GROUP BY l",
    "SELECT l, AVG(x) AS m FROM t GROUP BY l", "SELECT SUM(x) AS s, VARIANCE(k) AS v FROM t",
    "SELECT l, COUNT(*) AS n, MEDIAN(k) AS m FROM t GROUP BY l",
])  # fmt: skip
def test_no_unit_moves_exact_numbers_further_than_is_charged(text: str) -> None:
    rows = {"id": [1], "l": ["p"], "k": [1], "x": [0.5]}
    table = dp.table(rows, unit="id", columns={"l": dp.keys(["p", "q"])})
    own = dp.Session(t=table, budget=dp.Approx(9, "1e-6"), engine=memory())
    assert dp.check(own.sql(text), searches=40).ok


class Wrapped:
    """The memory engine, with something wrong about it."""

    name = "memory"
    inner = memory()

    def columns(self, source: object) -> dict[str, Stored]:
        return self.inner.columns(source)


class CountsTwice(Wrapped):
    """A planted bug: a person is two units in the classes."""

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        found = self.inner.run(works, schemas)
        return tuple(
            Exact(exact.keys, tuple(2 * numbers for numbers in exact.numbers))
            if isinstance(work, UnitClasses)
            else exact
            for work, exact in zip(works, found, strict=True)
        )


def test_a_unit_that_counts_twice_in_the_classes_is_caught() -> None:
    table = dp.table({"id": [1], "k": [1]}, unit="id")
    own = dp.Session(t=table, budget=dp.Pure(9), engine=CountsTwice())
    assert not dp.check(own.sql("SELECT SUM(k) AS s FROM t"), searches=40).ok


class Fails(Wrapped):
    """Fails on the call whose turn it is."""

    def __init__(self, at: int) -> None:
        self.at, self.calls, self.drawn = at, 0, list[tuple[AnyWork, ...]]()

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        self.calls += 1
        if self.calls == self.at:
            raise EngineFailed
        self.drawn.append(tuple(works))
        return self.inner.run(works, schemas)


STEPS = 4
"""Keys, values, classes, the answer: each a call of the engine."""


@pytest.mark.parametrize("at", range(1, STEPS + 2))
def test_an_engine_that_fails_at_any_step_goes_on_under_the_same_payment_and_draws_nothing_twice(at: int) -> None:
    rows = TABLE.slice(0, 3000)
    engine = Fails(at)
    own = dp.Session(t=dp.table(rows, unit="id"), budget=dp.Approx(90, "1e-6"), rule=dp.Rule.BASIC, engine=engine)
    query = own.sql("SELECT g, SUM(x) AS s, AVG(x) AS m FROM t GROUP BY g")
    with pytest.raises(EngineFailed) if at <= STEPS else nullcontext() as failure:
        answer = query.release(epsilon=30)
    if failure is not None:
        assert failure.value.again is not None
        answer = failure.value.again()
        with pytest.raises(dp.errors.ReceiptRefused):
            failure.value.again()
    assert own.remaining.epsilon == 60  # type: ignore[union-attr]
    assert set(answer.columns) == {"g", "s", "m"}
    shapes = [tuple(type(work).__name__ for work in works) for works in engine.drawn]
    assert len(engine.drawn) == len({tuple(map(repr, works)) for works in engine.drawn}), shapes


def test_24_at_once_get_exactly_as_many_answers_as_the_budget_has() -> None:
    own = session(budget=dp.Pure(1), rule=None)

    def ask(_: int) -> bool:
        try:
            own.sql("SELECT COUNT(*) AS n, SUM(x) AS s FROM t").release(epsilon="0.1")
        except OverBudget:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(24))) == 10
    assert own.remaining == dp.Pure(0)


def test_a_cheap_query_spoils_no_later_one() -> None:
    """Nothing is kept: the answer at epsilon 20 is within 10 % of 60 people's worth of rows, whatever came before."""
    own = session()
    for _ in range(3):
        own.sql("SELECT SUM(x) AS s FROM t").release(epsilon="1e-6")
    (value,) = own.sql("SELECT SUM(x) AS s FROM t").release(epsilon=20)["s"]
    assert value == pytest.approx(AMOUNTS.sum(), rel=0.1)


def test_an_answer_says_to_what_people_were_scaled_down() -> None:
    answer = session().sql("SELECT COUNT(*) AS n, SUM(x) AS s FROM t").release(epsilon=10)
    rows, totals = answer.clipped
    assert (rows.column, rows.of, totals.column, totals.of) == ("", "rows", "s", "totals")
    assert rows.limit >= 5
    assert totals.limit >= 100
    assert totals.note in answer.notes
    declared = dp.table(TABLE, unit="id", max_rows=3, columns={"x": dp.bounds(0, 100)})
    own = dp.Session(t=declared, budget=dp.Pure(9))
    assert own.sql("SELECT SUM(x) AS s FROM t").release(epsilon=1).clipped == ()


def test_distinct_values_are_counted_by_one_of_each_person_where_that_is_enough() -> None:
    """Three groups that everybody may have; and ids that one person each has, of which most would be lost by one. At
    epsilon 8 a wrong choice is a draw beyond 20 deviations.
    """
    table = pa.table({"id": PEOPLE, "g": GROUPS, "o": np.arange(len(PEOPLE))})
    own = session(table)
    few = own.sql("SELECT COUNT(DISTINCT g) AS d FROM t").release(epsilon=8)
    assert abs(few["d"][0] - 3) <= 6
    (bar,) = few.errors()["d"]
    assert bar is not None
    assert bar <= 2
    assert [(clip.of, clip.limit) for clip in few.clipped] == [("distinct values", 1)]
    many = own.sql("SELECT COUNT(DISTINCT o) AS d FROM t").release(epsilon=8)
    assert many["d"][0] == pytest.approx(len(PEOPLE), rel=0.05)
    assert many.clipped[0].limit > 1
