"""The PostgreSQL port of a curator: a process of its own, which asks the curator over HTTP like any other client.

Guarantee: tokens travel over TLS, or within this machine. Bytes that were sent before TLS began are never read as if
they had come within it. One address cannot hold all places with connections that have not signed in.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import logging
import os
import resource
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
from collections import Counter, OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

from discreet.curator import logs
from discreet.curator.client.client import RemoteSession
from discreet.curator.client.transport import Transport
from discreet.curator.service.config import read_config
from discreet.curator.wire import messages
from discreet.curator.wire.catalog import Catalog
from discreet.curator.wire.connection import Connection, Refused, state_of
from discreet.curator.wire.messages import Malformed
from discreet.curator.wire.session import Session
from discreet.errors import BadParameter, CuratorRefused, DiscreetError

log = logging.getLogger("discreet.curator.wire")
PLACES, THREADS = 256, 64
"""Connections, and statements that are worked on, at the same time."""
WITHOUT_TOKEN = 32
"""Connections of one address that have not signed in yet."""
STARTING = 15.0
"""Seconds in which a client must have signed in."""
REFUSING = 2.0
"""Seconds for a connection that is refused because there are too many."""
_CATALOGS = 32
MOST_MEMORY = 4 << 30
"""Bytes that the process of the port may use."""


@dataclass
class WireServer:
    """Listens on a port, for a curator at ``url``; ``trusted``: the certificate of that curator, if it speaks TLS."""

    url: str
    host: str
    port: int
    certificate: Path | None = None
    certificate_key: Path | None = None
    trusted: Path | None = None
    _starting: Counter[str] = field(default_factory=Counter, init=False)
    _open: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    _catalogs: OrderedDict[tuple[str, str, str], Catalog] = field(default_factory=OrderedDict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        check_secure(self.host, self.certificate)
        self._tls = None
        if self.certificate is not None:
            self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self._tls.load_cert_chain(self.certificate, self.certificate_key)
        self._service = None
        if self.trusted is not None:  # our own service on this machine: its certificate, whatever name is in it
            self._service = ssl.create_default_context(cafile=str(self.trusted))
            self._service.check_hostname = False

    async def serve(self, began: asyncio.Future[int] | None = None) -> None:
        """Listen until cancelled; ``began`` gets the port."""
        loop = asyncio.get_running_loop()
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        with (
            socket.create_server((self.host, self.port), family=family, backlog=128) as listening,
            ThreadPoolExecutor(THREADS, thread_name_prefix="wire") as threads,
        ):
            listening.setblocking(False)
            if began is not None:
                began.set_result(listening.getsockname()[1])
            try:
                while True:
                    client, address = await loop.sock_accept(listening)
                    task = loop.create_task(self._client(client, str(address[0]), threads))
                    self._open.add(task)
                    task.add_done_callback(self._open.discard)
            finally:
                for task in tuple(self._open):
                    task.cancel()

    async def _client(self, client: socket.socket, address: str, threads: ThreadPoolExecutor) -> None:
        writer: asyncio.StreamWriter | None = None
        self._starting[address] += 1
        starting = True
        try:
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.timeout(STARTING):
                if len(self._open) > PLACES or self._starting[address] > WITHOUT_TOKEN:
                    async with asyncio.timeout(REFUSING):
                        await self._start(client, None)
                        await _sent(client, messages.report("E", "FATAL", "53300", "There are too many connections."))
                    return
                secure, settings = await self._start(client, self._tls)
                if settings is None and not secure:
                    return
                reader, writer = await self._stream(client, secure=secure)
                in_thread = partial(asyncio.get_running_loop().run_in_executor, threads)
                connection = Connection(reader, writer, in_thread, self.login)
                try:
                    if settings is None:
                        settings = await _settings_within(reader)
                    if not secure and not is_loopback(address):
                        raise Refused("28000", "This server needs TLS: connect with sslmode=require.")
                    await connection.begin(settings)
                except Refused as refused:
                    writer.write(messages.report("E", "FATAL", refused.code, refused.text))
                    return
                except DiscreetError as error:
                    writer.write(messages.report("E", "FATAL", state_of(error), str(error)))
                    return
            self._starting[address] -= 1
            starting = False
            await connection.serve()
        except (Malformed, asyncio.IncompleteReadError, OSError, TimeoutError, ssl.SSLError):
            if writer is not None:
                with contextlib.suppress(Exception):
                    writer.write(messages.report("E", "FATAL", "08P01", "The connection ends: no valid message came."))
        except Exception as error:  # one client never ends the others
            log.error("a connection failed: %s", type(error).__name__)
        finally:
            if starting:
                self._starting[address] -= 1
            self._starting += Counter()  # addresses without a connection are forgotten
            if writer is not None:
                with contextlib.suppress(Exception):
                    writer.close()
            client.close()

    async def _start(self, client: socket.socket, tls: ssl.SSLContext | None) -> tuple[bool, dict[str, str] | None]:
        """Whether TLS follows, and else the settings. Exactly the bytes of these messages are read, and no more."""
        while True:
            size, code = struct.unpack("!ii", await _received(client, 8))
            if not 8 <= size <= messages.LARGEST_STARTUP:
                raise Malformed
            if code == messages.SSL_REQUEST and size == 8:
                await _sent(client, b"N" if tls is None else b"S")
                if tls is not None:
                    return True, None
            elif code == messages.GSS_REQUEST and size == 8:
                await _sent(client, b"N")
            elif code == messages.CANCEL_REQUEST:
                return False, None  # what was charged is charged: the statement goes on
            else:
                body = await _received(client, size - 8)
                return False, await self._settings(client, code, body)

    @staticmethod
    async def _settings(client: socket.socket, code: int, body: bytes) -> dict[str, str]:
        if code >> 16 != messages.VERSION_3:
            raise Malformed
        if code & 0xFFFF:
            await _sent(client, messages.framed("v", struct.pack("!ii", 0, 0)))
        return messages.read_settings(body)

    async def _stream(
        self, client: socket.socket, *, secure: bool
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=1 << 16)
        protocol = asyncio.StreamReaderProtocol(reader)
        tls: dict[str, Any] = {"ssl": self._tls, "ssl_handshake_timeout": STARTING} if secure else {}
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, client, **tls)
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    # --- the service behind it ----------------------------------------------------------------------------------------

    def login(self, user: str, password: str, dataset: str) -> Session:
        """A session of the analyst whose token the password is."""
        try:
            transport = Transport(self.url, password, context=self._service)
            name = str(transport.get("/api/me")["name"])
        except (CuratorRefused, BadParameter, KeyError, TypeError):
            name = ""
        if not name or name != user:
            raise Refused("28P01", "The user must be the analyst's name, and the password the analyst's token.")
        allowed = [str(one["name"]) for one in transport.get("/api/datasets")]
        if dataset not in allowed and dataset == user and len(allowed) == 1:
            dataset = allowed[0]  # clients name the user's where no database was said
        if dataset not in allowed:
            raise Refused("3D000", f"The database must be one of {', '.join(allowed) or 'none: nothing may be asked'}.")
        remote = RemoteSession(transport, dataset, transport.get(f"/api/datasets/{quote(dataset, safe='')}"))
        return Session(remote, user, self.catalog)

    def catalog(self, remote: RemoteSession, user: str) -> Catalog:
        """The catalogue of a data set; the last ones are kept."""
        key = (remote.dataset, user, json.dumps(remote.schema, sort_keys=True))
        with self._lock:
            found = self._catalogs.get(key)
            if found is None:
                found = self._catalogs[key] = Catalog(remote.dataset, user, remote.schemas)
                if len(self._catalogs) > _CATALOGS:
                    self._catalogs.popitem(last=False)
            self._catalogs.move_to_end(key)
        return found


def check_secure(host: str, certificate: Path | None) -> None:
    """Refuse an address that others can reach, without TLS: tokens would travel as they are."""
    if certificate is None and not is_loopback(host):
        raise BadParameter("server.wire", host, "must be on this machine (127.0.0.1), or have a certificate for TLS")


def is_loopback(address: str) -> bool:
    """Whether an address is of this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("10.0.0.1"), is_loopback("localhost")
    (True, True, False, True)
    """
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


async def _settings_within(reader: asyncio.StreamReader) -> dict[str, str]:
    """The startup message, within TLS."""
    size, code = struct.unpack("!ii", await reader.readexactly(8))
    if not 8 <= size <= messages.LARGEST_STARTUP or code >> 16 != messages.VERSION_3:
        raise Malformed
    return messages.read_settings(await reader.readexactly(size - 8))


async def _received(client: socket.socket, size: int) -> bytes:
    loop, parts = asyncio.get_running_loop(), bytearray()
    while len(parts) < size:
        part = await loop.sock_recv(client, size - len(parts))
        if not part:
            raise Malformed
        parts += part
    return bytes(parts)


async def _sent(client: socket.socket, body: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(client, body)


# --- as a process of its own ------------------------------------------------------------------------------------------


def start(config: Path) -> subprocess.Popen[bytes]:
    """The port of a curator.toml, in a process that ends with this one."""
    return subprocess.Popen([sys.executable, "-m", WireServer.__module__, str(config)])  # noqa: S603


def main(config: Path) -> None:
    """Serve until stopped."""
    found = read_config(config)
    _limit_memory()
    logs.set_up(as_json=found.log == "json")
    if found.wire is None:
        raise BadParameter("server.wire", None, "must be a port in curator.toml")
    host = "127.0.0.1" if found.host in {"0.0.0.0", "::", ""} else found.host  # noqa: S104
    url = f"{'http' if found.certificate is None else 'https'}://{f'[{host}]' if ':' in host else host}:{found.port}"
    server = WireServer(
        url, found.host, found.wire, found.certificate, found.certificate_key, trusted=found.certificate
    )
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, _leave)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(server.serve())


def _limit_memory() -> None:
    """A query of the catalogue can make a text of any length, which the limit of its database does not count."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = MOST_MEMORY if hard == resource.RLIM_INFINITY else min(MOST_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def _leave(*_: object) -> NoReturn:
    os._exit(0)  # threads may wait for the service; nothing here is to be kept


def _leave_with(parent: int) -> None:
    """End when the service that started this process has ended."""
    wait = threading.Event()
    while os.getppid() == parent:
        wait.wait(1.0)
    _leave()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
