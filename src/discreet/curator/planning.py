"""Previews are free, so they are limited: by CPU time, by places that analysts share, and they end with the client.

Promise: one analyst never has all places; planning that takes too long, or whose client has left, stops at the next
step. Planning reads no data, so its end depends on the questions alone. Nothing is spent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from discreet.curator.engine_process.turns import Turns
from discreet.curator.error_replies import Refusal
from discreet.curator.limits import Limits
from discreet.query.interruption import interruptible

TOGETHER = 2
"""Plans of several questions that one server process previews at the same time: others want to be answered, too."""


@dataclass(frozen=True, slots=True)
class Stop:
    """When planning ends: after so many seconds of CPU in this thread, or when the client has left."""

    seconds: float
    left: threading.Event
    began: float
    clock: Callable[[], float]

    def __call__(self) -> None:
        """Raise, if it is time."""
        if self.left.is_set():
            raise Refusal(499, "ClientLeft", "the client has left; planning was stopped")
        if self.clock() - self.began > self.seconds:
            raise Refusal(
                422,
                "TooLong",
                f"to plan this takes more than {self.seconds:g} s of work (limits.planning), and nothing was spent: "
                "send fewer queries at once, or fewer columns in each",
            )


class Planning:
    """The places for previews of one server process."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.thread_time) -> None:
        self._limits = limits
        self._clock = clock
        self._places = Turns(range(TOGETHER), "places for previews of several queries")

    @contextmanager
    def limited(self, left: threading.Event | None = None) -> Iterator[None]:
        """Stop what is planned here when it takes too long, or when ``left`` is set."""
        stop = Stop(float(self._limits.planning), left or threading.Event(), self._clock(), self._clock)
        with interruptible(stop):
            yield

    @contextmanager
    def place(self, name: str, left: threading.Event | None = None) -> Iterator[None]:
        """The same, in one of the places; ``ServiceBusy`` if none is free in time."""
        held = self._places.take(name, float(self._limits.patience))
        try:
            with self.limited(left):
                yield
        finally:
            self._places.give_back(held, name)
