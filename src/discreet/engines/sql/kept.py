"""What a copy of a table keeps beside its rows: columns that hold what questions compute again and again.

Promise: exact numbers are the same. A column is found by what it holds, and by nothing else: an expression over stored
columns, a key in its codes, or a count of rows of one unit, always as the plan writes it. Counts serve works that look
at all rows of the table; after a filter a unit has fewer rows, and they are counted again. Proof: kept.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice

from discreet.query.plan.expressions import Call, Column, Expression, Literal, replace_columns, walk
from discreet.query.plan.nodes import Filter, Project, Relation, Scan
from discreet.query.plan.types import Value

_LARGE = 500
"""Expressions of more parts are not looked for."""
_NULL_FROM_NULL = frozenset({"read_integer", "add", "sub", "mul", "neg", "abs", "floor_div", "ceil_div", "round_div"})


@dataclass(frozen=True, slots=True)
class RowsOf:
    """A relation in which each row is made of one row of a table: all of its rows, or with ``filtered`` some."""

    table: str
    filtered: bool
    layers: tuple[Mapping[str, Expression], ...]
    """What its columns are made of, from the outermost to the table's own."""

    def over_table(self, expression: Expression) -> Expression:
        """The expression over the stored columns of the table."""
        for layer in self.layers:
            expression = replace_columns(expression, layer.__getitem__)
        return expression


def rows_of(relation: Relation) -> RowsOf | None:
    """The table whose rows these are, one by one; None if there are several, or none.

    >>> found = rows_of(Project(Scan("t"), (("y", Call("neg", (Column("x"),))),)))
    >>> found.over_table(Column("y"))
    Call(function='neg', arguments=(Column(name='x'),))
    """
    layers: list[Mapping[str, Expression]] = []
    filtered = False
    while not isinstance(relation, Scan):
        if isinstance(relation, Project):
            layers.append(dict(relation.columns))
        elif isinstance(relation, Filter):
            filtered = True
        else:
            return None
        relation = relation.source
    return RowsOf(relation.table, filtered, tuple(layers)) if relation.is_plain else None


def passing(relation: Relation, columns: Iterable[str]) -> Relation:
    """The same relation with further columns of its table."""
    if isinstance(relation, Project):
        more = tuple((name, Column(name)) for name in columns)
        return Project(passing(relation.source, columns), (*relation.columns, *more))
    return Filter(passing(relation.source, columns), relation.predicate) if isinstance(relation, Filter) else relation


def never_null(expression: Expression) -> bool:
    """Whether it has a value on every row, whatever is stored.

    >>> never_null(Call("coalesce", (Column("x"), Literal(0)))), never_null(Column("x"))
    (True, False)
    """
    match expression:
        case Literal(value):
            return value is not None
        case Call("coalesce", arguments):
            return any(map(never_null, arguments))
        case Call(function, arguments):
            return function in _NULL_FROM_NULL and all(map(never_null, arguments))
        case _:
            return False


# --- what a column is found by ----------------------------------------------------------------------------------------


def value_name(expression: Expression) -> str | None:
    """The name of a value; None if it is a stored column, a constant, or too long."""
    return _digest("value", expression) if isinstance(expression, Call) and not _long(expression) else None


def key_name(expression: Expression, allowed: tuple[Value, ...] | None) -> str | None:
    """The name of a key in its codes: other codes for other lists."""
    return None if _long(expression) else _digest("key", expression, allowed)


def unit_name(unit: Expression) -> str:
    """The name of the number of a unit."""
    return _digest("unit", unit)


def count_name(what: str, unit: Expression, keys: Sequence[tuple[Expression, tuple[Value, ...] | None]]) -> str | None:
    """The name of a count: ``what`` of the rows of a unit that have keys which are allowed."""
    if _long(unit) or any(_long(expression) for expression, _ in keys):
        return None
    return _digest("count", what, unit, tuple(keys))


def _long(expression: Expression) -> bool:
    return next(islice(walk(expression), _LARGE, None), None) is not None


def _digest(*parts: object) -> str:
    return blake2b(repr(parts).encode(), digest_size=16).hexdigest()
