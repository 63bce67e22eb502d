"""How the service and an engine's process talk: frames of bytes over a pipe.

Promise: what the engine's process sends is read as JSON of a known shape and never executed, so that a process that
went wrong, however badly, can send wrong numbers and nothing worse; sizes are bounded.
"""

from __future__ import annotations

import binascii
import json
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EngineFailed
from discreet.query.plan.schema import Stored, StoredKind
from discreet.query.plan.types import Value
from discreet.query.plan.work import Cells, Exact

Longs: TypeAlias = NDArray[np.int64]
LARGEST = 1 << 30
_HEAD = struct.Struct(">Q")
_WIDEST = 1 << 127


def pack(payload: bytes) -> bytes:
    """A payload with its length before it."""
    return _HEAD.pack(len(payload)) + payload


def unpack(read: Callable[[int], bytes]) -> bytes:
    """The next payload; EOFError if there is none."""
    (size,) = _HEAD.unpack(_exactly(read, _HEAD.size))
    if size > LARGEST:
        raise EOFError("a frame is too large")
    return _exactly(read, size)


def _exactly(read: Callable[[int], bytes], size: int) -> bytes:
    parts = []
    while size:
        part = read(min(size, 1 << 20))
        if not part:
            raise EOFError("the other side is gone")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


# --- columns --------------------------------------------------------------------------------------------------------


def write_columns(columns: dict[str, Stored]) -> bytes:
    """The stored columns of a source."""
    return json.dumps(
        {"columns": [
            [name, one.kind.value, one.scale, one.untyped, one.type, one.element and one.element.value]
            for name, one in columns.items()
        ]}
    ).encode()  # fmt: skip


def read_columns(payload: bytes) -> dict[str, Stored]:
    """What ``write_columns`` wrote."""
    try:
        found = json.loads(payload)["columns"]
        return {
            str(name): Stored(StoredKind(kind), int(scale), bool(untyped), element and StoredKind(element), str(word))
            for name, kind, scale, untyped, word, element in found
        }
    except (KeyError, TypeError, ValueError, RecursionError):
        raise EngineFailed from None


# --- exact numbers --------------------------------------------------------------------------------------------------


def write_exact(found: Sequence[Exact]) -> bytes:
    """What an engine computed.

    >>> read_exact(write_exact([Exact(((1,), (None,)), (np.array([5, -6]),))]))[0].keys
    ((1,), (None,))
    """
    works = [
        {
            "keys": [[_encode_key(value) for value in key] for key in one.keys],
            "numbers": [n.tolist() for n in one.numbers],
        }
        for one in found
    ]
    return json.dumps({"works": works}, separators=(",", ":")).encode()


def read_exact(payload: bytes) -> tuple[Exact, ...]:
    """What ``write_exact`` wrote; EngineFailed if it is anything else."""
    try:
        return tuple(_one(work) for work in json.loads(payload)["works"])
    except (AssertionError, KeyError, TypeError, ValueError, OverflowError, RecursionError):
        raise EngineFailed from None


def write_cells(found: Sequence[Cells]) -> bytes:
    """What an engine counted in many sets: numbers of 64 bits, the lowest byte first.

    >>> read_cells(write_cells([Cells(np.array([0, 3]), np.array([5, 6]))]), [4])[0].counts.tolist()
    [5, 6]
    """
    sets = [
        [b64encode(np.asarray(n, dtype="<i8").tobytes()).decode() for n in (one.places, one.counts)] for one in found
    ]
    return json.dumps({"sets": sets}, separators=(",", ":")).encode()


def read_cells(payload: bytes, sizes: Sequence[int]) -> tuple[Cells, ...]:
    """What ``write_cells`` wrote, of tables of these sizes; EngineFailed if it is anything else."""
    try:
        sets = json.loads(payload)["sets"]
        return tuple(_cells(one, size) for one, size in zip(sets, sizes, strict=True))
    except (KeyError, TypeError, ValueError, RecursionError, binascii.Error):
        raise EngineFailed from None


def _cells(sent: Any, size: int) -> Cells:
    places, counts = map(_longs, sent)
    if len(places) != len(counts) or (counts < 0).any() or (places < 0).any() or (places >= size).any():
        raise ValueError("not numbers of rows")
    if len(np.unique(places)) != len(places):
        raise ValueError("a group came twice")
    return Cells(places, counts)


def _longs(text: Any) -> Longs:
    return np.frombuffer(b64decode(text, validate=True), dtype="<i8").astype(np.int64)


def _one(work: Any) -> Exact:
    keys = tuple(tuple(_decode_key(value) for value in key) for key in work["keys"])
    if len(set(keys)) != len(keys):
        raise ValueError("a key comes twice")
    return Exact(keys, tuple(_numbers(listed) for listed in work["numbers"]))


def _numbers(listed: Any) -> Any:
    if not isinstance(listed, list) or any(type(n) is not int or abs(n) >= _WIDEST for n in listed):
        raise ValueError("not a list of integers")
    small = all(-(1 << 63) <= n < 1 << 63 for n in listed)
    return np.array(listed, dtype=np.int64 if small else object)


def _encode_key(value: Value) -> Any:
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, datetime):
        return {"time": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    raise TypeError("not a key")


def _decode_key(value: Any) -> Value:
    if value is None or isinstance(value, bool | str | int):
        return value
    match value:
        case {"time": str(text)} if len(value) == 1:
            return datetime.fromisoformat(text)
        case {"date": str(text)} if len(value) == 1:
            return date.fromisoformat(text)
    raise ValueError("not a key")
