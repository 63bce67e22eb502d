"""Whole numbers: read them from data, and find the least one that fits."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from discreet.errors import BadData


def whole(value: Any, what: str) -> int:
    """The value as a Python int; anything else is refused without a word about it.

    >>> whole(3, "an answer")
    3
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise BadData(f"{what} must be a whole number")
    return int(value)


def least_whole(fits: Callable[[int], bool], start: int = 0) -> int:
    """The least k >= start that fits, when all larger ones do too. It was tested, and so was the one below it.

    >>> least_whole(lambda k: k * k >= 50), least_whole(lambda k: True, start=3)
    (8, 3)
    """
    if fits(start):
        return start
    step = 1
    while not fits(start + step):
        step *= 2
    low, high = start + step // 2, start + step
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            high = middle
        else:
            low = middle
    return high
