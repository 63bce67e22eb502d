"""The methods of ``Expr``, one for each function. Written by ``python -m tools.functions``: do not edit."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Self, TypeAlias

Plain: TypeAlias = int | float | Fraction | Decimal | str | bool | date | None
"""What may stand beside an operator, besides another expression."""


class Methods:
    """Functions of one expression; the records in ``query/functions`` say what they mean."""

    __slots__ = ()

    def _call(self, function: str, *arguments: object) -> Self:
        raise NotImplementedError

    def sqrt(self) -> Self:
        """The root, down to its step; NULL below 0."""
        return self._call("sqrt")

    def ln(self) -> Self:
        """The natural logarithm; NULL from 0 down."""
        return self._call("ln")

    def log10(self) -> Self:
        """The logarithm to base 10; NULL from 0 down."""
        return self._call("log10")

    def log2(self) -> Self:
        """The logarithm to base 2; NULL from 0 down."""
        return self._call("log2")

    def exp(self) -> Self:
        """e to the power of x."""
        return self._call("exp")

    def abs(self) -> Self:
        """Without its sign."""
        return self._call("abs")

    def sign(self) -> Self:
        """-1, 0 or 1."""
        return self._call("sign")

    def least(self, *others: Self | Plain) -> Self:
        """The least of numbers, texts, dates or times; NULL if one is NULL."""
        return self._call("least", *others)

    def greatest(self, *others: Self | Plain) -> Self:
        """The greatest of numbers, texts, dates or times; NULL if one is NULL."""
        return self._call("greatest", *others)

    def round(self, digits: int | None = None) -> Self:
        """Rounded to so many digits after the point; halves away from zero."""
        return self._call("round", *(() if digits is None else (digits,)))

    def floor(self) -> Self:
        """The largest integer that is not above it."""
        return self._call("floor")

    def ceil(self) -> Self:
        """The smallest integer that is not below it."""
        return self._call("ceil")

    def truncate(self) -> Self:
        """The integer next to it towards zero."""
        return self._call("trunc")

    def clamp(self, low: Plain, high: Plain) -> Self:
        """Beyond the constant bounds, the nearest of them."""
        return self._call("clamp", low, high)

    def bucket(self, low: Plain, high: Plain, buckets: int) -> Self:
        """The number of its bucket among n of equal width, from 1; 0 below them, n + 1 above."""
        return self._call("width_bucket", low, high, buckets)

    def is_null(self) -> Self:
        """NULL."""
        return self._call("is_null")

    def or_else(self, *others: Self | Plain) -> Self:
        """The first that is not NULL."""
        return self._call("coalesce", *others)

    def null_if(self, other: Self | Plain) -> Self:
        """NULL where it equals the other."""
        return self._call("nullif", other)

    def like(self, pattern: str) -> Self:
        """Matches a pattern in which % is any text and _ any character."""
        return self._call("like", pattern)

    def ilike(self, pattern: str) -> Self:
        """Matches a pattern, A to Z and a to z being the same."""
        return self._call("ilike", pattern)

    def starts_with(self, text: str) -> Self:
        """Begins with the text."""
        return self._call("starts_with", text)

    def ends_with(self, text: str) -> Self:
        """Ends with the text."""
        return self._call("ends_with", text)

    def contains(self, text: str) -> Self:
        """Holds the text."""
        return self._call("contains", text)

    def matches(self, pattern: str) -> Self:
        """A regular expression of a small language is found in it (see below)."""
        return self._call("regexp_matches", pattern)

    def extract(self, pattern: str, group: int = 0) -> Self:
        """What a regular expression matches first, or a group of it; empty if nothing."""
        return self._call("regexp_extract", pattern, group)

    def regexp_replace(self, pattern: str, new: str, flags: str = "") -> Self:
        """With a new text for the first match; for all of them with the flag g. A group is backslash and number."""
        return self._call("regexp_replace", pattern, new, flags)

    def lower(self) -> Self:
        """With A to Z as a to z."""
        return self._call("lower")

    def upper(self) -> Self:
        """With a to z as A to Z."""
        return self._call("upper")

    def trim(self) -> Self:
        """Without spaces at both ends."""
        return self._call("trim")

    def ltrim(self) -> Self:
        """Without spaces at the beginning."""
        return self._call("ltrim")

    def rtrim(self) -> Self:
        """Without spaces at the end."""
        return self._call("rtrim")

    def length(self) -> Self:
        """How many characters."""
        return self._call("length")

    def substring(self, start: int, count: int | None = None) -> Self:
        """From a place, the first being 1, so many characters."""
        return self._call("substring", start, *(() if count is None else (count,)))

    def left(self, count: int) -> Self:
        """So many characters from the beginning."""
        return self._call("left", count)

    def right(self, count: int) -> Self:
        """So many characters from the end."""
        return self._call("right", count)

    def replace(self, old: str, new: str) -> Self:
        """With a new text in each place of an old one, both constant."""
        return self._call("replace", old, new)

    def lpad(self, length: int, fill: str = " ") -> Self:
        """Of this length: filled on the left with one character, or cut."""
        return self._call("lpad", length, fill)

    def rpad(self, length: int, fill: str = " ") -> Self:
        """Of this length: filled on the right with one character, or cut."""
        return self._call("rpad", length, fill)

    def split_part(self, separator: str, place: int) -> Self:
        """The n-th part between separators; empty beyond the last."""
        return self._call("split_part", separator, place)

    def concat(self, *others: Self | str) -> Self:
        """One text after the other; NULL if one of them is."""
        return self._call("concat", *others)

    def add_days(self, days: int) -> Self:
        """So many constant days later, within years 1 to 9999."""
        return self._call("add_days", days)

    def add_seconds(self, seconds: int) -> Self:
        """So many constant seconds later, within years 1 to 9999."""
        return self._call("add_seconds", seconds)

    def add_months(self, months: int) -> Self:
        """So many constant months later, at most on the last day of the month, within years 1 to 9999."""
        return self._call("add_months", months)

    def strftime(self, form: str) -> Self:
        """Text of %Y %y %m %d %F %j %u %V %B %b %A %a, and %H %M %S of a time; names are English."""
        return self._call("strftime", form)
