"""The learning page: its numbers are those of formulas worked out here by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.curator.http.teaching import POINTS, attacker, composition, noise
from discreet.errors import BadParameter


def test_the_attackers_curve_is_that_of_epsilon_and_delta() -> None:
    """True positives at rate x: the least of e^ε x + δ and 1 - e^-ε (1 - δ - x), and at most 1."""
    found = attacker("1", "0.01")
    assert {i / POINTS for i in range(POINTS + 1)} < set(found["false_positives"])
    for x, power in zip(found["false_positives"], found["true_positives"], strict=True):
        exact = min(1.0, math.e * x + 0.01, 1 - math.exp(-1) * (1 - 0.01 - x))
        assert power == pytest.approx(exact, abs=1e-9)
    assert found["guess"] == pytest.approx((math.e + 0.01) / (1 + math.e), abs=1e-12)


@pytest.mark.parametrize("epsilon", ["0.01", "1", "8", "20"])
def test_nothing_lies_above_the_lines_between_the_points(epsilon: str) -> None:
    """A grid of 60 points alone cut the corner off: at ε = 8 it said 0.9915 where 0.9997 is true."""
    found = attacker(epsilon, "1e-6")
    e = math.exp(float(epsilon))
    rates = [*np.linspace(0, 1, 5001), (1 - 1e-6) / (1 + e), *(10.0**-k for k in range(12))]
    for x in rates:
        best = min(1.0, e * x + 1e-6, 1 - (1 - 1e-6 - x) / e)
        assert np.interp(x, found["false_positives"], found["true_positives"]) >= best - 1e-9
    assert found["guess"] == pytest.approx((e + 1e-6) / (1 + e), abs=1e-12)


def test_questions_add_up_or_better() -> None:
    found = composition("0.1", "1e-6", 100)
    assert found["questions"] == list(range(5, 101, 5))
    assert found["basic"] == pytest.approx([k / 10 for k in found["questions"]])
    assert all(z <= b for z, b in zip(found["zcdp"], found["basic"], strict=True))
    assert found["zcdp"][-1] < 0.6 * found["basic"][-1]
    assert found["zcdp"] == sorted(found["zcdp"])
    assert composition("0.1", "1e-6", 1)["questions"] == [1]


def test_the_law_of_the_noise_is_discrete_laplace() -> None:
    found = noise("0.5")
    q = math.exp(-0.5)
    for k, p in found["law"].items():
        assert p == pytest.approx((1 - q) / (1 + q) * q ** abs(int(k)), rel=1e-9)
    assert len(found["samples"]) == 240
    assert all(isinstance(one, int) for one in found["samples"])
    assert 2 * q ** (found["error"] + 1) / (1 + q) <= 0.05 < 2 * q ** found["error"] / (1 + q)


@pytest.mark.parametrize("epsilon", ["0", "-1", "20.001", "0.0009", "1e-400", "x", ""])
def test_numbers_outside_the_page_are_refused(epsilon: str) -> None:
    for ask in (noise, lambda e: attacker(e, "0.01"), lambda e: composition(e, "1e-6", 3)):
        with pytest.raises(BadParameter, match="epsilon"):
            ask(epsilon)


def test_deltas_and_numbers_of_questions_have_limits() -> None:
    for delta in ("0", "0.2", "1e-31"):
        with pytest.raises(BadParameter, match="delta"):
            attacker("1", delta)
    for questions in (0, 10_001):
        with pytest.raises(BadParameter, match="questions"):
            composition("1", "1e-6", questions)
