"""How much one analyst may ask of the service at once: so many requests a second, so many under way, so large.

Promise: what is refused here is refused by public things alone, the requests themselves and the clock; nothing is
spent. All numbers are per server process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from fractions import Fraction
from threading import Lock

from discreet.curator.error_replies import Refusal
from discreet.errors import BadParameter, BadQuestion
from discreet.exact import number
from discreet.query.estimate.prepare import Prepared
from discreet.query.plan.nodes import scans


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the owner lets one analyst use; in the ``[limits]`` part of curator.toml."""

    requests_per_second: Fraction = Fraction(50)
    """How many requests of one analyst are taken, on average."""
    burst: int = 100
    """So many requests may come at once before the rate counts."""
    under_way: int = 8
    """Requests of one analyst that are being answered at the same time."""
    body: int = 1 << 16
    """Bytes of a request."""
    patience: Fraction = Fraction(10)
    """Seconds in which the body of a request must have come, and a question wait for its turn."""
    groups: int = 100_000
    """Rows of an answer; of all answers of a workload."""
    tables: int = 16
    """Tables read in one question or workload, each time that one is named."""
    planning: Fraction = Fraction(5)
    """Seconds of CPU that a preview may take, or the plan of a question before it is paid."""
    deadline: Fraction = Fraction(60)
    """Seconds after which the engine is stopped: for all that one question reads, one time after the other. The charge
    stands."""
    memory: int = 2 << 30
    """Bytes that the engine may use."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = number(getattr(self, field.name), field.name)
            if value <= 0:
                raise BadParameter(field.name, value, "must be above 0")
            if field.type == "int":
                if value.denominator != 1:
                    raise BadParameter(field.name, value, "must be an integer")
                object.__setattr__(self, field.name, int(value))
            else:
                object.__setattr__(self, field.name, value)


_MOST_NAMES = 10_000


class Meter:
    """Counts the requests of each analyst. Many threads may use it.

    >>> meter = Meter(Limits(requests_per_second=1, burst=2), clock=lambda: 0.0)
    >>> meter.count("ann"), meter.count("ann")
    (None, None)
    >>> meter.count("ann")
    Traceback (most recent call last):
        ...
    discreet.curator.error_replies.Refusal: too many requests; wait a little
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._tokens: dict[str, tuple[float, float]] = {}
        self._under_way: dict[str, int] = {}
        self._lock = Lock()

    def count(self, name: str) -> None:
        """Count a request, or refuse it: a bucket that holds ``burst`` and fills at the rate."""
        burst, rate = float(self._limits.burst), float(self._limits.requests_per_second)
        with self._lock:
            now = self._clock()
            level, since = self._tokens.get(name, (burst, now))
            level = min(burst, level + (now - since) * rate)
            if len(self._tokens) > _MOST_NAMES:
                self._tokens.clear()
            self._tokens[name] = (level - 1 if level >= 1 else level, now)
            if level < 1:
                raise Refusal(429, "TooMany", "too many requests; wait a little")

    @contextmanager
    def under_way(self, name: str) -> Iterator[None]:
        """Hold one of the places of an analyst while a request is answered, or refuse it."""
        with self._lock:
            many = self._under_way.get(name, 0)
            if many >= self._limits.under_way:
                raise Refusal(429, "TooMany", "too many requests at the same time; wait for an answer")
            self._under_way[name] = many + 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way[name] -= 1
                if not self._under_way[name]:
                    del self._under_way[name]


def check_number(questions: int, limits: Limits) -> None:
    """Refuse more questions at once than tables may be read, before any of them is looked at."""
    if questions > limits.tables:
        raise BadQuestion(f"these are {questions} queries at once, and at most {limits.tables} are allowed")


def check_size(questions: Sequence[Prepared], limits: Limits) -> None:
    """Refuse questions that are too large, all together, by their plans alone."""
    parts = [part for question in questions for part in question.parts]
    groups = sum(math.prod(len(key.typed.keys) for key in part.keys if key.typed.keys is not None) for part in parts)
    if groups > limits.groups:
        raise BadQuestion(f"the answer would have {groups:,} rows, and at most {limits.groups:,} are sent")
    tables = sum(len(scans(part.source)) for part in parts)
    if tables > limits.tables:
        raise BadQuestion(f"tables are read {tables} times here, and at most {limits.tables} times is allowed")
