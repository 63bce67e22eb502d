"""Which statistics are paid for: measures share what they can, and nothing is paid for twice."""

from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.query.estimate.choose_estimators import recipes
from discreet.query.estimate.estimators import Dated, Estimate, Nothing, Plain, Quantile, Recipe, SumFrom
from discreet.query.estimate.moments import Moment
from discreet.query.estimate.searched_quantile import SearchedQuantile
from discreet.query.estimate.statistics import Bins, Distinct, Rows, Statistic, most_rows, paid_with
from discreet.query.estimate.two_sided_sums import Count, Mean, Sum
from discreet.query.functions.dates import Span
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


WIDE = Typed(Number(Fraction(1), 0, 4000), nullable=False, lowered=Column("w"))
QUANTILE = Aggregate.QUANTILE


def kinds(*measures: tuple[Aggregate, Fraction | None], groups: int | None, gaussian: bool = False) -> list[type]:
    """What some measures of one column become."""
    lowered = tuple(
        LoweredMeasure(Measure(f"m{i}", aggregate, (WIDE.lowered,), level=level), (WIDE,), None)
        for i, (aggregate, level) in enumerate(measures)
    )
    return [type(recipe) for recipe in recipes(lowered, groups=groups, gaussian=gaussian)]


HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


@pytest.mark.parametrize(
    ("measures", "groups", "searched"),
    [
        ([(QUANTILE, HALF)], 1, True),
        ([(QUANTILE, HALF)], None, False),  # nobody knows how many groups there are
        ([(QUANTILE, HALF)], 256, True),
        ([(QUANTILE, HALF)], 257, False),
        ([(QUANTILE, HALF), (QUANTILE, THIRD)], 128, True),
        ([(QUANTILE, HALF), (QUANTILE, THIRD)], 129, False),
        ([(QUANTILE, HALF), (QUANTILE, HALF)], 256, True),  # asked twice, searched for once
        ([(QUANTILE, HALF), (Aggregate.MIN, None)], 1, False),  # all off one tree
        ([(Aggregate.MAX, None)], 1, False),
    ],
)
def test_when_quantiles_are_searched_for(
    measures: list[tuple[Aggregate, Fraction | None]], groups: int | None, searched: bool
) -> None:
    assert kinds(*measures, groups=groups) == [SearchedQuantile if searched else Quantile] * len(measures)


def test_a_few_bins_are_never_searched() -> None:
    few = LoweredMeasure(Measure("m", QUANTILE, (Y.lowered,), level=HALF), (Y,), None)
    assert [type(recipe) for recipe in recipes((few,), groups=1)] == [Quantile]


MOMENTS = (Aggregate.VARIANCE, Aggregate.STDDEV, Aggregate.COVARIANCE, Aggregate.CORRELATION)


@pytest.mark.parametrize("aggregate", MOMENTS)
def test_what_a_moment_is_made_of(aggregate: Aggregate) -> None:
    """Only rows count in which both numbers are there, and squares are needed for a correlation alone."""
    two = aggregate in MOMENTS[2:]
    other = replace(GAPS, lowered=Column("y"))
    xs = (GAPS, other) if two else (GAPS,)
    (recipe,) = recipes((LoweredMeasure(Measure("m", aggregate, tuple(x.lowered for x in xs)), xs, None),))
    assert isinstance(recipe, Moment)
    assert ((recipe.xx is None), (recipe.yy is None)) == (aggregate is not MOMENTS[3],) * 2
    assert recipe.x.step == 1
    assert isinstance(recipe.count, Rows)
    rows: list[dict[str, int | None]] = [{"x": 3, "y": 4}, {"x": None, "y": 4}, {"x": 3, "y": None}]
    assert [evaluate(recipe.count.value, row) for row in rows] == ([1, 0, 0] if two else [1, 0, 1])
    assert [evaluate(recipe.xy.statistic.value, row) or 0 for row in rows][1:] == ([0, 0] if two else [0, 9 - 500_000])


@pytest.mark.parametrize(
    ("aggregate", "x", "date", "seconds"),
    [
        (AVG, GAPS, date(2024, 1, 1), True),
        (QUANTILE, GAPS, date(2024, 1, 1), False),
        (QUANTILE, GAPS, datetime(2024, 1, 1), True),
    ],
)
def test_an_average_of_dates_is_a_time(aggregate: Aggregate, x: Typed, date: date, seconds: bool) -> None:
    measure = LoweredMeasure(Measure("m", aggregate, (x.lowered,), level=HALF), (x,), None, span=Span(date, date))
    for clip in (None, 100) if aggregate is AVG else (None,):
        (recipe,) = recipes((replace(measure, clip=clip),))
        assert isinstance(recipe, Dated)
        assert recipe.to_seconds is seconds


@pytest.mark.parametrize("aggregate", [Aggregate.QUANTILE, Aggregate.VARIANCE, Aggregate.CORRELATION])
def test_rows_that_were_chosen_for_a_measure_are_in_all_its_statistics(aggregate: Aggregate) -> None:
    xs = (X, Y) if aggregate is Aggregate.CORRELATION else (X,)
    measure = Measure("m", aggregate, tuple(x.lowered for x in xs), level=HALF)
    (plain,) = recipes((LoweredMeasure(measure, xs, None),))
    (limited,) = recipes((LoweredMeasure(measure, xs, None, clip=3),))
    assert {most_rows(statistic) for statistic in plain.needs} == {None}
    assert {most_rows(statistic) for statistic in limited.needs} == {3}
    assert len(plain.needs) == len(limited.needs)


@pytest.mark.parametrize(
    ("centre", "step", "kind", "whole"),
    [(0, 1, Plain, True), (0, 4, Plain, False), (7, 1, SumFrom, True), (7, 4, SumFrom, False)],
)
def test_a_clipped_sum_is_whole_where_its_values_are(centre: int, step: int, kind: type[Recipe], whole: bool) -> None:
    x = Typed(Number(Fraction(1, step), -1000, 1000), nullable=False, lowered=Column("x"))
    (recipe,) = recipes((LoweredMeasure(Measure("m", SUM, (x.lowered,)), (x,), None, clip=100, centre=centre),))
    assert isinstance(recipe, kind)
    assert recipe.whole is whole
    assert not isinstance(recipe, Plain) or not recipe.is_count


def test_what_nobody_can_know_is_null_and_says_why() -> None:
    unknown = LoweredMeasure(Measure("m", SUM, (X.lowered,)), (X,), None, unknown="no_bounds")
    different = LoweredMeasure(Measure("d", Aggregate.COUNT_DISTINCT, (X.lowered,)), (X,), None, clip=5)
    known = LoweredMeasure(Measure("n", COUNT, ()), (), None)
    made = recipes((unknown, known, different))
    assert isinstance(made[0], Nothing)
    assert made[0].why == "no_bounds"
    assert [type(recipe) for recipe in made[1:]] == [Plain, Plain]
    assert [s.most for s in made[2].needs if isinstance(s, Distinct)] == [5]
    assert made[2].whole
