"""Keys from a public table: its values are public, so listing them costs nothing and says nothing of anybody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from discreet.errors import BadQuestion
from discreet.query.engine import Engine
from discreet.query.lower.lower import UNIT, LoweredKey, LoweredQuestion, lower_relation
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import Project, Scan
from discreet.query.plan.schema import MOST_KEYS, Schema
from discreet.query.plan.types import Value
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
        raise BadQuestion(f"the public column {place[0]}.{place[1]} is empty, so there is no group to answer")
    return replace(key, typed=replace(key.typed, keys=known[place]))


def public_values(table: str, column: str, engine: Engine, schemas: Mapping[str, Schema]) -> tuple[Value, ...]:
    """The different values of a public column, sorted; NULL is none."""
    if not schemas[table].table.public:
        raise BadQuestion(f"{table} is private: its keys cannot be listed")
    rows = Project(lower_relation(Scan(table), schemas).relation, (("k", Column(column)), (UNIT, Literal(1))))
    weights = Weights(form=Form.L1, cap=1, scale=1, per_group=1)
    key = WorkKey("k", Column("k"), None)
    work = Work(source=rows, unit=UNIT, keys=(key,), cells=(RowSum(Literal(1)),), weights=weights)
    (found,) = engine.run((work,), schemas)
    if len(found.keys) > MOST_KEYS:
        raise BadQuestion(f"the public column {table}.{column} has more than {MOST_KEYS:,} values: list fewer keys")
    values = [value for (value,) in found.keys if value is not None]
    return tuple(sorted(values))
