"""The teaching page: what ε means, how budgets add up, what noise looks like. All from the library's own functions.

Nothing here knows any data: the numbers are the same for everybody.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.errors import BadParameter
from discreet.exact import number
from discreet.mechanisms.additive.laplace import laplace
from discreet.privacy.accountants.conversions import zcdp_to_approx
from discreet.privacy.accountants.tradeoff import bends, power_up
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Approx
from discreet.randomness import SystemBits

POINTS, FEW = 60, 20
_MOST_EPSILON = 20
_SAMPLES = 240


def _epsilon(value: str) -> Fraction:
    found = number(value, "epsilon")
    if not Fraction(1, 1000) <= found <= _MOST_EPSILON:
        raise BadParameter("epsilon", value, f"must be between 0.001 and {_MOST_EPSILON} here")
    return found


def _delta(value: str) -> Fraction:
    found = number(value, "delta")
    if not Fraction(1, 10**30) <= found <= Fraction(1, 10):
        raise BadParameter("delta", value, "must be between 1e-30 and 0.1 here")
    return found


@lru_cache(maxsize=256)
def attacker(epsilon: str, delta: str) -> dict[str, Any]:
    """The best that any attacker can do: true positives for each rate of false positives."""
    promise = Approx(_epsilon(epsilon), _delta(delta))
    rates = sorted({*(Fraction(i, POINTS) for i in range(POINTS + 1)), *bends(promise)})
    return {
        "false_positives": [float(rate) for rate in rates],
        "true_positives": [float(power_up(promise, rate)) for rate in rates],
        "guess": float((1 + max(power_up(promise, rate) - rate for rate in rates)) / 2),
    }


@lru_cache(maxsize=256)
def composition(epsilon: str, delta: str, questions: int) -> dict[str, Any]:
    """What so many questions of ε each cost together: by adding up, and by zCDP."""
    if not 1 <= questions <= 10_000:
        raise BadParameter("questions", questions, "must be between 1 and 10,000 here")
    each, slack = _epsilon(epsilon), _delta(delta)
    rho = price_zcdp(events.Pure(each)).rho
    counts = sorted({max(1, round(questions * i / FEW)) for i in range(1, FEW + 1)})
    return {
        "questions": counts,
        "basic": [float(k * each) for k in counts],
        "zcdp": [min(float(k * each), float(zcdp_to_approx(ZCDP(k * rho), delta=slack).epsilon)) for k in counts],
    }


def noise(epsilon: str) -> dict[str, Any]:
    """Fresh draws of the noise of a count, and their law: discrete Laplace with scale 1/ε."""
    mechanism = laplace(sensitivity=1, epsilon=_epsilon(epsilon))
    drawn = mechanism.noise(_SAMPLES, SystemBits())
    reach = int(4 * mechanism.scale) + 3
    return {
        "samples": [int(one) for one in np.atleast_1d(drawn)],
        "law": {str(k): float(mechanism.pmf(k)[1]) for k in range(-reach, reach + 1, max(1, reach // 40))},
        "error": mechanism.error_at(Fraction(19, 20)),
    }
