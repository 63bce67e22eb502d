"""Connections to PostgreSQL that do not wait for ever: each statement ends in time, on this side of the line.

Promise: a call on a connection of ``limited`` returns or fails within its seconds, also when the server's process was
stopped, its machine frozen, or the network swallows everything: timeouts of the server itself do not end those. After
the time is over the connection is closed, so that nobody reads a late reply as their own.
Believes: psycopg 3 sends READY_NONE (0) to its generators whenever it has waited for a moment in vain.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from functools import lru_cache
from typing import Any

from discreet.errors import MissingExtra


@lru_cache(maxsize=16)
def limited(seconds: float) -> Any:
    """The class of connections on which every call ends after so many seconds."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("ledgers on PostgreSQL", extra="postgres") from None

    class Limited(psycopg.Connection[tuple[Any, ...]]):
        """A connection whose calls end in time."""

        def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
            """Wait for a reply of the server."""
            try:
                return super().wait(until(gen, time.monotonic() + seconds), *args, **options)
            except TimeoutError:
                self.pgconn.finish()
                raise psycopg.OperationalError("the server does not answer") from None

    return Limited


def until(waiting: Generator[Any, Any, Any], deadline: float) -> Generator[Any, Any, Any]:
    """The same generator, ended with TimeoutError when it waits in vain after the deadline.

    >>> def nothing_comes():
    ...     while True:
    ...         yield "read"
    >>> steps = until(nothing_comes(), deadline=time.monotonic() - 1)
    >>> next(steps), steps.send(1)
    ('read', 'read')
    >>> steps.send(0)
    Traceback (most recent call last):
        ...
    TimeoutError
    """
    try:
        wanted = next(waiting)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > deadline:
                raise TimeoutError
            wanted = waiting.send(ready)
    except StopIteration as done:
        return done.value
