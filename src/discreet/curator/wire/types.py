"""Types of PostgreSQL: values as bytes, and parameters as SQL literals.

Guarantee: a parameter becomes one literal, whatever it holds.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from discreet.curator.client.dbapi import DataError
from discreet.curator.client.dbapi import literal as sql_literal

_EPOCH = datetime(2000, 1, 1)


@dataclass(frozen=True, slots=True)
class WireType:
    """A type as clients know it."""

    oid: int
    size: int
    name: str


BOOL, INT8, TEXT = WireType(16, 1, "boolean"), WireType(20, 8, "bigint"), WireType(25, -1, "text")
FLOAT8, DATE = WireType(701, 8, "double precision"), WireType(1082, 4, "date")
TIMESTAMP, TEXTS = WireType(1114, 8, "timestamp without time zone"), WireType(1009, -1, "text[]")
_NUMBERS = {20: "!q", 21: "!h", 23: "!i", 26: "!I", 700: "!f", 701: "!d"}
"""Binary forms of numbers, by type."""
_NUMERIC = 1700
_TEXTS = {0, 18, 19, 25, 705, 1042, 1043}


def encoded(value: Any, kind: WireType, form: int) -> bytes | None:
    r"""A value as a client reads it; ``form`` is 0 for text, 1 for binary.

    >>> encoded(True, BOOL, 0), encoded(1.5, FLOAT8, 0), encoded(date(2000, 1, 2), DATE, 1)
    (b't', b'1.5', b'\x00\x00\x00\x01')
    """
    if value is None:
        return None
    value = _fitting(value, kind)
    return _binary(value, kind) if form else _as_text(value).encode()


def _fitting(value: Any, kind: WireType) -> Any:
    """A date where a moment is due, and the other way round."""
    if kind is TIMESTAMP and isinstance(value, date):
        return (value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)).replace(
            tzinfo=None
        )
    return value.date() if kind is DATE and isinstance(value, datetime) else value


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, list | tuple):
        return "{" + ",".join("NULL" if one is None else _quoted(_as_text(one)) for one in value) + "}"
    return str(value).replace("\0", "")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _binary(value: Any, kind: WireType) -> bytes:
    if kind.oid in _NUMBERS:
        return struct.pack(_NUMBERS[kind.oid], float(value) if kind is FLOAT8 else int(value))
    if kind is BOOL:
        return bytes([bool(value)])
    if kind is TIMESTAMP:
        return struct.pack("!q", (value - _EPOCH) // timedelta(microseconds=1))
    if kind is DATE:
        return struct.pack("!i", (value - _EPOCH.date()).days)
    if kind is TEXTS:
        cells = b"".join(struct.pack("!i", len(one := _as_text(v).encode())) + one for v in value)
        return struct.pack("!iiiii", 1, 0, TEXT.oid, len(value), 1) + cells
    return _as_text(value).encode()


def literal(value: bytes | None, oid: int, form: int) -> str:
    """A parameter as one SQL literal. ``DataError`` for one that a query cannot hold.

    >>> literal(b"O'Hara", 25, 0), literal(b"7", 23, 0), literal(b"2025-01-02", 1082, 0)
    ("'O''Hara'", '7', "DATE '2025-01-02'")
    """
    if value is None:
        return "NULL"
    if form and oid in _NUMBERS:
        pattern = _NUMBERS[oid]
        if len(value) != struct.calcsize(pattern):
            raise DataError("a number of a parameter has another length than its type")
        return sql_literal(struct.unpack(pattern, value)[0])
    if form and oid not in _TEXTS:
        return sql_literal(_from_binary(value, oid))
    try:
        text = value.decode()
    except UnicodeDecodeError:
        raise DataError("a parameter must be UTF-8") from None
    return sql_literal(_from_text(text, oid))


def _from_text(text: str, oid: int) -> Any:
    try:
        if oid in _NUMBERS or oid == _NUMERIC:
            return Decimal(text)
        if oid == BOOL.oid:
            return {"t": True, "true": True, "1": True, "f": False, "false": False, "0": False}[text.lower()]
        if oid == DATE.oid:
            return date.fromisoformat(text)
        if oid in {TIMESTAMP.oid, 1184}:
            return datetime.fromisoformat(text)
    except (ValueError, InvalidOperation, KeyError):
        raise DataError("a parameter does not have the form of its type") from None
    return text


def _from_binary(value: bytes, oid: int) -> Any:
    try:
        if oid == BOOL.oid and len(value) == 1:
            return bool(value[0])
        if oid == DATE.oid and len(value) == 4:
            return _EPOCH.date() + timedelta(days=struct.unpack("!i", value)[0])
        if oid in {TIMESTAMP.oid, 1184} and len(value) == 8:
            return _EPOCH + timedelta(microseconds=struct.unpack("!q", value)[0])
    except OverflowError:
        pass
    raise DataError(f"parameters of type {oid} are taken as text only")


def formats(given: Sequence[int], columns: int) -> list[int]:
    """The form of each column: none given means text, one given is for all."""
    return [given[0] if given else 0] * columns if len(given) < 2 else list(given)
