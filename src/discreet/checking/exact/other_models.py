"""Local randomizers and streams, as ``check`` and ``audit`` take them: with an input, an exact law and a claim.

Promise: what is checked is the law that the randomizer writes down, or the exact rows of a stream with the noise that
they get; nothing here adds or hides anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from discreet.continual.release import Plan, Stream
from discreet.local.means import MeanOracle
from discreet.local.oracle import Oracle
from discreet.mechanisms.statistics.budget import Noise
from discreet.privacy.promises.events import Event
from discreet.randomness import Bits, SystemBits


@dataclass(frozen=True, slots=True)
class OneReport:
    """One person's report: neighbours are any two values of the same person.

    >>> from discreet.local.response import response
    >>> one = OneReport(response(k=3, epsilon=1))
    >>> len(one.law(0)), len(one.pairs())
    (3, 3)
    """

    oracle: Oracle | MeanOracle

    @property
    def event(self) -> Event:
        """What one report costs its sender."""
        return self.oracle.event

    def read(self, value: Any) -> int:
        """A value, by its number."""
        return int(value)

    def law(self, value: int) -> dict[bytes, tuple[Fraction, Fraction]]:
        """The exact law that the randomizer writes down."""
        return {report: (chance, chance) for report, chance in self.oracle.law(value).items()}

    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of values."""
        return list(combinations(range(self.oracle.k), 2))

    def story(self) -> str:
        """What it is called in a report."""
        return f"one report of {self.oracle!r}"

    def __call__(self, value: int) -> bytes:
        """A report, for ``audit``."""
        return self.oracle.client(value) if isinstance(self.oracle, Oracle) else _sent(self.oracle, value)


def _sent(oracle: MeanOracle, value: int) -> bytes:
    return bytes(oracle.randomize(np.array([value]), SystemBits())[0].tobytes())


@dataclass(frozen=True, slots=True)
class WholeStream:
    """All noisy rows of a stream of one key: neighbours differ in the steps that one unit may appear in."""

    plan: Plan
    steps: int
    """How many steps it has."""

    @property
    def noise(self) -> Noise:
        """What each row gets."""
        return self.plan.noise

    @property
    def event(self) -> Event:
        """What the whole stream costs."""
        return self.plan.event

    def read(self, values: Sequence[int]) -> tuple[int, ...]:
        """The exact rows of these values."""
        rows = self.plan.start(1).measure(np.array(values, dtype=np.int64)[:, None])
        return tuple(rows.ravel().tolist())

    def pairs(self, appearances: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """A unit that adds one in each of so many steps, whichever they are."""
        nothing = (0,) * self.steps
        return [
            (nothing, tuple(int(i in chosen) for i in range(self.steps)))
            for chosen in combinations(range(self.steps), appearances)
        ]

    def story(self) -> str:
        """What it is called in a report."""
        return f"a stream of {self.steps} steps: {self.plan.strategy.story()}"

    def __call__(self, values: Sequence[int], bits: Bits | None = None) -> tuple[float, ...]:
        """All estimates, for ``audit``."""
        stream = Stream(self.plan, 1, None, bits)
        return tuple(stream.push(np.array(values, dtype=np.int64)[:, None])[:, 0].tolist())
