"""A quantile that is searched for, as users have it: nearer than by a tree, and bars that hold."""

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.query.estimate.estimators import Estimate, Estimates
from discreet.query.estimate.searched_quantile import SearchedQuantile, packed
from discreet.query.estimate.statistics import Bins, QuantileCells
from discreet.query.plan.expressions import Column

RUNS = 100
MANY = 24
"""100 intervals that hold with 95 % each miss at least so often with a probability below 1e-9."""


def session(values: Any, *, budget: Any, low: int = 0, high: int = 1000, **more: Any) -> dp.Session:
    rows = pa.table({"id": np.arange(len(values)), "x": values, **more})
    columns = {"x": dp.bounds(low, high), **({"g": dp.keys(["a", "b"])} if more else {})}
    return dp.Session(t=dp.table(rows, unit="id", columns=columns, max_rows=1), budget=budget)


def interval(answer: Any, name: str = "m") -> tuple[float, float]:
    ((low, high),) = answer.intervals()[name]
    return low, high


VALUES = np.random.default_rng(5).gamma(3.0, 90.0, 400).clip(0, 1000)


@pytest.mark.parametrize("budget", [dp.Pure(1000), dp.ZCDP(1000)])
def test_one_quantile_alone_is_nearer_than_one_of_a_tree(budget: Any) -> None:
    one = session(VALUES, budget=budget)
    price = {"rho": "1/2"} if isinstance(budget, dp.ZCDP) else {"epsilon": 1}
    alone = one.sql("SELECT MEDIAN(x) AS m FROM t").preview(**price)
    both = one.sql("SELECT MEDIAN(x) AS m, MIN(x) AS least FROM t").preview(**price)
    ratio = 0.7 if isinstance(budget, dp.ZCDP) else 0.45
    assert alone.error("m") < ratio * both.error("m"), "with an extreme, all are read off one tree"


@pytest.mark.parametrize("budget", [dp.Pure(1000), dp.ZCDP(1000), dp.Approx(1000, "1e-6")])
def test_a_few_quantiles_together_are_nearer_than_those_of_a_tree(budget: Any) -> None:
    one = session(VALUES, budget=budget)
    price: Any = {"rho": "1/2"} if isinstance(budget, dp.ZCDP) else {"epsilon": 1}
    half: Any = {"rho": "1/4"} if isinstance(budget, dp.ZCDP) else {"epsilon": "1/2"}
    asked = "MEDIAN(x) AS m, QUANTILE(x, 0.9) AS q"
    together, tree = (one.sql(f"SELECT {some} FROM t").preview(**price) for some in (asked, asked + ", MIN(x) AS l"))
    for name in ("m", "q"):
        assert together.error(name) < (1 if isinstance(budget, dp.ZCDP) else 0.9) * tree.error(name)
    separate = one.sql("SELECT MEDIAN(x) AS m FROM t").preview(**half)
    assert together.error("m") < separate.error("m"), "and than each for its part of the price"


def test_quantiles_of_the_same_rows_are_in_order_and_their_bars_hold() -> None:
    """40 releases of 3 bars at 95 %: of each, 16 misses or more have a probability below 1e-10."""
    one = session(VALUES[:60], budget=dp.Pure(1000))
    levels = {"a": 0.4, "b": 0.5, "c": 0.6}
    question = one.sql(f"SELECT {', '.join(f'QUANTILE(x, {q}) AS {n}' for n, q in levels.items())} FROM t")
    assert "look for the quantiles 0.4, 0.5, 0.6" in str(question.explain(epsilon=1))
    ordered, missed = np.sort(VALUES[:60]), dict.fromkeys(levels, 0)
    for _ in range(40):
        answer = question.release(epsilon=1)
        (row,) = answer.rows
        assert row["a"] <= row["b"] <= row["c"]
        for name, level in levels.items():
            low, high = interval(answer, name)
            place = round(60 * level)
            assert low <= row[name] <= high
            missed[name] += not (low <= ordered[place] and ordered[place - 1] <= high)
    assert max(missed.values()) < 16


def test_bars_hold_as_often_as_they_say_and_points_would_not() -> None:
    """A point holds the median in at most half of the runs: 100 of them miss fewer than 24 times with p < 1e-7."""
    one = session(VALUES, budget=dp.Pure(RUNS))
    question = one.sql("SELECT MEDIAN(x) AS m FROM t")
    truth = np.sort(VALUES)[[199, 200]]
    missed = points = 0
    for _ in range(RUNS):
        answer = question.release(epsilon=1)
        low, high = interval(answer)
        (row,) = answer.rows
        assert low <= row["m"] <= high
        missed += not (low <= truth[1] and truth[0] <= high)
        points += not truth[0] <= row["m"] <= truth[1]
    assert missed < MANY
    assert points >= MANY


def test_with_little_noise_it_is_the_quantile() -> None:
    """With ε = 10^7 a count of rows is off by one half with a probability below e^-10^5."""
    groups = ["a"] * 200 + ["b"] * 200
    one = session(VALUES, budget=dp.Pure(10**9), g=groups)
    for level in ("0.1", "0.5", "0.9"):
        rows = one.sql(f"SELECT g, QUANTILE(x, {level}) AS m FROM t GROUP BY g").release(epsilon=10**7).rows
        for row, part in zip(rows, (VALUES[:200], VALUES[200:]), strict=True):
            near = np.sort(part)[[round(float(level) * 200) - 2, round(float(level) * 200) + 1]]
            assert near[0] - 1 <= row["m"] <= near[1] + 1
    some = ", ".join(f"QUANTILE(x, 0.{i}) AS q{i}" for i in (2, 5, 7))
    for row, part in zip(
        one.sql(f"SELECT g, {some} FROM t GROUP BY g").release(epsilon=10**7).rows,
        (VALUES[:200], VALUES[200:]),
        strict=True,
    ):
        for i in (2, 5, 7):
            near = np.sort(part)[[20 * i - 2, 20 * i + 1]]
            assert near[0] - 1 <= row[f"q{i}"] <= near[1] + 1


def test_whole_numbers_and_no_rows() -> None:
    ages = np.array([40] * 300 + [41] * 300 + [80] * 100)
    one = session(ages, budget=dp.Pure(10**9), high=200)
    answer = one.sql("SELECT MEDIAN(x) AS m FROM t").release(epsilon=10**6)
    assert [(row["m"], answer.intervals()["m"][0]) for row in answer.rows] == [(41.0, (41.0, 41.0))]
    nobody = one.sql("SELECT MEDIAN(x) AS m FROM t WHERE x > 150").release(epsilon=1)
    low, high = interval(nobody)
    assert (low, high) == (0.0, 200.0) or 0 <= low <= high <= 200


def test_the_story_says_how() -> None:
    told = session(VALUES, budget=dp.Pure(1)).sql("SELECT MEDIAN(x) AS m FROM t").release(epsilon=1).explain()
    assert "look for the quantile 0.5 in 4,096 bins" in str(told)


@pytest.mark.slow
def test_a_preview_says_for_which_values_its_error_is() -> None:
    """Where there are few values, the next one may be far."""
    shown = session(VALUES, budget=dp.Pure(1)).sql("SELECT MEDIAN(x) AS m FROM t").preview(epsilon=1)
    assert [column.evenly for column in shown.columns] == [True]
    assert "spread evenly" in str(shown)


# --- by hand ----------------------------------------------------------------------------------------------------------


class OneAndAHalf:
    """Stands for noise whose errors in any prefix of cells are 1.5."""

    @staticmethod
    def cell_errors(cells: int, _level: Fraction, _miss: float) -> Any:
        return np.full(cells, 1.5)


def by_hand(
    counts: list[float], borders: list[float], level: str, *, whole: bool = False, high: int | None = 10
) -> tuple[float, tuple[float, float], bool]:
    """The value and the ends of one group, and whether it may be NULL."""
    bins = Bins(Column("x"), 10, Fraction(0), Fraction(1), whole, None if high is None else Fraction(high))
    recipe = SearchedQuantile(QuantileCells(bins, (Fraction(level),)), Fraction(level))
    values = packed(np.array(counts), np.array(borders), recipe.cells)[None, :]
    noise: Any = OneAndAHalf()
    noisy: Estimates = {recipe.cells: Estimate(values, lambda _: 4.0, noised=noise)}
    low, high_ends = recipe.ends(noisy, 0.05)
    null = recipe.may_be_null(noisy, (low, high_ends), 0.05)
    return float(recipe.value(noisy)[0]), (float(low[0]), float(high_ends[0])), bool(null[0])


SIX = [0.0, 2.0, 4.0, 5.0, 6.0, 8.0, 10.0]


@pytest.mark.parametrize(
    ("counts", "borders", "level", "value", "ends"),
    [
        # below each border 1, 3, 7, 11, 13, 14: half are 7
        ([1, 2, 4, 4, 2, 1], SIX, "1/2", 5.0, (4.0, 6.0)),
        ([1, 2, 2, 6, 2, 1], SIX, "1/2", 5 + 2 / 6, (5.0, 6.0)),
        ([1, 2, 4, 0, 6, 1], SIX, "1/2", 5.0, (4.0, 8.0)),
        # in the first cell, which is beyond the stretch if it is wider than the next one; the end is the second one's
        ([5, 1, 1, 1, 1], [0.0, 6.0, 7.0, 8.0, 9.0, 10.0], "1/4", 6.0, (0.0, 7.0)),
        ([5, 1, 1, 1, 1], [0.0, 2.0, 4.0, 6.0, 8.0, 10.0], "1/4", 0.9, (0.0, 4.0)),
        ([1, 1, 1, 1, 5], [0.0, 1.0, 2.0, 3.0, 4.0, 10.0], "3/4", 4.0, (4.0, 10.0)),
        ([1, 1, 1, 1, 5], [0.0, 2.0, 4.0, 6.0, 8.0, 10.0], "3/4", 8 + 2 * 0.55, (8.0, 10.0)),
        # surely fewer rows than none
        ([1, -2, -2, -1, 0, -1], SIX, "1/2", 5.0, (0.0, 10.0)),
    ],
)
def test_a_quantile_and_its_ends_by_hand(
    counts: list[float], borders: list[float], level: str, value: float, ends: tuple[float, float]
) -> None:
    found = by_hand(counts, borders, level)
    if sum(counts) >= 0:
        assert found[0] == pytest.approx(value)
    assert found[1] == ends
    assert found[2] is (ends[0] == 0)


def test_the_end_of_a_bin_of_whole_numbers_is_the_number_in_it() -> None:
    assert by_hand([1, 2, 4, 4, 2, 1], SIX, "1/2", whole=True)[:2] == (5.0, (4.0, 5.0))
    assert by_hand([0, 0, 0, 0, 0, 9], SIX, "9/10", whole=True, high=None)[:2] == (9.0, (8.0, 9.0))
    assert by_hand([0, 0, 0, 0, 0, 9], SIX, "9/10", high=9)[1] == (8.0, 9.0)
    assert by_hand([0, 0, 0, 0, 0, 9], SIX, "9/10", high=None)[1] == (8.0, 10.0)
