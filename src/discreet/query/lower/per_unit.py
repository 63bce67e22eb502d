"""Per-unit subqueries: exact summaries of each unit's own rows.

COUNT and SUM have no bound of their own, since nobody bounds how many rows a unit has: they reach ±2^62 cells, and an
aggregate of them asks for a CLAMP. AVG, MIN and MAX stay within the bounds of what they summarise; AVG is exact to
2^-20 of its argument's step (or as fine as 62 bits allow), towards zero.

Of public rows they are summaries by any keys: nobody is in them, so there is nothing to keep apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from discreet.errors import Unsupported
from discreet.query.functions.arithmetic import call, within
from discreet.query.functions.comparison import as_integer
from discreet.query.functions.logic_functions import present
from discreet.query.functions.typed_values import (
    Typed,
    TypedColumn,
    bound,
    is_null_literal,
    is_wide,
    number,
    reach,
    refuse,
)
from discreet.query.lower.relation_facts import UNIT, Catalog, Columns, Lowered, carried, check_names
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.names import quoted
from discreet.query.plan.nodes import Aggregate, Measure, PerUnit, Project, Relation
from discreet.query.plan.types import LARGEST, Boolean, Kind, Number, Real
from discreet.query.typing.declared_bounds import bounded
from discreet.query.typing.infer import predicate, reads_never, typed
from discreet.query.typing.untyped import as_number

COUNTED = Number(Fraction(1), 0, LARGEST)
FRACTION_BITS = 20
NOT_PER_UNIT = "a subquery that groups by something else than the unit"
MOST_ROWS = 1 << 42
"""An average divides by no more rows than this; no unit has them."""


def per_unit(source: Lowered, node: PerUnit, catalog: Catalog) -> Lowered:
    """One row for each unit and each combination of the keys that it has; of public rows, for each combination."""
    check_names([name for name, _ in node.keys] + [m.name for m in node.measures])
    keys = {name: _key(name, typed(e, source.fields)) for name, e in node.keys}
    if source.private and not any(names_one_unit(key, catalog) for key in keys.values()):
        raise Unsupported(
            NOT_PER_UNIT,
            "add the unit column to its GROUP BY: only summaries of one person's own rows are exact",
        )
    fields = {name: key.column for name, key in keys.items()}
    measures: list[Measure] = []
    # Units that are compared as text (join.py) are grouped by as they are shown, too: one value for each of them.
    shown = {name for name, key in keys.items() if not key.is_unit or type(key.kind) is not type(source.unit_kind)}
    above: list[tuple[str, Expression]] = [
        (name, Column(name) if name in shown else _read_unit(key.kind)) for name, key in keys.items()
    ]
    for i, measure in enumerate(node.measures):
        lowered, expression, fields[measure.name] = _measure(measure, source.fields, i)
        measures += lowered
        above.append((measure.name, expression))
    lowered_keys: Columns = tuple((name, key.lowered) for name, key in keys.items() if name in shown)
    relation: Relation = PerUnit(source.relation, (*lowered_keys, *carried(source)), tuple(measures))
    if any(not isinstance(e, Column) for _, e in above):
        relation = Project(relation, (*above, *carried(source)))
    # Rows without a unit are nobody's, and left out for good where a key names the unit.
    return replace(source, relation=relation, fields=fields, listings={}, absent=frozenset())


def names_one_unit(x: TypedColumn, catalog: Catalog) -> bool:
    """Whether rows with one value of it belong to one unit: it is the unit, or either end of a foreign key."""
    if x.is_unit:
        return True
    if x.origin is None:
        return False
    given = catalog[x.origin[0]].table
    ends = {schema.table.through for schema in catalog.values()}
    return x.origin in ends or (given.through is not None and given.unit == x.origin[1])


def _read_unit(kind: Kind) -> Expression:
    """The unit column as a value: read from the unit that is carried, so that grouping by that alone is enough."""
    if isinstance(kind, Number):
        return call("read_integer", Column(UNIT), -LARGEST, LARGEST)
    return call("read_text", Column(UNIT))


def _key(name: str, x: Typed) -> Typed:
    if isinstance(x.kind, Real) or is_null_literal(x):
        refuse(f"{quoted(name)} cannot be grouped by: floats are not exact; ROUND it, or {bound(x)}")
    return x


def _measure(
    measure: Measure, fields: Mapping[str, TypedColumn], place: int
) -> tuple[list[Measure], Expression, TypedColumn]:
    """The lowered measures, the column that is made of them, and its kind."""
    measures, cells, column = _made(measure, fields, place)
    of_values = measure.aggregate not in (Aggregate.COUNT, Aggregate.COUNT_DISTINCT)
    never = of_values and any(reads_never(x, fields) for x in measure.arguments)
    return measures, cells, replace(column, never=True) if never else column


def _made(
    measure: Measure, fields: Mapping[str, TypedColumn], place: int
) -> tuple[list[Measure], Expression, TypedColumn]:
    name, aggregate = measure.name, measure.aggregate
    what = aggregate.name
    if aggregate not in _ALLOWED:
        raise Unsupported(f"{what} per unit", "per unit there are COUNT, COUNT(DISTINCT x), SUM, AVG, MIN and MAX")
    where = None if measure.where is None else predicate(measure.where, fields, "FILTER").lowered
    if len(measure.arguments) != 1:
        if measure.arguments or aggregate is not Aggregate.COUNT:
            refuse(f"{what} takes one argument")
        some: tuple[Expression, ...] = () if where is None else (_only(Literal(1), where),)
        kind = COUNTED if some else replace(COUNTED, low=1)  # a group that exists has a row
        return [Measure(name, aggregate, some)], Column(name), TypedColumn(kind, nullable=False)
    x = typed(measure.arguments[0], fields)
    if is_null_literal(x):
        refuse(f"{what} of NULL has no value")
    if x.untyped and aggregate not in (Aggregate.COUNT, Aggregate.COUNT_DISTINCT):
        x = as_number(x)
    match aggregate:
        case Aggregate.COUNT:
            return _single(measure, present(x), where, TypedColumn(COUNTED, nullable=False))
        case Aggregate.COUNT_DISTINCT:
            if isinstance(x.kind, Real):
                refuse(f"COUNT(DISTINCT x) needs exact values; {bound(x)}")
            return _single(measure, x, where, TypedColumn(COUNTED, nullable=False))
        case Aggregate.SUM:
            x, kind = sum_of(x)
            return _single(measure, x, where, TypedColumn(kind))
        case Aggregate.AVG:
            return _average(measure, x, where, place)
        case _:
            if isinstance(x.kind, (Real, Boolean)):
                refuse(f"{what} per unit needs a number with bounds, text, a date or a time; {bound(x)}")
            null = x.nullable or where is not None
            # Clamping keeps the order, so it may wait until somebody aggregates the column.
            column = TypedColumn(x.kind, null, x.keys, x.unknown, copies=x.copies, declared=x.declared)
            return _single(measure, x, where, column)


_ALLOWED = {
    Aggregate.COUNT,
    Aggregate.COUNT_DISTINCT,
    Aggregate.SUM,
    Aggregate.AVG,
    Aggregate.MIN,
    Aggregate.MAX,
}


def _single(
    measure: Measure, x: Typed, where: Expression | None, column: TypedColumn
) -> tuple[list[Measure], Expression, TypedColumn]:
    made = Measure(measure.name, measure.aggregate, (_only(x.lowered, where),))
    return [made], Column(measure.name), column


def _only(value: Expression, where: Expression | None) -> Expression:
    """The value where the condition holds, else NULL, which no measure counts."""
    return value if where is None else Call("case", (where, value, Literal(None)))


def _average(
    measure: Measure, x: Typed, where: Expression | None, place: int
) -> tuple[list[Measure], Expression, TypedColumn]:
    total, many = f"{UNIT}_sum_{place}", f"{UNIT}_count_{place}"
    null = x.nullable or where is not None
    x, cells, kind = mean_of(x, Column(total), Column(many))
    value = _only(x.lowered, where)
    measures = [Measure(total, Aggregate.SUM, (value,)), Measure(many, Aggregate.COUNT, (value,))]
    return measures, cells, TypedColumn(kind, null)


def sum_of(x: Typed) -> tuple[Typed, Number]:
    """What is summed of the rows of one unit, and the kind of the sum."""
    x = as_integer(x) if isinstance(x.kind, Boolean) else bounded(x)
    kind = number(x, "SUM")
    return x, Number(kind.step, 0 if kind.low >= 0 else -LARGEST, 0 if kind.high <= 0 else LARGEST)


def mean_of(x: Typed, total: Expression, many: Expression) -> tuple[Typed, Expression, Number]:
    """Of which values; Σx / n as its whole part and 2^k times what is left over, each step in 64 bits; and its kind."""
    x = as_integer(x) if isinstance(x.kind, Boolean) else bounded(x)
    kind = number(x, "AVG")
    if is_wide(x):
        refuse(f"AVG needs a number with bounds; {bound(x)}")
    times = 1 << max(0, min(FRACTION_BITS, 61 - reach(kind).bit_length()))
    n = call("least", many, MOST_ROWS)
    # The sum saturates at ±2^62 and n at 2^42, far beyond any table; clamping keeps the claim true even there.
    whole_part = within(call("div", total, n), -LARGEST, LARGEST, (kind.low, kind.high))
    rest = call("div", call("mul", call("mod", total, n), times), n)
    low, high = kind.low * times, kind.high * times
    cells = within(call("add", call("mul", whole_part, times), rest), low - times, high + times, (low, high))
    return x, cells, Number(kind.step / times, low, high)
