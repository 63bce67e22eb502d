"""From δ to ε on a total, outwards.

Promise: ``epsilon_above`` returns an ε with δ(ε) <= delta and ``epsilon_below`` one with δ(ε) >= delta (or 0), by the
certified bounds of total.py; the search before is only a guide.
Believes: total.py; δ(ε) falls in ε.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from discreet.privacy.pld.curve import Curve
from discreet.privacy.pld.total import Total

_FINEST = 2.0**-44


def epsilon_above(sum_: Curve, delta: float) -> float:
    """An upper bound of the least ε >= 0 with δ(ε) <= delta; infinity if there is none in the window."""
    if sum_.infinite_above >= delta:
        return math.inf
    return _outwards(sum_, delta, +1, lambda e: sum_.delta_above(e) <= delta)


def epsilon_below(sum_: Curve, delta: float) -> float:
    """A lower bound of the least ε >= 0 with δ(ε) <= delta."""
    if sum_.infinite_below > delta:
        return math.inf
    return _outwards(sum_, delta, -1, lambda e: sum_.delta_below(e) > delta)


def _outwards(sum_: Curve, delta: float, sign: int, holds: Callable[[float], bool]) -> float:
    """The first of ever larger steps away from the guess where the bound is seen to hold."""
    guess = _guess(sum_, delta)
    if guess <= 0.0 and sign > 0 and holds(0.0):
        return 0.0
    top = sum_.ends[1] + sum_.slip
    step = 2.0 * sum_.slip + _FINEST * (1.0 + abs(guess))
    for _ in range(120):
        at = guess + sign * step
        if sign < 0 and at <= 0.0:
            return 0.0
        if sign > 0 and at > top:
            return _beyond(sum_, delta, top) if not holds(top) else top
        if holds(at):
            return max(at, 0.0)
        step *= 2.0
    return math.inf if sign > 0 else 0.0


def _beyond(sum_: Curve, delta: float, top: float) -> float:
    """Above the window only the Chernoff bound e^{log_scale - θε}·outside is left."""
    if not isinstance(sum_, Total):
        return math.inf
    room = delta - sum_.infinite_above
    rest = sum_.outside_high * (1.0 + sum_.relative)
    if rest == 0.0 or sum_.theta <= 0.0:
        return math.inf
    at = max(top, (sum_.log_scale + math.log(rest) - math.log(room)) / sum_.theta + 1e-6 * (1.0 + abs(top)))
    return at if sum_.delta_above(at) <= delta else math.inf


def _guess(sum_: Curve, delta: float) -> float:
    """Newton's steps on log δ(ε), kept inside a bracket."""
    low, high = 0.0, max(0.0, sum_.ends[1] + sum_.slip)
    at = min(max(low, 0.5 * (sum_.ends[0] + sum_.ends[1])), high)
    goal = math.log(delta)
    for _ in range(80):
        value, slope = sum_.value_and_slope(at)
        if value > delta:
            low = at
        else:
            high = at
        if high - low <= _FINEST * (1.0 + high):
            break
        finite = value > 0.0 and slope > 0.0
        new = at + (math.log(value) - goal) * value / slope if finite else math.nan
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - at) <= 0.25 * _FINEST * (1.0 + at):
            at = new
            break
        at = new
    return at
