"""Recipes: the value is the formula, and the interval holds whenever the statistics are within their errors."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from discreet.table.evaluate import evaluate
from discreet.table.expressions import Column, Expression
from discreet.table.facts import Typed
from discreet.table.kinds import Number
from discreet.table.lower import LoweredMeasure
from discreet.table.noising import tree_of
from discreet.table.plan import Aggregate, Measure
from discreet.table.recipes import Estimate, Estimates, Floats, Quantile, Recipe, SumFrom, recipes
from discreet.table.statistics import Bins, Rows, Statistic

X = Typed(Number(Fraction(1, 4), -8, 40), nullable=False, lowered=Column("x"))
Y = Typed(Number(Fraction(1), 0, 10), nullable=False, lowered=Column("y"))
CELLS = {"x": (-8, 40), "y": (0, 10)}


def asked(*measures: tuple[Aggregate, tuple[Typed, ...]], level: Fraction = Fraction(1, 2)) -> tuple[Recipe, ...]:
    return recipes(
        tuple(
            LoweredMeasure(Measure(f"m{i}", a, tuple(x.lowered for x in xs), level=level), xs, None)
            for i, (a, xs) in enumerate(measures)
        )
    )


def cell(expression: Expression, row: dict[str, int]) -> int:
    found = evaluate(expression, row)
    assert isinstance(found, int)
    return found


def truth(statistic: Statistic, rows: list[dict[str, int]]) -> Floats:
    if isinstance(statistic, Rows):
        return np.array([float(sum(cell(statistic.value, row) for row in rows) * statistic.step)])
    assert isinstance(statistic, Bins)
    out = np.zeros((1, statistic.bins))
    for row in rows:
        out[0, cell(statistic.value, row)] += 1
    return out


ROWS = some.lists(
    some.fixed_dictionaries({"x": some.integers(-8, 40), "y": some.integers(0, 10)}), min_size=2, max_size=30
)
NEEDED: dict[Aggregate, tuple[Typed, ...]] = {
    Aggregate.COUNT: (),
    Aggregate.SUM: (X,),
    Aggregate.AVG: (X,),
    Aggregate.VARIANCE: (X,),
    Aggregate.STDDEV: (X,),
    Aggregate.COVARIANCE: (X, Y),
    Aggregate.CORRELATION: (X, Y),
    Aggregate.QUANTILE: (X,),
}


def right(aggregate: Aggregate, rows: list[dict[str, int]]) -> float:
    x = np.array([row["x"] / 4 for row in rows])
    y = np.array([float(row["y"]) for row in rows])
    match aggregate:
        case Aggregate.COUNT:
            return len(rows)
        case Aggregate.SUM:
            return float(x.sum())
        case Aggregate.AVG:
            return float(x.mean())
        case Aggregate.VARIANCE:
            return float(x.var(ddof=1))
        case Aggregate.STDDEV:
            return float(x.std(ddof=1))
        case Aggregate.COVARIANCE:
            return float(np.cov(x, y)[0, 1])
        case Aggregate.CORRELATION:
            return float(np.corrcoef(x, y)[0, 1]) if x.std() > 0 and y.std() > 0 else 0.0
        case _:
            return float(np.quantile(x, 0.5, method="inverted_cdf"))


@pytest.mark.parametrize("aggregate", list(NEEDED), ids=lambda a: a.value)
@given(rows=ROWS)
def test_without_noise_the_value_is_the_truth(aggregate: Aggregate, rows: list[dict[str, int]]) -> None:
    (recipe,) = asked((aggregate, NEEDED[aggregate]))
    exact: Estimates = {s: Estimate(truth(s, rows), lambda _: 0.0) for s in recipe.needs}
    value = float(recipe.value(exact)[0])
    low, high = recipe.ends(exact, 0.05)
    wanted = right(aggregate, rows)
    tolerance = 0.25 if isinstance(recipe, Quantile) else 1e-6 + (0.5 if recipe.whole else 0)
    assert value == pytest.approx(wanted, abs=tolerance)
    assert low[0] - tolerance <= wanted <= high[0] + tolerance


@pytest.mark.parametrize("aggregate", list(NEEDED), ids=lambda a: a.value)
@given(rows=ROWS, moved=some.lists(some.floats(-1, 1), min_size=8, max_size=8), size=some.floats(0.01, 5))
def test_the_interval_holds_when_the_statistics_are_within_their_errors(
    aggregate: Aggregate, rows: list[dict[str, int]], moved: list[float], size: float
) -> None:
    (recipe,) = asked((aggregate, NEEDED[aggregate]))
    noisy: Estimates = {}
    for statistic, share in zip(recipe.needs, moved, strict=False):
        exact = truth(statistic, rows)
        if isinstance(statistic, Bins):
            shift = np.zeros_like(exact)
            shift[0, :2] = share * size, -share * size  # every prefix moves by at most ``size``
            exact = exact + shift
        else:
            exact = exact + share * size
        noisy[statistic] = Estimate(exact, lambda _: size)
    low, high = recipe.ends(noisy, 0.05)
    wanted = right(aggregate, rows)
    assert low[0] - 1e-6 <= wanted <= high[0] + 1e-6


def test_a_sum_beside_a_mean_uses_its_statistics() -> None:
    total, mean, count = asked((Aggregate.SUM, (X,)), (Aggregate.AVG, (X,)), (Aggregate.COUNT, ()))
    assert isinstance(total, SumFrom)
    assert {*total.needs, *mean.needs, *count.needs} == set(mean.needs)


def test_a_sum_alone_is_one_statistic() -> None:
    (total,) = asked((Aggregate.SUM, (X,)))
    assert len(total.needs) == 1


def test_bins_are_one_for_each_of_few_values() -> None:
    (median,) = asked((Aggregate.QUANTILE, (Y,)))
    assert isinstance(median, Quantile)
    assert (median.bins.bins, median.bins.whole) == (11, True)
    assert tree_of(median.bins).leaves == 11
