"""What a column or an expression holds: exact numbers, text, truth, dates, times.

Promise: a number is an integer count of a public step, between two public ends. All arithmetic on it is integer
arithmetic that cannot overflow, so every engine computes the same, in any row order. Floats are turned into such
numbers when they are read (their declared bounds give the step), or can only be compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import ClassVar, TypeAlias

LARGEST = 1 << 62
"""No number has more cells than this; typing keeps what is computed from two of them within 64 bits."""

Value: TypeAlias = int | str | bool | date | datetime | Fraction | None
"""What a literal or a key may be: a Fraction for a number, never a float."""


@dataclass(frozen=True, slots=True)
class Number:
    """``cells * step`` with ``low <= cells <= high``.

    An integer has step 1, a DECIMAL(10, 2) step 1/100, a float column a power of two that follows from its bounds.

    >>> Number(Fraction(1, 100), 0, 500).ends
    (Fraction(0, 1), Fraction(5, 1))
    """

    step: Fraction
    low: int
    high: int

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The least and the largest value."""
        return self.low * self.step, self.high * self.step


@dataclass(frozen=True, slots=True)
class Seconds(Number):
    """A number of seconds that stands for something else: it is compared with its like, read by EXTRACT, and is a
    number only as its EPOCH. What else can be done with it is in its file in ``query/functions``.
    """

    WRITTEN: ClassVar[str] = "an INTERVAL '2 days'"
    """How a constant of it is written."""

    @staticmethod
    def cells_of(text: str) -> int | None:
        """What a constant text beside it says; None if it says none."""
        return None


@dataclass(frozen=True, slots=True)
class Duration(Seconds):
    """How long something lasts: it is added to its like, too, and its aggregates are numbers of seconds."""


@dataclass(frozen=True, slots=True)
class TimeOfDay(Seconds):
    """When in a day, to the second: seconds since midnight."""

    WRITTEN: ClassVar[str] = "22:30 or 22:30:00"

    @staticmethod
    def cells_of(text: str) -> int | None:
        """The seconds of a text such as 22:30 or 22:30:00.

        >>> TimeOfDay.cells_of("22:30"), TimeOfDay.cells_of("24:00")
        (81000, None)
        """
        clock = _CLOCK.fullmatch(text)
        return (
            None if clock is None else sum(int(part or 0) * n for part, n in zip(clock.groups(), _PARTS, strict=True))
        )


_CLOCK, _PARTS = re.compile("([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:[.]0{1,6})?)?"), (3600, 60, 1)


@dataclass(frozen=True, slots=True)
class Real:
    """A float without bounds: it can be compared, tested for NULL, and clamped; nothing else."""


@dataclass(frozen=True, slots=True)
class Text:
    """Unicode text, compared by code point; of at most ``longest`` code points, if that is known."""

    longest: int | None = None


@dataclass(frozen=True, slots=True)
class Boolean:
    """True or false."""


@dataclass(frozen=True, slots=True)
class Date:
    """A day, between two public ends (years 1 to 9999 unless declared)."""

    low: date = date.min
    high: date = date.max


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A moment without a time zone, to the microsecond, between two ends; moments with a zone are read as UTC."""

    low: datetime = datetime.min
    high: datetime = datetime.max


Kind: TypeAlias = Number | Real | Text | Boolean | Date | Timestamp
