"""Replies leave on a grid of time, so that the time an answer took reveals as little as possible.

Promise: a reply to a question leaves on a line of the grid after the request began, whatever it is: an answer, a
refusal or a failure. No reply contains a time. An answer is stored half a quantum before a line, so that polling for it
reveals no more than the reply itself.

Two grids. *Geometric* (the default): lines at 1, 4, 16, 64, ... quanta. Whatever one person adds to a time is hidden
unless it crosses a line. A person who makes a question take r times as long (r up to 4) moves its reply by one line at
most, and with probability log4(r) if the time lies anywhere on a scale of ratios: 7 % for 10 % more, 50 % for twice as
long. *Even*: lines at every quantum: faster, and a person whose rows take several quanta is seen for certain.
What is left: on which line. A quantum longer than all questions take leaves nothing.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grid:
    """Lines after the request began: at 1, 4, 16, ... quanta, or ``even``: at 1, 2, 3, ... quanta."""

    quantum: float
    even: bool = False

    def line(self, passed: float) -> float:
        """The first line at or after so many seconds, in seconds after the request began.

        >>> [Grid(0.25).line(t) for t in (0.1, 0.3, 0.6, 1.1)]
        [0.25, 1.0, 1.0, 4.0]
        >>> [Grid(0.25, even=True).line(t) for t in (0.1, 0.3, 0.6, 1.1)]
        [0.25, 0.5, 0.75, 1.25]
        """
        quanta = max(1, math.ceil(round(passed / self.quantum, 9)))
        return self.quantum * (quanta if self.even else 4 ** (((quanta - 1).bit_length() + 1) // 2))

    def wait(self, began: float, now: float) -> float:
        """How long to wait from now until the next line.

        >>> Grid(0.25).wait(began=10.0, now=10.1)
        0.15
        >>> Grid(0.25).wait(began=10.0, now=10.25)
        0.0
        """
        return max(0.0, round(began + self.line(now - began) - now, 9))

    def hold(
        self,
        began: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Wait, in a thread, until half a quantum before a line."""
        now, before = clock(), self.quantum / 2
        target = began + self.line(now - began + before) - before
        while (left := target - clock()) > 0:
            sleep(left)

    async def keep(
        self,
        began: float,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Wait for the next line of the grid; a clock that comes too early is waited for again."""
        target = clock()
        target += self.wait(began, target)
        while (left := target - clock()) > 0:
            await sleep(left)
