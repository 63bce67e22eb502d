"""Keys from a public table: its values are public, so listing them costs nothing and says nothing of anybody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from discreet.errors import BadQuestion
from discreet.query.engine import Engine
from discreet.query.lower.lower import UNIT, LoweredKey, LoweredQuestion, lower_relation
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.names import quoted
from discreet.query.plan.nodes import Project, Relation, Scan
from discreet.query.plan.schema import MOST_KEYS, Schema
from discreet.query.plan.types import Kind, Number, Real, Value
from discreet.query.plan.work import Form, RowSum, Weights, Work, WorkKey

Listed = dict[tuple[str, str], tuple[Value, ...]]


def with_public_keys(asked: LoweredQuestion, engine: Engine, schemas: Mapping[str, Schema]) -> LoweredQuestion:
    """The question with the keys of public columns filled in, as they are now: nothing is remembered."""
    known: Listed = {}
    beside = tuple(with_public_keys(one, engine, schemas) for one in asked.beside)
    return replace(asked, keys=tuple(_filled(key, engine, schemas, known) for key in asked.keys), beside=beside)


def _filled(key: LoweredKey, engine: Engine, schemas: Mapping[str, Schema], known: Listed) -> LoweredKey:
    place = key.typed.keys_from
    if key.typed.keys is not None or place is None:
        return key
    if place not in known:
        known[place] = public_values(*place, engine, schemas)
    if not known[place]:
        raise BadQuestion(
            f"the public column {quoted(place[0])}.{quoted(place[1])} is empty, so there is no group to answer"
        )
    return replace(key, typed=replace(key.typed, keys=known[place]))


def public_values(table: str, column: str, engine: Engine, schemas: Mapping[str, Schema]) -> tuple[Value, ...]:
    """The different values of a public column, sorted; NULL is none."""
    if not schemas[table].table.public:
        raise BadQuestion(f"{quoted(table)} is private: its keys cannot be listed")
    values = _different(Scan(table), column, engine, schemas)[0]
    if len(values) > MOST_KEYS:
        name = f"{quoted(table)}.{quoted(column)}"
        raise BadQuestion(f"the public column {name} has more than {MOST_KEYS:,} values: list fewer keys")
    return tuple(sorted(value for value in values if value is not None))


def public_value(relation: Relation, column: str, engine: Engine, schemas: Mapping[str, Schema]) -> Value:
    """The value that a subquery of public tables has; NULL if it has no row. More than one is refused."""
    values, kind = _different(relation, column, engine, schemas)
    if len(values) > 1:
        raise BadQuestion("a subquery in the place of a value has more than one here; aggregate it")
    value = values[0] if values else None
    step = kind.step if isinstance(kind, Number) else 1
    return value * step if isinstance(value, int) and not isinstance(value, bool) else value


def _different(
    relation: Relation, column: str, engine: Engine, schemas: Mapping[str, Schema]
) -> tuple[list[Value], Kind]:
    """The different values of a column of public rows, NULL among them, and their kind."""
    lowered = lower_relation(relation, schemas)
    if lowered.private:
        raise BadQuestion("a private table cannot be looked up")
    kind = lowered.fields[column].kind
    if isinstance(kind, Real):
        raise BadQuestion(f"{quoted(column)} of a public table is a float without bounds: declare dp.bounds for it")
    rows = Project(lowered.relation, (("k", Column(column)), (UNIT, Literal(1))))
    weights = Weights(form=Form.L1, cap=1, scale=1, per_group=1)
    key = WorkKey("k", Column("k"), None)
    work = Work(source=rows, unit=UNIT, keys=(key,), cells=(RowSum(Literal(1)),), weights=weights)
    (found,) = engine.run((work,), schemas)
    return [value for (value,) in found.keys], kind
