"""RAPPOR over time: the price of several reports by enumeration, permanent answers, estimates."""

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.exact import exp_up
from discreet.local.rappor import rappor


@pytest.mark.parametrize("reports", [1, 2, 3])
def test_the_price_of_several_reports_by_enumeration(reports: int) -> None:
    made = rappor(k=2, noise="1/3", one="4/5", zero="1/4")

    def chance(value: int, seen: tuple[int, ...]) -> Fraction:
        """P[so many ones at each of the two places], permanent bits drawn once."""
        total = Fraction(1)
        for place, ones in enumerate(seen):
            half = made.noise / 2
            kept = 1 - half if place == value else half
            total *= sum(
                w * q**ones * (1 - q) ** (reports - ones) for w, q in ((kept, made.one), (1 - kept, made.zero))
            )
        return total

    outcomes = [(i, j) for i in range(reports + 1) for j in range(reports + 1)]
    ratio = max(chance(0, o) / chance(1, o) for o in outcomes)
    assert ratio <= exp_up(made.price(reports).epsilon)
    assert ratio >= exp_up(made.price(reports).epsilon) * (1 - Fraction(1, 10**9))


def test_a_device_keeps_its_permanent_answer() -> None:
    made = rappor(k=16, noise="1/2", one=Fraction(999_999, 10**6), zero=Fraction(1, 10**6))
    device = made.device()
    reports = Counter(device.report(3) for _ in range(50))
    assert reports.most_common(1)[0][1] > 40  # the same answer, nearly always
    assert device.spent == made.forever
    device.report(4)
    assert device.spent.epsilon == 2 * made.forever.epsilon
    assert made.once.epsilon < made.forever.epsilon


def test_rounds_of_rappor_are_estimated_without_bias() -> None:
    made = rappor(k=4, noise="1/4", one="9/10", zero="1/10")
    devices = [(made.device(), v) for v in [0] * 300 + [1] * 100]
    reports = np.array([np.frombuffer(d.report(v), dtype=np.uint8) for d, v in devices])
    result = made.server.estimate(reports, "0.999999999")
    assert np.abs(result.values - [0.75, 0.25, 0, 0]).max() <= result.error


@pytest.mark.parametrize("given", [{"noise": 0}, {"noise": 1}, {"one": "1/2"}, {"zero": 0}, {"one": 1}])
def test_bad_rappor(given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        rappor(**{"k": 4, "noise": "1/2", **given})
