"""The trade-off between false alarms and misses, from totals.

Promise: ``misses`` encloses f(α) = sup over ε >= 0 of max(0, 1 - δ(ε) - e^ε α, e^{-ε}(1 - δ(ε) - α)): the least rate of
misses of any test with a rate α of false alarms (Dong, Roth and Su 2022, proposition 2.13).
Believes: total.py.

How: any single ε gives a lower bound of f. For the upper bound δ is replaced by the curve of lowered laws, which is
A - e^ε B between grid points, so that both terms are linear there in e^ε or in e^{-ε}: the supremum is at a grid point.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet.privacy.pld.beliefs import ELEMENTARY, ROUND, Array
from discreet.privacy.pld.total import Total

_TURNS = 60
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def misses(below: list[Total], above: list[Total], alpha: float) -> tuple[float, float]:
    """Bounds of f(α), given one pair of totals for each direction."""
    top = max(total.ends[1] + total.slip for total in above)
    low = 0.0
    for term in (_steep, _flat):
        low = max(low, _search(lambda e, term=term: term(e, max(t.delta_above(e) for t in above), alpha), top))  # type: ignore[misc]
    high = min(_most(total, alpha) for total in below)
    return max(0.0, low - 2.0**-44), min(1.0 - alpha + 2.0**-52, max(low, high + 2.0**-44))


def _steep(epsilon: float, delta: float, alpha: float) -> float:
    return 1.0 - delta - math.exp(min(epsilon, 700.0)) * alpha * (1.0 + 4 * ELEMENTARY)


def _flat(epsilon: float, delta: float, alpha: float) -> float:
    return math.exp(-epsilon) * (1.0 - delta - alpha) * (1.0 - 4 * ELEMENTARY)


def _search(gain: Callable[[float], float], top: float) -> float:
    """The largest value seen by golden section; every value is valid, the search only looks for a good one."""
    a, b = 0.0, max(top, 0.0)
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


def _most(total: Total, alpha: float) -> float:
    """An upper bound of f(α): the largest term over all ε, for a curve that is not above the true one."""
    losses, delta = curve_below(total)
    lost = total.infinite * (1.0 - 4 * ROUND)
    kept = losses >= 0.0
    epsilon, delta = losses[kept], np.maximum(delta[kept], lost)
    # ε = 0, where δ is at least what it is at the next point, and beyond the window, where δ is at least what is lost
    first = float(delta[0]) if len(delta) else lost
    start = max(first, total.delta_below(0.0))
    end = max(0.0, total.ends[1])
    found = [1.0 - start - alpha]
    if len(epsilon):
        growth = np.exp(np.minimum(epsilon, 700.0))
        found.append(float(np.max(1.0 - delta - growth * alpha * (1.0 - 4 * ELEMENTARY))))
        found.append(float(np.max((1.0 - delta - alpha) / growth)))
    if total.ends[0] > 0.0:  # the window starts above 0: below it δ is at least what it is at its start
        found.append(1.0 - first - alpha)
    found.append(1.0 - lost - math.exp(min(end, 700.0)) * alpha * (1.0 - 4 * ELEMENTARY))
    found.append(math.exp(-end) * (1.0 - lost - alpha))
    return max(0.0, *found) * (1.0 + 16 * ELEMENTARY)


def curve_below(total: Total) -> tuple[Array, Array]:
    """Lower bounds of δ at every grid point of the window, in one sweep.

    The losses returned are lowered by the slip, so that δ is bounded at just these ε.
    """
    theta, step, y = total.theta, total.step, total.y
    losses = total.origin + step * np.arange(len(y))
    upper, lower = np.zeros(len(y)), np.zeros(len(y))
    # sums over S > loss of y e^{-θ(S-loss)} and of y e^{-(θ+1)(S-loss)}, in blocks that cannot overflow
    block = max(1, int(500.0 / ((theta + 1.0) * step)))
    carry_a = carry_b = 0.0
    for end in range(len(y), 0, -block):
        start = max(0, end - block)
        part = y[start:end]
        place = step * np.arange(len(part))
        for rate, target, carry in ((theta, upper, carry_a), (theta + 1.0, lower, carry_b)):
            damped = part * np.exp(-rate * place)
            after = np.concatenate([np.cumsum(damped[::-1])[::-1][1:], [0.0]])
            whole = after + carry * math.exp(-rate * step * len(part))
            target[start:end] = whole * np.exp(rate * place)
        carry_a = float(y[start] + upper[start])
        carry_b = float(y[start] + lower[start])
    value = upper - lower
    # rounding: each sum of at most n terms, relative to the sum of their sizes; FFT: its l2 error times that of weights
    spread = 1.0 / -math.expm1(-2.0 * theta * step) if theta > 0.0 else math.inf
    norm = math.sqrt(min(float(len(y)), spread))
    doubt = total.error * norm + len(y) * 4.0 * ROUND * (1.0 + 500.0) * np.abs(upper + lower)
    doubt += (total.outside_low + total.outside_high) + len(y) * ROUND * total.error * norm
    exponent = total.log_scale - theta * losses
    relative = total.relative + ELEMENTARY + 4.0 * ROUND * (abs(total.log_scale) + theta * np.abs(losses))
    scale = np.exp(np.minimum(exponent, 600.0)) * (1.0 - relative)
    finite = np.maximum(value - doubt, 0.0) * scale
    return losses - total.slip, np.minimum(1.0, finite + total.infinite * (1.0 - 4 * ROUND))
