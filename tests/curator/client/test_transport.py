"""HTTP to a curator: tried again when it breaks, and charged once."""

from __future__ import annotations

import socket
import ssl
import threading
from typing import Any

import pytest

from discreet import connect
from discreet.curator.client.transport import Transport
from discreet.curator.error_replies import Refusal
from discreet.curator.error_replies import reply as error_reply
from discreet.errors import BadParameter, CuratorRefused, DiscreetError, LedgerBusy, LedgerUnavailable, OverBudget
from discreet.privacy.promises.measures import Pure
from tests.helpers.curator.town import Town


class Torn:
    """Stands between client and server, and throws the first answer to a question away."""

    def __init__(self, url: str) -> None:
        host, port = url.removeprefix("http://").split(":")
        self.there = host, int(port)
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.torn = 0
        self.thread = threading.Thread(target=self.pass_on)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listening.getsockname()[1]}"

    def pass_on(self) -> None:
        while True:
            try:
                here, _ = self.listening.accept()
            except OSError:
                return
            with here, socket.create_connection(self.there) as there:
                asked = whole(here)
                there.sendall(asked)
                answer = whole(there)
                if b"/questions" in asked and not self.torn:
                    self.torn += 1
                else:
                    here.sendall(answer)

    def close(self) -> None:
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        self.thread.join()


def whole(line: socket.socket) -> bytes:
    """One HTTP message, by the length that it names."""
    found = b""
    while b"\r\n\r\n" not in found:
        found += line.recv(1 << 16)
    head, _, body = found.partition(b"\r\n\r\n")
    named = [one for one in head.lower().split(b"\r\n") if one.startswith(b"content-length:")]
    size = int(named[0].split(b":")[1]) if named else 0
    while len(body) < size:
        body += line.recv(1 << 16)
    return head + b"\r\n\r\n" + body


@pytest.mark.slow
def test_a_broken_connection_is_tried_again_and_charged_once(served: tuple[Town, str]) -> None:
    town, url = served
    before = len(town.curator.ledger.entries(kind="charge"))
    between = Torn(url)
    answer = connect(between.url, town.ann).sql("SELECT COUNT(*) AS n FROM people").release(epsilon=1)
    between.close()
    assert between.torn == 1
    assert len(answer) == 1
    assert len(town.curator.ledger.entries(kind="charge")) == before + 1


@pytest.mark.slow
def test_nobody_there() -> None:
    with pytest.raises(LedgerUnavailable):
        connect("http://127.0.0.1:1", "discreet_0_0")


class Replies(Transport):
    """A transport without a network: what it would receive, one after the other."""

    def __init__(self, *replies: tuple[int, Any] | Exception) -> None:
        super().__init__("https://curator.example/base/", " token\n")
        self.replies = list(replies)
        self.asked: list[tuple[str, str]] = []

    def _once(self, method: str, path: str, body: bytes | None) -> tuple[int, Any]:
        self.asked.append((method, path))
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.curator.client.transport.time.sleep", lambda _: None)


@pytest.mark.slow
@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(
    "passing",
    [OSError(), ValueError("not JSON"), error_reply(LedgerBusy("soon")), error_reply(Refusal(429, "TooMany", "wait"))],
)
def test_what_may_pass_is_tried_four_times(passing: Any) -> None:
    good = Replies(passing, passing, passing, (200, {"ok": 1}))
    assert good.post("/api/x", {}) == {"ok": 1}
    assert good.asked == [("POST", "/api/x")] * 4
    bad = Replies(*[passing] * 4, (200, {}))
    with pytest.raises((LedgerUnavailable, LedgerBusy, CuratorRefused)):
        bad.get("/api/x")
    assert len(bad.asked) == 4


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("final", [OverBudget(asked=Pure(2), left=Pure(1)), BadParameter("epsilon", -1, "must be")])
def test_a_refusal_is_raised_at_once_with_its_fields(final: DiscreetError) -> None:
    transport = Replies(error_reply(final), (200, {}))
    with pytest.raises(type(final)) as found:
        transport.get("/api/x")
    assert str(found.value) == str(final)
    assert len(transport.asked) == 1


@pytest.mark.parametrize("url", ["", "ftp://x", "http://", "curator.example", "//x", "file:///etc/passwd"])
def test_an_address_is_http_and_a_host(url: str) -> None:
    with pytest.raises(BadParameter, match="http"):
        Transport(url, "token")


@pytest.mark.parametrize("token", ["", "  ", "two words", "caf\u00e9", "a\r\nx: y", None, b"token"])
def test_a_token_is_one_word_of_ascii_and_is_not_repeated(token: Any) -> None:
    with pytest.raises(BadParameter) as found:
        Transport("http://curator.example", token)
    assert "what was given" in str(found.value)


def test_it_shows_its_host_and_not_its_token() -> None:
    assert repr(Transport("https://curator.example:8000", "secret")) == "Transport(curator.example)"


def test_a_certificate_that_is_not_trusted_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not "cannot be reached", and not tried again."""
    tries = []

    def refused(*_: object) -> tuple[int, bytes]:
        tries.append(1)
        raise ssl.SSLCertVerificationError

    monkeypatch.setattr(Transport, "_sent", refused)
    with pytest.raises(CuratorRefused, match="SSL_CERT_FILE") as found:
        Transport("https://curator.example", "token").get("/api/me")
    assert (found.value.kind, len(tries)) == ("Certificate", 1)


def test_no_more_of_a_reply_is_kept_than_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless:
        status = 200

        def read(self, most: int) -> bytes:
            return b" " * most

    monkeypatch.setattr("discreet.curator.client.transport.LARGEST", 1000)
    monkeypatch.setattr("http.client.HTTPConnection.request", lambda *_: None)
    monkeypatch.setattr("http.client.HTTPConnection.getresponse", lambda _: Endless())
    for ask in (Transport.get, Transport.download):
        with pytest.raises(CuratorRefused, match="more than 1,000 bytes"):
            ask(Transport("http://curator.example", "token"), "/api/me")


def test_a_reply_that_nests_too_deeply_is_refused_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Transport, "_sent", lambda *_: (200, b"[" * 100_000))
    with pytest.raises(CuratorRefused, match="cannot be read"):
        Transport("http://curator.example", "token").get("/api/me")
