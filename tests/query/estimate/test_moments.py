"""Bars of moments hold as often as they say, and are as short as they can be in large groups."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from bench.accuracy import ALLOWANCES, ASKED, asked, data, draws, exact, held
from discreet.query.estimate import moments
from discreet.query.estimate import statistics as st
from discreet.query.estimate.choose_estimators import recipes
from discreet.query.estimate.estimators import Estimate, Estimates
from discreet.query.estimate.moments import Moment
from discreet.query.estimate.statistics import Rows, Statistic
from discreet.query.functions.typed_values import Typed
from discreet.query.lower.lower import LoweredMeasure
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Column
from discreet.query.plan.nodes import Aggregate, Measure
from discreet.query.plan.types import Number

RUNS = 800
NAMES = ["AVG", "AVG, two columns", "VARIANCE", "STDDEV", "COVARIANCE", "CORR"]


@pytest.mark.slow
@pytest.mark.parametrize("noise", ALLOWANCES)
@pytest.mark.parametrize("name", NAMES)
def test_bars_hold_and_are_short(name: str, noise: str) -> None:
    """An alarm for true bars has probability below 1e-8. Corners of single errors were 1.8 to 3.1 times too long."""
    for size in (60, 5000):
        found = held(ASKED[name], size, ALLOWANCES[noise], RUNS)
        assert round((1 - found.share) * RUNS) <= binom.isf(1e-8, RUNS, 0.05)
    assert found.length < 1.6  # at most 1.21 on average, with a deviation of 0.05


@pytest.mark.slow
@pytest.mark.parametrize("noise", ALLOWANCES)
@pytest.mark.parametrize("name", ["VARIANCE", "CORR"])
def test_shorter_bars_would_be_caught(name: str, noise: str) -> None:
    """The planted twin: bars that are made for misses of 40 %, of which some 200 are seen; 82 are too many."""
    found = held(ASKED[name], 5000, ALLOWANCES[noise], RUNS, miss=0.4)
    assert round((1 - found.share) * RUNS) > binom.isf(1e-8, RUNS, 0.05)


@pytest.mark.parametrize("name", ["VARIANCE", "STDDEV", "COVARIANCE", "CORR"])
def test_bars_hold_the_value(name: str) -> None:
    (recipe,) = asked(ASKED[name])
    assert isinstance(recipe, Moment)
    rows = data(30)
    noisy = draws(recipe.needs, rows, ALLOWANCES["Laplace"], 500)
    low, high = recipe.ends(noisy, 0.05)
    value = recipe.value(noisy)
    assert ((low <= value) & (value <= high)).all()
    assert np.isfinite(low).all()
    assert np.isfinite(high).all()
    assert exact(ASKED[name][0][0], rows) == pytest.approx(exact(ASKED[name][0][0], list(reversed(rows))))


# --- ends where statistics have several noises: what all values within their errors give ----------------------------

X_CELLS, Y_CELLS = (-8, 41), (0, 10)
LONG = Typed(Number(Fraction(1, 4), *X_CELLS), nullable=False, lowered=Column("x"))
SHORT = Typed(Number(Fraction(1), *Y_CELLS), nullable=False, lowered=Column("y"))
BOXES = {
    Aggregate.VARIANCE: (LONG,),
    Aggregate.STDDEV: (LONG,),
    Aggregate.COVARIANCE: (LONG, SHORT),
    Aggregate.CORRELATION: (LONG, SHORT),
}


def moment_of(aggregate: Aggregate) -> Moment:
    arguments = BOXES[aggregate]
    measure = LoweredMeasure(Measure("m", aggregate, tuple(x.lowered for x in arguments)), arguments, None)
    (recipe,) = recipes((measure,))
    assert isinstance(recipe, Moment)
    return recipe


def within(value: float, size: float) -> Estimate:
    """A statistic of one group that is off by at most ``size``."""
    return Estimate(np.array([value]), lambda _: size)


def by_formula(recipe: Moment, at: dict[Statistic, float]) -> float:
    """From sums of centred numbers and of products that are centred once more."""
    n = at[recipe.count]

    def covariance(xy: st.Product | None, x: st.Rows, y: st.Rows) -> float:
        assert xy is not None
        return (at[xy.statistic] + n * float(xy.offset) - at[x] * at[y] / n) / (n - 1)

    joint = covariance(recipe.xy, recipe.x_total, recipe.y_total)
    if recipe.aggregate is Aggregate.CORRELATION:
        spreads = (
            covariance(recipe.xx, recipe.x_total, recipe.x_total),
            covariance(recipe.yy, recipe.y_total, recipe.y_total),
        )
        return float(joint / np.sqrt(spreads[0] * spreads[1]))
    return float(np.sqrt(joint)) if recipe.aggregate is Aggregate.STDDEV else joint


def exact_sums(recipe: Moment, rows: list[dict[str, int]]) -> dict[Statistic, float]:
    found: dict[Statistic, float] = {}
    for statistic in recipe.needs:
        assert isinstance(statistic, Rows)
        cells = [evaluate(statistic.value, row) for row in rows]
        found[statistic] = float(sum(one for one in cells if isinstance(one, int)) * statistic.step)
    return found


@pytest.mark.parametrize("aggregate", BOXES, ids=lambda one: one.value)
def test_ends_hold_the_formula_at_every_corner_and_the_value_is_the_formula(aggregate: Aggregate) -> None:
    recipe = moment_of(aggregate)
    rows = [{"x": i * 7 % 50 - 8, "y": (i * i + i) % 11} for i in range(60)]
    sums = exact_sums(recipe, rows)
    exact = {statistic: within(value, 0.0) for statistic, value in sums.items()}
    wanted = by_formula(recipe, sums)
    assert float(recipe.value(exact)[0]) == pytest.approx(wanted, rel=1e-9)
    assert [float(end[0]) for end in recipe.ends(exact, 0.05)] == pytest.approx([wanted, wanted], rel=1e-6)
    sizes = dict(zip(sums, (1.5, 6.0, 2.0, 9.0, 5.0, 4.0), strict=False))
    noisy = {statistic: within(value, sizes[statistic]) for statistic, value in sums.items()}
    low, high = (float(end[0]) for end in recipe.ends(noisy, 0.05))
    corners = [
        by_formula(recipe, {s: value + sign * sizes[s] for (s, value), sign in zip(sums.items(), signs, strict=True)})
        for signs in product((-1, 0, 1), repeat=len(sums))
    ]
    assert low - 1e-9 <= min(corners)
    assert max(corners) <= high + 1e-9
    assert high - low <= 3 * (max(corners) - min(corners))


def test_a_mean_near_the_middle_adds_nothing_to_the_variance() -> None:
    """A squared mean is at least 0: the upper end is the mean square alone, the lower one takes off the larger."""
    recipe = moment_of(Aggregate.VARIANCE)
    n, offset = 100.0, float(recipe.xy.offset)
    at = {recipe.count: (n, 0.0), recipe.x_total: (10.0, 30.0), recipe.xy.statistic: (n * (20.0 - offset), 0.0)}
    noisy: Estimates = {statistic: within(value, size) for statistic, (value, size) in at.items()}
    low, high = (float(end[0]) for end in recipe.ends(noisy, 0.05))
    assert high == pytest.approx(20.0 * n / (n - 1))
    assert low == pytest.approx((20.0 - 0.4**2) * n / (n - 1))


def test_the_reach_of_a_range_is_its_longer_side() -> None:
    x = st.centred(LONG, "VARIANCE")
    assert (float(x.low), float(x.centre), float(x.high)) == (-2.0, 4.0, 10.25)
    assert moments._reach(x) == 6.25
    assert moments._span(x) == (-6 / 6.25, 1.0)


def test_products_matter_most_and_the_range_of_a_covariance_has_two_signs() -> None:
    spread, joint = moment_of(Aggregate.VARIANCE), moment_of(Aggregate.CORRELATION)
    assert list(spread.needs.values()) == [0.25, 1.0, 1.0]  # the sum of x stands for both
    assert list(joint.needs.values()) == [0.25, 0.5, 0.5, 1.0, 1.0, 1.0]
    assert spread._between == (0.0, 2.0)
    assert moment_of(Aggregate.COVARIANCE)._between == (-2.0, 2.0)


@pytest.mark.parametrize(("rows", "null"), [(3.0, False), (2.9, True), (1.0, True)])
def test_a_moment_may_be_null_where_there_may_be_fewer_than_two_rows(rows: float, null: bool) -> None:
    recipe = moment_of(Aggregate.VARIANCE)
    noisy: Estimates = {
        statistic: within(rows if statistic == recipe.count else 0.0, 1.0) for statistic in recipe.needs
    }
    ends = np.array([0.0]), np.array([9.0])
    assert recipe.may_be_null(noisy, ends, 0.05).tolist() == [null]
