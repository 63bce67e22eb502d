"""The code of a column as an expression that an engine computes on each row.

Promise: an expression sees one row. Its value is one of the listed ones, which stand for the codes of the column in
their order, NULL's last; or NULL, for a row that the domain leaves out. It means the same on every engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from fractions import Fraction
from math import ceil
from typing import Any

from discreet.errors import BadParameter
from discreet.query.functions.arithmetic import call, within
from discreet.query.functions.typed_values import TypedColumn, words
from discreet.query.plan.expressions import Call, Expression, Literal
from discreet.query.plan.expressions import Column as Stored
from discreet.query.plan.types import LARGEST, Boolean, Date, Number, Temporal, Text
from discreet.query.plan.work import WorkKey
from discreet.synthetic.columns import Bins, Categories, Column, Days, Whole

MOST_BINS = 1 << 10
"""The most bins of a column that an engine is asked for: their edges stand in the statement."""
_NOTHING = Literal(None)


def key_of(name: str, typed: TypedColumn, column: Column) -> WorkKey:
    """The key whose ``allowed`` values are the codes of this column, in order."""
    if typed.is_unit:
        raise BadParameter("column", name, "must not be the unit: it names people")
    x = Stored(name)
    match column:
        case Categories():
            return _categories(name, x, typed, column)
        case Whole(low=low, high=high):
            code = _whole(name, x, _number(name, typed), low, high)
        case Bins():
            code = _bins(name, x, _number(name, typed), column)
        case Days():
            code = _days(name, x, typed, column)
        case _:
            raise BadParameter("column", name, "must be categories, integers, bins or days")
    missing = Literal(column.values) if column.nullable else _NOTHING
    return WorkKey(name, Call("case", (call("is_null", x), missing, code)), tuple(range(column.size)))


def key_of_listed(name: str, x: Expression, listed: Sequence[Any], *, hidden: bool) -> WorkKey:
    """A key of a query whose values are listed; with ``hidden``, all that is not listed has one more code, the last.

    >>> key_of_listed("sex", Stored("sex"), ("f", "m"), hidden=True).allowed
    ('f', 'm', '(NULL)')
    """
    plain = [v for v in listed if v is not None]
    if not plain or not (all(isinstance(v, str) for v in plain) or all(type(v) is int for v in plain)):
        return WorkKey(name, _by_place(x, listed, hidden=hidden), tuple(range(len(listed) + hidden)))
    null = _unlike(plain)
    rest = Literal(_unlike([*plain, null])) if None in listed else Literal(null)
    other = rest if hidden else _NOTHING
    missing = Literal(null) if None in listed else other
    key = Call("case", (call("is_null", x), missing, Call("in", (x, *map(Literal, plain))), x, other))
    return WorkKey(name, key, (*(null if v is None else v for v in listed), *([rest.value] if hidden else [])))


def _by_place(x: Expression, listed: Sequence[Any], *, hidden: bool) -> Expression:
    """The place of a value of any kind in the list."""
    null = call("is_null", x)
    tests: list[Expression] = []
    for place, value in enumerate(listed):
        tests += [null if value is None else Call("eq", (x, Literal(value))), Literal(place)]
    return Call("case", (*tests, Literal(len(listed)) if hidden else _NOTHING))


def _number(name: str, typed: TypedColumn) -> Number:
    if not isinstance(typed.kind, Number):
        hint = "declare its bounds with dp.bounds" if words(typed) == "a number without bounds" else "list its values"
        raise BadParameter("column", name, f"must be a number with public bounds; it is {words(typed)}: {hint}")
    return typed.kind


def _whole(name: str, x: Expression, kind: Number, low: int, high: int) -> Expression:
    """The whole part, moved between the ends."""
    if kind.step.numerator != 1:
        raise BadParameter("column", name, "must have bins: its values are further apart than integers")
    parts = kind.step.denominator
    value = x if parts == 1 else call("floor_div", x, parts)
    inside = within(value, kind.low // parts, kind.high // parts, (low, high))
    return inside if low == 0 else call("sub", inside, low)


def _bins(name: str, x: Expression, kind: Number, column: Bins) -> Expression:
    """How many inner edges are not above the value, by halves."""
    if column.values > MOST_BINS:
        raise BadParameter("column", name, f"must have at most {MOST_BINS} bins; it has {column.values}: coarsen it")
    marks = [min(max(ceil(edge / kind.step), -LARGEST), LARGEST) for edge in column.edges[1:-1]]
    return _below(x, marks, 0)


def _below(x: Expression, marks: Sequence[int], before: int) -> Expression:
    if not marks:
        return Literal(before)
    middle = len(marks) // 2
    low, high = _below(x, marks[:middle], before), _below(x, marks[middle + 1 :], before + middle + 1)
    return Call("case", (call("lt", x, marks[middle]), low, high))


def _days(name: str, x: Expression, typed: TypedColumn, column: Days) -> Expression:
    """Days since the first, moved between the ends, in stretches."""
    if not isinstance(typed.kind, Temporal):
        raise BadParameter("column", name, f"must be dates or times; it is {words(typed)}")
    day = x if isinstance(typed.kind, Date) else call("timestamp_to_date", x)
    last = (column.high - column.low).days
    first, end = ((_day(at) - column.low).days for at in (typed.kind.low, typed.kind.high))
    since = within(Call("days_between", (Literal(column.low), day)), first, end, (0, last))
    return since if column.step == 1 else call("floor_div", since, column.step)


def _day(at: date) -> date:
    return at.date() if isinstance(at, datetime) else at


# --- categories -----------------------------------------------------------------------------------------------------


def _categories(name: str, x: Expression, typed: TypedColumn, column: Categories) -> WorkKey:
    """The value itself; NULL as a value that no category has, so that no key is NULL but of a row that is left out."""
    value, listed = _plain(name, x, typed, column.listed)
    null: Any = _unlike(listed)
    missing: Expression = Literal(null) if column.nullable else _NOTHING
    if column.other is not None:
        one_of = Call("in", (value, *map(Literal, listed)))
        key = Call("case", (call("is_null", x), missing, one_of, value, Literal(listed[column.other])))
    else:  # a row that holds that very value is left out like any other that is not listed
        key = Call("case", (call("is_null", x), missing, Call("ne", (value, Literal(null))), value, _NOTHING))
    return WorkKey(name, key, (*listed, null) if column.nullable else tuple(listed))


def _plain(name: str, x: Expression, typed: TypedColumn, listed: Sequence[Any]) -> tuple[Expression, list[Any]]:
    """The value as text or a whole number, and the categories in the same terms."""
    match listed[0], typed.kind:
        case bool(), Boolean():
            return call("boolean_to_integer", x), [int(v) for v in listed]
        case str(), Text():
            return x, list(listed)
        case int(), Number(step=step) if step == Fraction(1) and not isinstance(listed[0], bool):
            return x, list(listed)
        case date(), Date():
            first = min(listed)
            return Call("days_between", (Literal(first), x)), [(v - first).days for v in listed]
    raise BadParameter("column", name, f"must hold the categories that are listed for it; it is {words(typed)}")


def _unlike(listed: Sequence[Any]) -> Any:
    """A value of the same kind that is not among them."""
    if isinstance(listed[0], str):
        return next(text for n in range(len(listed) + 1) if (text := f"(NULL{'' if n == 0 else n})") not in listed)
    high = max(listed)
    return high + 1 if high < LARGEST else next(n for n in range(len(listed) + 1) if n not in listed)
