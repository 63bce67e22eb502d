"""A code for each row that depends on its content alone, so that rows can be told apart and put in order.

Promise: rows with equal codes are alike in type and content; the code does not depend on where the row lies in memory
or in the data, nor on the process. Rows that cannot be coded have none (``None``), and never raise.
Believes: what a row is made of does not change while it is read.

Rows are made of None, bools, numbers, text, bytes, dates and times, tuples, lists, dicts and dataclasses of such.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import struct
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.stable.core.total import attempt

_DEEPEST = 50


class _NoCodeError(Exception):
    """The row holds something without a code."""


def code(row: Any) -> bytes | None:
    """The code of a row, or None if it has none.

    >>> code(1) == code(1), code(1) == code(True), code(1) == code(1.0), code(0.0) == code(-0.0)
    (True, False, False, False)
    >>> code({"a": 1, "b": 2}) == code({"b": 2, "a": 1}), code(object()) is None
    (False, True)
    """
    return attempt(lambda r: _code(r, 0), row, None)


def shuffled_place(row_code: bytes, salt: bytes) -> bytes:
    """Where a row stands in an order that has nothing to do with its values: by hash, then by code."""
    return hashlib.blake2b(row_code, digest_size=16, key=salt).digest() + row_code


def _code(value: Any, depth: int) -> bytes:
    kind = type(value)
    plain = _PLAIN.get(kind)
    if plain is not None:
        return plain(value)
    if depth > _DEEPEST:
        raise _NoCodeError
    if kind is tuple or kind is list:
        return (b"t" if kind is tuple else b"l") + _join([_code(item, depth + 1) for item in value])
    if kind is dict:
        return b"d" + _join([_code(item, depth + 1) for pair in value.items() for item in pair])
    return b"o" + _join([f"{kind.__module__}.{kind.__qualname__}".encode(), _other(value, depth + 1)])


def _other(value: Any, depth: int) -> bytes:
    """The content of a value whose type is named before it."""
    kind = type(value)
    if kind is Fraction:
        return _join([_code(value.numerator, depth), _code(value.denominator, depth)])
    if kind is Decimal:
        return str(value).encode()
    if kind in (datetime.date, datetime.time, datetime.datetime):
        return _when(value)
    if kind is datetime.timedelta:
        return _join([_code(part, depth) for part in (value.days, value.seconds, value.microseconds)])
    if issubclass(kind, np.generic) and _is_plain(value.dtype):
        return _join([value.dtype.str.encode(), value.tobytes()])
    if issubclass(kind, Enum):
        return str(value.name).encode()
    if issubclass(kind, tuple) and hasattr(kind, "_fields") and not getattr(value, "__dict__", None):
        return _join([_code(item, depth) for item in value])
    if "__dataclass_fields__" in vars(kind):
        names = [f.name for f in dataclasses.fields(value)]
        if set(getattr(value, "__dict__", ())) <= set(names):  # else it holds more than its fields
            return _join([_code(getattr(value, name), depth) for name in names])
    raise _NoCodeError


_PLAIN: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda _: b"N",
    bool: lambda value: b"T" if value else b"F",
    int: lambda value: b"i" + value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True),
    float: lambda value: b"f" + struct.pack(">d", value),
    str: lambda value: b"s" + value.encode("utf-8", "surrogatepass"),
    bytes: lambda value: b"b" + value,
}


def _is_plain(kind: np.dtype[Any]) -> bool:
    """Whether the bytes of a numpy scalar are its value and nothing else: a long double carries unused bytes."""
    return kind.kind in "biuSUMm" or (kind.kind == "f" and kind.itemsize <= 8)


def _when(value: datetime.date | datetime.time) -> bytes:
    zone = getattr(value, "tzinfo", None)
    if zone is not None and type(zone) is not datetime.timezone:
        raise _NoCodeError  # a zone is a class that may say anything
    fold = getattr(value, "fold", 0)
    return _join([value.isoformat().encode(), b"%d" % fold, repr(zone).encode()])


def _join(parts: list[bytes]) -> bytes:
    """The parts one after the other, each behind its length, so that they can be told apart."""
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)
