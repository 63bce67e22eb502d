"""The best test of an attacker: by hand, by the best test of small exact pairs, and by the normal law."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from discreet.errors import BadParameter
from discreet.privacy.accountants.tradeoff import bends, false_negatives_down, power_up
from discreet.privacy.attacker.meaning import advantage
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Pure, Renyi
from tests.helpers.exact_pairs import neyman_pearson


@pytest.mark.slow
@given(st.floats(0, 6), st.floats(0, 0.5), st.floats(0, 1))
@settings(deadline=None)
def test_the_worst_pair_attains_it(epsilon: float, delta: float, alpha: float) -> None:
    e = math.exp(epsilon)
    p = [delta, (1 - delta) * e / (1 + e), (1 - delta) / (1 + e), 0.0]
    q = [0.0, (1 - delta) / (1 + e), (1 - delta) * e / (1 + e), delta]
    truth = neyman_pearson(p, q, alpha)
    assert float(power_up(Approx(epsilon, delta), alpha)) == pytest.approx(truth, abs=1e-12)
    assert float(false_negatives_down(Approx(epsilon, delta), alpha)) == pytest.approx(1 - truth, abs=1e-12)


@pytest.mark.parametrize(
    ("promise", "alpha", "power"),
    [
        (Approx(0, "0.1"), "0.2", Fraction(3, 10)),
        (Approx(0, "0.1"), 0, Fraction(1, 10)),
        (Approx(0, "0.1"), 1, Fraction(1)),
        (Pure(0), "1/3", Fraction(1, 3)),
        (GDP(0), "1/3", Fraction(1, 3)),
        (GDP(5), 0, Fraction(0)),
        (GDP(5), 1, Fraction(1)),
        (ZCDP(0, "1/4"), "1/4", Fraction(1, 2)),
        (Pure(10**9), "1e-9", Fraction(1)),
        (Approx(10**9, "1/4"), 0, Fraction(1, 4)),
    ],
)  # fmt: skip
def test_by_hand(promise: Any, alpha: Any, power: Fraction) -> None:
    assert power_up(promise, alpha) == power
    assert false_negatives_down(promise, alpha) == 1 - power


@pytest.mark.parametrize("mu", ["0.1", "1", "3"])
@pytest.mark.parametrize("alpha", ["1e-6", "0.01", "0.5", "0.999"])
def test_gaussian_noise_and_the_weaker_promises_that_it_keeps(mu: str, alpha: str) -> None:
    """Rounded up against the normal law; zCDP and Rényi promises follow from it, so they allow at least as much."""
    exact = norm.cdf(norm.ppf(float(alpha)) + float(mu))
    found = power_up(GDP(mu), alpha)
    assert float(found) == pytest.approx(exact, rel=1e-9)
    rho = Fraction(mu) ** 2 / 2
    assert found <= power_up(ZCDP(rho), alpha) <= 1
    assert found <= power_up(Renyi({a: rho * a for a in (2, 4, 8, 16, 32)}), alpha) <= 1


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, "x", None])
def test_a_rate_that_is_none(bad: Any) -> None:
    with pytest.raises(BadParameter, match="false_positive"):
        power_up(Pure(1), bad)


@pytest.mark.slow
@pytest.mark.parametrize(
    "promise", [Pure(1), Approx(1, "0.01"), GDP(1), ZCDP("0.5"), ZCDP("0.5", "0.01"), ZCDP(0, "0.1"), Renyi({4: 2})]
)
def test_shapes(promise: Any) -> None:
    grid = [Fraction(i, 10) for i in range(11)]
    powers = [power_up(promise, a) for a in grid]
    assert powers == sorted(powers)
    assert all(a <= p <= 1 for a, p in zip(grid, powers, strict=True))
    assert powers[-1] == 1
    gaps = [p - a for p, a in zip(powers, grid, strict=True)]
    if isinstance(promise, (Pure, Approx, GDP)):
        assert max(map(float, gaps)) <= advantage(promise)


@pytest.mark.parametrize("promise", [Pure(0), Pure(3), Pure(600), Approx(1, "0.1"), Approx("0.001", "1e-9")])
def test_a_curve_is_straight_between_its_bends(promise: Pure | Approx) -> None:
    corners = [Fraction(0), *sorted(bends(promise)), Fraction(1)]
    assert corners == sorted(corners)
    for low, high in pairwise(corners):
        ends = power_up(promise, low), power_up(promise, high)
        assert abs(power_up(promise, (low + high) / 2) - (ends[0] + ends[1]) / 2) < Fraction(1, 10**12)
