"""From δ to ε: outwards on a curve with a closed form, whatever its stated errors are."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from discreet.privacy.pld.beliefs import Array
from discreet.privacy.pld.invert import epsilon_above, epsilon_below


@dataclass
class GaussianCurve:
    """δ(ε) of Gaussian noise with μ = 1, known within ``width`` and above a mass at infinity."""

    width: float = 0.0
    infinite: float = 0.0
    slip: float = 1e-12
    ends: tuple[float, float] = (-12.0, 14.0)

    @property
    def infinite_above(self) -> float:
        return self.infinite

    @property
    def infinite_below(self) -> float:
        return self.infinite

    def truth(self, epsilon: float) -> float:
        finite = norm.cdf(0.5 - epsilon) - math.exp(epsilon) * norm.cdf(-0.5 - epsilon)
        return float(finite) + self.infinite

    def value_and_slope(self, epsilon: float) -> tuple[float, float]:
        return self.truth(epsilon), math.exp(epsilon) * float(norm.cdf(-0.5 - epsilon))

    def delta_above(self, epsilon: float) -> float:
        return self.truth(epsilon) * (1.0 + self.width)

    def delta_below(self, epsilon: float) -> float:
        return self.truth(epsilon) * (1.0 - self.width)

    def curve_below(self) -> tuple[Array, Array]:
        return np.zeros(0), np.zeros(0)


@pytest.mark.parametrize("delta", [0.3, 0.1, 1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("width", [0.0, 1e-6, 0.1, 0.9])
def test_both_bounds_hold_and_are_close_where_the_curve_is(delta: float, width: float) -> None:
    curve = GaussianCurve(width)
    low, high = epsilon_below(curve, delta), epsilon_above(curve, delta)
    assert curve.delta_above(high) <= delta
    assert low == 0.0 or curve.delta_below(low) > delta
    truth = brentq(lambda e: curve.truth(e) - delta, 0.0, 12.0, xtol=1e-13)
    assert low <= truth + 1e-9
    assert high >= truth - 1e-9
    if width == 0.0:
        assert high - low < 1e-6


def test_a_delta_that_is_never_exceeded_needs_no_epsilon() -> None:
    curve = GaussianCurve()
    assert 0.0 <= epsilon_above(curve, 0.5) < 1e-9  # δ(0) = 0.383
    assert epsilon_below(curve, 0.5) == 0.0


def test_mass_at_infinity_rules_a_delta_out() -> None:
    curve = GaussianCurve(infinite=1e-3)
    assert epsilon_above(curve, 1e-3) == math.inf
    assert epsilon_below(curve, 0.5e-3) == math.inf
    assert math.isfinite(epsilon_above(curve, 1.1e-3))


def test_what_the_window_does_not_show_is_not_promised() -> None:
    curve = GaussianCurve(width=0.9, ends=(-1.0, 1.0))
    assert epsilon_above(curve, 1e-3) == math.inf
    assert epsilon_below(curve, 1e-3) <= 1.1
