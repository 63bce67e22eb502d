"""What names a unit: the one rule for all who count rows of people in this process.

Promise: two values have the same id exactly if they name the same unit, so a cap that goes by ids holds for everybody.
What is unlike itself (NaN, NaT, also inside a tuple) and what is missing name nobody, and never raise.
The engines have the same rule for columns: whole numbers and text, floats only where each whole number is one of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

EXACT_IN_FLOATS = 1 << 53
"""Below it each whole number is a double of its own; beyond it two people may share one."""
_LONGEST = 4096  # bits of a whole number
_DIGITS = 1300  # of a decimal: as many as these bits, about


def unit_id(value: Any) -> bytes | None:
    """The id of the unit that a value names, or None if it names nobody: its rows are left out.

    Whole numbers go by value, whatever their type: floats only below 2^53, where each is a float of its own. Text,
    bytes and UUIDs go by content, tuples by their parts. Everything else names nobody.

    >>> unit_id(7) == unit_id(7.0) != unit_id("7"), unit_id(("ann", 7)) == unit_id(("ann", 7.0))
    (True, True)
    >>> [unit_id(value) for value in (None, float("nan"), ("ann", float("nan")), 0.5, 2.0**53, True, 1j)]
    [None, None, None, None, None, None, None]
    """
    try:
        return _id(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a row must not decide whether a question fails
        return None


def unit_codes(values: Iterable[Any]) -> NDArray[np.int64]:
    """A number for the unit that each value names; -1 where it names nobody.

    >>> unit_codes(["ann", "bob", "ann", None]).tolist()
    [0, 1, 0, -1]
    """
    places: dict[bytes, int] = {}
    names = (unit_id(value) for value in values)
    return np.array([-1 if name is None else places.setdefault(name, len(places)) for name in names], dtype=np.int64)


def _id(value: Any) -> bytes | None:
    if isinstance(value, str):
        return b"s" + str(value).encode("utf-8", "surrogatepass")
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (int, np.integer)):
        return _whole(int(value), 1)
    if isinstance(value, (float, np.floating)):
        number: Any = value
        return _whole(*number.as_integer_ratio()) if abs(number) < EXACT_IN_FLOATS else None  # NaN is not below
    if isinstance(value, Decimal):
        return _whole(*value.as_integer_ratio()) if value.is_finite() and value.adjusted() < _DIGITS else None
    if isinstance(value, Fraction):
        return _whole(value.numerator, value.denominator)
    if isinstance(value, bytes):
        return b"b" + bytes(value)
    if isinstance(value, UUID):
        return b"u" + value.bytes
    if isinstance(value, tuple):
        parts = [_id(part) for part in value]
        return None if None in parts else b"t" + b"".join(b"%d:%s" % (len(part), part) for part in parts if part)
    return None


def _whole(numerator: int, denominator: int) -> bytes | None:
    if denominator != 1 or numerator.bit_length() > _LONGEST:
        return None
    return b"i%d" % numerator
