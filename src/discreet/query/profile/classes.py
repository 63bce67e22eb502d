"""The public classes into which a profile sorts units and values: nothing in them depends on data.

Sizes (rows of a unit, groups of a unit) have two classes per doubling: 1, 2, 3, 4-5, 6-7, 8-11, 12-15, ..., and one for
all sizes beyond the largest cap. Numbers have one class per sign and power of two, dates one per year.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.query.answer.suggest import CELLS
from discreet.query.choose.classes import SIGNED_POWERS, by_size, power_of_two
from discreet.query.functions.typed_values import Typed
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.types import Kind, Number, Real

LARGEST_CAP = 1 << 16
FIRST_YEAR, LAST_YEAR = 1899, 2101
"""Years before and after these are counted with them."""


def _starts() -> tuple[int, ...]:
    doublings = (1 << k for k in range(LARGEST_CAP.bit_length()))
    starts = [start for power in doublings for start in ((power,) if power < 2 else (power, power * 3 // 2))]
    return tuple(start for start in starts if start <= LARGEST_CAP)


STARTS = _starts()
"""The smallest size of each class; the last class has no end.

>>> STARTS[:8], STARTS[-1]
((1, 2, 3, 4, 6, 8, 12, 16), 65536)
"""


def size_class(size: Expression) -> Typed:
    """The class of a size of at least 1, by its place in ``STARTS``."""
    places = tuple(range(len(STARTS)))
    lowered = by_size(size, STARTS[1:], places)
    return Typed(Number(Fraction(1), 0, places[-1]), nullable=False, keys=places, lowered=lowered)


def value_class(column: str, kind: Kind) -> Typed:
    """The class of a value: of a date, by its year; of a number, which ``signed_cells`` has read, by its size.

    NULL is a class of its own, the last one (a number: engines are slow with a NULL among listed keys).
    """
    if isinstance(kind, Number | Real):
        return _or_null(Column(CELLS), power_of_two(Column(CELLS)), SIGNED_POWERS)
    year = Call("year", (Column(column),))
    clamped = Call("least", (Call("greatest", (year, Literal(FIRST_YEAR))), Literal(LAST_YEAR)))
    return _or_null(Column(column), clamped, tuple(range(FIRST_YEAR, LAST_YEAR + 1)))


def _or_null(x: Expression, label: Expression, labels: tuple[int, ...]) -> Typed:
    null = labels[-1] + 1
    lowered = Call("case", (Call("is_null", (x,)), Literal(null), label))
    return Typed(Number(Fraction(1), labels[0], null), nullable=False, keys=(*labels, null), lowered=lowered)


def value_ends(power: int, step: Fraction) -> tuple[Fraction, Fraction]:
    """The values of a class of ``power_of_two``: from 2^(k-1) to 2^k steps, and the negatives of those.

    >>> value_ends(3, Fraction(1)), value_ends(-1, Fraction(1, 2))
    ((Fraction(4, 1), Fraction(8, 1)), (Fraction(-1, 1), Fraction(-1, 2)))
    """
    if power == 0:
        return Fraction(0), Fraction(0)
    near, far = (1 << (abs(power) - 1)) * step, (1 << abs(power)) * step
    return (near, far) if power > 0 else (-far, -near)
