"""A port for clients of PostgreSQL, in a thread of this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from discreet.curator.wire.server import WireServer


@contextmanager
def listening(url: str, **more: Any) -> Iterator[int]:
    """The port of a server in a thread of this process."""
    server, loop = WireServer(url, "127.0.0.1", 0, **more), asyncio.new_event_loop()
    began: asyncio.Future[int] = loop.create_future()
    task = loop.create_task(server.serve(began))

    def run() -> None:
        loop.run_until_complete(asyncio.wait([task]))
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()

    thread = threading.Thread(target=run)
    port = asyncio.run_coroutine_threadsafe(_of(began), loop)
    thread.start()
    try:
        yield port.result(30)
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()


async def _of(future: asyncio.Future[int]) -> int:
    return await future


def about(port: int, password: str, user: str = "ann", **more: Any) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": port, "user": user, "password": password, "dbname": "town", **more}
