"""HTTP to a curator, with a token.

Promise: requests go to the curator and to nobody else. Errors are those of the tree, raised here as they were there,
with their fields. Whatever a server sends, no more than ``LARGEST`` bytes of it are kept, and a reply that cannot be
read is ``CuratorRefused``.
"""

from __future__ import annotations

import http.client
import json
import secrets
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any, NoReturn
from urllib.parse import urlsplit

from discreet.curator.error_replies import rebuilt
from discreet.errors import BadParameter, CuratorRefused, DiscreetError, LedgerBusy, LedgerUnavailable, ServiceBusy

Once = Callable[[str, str, bytes | None], tuple[int, Any]]
_TRIES = 4
_SECONDS = 120.0
LARGEST = 1 << 28
"""Bytes of a reply."""


class Transport:
    """HTTP with a token, tried again when it breaks: every request here may safely come twice."""

    def __init__(self, url: str, token: object, *, context: ssl.SSLContext | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadParameter("url", url, "must be http:// or https:// and a host")
        self._secure, self._context = parts.scheme == "https", context
        self._host, self._port, self._base = parts.hostname, parts.port, parts.path.rstrip("/")
        self._token = token.strip() if isinstance(token, str) else ""
        if not self._token or not all("!" <= c <= "~" for c in self._token):
            raise BadParameter("token", "what was given", "must be the text that the owner was shown")

    def __repr__(self) -> str:
        return f"Transport({self._host})"

    def get(self, path: str) -> Any:
        """What is there, read from JSON."""
        return self._ask("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """What comes back for a body, both JSON."""
        return self._ask("POST", path, json.dumps(body).encode())

    def download(self, path: str) -> bytes:
        """A file, as it is."""
        return bytes(self._ask("GET", path, None, self._file))

    def _ask(self, method: str, path: str, body: bytes | None, once: Once | None = None) -> Any:
        for left in reversed(range(_TRIES)):
            try:
                status, reply = (once or self._once)(method, path, body)
            except ssl.SSLCertVerificationError:
                raise CuratorRefused(
                    "Certificate",
                    "the certificate of the curator is not trusted here: name a file with its authority in the "
                    "environment variable SSL_CERT_FILE",
                ) from None
            except (MemoryError, RecursionError):
                raise _unreadable() from None
            except (OSError, http.client.HTTPException, ValueError):
                if left:
                    time.sleep(0.2)
                    continue
                raise LedgerUnavailable("the curator cannot be reached") from None
            if status < 400:
                return reply
            error = rebuilt(reply)
            if not left or not _may_pass(error):
                raise error
            time.sleep(0.5)
        raise LedgerUnavailable("the curator cannot be reached")

    def _once(self, method: str, path: str, body: bytes | None) -> tuple[int, Any]:
        status, sent = self._sent(method, path, body)
        return status, _from_json(sent)

    def _file(self, method: str, path: str, body: bytes | None) -> tuple[int, Any]:
        """A file as it is; an error as JSON."""
        status, sent = self._sent(method, path, body)
        return status, sent if status < 400 else _from_json(sent)

    def _sent(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        connection = (
            http.client.HTTPSConnection(self._host, self._port, timeout=_SECONDS, context=self._context)
            if self._secure
            else http.client.HTTPConnection(self._host, self._port, timeout=_SECONDS)
        )
        try:
            headers = {"authorization": f"Bearer {self._token}"}
            if body is not None:
                headers["content-type"] = "application/json"
            connection.request(method, self._base + path, body, headers)
            reply = connection.getresponse()
            sent = reply.read(LARGEST + 1)
            if len(sent) > LARGEST:
                raise _unreadable()
            return reply.status, sent
        finally:
            connection.close()


def _from_json(sent: bytes) -> Any:
    """What JSON says; NaN and infinity are not JSON."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    return json.loads(sent, parse_constant=refuse)


def _unreadable() -> CuratorRefused:
    return CuratorRefused(
        "Unreadable", f"the reply cannot be read, or has more than {LARGEST:,} bytes; is this the address of a curator?"
    )


def new_key(key: str | None) -> str:
    """The key that a caller has chosen for a request, or a new one: under it, the request is charged once."""
    return key if key is not None else secrets.token_hex(16)


def _may_pass(error: DiscreetError) -> bool:
    """Whether the same request may succeed soon."""
    too_many = isinstance(error, CuratorRefused) and error.kind == "TooMany"
    return too_many or isinstance(error, LedgerBusy | LedgerUnavailable | ServiceBusy)
