"""What a promise means to an attacker, against the best tests of small exact pairs."""

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from discreet.errors import BadParameter
from discreet.privacy.accountants.tradeoff import false_negatives_down
from discreet.privacy.attacker.meaning import advantage, posterior, true_positive_rate
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Measure, Pure, Renyi
from tests.helpers.exact_pairs import neyman_pearson

epsilons = st.floats(min_value=0, max_value=6)
rates = st.floats(min_value=0, max_value=1)


@pytest.mark.slow
@given(epsilons, st.floats(min_value=0, max_value=0.5), rates)
@settings(deadline=None)
def test_the_worst_box_attains_it(epsilon: float, delta: float, alpha: float) -> None:
    e = math.exp(epsilon)
    p = [delta, (1 - delta) * e / (1 + e), (1 - delta) / (1 + e), 0.0]
    q = [0.0, (1 - delta) / (1 + e), (1 - delta) * e / (1 + e), delta]
    truth = neyman_pearson(p, q, alpha)
    got = true_positive_rate(Approx(epsilon, delta), alpha)
    assert truth <= got + 1e-12
    assert got <= truth + 1e-12
    assert float(false_negatives_down(Approx(epsilon, delta), alpha)) == pytest.approx(1 - truth, abs=1e-12)
    gap = advantage(Approx(epsilon, delta))
    assert gap == pytest.approx(0.5 * sum(abs(a - b) for a, b in zip(p, q, strict=True)), abs=1e-12)
    assert true_positive_rate(Pure(epsilon), alpha) == true_positive_rate(Approx(epsilon, 0), alpha)
    assert advantage(Pure(epsilon)) == pytest.approx(advantage(Approx(epsilon, 0)), abs=1e-12)


@pytest.mark.slow
@given(st.floats(min_value=0.01, max_value=6), st.floats(min_value=1e-9, max_value=1 - 1e-9))
@settings(max_examples=50, deadline=None)
def test_gaussian(mu: float, alpha: float) -> None:
    assert true_positive_rate(GDP(mu), alpha) == pytest.approx(norm.cdf(norm.ppf(alpha) + mu), rel=1e-9)
    assert advantage(GDP(mu)) == pytest.approx(2 * norm.cdf(mu / 2) - 1, rel=1e-9)


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("alpha", [0.0, 1e-6, 0.01, 0.5, 1.0])
def test_gaussian_noise_under_its_weaker_promises(mu: float, alpha: float) -> None:
    """What zCDP and Rényi allow is above what Gaussian noise gives, and not absurdly so."""
    exact = true_positive_rate(GDP(mu), alpha)
    rho = Fraction(mu) ** 2 / 2
    weaker: list[Measure] = [ZCDP(rho), Renyi({a: rho * a for a in (2, 4, 8, 16, 32)})]
    for promise in weaker:
        assert exact <= true_positive_rate(promise, alpha) <= 1
        assert advantage(GDP(mu)) <= advantage(promise) <= 1
    if alpha == 0.01 and mu == 0.1:
        assert true_positive_rate(ZCDP(rho), alpha) < 0.03


def test_posteriors() -> None:
    assert posterior(Pure(1), "0.5") == pytest.approx(math.e / (1 + math.e), rel=1e-12)
    assert posterior(Pure(0), "0.3") == pytest.approx(0.3)
    assert posterior(Approx(1, "1e-6"), "0.5", false_positive="1e-6") > posterior(Pure(1), "0.5")
    assert posterior(Approx(1, "1e-6"), "0.5", false_positive="0.5") < posterior(Pure(1), "0.5")
    assert posterior(GDP(1), "0.5", false_positive="0.01") > posterior(GDP(1), "0.5", false_positive="0.1")


def test_no_promise_no_gain() -> None:
    for nothing in (Pure(0), Approx(0, 0), GDP(0), ZCDP(0)):
        assert true_positive_rate(nothing, "0.25") == 0.25
        assert advantage(nothing) == 0


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, "x"])
def test_bad_input(bad: Any) -> None:
    calls: list[Any] = [
        lambda: true_positive_rate(Pure(1), bad),
        lambda: posterior(Pure(1), bad),
        lambda: posterior(Pure(1), "0.5", false_positive=bad),
        lambda: posterior(Approx(1, "1e-6"), "0.5"),
        lambda: posterior(Pure(1), 0),
    ]
    for call in calls:
        with pytest.raises(BadParameter):
            call()
