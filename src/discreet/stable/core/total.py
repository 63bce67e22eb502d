"""Total functions: an answer for every row, whatever it holds.

Promise: nothing here raises because of what a row is, so whether a question fails never depends on a person. Each
function looks at one row alone.
Believes: a function that a caller gives is a function of its row: it keeps no state and does not change the row.
"""

from __future__ import annotations

import dataclasses
import numbers
import operator
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

import numpy as np

from discreet.errors import BadParameter
from discreet.exact import number

T = TypeVar("T")
D = TypeVar("D")

Field: TypeAlias = str | int | Callable[[Any], Any] | None
"""What to look at in a row: a name (dict or dataclass), a place (tuple or list), a function, or None for all of it."""

_LONGEST_POWER = 1200  # digits of a decimal that is still written out


def attempt(f: Callable[[Any], T], row: Any, otherwise: D) -> T | D:
    """f(row), or ``otherwise`` when f raises. Only the operator's own interruption passes through.

    >>> attempt(lambda x: 1 // x, 0, otherwise=None) is None
    True
    """
    try:
        return f(row)
    except KeyboardInterrupt:
        raise
    except BaseException:  # SystemExit included: a row must not end the process either
        return otherwise


def check_field(field: Field, name: str) -> Field:
    """The field as it was given, if it can be one."""
    given: object = field
    if given is None or (isinstance(given, (str, int)) and not isinstance(given, bool)) or callable(given):
        return field
    raise BadParameter(name, given, "must be a name, a place (0, 1, ...) or a function of one row")


def reader(field: Field) -> Callable[[Any], Any]:
    """A function that reads the field of a row; it may raise, so call it through ``attempt``."""
    if field is None:
        return lambda row: row
    if isinstance(field, str):
        return lambda row: _named(row, field)
    if isinstance(field, int):
        return lambda row: _placed(row, field)
    return field


def show_field(field: Field) -> str:
    """The field, as text."""
    if field is None:
        return "the row"
    return getattr(field, "__name__", "a function") if callable(field) else repr(field)


def _named(row: Any, name: str) -> Any:
    if isinstance(row, Mapping):
        return row[name]
    if dataclasses.is_dataclass(row) and any(f.name == name for f in dataclasses.fields(row)):
        return getattr(row, name)
    raise LookupError


def _placed(row: Any, place: int) -> Any:
    if isinstance(row, (tuple, list)) and place >= 0:
        return row[place]
    raise LookupError


# --- numbers ------------------------------------------------------------------------------------------------------


def whole(value: Any, low: int | None, high: int | None, missing: int) -> int:
    """The value as a whole number in [low, high]: rounded to the nearest (halves to even) and clamped.

    Guarantee: exact for every number. What is no number (NaN, None, text), or infinite where there is no bound, is
    ``missing``.

    >>> [whole(v, 0, 10, 3) for v in (7, 2.5, -4, float("inf"), float("nan"), None, "8", True, 2**70)]
    [7, 2, 0, 10, 3, 3, 3, 1, 10]
    """
    return attempt(lambda v: _whole(v, low, high, missing), value, missing)


def wholes(values: Iterable[Any], low: int, high: int, missing: int) -> list[int]:
    """``whole`` of each value.

    >>> wholes([3, 99, None], 0, 10, 4)
    [3, 10, 4]
    """
    return [
        (low if value < low else min(value, high)) if type(value) is int else whole(value, low, high, missing)
        for value in values
    ]


def _whole(value: Any, low: int | None, high: int | None, missing: int) -> int:
    if isinstance(value, np.generic):
        value = _as_python(value)
    if isinstance(value, int):
        rounded = int(value)
    elif isinstance(value, (float, Fraction, Decimal)):
        if value.is_nan() if isinstance(value, Decimal) else value != value:  # noqa: PLR0124 - NaN alone
            return missing
        if high is not None and value >= high:
            return high
        if low is not None and value <= low:
            return low
        if isinstance(value, Decimal) and value.adjusted() > _LONGEST_POWER:
            return missing
        rounded = operator.index(round(value))  # exact, halves to even; raises for infinities
    else:
        return missing
    if high is not None and rounded >= high:
        return high
    return low if low is not None and rounded <= low else rounded


def _as_python(value: np.generic) -> Any:
    """The same number as Python's own, without loss: numpy would round a bound to the type of the value."""
    if isinstance(value, np.longdouble) and np.isfinite(value):
        return Fraction(*value.as_integer_ratio())
    return float(value) if isinstance(value, np.floating) else value.item()


def plain_number(value: Any) -> Any:
    """The value if it is a number of a known kind, else None: what others define may do anything when asked.

    >>> plain_number(1.5), plain_number("1.5"), plain_number(None)
    (1.5, None, None)
    """
    kind = type(value)  # isinstance would ask the value
    of_known_kind = kind in (bool, int, float, Fraction, Decimal) or issubclass(kind, np.generic)
    return value if of_known_kind and issubclass(kind, (numbers.Real, Decimal, np.bool_)) else None


def whole_from_text(value: Any) -> int:
    """A whole number written out, as in "12", "-3", "2.5" (rounded) or "1e3"; raises for anything else."""
    if not isinstance(value, str):
        raise LookupError
    return round(number(str(value).strip()))
