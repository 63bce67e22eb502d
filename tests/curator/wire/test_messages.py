"""Messages: what is read is what was sent, and no bytes are anything but a message or Malformed."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.curator.wire import messages
from discreet.curator.wire.messages import Bind, Malformed, Parse

READERS: tuple[Callable[[bytes], object], ...] = (
    messages.read_parse, messages.read_bind, messages.read_named, messages.read_execute, messages.read_text,
    messages.read_settings,
)  # fmt: skip


def test_messages_are_read_as_they_were_written() -> None:
    assert messages.read_parse(b"s\0SELECT $1\0\0\1\0\0\0\x19") == Parse("s", "SELECT $1", (25,))
    body = b"p\0s\0" + struct.pack("!hhhi1sih", 1, 0, 2, 1, b"x", -1, 0)
    assert messages.read_bind(body) == Bind("p", "s", (0,), (b"x", None), ())
    assert messages.read_named(b"Sname\0") == ("S", "name")
    assert messages.read_execute(b"p\0\0\0\0\5") == ("p", 5)
    assert messages.row([b"a", None]) == b"D\0\0\0\x0f\0\2\0\0\0\1a\xff\xff\xff\xff"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no end",
        b"\xff\0",
        b"p\0s\0\0\0\0\1\0\0\0\x09short",
        b"p\0s\0\xff\xff",
        b"p\0s\0\0\1\0\2\0\0\0\0",
        b"Xn\0",
    ],
)
def test_what_is_no_message_is_malformed(body: bytes) -> None:
    for read in (messages.read_bind, messages.read_named, messages.read_parse):
        with pytest.raises(Malformed):
            read(body)


@given(st.binary(max_size=60))
def test_no_bytes_fail_in_another_way(body: bytes) -> None:
    for read in READERS:
        try:
            read(body)
        except Malformed:
            continue
