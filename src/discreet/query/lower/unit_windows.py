"""Window functions over the rows of one unit: below the bounding, exact, and a function of that unit's rows alone.

PARTITION BY must hold the unit (or an end of a foreign key, which names one); of public rows any partition will do.
Rows that ORDER BY leaves equal are ordered by all columns, and NULLs come last: so which row is the first is a fact of
the rows, the same on every engine. Floats that nobody declared are ordered on the public grid, then as they are.

Numbers have the kinds that summaries per unit have (``per_unit.py``): counts and places have no bound of their own,
SUM reaches +-2^62 cells and saturates there, AVG is exact to 2^-20 of a step. Proof: unit_windows.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from discreet.errors import Unsupported
from discreet.query.functions.logic_functions import present
from discreet.query.functions.typed_values import TypedColumn, bound, is_null_literal, refuse
from discreet.query.lower.per_unit import COUNTED, mean_of, names_one_unit, sum_of
from discreet.query.lower.relation_facts import UNIT, Catalog, Lowered, carried, check_names
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Order, Project, Relation, UnitWindows, Window
from discreet.query.plan.types import Boolean, Number, Real
from discreet.query.typing.infer import typed
from discreet.query.typing.untyped import as_cells, as_number

NOT_BY_UNIT = "a window over rows of different people"
"""What is refused by that name: the rows of one person would decide what another one's row gets."""
_BY_UNIT = ("add the unit column to its PARTITION BY, or aggregate first: windows over released groups may be of any "
            "partition")  # fmt: skip
RANKED = "for ranks among people use QUANTILE(x, 0.9), or groups by WIDTH_BUCKET(x, low, high, 10)"
_SHARES = frozenset({"ntile", "percent_rank", "cume_dist"})
_PLACES = frozenset({"row_number", "rank", "dense_rank"})
_NEIGHBOURS = frozenset({"lag", "lead"})
_ENDS = frozenset({"first_value", "last_value"})
_TOTALS = frozenset({"count", "sum", "avg", "min", "max"})
FUNCTIONS = _PLACES | _NEIGHBOURS | _ENDS | _TOTALS
FARTHEST = 1_000_000
"""LAG and LEAD look no farther than so many rows."""


def unit_windows(source: Lowered, node: UnitWindows, catalog: Catalog) -> Lowered:
    """The rows of the source, each with what the windows say of it."""
    check_names([*source.fields, *(window.name for window in node.windows)])
    fields = dict(source.fields)
    made: list[Window] = []
    above: list[tuple[str, Expression]] = []
    for i, window in enumerate(node.windows):
        lowered, expression, fields[window.name] = _window(window, source, catalog, i)
        made += lowered
        above.append((window.name, expression))
    relation: Relation = UnitWindows(source.relation, tuple(made))
    if any(expression != Column(name) for name, expression in above):
        same = tuple((name, Column(name)) for name in source.fields)
        relation = Project(relation, (*same, *above, *carried(source)))
    return replace(source, relation=relation, fields=fields)


def _window(
    window: Window, source: Lowered, catalog: Catalog, place: int
) -> tuple[list[Window], Expression, TypedColumn]:
    """The lowered windows, what the column is made of, and its kind."""
    what = window.function.upper()
    partition = [typed(e, source.fields) for e in window.partition]
    if source.private and not any(names_one_unit(x, catalog) for x in partition):
        raise Unsupported(NOT_BY_UNIT, RANKED if window.function in _SHARES else _BY_UNIT)
    if window.function not in FUNCTIONS:
        raise Unsupported(f"{what} OVER rows of one unit", f"there are {', '.join(sorted(FUNCTIONS)).upper()}")
    _check_frame(window)
    if any(isinstance(x.kind, Real) for x in partition):
        refuse("PARTITION BY needs exact values: ROUND a float, or declare its bounds")
    order = tuple(Order(_ordered(o, source.fields), o.descending) for o in window.order)
    if window.function in ("rank", "dense_rank") and not order:
        refuse(f"{what} needs ORDER BY")
    if window.function in _NEIGHBOURS | _ENDS | {"row_number"} or window.rows is not None:
        done = {*(o.expression for o in order), *(x.lowered for x in partition)}
        others = (Column(name) for name, field in source.fields.items() if not field.is_unit)
        order = (*order, *(Order(column) for column in others if column not in done))
    whose = ((Column(UNIT),) if source.private else ()) + tuple(x.lowered for x in partition if not x.is_unit)
    ready = replace(window, partition=whose, order=order, arguments=())
    return _valued(ready, window.arguments, source.fields, place)


def _ordered(order: Order, fields: Mapping[str, TypedColumn]) -> Expression:
    x = typed(order.expression, fields)
    if is_null_literal(x):
        refuse("ORDER BY NULL orders nothing; leave it out")
    return as_cells(x).lowered


def _check_frame(window: Window) -> None:
    first, last = window.rows or (None, None)
    if first is not None and last is not None and first > last:
        refuse("the frame of a window ends before it begins")
    if window.rows is not None and window.function not in _TOTALS | _ENDS:
        refuse(f"{window.function.upper()} has no frame: leave out ROWS BETWEEN")


def _valued(
    window: Window, arguments: tuple[Expression, ...], fields: Mapping[str, TypedColumn], place: int
) -> tuple[list[Window], Expression, TypedColumn]:
    name, function = window.name, window.function
    what, column = function.upper(), Column(window.name)
    if not arguments and function in _PLACES | {"count"}:
        some = (
            function != "count" or window.rows is None or 0 in range((window.rows[0] or 0), (window.rows[1] or 0) + 1)
        )
        return [window], column, TypedColumn(replace(COUNTED, low=1) if some else COUNTED, nullable=False)
    if function in _PLACES or not 1 <= len(arguments) <= (3 if function in _NEIGHBOURS else 1):
        refuse(f"{what} takes {'no argument' if function in _PLACES else 'a column'}")
    x = typed(arguments[0], fields)
    never = x.never
    if is_null_literal(x):
        refuse(f"{what} of NULL has no value")
    if function in _TOTALS - {"count"} and x.untyped:
        x = as_number(x)
    if function == "count":
        return [replace(window, arguments=(present(x).lowered,))], column, TypedColumn(COUNTED, nullable=False)
    if function == "sum":
        x, kind = sum_of(x)
        return [replace(window, arguments=(x.lowered,))], column, TypedColumn(kind, never=never)
    if function == "avg":
        total, many = f"{UNIT}_sum_{place}", f"{UNIT}_count_{place}"
        x, cells, kind = mean_of(x, Column(total), Column(many))
        pair, of = (("sum", total), ("count", many)), TypedColumn(kind, never=never)
        return [replace(window, name=n, function=f, arguments=(x.lowered,)) for f, n in pair], cells, of
    if function in _TOTALS and isinstance(x.kind, (Real, Boolean)):
        refuse(f"{what} per unit needs a number with bounds, text, a date or a time; {bound(x)}")
    x = as_cells(x)
    value = replace(x.column, nullable=True, is_unit=False, origin=None, never=never)
    if function not in _NEIGHBOURS:
        return [replace(window, arguments=(x.lowered,))], column, value
    offset = Literal(1 if len(arguments) == 1 else _rows(arguments[1], what))
    lowered_window = replace(window, arguments=(x.lowered, offset))
    if len(arguments) < 3:
        return [lowered_window], column, value
    there = f"{UNIT}_there_{place}"  # where there is no such row, the third argument
    with_value = {**fields, name: value, there: TypedColumn(Number(Fraction(1), 1, 1))}
    instead = typed(Call("case", (Call("is_null", (Column(there),)), arguments[2], column)), with_value)
    marks = replace(window, name=there, arguments=(Literal(1), offset))
    return [lowered_window, marks], instead.lowered, replace(instead.column, is_unit=False, origin=None)


def _rows(offset: Expression, what: str) -> int:
    many = offset.value if isinstance(offset, Literal) else None
    if not isinstance(many, Fraction) or many.denominator != 1 or not 0 <= many < FARTHEST:
        refuse(f"{what} needs an integer of rows as its second argument, below {FARTHEST:,}")
    return int(many)
