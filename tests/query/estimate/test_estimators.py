"""Recipes: the value is the formula, and the interval holds whenever the statistics are within their errors."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy.stats import binom

from discreet.privacy.promises.measures import ZCDP, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.estimate import two_sided_sums
from discreet.query.estimate.choose_estimators import recipes
from discreet.query.estimate.error_bounds import Share, sum_error
from discreet.query.estimate.estimators import (
    Estimate,
    Estimates,
    Fitted,
    Floats,
    Mean,
    Plain,
    Quantile,
    Recipe,
    SumFrom,
    passing,
)
from discreet.query.estimate.noise_plan import Need, plan_noise, tree_of
from discreet.query.estimate.statistics import Bins, Rows, Statistic, Units, paid_with
from discreet.query.functions.typed_values import Typed
from discreet.query.lower.bounding import Noise
from discreet.query.lower.lower import LoweredMeasure
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Column, Expression, Literal
from discreet.query.plan.nodes import Aggregate, Measure
from discreet.query.plan.schema import Caps
from discreet.query.plan.types import Number
from discreet.query.run import as_estimate
from discreet.randomness import SystemBits

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


@pytest.mark.parametrize(
    ("aggregate", "moved", "whole"),
    [
        (Aggregate.AVG, (-1e4, 0.0), (-2.0, 10.0)),
        (Aggregate.AVG, (0.0, -1e4), (-2.0, 10.0)),
        (Aggregate.VARIANCE, (0.0, 0.0, -1e6), (0.0, 72.0)),
        (Aggregate.VARIANCE, (0.0, 0.0, 1e6), (0.0, 72.0)),
        (Aggregate.STDDEV, (0.0, 0.0, -1e6), (0.0, 72.0**0.5)),
        (Aggregate.CORRELATION, (0.0, 0.0, 0.0, 1e6, 0.0, 0.0), (-1.0, 1.0)),
        (Aggregate.QUANTILE, (-1e4,), (-2.0, 10.0)),
    ],
)
def test_an_interval_that_misses_what_is_possible_is_all_that_is_possible(
    aggregate: Aggregate, moved: tuple[float, ...], whole: tuple[float, float]
) -> None:
    """Cut to the bounds it would be a point, and the worst miss would look certain."""
    rows = [{"x": i % 49 - 8, "y": i % 11} for i in range(200)]
    (recipe,) = asked((aggregate, NEEDED[aggregate]))
    noisy: Estimates = {}
    for statistic, by in zip(recipe.needs, moved, strict=False):
        shift = by if not isinstance(statistic, Bins) else np.eye(1, statistic.bins) * by
        noisy[statistic] = Estimate(truth(statistic, rows) + shift, lambda _: 1.0)
    assert len(noisy) == len(recipe.needs)
    low, high = recipe.ends(noisy, 0.05)
    assert (low[0], high[0]) == pytest.approx(whole)
    assert low[0] <= recipe.value(noisy)[0] <= high[0]


@pytest.mark.parametrize("moved", [(-1e4, 0.0), (1e4, 0.0), (0.0, -1e4)])
def test_a_mean_from_sum_and_count_that_cannot_be_says_nothing(moved: tuple[float, float]) -> None:
    recipe = asked((Aggregate.AVG, (X,)), (Aggregate.AVG, (Y,)))[0]
    assert type(recipe) is Mean
    values = (100.0 + moved[0], 200.0 + moved[1])
    noisy: Estimates = {s: Estimate(np.array([v]), lambda _: 1.0) for s, v in zip(recipe.needs, values, strict=True)}
    low, high = recipe.ends(noisy, 0.05)
    assert (low[0], high[0]) == (-2.0, 10.0)


@pytest.mark.parametrize("side", [0, 1])
def test_a_mean_of_two_sides_one_of_which_cannot_be_says_nothing(side: int) -> None:
    mean = asked(*SHARED)[1]
    noisy: Estimates = {
        s: Estimate(np.array([(-30.0, 900.0)[i != side]]), lambda _: 20.0) for i, s in enumerate(mean.needs)
    }
    low, high = mean.ends(noisy, 0.05)
    assert (low[0], high[0]) == (-2.0, 10.0)
    fitted: Estimates = {
        s: Fitted(np.maximum(e.values, 0), e.error, centre=e.values, least=0.0, most=np.inf) for s, e in noisy.items()
    }
    low, high = mean.ends(fitted, 0.05)
    assert (low[0], high[0]) == (-2.0, 10.0)


def test_a_count_that_cannot_be_is_moved_to_zero_and_keeps_its_bar() -> None:
    (count,) = asked((Aggregate.COUNT, ()))
    (statistic,) = count.needs
    one = Fitted(np.zeros(2), lambda _: 20.0, centre=np.array([-30.0, -5.0]), least=0.0, most=np.inf)
    low, high = count.ends({statistic: one}, 0.05)
    assert (low.tolist(), high.tolist()) == ([0.0, 0.0], [40.0, 15.0])


@pytest.mark.parametrize("allowance", [Pure(1), ZCDP(Fraction(1, 2))])
def test_the_bar_of_a_count_is_that_of_its_noise(allowance: Pure | ZCDP) -> None:
    """Rounding what is shown is not noise: with half a row more on either side, bars held in 97 and 99 %, not in 95."""
    (count,) = asked((Aggregate.COUNT, ()))
    (statistic,) = count.needs
    need = Need(caps=Caps(max_rows=1), statistics=count.needs, grouped=True, selects=False)
    one = plan_noise((need,), allowance, Neighbours.ADD_REMOVE).sets[0][statistic]
    values = np.array([99.6, 100.0, 100.4, 100.5])
    low, high = count.ends({statistic: as_estimate(values, one)}, 0.05)
    assert low == pytest.approx(values - one.error(0.05))
    assert high == pytest.approx(values + one.error(0.05))
    shown = count.value({statistic: as_estimate(values, one)})
    promised = count.error_if(lambda s, v: as_estimate(v, one), 100, 0.05)
    assert np.maximum(high - shown, shown - low).max() <= promised + 1e-9


def test_a_bar_that_is_shorter_than_the_rounding_reaches_what_is_shown() -> None:
    (count,) = asked((Aggregate.COUNT, ()))
    (statistic,) = count.needs
    low, high = count.ends({statistic: Estimate(np.array([2.4, 2.6]), lambda _: 0.1)}, 0.05)
    assert (low.tolist(), high.tolist()) == ([2.0, 2.5], [2.5, 3.0])


SHARED = ((Aggregate.SUM, (X,)), (Aggregate.AVG, (X,)), (Aggregate.COUNT, ()))


def test_a_count_beside_one_sum_and_mean_comes_from_two_sides() -> None:
    total, mean, count = asked(*SHARED)
    assert (type(total), type(mean), type(count)) == (two_sided_sums.Sum, two_sided_sums.Mean, two_sided_sums.Count)
    used = {*total.needs, *mean.needs, *count.needs}
    assert (len(used), len({paid_with(s) for s in used})) == (2, 1)


@given(row=some.fixed_dictionaries({"x": some.integers(-8, 40)}))
def test_the_two_sides_of_a_row_are_whole_and_add_up_to_the_bound(row: dict[str, int]) -> None:
    above, below = asked(*SHARED)[0].needs
    assert isinstance(above, Rows)
    assert isinstance(below, Rows)
    assert (above.beside, below.beside) == ((below.value,), (above.value,))
    up, down = cell(above.value, row), cell(below.value, row)
    assert min(up, down) >= 0
    assert up + down == above.bound == below.bound


@given(rows=ROWS, moved=some.tuples(some.floats(-1, 1), some.floats(-1, 1)), size=some.floats(0.01, 50))
def test_what_comes_from_two_sides_is_right(
    rows: list[dict[str, int]], moved: tuple[float, float], size: float
) -> None:
    for recipe, (aggregate, _) in zip(asked(*SHARED), SHARED, strict=True):
        exact = {s: truth(s, rows) for s in recipe.needs}
        plain: Estimates = {s: Estimate(v, lambda _: 0.0) for s, v in exact.items()}
        wanted = right(aggregate, rows)
        assert recipe.value(plain)[0] == pytest.approx(wanted, abs=1e-6)
        noisy: Estimates = {
            s: Estimate(v + m * size, lambda _: size) for (s, v), m in zip(exact.items(), moved, strict=True)
        }
        low, high = recipe.ends(noisy, 0.05)
        assert low[0] - 1e-6 <= wanted <= high[0] + 1e-6
        assert low[0] <= recipe.value(noisy)[0] <= high[0]


@pytest.mark.parametrize("allowance", [Pure(1), ZCDP(1)])
def test_how_far_off_what_comes_from_two_sides_is(allowance: Pure | ZCDP) -> None:
    total, count = asked((Aggregate.SUM, (Y,)), (Aggregate.COUNT, ()))
    need = Need(caps=Caps(max_rows=1), statistics=total.needs, grouped=True, selects=False)
    (noised,) = plan_noise((need,), allowance, Neighbours.ADD_REMOVE).sets
    noisy: Estimates = {s: as_estimate(np.zeros(1), one) for s, one in noised.items()}
    one = next(iter(noised.values()))
    above = one.error(0.05)  # the range starts at 0: one side is the sum
    assert total.ends(noisy, 0.05)[1][0] == pytest.approx(above, rel=1e-6)
    assert count.ends(noisy, 0.05)[1][0] == pytest.approx(sum_error([Share(one, 0.1, 2)], 0.05), rel=1e-6)


def test_several_sums_share_one_count() -> None:
    one, other, count = asked((Aggregate.SUM, (X,)), (Aggregate.AVG, (Y,)), (Aggregate.COUNT, ()))
    assert isinstance(one, SumFrom)
    assert isinstance(count, Plain)
    assert len({*one.needs, *other.needs, *count.needs}) == 3


def test_a_count_that_something_else_needs_is_released_once() -> None:
    mean, spread = asked((Aggregate.AVG, (X,)), (Aggregate.VARIANCE, (X,)))
    assert len({*mean.needs, *spread.needs} & {Rows(Literal(1), 1, Fraction(1), one_sign=True)}) == 1
    measures = (LoweredMeasure(Measure("a", Aggregate.AVG, (X.lowered,)), (X,), None),)
    (selected,) = recipes(measures, once=True, selects=True)
    assert Units() in selected.needs


def test_a_sum_alone_is_one_statistic() -> None:
    (total,) = asked((Aggregate.SUM, (X,)))
    assert len(total.needs) == 1


def test_bins_are_one_for_each_of_few_values() -> None:
    (median,) = asked((Aggregate.QUANTILE, (Y,)))
    assert isinstance(median, Quantile)
    assert (median.bins.bins, median.bins.whole) == (11, True)
    assert tree_of(median.bins, Noise.LAPLACE).leaves == 11


@given(values=some.lists(some.integers(-20, 20), min_size=1, max_size=12), target=some.integers(-20, 20))
def test_where_noisy_values_pass_a_target_is_where_their_rising_fit_does(values: list[int], target: int) -> None:
    """Against the fit itself, by its formula: the largest, over all starts, of the least mean over all ends."""
    n = len(values)
    fit = [
        max(min(Fraction(sum(values[i:j]), j - i) for j in range(k + 1, n + 1)) for i in range(k + 1)) for k in range(n)
    ]
    first = next((k for k, v in enumerate(fit) if v >= target), n - 1)
    assert passing(np.array(values, dtype=np.float64), float(target)) == first


@pytest.mark.parametrize("aggregate", [Aggregate.MIN, Aggregate.MAX])
@pytest.mark.parametrize("budget", [Pure(1), ZCDP(Fraction(1, 2))], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("outlier", [False, True])
@pytest.mark.parametrize("miss", [0.05, 0.2, 0.4])
def test_intervals_of_extremes_hold_as_often_as_said(
    aggregate: Aggregate, budget: Pure | ZCDP, outlier: bool, miss: float
) -> None:
    """300 draws: an alarm for true bars has a chance below 1e-7. Bars around the shown value left out single rows."""
    (recipe,) = asked((aggregate, (X,)))
    assert isinstance(recipe, Quantile)
    need = Need(caps=Caps(max_rows=1), statistics=recipe.needs, grouped=False, selects=False)
    one = plan_noise((need,), budget, Neighbours.ADD_REMOVE).sets[0][recipe.bins]
    tree, bits = tree_of(recipe.bins, one.noise), SystemBits()
    places = [10 + i % 20 for i in range(3000)] + ([0, recipe.bins.bins - 1] if outlier else [])
    counts = np.bincount(places, minlength=recipe.bins.bins) * one.scale
    wanted = float(recipe.bins.low + (min(places) if aggregate is Aggregate.MIN else max(places)) * recipe.bins.width)
    missed = 0
    for _ in range(300):
        noisy = one.noise.draw(np.asarray(tree.nodes(counts)), bits)
        estimate = as_estimate(tree.consistent(np.asarray(noisy, dtype=float))[None, :] * float(one.unit), one)
        low, high = recipe.ends({recipe.bins: estimate}, miss)
        missed += not low[0] - 1e-9 <= wanted <= high[0] + 1e-9
    assert missed <= binom.isf(1e-7, 300, miss)


@pytest.mark.parametrize(("kind", "value"), [(Aggregate.MIN, 3.0), (Aggregate.MAX, 7.0)])
def test_no_extreme_lies_where_there_is_less_than_half_a_row(kind: Aggregate, value: float) -> None:
    """However little noise there is, it passes its own bar somewhere: one MAX in a hundred was far outside."""
    (recipe,) = asked((kind, (Typed(Number(Fraction(1), 0, 10), nullable=False, lowered=Column("x")),)))
    (bins,) = recipe.needs
    counts = np.full((1, 11), 1e-4)
    counts[0, 3] = counts[0, 7] = 5
    assert recipe.value({bins: Estimate(counts, lambda _: 1e-6)})[0] == value


MAYBE = Typed(Number(Fraction(1), 0, 10), nullable=True, lowered=Column("y"))


def test_all_rows_beside_a_mean_of_those_with_a_value_are_a_third_part() -> None:
    mean, there, everything = asked((Aggregate.AVG, (MAYBE,)), (Aggregate.COUNT, (MAYBE,)), (Aggregate.COUNT, ()))
    used = {*mean.needs, *there.needs, *everything.needs}
    assert (len(used), len({paid_with(s) for s in used})) == (3, 1)
    rows: list[dict[str, int | None]] = [{"y": 3}, {"y": None}, {"y": 10}, {"y": None}, {"y": None}]
    exact: Estimates = {}
    for statistic in used:
        assert isinstance(statistic, Rows)
        cells = [evaluate(statistic.value, row) or 0 for row in rows]
        assert all(isinstance(c, int) and c >= 0 for c in cells)
        exact[statistic] = Estimate(np.array([float(sum(cells))]), lambda _: 0.0)
    assert [float(r.value(exact)[0]) for r in (mean, there, everything)] == [6.5, 2, 5]


@given(row=some.fixed_dictionaries({"y": some.integers(0, 10) | some.none()}))
def test_the_three_parts_of_a_row_add_up_to_the_bound(row: dict[str, int | None]) -> None:
    parts = asked((Aggregate.AVG, (MAYBE,)), (Aggregate.COUNT, ()))[1].needs
    cells = [evaluate(s.value, row) or 0 for s in parts if isinstance(s, Rows)]
    assert len(cells) == 3
    assert sum(cells) == 10


def test_two_columns_with_gaps_count_all_rows_once() -> None:
    other = Typed(Number(Fraction(1), 0, 9), nullable=True, lowered=Column("z"))
    found = asked((Aggregate.AVG, (MAYBE,)), (Aggregate.AVG, (other,)), (Aggregate.COUNT, ()))
    assert [len(r.needs) for r in found] == [2, 2, 3]
    assert len({paid_with(s) for r in found for s in r.needs}) == 2
