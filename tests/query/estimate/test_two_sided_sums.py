"""Count, sum and mean from the parts of a range: exact without noise, and less noisy than on their own."""

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import NotATheorem
from discreet.privacy.promises.measures import Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.estimate import statistics as st
from discreet.query.estimate import two_sided_sums
from discreet.query.estimate.estimators import Estimate, Estimates
from discreet.query.estimate.noise_plan import Need, noised
from discreet.query.functions.typed_values import Typed
from discreet.query.lower.bounding import Noise
from discreet.query.plan.evaluate import evaluate, program
from discreet.query.plan.expressions import Column
from discreet.query.plan.schema import Caps
from discreet.query.plan.types import Number

COLUMNS = {"v": dp.bounds(-20, 100)}
ROWS: dict[str, list[Any]] = {"who": list(range(40)), "v": [None if i % 4 == 0 else 3 * i - 20 for i in range(40)]}
HERE = [v for v in ROWS["v"] if v is not None]
ALL = "SELECT COUNT(*) AS n, COUNT(v) AS m, SUM(v) AS s, AVG(v) AS a FROM t"


def session(budget: dp.ZCDP | dp.Pure) -> dp.Session:
    return dp.Session(t=dp.table(pa.table(ROWS), unit="who", columns=COLUMNS, max_rows=1), budget=budget)


@pytest.mark.parametrize("budget", [dp.ZCDP(10**12), dp.Pure(10**9)])
def test_without_noise_they_are_exact(budget: dp.ZCDP | dp.Pure) -> None:
    price: Any = {"rho": 10**11} if isinstance(budget, dp.ZCDP) else {"epsilon": 10**8}
    (row,) = session(budget).sql(ALL).release(**price).rows
    assert (row["n"], row["m"]) == (40, 30)
    assert row["s"] == pytest.approx(sum(HERE), abs=1e-2)
    assert row["a"] == pytest.approx(sum(HERE) / 30, abs=1e-3)


def test_gaussian_noise_in_a_count_beside_an_average_of_a_column_with_gaps_is_less_than_half_more_than_alone() -> None:
    """It was √3 times as much when a row without a value was in the third sum only."""
    s = session(dp.ZCDP(1))
    alone = s.sql("SELECT COUNT(*) AS n FROM t").preview(rho="1/10")
    both = s.sql("SELECT COUNT(*) AS n, AVG(v) AS a FROM t").preview(rho="1/10", rows=1000)
    assert both.error("n") < 1.47 * alone.error("n") + 0.5
    mean = s.sql("SELECT AVG(v) AS a FROM t").preview(rho="1/10", rows=1000)
    assert both.error("a") < 1.4 * mean.error("a")


@pytest.mark.parametrize("high", [1, 2, 3, 7, 120])
def test_no_row_is_longer_than_the_bound(high: int) -> None:
    argument = Typed(Number(Fraction(1), 0, high), True, lowered=Column("v"))
    found = st.sides(argument, None, "AVG", absent=True, by_length=True)
    assert found.absent is not None
    parts = [program(part.value) for part in (found.above, found.below, found.absent)]
    for v in (None, *range(high + 1)):
        values = [run({"v": v}) or 0 for run in parts]
        assert all(isinstance(x, int) and x >= 0 for x in values)
        assert sum(x * x for x in values) <= found.above.bound**2
    assert found.above.by_length == (found.null_side > 0) == (high > 2)


def test_laplace_noise_is_refused_for_parts_that_are_bounded_in_length() -> None:
    argument = Typed(Number(Fraction(1), 0, 100), True, lowered=Column("v"))
    found = st.sides(argument, None, "AVG", absent=True, by_length=True)
    need = Need(caps=Caps(max_rows=1), statistics={found.above: 1.0}, grouped=False, selects=False)
    with pytest.raises(NotATheorem, match="Gaussian"):
        noised(found.above, need, Noise.LAPLACE, Pure(1), Neighbours.ADD_REMOVE)


@pytest.mark.slow
def test_the_query_keeps_its_price_on_made_up_neighbours() -> None:
    assert dp.check(session(dp.ZCDP(1)).sql(ALL), searches=40).ok


@pytest.mark.slow
@pytest.mark.parametrize("sets", ["k", "ROLLUP (k)"])
def test_numbers_that_agree_are_those_of_values_within_their_bounds(sets: str) -> None:
    """With much noise and few rows: no count below 0, no impossible sum."""
    rows = {"who": list(range(6)), "k": ["a", "b"] * 3, "v": [None, None, 5, None, 7, None]}
    columns = {"v": dp.bounds(0, 100), "k": dp.keys(["a", "b", "c"])}
    table = dp.table(pa.table(rows), unit="who", columns=columns, max_rows=2)
    s = dp.Session(t=table, budget=dp.ZCDP(1))
    text = f"SELECT k, COUNT(*) AS n, COUNT(v) AS m, SUM(v) AS s, AVG(v) AS a FROM t GROUP BY {sets}"
    for _ in range(8):
        answer = s.sql(text).release(rho="1/100").consistent()
        bars = answer.intervals("0.95")
        for i, row in enumerate(answer):
            assert min(row["n"], row["m"]) >= 0
            assert -1e-6 <= row["s"] <= 100 * (row["n"] + 1) + 1e-6
            for name in ("n", "m", "s", "a"):
                low, high = bars[name][i] or (None, None)
                assert low <= row[name] <= high


@pytest.mark.slow
def test_an_error_can_be_asked_for_instead_of_a_price() -> None:
    answer = session(dp.ZCDP(10)).sql(ALL).release(error={"n": 30, "a": 40})
    assert (answer.errors()["n"][0] or 99) <= 30


def test_nothing_on_either_side_is_the_middle_of_the_range() -> None:
    mean = two_sided_sums.Mean(st.sides(Typed(Number(Fraction(1), -20, 100), lowered=Column("v")), None, "AVG"))
    nothing, some = np.zeros(1), np.array([30.0])
    assert mean.ratio(nothing, nothing).tolist() == [40.0]
    assert mean.ratio(nothing, nothing, 0.0).tolist() == [-20.0]
    assert mean.ratio(some, 3 * some).tolist() == [10.0]
    assert mean.ratio(-some, some).tolist() == [-20.0]


def test_corners_of_a_mean_whose_sides_have_several_noises() -> None:
    """Σ above 900 ± 60, below 300 ± 60, of a range from -20 to 100: 840/1200 and 960/1200 of it."""
    mean = two_sided_sums.Mean(st.sides(Typed(Number(Fraction(1), -20, 100), lowered=Column("v")), None, "AVG"))

    def ends(above: float, below: float) -> tuple[float, float]:
        noisy: Estimates = {
            mean.sides.above: Estimate(np.array([above]), lambda _: 60.0),
            mean.sides.below: Estimate(np.array([below]), lambda _: 60.0),
        }
        low, high = mean.ends(noisy, 0.05)
        return float(low[0]), float(high[0])

    assert ends(900, 300) == pytest.approx((-20 + 120 * 840 / 1200, -20 + 120 * 960 / 1200))
    assert ends(-61, 300) == (-20.0, 100.0)
    assert ends(900, -61) == (-20.0, 100.0)
    assert ends(-59, 300) == pytest.approx((-20.0, -20 + 120 * 1 / 241))


@pytest.mark.parametrize(("low", "null"), [(-20.0, True), (-20.0 + 1e-8, True), (-19.9, False)])
def test_a_mean_may_be_null_where_its_interval_begins_with_the_range(low: float, null: bool) -> None:
    mean = two_sided_sums.Mean(st.sides(Typed(Number(Fraction(1), -20, 100), lowered=Column("v")), None, "AVG"))
    ends = np.array([low]), np.array([100.0])
    assert mean.may_be_null({}, ends, 0.05).tolist() == [null]


def sided(absent: bool, by_length: bool) -> st.Sides:
    kind = Number(Fraction(1), -20, 100)
    return st.sides(Typed(kind, nullable=absent, lowered=Column("v")), None, "AVG", absent=absent, by_length=by_length)


@pytest.mark.parametrize(
    ("absent", "by_length"), [(False, False), (True, False), (True, True)], ids=["two", "three", "in length"]
)
def test_what_the_parts_make_together(absent: bool, by_length: bool) -> None:
    """Rows 100, 40 and -20, and two without a value: counts 3 and 5, sum 120, mean 40, whatever the parts hold."""
    sides = sided(absent, by_length)
    assert (sides.null_side > 0) is by_length
    rows: list[dict[str, int | None]] = [{"v": v} for v in (100, 40, -20, None, None)[: 5 if absent else 3]]
    parts = [part for part in (sides.above, sides.below, sides.absent) if part is not None]
    noisy: Estimates = {}
    for part in parts:
        cells = [evaluate(part.value, row) or 0 for row in rows]
        assert all(isinstance(cell, int) for cell in cells)
        noisy[part] = Estimate(np.array([float(sum(cells) * part.step)]), lambda _: 0.0)
    made = [two_sided_sums.Count(sides), two_sided_sums.Sum(sides, True), two_sided_sums.Mean(sides)]
    assert [float(recipe.value(noisy)[0]) for recipe in made] == pytest.approx([3, 120, 40])
    assert [len(recipe.parts) for recipe in made] == [3 if by_length else 2] * 3
    for recipe, exact in zip(made, (3, 120, 40), strict=True):
        assert [float(end[0]) for end in recipe.ends(noisy, 0.05)] == pytest.approx([exact, exact], abs=1e-6)
    if absent:
        whole = two_sided_sums.Count(sides, all_rows=True)
        assert len(whole.parts) == 3
        assert float(whole.value(noisy)[0]) == pytest.approx(5)


def test_what_is_known_of_the_parts() -> None:
    plain, long = two_sided_sums.Count(sided(True, False)), two_sided_sums.Count(sided(True, True))
    assert [(limit.low, limit.high, limit.count) for limit in plain.limits] == [(0.0, np.inf, None)] * 2
    share = long.null_share
    assert 0.3 < share < 0.8
    absent = long.sides.absent
    assert [(limit.statistic, limit.low, limit.high, limit.count) for limit in long.limits] == [
        (absent, 0.0, np.inf, None),
        (long.sides.above, share, np.inf, absent),
        (long.sides.below, share, np.inf, absent),
    ]
    assert plain.whole
    assert not plain.depends_on_rows


@pytest.mark.parametrize(
    ("low", "high", "least", "most"),
    [(0, 9, 0.0, np.inf), (-9, 0, -np.inf, 0.0), (-3, 9, -np.inf, np.inf)],
)
def test_a_sum_of_values_of_one_sign_has_it(low: int, high: int, least: float, most: float) -> None:
    sides = st.sides(Typed(Number(Fraction(1), low, high), lowered=Column("v")), None, "SUM")
    assert two_sided_sums.Sum(sides)._possible == (least, most)
    assert two_sided_sums.Count(sides)._possible == (0.0, np.inf)
