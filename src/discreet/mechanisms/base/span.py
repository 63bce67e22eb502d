"""Intervals of rationals, for error bars of what is made from several noisy numbers.

Promise: if the truth of each operand lies in its span, the truth of the result lies in the result's span.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.exact import sqrt_down, sqrt_up


@dataclass(frozen=True, slots=True)
class Span:
    """All numbers from low to high.

    >>> Span(Fraction(-1), Fraction(2)) * Span(Fraction(-3), Fraction(1))
    Span(low=Fraction(-6, 1), high=Fraction(3, 1))
    """

    low: Fraction
    high: Fraction

    @classmethod
    def at(cls, value: Fraction | int) -> Span:
        """One number."""
        return cls(Fraction(value), Fraction(value))

    @property
    def middle(self) -> Fraction:
        """Half-way."""
        return (self.low + self.high) / 2

    def __add__(self, other: Span) -> Span:
        return Span(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Span) -> Span:
        return Span(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Span) -> Span:
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Span(min(ends), max(ends))

    def __truediv__(self, other: Span) -> Span:
        """The quotient by a span of positive numbers."""
        ends = [a / b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Span(min(ends), max(ends))

    def square(self) -> Span:
        """The squares: never below 0.

        >>> Span(Fraction(-1), Fraction(2)).square()
        Span(low=Fraction(0, 1), high=Fraction(4, 1))
        """
        ends = (self.low**2, self.high**2)
        return Span(Fraction(0) if self.low <= 0 <= self.high else min(ends), max(ends))

    def root(self) -> Span:
        """The square roots of the numbers that are not below 0."""
        return Span(sqrt_down(max(self.low, Fraction(0))), sqrt_up(max(self.high, Fraction(0))))

    def wider(self, by: Fraction) -> Span:
        """The span with a margin on both sides."""
        return Span(self.low - by, self.high + by)

    def within(self, low: Fraction | int, high: Fraction | int) -> Span:
        """The numbers moved into a range that is known to hold the truth."""
        bottom, top = Fraction(low), Fraction(high)
        return Span(min(max(self.low, bottom), top), min(max(self.high, bottom), top))

    def misses(self, low: Fraction | int, high: Fraction | int) -> bool:
        """Whether no number of it lies in a range.

        >>> Span(Fraction(-3), Fraction(-1)).misses(0, 10)
        True
        """
        return self.high < low or self.low > high
