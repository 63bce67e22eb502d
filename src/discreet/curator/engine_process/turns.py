"""Things that are lent one at a time, such as engine processes: whoever waits is served in a fair turn.

Promise: of those who wait, the name that holds the fewest is served first, and among equals the one that has waited
longest. One name never holds all: while there are several, the last one is left to others. So a slow question, or
many of one analyst, keep nobody else from an answer. The names and the clock decide, and nothing of the data.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from discreet.errors import ServiceBusy

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class _Waiting(Generic[T]):
    """Somebody who waits, and what was handed over."""

    name: str
    served: threading.Event = field(default_factory=threading.Event)
    lent: list[T] = field(default_factory=list)


class Turns(Generic[T]):
    """Lends things by name. Any number of threads may use it.

    >>> turns = Turns(["first", "second"], "engine processes")
    >>> turns.take("ann", 0)
    'second'
    >>> turns.take("ann", 0)
    Traceback (most recent call last):
        ...
    discreet.errors.ServiceBusy: you have 1 of the 2 engine processes, ...
    >>> turns.take("bob", 0)
    'first'
    """

    def __init__(self, things: Sequence[T], what: str) -> None:
        self._free = list(things)
        self._all = len(self._free)
        self._most = max(1, self._all - 1)
        """What one name may hold."""
        self._what = what
        self._held: Counter[str] = Counter()
        self._waiting: list[_Waiting[T]] = []
        self._lock = threading.Lock()

    def take(self, name: str, patience: float) -> T:
        """One of them, within these seconds; ``ServiceBusy`` says what is busy. The last one given back comes first."""
        waiting = _Waiting[T](name)
        with self._lock:
            self._waiting.append(waiting)
            self._serve()
        if not waiting.served.wait(patience):
            with self._lock:
                if not waiting.lent:
                    self._waiting.remove(waiting)
                    raise ServiceBusy(self._busy(name))
        return waiting.lent[0]

    def take_spare(self) -> T | None:
        """One that nobody waits for, if there is one; it counts for nobody."""
        with self._lock:
            return self._free.pop() if self._free and not self._waiting else None

    def give_back(self, thing: T, name: str | None = None) -> None:
        """Lend it to whoever is next."""
        with self._lock:
            if name is not None:
                self._held[name] -= 1
            self._free.append(thing)
            self._serve()

    def free(self) -> tuple[T, ...]:
        """What nobody holds now."""
        with self._lock:
            return tuple(self._free)

    def waiting(self) -> int:
        """How many wait for one now."""
        with self._lock:
            return len(self._waiting)

    def _serve(self) -> None:
        """Hand over what is free, while somebody may have it."""
        while self._free:
            allowed = [one for one in self._waiting if self._held[one.name] < self._most]
            if not allowed:
                return
            following = min(allowed, key=lambda one: self._held[one.name])
            self._waiting.remove(following)
            self._held[following.name] += 1
            following.lent.append(self._free.pop())
            following.served.set()

    def _busy(self, name: str) -> str:
        if self._all > 1 and self._held[name] >= self._most:
            return (
                f"you have {self._held[name]} of the {self._all} {self._what}, and the last one is left to others; "
                "nothing was spent, ask again when one of your queries is answered"
            )
        return f"all {self._what} ({self._all}) are busy with other queries; nothing was spent, ask again"
