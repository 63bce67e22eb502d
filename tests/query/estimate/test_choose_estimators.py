"""Which statistics are paid for: measures share what they can, and nothing is paid for twice."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.query.estimate.choose_estimators import recipes
from discreet.query.estimate.estimators import Estimate, Quantile, Recipe
from discreet.query.estimate.statistics import Bins, Distinct, Rows, Statistic, paid_with
from discreet.query.estimate.two_sided_sums import Count, Mean, Sum
from discreet.query.functions.typed_values import Typed
from discreet.query.lower.lower import LoweredMeasure
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Column
from discreet.query.plan.nodes import Aggregate, Measure
from discreet.query.plan.types import Number
from tests.query.estimate.test_estimators import X, Y, asked

COUNT, SUM, AVG = Aggregate.COUNT, Aggregate.SUM, Aggregate.AVG
Measures = list[tuple[Aggregate, tuple[Typed, ...]]]


def paid(measures: Measures) -> int:
    return len({paid_with(s) for recipe in asked(*measures) for s in recipe.needs})


@pytest.mark.parametrize(
    ("measures", "payments"),
    [
        ([(COUNT, ())], 1),
        ([(SUM, (X,))], 1),
        ([(AVG, (X,))], 1),
        ([(COUNT, ()), (SUM, (X,)), (AVG, (X,))], 1),
        ([(AVG, (X,)), (AVG, (X,))], 1),
        ([(SUM, (X,)), (SUM, (Y,))], 2),
        ([(COUNT, ()), (AVG, (X,)), (AVG, (Y,))], 3),
        ([(Aggregate.QUANTILE, (Y,)), (Aggregate.MIN, (Y,)), (Aggregate.MAX, (Y,))], 1),
    ],
)
def test_what_is_paid_for(measures: Measures, payments: int) -> None:
    assert paid(measures) == payments


def test_a_count_beside_one_mean_comes_from_two_sides() -> None:
    count, total, mean = asked((COUNT, ()), (SUM, (X,)), (AVG, (X,)))
    assert (type(count), type(total), type(mean)) == (Count, Sum, Mean)
    assert count.needs.keys() == mean.needs.keys()


def test_a_sum_alone_is_one_statistic_without_parts() -> None:
    (total,) = asked((SUM, (X,)))
    ((statistic, _),) = total.needs.items()
    assert isinstance(statistic, Rows)
    assert not statistic.beside


GAPS = Typed(Number(Fraction(1), -1000, 1000), nullable=True, lowered=Column("x"))


def clipped(*aggregates: Aggregate, x: Typed = GAPS) -> tuple[Recipe, ...]:
    """Measures after their clips were chosen: sums and means by distances from 7, within 100."""
    counts = {COUNT: ((), None, 0)}
    chosen = [(a, *counts.get(a, ((x,), 100, 7))) for a in aggregates]
    return recipes(
        tuple(
            LoweredMeasure(Measure(f"m{i}", a, tuple(x.lowered for x in xs)), xs, None, clip=clip, centre=centre)
            for i, (a, xs, clip, centre) in enumerate(chosen)
        )
    )


def payments(made: tuple[Recipe, ...]) -> int:
    return len({paid_with(s) for recipe in made for s in recipe.needs})


@pytest.mark.parametrize("aggregates", [(AVG,), (SUM, AVG), (COUNT, SUM, AVG), (COUNT, AVG)])
def test_a_clipped_sum_and_a_count_beside_a_mean_cost_nothing_more(aggregates: tuple[Aggregate, ...]) -> None:
    assert payments(clipped(*aggregates)) == 2


def test_a_count_beside_means_of_two_columns_is_one_of_its_own() -> None:
    other = replace(GAPS, lowered=Column("y"))
    measures = [(COUNT, (), None, 0), (AVG, (GAPS,), 100, 7), (AVG, (other,), 100, 7)]
    made = recipes(
        tuple(
            LoweredMeasure(Measure(f"m{i}", a, tuple(x.lowered for x in xs)), xs, None, clip=clip, centre=centre)
            for i, (a, xs, clip, centre) in enumerate(measures)
        )
    )
    assert payments(made) == 5


def test_rows_with_and_without_a_value_are_parts_of_all_rows() -> None:
    """Each row adds one to one of them, so that both move together no further than one number of rows."""
    count, _, mean = clipped(COUNT, SUM, AVG)
    parts = [s for s in count.needs if isinstance(s, Rows)]
    assert [(s.bound, len(s.beside)) for s in parts] == [(1, 1), (1, 1)]
    rows: list[dict[str, int | None]] = [{"x": value} for value in (None, -1000, 0, 7, 1000)]
    seen = [[evaluate(s.value, row) for s in parts] for row in rows]
    assert seen == [[0, 1], [1, 0], [1, 0], [1, 0], [1, 0]]
    assert parts[0] in mean.needs


@pytest.mark.parametrize("values", [[], [1, 2, None], [7, 7], [-50, 60, None, None]])
def test_without_noise_they_are_the_count_the_sum_and_the_mean(values: list[int | None]) -> None:
    made = clipped(COUNT, SUM, AVG)
    rows: list[dict[str, int | None]] = [{"x": value} for value in values]
    there = [value for value in values if value is not None]
    exact: dict[Statistic, Estimate] = {}
    for statistic in {s for recipe in made for s in recipe.needs}:
        assert isinstance(statistic, Rows)
        cells = [evaluate(statistic.value, row) or 0 for row in rows]
        assert all(isinstance(cell, int) for cell in cells)
        summed = np.array([float(sum(cells) * statistic.step)])
        exact[statistic] = Estimate(summed, lambda miss: 0.0)
    count, total, mean = (recipe.value(exact)[0] for recipe in made)
    assert (count, total) == (len(values), sum(there))
    assert not there or mean == pytest.approx(sum(there) / len(there))


def test_order_and_different_values_have_statistics_of_their_own() -> None:
    median, different = asked((Aggregate.QUANTILE, (Y,)), (Aggregate.COUNT_DISTINCT, (Y,)))
    assert [type(s) for s in median.needs] == [Bins]
    assert [type(s) for s in different.needs] == [Distinct]


@pytest.mark.parametrize(("beside", "payments"), [("STDDEV(x) AS s", 3), ("CORR(x, y) AS s", 6)])
def test_a_mean_beside_a_variance_is_read_off_its_sum(beside: str, payments: int) -> None:
    """A value is rounded by nearly half a coarse step: the error bar allows for it, hardly more, and is needed."""
    step = 100 / (1 << 21)
    x = 50 + 0.49 * step
    rows = {"who": list(range(100)), "x": [x] * 100, "y": [float(i) for i in range(100)]}
    columns = {"x": dp.bounds(0, 100, nullable=False), "y": dp.bounds(0, 100, nullable=False)}
    session = dp.Session(t=dp.table(rows, unit="who", max_rows=1, columns=columns), budget=dp.Pure(10**15))
    query = session.sql(f"SELECT AVG(x) AS m, {beside} FROM t")
    recipes = query.quote(1).questions[0].parts[0].recipes
    assert len({paid_with(s) for recipe in recipes for s in recipe.needs}) == payments
    answer = query.release(epsilon=10**12)
    ends = answer.intervals()["m"][0]
    assert ends is not None
    low, high = ends
    assert low <= x <= high <= low + 1.1 * step
    assert answer["m"] == [pytest.approx(50, abs=1e-9)], "without the allowance it would miss"
    with_sum = session.sql(f"SELECT AVG(x) AS m, SUM(x) AS t, {beside} FROM t").release(epsilon=10**12)
    assert with_sum["m"] == [pytest.approx(x, abs=1e-7)], "sums keep the fine step, and means beside them"


def test_least_and_largest_are_quantiles_that_look_to_one_side() -> None:
    least, largest = asked((Aggregate.MIN, (Y,)), (Aggregate.MAX, (Y,)))
    assert isinstance(least, Quantile)
    assert isinstance(largest, Quantile)
    assert (least.level, least.extreme) == (Fraction(0), -1)
    assert (largest.level, largest.extreme) == (Fraction(1), 1)
