"""Replies leave on a grid of time, so that the time an answer took reveals as little as possible.

Promise: a reply to a question leaves a whole number of quanta after the request began, whatever it is: an answer, a
refusal or a failure. No reply contains a time. An answer is stored in the middle between two lines, so that
polling for it reveals no more than the reply itself.
What is left: how many quanta it took, if the work takes longer than one; choose a quantum longer than most questions.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid with one line every ``quantum`` seconds after the request began."""

    quantum: float

    def wait(self, began: float, now: float) -> float:
        """How long to wait from now until the next line.

        >>> Grid(0.25).wait(began=10.0, now=10.1)
        0.15
        >>> Grid(0.25).wait(began=10.0, now=10.25)
        0.0
        """
        lines = max(1, math.ceil(round((now - began) / self.quantum, 9)))
        return max(0.0, round(began + lines * self.quantum - now, 9))

    def hold(
        self,
        began: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Wait, in a thread, for the next middle between two lines."""
        target = clock()
        target += self.wait(began - self.quantum / 2, target)
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
