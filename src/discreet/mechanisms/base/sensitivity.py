"""How far an exact answer moves between neighbours, in the norm that was proven.

``L1(v)``, ``L2(v)`` and ``Linf(v)`` say which norm; a plain number is a length on the line, where all three agree. A
mechanism converts to the norm it needs, never too small:
L1 <= d Linf, L1 <= sqrt(d) L2, L2 <= L1, L2 <= sqrt(d) Linf; and for vectors of integers L1 <= L2^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from discreet.errors import BadParameter
from discreet.exact import Number, positive, sqrt_up
from discreet.privacy.promises.record import Record


@dataclass(frozen=True, slots=True, init=False, repr=False)
class L1(Record):
    """The sum of the absolute moves of all entries is at most ``value``."""

    value: Fraction

    def __init__(self, value: Number) -> None:
        self.fill(value=positive(value, "sensitivity"))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class L2(Record):
    """The root of the sum of squared moves is at most ``value``; give ``squared`` where it is not rational.

    >>> L2(squared=2)
    L2(squared=2)
    """

    squared: Fraction

    def __init__(self, value: Number | None = None, *, squared: Number | None = None) -> None:
        if (value is None) == (squared is None):
            raise BadParameter("sensitivity", value, "must be given, or its square, and not both")
        square = positive(squared, "sensitivity") if squared is not None else positive(value or 0, "sensitivity") ** 2
        self.fill(squared=square)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Linf(Record):
    """Each entry moves by at most ``value``.

    >>> Linf("1/2")
    Linf(value='1/2')
    """

    value: Fraction

    def __init__(self, value: Number) -> None:
        self.fill(value=positive(value, "sensitivity"))


Sensitivity: TypeAlias = Number | L1 | L2 | Linf


def as_l1(sensitivity: Sensitivity, dimension: int, *, whole: bool) -> Fraction:
    """An upper bound of the L1 length; ``whole``: the answers are integers.

    >>> as_l1(Linf(2), 10, whole=True), as_l1(L2(2), 100, whole=True), as_l1("1/2", 1, whole=False)
    (Fraction(20, 1), Fraction(4, 1), Fraction(1, 2))
    """
    match sensitivity:
        case L1(value=v):
            return v
        case L2(squared=s):
            general = sqrt_up(s * dimension)
            return Fraction(int(min(general, s))) if whole else general
        case Linf(value=v):
            return v * dimension
        case _:
            return _on_the_line(sensitivity, dimension)


def as_l2_squared(sensitivity: Sensitivity, dimension: int) -> Fraction:
    """An upper bound of the squared L2 length.

    >>> as_l2_squared(L1(3), 10), as_l2_squared(Linf(2), 10)
    (Fraction(9, 1), Fraction(40, 1))
    """
    match sensitivity:
        case L1(value=v):
            return v * v
        case L2(squared=s):
            return s
        case Linf(value=v):
            return v * v * dimension
        case _:
            return _on_the_line(sensitivity, dimension) ** 2


def _on_the_line(sensitivity: Number, dimension: int) -> Fraction:
    value = positive(sensitivity, "sensitivity")
    if dimension > 1:
        raise BadParameter("sensitivity", sensitivity, "must say its norm for a vector: L1(v), L2(v) or Linf(v)")
    return value
