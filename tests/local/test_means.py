"""Means: exact laws, no bias by exact sums, variances by exact sums, bars that cover."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter
from discreet.exact import exp_up
from discreet.local.means import Duchi, Hybrid, Piecewise, _spread, _variances, mean
from tests.helpers.databases import too_few
from tests.helpers.laws import misfit

METHODS = ["duchi", "piecewise", "hybrid"]


def small(method: str, epsilon: Any = 1, places: int = 6) -> Any:
    return mean(low=0, high=6, epsilon=epsilon, method=method, places=places)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epsilon", ["1/4", "1", "4"])
def test_the_exact_law_keeps_its_promise(method: str, epsilon: str) -> None:
    oracle = small(method, epsilon)
    laws = [oracle.law(i) for i in range(7)]
    assert all(sum(law.values()) == 1 for law in laws)
    ratio = max(a[r] / b[r] for a in laws for b in laws for r in a)
    assert exp_up(Fraction(epsilon)) * (1 - Fraction(1, 10**6)) < ratio <= exp_up(Fraction(epsilon))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epsilon", ["1/4", "1", "4"])
def test_decoded_reports_have_no_bias_and_the_variance_that_is_claimed(method: str, epsilon: str) -> None:
    oracle = small(method, epsilon)
    worst = 0.0
    for i in range(7):
        law = oracle.law(i)
        lines = np.array([list(r) for r in law], dtype=np.uint8)
        chances = np.array([float(p) for p in law.values()])
        assert oracle.valid(lines).all()
        decoded = oracle.decode(lines)
        assert decoded @ chances == pytest.approx(i / 6, abs=1e-9)
        variance = (decoded - i / 6) ** 2 @ chances
        worst = max(worst, variance)
        assert np.abs(decoded - i / 6).max() <= _spread(oracle)[1] + 1e-9
        if isinstance(oracle, (Duchi, Piecewise)):
            assert _variances(oracle)[i] == pytest.approx(variance, rel=1e-9)
    assert oracle.worst_variance == pytest.approx(worst, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_draws_have_the_law(method: str) -> None:
    oracle = small(method)
    law = {r: (p, p) for r, p in oracle.law(4).items()}
    draws = [line.tobytes() for line in oracle.simulate([4.0] * 30_000)]
    assert misfit(draws, law) < 1
    assert misfit(draws, {r: (p, p) for r, p in oracle.law(2).items()}) > 1


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_bars_cover(method: str) -> None:
    oracle = mean(low=-1, high=3, epsilon=2, method=method)
    values = np.linspace(-1, 2, 500)
    runs = [oracle.estimate(oracle.simulate(values), "0.8") for _ in range(150)]
    hits = sum(abs(r.value - values.mean()) <= r.error for r in runs)
    assert not too_few(hits, 150, 0.8)
    assert too_few(sum(abs(r.value - values.mean()) <= r.error / 8 for r in runs), 150, 0.8)


def test_the_best_method_is_the_best() -> None:
    for epsilon in ("1/4", "1", "2", "5"):
        found = {m: mean(low=0, high=1, epsilon=epsilon, method=m).worst_variance for m in METHODS}
        assert mean(low=0, high=1, epsilon=epsilon).worst_variance == min(found.values())
    assert isinstance(mean(low=0, high=1, epsilon=5), Hybrid)
    # the constants of the continuous mechanism: variance of Duchi at the middle is C²/4 on [0, 1]
    e = np.e
    assert mean(low=0, high=1, epsilon=1, method="duchi").worst_variance == pytest.approx(
        ((e + 1) / (e - 1)) ** 2 / 4, rel=1e-5
    )


def test_strange_numbers_are_moved_into_the_range() -> None:
    oracle = small("duchi")
    assert oracle.read([float("nan"), float("inf"), -float("inf"), 2.2]).tolist() == [3, 6, 0, 2]
    assert len(oracle.client(1e300)) == 1
    for wrong in (["x"], [[1.0]], 3.0):
        with pytest.raises(BadData):
            oracle.read(wrong)
    with pytest.raises(BadData):
        oracle.estimate(np.full((2, 1), 7, dtype=np.uint8))


@pytest.mark.parametrize("given", [{"low": 1}, {"epsilon": 0}, {"method": "mode"}, {"places": 0}])
def test_bad_parameters(given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        mean(**{"low": 0, "high": 1, "epsilon": 1, **given})
