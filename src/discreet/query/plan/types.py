"""What a column or an expression holds: exact numbers, text, truth, dates, times.

Promise: a number is an integer count of a public step, between two public ends. All arithmetic on it is integer
arithmetic that cannot overflow, so every engine computes the same, in any row order. Floats are turned into such
numbers when they are read (their declared bounds give the step), or can only be compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeAlias

LARGEST = 1 << 62
"""No number has more cells than this; typing keeps what is computed from two of them within 64 bits."""

Value: TypeAlias = int | str | bool | date | datetime | Fraction | None
"""What a literal or a key may be: a Fraction for a number, never a float."""


class AnyKind:
    """What every kind can say of itself; those with a range say more. Refusals name it by ``WORDS``."""

    __slots__ = ()
    WORDS: ClassVar[str]

    def joined(self, other: Any) -> Self:
        """The least kind that holds both; the other is of the same sort, a number on the same step."""
        return self

    def common(self, other: Any) -> Self | None:
        """What both hold; None if that is nothing, or not known."""
        return None

    def within(self, low: Any, high: Any) -> Self:
        """The part between two ends, of which None is none; all of it where no value would be left."""
        return self

    def holds(self, value: Value) -> bool:
        """Whether a value of this kind lies between its ends."""
        return True


@dataclass(frozen=True, slots=True)
class Number(AnyKind):
    """``cells * step`` with ``low <= cells <= high``.

    An integer has step 1, a DECIMAL(10, 2) step 1/100, a float column a power of two that follows from its bounds.

    >>> Number(Fraction(1, 100), 0, 500).ends
    (Fraction(0, 1), Fraction(5, 1))
    """

    WORDS: ClassVar[str] = "a number"
    step: Fraction
    low: int
    high: int

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The least and the largest value."""
        return self.low * self.step, self.high * self.step

    def joined(self, other: Any) -> Self:
        """From the lower end to the upper."""
        return replace(self, low=min(self.low, other.low), high=max(self.high, other.high))

    def common(self, other: Any) -> Self | None:
        """The cells of both, on one step."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return replace(self, low=low, high=high) if self.step == other.step and low <= high else None

    def within(self, low: Any, high: Any) -> Self:
        """The cells between two ends."""
        a = max(self.low, low) if isinstance(low, int) else self.low
        b = min(self.high, high) if isinstance(high, int) else self.high
        return self if a > b else replace(self, low=a, high=b)


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

    WORDS: ClassVar[str] = "a duration"


@dataclass(frozen=True, slots=True)
class TimeOfDay(Seconds):
    """When in a day, to the second: seconds since midnight."""

    WORDS: ClassVar[str] = "a time of day"
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
class Real(AnyKind):
    """A float without bounds: it can be compared, tested for NULL, and clamped; nothing else."""

    WORDS: ClassVar[str] = "a number without bounds"


@dataclass(frozen=True, slots=True)
class Text(AnyKind):
    """Unicode text, compared by code point; of at most ``longest`` code points, if that is known."""

    WORDS: ClassVar[str] = "text"
    longest: int | None = None

    def joined(self, other: Any) -> Self:
        """Of the longer length, if both are known."""
        ends = None if self.longest is None or other.longest is None else max(self.longest, other.longest)
        return replace(self, longest=ends)

    def common(self, other: Any) -> Self | None:
        """As the other says."""
        return replace(self, longest=other.longest)


@dataclass(frozen=True, slots=True)
class Boolean(AnyKind):
    """True or false."""

    WORDS: ClassVar[str] = "true or false"


@dataclass(frozen=True, slots=True)
class Temporal(AnyKind):
    """A day or a time, between two public ends."""

    low: date = date.min
    high: date = date.max

    def joined(self, other: Any) -> Self:
        """From the first end to the last."""
        return type(self)(min(self.low, other.low), max(self.high, other.high))

    def common(self, other: Any) -> Self | None:
        """From the later beginning to the earlier end."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return type(self)(low, high) if low <= high else None

    def within(self, low: Any, high: Any) -> Self:
        """The moments between two ends, if these are of its own type."""
        first = max(self.low, low) if isinstance(low, type(self.low)) else self.low
        last = min(self.high, high) if isinstance(high, type(self.high)) else self.high
        return self if first > last else type(self)(first, last)

    def holds(self, value: Value) -> bool:
        """Whether it is not before or after."""
        return not isinstance(value, type(self.low)) or self.low <= value <= self.high

    def begins(self, day: date) -> date:
        """The first moment of a day."""
        return day

    def ends(self, day: date) -> date:
        """The last moment of a day."""
        return day


@dataclass(frozen=True, slots=True)
class Date(Temporal):
    """A day; years 1 to 9999 unless declared."""

    WORDS: ClassVar[str] = "a date"
    low: date = date.min
    high: date = date.max


@dataclass(frozen=True, slots=True)
class Timestamp(Temporal):
    """A moment without a time zone, to the microsecond; moments with a zone are read as UTC."""

    WORDS: ClassVar[str] = "a time"
    low: datetime = datetime.min
    high: datetime = datetime.max

    def begins(self, day: date) -> datetime:
        """Its midnight."""
        return datetime.combine(day, time.min)

    def ends(self, day: date) -> datetime:
        """The last microsecond before the next midnight."""
        return datetime.combine(day, time.max)


Kind: TypeAlias = Number | Real | Text | Boolean | Temporal
