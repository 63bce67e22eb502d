"""Messages of the PostgreSQL protocol, version 3: bytes in, fields out, and back.

Guarantee: pure functions of bytes. Whatever a client sends is a message within its limit, or ``Malformed``.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

SSL_REQUEST, GSS_REQUEST, CANCEL_REQUEST, VERSION_3 = 80877103, 80877104, 80877102, 3
LARGEST_STARTUP = 10_000
LARGEST_MESSAGE = 1 << 20
"""Bytes of one message after the start."""
LARGEST_PASSWORD = 4_096


class Malformed(Exception):
    """What was sent is not a message of this protocol."""


class Reader:
    r"""The fields of one message, in order.

    >>> Reader(b"abc\0" + (7).to_bytes(2, "big")).text()
    'abc'
    """

    def __init__(self, body: bytes) -> None:
        self._body, self._at = body, 0

    def take(self, size: int) -> bytes:
        """So many bytes."""
        if size < 0 or self._at + size > len(self._body):
            raise Malformed
        self._at += size
        return self._body[self._at - size : self._at]

    def text(self) -> str:
        """Text that ends with a zero byte."""
        end = self._body.find(b"\0", self._at)
        if end < 0:
            raise Malformed
        raw = self.take(end + 1 - self._at)[:-1]
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise Malformed from None

    def int16(self) -> int:
        """An integer of two bytes."""
        return int(struct.unpack("!h", self.take(2))[0])

    def int32(self) -> int:
        """An integer of four bytes."""
        return int(struct.unpack("!i", self.take(4))[0])

    def count(self) -> int:
        """How many fields follow."""
        number = self.int16()
        if number < 0:
            raise Malformed
        return number

    def value(self) -> bytes | None:
        """A value with its length before it; None for NULL."""
        size = self.int32()
        return None if size == -1 else self.take(size)

    def end(self) -> None:
        """Nothing more follows."""
        if self._at != len(self._body):
            raise Malformed


@dataclass(frozen=True, slots=True)
class Parse:
    """A statement is given a name."""

    name: str
    text: str
    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    """Parameters are given to a named statement."""

    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    results: tuple[int, ...]


def read_parse(body: bytes) -> Parse:
    """A Parse message."""
    reader = Reader(body)
    parsed = Parse(reader.text(), reader.text(), tuple(reader.int32() for _ in range(reader.count())))
    reader.end()
    return parsed


def read_bind(body: bytes) -> Bind:
    """A Bind message."""
    reader = Reader(body)
    portal, statement = reader.text(), reader.text()
    formats = tuple(reader.int16() for _ in range(reader.count()))
    values = tuple(reader.value() for _ in range(reader.count()))
    results = tuple(reader.int16() for _ in range(reader.count()))
    reader.end()
    if {*formats, *results} - {0, 1} or len(formats) not in {0, 1, len(values)}:
        raise Malformed
    return Bind(portal, statement, formats, values, results)


def read_named(body: bytes) -> tuple[str, str]:
    """A Describe or Close message: S or P, and a name."""
    reader = Reader(body)
    kind = reader.take(1).decode("latin-1")
    name = reader.text()
    reader.end()
    if kind not in "SP":
        raise Malformed
    return kind, name


def read_execute(body: bytes) -> tuple[str, int]:
    """An Execute message: a portal, and the most rows that are wanted (0: all)."""
    reader = Reader(body)
    name, most = reader.text(), reader.int32()
    reader.end()
    return name, max(most, 0)


def read_text(body: bytes) -> str:
    """A Query or Password message."""
    reader = Reader(body)
    text = reader.text()
    reader.end()
    return text


def read_settings(body: bytes) -> dict[str, str]:
    r"""The settings of a startup message.

    >>> read_settings(b"user\0ana\0database\0visits\0\0")
    {'user': 'ana', 'database': 'visits'}
    """
    reader, settings = Reader(body), dict[str, str]()
    while name := reader.text():
        settings[name] = reader.text()
    reader.end()
    return settings


# --- what a server sends ----------------------------------------------------------------------------------------------


def framed(kind: str, body: bytes = b"") -> bytes:
    r"""One message.

    >>> framed("Z", b"I")
    b'Z\x00\x00\x00\x05I'
    """
    return kind.encode() + struct.pack("!i", len(body) + 4) + body


def ready(status: str) -> bytes:
    """The server waits; ``status`` is I, T (in a transaction) or E (in a failed one)."""
    return framed("Z", status.encode())


def setting(name: str, value: str) -> bytes:
    """A setting of the session."""
    return framed("S", _text(name) + _text(value))


def complete(tag: str) -> bytes:
    """A statement is done."""
    return framed("C", _text(tag))


def report(kind: str, severity: str, code: str, text: str, hint: str = "") -> bytes:
    """An error (E) or a notice (N)."""
    fields = {"S": severity, "V": severity, "C": code, "M": text, "H": hint}
    return framed(kind, b"".join(name.encode() + _text(value) for name, value in fields.items() if value) + b"\0")


def described(columns: Sequence[tuple[str, int, int]], formats: Sequence[int]) -> bytes:
    """The columns of rows: names, types and sizes."""
    body = [struct.pack("!h", len(columns))]
    for (name, oid, size), form in zip(columns, formats, strict=True):
        body.append(_text(name) + struct.pack("!ihihih", 0, 0, oid, size, -1, form))
    return framed("T", b"".join(body))


def parameters(types: Sequence[int]) -> bytes:
    """The types of a statement's parameters."""
    return framed("t", struct.pack("!h", len(types)) + b"".join(struct.pack("!i", one) for one in types))


def row(values: Sequence[bytes | None]) -> bytes:
    """One row."""
    cells = (struct.pack("!i", -1) if cell is None else struct.pack("!i", len(cell)) + cell for cell in values)
    return framed("D", struct.pack("!h", len(values)) + b"".join(cells))


def _text(text: str) -> bytes:
    return text.replace("\0", "").encode() + b"\0"
