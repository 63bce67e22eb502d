"""What every request passes before anything else happens: route, token, rate, size, type; and what every reply gets.

Promise: a request whose route is not in the table of access.py, whose token does not allow it, which comes too often,
is too large, too slow or not JSON, or is addressed to another name, is refused before its body is understood. Replies
to questions leave on the grid of time, whatever they say. No reply and no log holds the message of an unexpected error.
Whether the service lives is answered whoever asks, however often.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from anyio.to_thread import run_sync
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.curator.error_replies import Refusal, fault, log, reply
from discreet.curator.http.addresses import check_host, own_names, sender
from discreet.curator.http.metrics import Metrics
from discreet.curator.logs import REQUEST
from discreet.curator.service.access import PAID, TABLE, Caller, check_allowed
from discreet.curator.service.service import Curator
from discreet.errors import DiscreetError
from discreet.ledger.journal import ARRIVED
from discreet.messages import Interface

HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
CALLER = "discreet.caller"
BEGAN = "discreet.began"
GRID = "discreet.grid"
"""The grid of time of the data set that is asked about, once it is known that the caller may ask."""
ALWAYS = frozenset({"/healthz", "/readyz", "/api/health"})
"""Answered without a token and without a limit: one check in a second serves all."""
_TURN = 0.02
"""Seconds after which a caller who waits for a place tries again."""


class AccessMiddleware:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, curator: Curator, metrics: Metrics | None = None) -> None:
        self._app = app
        self._curator = curator
        self._metrics = metrics or Metrics()
        self._names = own_names(curator.config.host, curator.config.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        began = scope[BEGAN] = time.monotonic()
        identity = secrets.token_hex(8)
        before, since = REQUEST.set(identity), ARRIVED.set(time.monotonic_ns())
        path, named, wrong = _route(scope)
        paid = (scope["method"], path) in PAID
        out = _Replies(send, scope, identity, self._on_grid(scope, began) if paid else None)
        try:
            check_host(scope["headers"], self._names)
            if wrong is not None:
                raise wrong
            await self._pass(scope, receive, out, path, named)
        except DiscreetError as error:
            await out.reply(*reply(error, to_owner=_owner(scope), interface=interface_of(scope)))
        except Exception as error:
            await out.reply(*fault(error))
        finally:
            self._note(scope, path, out.status, named.get("dataset", ""))
            REQUEST.reset(before)
            ARRIVED.reset(since)

    def _note(self, scope: Scope, path: str, status: int, dataset: str) -> None:
        """Count a reply, and write one line of it: by its route, never by what was asked."""
        self._metrics.count(path, status, dataset if self._curator.open_datasets.is_open(dataset) else None)
        if path in ALWAYS:
            return
        caller = scope.get(CALLER)
        fields = {"method": scope["method"], "route": path or "none", "status": status}
        log.info("replied", extra={"fields": fields | ({} if caller is None else {"caller": caller.name})})

    async def _pass(self, scope: Scope, receive: Receive, out: _Replies, path: str, named: Mapping[str, str]) -> None:
        """Let a request through; ``named`` is what its address names."""
        method = scope["method"]
        asked = named.get("dataset") if (method, path) in PAID else None
        caller: Caller | None = None
        if TABLE.get((method, path)) is not None:
            caller = await self._who(scope)
        check_allowed(method, path, caller)
        scope[CALLER] = caller
        if caller is not None and caller.populations is not None:
            await run_sync(self._curator.check_overseen, caller, named.get("dataset"), named.get("population"))
        if caller is not None and asked is not None:
            at_once = self._curator.ledger.look_at_once()
            find = partial(self._curator.grid_for, caller, asked)
            scope[GRID] = find() if at_once else await run_sync(find)
        with ExitStack() as held:
            if caller is not None:
                self._curator.meter.count(caller.name)
                held.enter_context(await self._turn(caller.name, waits=method in ("GET", "HEAD")))
            elif path.startswith("/api/") and path not in ALWAYS:
                self._count_anonymous(scope)
            if method not in ("GET", "HEAD"):
                receive = await self._body(scope, receive)
            await self._app(scope, receive, out.send)

    async def _turn(self, name: str, *, waits: bool) -> ExitStack:
        """A place of an analyst. Whoever only looks waits for one; questions are refused at once, and cost nothing."""
        until = time.monotonic() + float(self._curator.config.limits.patience)
        while True:
            held = ExitStack()
            try:
                held.enter_context(self._curator.meter.under_way(name))
                return held
            except Refusal:
                if not waits or time.monotonic() > until:
                    raise
            await asyncio.sleep(_TURN)

    async def _who(self, scope: Scope) -> Caller:
        """Who sent a request. A token that this server does not know is counted, before anything is read."""
        sent = dict(scope["headers"]).get(b"authorization")
        header = None if sent is None else sent.decode("latin-1")
        if not self._curator.access.seen(header):
            self._count_anonymous(scope)
        if self._curator.ledger.look_at_once():  # else in a thread: a loop may not wait
            return self._curator.access.who(header)
        return await run_sync(self._curator.access.who, header)

    def _count_anonymous(self, scope: Scope) -> None:
        peer = str((scope.get("client") or ("",))[0])
        self._curator.anonymous_meter.count(sender(peer, scope["headers"], self._curator.config.proxies))

    async def _body(self, scope: Scope, receive: Receive) -> Receive:
        """The body, whole, if it is JSON and neither too large nor too slow."""
        headers = dict(scope["headers"])
        kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        if kind != b"application/json":
            raise Refusal(415, "NotJson", "the body must be JSON, with the header Content-Type: application/json")
        most, patience = self._curator.config.limits.body, float(self._curator.config.limits.patience)
        length = headers.get(b"content-length", b"0")
        too_large = Refusal(413, "TooLarge", f"the body must be at most {most:,} bytes")
        if not length.isdigit() or len(length) > 15 or int(length) > most:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(patience):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refusal(408, "TooSlow", "the body did not come in time")
                    body += message.get("body", b"")
                    if len(body) > most:
                        raise too_large
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise Refusal(408, "TooSlow", "the body did not come in time") from None
        return _replayed(bytes(body), receive)

    def _on_grid(self, scope: Scope, began: float) -> Any:
        return lambda: scope.get(GRID, self._curator.grid).keep(began, time.monotonic)


class _Replies:
    """Sends replies: headers on each, and the time grid where there is one."""

    def __init__(self, send: Send, scope: Scope, identity: str, wait: Any) -> None:
        self._send = send
        self._scope = scope
        self._wait = wait
        self._headers = [*_HEADERS, (b"x-request-id", identity.encode())]
        self.status = 0
        """Of the reply, once it has begun."""

    async def send(self, message: Message) -> None:
        """Pass a message on, with our headers."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", []), *self._headers]
            if self._wait is not None:
                await self._wait()
        await self._send(message)

    async def reply(self, status: int, body: dict[str, Any]) -> None:
        """A reply in the one shape of errors, unless one is already on its way."""
        if self.status:
            return
        text = json.dumps(body).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode())]
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        if status == 405:
            headers.append((b"allow", ", ".join(_allowed(self._scope)).encode()))
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": text})


def _replayed(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def once() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return once


def _route(scope: Scope) -> tuple[str, dict[str, str], Refusal | None]:
    """The path of the route that a request is for and the names in it, or why there is none."""
    other_method = ""
    for route in scope["app"].routes:
        fits, more = route.matches(scope)
        if fits is Match.FULL:
            return route.path, more.get("path_params", {}), None
        if fits is Match.PARTIAL:
            other_method = route.path
    if other_method:
        return other_method, {}, Refusal(405, "NotAllowed", "this method is not known here")
    return "", {}, Refusal.nothing_here()


def _allowed(scope: Scope) -> list[str]:
    return sorted(
        method
        for route in scope["app"].routes
        if route.matches(scope)[0] is Match.PARTIAL
        for method in getattr(route, "methods", ())
    )


def interface_of(scope: Scope) -> Interface:
    """In whose words a refusal is: our page says in a header that it is the page."""
    return Interface.PAGE if (b"discreet-interface", b"page") in scope["headers"] else Interface.HTTP


def _owner(scope: Scope) -> bool:
    caller = scope.get(CALLER)
    return caller is not None and caller.owner
