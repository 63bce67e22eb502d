"""Numbers and keys from the caller: whole and real numbers, exactly; keys that can be looked up; a whole search."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from discreet.errors import BadData


def whole(value: Any, what: str) -> int:
    """The value as a Python int; anything else is refused, in a message that does not show it.

    >>> whole(3, "an answer")
    3
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise BadData(f"{what} must be an integer")
    return int(value)


def finite_real(value: Any) -> Fraction | None:
    """The exact value of a finite real number, or None for anything else. No detour through doubles: rounding two
    numbers can move them apart.

    >>> finite_real(0.5), finite_real(10**400) == 10**400, finite_real(float("inf")), finite_real("1")
    (Fraction(1, 2), True, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    try:
        if isinstance(value, numbers.Rational):
            return Fraction(int(value.numerator), int(value.denominator))
        exact: Any = value if hasattr(value, "as_integer_ratio") else float(value)
        top, bottom = exact.as_integer_ratio()  # raises for NaN and infinities
        return Fraction(int(top), int(bottom))
    except (OverflowError, TypeError, ValueError):  # numpy calls a length of time an integer
        return None


def can_be_looked_up(key: object) -> bool:
    """Whether every equal value finds the key in a dict: NaN, alone or in a tuple, is found as the same object only.

    >>> can_be_looked_up(("a", 1.5)), can_be_looked_up(("a", float("nan"))), can_be_looked_up(["a"])
    (True, False, False)
    """
    if type(key) in (str, int):  # quickly: there may be millions
        return True
    if isinstance(key, (tuple, frozenset)):
        return all(can_be_looked_up(part) for part in key)
    try:
        return key in {key: None} and bool(key == key)  # noqa: PLR0124 - not so for NaN
    except Exception:  # a caller's own key may raise anything when it is hashed or compared
        return False


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
