"""Limited-memory BFGS on a box, for smooth convex functions: small and without SciPy's 45 MB of memory.

Promise: every step lowers the function; it ends after ``steps`` of them, or when one straight downhill gains next to
nothing. (A step in a direction that the last moves suggest may gain nothing far from the end: they are forgotten then.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.arrays import Floats

_HISTORY = 10
_TRIES = 25
_ARMIJO = 1e-4


def minimise(
    function: Callable[[Floats], tuple[float, Floats]], start: Floats, bound: Floats, *, steps: int, gain: float = 1e-9
) -> Floats:
    """A point with |x| <= bound where the function, which also gives its gradient, is about least.

    >>> target = np.array([1.0, -2.0, 9.0])
    >>> def function(x):
    ...     return float((np.array([1, 10, 100]) * (x - target) ** 2).sum()), np.array([2, 20, 200]) * (x - target)
    >>> minimise(function, np.zeros(3), np.full(3, 5.0), steps=50).round(4).tolist()
    [1.0, -2.0, 5.0]
    """
    x = np.clip(start, -bound, bound)
    value, slope = function(x)
    moves: list[tuple[Floats, Floats, float]] = []
    for _ in range(steps):
        free = ~(((x >= bound) & (slope < 0)) | ((x <= -bound) & (slope > 0)))  # not pressed against the box
        downhill = np.where(free, slope, 0.0)
        direction = -_curved(downhill, moves) * free
        if direction @ downhill >= 0:  # rounding has spoilt the memory
            moves.clear()
            direction = -downhill
        length = 1.0 if moves else min(1.0, 1.0 / max(float(np.abs(direction).sum()), 1e-300))
        for _ in range(_TRIES):
            tried = np.clip(x + length * direction, -bound, bound)
            new_value, new_slope = function(tried)
            if new_value <= value + _ARMIJO * float(slope @ (tried - x)):
                break
            length /= 2
        else:
            if not moves:
                return x
            moves.clear()
            continue
        remembered = bool(moves)
        step, change = tried - x, new_slope - slope
        curvature = float(step @ change)
        if curvature > 1e-12 * float(change @ change):
            moves = [*moves[1 - _HISTORY :], (step, change, curvature)]
        better = value - new_value
        x, value, slope = tried, new_value, new_slope
        if better <= gain * max(abs(value), 1.0):
            if not remembered:
                break
            moves.clear()
    return x


def _curved(slope: Floats, moves: list[tuple[Floats, Floats, float]]) -> Floats:
    """The slope times the inverse curvature that the last moves have shown (two-loop recursion)."""
    out = slope.copy()
    shares = []
    for step, change, curvature in reversed(moves):
        share = float(step @ out) / curvature
        out -= share * change
        shares.append(share)
    if moves:
        _, change, curvature = moves[-1]
        out *= curvature / float(change @ change)
    for (step, change, curvature), share in zip(moves, reversed(shares), strict=True):
        out += (share - float(change @ out) / curvature) * step
    return out
