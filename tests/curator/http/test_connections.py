"""Many slow strangers hold no connection that somebody else needs."""

from __future__ import annotations

import json
import logging
import select
import socket
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from discreet.curator.http import connections
from discreet.curator.http.connections import LimitedConnection, Places
from discreet.curator.logs import Lines
from tests.helpers.curator.town import Town
from tests.helpers.processes import until


class Line:
    def __init__(self, address: str) -> None:
        self.address = address
        self.closed = False

    def give_way(self) -> None:
        self.closed = True


def test_of_one_address_the_longest_wait_gives_way_first() -> None:
    places = Places(of_one_address=3, waiting=100)
    lines = [Line("a") for _ in range(5)]
    other = Line("b")
    places.add(other)
    for line in lines:
        places.add(line)
    assert [line.closed for line in lines] == [True, True, False, False, False]
    assert not other.closed
    assert len(places) == 4


def test_of_all_the_longest_wait_gives_way_first_and_those_answered_are_not_asked() -> None:
    places = Places(of_one_address=100, waiting=3)
    lines = [Line(str(i)) for i in range(6)]
    for line in lines[:3]:
        places.add(line)
    places.remove(lines[0])  # its request has come
    for line in lines[3:]:
        places.add(line)
    assert [line.closed for line in lines] == [False, True, True, False, False, False]


def test_a_trusted_proxy_may_hold_as_many_as_all_together() -> None:
    places = Places(of_one_address=2, waiting=5, trusted=["proxy"])
    lines = [Line("proxy") for _ in range(5)]
    for line in lines:
        places.add(line)
    assert not any(line.closed for line in lines)


def address(url: str) -> tuple[str | None, int | None]:
    return urlsplit(url).hostname, urlsplit(url).port


def me(line: socket.socket, town: Town) -> str:
    """Who one is, asked on a connection that stays open."""
    head = f"GET /api/me HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {town.ann}\r\n\r\n"
    line.sendall(head.encode())
    said = b""
    while not said.endswith(b"}"):
        said += line.recv(10_000)
    return str(json.loads(said.partition(b"\r\n\r\n")[2])["name"])


@pytest.mark.slow
def test_500_slow_strangers_lock_nobody_out(served: tuple[Town, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails on a server that counts connections and refuses the 501st."""
    town, url = served
    monkeypatch.setattr(LimitedConnection, "places", Places(of_one_address=1000, waiting=64))
    with ExitStack() as held:
        known = held.enter_context(socket.create_connection(address(url), timeout=60))
        assert me(known, town) == "ann"
        for _ in range(500):
            slow = held.enter_context(socket.create_connection(address(url), timeout=60))
            slow.sendall(b"GET /api/me HTTP/1.1\r\nx: ")
        until(lambda: len(LimitedConnection.places) <= 64, what="given way")
        with socket.create_connection(address(url), timeout=60) as new:
            assert me(new, town) == "ann"
        assert me(known, town) == "ann"  # an analyst's own connection was not taken


@pytest.mark.slow
def test_a_stranger_who_takes_no_reply_is_let_go(served: tuple[Town, str], monkeypatch: pytest.MonkeyPatch) -> None:
    _, url = served
    monkeypatch.setattr(connections, "REPLYING", 0.2)
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        line.settimeout(60)
        line.connect(address(url))
        line.sendall(
            b"GET /web/style.css HTTP/1.1\r\nhost: localhost\r\n\r\n" * 1000
        )  # and none of the replies is taken
        watched = select.poll()
        watched.register(line, 0)
        ((_, found),) = watched.poll(60_000)
        assert found & (select.POLLERR | select.POLLHUP)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"POST /api/datasets/town/preview HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        b"authorization: Bearer TOKEN\r\ntransfer-encoding: chunked\r\n\r\nzz\r\ncanary7f3a\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
    ],
)
def test_what_is_not_http_gets_our_shape_and_leaves_no_trace(
    served: tuple[Town, str], caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    town, url = served
    caplog.handler.setFormatter(Lines(as_json=False))
    caplog.set_level(logging.INFO)
    with socket.create_connection(address(url), timeout=60) as line:
        line.sendall(sent.replace(b"TOKEN", town.ann.encode()))
        said = b"".join(iter(lambda: line.recv(10_000), b""))
    assert said.startswith(b"HTTP/1.1 4")
    assert "error" in json.loads(said.partition(b"\r\n\r\n")[2])
    assert "Traceback" not in caplog.text
    assert ".py" not in caplog.text
    assert "canary" not in caplog.text
