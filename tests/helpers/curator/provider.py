"""A provider of OpenID Connect on this machine that says whatever a test wants it to say."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey

from tests.helpers.processes import free_port, kill_tree, launch, until

KEY, OTHER_KEY = (RSAKey.generate_key(2048, {"kid": "1"}, auto_kid=False) for _ in range(2))
NONCE = "n" * 43
VERIFIER = "v" * 43


@dataclass
class Provider:
    """What it says: claims, key and header of its ID tokens; or whole replies by their path."""

    issuer: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    key: RSAKey | OctKey = field(default_factory=lambda: KEY)
    header: dict[str, Any] = field(default_factory=lambda: {"alg": "RS256", "kid": "1"})
    replies: dict[str, tuple[int, Any]] = field(default_factory=dict)
    forms: list[dict[str, list[str]]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def reply(self, path: str) -> tuple[int, Any]:
        if path in self.replies:
            return self.replies[path]
        if path == "/.well-known/openid-configuration":
            names = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
            return 200, {"issuer": self.issuer} | {name: f"{self.issuer}/{at}" for name, at in names.items()}
        if path == "/keys":
            return 200, KeySet([KEY]).as_dict(private=False)
        now = int(time.time())
        claims = {"iss": self.issuer, "sub": "ann's", "aud": "us", "exp": now + 300, "iat": now, "nonce": NONCE}
        claims = {name: value for name, value in (claims | self.claims).items() if value is not None}
        algorithms = [str(self.header["alg"])]
        return 200, {"access_token": "x", "id_token": jwt.encode(self.header, claims, self.key, algorithms)}


@contextmanager
def provider_running() -> Iterator[Provider]:
    """One that listens on this machine."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(self.path)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            provider.forms.append(parse_qs(body))
            provider.headers.append({name.lower(): value for name, value in self.headers.items()})
            self._send(self.path)

        def _send(self, path: str) -> None:
            status, content = provider.reply(path)
            self.send_response(status)
            if status == 302:
                self.send_header("location", content)
            self.end_headers()
            self.wfile.write(content if isinstance(content, bytes) else json.dumps(content).encode())

        def log_message(self, *_: Any) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider.issuer = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def real_provider(folder: Path, *subjects: str) -> Iterator[str]:
    """The address of a whole provider, with sign-on page, PKCE and codes, that knows some people: a process."""
    port, log = free_port(), folder / "provider.log"
    users = [word for subject in subjects for word in ("--user", subject)]
    command = [sys.executable, "-m", "oidc_provider_mock", "--host", "localhost", "--port", str(port), *users]
    process = launch(command, log=log, folder=folder)
    try:
        until(lambda: _listens(port), process=process, log=log)
        yield f"http://localhost:{port}"
    finally:
        kill_tree(process)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("localhost", port), timeout=5).close()
    except OSError:
        return False
    return True
