"""Words for questions without SQL: columns with operators, and aggregates. ``frame.py`` has the verbs that use them.

Wherever a verb wants an expression, a text is SQL (``"cost / 2"``, ``"year = 2025"``; a lone word is a column) and an
``Expr`` is what it says. Beside an operator, and in ``is_in`` and its like, a text is a text.

>>> from discreet.query.front import verbs as dp
>>> dp.col("cost") > 100
Expr(cost > 100)
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import NoReturn, Self, cast

from discreet.errors import BadQuestion, Unsupported
from discreet.query.front.methods import Methods, Plain
from discreet.query.front.sql.expressions import expression
from discreet.query.front.sql.functions import MEDIAN, part
from discreet.query.functions.catalogue import FUNCTIONS
from discreet.query.plan.evaluate import text_to_moment
from discreet.query.plan.expressions import Literal
from discreet.query.plan.nodes import Aggregate
from discreet.query.resolve.unresolved import Apply, Name, Output, Said, Total, Windowed, apply, checked_text, literal
from discreet.query.resolve.unresolved import count as count_of

MOST_PARTS = 10_000
DEEPEST = 100


def _not_a_method(name: str) -> Callable[..., NoReturn]:
    """An aggregate that somebody may look for in a column: refused by name, with where it is."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise Unsupported(f"{name} as a method of a column", f'write .agg(x=dp.agg.{name}("cost")) of the rows')

    refuse.__doc__ = f"Refused: write ``dp.agg.{name}``."
    return refuse


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Expr(Methods):
    """An expression, perhaps with a name. Operators make new ones; nothing is computed."""

    said: Said
    name: str | None = None
    parts: int = 1
    depth: int = 1

    def __post_init__(self) -> None:
        if self.parts > MOST_PARTS or self.depth > DEEPEST:
            raise BadQuestion("an expression is too large; ask more simply")

    def _call(self, function: str, *arguments: object) -> Self:
        return cast("Self", _apply(function, self, *arguments))

    def alias(self, name: str) -> Expr:
        """The same under another name."""
        return replace(self, name=checked_text(name))

    def __repr__(self) -> str:
        return f"Expr({_shown(self.said)})"

    def __bool__(self) -> NoReturn:
        raise BadQuestion("an expression is not true or false by itself; join conditions with & and |, not and and or")

    # --- numbers ------------------------------------------------------------------------------------------------------

    def __add__(self, other: Expr | Plain) -> Expr:
        return _apply("add", self, other)

    def __radd__(self, other: Plain) -> Expr:
        return _apply("add", other, self)

    def __sub__(self, other: Expr | Plain) -> Expr:
        return _apply("sub", self, other)

    def __rsub__(self, other: Plain) -> Expr:
        return _apply("sub", other, self)

    def __mul__(self, other: Expr | Plain) -> Expr:
        return _apply("mul", self, other)

    def __rmul__(self, other: Plain) -> Expr:
        return _apply("mul", other, self)

    def __truediv__(self, other: Expr | Plain) -> Expr:
        return _apply("div", self, other)

    def __rtruediv__(self, other: Plain) -> Expr:
        return _apply("div", other, self)

    def __floordiv__(self, other: Expr | Plain) -> Expr:
        return _apply("quotient", self, other)

    def __mod__(self, other: Expr | Plain) -> Expr:
        return _apply("mod", self, other)

    def __pow__(self, power: int) -> Expr:
        return _apply("power", self, power)

    def __neg__(self) -> Expr:
        return _apply("neg", self)

    def __abs__(self) -> Expr:
        return _apply("abs", self)

    # --- conditions ---------------------------------------------------------------------------------------------------

    def __eq__(self, other: Expr | Plain) -> Expr:  # type: ignore[override]
        return _apply("eq", self, other)

    def __ne__(self, other: Expr | Plain) -> Expr:  # type: ignore[override]
        return _apply("ne", self, other)

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Expr | Plain) -> Expr:
        return _apply("lt", self, other)

    def __le__(self, other: Expr | Plain) -> Expr:
        return _apply("le", self, other)

    def __gt__(self, other: Expr | Plain) -> Expr:
        return _apply("gt", self, other)

    def __ge__(self, other: Expr | Plain) -> Expr:
        return _apply("ge", self, other)

    def __and__(self, other: Expr) -> Expr:
        return _apply("and", self, other)

    def __or__(self, other: Expr) -> Expr:
        return _apply("or", self, other)

    def __invert__(self) -> Expr:
        return _apply("not", self)

    def is_in(self, values: Iterable[Plain]) -> Expr:
        """One of the values."""
        return _apply("in", self, *values)

    def between(self, low: Expr | Plain, high: Expr | Plain) -> Expr:
        """Not below low and not above high."""
        return (self >= low) & (self <= high)

    def not_null(self) -> Expr:
        """Not NULL."""
        return ~self.is_null()

    # --- text ---------------------------------------------------------------------------------------------------------

    # --- what has another place ---------------------------------------------------------------------------------------

    sum, mean, median, min, max, count, quantile, stddev, variance = map(
        _not_a_method, ("sum", "mean", "median", "min", "max", "count", "quantile", "stddev", "variance")
    )

    # --- dates and times ----------------------------------------------------------------------------------------------

    def part(self, name: str) -> Expr:
        """A part of a date or time: year, quarter, month, day, isodow, doy, hour, minute, second."""
        return Expr(part(name, self.said), parts=self.parts + 2, depth=self.depth + 2)

    def trunc(self, unit: str) -> Expr:
        """The beginning of its year, quarter, month, week, day, hour or minute."""
        return _apply("date_trunc", unit.lower(), self)

    def until(self, later: Expr | date | str, unit: str = "day") -> Expr:
        """How many beginnings of the unit lie between it and a later date or time, perhaps SQL as text."""
        is_sql = isinstance(later, str) and text_to_moment(later) is None
        return _apply("date_diff", unit.lower(), self, expr(later) if is_sql else later)  # type: ignore[arg-type]

    def cast(self, to: str) -> Expr:
        """As ``integer``, ``decimal``, ``real``, ``text``, ``date``, ``timestamp`` or ``boolean``; NULL if it fails."""
        if to not in _CASTS:
            raise BadQuestion(f"a cast is to one of {', '.join(_CASTS)}")
        return _apply(f"cast_{to}", self)


_CASTS = [name.removeprefix("cast_") for name in FUNCTIONS if name.startswith("cast_")]


def _expr(value: object) -> Expr:
    return value if isinstance(value, Expr) else Expr(literal(value))


def _apply(function: str, *arguments: object) -> Expr:
    return _over([_expr(a) for a in arguments], lambda said: apply(function, *said), function)


def _over(inside: Sequence[Expr], make: Callable[[Sequence[Said]], Said], function: str = "") -> Expr:
    """A new expression over others. Its size is known before it is made: shared parts count as often as they stand."""
    parts = 1 + builtins.sum(one.parts for one in inside)
    same = [function in ("and", "or") and isinstance(e.said, Apply) and e.said.function == function for e in inside]
    depth = builtins.max((e.depth if flat else e.depth + 1 for e, flat in zip(inside, same, strict=True)), default=1)
    Expr(_NOTHING, None, parts, depth)  # refuses what is too large
    return Expr(make([one.said for one in inside]), None, parts, depth)


_NOTHING = Literal(None)


def expr(given: Expr | str, name: str | None = None) -> Expr:
    """What a verb was given: an expression, or SQL as text."""
    found = given
    if isinstance(given, str):
        read = expression(given)
        found = Expr(read.said, read.name, *_measured(read.said))
    if not isinstance(found, Expr):
        raise BadQuestion("a verb needs an expression, or SQL as text")
    return found if name is None else found.alias(name)


def _measured(said: Said) -> tuple[int, int]:
    """Parts and depth of what was read from a text, which is a tree of bounded size."""
    match said:
        case Apply(arguments=arguments):
            inside = [_measured(a) for a in arguments]
        case Total(arguments=arguments, where=where):
            inside = [_measured(a) for a in (*arguments, *(() if where is None else (where,)))]
        case _:
            inside = []
    return 1 + builtins.sum(p for p, _ in inside), 1 + builtins.max((d for _, d in inside), default=0)


def output(given: Expr | str, name: str | None = None) -> Output:
    """One thing that a verb was given."""
    found = expr(given, name)
    return Output(found.said, found.name)


# --- making -----------------------------------------------------------------------------------------------------------


def col(name: str) -> Expr:
    """A column by its name, whatever characters the name has."""
    if not isinstance(name, str) or not name:
        raise BadQuestion("a column is named by a text")
    return Expr(Name(name))


def lit(value: Plain) -> Expr:
    """A constant; a text is a text here, not SQL."""
    return Expr(literal(value))


def case(*branches: tuple[Expr | str, Expr | Plain], otherwise: Expr | Plain = None) -> Expr:
    """The value of the first branch (condition, value) that is true; ``otherwise`` if none is."""
    if not branches:
        raise BadQuestion("case needs at least one pair of a condition and a value")
    parts = [part for when, then in branches for part in (expr(when), _expr(then))]
    return _over([*parts, _expr(otherwise)], lambda said: apply("case", *said))


def grouping(*keys: Expr | str) -> Expr:
    """Which keys a row of ``rollup`` or ``cube`` is a total over: a bit for each, 1 for a total, the last key lowest.

    It tells the total, whose key is NULL, from a group whose key is NULL. It costs nothing.

    >>> grouping("clinic", "year")
    Expr(grouping(clinic, year))
    """
    if not keys:
        raise BadQuestion("grouping needs at least one key")
    return _over([expr(key) for key in keys], lambda said: apply("grouping", *said))


def _total(
    aggregate: Aggregate, *arguments: Expr | str, where: Expr | str | None, level: Fraction | None = None
) -> Expr:
    def make(said: Sequence[Said]) -> Said:
        many = len(arguments)
        if aggregate is Aggregate.COUNT:
            return count_of(*said[:many], where=None if where is None else said[many])
        return Total(aggregate, tuple(said[:many]), None if where is None else said[many], level)

    return _over([expr(a) for a in (*arguments, *([] if where is None else [where]))], make)


def count(x: Expr | str | None = None, *, where: Expr | str | None = None) -> Expr:
    """How many rows; with an expression, how many where it is not NULL."""
    return _total(Aggregate.COUNT, *([] if x is None else [x]), where=where)


def count_distinct(x: Expr | str, *, where: Expr | str | None = None) -> Expr:
    """How many distinct values; of the unit, how many units."""
    return _total(Aggregate.COUNT_DISTINCT, x, where=where)


def sum(x: Expr | str, *, where: Expr | str | None = None) -> Expr:
    """The sum."""
    return _total(Aggregate.SUM, x, where=where)


def mean(x: Expr | str, *, where: Expr | str | None = None) -> Expr:
    """The average."""
    return _total(Aggregate.AVG, x, where=where)


def variance(x: Expr | str, *, where: Expr | str | None = None) -> Expr:
    """The sample variance."""
    return _total(Aggregate.VARIANCE, x, where=where)


def stddev(x: Expr | str, *, where: Expr | str | None = None) -> Expr:
    """The sample standard deviation."""
    return _total(Aggregate.STDDEV, x, where=where)


def covariance(x: Expr | str, y: Expr | str, *, where: Expr | str | None = None) -> Expr:
    """The sample covariance."""
    return _total(Aggregate.COVARIANCE, x, y, where=where)


def correlation(x: Expr | str, y: Expr | str, *, where: Expr | str | None = None) -> Expr:
    """The correlation."""
    return _total(Aggregate.CORRELATION, x, y, where=where)


def median(x: Expr | str, *, where: Expr | str | None = None) -> Expr:
    """The value in the middle."""
    return _total(Aggregate.QUANTILE, x, where=where, level=MEDIAN)


def quantile(x: Expr | str, level: str | float | Fraction | Decimal, *, where: Expr | str | None = None) -> Expr:
    """The value below which a share of the rows lies: ``quantile("cost", "0.9")``."""
    try:
        share = Fraction(str(level)) if not isinstance(level, Fraction) else level
    except (ValueError, ZeroDivisionError):
        raise BadQuestion("the level of a quantile must be a number from 0 to 1, such as 0.9") from None
    if not 0 <= share <= 1:
        raise BadQuestion("the level of a quantile must be a number from 0 to 1, such as 0.9")
    return _total(Aggregate.QUANTILE, x, where=where, level=share)


def min(x: Expr | str, *, where: Expr | str | None = None) -> Expr:
    """The smallest value."""
    return _total(Aggregate.MIN, x, where=where)


def max(x: Expr | str, *, where: Expr | str | None = None) -> Expr:
    """The largest value."""
    return _total(Aggregate.MAX, x, where=where)


# --- showing ----------------------------------------------------------------------------------------------------------

_SIGNS = {one.name: one.sign[0].lower() for one in FUNCTIONS.values() if one.sign[0]}


def _shown(said: Said) -> str:
    match said:
        case Name(column=column):
            return column
        case Literal(value=value):
            return str(value) if isinstance(value, Fraction) else "NULL" if value is None else repr(value)
        case Total(aggregate=aggregate, arguments=arguments):
            return f"{aggregate.value}({', '.join(_shown(a) for a in arguments) or '*'})"
        case Windowed(function=function, arguments=arguments):
            return f"{function}({', '.join(_shown(a) for a in arguments)}) over (...)"
        case Apply(function=function, arguments=arguments):
            inside = [_shown(a) for a in arguments]
            if function in _SIGNS:
                return f" {_SIGNS[function]} ".join(f"({i})" if " " in i else i for i in inside)
            return f"{function}({', '.join(inside)})"
