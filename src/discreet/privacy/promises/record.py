"""How the records of this package are built and shown: exact fields, checked once, never changed.

Promise: ``eval(repr(record)) == record`` for a record that fits on a few lines; a longer one ends in "...". A number is
shown as it was meant: 0.5, 1/3, 1e-06, or rounded up to six digits when it is longer than a line.
Believes: a subclass is a frozen dataclass with slots whose constructor calls ``fill`` once.
"""

from __future__ import annotations

import dataclasses
from decimal import ROUND_CEILING, Context, Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

_SHORT = 1000
_DECIMAL = 8
_SENTENCE = 100
_FINEST = 1024
_ENTRIES, _LONGEST = 24, 1500


class Record:
    """A frozen dataclass that reads its numbers exactly and prints them as they were written."""

    __slots__ = ()

    def fill(self, **values: Any) -> None:
        """Set the fields, once, in the constructor: the fields are Fractions, what a caller writes may be text."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def shown(self) -> tuple[str, ...]:
        """The names of the fields, in the order in which they are shown and stored."""
        fields: Any = self
        return tuple(field.name for field in dataclasses.fields(fields))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={code(getattr(self, name))}" for name in self.shown())
        text = f"{type(self).__name__}({inside})"
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def brief(record: Record) -> str:
    """The record as Python, cut to what fits in a sentence."""
    text = repr(record)
    return text if len(text) <= _SENTENCE else f"{text[:_SENTENCE]}..."


def code(value: object) -> str:
    """The value as Python: whole numbers bare, fractions as text, which every constructor reads."""
    if isinstance(value, Fraction):
        return str(value.numerator) if value.denominator == 1 else repr(str(value))
    if isinstance(value, tuple):
        more = [f"... {len(value) - _ENTRIES:,} more"] if len(value) > _ENTRIES else []
        return f"[{', '.join([*map(code, value[:_ENTRIES]), *more])}]"
    return f"{type(value).__name__}.{value.name}" if isinstance(value, Enum) else repr(value)


def show(x: Fraction) -> str:
    """A number for people: decimals and short fractions as they are, anything longer rounded up to six digits.

    >>> show(Fraction(1, 2)), show(Fraction(1, 3)), show(Fraction(1, 10**6)), show(Fraction(10**9 + 1, 3 * 10**9))
    ('0.5', '1/3', '1e-06', '0.333334')
    """
    if x.denominator == 1 and abs(x.numerator) < 1_000_000:
        return str(x)
    try:
        near = float(x)
    except OverflowError:
        near = 0.0
    is_float = near and (Fraction(near) == x or Fraction(repr(near)) == x)
    if x.denominator < _SHORT and abs(x.numerator) < 10 and not (is_float and len(repr(near)) <= _DECIMAL):
        return str(x)
    if is_float:
        return repr(near)
    context = Context(prec=6, rounding=ROUND_CEILING, Emin=-99999, Emax=99999)
    return f"{context.divide(Decimal(x.numerator), Decimal(x.denominator)).normalize(context):g}"


def short_up(x: Fraction) -> Fraction:
    """x, or the next multiple of 2^-1024 above it when its denominator is longer than that.

    A price is a sum of fractions with unlike denominators; this keeps it short, at a cost that nobody can see.

    >>> short_up(Fraction(1, 3)), short_up(Fraction(1, 3**700)) > Fraction(1, 3**700)
    (Fraction(1, 3), True)
    """
    if x.denominator.bit_length() <= _FINEST + 1:
        return x
    return Fraction(-((-x.numerator << _FINEST) // x.denominator), 1 << _FINEST)


def short_down(x: Fraction) -> Fraction:
    """x, or the next multiple of 2^-1024 below it when its denominator is longer than that."""
    return -short_up(-x)
