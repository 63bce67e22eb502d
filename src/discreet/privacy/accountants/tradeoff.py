"""Trade-off functions: what any promise leaves to an attacker who must choose between two neighbouring inputs.

Promise: ``power_up`` is never below the true-positive rate of any test with that false-positive rate, and its false
negatives are never below ``false_negatives_down``; for pure, approximate and Gaussian promises both are exact up to
rounding (some mechanism that keeps the promise attains them).
Believes: Wasserman and Zhou 2010; Dong, Roth and Su 2022, Propositions 2.4 and 2.12; and conversions.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.errors import BadParameter
from discreet.exact import Number, exp_down, exp_up, probability
from discreet.privacy.accountants.conversions import renyi_to_approx, zcdp_to_approx
from discreet.privacy.numerics import normal
from discreet.privacy.numerics.search import lowest_point
from discreet.privacy.promises.measures import GDP, HUGE, ZCDP, Approx, Measure, Pure, Renyi
from discreet.privacy.promises.record import short_up

_LEAST, _MOST = -12.0, 8.0  # e to these powers: the ε among which the best is looked for
_STEPS = 30
_FARTHEST = 700
"""e^-ε of a larger ε is nothing in a picture."""


def false_negatives_down(promise: Measure, false_positive: Number) -> Fraction:
    """f(α): no test with this false-positive rate misses less often than this, rounded down.

    >>> false_negatives_down(Approx(0, "0.1"), "0.2")
    Fraction(7, 10)
    """
    return 1 - power_up(promise, false_positive)


def power_up(promise: Measure, false_positive: Number) -> Fraction:
    """The largest true-positive rate of any test with this false-positive rate, rounded up.

    Guarantee: min(e^ε α + δ, 1 - e^{-ε}(1 - δ - α)) for (ε, δ); Φ(Φ⁻¹(α) + μ) for μ-GDP. Rényi promises are bounded
    by the best of the (ε, δ) that they imply: every one of them is valid.

    >>> float(power_up(Pure(1), "0.01"))
    0.0271828...
    """
    alpha = probability(false_positive, "false_positive")
    match promise:
        case Pure(epsilon=e):
            return _approx(e, Fraction(0), alpha)
        case Approx(epsilon=e, delta=d):
            return _approx(e, d, alpha)
        case GDP():
            return _gaussian(promise, alpha)
        case ZCDP():
            return (
                _best(lambda e: zcdp_to_approx(promise, epsilon=e).delta, alpha)
                if promise.rho
                else _approx(Fraction(0), promise.delta, alpha)
            )
        case Renyi():
            return _best(lambda e: renyi_to_approx(promise, epsilon=e).delta, alpha)


def _approx(epsilon: Fraction, delta: Fraction, alpha: Fraction) -> Fraction:
    if epsilon > HUGE:
        return Fraction(1) if alpha else delta
    steep = exp_up(epsilon) * alpha + delta
    flat = 1 - exp_down(-epsilon) * (1 - delta - alpha)
    return min(Fraction(1), steep, flat)


def bends(promise: Pure | Approx) -> tuple[Fraction, Fraction]:
    """The false-positive rates at which the curve of (ε, δ) bends: (1 - δ)/(1 + e^ε), about, and 1 - δ.

    Between 0, these and 1 it is straight. A picture needs them: points beside the first cut its corner off.

    >>> [round(float(rate), 4) for rate in bends(Approx(1, "0.1"))]
    [0.242, 0.9]
    """
    delta = promise.delta if isinstance(promise, Approx) else Fraction(0)
    return Fraction(float((1 - delta) / (1 + exp_up(min(promise.epsilon, Fraction(_FARTHEST)))))), 1 - delta


def _gaussian(promise: GDP, alpha: Fraction) -> Fraction:
    if alpha in (0, 1) or not promise.mu_squared:
        return alpha
    return short_up(normal.cdf_up(normal.quantile_up(alpha) + promise.mu))


def _best(delta_up: Callable[[Fraction], Fraction], alpha: Fraction) -> Fraction:
    """The least bound over ε: a float search picks the ε, the bound there is evaluated exactly."""

    def bound(e: Fraction) -> Fraction:
        try:
            return _approx(e, delta_up(e), alpha)
        except BadParameter:  # at this ε nothing is promised
            return Fraction(1)

    best = lowest_point(lambda t: float(bound(Fraction(math.exp(t)))), _LEAST, _MOST, _STEPS)
    return short_up(min(bound(Fraction(math.exp(best))), bound(Fraction(0))))
