"""Starting the HTTP server: one process or several, with or without TLS; replies without a date.

Promise: no number of slow clients holds all connections (connections.py). When the service is stopped, what is under
way is answered first.
"""

from __future__ import annotations

import errno
import socket
import ssl
from pathlib import Path
from typing import Any

from discreet.curator.http.connections import LimitedConnection
from discreet.errors import BadParameter, MissingExtra

try:
    import uvicorn
except ImportError as missing:
    raise MissingExtra("the service", extra="server") from missing

APP = "discreet.curator.http.app:from_environment"
SHUTDOWN = 60
"""Seconds that questions under way have to end when the service is stopped."""


def options(
    host: str,
    port: int,
    *,
    certificate: Path | None = None,
    certificate_key: Path | None = None,
) -> dict[str, Any]:
    """How the server is set up, wherever it is started."""
    return {
        "host": host,
        "port": port,
        "http": LimitedConnection,
        "ws": "none",
        "server_header": False,
        "date_header": False,
        "access_log": False,
        "log_config": None,
        "timeout_keep_alive": 20,
        "timeout_graceful_shutdown": SHUTDOWN,
        "h11_max_incomplete_event_size": 1 << 16,
        "proxy_headers": False,
        "ssl_certfile": certificate,
        "ssl_keyfile": certificate_key,
    }


def check_certificate(certificate: Path | None, key: Path | None) -> None:
    """Refuse a certificate that cannot be used, before anything is started; its key must be the owner's alone."""
    if certificate is None:
        return
    if key is not None and key.is_file() and key.stat().st_mode & 0o077:
        raise BadParameter("certificate_key", key.name, "must not be readable by others: chmod 600")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError):
        raise BadParameter(
            "certificate", certificate.name, "must be a PEM file with its key in certificate_key"
        ) from None


def check_address(host: str, port: int) -> None:
    """Refuse an address that is taken or not allowed; whatever else may be wrong with it, the server reports itself."""
    try:
        for family, *_, where in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE):
            socket.create_server(where[:2], family=family).close()
    except OSError as error:
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            raise BadParameter("address", f"{host}:{port}", f"must be free to listen at: {error.strerror}") from None


def run(host: str, port: int, processes: int = 1, **more: Any) -> None:
    """Serve until stopped; the environment says where curator.toml is."""
    uvicorn.run(APP, factory=True, workers=processes if processes > 1 else None, **options(host, port, **more))
