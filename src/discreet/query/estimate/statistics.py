"""Statistics: the few exact sums that all answers are made of. Each is released with noise once, however often used.

A statistic is linear in the weights of the rows of a group (or a number of different values), so one bounding serves
all, and one unit moves it by at most its ``bound`` times what the unit weighs.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TypeAlias

from discreet.errors import BadQuestion
from discreet.messages import message
from discreet.query.plan.expressions import Call, Expression, Literal, Remembers
from discreet.query.plan.types import Number
from discreet.query.typing.infer import Typed

FINEST = 1 << 30
"""A value that is summed has at most this many cells: finer ones are rounded, far below the noise."""
COARSE = 1 << 20
MOST_BINS = 4096
LARGEST_SUMMED = 10**100
"""Larger numbers are not summed: the square of a noisy sum must still be a float."""
LARGEST_ORDERED = 10**300


@dataclass(frozen=True, slots=True)
class Rows(Remembers):
    """Σ over rows of weight · value, where |value| <= bound cells of ``step``."""

    value: Expression
    bound: int
    step: Fraction
    beside: tuple[Expression, ...] = ()
    """The values of the other parts of a range: all parts are at least 0 and together at most ``bound``, so that their
    sums together move no further than one of them may, and cost as one."""
    one_sign: bool = False
    """Whether no two values have different signs: then to change a unit moves the sum no further than to remove it."""
    by_length: bool = False
    """Whether the parts together are at most ``bound`` in length (L2), not in sum: then noise must be Gaussian."""
    clip: int | None = None
    """The length, in cells, to which a unit's own sums over all groups are scaled down. None: rows are weighed."""
    most: int | None = None
    """How many rows of a unit count here, where that was chosen apart; else as many as the caps say."""

    def __hash__(self) -> int:
        """Computed once: noise, shares and estimates are looked up by their statistic again and again."""
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", hash((self.value, self.bound, self.step, self.beside, self.clip)))
            return self._hash


@dataclass(frozen=True, slots=True)
class Units:
    """The number of units that have a row in the group."""


@dataclass(frozen=True, slots=True)
class Distinct:
    """The number of different values."""

    value: Expression
    own: bool = False
    """Whether the value is the unit's own id or NULL: then a unit has at most one in each group."""
    most: int | None = None
    """How many pairs of group and value a unit keeps, where that was chosen; else as many as the caps say."""


@dataclass(frozen=True, slots=True)
class Bins:
    """How many rows fall into each of ``bins`` bins of equal width, from ``low``; ``value`` is a row's bin."""

    value: Expression
    bins: int
    low: Fraction
    width: Fraction
    whole: bool
    """Whether the values are whole numbers, each in a bin of its own."""
    high: Fraction | None = None
    """The largest value, where the last bin ends beyond it."""
    most: int | None = None
    """How many rows of a unit count here, where that was chosen apart; else as many as the caps say."""


@dataclass(frozen=True, slots=True)
class QuantileCells:
    """How many rows fall into a few cells of bins around the quantiles of these levels, wherever they are."""

    bins: Bins
    levels: tuple[Fraction, ...]
    """In order."""

    @property
    def value(self) -> Expression:
        """A row's bin."""
        return self.bins.value


Statistic: TypeAlias = Rows | Units | Distinct | Bins | QuantileCells


def most_rows(statistic: Statistic) -> int | None:
    """How many rows of a unit count in it, where that was chosen apart from the caps."""
    match statistic:
        case QuantileCells(bins=bins):
            return bins.most
        case Rows(most=most) | Bins(most=most):
            return most
        case _:
            return None


ONE = Literal(1)
ZERO = Literal(0)


def paid_with(statistic: Statistic) -> Hashable:
    """The same for statistics that are paid for together: the parts of one range; any other is paid for alone."""
    if isinstance(statistic, Rows) and statistic.beside:
        return frozenset((statistic.value, *statistic.beside)), statistic.bound, statistic.step
    return statistic


def paid_share(statistic: Statistic) -> Fraction:
    """Which share of an event a statistic is: all parts of a range, each drawn once, are one event."""
    return Fraction(1, 1 + len(statistic.beside)) if isinstance(statistic, Rows) else Fraction(1)


def number(typed: Typed, what: str, largest: int = LARGEST_SUMMED) -> Number:
    """The kind of an argument that must be a bounded number, of a size that floats can tell whatever the noise is."""
    if not isinstance(typed.kind, Number):
        raise BadQuestion(f"{what} needs a number with bounds", message("declare_its_bounds"))
    if typed.kind.low == typed.kind.high or not typed.kind.step:
        raise BadQuestion(f"{what} of a constant says nothing of the data: use COUNT(*)")
    low, high = typed.kind.ends
    if max(abs(low), abs(high)) > largest or high - low < Fraction(1, largest):
        raise BadQuestion(
            f"{what} of numbers beyond 1e{len(str(largest)) - 1} in size, or that differ by less than the inverse of "
            "that, cannot be answered in floats",
            message("narrow_bounds"),
        )
    return typed.kind


def count(argument: Typed | None, where: Expression | None, *, once: bool = False) -> Rows | Units:
    """How many rows, or how many whose argument is not NULL; units, if each unit counts once in a group."""
    value: Expression = ONE
    if once and where is None and (argument is None or not argument.nullable):
        return Units()
    if argument is not None and argument.nullable:
        value = Call("case", (Call("is_null", (argument.lowered,)), ZERO, ONE))
    return Rows(_only(value, where), 1, Fraction(1), one_sign=True)


@dataclass(frozen=True, slots=True)
class CountParts:
    """Rows in which an argument has a value, and those in which it has none: a row is in one of them."""

    present: Rows
    absent: Rows


def count_parts(argument: Typed, where: Expression | None) -> CountParts:
    """The two numbers of rows, for the price of one."""
    null = Call("is_null", (argument.lowered,))
    values = [_only(Call("case", (null, *labels)), where) for labels in ((ZERO, ONE), (ONE, ZERO))]
    present, absent = (
        Rows(value, 1, Fraction(1), (other,), one_sign=True) for value, other in (values, reversed(values))
    )
    return CountParts(present, absent)


@dataclass(frozen=True, slots=True)
class Centred:
    """An argument counted from the middle of its range: x = centre + cells · step, |cells| <= reach."""

    cells: Expression
    reach: int
    step: Fraction
    centre: Fraction
    low: Fraction
    high: Fraction


def centred(argument: Typed, what: str, finest: int = FINEST) -> Centred:
    """The argument minus the middle of its public range, on a grid of at most ``finest`` cells each way."""
    kind = number(argument, what)
    middle = (kind.low + kind.high) // 2
    reach = max(kind.high - middle, middle - kind.low)
    cells: Expression = Call("sub", (argument.lowered, Literal(middle)))
    low, high = kind.ends
    coarser = -(-reach // finest)
    if coarser > 1:
        cells = Call("round_div", (cells, Literal(coarser)))
        reach = -(-reach // coarser)
    return Centred(cells, reach, kind.step * coarser, middle * kind.step, low, high)


def total(argument: Typed, where: Expression | None, what: str) -> Rows:
    """Σ of the argument itself, not centred: for a sum that is asked alone."""
    kind = number(argument, what)
    reach = max(abs(kind.low), abs(kind.high))
    cells: Expression = argument.lowered
    coarser = -(-reach // FINEST)
    if coarser > 1:
        cells = Call("round_div", (cells, Literal(coarser)))
        reach = -(-reach // coarser)
    return Rows(_only(cells, where), reach, kind.step * coarser, one_sign=kind.low >= 0 or kind.high <= 0)


@dataclass(frozen=True, slots=True)
class Clipped:
    """Σ (x - centre), each unit scaled down to a length, with how x is counted."""

    total: Rows
    x: Centred


def clipped_total(argument: Typed, where: Expression | None, clip: int, centre: int = 0) -> Clipped:
    """Σ (x - centre), each unit scaled down to a length of ``clip`` cells, on a grid of at most ``FINEST`` of them."""
    kind = number(argument, "SUM")
    low, high = max(kind.low, centre - clip), min(kind.high, centre + clip)
    cells: Expression = Call("read_integer", (argument.lowered, Literal(low), Literal(high)))
    if centre:
        cells = Call("sub", (cells, Literal(centre)))
    coarser = -(-clip // FINEST)
    if coarser > 1:
        cells = Call("round_div", (cells, Literal(coarser)))
    length, step = -(-clip // coarser), kind.step * coarser
    one_sign = kind.low >= centre or kind.high <= centre
    total = Rows(_only(cells, where), length, step, one_sign=one_sign, clip=length)
    return Clipped(total, Centred(cells, length, step, centre * kind.step, *kind.ends))


def centred_total(x: Centred, where: Expression | None) -> Rows:
    """Σ (x - centre)."""
    return Rows(_only(x.cells, where), x.reach, x.step)


@dataclass(frozen=True, slots=True)
class Sides:
    """Σ(x - low) and Σ(high - x): how far the rows lie above and below the ends of their range, in all.

    With range = high - low, their sum is range · n, and (high · above + low · below) / range is Σx: so two numbers for
    the price of one give the count, the sum and the mean. Rows where x is NULL add nothing to either; with ``absent``
    they add the range to a third number, which costs nothing more, and the three together count all rows.

    Gaussian noise pays for length, and there is more room in a ball than in a simplex: there a row without a value adds
    ``null_side`` to both sides and ``null_absent`` to the third number, so that less noise is in the count of all rows.
    """

    above: Rows
    below: Rows
    low: Fraction
    range: Fraction
    whole: bool
    """Whether Σx is a whole number."""
    absent: Rows | None = None
    null_side: Fraction = Fraction(0)
    null_absent: Fraction = Fraction(1)


NULL_SIDE = Fraction(7071, 20_000)
"""Which share of the range a row without a value adds to each side: some half of √½, so that the count of all rows is
1.45 times as noisy as one asked alone (√3 with 0, √2 with √½), and an average hardly more than with 0 (√½: 12 %)."""


def sides(
    argument: Typed, where: Expression | None, what: str, *, absent: bool = False, by_length: bool = False
) -> Sides:
    """The two sides of an argument's public range, on a grid as fine as one from its middle: twice ``FINEST`` cells.

    ``by_length``: for Gaussian noise only, with less of it in the number of all rows.
    """
    kind = number(argument, what)
    reach, coarser = kind.high - kind.low, 1
    up: Expression = Call("sub", (argument.lowered, Literal(kind.low)))
    if reach > 2 * FINEST:
        coarser = -(-reach // (2 * FINEST))
        up, reach = Call("round_div", (up, Literal(coarser))), -(-reach // coarser)
    down: Expression = Call("sub", (Literal(reach), up))
    null, side, rest = Call("is_null", (argument.lowered,)), 0, reach
    if absent and by_length and (side := int(NULL_SIDE * reach)):
        rest = isqrt(reach * reach - 2 * side * side)
        up, down = (Call("case", (null, Literal(side), value)) for value in (up, down))
    values = [_only(up, where), _only(down, where)]
    if absent:
        values.append(_only(Call("case", (null, Literal(rest), ZERO)), where))
    step = kind.step * coarser
    parts = [
        Rows(v, reach, step, tuple(other for other in values if other is not v), one_sign=True, by_length=side > 0)
        for v in values
    ]
    whole = kind.step.denominator == 1 and coarser == 1
    third = parts[2] if absent else None
    return Sides(parts[0], parts[1], kind.ends[0], reach * step, whole, third, side * step, rest * step)


@dataclass(frozen=True, slots=True)
class Product:
    """Σ ((x - cx)(y - cy) - offset): the products lie in [offset - reach, offset + reach]."""

    statistic: Rows
    offset: Fraction


def product(x: Centred, y: Centred, where: Expression | None) -> Product:
    """Σ of products (or squares, which are centred once more, as they are never below 0)."""
    cells: Expression = Call("mul", (x.cells, y.cells))
    step = x.step * y.step
    reach = x.reach * y.reach
    middle = reach // 2 if x == y else 0
    if middle:
        cells = Call("sub", (cells, Literal(middle)))
        reach -= middle
    coarser = -(-reach // FINEST)
    if coarser > 1:
        cells = Call("round_div", (cells, Literal(coarser)))
        reach = -(-reach // coarser)
    return Product(Rows(_only(cells, where), reach, step * coarser), middle * step)


def bins(argument: Typed, where: Expression | None, what: str) -> Bins:
    """The public bins of a bounded number: one for each value if there are few, else 4096 of equal width."""
    kind = number(argument, what, LARGEST_ORDERED)
    span = kind.high - kind.low + 1
    width = -(-span // MOST_BINS)
    cells: Expression = Call("sub", (argument.lowered, Literal(kind.low)))
    if width > 1:
        cells = Call("floor_div", (cells, Literal(width)))
    if where is not None:
        cells = Call("case", (where, cells, Literal(None)))
    many = -(-span // width)
    whole = width == 1 and kind.step == 1
    return Bins(cells, many, kind.low * kind.step, width * kind.step, whole, kind.high * kind.step)


def _only(value: Expression, where: Expression | None) -> Expression:
    return value if where is None else Call("case", (where, value, ZERO))
