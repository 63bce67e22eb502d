"""Replies leave on a grid of time, so that the time an answer took reveals as little as possible.

Promise: a reply to a question leaves on a line of the grid after the request began, whatever it is: an answer, a
refusal or a failure. No reply contains a time. An answer is stored half a quantum before a line, so that polling for it
reveals no more than the reply itself.

Three grids. *Geometric* (the default): lines at 1, 4, 16, 64, ... quanta. Whatever one person adds to a time is hidden
unless it crosses a line. A person who makes a question take r times as long (r up to 4) moves its reply by one line at
most, and with probability log4(r) if the time lies anywhere on a scale of ratios: 7 % for 10 % more, 50 % for twice as
long. *Double*: lines at 1, 2, 4, 8, ... quanta: an answer waits for twice its time at most, not four times, and log2(r)
takes the place of log4(r). *Even*: lines at every quantum: faster, and a person whose rows take several quanta is seen
for certain. What is left: on which line. A quantum longer than all questions take leaves nothing.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

Steps = Literal["geometric", "double", "even"]


@dataclass(frozen=True, slots=True)
class Grid:
    """Lines after the request began: at 1, 4, 16, ... quanta; at 1, 2, 4, ...; or ``even``: at 1, 2, 3, ... quanta."""

    quantum: float
    steps: Steps = "geometric"

    def line(self, passed: float) -> float:
        """The first line at or after so many seconds, in seconds after the request began.

        >>> [Grid(0.25).line(t) for t in (0.1, 0.3, 0.6, 1.1)]
        [0.25, 1.0, 1.0, 4.0]
        >>> [Grid(0.25, "double").line(t) for t in (0.1, 0.3, 0.6, 1.1)]
        [0.25, 0.5, 1.0, 2.0]
        >>> [Grid(0.25, "even").line(t) for t in (0.1, 0.3, 0.6, 1.1)]
        [0.25, 0.5, 0.75, 1.25]
        """
        quanta = max(1, math.ceil(round(passed / self.quantum, 9)))
        if self.steps == "even":
            return self.quantum * quanta
        bits = (quanta - 1).bit_length()
        return self.quantum * (1 << (bits if self.steps == "double" else bits + bits % 2))

    @property
    def words(self) -> str:
        """When replies leave, and what their time tells of one person.

        >>> Grid(0.25, "double").words
        'Replies leave after 0.25, 0.5, 1, 2, ... s. A person who makes a query take 10% longer moves its reply to the \
next of these times with probability 14%; one who makes it take twice as long, 100%.'
        """
        factors = {"geometric": (1, 4, 16, 64), "double": (1, 2, 4, 8), "even": (1, 2, 3, 4)}[self.steps]
        times = ", ".join(f"{self.quantum * factor:g}" for factor in factors)
        if self.steps == "even":
            return (
                f"Replies leave after {times}, ... s. A person who makes a query take {self.quantum:g} s longer is "
                f"seen for certain; one who makes it take {self.quantum / 10:g} s longer, with probability 10%."
            )
        slower, twice = (round(100 * math.log(ratio, factors[1])) for ratio in (1.1, 2))
        return (
            f"Replies leave after {times}, ... s. A person who makes a query take 10% longer moves its reply to the "
            f"next of these times with probability {slower}%; one who makes it take twice as long, {twice}%."
        )

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
