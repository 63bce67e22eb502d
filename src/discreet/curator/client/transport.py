"""HTTP to a curator, with a token.

Promise: nobody but the curator is talked to. Errors are those of the tree, raised here as they were there.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from discreet import errors
from discreet.errors import BadParameter, CuratorRefused, DiscreetError, LedgerUnavailable

_TRIES = 4
_SECONDS = 120.0
_AGAIN = frozenset({"LedgerBusy", "LedgerUnavailable", "TooMany"})


class Line:
    """HTTP with a token, tried again when it breaks: every request here may safely come twice."""

    def __init__(self, url: str, token: object) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadParameter("url", url, "must be http:// or https:// and a host")
        self._secure = parts.scheme == "https"
        self._host, self._port, self._base = parts.hostname, parts.port, parts.path.rstrip("/")
        self._token = token.strip() if isinstance(token, str) else ""
        if not self._token or not all("!" <= c <= "~" for c in self._token):
            raise BadParameter("token", "what was given", "must be the text that the owner was shown")

    def __repr__(self) -> str:
        return f"Line({self._host})"

    def get(self, path: str) -> Any:
        """What is there, read from JSON."""
        return self._ask("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """What comes back for a body, both JSON."""
        return self._ask("POST", path, json.dumps(body).encode())

    def _ask(self, method: str, path: str, body: bytes | None) -> Any:
        for left in reversed(range(_TRIES)):
            try:
                status, said = self._once(method, path, body)
            except (OSError, http.client.HTTPException, ValueError):
                if left:
                    time.sleep(0.2)
                    continue
                raise LedgerUnavailable("the curator cannot be reached") from None
            if status < 400:
                return said
            kind = str(said.get("error", {}).get("kind", ""))
            if left and kind in _AGAIN:
                time.sleep(0.5)
                continue
            raise _raised(said)
        raise LedgerUnavailable("the curator cannot be reached")

    def _once(self, method: str, path: str, body: bytes | None) -> tuple[int, Any]:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        line = kind(self._host, self._port, timeout=_SECONDS)
        try:
            headers = {"authorization": f"Bearer {self._token}"}
            if body is not None:
                headers["content-type"] = "application/json"
            line.request(method, self._base + path, body, headers)
            reply = line.getresponse()
            return reply.status, json.loads(reply.read())
        finally:
            line.close()


def _raised(said: Any) -> DiscreetError:
    """The error of the tree that a refusal names, with its words."""
    told = said.get("error", {}) if isinstance(said, dict) else {}
    kind, message = str(told.get("kind", "")), str(told.get("message", "the curator refused"))
    found = getattr(errors, kind, None)
    if isinstance(found, type) and issubclass(found, DiscreetError):
        error = found.__new__(found)
        error.args = (message,)
        return error
    return CuratorRefused(kind, message)
