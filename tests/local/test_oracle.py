"""Every frequency oracle: its exact law against its promise, its draws against its law, estimates that cover."""

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter
from discreet.exact import exp_up
from discreet.local.hadamard import hadamard
from discreet.local.hashing import local_hashing
from discreet.local.response import response
from discreet.local.subset import subset_selection
from discreet.local.unary import basic_rappor, optimised_unary
from tests.helpers.databases import too_few
from tests.helpers.laws import misfit
from tests.helpers.oracles import worst_ratio

MAKERS: list[Any] = [response, basic_rappor, optimised_unary, hadamard, subset_selection]
ALL: list[Any] = [*MAKERS, local_hashing]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
def test_the_exact_law_keeps_its_promise_and_nearly_uses_it_up(make: Any, k: int, epsilon: str) -> None:
    oracle = make(k=k, epsilon=epsilon)
    for v in range(k):
        assert sum(oracle.law(v).values()) == 1
    ratio = worst_ratio(oracle)
    assert ratio <= exp_up(Fraction(epsilon))
    assert ratio > exp_up(Fraction(epsilon)) * (1 - Fraction(1, 10**6))


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_support_has_the_chances_that_are_claimed(make: Any, k: int) -> None:
    oracle = make(k=k, epsilon=1)
    for v in range(k):
        seen = [Fraction(0)] * k
        for report, chance in oracle.law(v).items():
            line = np.frombuffer(report, dtype=np.uint8)[None, :]
            assert oracle.valid(line)[0]
            for w, n in enumerate(oracle.supports(line).tolist()):
                seen[w] += n * chance
        assert seen == [oracle.keep if w == v else oracle.other for w in range(k)]


@pytest.mark.parametrize("make", MAKERS)
def test_draws_have_the_law(make: Any) -> None:
    oracle = make(k=4, epsilon=1)
    law = {report: (p, p) for report, p in oracle.law(2).items()}
    draws = [line.tobytes() for line in oracle.simulate(np.full(40_000, 2))]
    assert misfit(draws, law) < 1
    assert misfit(draws[:20_000], {r: (p, p) for r, p in make(k=4, epsilon="7/5").law(2).items()}) > 1
    assert Counter(oracle.client(2) for _ in range(20)).keys() <= oracle.law(2).keys()


@pytest.mark.slow
@pytest.mark.parametrize("make", ALL)
def test_estimates_have_no_bias_and_their_bars_cover(make: Any) -> None:
    oracle = make(k=6, epsilon=1)
    values = np.repeat(np.arange(6), [500, 300, 100, 60, 40, 0])
    truth = np.array([0.5, 0.3, 0.1, 0.06, 0.04, 0])
    runs = [oracle.estimate(oracle.simulate(values), "0.8") for _ in range(150)]
    hits = sum(bool((np.abs(r.values - truth) <= r.error).all()) for r in runs)
    assert not too_few(hits, len(runs), 0.8)
    assert too_few(sum(bool((np.abs(r.values - truth) <= r.error / 6).all()) for r in runs), len(runs), 0.8)
    mean = np.mean([r.values for r in runs], axis=0)
    spread = max(oracle.variance(1000, f) for f in truth) / len(runs)
    assert np.abs(mean - truth).max() < 6.5 * spread**0.5  # a false alarm in 1e9 for all six
    claimed = oracle.variance(1000, "0.5")
    seen = np.var([r.values[0] for r in runs])
    assert 0.45 < seen / claimed < 1.9  # chi-square of 149 degrees, beyond 1e-9
    assert runs[0].consistent().min() >= 0
    assert runs[0].consistent().sum() == pytest.approx(1)
    low, high = runs[0].within()
    assert (low <= high).all()


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("given", [{"k": 1}, {"k": 1 << 31}, {"epsilon": 0}, {"epsilon": 17}, {"k": 2.5}])
def test_bad_parameters(make: Any, given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        make(**{"k": 4, "epsilon": 1, **given})


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("values", [[4], [-1], [0.5], ["1"], 3, [[1]], [None], [True]])
def test_bad_values(make: Any, values: Any) -> None:
    with pytest.raises(BadData):
        make(k=4, epsilon=1).simulate(values)
