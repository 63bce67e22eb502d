"""Where a stream stands, kept by somebody who never goes back: a ledger, or this process.

Promise: positions only grow, and each state goes on from the one before: of two streams that were restored from one
state, only one goes on, however many steps the other takes at once. A state that is written before its answer leaves,
together with its position, can be restored after a crash and gives the same answer again, not another one; an older
state is refused, since going on from it would answer the same steps twice with fresh noise. A record that was closed
takes no further state, so no stream of it answers again.
"""

from __future__ import annotations

import hashlib
import os
from threading import Lock
from typing import NoReturn, Protocol

from discreet.errors import NotATheorem, StaleState


class Record(Protocol):
    """What a ledger has to keep of one stream, durably and in one step.

    >>> record: Record = MemoryRecord()
    >>> record.advance(1, b"state", after=0)
    >>> record.position(), record.latest()
    (1, b'state')
    """

    def position(self) -> int:
        """How many steps have been answered."""
        ...

    def advance(self, position: int, state: bytes, *, after: int) -> None:
        """Store a state and its position, or raise StaleState unless exactly ``after`` steps, fewer, were answered.

        After ``close`` it raises NotATheorem.
        """
        ...

    def latest(self) -> bytes | None:
        """The state of that position, if there is one."""
        ...

    def close(self) -> None:
        """No step is answered any more, by whatever stream. Closing twice is the same as once."""
        ...

    def closed(self) -> bool:
        """Whether it was closed."""
        ...


def too_old(answered: int, position: int) -> StaleState:
    """The error for a state that is not the last one; every record raises it in these words."""
    return StaleState(
        f"{answered} steps were answered already, so a state after {position} of them is too old; restore the state "
        "that was saved last"
    )


def was_closed() -> NotATheorem:
    """The error for a stream that was closed; every record raises it in these words."""
    return NotATheorem("this stream was closed, and something else may have been asked since; open another one")


class MemoryRecord:
    """A record in this process: for streams that live no longer, and for tests.

    It can be neither copied, nor stored, nor used after a fork: each copy would let the same steps be answered again.

    >>> record = MemoryRecord()
    >>> record.advance(3, b"three", after=0)
    >>> record.advance(7, b"seven", after=2)
    Traceback (most recent call last):
        ...
    discreet.errors.StaleState: 3 steps were answered already, so a state after 2 of them is too old; ...
    """

    __slots__ = ("_closed", "_lock", "_position", "_process", "_state")

    def __init__(self) -> None:
        self._position = 0
        self._state: bytes | None = None
        self._closed = False
        self._lock = Lock()
        self._process = os.getpid()

    def position(self) -> int:
        """How many steps have been answered."""
        return self._position

    def advance(self, position: int, state: bytes, *, after: int) -> None:
        """Store a state and its position, if it goes on from the one that is stored."""
        self._check_process()
        with self._lock:
            if self._closed:
                raise was_closed()
            if after != self._position or position <= after:
                raise too_old(self._position, min(after, position))
            self._position, self._state = position, state

    def latest(self) -> bytes | None:
        """The state of that position."""
        self._check_process()
        return self._state

    def close(self) -> None:
        """No more steps."""
        with self._lock:
            self._closed = True

    def closed(self) -> bool:
        """Whether there are no more steps."""
        return self._closed

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise NotATheorem("a record in memory belongs to the process that made it; a fork may have doubled it")

    def __reduce__(self) -> NoReturn:
        raise NotATheorem("a record can be neither copied nor stored: two copies would let steps be answered twice")


def check_latest(record: Record, position: int, state: bytes) -> None:
    """Refuse a state that is not the one that was written last."""
    latest = record.latest()
    if record.position() != position or latest is None or not _same(latest, state):
        raise too_old(record.position(), position)


def _same(first: bytes, second: bytes) -> bool:
    return hashlib.sha256(first).digest() == hashlib.sha256(second).digest()
