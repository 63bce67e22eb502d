"""Reports on the wire, as bytes or JSON, and a server that counts them: what does not fit is ignored and counted.

Both carry a version, the kind of randomizer, and four bytes of a digest of all its parameters, so that a report made
with other parameters is not counted as if it were ours.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.answer import CONFIDENCE
from discreet.errors import BadData
from discreet.exact import Number
from discreet.local.oracle import PIECE, Decoder, Frequencies, Reports

VERSION = 1
_MARK = 0xD1


class Randomizer(Protocol):
    """Whatever makes reports of a fixed width: frequency oracles, means, heavy hitters."""

    @property
    def name(self) -> str:
        """What it is called in JSON."""

    @property
    def width(self) -> int:
        """How many bytes a report has."""

    @property
    def check(self) -> bytes:
        """Four bytes that client and server must agree on: a digest of all parameters."""

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports could have been sent at all."""


@dataclass(frozen=True, slots=True)
class Received:
    """What a server makes of messages: lines of bytes for ``estimate`` or ``find``, and how many were no reports."""

    reports: Reports
    ignored: int


def to_bytes(oracle: Randomizer, payload: bytes) -> bytes:
    """A report as bytes: mark, version, check, payload.

    >>> from discreet.local.response import response
    >>> oracle = response(k=2, epsilon=1)
    >>> len(to_bytes(oracle, oracle.client(1)))
    7
    """
    return bytes([_MARK, VERSION]) + oracle.check + payload


def to_json(oracle: Randomizer, payload: bytes) -> str:
    """A report as JSON.

    >>> from discreet.local.response import response
    >>> oracle = response(k=2, epsilon=1)
    >>> to_json(oracle, bytes([1]))
    '{"version": 1, "randomizer": "response", "check": "...", "report": "AQ=="}'
    """
    body = {"version": VERSION, "randomizer": oracle.name, "check": oracle.check.hex()}
    return json.dumps(body | {"report": base64.b64encode(payload).decode()})


def payload_of(oracle: Randomizer, message: bytes | str) -> bytes | None:
    """The payload of a message for this oracle, or None if it is not one."""
    payload = _from_json(oracle, message) if isinstance(message, str) else _from_bytes(oracle, message)
    if payload is None or len(payload) != oracle.width:
        return None
    line = np.frombuffer(payload, dtype=np.uint8)[None, :]
    return payload if bool(oracle.valid(line)[0]) else None


def _from_bytes(oracle: Randomizer, message: bytes) -> bytes | None:
    if not isinstance(message, bytes) or message[:6] != bytes([_MARK, VERSION]) + oracle.check:
        return None
    return message[6:]


def _from_json(oracle: Randomizer, message: str) -> bytes | None:
    try:
        body: Any = json.loads(message)
        expected = (VERSION, oracle.name, oracle.check.hex())
        if (body["version"], body["randomizer"], body["check"]) != expected:
            return None
        return base64.b64decode(body["report"], validate=True)
    except (ValueError, TypeError, KeyError, RecursionError, binascii.Error):
        return None


def received(oracle: Randomizer, messages: Iterable[bytes | str]) -> Received:
    """The reports among messages; whatever does not fit is ignored and counted. For means and heavy hitters too.

    >>> from discreet.local.means import mean
    >>> ages = mean(low=0, high=100, epsilon=1)
    >>> found = received(ages, [to_bytes(ages, ages.client(40)), to_json(ages, ages.client(50)), b"nonsense"])
    >>> found.reports.shape == (2, ages.width), found.ignored
    (True, 1)
    """
    payloads, ignored = [], 0
    for message in messages:
        payload = payload_of(oracle, message)
        if payload is None:
            ignored += 1
        else:
            payloads.append(payload)
    return Received(np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(-1, oracle.width), ignored)


class Server:
    """Counts reports one by one or in arrays; never fails because of what somebody sent.

    >>> from discreet.local.hadamard import hadamard
    >>> oracle = hadamard(k=10, epsilon=2)
    >>> server = Server(oracle)
    >>> server.add(to_bytes(oracle, oracle.client(3))), server.add(b"nonsense"), server.people, server.ignored
    (True, False, 1, 1)
    """

    __slots__ = ("_counts", "_ignored", "_oracle", "_people", "_waiting")

    def __init__(self, oracle: Decoder) -> None:
        self._oracle = oracle
        self._counts = np.zeros(oracle.k, dtype=np.int64)
        self._waiting: list[bytes] = []
        self._people = 0
        self._ignored = 0

    @property
    def people(self) -> int:
        """How many reports were counted."""
        return self._people

    @property
    def ignored(self) -> int:
        """How many messages were no reports for this oracle."""
        return self._ignored

    def add(self, message: bytes | str) -> bool:
        """Count one message; whether it was a report."""
        payload = payload_of(self._oracle, message)
        if payload is None:
            self._ignored += 1
            return False
        self._people += 1
        self._waiting.append(payload)
        if len(self._waiting) >= PIECE:
            self._settle()
        return True

    def add_many(self, reports: Reports) -> int:
        """Count an array of payloads; how many were valid."""
        if (
            not isinstance(reports, np.ndarray)
            or reports.dtype != np.uint8
            or reports.shape[1:] != (self._oracle.width,)
        ):
            raise BadData(f"reports must be lines of {self._oracle.width} bytes, as simulate gives them")
        fits = self._oracle.valid(reports)
        good = reports[fits]
        for start in range(0, len(good), PIECE):
            self._counts += self._oracle.supports(good[start : start + PIECE])
        self._people += len(good)
        self._ignored += len(reports) - len(good)
        return len(good)

    def _settle(self) -> None:
        if self._waiting:
            lines = np.frombuffer(b"".join(self._waiting), dtype=np.uint8).reshape(-1, self._oracle.width)
            self._counts += self._oracle.supports(lines)
            self._waiting.clear()

    def estimate(self, confidence: Number = CONFIDENCE) -> Frequencies:
        """The shares of all values among those whose reports were counted."""
        self._settle()
        return self._oracle.frequencies(self._counts, self._people, confidence)
