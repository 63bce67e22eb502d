"""Positive numbers known from both sides, with a fixed number of bits: for long sums and products.

Promise: if the truth of each operand lies in its interval, the truth of the result lies in the result.
Believes: Python's integers. A result keeps ``bits`` bits, the lower side rounded down, the upper side up.

Fractions would do, but they grow and look for common factors; here a term costs a microsecond.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

_BITS = 192


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers between ``low * 2^exponent`` and ``high * 2^exponent``, 0 <= low <= high.

    >>> third = Interval.of(Fraction(1, 3))
    >>> third.lower <= Fraction(1, 3) <= third.upper, third.lower < third.upper
    (True, True)
    """

    low: int
    high: int
    exponent: int

    @classmethod
    def of(cls, low: Fraction, high: Fraction | None = None) -> Interval:
        """The smallest interval around one number, or around all numbers between two."""
        high = low if high is None else high
        exponent = high.numerator.bit_length() - high.denominator.bit_length() - _BITS
        scale = Fraction(2) ** -exponent
        return cls(int(low * scale), -int(-high * scale // 1), exponent)

    @property
    def lower(self) -> Fraction:
        """The lower side, exact."""
        return self.low * Fraction(2) ** self.exponent

    @property
    def upper(self) -> Fraction:
        """The upper side, exact."""
        return self.high * Fraction(2) ** self.exponent

    def __mul__(self, other: Interval) -> Interval:
        return _cut(self.low * other.low, self.high * other.high, self.exponent + other.exponent)

    def __truediv__(self, other: Interval) -> Interval:
        shift = _BITS + other.high.bit_length()
        low, high = (self.low << shift) // other.high, -((-self.high << shift) // other.low)
        return _cut(low, high, self.exponent - other.exponent - shift)

    def times(self, p: int, q: int = 1) -> Interval:
        """This times p/q, for positive integers (p may be 0)."""
        shift = q.bit_length()
        return _cut((self.low * p << shift) // q, -((-self.high * p << shift) // q), self.exponent - shift)

    def __add__(self, other: Interval) -> Interval:
        if not self.high or not other.high:
            return self if self.high else other
        a, b = (self, other) if self.exponent >= other.exponent else (other, self)
        shift = a.exponent - b.exponent
        if shift > 4 * _BITS and (full := a._full()).exponent >= b.exponent + b.high.bit_length():
            return Interval(full.low, full.high + 1, full.exponent)  # b is below the last bit of a
        return a._wide(b, shift)

    def _full(self) -> Interval:
        """The same, with no fewer bits than are kept."""
        shift = max(0, _BITS - self.high.bit_length())
        return Interval(self.low << shift, self.high << shift, self.exponent - shift)

    def _wide(self, other: Interval, shift: int) -> Interval:
        return _cut((self.low << shift) + other.low, (self.high << shift) + other.high, other.exponent)

    def minus(self, other: Interval) -> Interval:
        """This minus the other, cut off at 0 from below."""
        if not other.high:
            return self
        shift = self.exponent - other.exponent
        if shift > 4 * _BITS and (full := self._full()).exponent >= other.exponent + other.high.bit_length():
            return Interval(max(0, full.low - 1), full.high, full.exponent)  # the other is below the last bit of this
        if shift < -4 * _BITS and self.exponent + self.high.bit_length() <= other.exponent:
            return ZERO if other.low else Interval(0, self.high, self.exponent)
        exponent = min(self.exponent, other.exponent)
        here, there = self.exponent - exponent, other.exponent - exponent
        low = (self.low << here) - (other.high << there)
        high = (self.high << here) - (other.low << there)
        return _cut(max(0, low), max(0, high), exponent)

    def higher(self, other: Interval) -> bool:
        """Whether the upper side lies above the other's; never writes out a power of two."""
        return _above(self.high, self.exponent, other.high, other.exponent)

    def surer(self, other: Interval) -> bool:
        """Whether the lower side lies above the other's."""
        return _above(self.low, self.exponent, other.low, other.exponent)


ZERO = Interval(0, 0, 0)


def _above(a: int, a_exponent: int, b: int, b_exponent: int) -> bool:
    """Whether a 2^a_exponent > b 2^b_exponent, for non-negative a and b."""
    if not a or not b:
        return a > b
    size = a.bit_length() + a_exponent - b.bit_length() - b_exponent
    if size:
        return size > 0
    shift = a_exponent - b_exponent  # no more than the bits of one of the two
    return a << shift > b if shift >= 0 else a > b << -shift


def _cut(low: int, high: int, exponent: int) -> Interval:
    """The same, with no more bits than are kept."""
    shift = high.bit_length() - _BITS
    if shift <= 0:
        return Interval(low, high, exponent)
    return Interval(low >> shift, -(-high >> shift), exponent + shift)


def power(base: Interval, n: int) -> Interval:
    """The n-th power, n >= 0, by squaring.

    >>> power(Interval.of(Fraction(3)), 4).upper
    Fraction(81, 1)
    """
    result, square = Interval(1, 1, 0), base
    while n:
        if n & 1:
            result = result * square
        square = square * square
        n >>= 1
    return result
