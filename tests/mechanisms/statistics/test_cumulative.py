"""Threshold functions: each strategy's sensitivity, answers and error bars; the best is the best."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.mechanisms.statistics.cumulative import Strategy, cdf, cumulative
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises.neighbours import Neighbours
from tests.helpers.databases import RELATIONS, largest_move, too_few

NAN, INF = float("nan"), float("inf")
WAYS = (Strategy.PREFIXES, Strategy.POINTS, Strategy.TREE)
DOMAIN = [-INF, -1, 0, 0.5, 1, 2, 2.5, 3, 3.5, 4, INF, NAN, None, 10**400]


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("m", [1, 2, 4])
def test_what_gets_noise_moves_as_claimed(m: int, way: Strategy, relation: Neighbours) -> None:
    pure = cumulative(thresholds=range(m), epsilon=1, strategy=way, neighbours=relation)
    l1, l2_squared = largest_move(pure.read, DOMAIN, relation, most=2)
    assert pure.noise.moves == l1  # type: ignore[union-attr]
    concentrated = cumulative(thresholds=range(m), rho=1, strategy=way, neighbours=relation)
    assert concentrated.noise.moves_squared == l2_squared  # type: ignore[union-attr]
    assert price_basic(pure.event).epsilon == 1
    assert price_zcdp(concentrated.event).rho == 1


def test_the_check_refutes_prefixes_priced_as_points() -> None:
    prefixes = cumulative(thresholds=range(4), epsilon=1, strategy="prefixes")
    points = cumulative(thresholds=range(4), epsilon=1, strategy="points")
    assert largest_move(prefixes.read, DOMAIN, RELATIONS[0], most=2)[0] > points.noise.moves  # type: ignore[union-attr]


@pytest.mark.parametrize("way", WAYS)
def test_without_noise_the_curve_is_exact(way: Strategy) -> None:
    rng = np.random.default_rng(1)
    for m in (1, 2, 7, 30):
        curve = cumulative(thresholds=range(m), epsilon=1, strategy=way)
        data = rng.normal(m / 2, m, 200).tolist()
        answer, _ = curve.finish(curve.read(data))
        assert np.allclose(answer, [sum(x <= t for x in data) for t in range(m)])


@pytest.mark.parametrize("way", WAYS)
def test_a_threshold_counts_the_records_on_it(way: Strategy) -> None:
    """The planted twin, a threshold that is off by the records on it, gives another curve."""
    curve = cumulative(thresholds=range(3), epsilon=1, strategy=way)
    data = [0.0, 1.0, 1.0, 2.0]
    answer, _ = curve.finish(curve.read(data))
    assert np.allclose(answer, [sum(x <= t for x in data) for t in range(3)])
    assert not np.allclose(answer, [sum(x < t for x in data) for t in range(3)])


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": "1/2"}])
def test_error_bars_cover_the_whole_curve(way: Strategy, cost: dict[str, Any]) -> None:
    m = cumulative(thresholds=range(12), strategy=way, **cost)
    data = [0.5] * 40 + [7] * 30 + [99] * 5
    truth = np.array([sum(x <= t for x in data) for t in range(12)])
    bar = m.accuracy.error_at("0.8")
    errors = [abs(m.release(data).value - truth) for _ in range(300)]
    assert not too_few(sum(e.max() <= bar for e in errors), 300, 0.8)
    assert too_few(sum(e.max() <= bar / 4 for e in errors), 300, 0.8)
    assert np.mean([e.mean() for e in errors]) <= 1.2 * m.accuracy.expected_error


@pytest.mark.slow
def test_the_best_strategy_has_the_least_error_bar_and_errors_grow_as_stated() -> None:
    for k in (1, 3, 16, 300, 2000):
        bars = {w: cumulative(thresholds=range(k), epsilon=1, strategy=w).accuracy.error_at("0.95") for w in WAYS}
        best = cumulative(thresholds=range(k), epsilon=1)
        assert best.accuracy.error_at("0.95") == min(bars.values())
    bar = {
        w: [cumulative(thresholds=range(k), epsilon=1, strategy=w).accuracy.expected_error for k in (256, 4096)]
        for w in WAYS
    }
    assert bar[Strategy.PREFIXES][1] / bar[Strategy.PREFIXES][0] == pytest.approx(16, rel=0.01)
    assert bar[Strategy.POINTS][1] / bar[Strategy.POINTS][0] == pytest.approx(4, rel=0.01)
    assert bar[Strategy.TREE][1] / bar[Strategy.TREE][0] < 2.5


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
def test_shares_of_the_curve(relation: Neighbours) -> None:
    data = np.repeat([0, 1, 2, 5, 6], [300, 100, 200, 300, 100])
    m = cdf(thresholds=range(8), epsilon=1, neighbours=relation)
    truth = np.array([0.3, 0.4, 0.6, 0.6, 0.6, 0.9, 1, 1])
    hits = 0
    for _ in range(200):
        answer = m.release(data)
        assert answer.value.min() >= 0
        assert answer.value.max() <= 1
        hits += bool((abs(answer.value - truth) <= answer.error_at("0.8")).all())
    assert not too_few(hits, 200, 0.8)
    assert price_basic(m.event).epsilon == 1
    assert m.release([]).value.shape == (8,)
    assert m.release(data).error_at("0.95") < 0.2


@pytest.mark.parametrize(
    "wrong",
    [{"strategy": "magic"}, {"thresholds": []}, {"thresholds": [NAN]}, {"thresholds": 4}, {"thresholds": "12"},
     {"epsilon": -1}, {"thresholds": ["x"]}],
)  # fmt: skip
def test_bad_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        cumulative(**{"thresholds": range(4), "epsilon": 1, **wrong})
    assert Fraction(1) == cumulative(thresholds=[0], epsilon=1).noise.scale  # type: ignore[union-attr]
