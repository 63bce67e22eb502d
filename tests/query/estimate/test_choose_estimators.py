"""Which statistics are paid for: measures share what they can, and nothing is paid for twice."""

import pytest

import discreet as dp
from discreet.query.estimate.statistics import Bins, Distinct, Rows, paid_with
from discreet.query.estimate.two_sided_sums import Count, Mean, Sum
from discreet.query.functions.typed_values import Typed
from discreet.query.plan.nodes import Aggregate
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
