"""The trade-off between false alarms and misses, from totals.

Promise: ``misses`` encloses the least rate of misses of any test between the two laws, in either direction, that has a
rate α of false alarms.
Believes: total.py.

How: for the direction (P, Q) that rate is sup over t >= 0 of 1 - H(t) - tα (Dong, Roth and Su 2022, proposition 2.12).
With t = e^ε, and H(t) = 1 - t + t H'(1/t) for t < 1, where H' is the curve of (Q, P), it is the larger of
sup 1 - δ(ε) - e^ε α and sup e^{-ε}(1 - δ'(ε) - α) over ε >= 0. Any single ε gives a lower bound. For the upper bound δ
is replaced by the curve of lowered laws, which is A - e^ε B between grid points, so that both terms are linear there in
e^ε or in e^{-ε}: the supremum is at a grid point.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet.privacy.pld.beliefs import ELEMENTARY, Array
from discreet.privacy.pld.curve import Curve

_TURNS = 60
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def misses(below: list[Curve], above: list[Curve], alpha: float) -> tuple[float, float]:
    """Bounds for α a little above (the first) or below (the second); one curve for each direction, or one for both."""
    low = _least([_reached(c, _steep, alpha) for c in above], [_reached(c, _flat, alpha) for c in above])
    high = _least([_most_steep(c, alpha) for c in below], [_most_flat(c, alpha) for c in below])
    return max(0.0, low - 2.0**-44), min(1.0 - alpha + 2.0**-52, max(low, high + 2.0**-44))


def _least(steep: list[float], flat: list[float]) -> float:
    """The steep part of each direction goes with the flat part of the other."""
    return min(max(0.0, s, f) for s, f in zip(steep, reversed(flat), strict=True))


def _steep(epsilon: float, delta: float, alpha: float) -> float:
    return 1.0 - delta - math.exp(min(epsilon, 700.0)) * alpha * (1.0 + 4 * ELEMENTARY)


def _flat(epsilon: float, delta: float, alpha: float) -> float:
    return math.exp(-epsilon) * (1.0 - delta - alpha) * (1.0 - 4 * ELEMENTARY)


def _reached(curve: Curve, term: Callable[[float, float, float], float], alpha: float) -> float:
    """The largest value seen by golden section; every value is valid, the search only looks for a good one."""

    def gain(epsilon: float) -> float:
        return term(epsilon, curve.delta_above(epsilon), alpha)

    a, b = 0.0, max(curve.ends[1] + curve.slip, 0.0)
    best = max(gain(a), gain(b))
    x, y = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
    at_x, at_y = gain(x), gain(y)
    for _ in range(_TURNS):
        best = max(best, at_x, at_y)
        if b - a < 1e-7 * (1.0 + b):
            break
        if at_x >= at_y:
            b, y, at_y = y, x, at_x
            x = b - _GOLDEN * (b - a)
            at_x = gain(x)
        else:
            a, x, at_x = x, y, at_y
            y = a + _GOLDEN * (b - a)
            at_y = gain(y)
    return best


def _points(curve: Curve) -> tuple[Array, Array]:
    """All ε >= 0 at which a supremum can be, each with a lower bound of δ there.

    The grid points; ε = 0; the end of the view, beyond which δ is at least the mass at infinity; and, where the view
    begins above 0, ε = 0 again with what δ is at its beginning, which is less than δ anywhere below.
    """
    losses, delta = curve.curve_below()
    kept = losses >= 0.0
    epsilon = losses[kept]
    delta = np.maximum.accumulate(delta[kept][::-1])[::-1]  # δ falls: what bounds it at some ε bounds it at all below
    start = max(curve.delta_below(0.0), float(delta[0]) if len(delta) else 0.0)
    if curve.ends[0] > 0.0 and len(delta):
        start = min(start, float(delta[0]))
    ends = np.array([0.0, max(0.0, curve.ends[1] - curve.slip)])
    return np.concatenate([epsilon, ends]), np.concatenate([delta, [start, curve.infinite_below]])


def _most_steep(curve: Curve, alpha: float) -> float:
    """An upper bound of sup 1 - δ(ε) - e^ε α."""
    epsilon, delta = _points(curve)
    return float(np.max(1.0 - delta - np.exp(np.minimum(epsilon, 700.0)) * alpha * (1.0 - 4 * ELEMENTARY)))


def _most_flat(curve: Curve, alpha: float) -> float:
    """An upper bound of sup e^{-ε}(1 - δ(ε) - α)."""
    epsilon, delta = _points(curve)
    return float(np.max(np.maximum(1.0 - delta - alpha, 0.0) * np.exp(-epsilon))) * (1.0 + 16 * ELEMENTARY)
