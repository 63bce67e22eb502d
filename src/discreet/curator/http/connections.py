"""Connections of one server process: who may hold one, for how long, and who must give way.

Promise: strangers cannot lock out anybody by holding connections. A connection on which no request is being answered
gives way when there are too many: of one address first, then of all, the one that has waited longest, and never one
on which a caller with a valid token was answered. Head and reply of a request without a valid token have deadlines that
more bytes do not move. What cannot be read as HTTP gets a reply in the one shape of errors.
Believes: whoever has a token is not the attacker; many addresses at once are for a firewall.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, ClassVar, Protocol

from discreet.curator.error_replies import error_body, log
from discreet.curator.http.middleware import CALLER
from discreet.errors import MissingExtra

try:
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError as missing:
    raise MissingExtra("the service", extra="server") from missing

PATIENCE = 20.0
"""Seconds in which the head of a request must have come; middleware.py has the limit for its body."""
REPLYING = 30.0
"""Seconds in which a stranger must have taken the reply."""
OF_ONE_ADDRESS = 64
"""Connections of one address that wait for a request."""
WAITING = 256
"""Connections of all addresses that wait for a request, without a token so far."""
_REASONS = {400: b"Bad Request", 408: b"Request Timeout"}


class Waiting(Protocol):
    """A connection that can give way."""

    address: str

    def give_way(self) -> None:
        """Close it: others need the place."""


class Places:
    """The connections of strangers on which no request is being answered, the longest wait first.

    >>> class Line:
    ...     def __init__(self, address, name):
    ...         self.address, self.name = address, name
    ...
    ...     def give_way(self):
    ...         print(self.name, "gives way")
    >>> places = Places(of_one_address=2, waiting=3)
    >>> for address, name in (("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("c", "c1")):
    ...     places.add(Line(address, name))
    a1 gives way
    a2 gives way
    """

    def __init__(
        self, *, of_one_address: int = OF_ONE_ADDRESS, waiting: int = WAITING, trusted: Iterable[str] = ()
    ) -> None:
        self._of_one = of_one_address
        self._most = waiting
        self._trusted = frozenset(trusted)
        """Proxies: many people come from their address."""
        self._all: OrderedDict[int, Waiting] = OrderedDict()
        self._by_address: dict[str, OrderedDict[int, Waiting]] = {}

    def __len__(self) -> int:
        return len(self._all)

    def add(self, line: Waiting) -> None:
        """A connection begins to wait; perhaps another one must go."""
        own = self._by_address.setdefault(line.address, OrderedDict())
        self._all[id(line)] = own[id(line)] = line
        if len(own) > self._of_one and line.address not in self._trusted:
            self._close(next(iter(own.values())))
        elif len(self._all) > self._most:
            self._close(next(iter(self._all.values())))

    def remove(self, line: Waiting) -> None:
        """A connection waits no more."""
        self._all.pop(id(line), None)
        own = self._by_address.get(line.address)
        if own is not None:
            own.pop(id(line), None)
            if not own:
                del self._by_address[line.address]

    def _close(self, line: Waiting) -> None:
        self.remove(line)
        line.give_way()


class LimitedConnection(H11Protocol):
    """HTTP/1.1 on one connection: watched while nobody with a token is being answered on it."""

    places: ClassVar[Places] = Places()
    """Of this process, which serves one curator."""
    address = ""
    _timer: asyncio.TimerHandle | None = None
    _answering: bool | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come."""
        super().connection_made(transport)
        self.address = str(self.client[0]) if self.client else ""
        self._look()

    def data_received(self, data: bytes) -> None:
        """Some bytes have come."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """A reply is out: the next request has its own time."""
        self._answering = None
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self.places.remove(self)
        self._stop()
        super().connection_lost(exc)

    def give_way(self) -> None:
        """Others need the place."""
        self._close(408, "TooSlow", "no whole request came, and others need the connection")

    def _look(self) -> None:
        """Note whether a request is being answered here; more bytes alone give no more time."""
        if self.transport.is_closing():
            return
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering == self._answering:
            return
        self._answering = answering
        self._stop()
        self.places.remove(self)
        if answering:
            self._timer = self.loop.call_later(REPLYING, self._end_reply)
        else:
            self._timer = self.loop.call_later(PATIENCE, self._end_wait)
            if not self._known():
                self.places.add(self)

    def _known(self) -> bool:
        """Whether a caller with a valid token was answered here."""
        scope: Any = self.scope
        return scope is not None and scope.get(CALLER) is not None

    def _end_wait(self) -> None:
        self._close(408, "TooSlow", "no whole request came in time")

    def _end_reply(self) -> None:
        if self._known():
            return
        line = self.transport.get_extra_info("socket")
        if line is not None:  # else the kernel keeps what nobody takes
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def send_400_response(self, msg: str) -> None:
        """What came is not HTTP."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._close(400, "Malformed", "this cannot be read as HTTP")
        else:  # a reply is on its way already
            self.transport.close()

    def _close(self, status: int, kind: str, message: str) -> None:
        """Close the connection; a client in the middle of its request gets the one shape of errors."""
        begun = self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE) and bool(self.conn.trailing_data[0])
        if (begun or status == 400) and not self.transport.is_closing():
            body = json.dumps(error_body(kind, message)).encode()
            head = (
                b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head % (status, _REASONS[status], len(body)) + body)
            log.info("a request was given up: %s", kind)
        self.transport.close()
