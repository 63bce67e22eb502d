"""Moments: sums move as proven, whatever records hold; estimates are right without noise; error bars cover."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter, ReceiptRefused
from discreet.mechanisms.base.span import Span
from discreet.mechanisms.statistics.counting import histogram
from discreet.mechanisms.statistics.moments import (
    Moments,
    Sums,
    correlation,
    covariance,
    mean,
    standard_deviation,
    variance,
)
from discreet.mechanisms.statistics.quantiles import median
from discreet.mechanisms.statistics.sums import bounded_sum, count
from discreet.mechanisms.statistics.terms import COUNT, Term, column, exact_sum
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.receipt import Receipt
from tests.helpers.databases import BOUNDS, RELATIONS, bounded_domain, databases, largest_move, pairs, too_few

NAN, INF = float("nan"), float("inf")
ADD, CHANGE = RELATIONS
ONE_COLUMN: dict[str, Any] = {"mean": mean, "variance": variance, "standard deviation": standard_deviation}
TWO_COLUMNS: dict[str, Any] = {"covariance": covariance, "correlation": correlation}


def reader(m: Moments, i: int) -> Callable[[list[Any]], int]:
    return lambda data: m.read(data).values[i]


def pair_reader(m: Moments, i: int) -> Callable[[list[Any]], int]:
    return lambda data: m.read(([x for x, _ in data], [y for _, y in data])).values[i]


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("name", ONE_COLUMN)
def test_sums_of_one_column_move_as_claimed(name: str, bounds: Any, relation: Neighbours) -> None:
    m: Moments = ONE_COLUMN[name](low=bounds[0], high=bounds[1], epsilon=1, neighbours=relation)
    for i, (term, noise) in enumerate(zip(m.terms, m.noises, strict=True)):
        moved, _ = largest_move(reader(m, i), bounded_domain(*bounds), relation, most=2)
        assert moved <= term.moves(relation).l1 == noise.moves  # type: ignore[union-attr]
        if bounds[0] != bounds[1] and bounds != (2**70, 2**70 + 1):  # there the floats are wider than the bounds
            assert moved >= 0.95 * term.moves(relation).l1
    assert (m.terms[0] is COUNT) == (relation is ADD)


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", TWO_COLUMNS)
def test_sums_of_two_columns_move_as_claimed(name: str, relation: Neighbours) -> None:
    m: Moments = TWO_COLUMNS[name](x=(0, 10), y=(-1, 5), rho=1, neighbours=relation)
    both = [(x, y) for x in (0.0, 10, NAN, INF, 4) for y in (-1, 5, -INF, None, 2)]
    for i, term in enumerate(m.terms):
        moved, _ = largest_move(pair_reader(m, i), both, relation, most=1)
        assert moved <= term.moves(relation).l1
        assert moved >= 0.95 * term.moves(relation).l1


def test_the_checks_refute_planted_bugs() -> None:
    """The lower bound used twice (attack C8), and change-one priced as add/remove."""
    m = bounded_sum(low=0, high=100, epsilon=1)
    wrong = Term("sum", m.grid.low, m.grid.low)
    moved, _ = largest_move(m.read, bounded_domain(0, 100), ADD, most=2)
    assert moved > wrong.moves(ADD).l1
    v = variance(low=0, high=10, epsilon=1, neighbours=CHANGE)
    for i, term in enumerate(v.terms):
        moved, _ = largest_move(reader(v, i), bounded_domain(0, 10), CHANGE, most=2)
        assert moved > term.moves(ADD).l1
    squares = v.terms[1]
    unsquared = Term("squares", v.columns[0].grid.low, v.columns[0].grid.high)  # bounds not squared
    assert squares.moves(CHANGE).l1 > unsquared.moves(CHANGE).l1


def truth(name: str, x: Any, y: Any = None) -> float:
    if not len(x):
        return 0.0
    match name:
        case "mean":
            return float(np.mean(x))
        case "variance":
            return float(np.var(x))
        case "standard deviation":
            return float(np.std(x))
        case "covariance":
            return float(np.mean((x - np.mean(x)) * (y - np.mean(y))))
        case _:
            return float(np.corrcoef(x, y)[0, 1])


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", [*ONE_COLUMN, *TWO_COLUMNS])
def test_without_noise_the_estimate_is_the_statistic(name: str, relation: Neighbours) -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(2, 8, 1000)
    y = 0.5 * x + rng.uniform(-1, 1, 1000)
    if name in ONE_COLUMN:
        m: Moments = ONE_COLUMN[name](low=0, high=10, epsilon=1, neighbours=relation)
        exact = m.read(x)
    else:
        m = TWO_COLUMNS[name](x=(0, 10), y=(-1, 6), epsilon=1, neighbours=relation)
        exact = m.read((x, y))
    assert m.finish(exact)[0] == pytest.approx(truth(name, x, y), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", [*ONE_COLUMN, *TWO_COLUMNS])
@pytest.mark.parametrize("size", [0, 30, 3000])
def test_error_bars_cover(name: str, relation: Neighbours, size: int) -> None:
    """Coverage at 70 %, false alarm 1e-9."""
    rng = np.random.default_rng(4)
    x = rng.uniform(0, 8, size)
    y = 0.5 * x + rng.uniform(-1, 1, size)
    if name in ONE_COLUMN:
        m: Moments = ONE_COLUMN[name](low=0, high=10, epsilon=3, neighbours=relation)
        data: Any = x
        right = 5.0 if name == "mean" and not size else truth(name, x)
    else:
        m = TWO_COLUMNS[name](x=(0, 10), y=(-1, 6), epsilon=3, neighbours=relation)
        data, right = (x, y), truth(name, x, y)
    answers = [m.release(data) for _ in range(60)]
    assert not too_few(sum(abs(a.value - right) <= a.error_at("0.7") for a in answers), 60, 0.7)
    low, high = map(float, m.statistic.bounds)
    assert all(low <= a.value <= high for a in answers)
    expected = [a.accuracy.expected_error for a in answers if a.accuracy is not None]
    assert np.mean([abs(a.value - right) for a in answers]) <= 1.5 * np.mean(expected)


@pytest.mark.slow
def test_error_bars_are_not_empty() -> None:
    data = np.random.default_rng(5).uniform(0, 10, 100_000)
    assert mean(low=0, high=10, epsilon=1).release(data).error_at("0.95") < 0.002
    assert variance(low=0, high=10, epsilon=1).release(data).error_at("0.95") < 0.03
    assert standard_deviation(low=0, high=10, rho=1).release(data).error_at("0.95") < 0.01
    both = np.stack([data, data], axis=1)
    answer = correlation(x=(0, 10), y=(0, 10), epsilon=1).release(both)
    assert answer.error_at("0.95") < 0.05
    assert answer.value > 0.95


@pytest.mark.parametrize(
    ("name", "moved"),
    [
        ("mean", {"sum": 10**12}),
        ("mean", {"sum": -(10**12)}),
        ("standard deviation", {"sum of squares": -(10**16)}),
        ("variance", {"sum of squares": -(10**16)}),
        ("variance", {"sum": 10**12, "sum of squares": 0}),
    ],
)
def test_noise_beyond_its_bar_does_not_look_certain(name: str, moved: dict[str, int]) -> None:
    m = ONE_COLUMN[name](low=0, high=10, epsilon=1)
    exact = m.read([float(i % 11) for i in range(100)])
    noisy = Sums(
        tuple(v + moved.get(term.name, 0) for v, term in zip(exact.values, m.terms, strict=True)), exact.records
    )
    value, accuracy = m.finish(noisy)
    low, high = m.statistic.bounds
    assert low <= value <= high
    assert accuracy.error_at("0.95") >= max(value - low, high - value) * (1 - 1e-9)


def test_a_noisier_twin_is_seen_by_the_coverage_check() -> None:
    data = np.random.default_rng(5).uniform(0, 10, 300)
    m, noisier = mean(low=0, high=10, epsilon=1), mean(low=0, high=10, epsilon="1/20")
    bar = m.release(data).error_at("0.7")
    hits = sum(abs(noisier.release(data).value - data.mean()) <= bar for _ in range(100))
    assert too_few(hits, 100, 0.7)


def test_big_offsets_keep_their_precision() -> None:
    """Attack A7: bounds [2^53, 2^53 + 1000]; attack A9: variance of narrow data far from zero."""
    low = 2**53
    data = np.array([low] * 5000 + [low + 1000] * 5000, dtype=np.float64)
    m = mean(low=low, high=low + 1000, epsilon=1)
    assert float(m.statistic.formula(m.columns, m_means(m.read(data))).middle) == low + 500
    v = variance(low=2**50, high=2**50 + 1, epsilon=1)
    narrow = np.array([2**50] * 1024, dtype=np.float64)
    assert v.finish(v.read(narrow))[0] < 1e-6
    narrow[0] += 0.25
    assert v.finish(v.read(narrow))[0] == pytest.approx(0.25**2 / 1024, rel=0.01)


def m_means(exact: Sums) -> Any:
    return [Span.at(Fraction(v, exact.values[0])) for v in exact.values[1:]]


def test_sums_do_not_depend_on_order_or_wrap() -> None:
    """Attacks A5 and A6."""
    rng = np.random.default_rng(6)
    data = np.concatenate([rng.normal(0, 1e6, 50_000), [2.0**53, 1.0, -(2.0**53)]])
    m = variance(low=-(2.0**53), high=2.0**53, epsilon=1)
    assert m.read(data) == m.read(rng.permutation(data)) == m.read(data[::-1].tolist())
    values = rng.integers(-(2**61), 2**61, 1001)
    for largest in (2**61, 2**59, 2**62):
        assert exact_sum(values >> (61 - largest.bit_length() + 1), largest) == sum(
            (values >> (61 - largest.bit_length() + 1)).tolist()
        )
    assert exact_sum(np.array([], dtype=np.int64), 1) == 0
    top = column(-1, 1).grid
    assert m.read(np.full(300_000, 1e300)).values[2] == 300_000 * (m.terms[2].high)
    assert top.largest <= 2**24


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("cost", [{"epsilon": "1/3"}, {"rho": "1/3"}])
def test_prices_are_exact(relation: Neighbours, cost: dict[str, Any]) -> None:
    made = [make(low=0, high=1, neighbours=relation, **cost) for make in (*ONE_COLUMN.values(), bounded_sum)]
    made += [make(x=(0, 1), y=(2, 3), neighbours=relation, **cost) for make in TWO_COLUMNS.values()]
    made.append(count(**cost))
    for m in made:
        if "epsilon" in cost:
            assert price_basic(m.event).epsilon == Fraction(1, 3)
            assert m.cost == "epsilon 1/3"
        else:
            assert price_zcdp(m.event).rho == Fraction(1, 3)
            assert m.cost == "rho 1/3"


def test_constant_bounds_still_get_noise() -> None:
    """smartnoise-core#318: equal bounds gave zero noise."""
    for relation in RELATIONS:
        m = bounded_sum(low=5, high=5, epsilon=1, neighbours=relation)
        assert m.noise.moves >= 1  # type: ignore[union-attr]
        assert mean(low=5, high=5, epsilon=1, neighbours=relation).release([1, 2]).value == 5.0
        assert variance(low=5, high=5, epsilon=1, neighbours=relation).release([1, 2]).value == 0.0


def test_nothing_that_records_hold_makes_a_call_fail() -> None:
    strange = [NAN, INF, None, "x", [1], 10**400, -(10**400), 1e308, object()]
    for data in databases(strange, 1):
        for make in (*ONE_COLUMN.values(), bounded_sum):
            assert math.isfinite(make(low=0, high=1, epsilon=1).release(data).value)
        assert isinstance(count(epsilon=1).release(data).value, int)
    for a, b in pairs(strange, 1, ADD):
        assert len(b) == len(a) + 1


def test_a_receipt_works_once() -> None:
    for m in (mean(low=0, high=1, epsilon=1), count(epsilon=1), bounded_sum(low=0, high=1, epsilon=1)):
        receipt = Receipt(m.event, number=1)
        m.release([0.5], receipt)
        with pytest.raises(ReceiptRefused):
            m.release([0.5], receipt)


@pytest.mark.parametrize(
    "wrong",
    [{"low": 11}, {"low": NAN}, {"high": INF}, {"epsilon": 0}, {"epsilon": None}, {"rho": 1}, {"low": "x"},
     {"high": "1e400"}, {"neighbours": 1}],
)  # fmt: skip
def test_bad_parameters_are_refused(wrong: dict[str, Any]) -> None:
    for make in (*ONE_COLUMN.values(), bounded_sum):
        with pytest.raises(BadParameter):
            make(**({"low": 0, "high": 10, "epsilon": 1} | wrong))


def test_bad_data_is_refused_without_its_values() -> None:
    for make in TWO_COLUMNS.values():
        with pytest.raises(BadParameter):
            make(x=(0,), y=(0, 1), epsilon=1)
        for data in (([1.2345], [1, 2]), [1.2345], "secret", np.zeros((3, 3))):
            with pytest.raises(BadData) as caught:
                make(x=(0, 1), y=(0, 1), epsilon=1).release(data)
            assert "1.2345" not in str(caught.value)
            assert "secret" not in str(caught.value)
    with pytest.raises(BadData):
        mean(low=0, high=1, epsilon=1).release("secret")
    told = mean(low=0, high=10, epsilon=1).release([7.77]).explain()
    assert "7.77" not in told
    assert "mean" in told


@pytest.mark.parametrize("odd", [np.timedelta64(5, "D"), np.timedelta64("NaT"), np.timedelta64(7)])
def test_a_length_of_time_is_no_reason_to_fail(odd: Any) -> None:
    """Numpy calls it an integer, and then refuses to make a float of it."""
    for m in (
        bounded_sum(low=0, high=1, epsilon=1),
        mean(low=0, high=1, epsilon=1),
        histogram(bins=[0, 1], epsilon=1),
        median(low=0, high=1, step="1/2", epsilon=1),
    ):
        m.release([0.5, odd])


def test_a_variance_beyond_the_floats_is_told_as_such() -> None:
    """It raised after the payment; now it is a large float with an infinite error bar."""
    for m, data in (
        (variance(low=-(2**899), high=2**899, epsilon=1), [2.0**899, -(2.0**899)] * 1000),
        (covariance(x=(-(2**899), 2**899), y=(-(2**899), 2**899), epsilon=1), ([2.0**899, -(2.0**899)] * 1000,) * 2),
    ):
        answer = m.release(data)
        assert answer.value == 2.0**1023
        assert answer.error_at(0.95) == math.inf
