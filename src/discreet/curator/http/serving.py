"""Starting the HTTP server: one process or several, with logs that hold no request and replies without a date.

Promise: a connection on which no whole request comes in time is closed, so that slow clients cannot hold them all.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import Any

from discreet.errors import BadParameter, MissingExtra

try:
    import h11
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError as missing:
    raise MissingExtra("the service", extra="server") from missing

APP = "discreet.curator.http.app:from_environment"


PATIENCE = 20.0
"""Seconds in which the head of a request must have come; middleware.py has the limit for its body."""


class RequestTimeoutProtocol(H11Protocol):
    """HTTP/1.1 on one connection, closed when the head of a request does not come in time."""

    _timeout: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Some bytes have come."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._stop_watch()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop_watch()
        elif self._timeout is None:  # more bytes give no more time
            self._timeout = self.loop.call_later(PATIENCE, self.transport.close)

    def _stop_watch(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None


def options(host: str, port: int) -> dict[str, Any]:
    """How the server is set up, wherever it is started."""
    return {
        "host": host,
        "port": port,
        "http": RequestTimeoutProtocol,
        "ws": "none",
        "server_header": False,
        "date_header": False,
        "access_log": False,
        "log_level": "warning",
        "timeout_keep_alive": 20,
        "h11_max_incomplete_event_size": 1 << 16,
        "limit_concurrency": 500,
        "proxy_headers": False,
    }


def check_address(host: str, port: int) -> None:
    """Refuse an address that is taken or not allowed; whatever else may be wrong with it, the server reports itself."""
    try:
        for family, *_, where in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE):
            socket.create_server(where[:2], family=family).close()
    except OSError as error:
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            raise BadParameter("address", f"{host}:{port}", f"must be free to listen at: {error.strerror}") from None


def run(host: str, port: int, processes: int = 1) -> None:
    """Serve until stopped; the environment says where curator.toml is."""
    uvicorn.run(APP, factory=True, workers=processes if processes > 1 else None, **options(host, port))
