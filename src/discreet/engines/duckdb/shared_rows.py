"""Which works are histograms of units, and the one relation that has the rows of several of them.

Promise: a fact is made only of a work that has exactly its form; the relation has the unit and the key of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from discreet.engines.duckdb.value_classes import Classes, classes_of
from discreet.engines.sql.base import Base, Key
from discreet.engines.sql.dialects import DUCKDB
from discreet.engines.sql.relations import Origin
from discreet.query.plan.expressions import Call, Column, Expression, Literal, replace_columns
from discreet.query.plan.nodes import Aggregate, Filter, Measure, PerUnit, Project, Relation, Scan
from discreet.query.plan.types import Value
from discreet.query.plan.work import AnyWork, DistinctWork, Form, RowSum, Weights, Work, WorkKey

# --- which works ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chain:
    """Projections over one table, the first one next to it."""

    table: str
    steps: tuple[tuple[tuple[str, Expression], ...], ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """What one work asks of the rows of a table."""

    kind: str
    work: Work | DistinctWork
    chain: Chain
    key: Expression | None = None
    allowed: tuple[Value, ...] | None = None
    counted: str = ""
    """The name of the number of rows or groups in the relation of the work."""


def fact_of(work: AnyWork) -> Fact | None:
    """What a work asks, if it has one of the forms; else None."""
    if isinstance(work, DistinctWork):
        chain = _chain(work.source)
        return None if chain is None or work.keys or work.cap != 1 else Fact("named", work, chain, work.value)
    if not isinstance(work, Work):
        return None
    plain = work.split is None and work.pick is None and work.most_keys is None and len(work.keys) == 1
    if not plain or work.cells != (RowSum(Literal(1)),) or work.weights.form is not Form.ROWS or work.weights.cap != 1:
        return None
    match work.source:
        case PerUnit(
            PerUnit(rows, ((_, key), (inner, Column())), _),
            ((outer, Column(unit)),),
            (Measure(name, Aggregate.COUNT, (), None),),
        ) if inner == unit and outer == work.unit:
            return _groups(work, rows, key, name)
        case PerUnit(rows, ((outer, Column()),), (Measure(name, Aggregate.COUNT, (), None),)) if outer == work.unit:
            chain = _chain(rows)
            return None if chain is None else Fact("sizes", work, chain, counted=name)
        case Project() | Scan():
            chain, (spread_over,) = _chain(work.source), work.keys
            if chain is None or spread_over.allowed is None:
                return None
            return Fact("spread", work, chain, spread_over.expression, spread_over.allowed)
        case _:
            return None


def _groups(work: Work, rows: Relation, key: Expression, name: str) -> Fact | None:
    allowed: tuple[Value, ...] | None = None
    if isinstance(rows, Filter):
        match rows.predicate:
            case Call("in", (x, *some)) if x == key:
                allowed = tuple(literal.value for literal in some if isinstance(literal, Literal))
            case _:
                return None
        rows = rows.source
    chain = _chain(rows)
    return None if chain is None else Fact("groups", work, chain, key, allowed, name)


def _chain(rows: Relation) -> Chain | None:
    steps = []
    while isinstance(rows, Project):
        steps.append(rows.columns)
        rows = rows.source
    return Chain(rows.table, tuple(reversed(steps))) if isinstance(rows, Scan) and rows.is_plain else None


# --- one relation for all ---------------------------------------------------------------------------------------------


@dataclass
class _Merged:
    """The projections of several works, each expression once."""

    table: str
    depth: int
    levels: list[dict[Expression, str]] = field(default_factory=list)

    def names(self, chain: Chain) -> dict[str, str]:
        """What the columns of a chain are called here."""
        self.levels += [{} for _ in range(self.depth - len(self.levels))]
        here: dict[str, str] | None = None
        for i in range(self.depth):
            step = chain.steps[i] if i < len(chain.steps) else tuple((n, Column(n)) for n in here or ())
            made = {name: renamed(expression, here) for name, expression in step}
            here = {name: self.levels[i].setdefault(e, f"p{i}_{len(self.levels[i])}") for name, e in made.items()}
        return here or {}

    @property
    def relation(self) -> Relation:
        """All of them."""
        merged: Relation = Scan(self.table)
        for level in self.levels:
            merged = Project(merged, tuple((name, expression) for expression, name in level.items()))
        return merged


def renamed(expression: Expression, names: Mapping[str, str] | None) -> Expression:
    """The expression with other names of its columns; None: they are those of a table, which stay."""
    return expression if names is None else replace_columns(expression, lambda name: Column(names[name]))


_UNUSED = Weights(form=Form.ROWS, cap=1, scale=1)
"""Of the work that only stands for the rows."""


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A key that works have, in a column of the relation of all."""

    name: str
    key: Key | None
    """None if it is a class of a number, which is in the column."""
    allowed: tuple[Value, ...] | None
    classes: Classes | None = None


@dataclass(frozen=True, slots=True)
class SharedRows:
    """The rows with the unit and the keys of several works."""

    base: Base
    columns: tuple[KeyColumn, ...]
    places: tuple[int | None, ...]
    """Of each work: which column has its key."""


def shared_rows(facts: Sequence[Fact], tables: Mapping[str, Origin]) -> SharedRows | None:
    """The rows of these works; None if they do not agree about the unit."""
    merged = _Merged(facts[0].chain.table, max(1, *(len(fact.chain.steps) for fact in facts)))
    names = [merged.names(fact.chain) for fact in facts]
    units = {some.get(_unit(fact)) for some, fact in zip(names, facts, strict=True)}
    if len(units) != 1 or None in units:
        return None
    keyed = [
        None if fact.key is None else (renamed(fact.key, some), fact.allowed)
        for fact, some in zip(facts, names, strict=True)
    ]
    keys = list(dict.fromkeys(key for key in keyed if key is not None))
    classes = {
        key: sorted_into for key in keys if key[1] is not None and (sorted_into := classes_of(key[0])) is not None
    }
    plain = [key for key in keys if key not in classes]
    (unit,) = units
    work = Work(
        source=merged.relation,
        unit=str(unit),
        keys=tuple(WorkKey(f"k{i}", expression, allowed) for i, (expression, allowed) in enumerate(plain)),
        cells=(RowSum(Literal(1)),),
        weights=_UNUSED,
    )
    base = Base(work, DUCKDB, tables)
    columns = [KeyColumn(key.name, key, key.allowed) for key in base.keys]
    columns += [KeyColumn(base.value(some.x).sql, None, allowed, some) for (_, allowed), some in classes.items()]
    where = {key: place for place, key in enumerate([*plain, *classes])}
    return SharedRows(base, tuple(columns), tuple(None if key is None else where[key] for key in keyed))


def _unit(fact: Fact) -> str:
    match fact.work.source:
        case PerUnit(PerUnit(_, (_, (_, Column(name))), _)):
            return name
        case PerUnit(_, ((_, Column(name)),)):
            return name
        case _:
            return fact.work.unit
