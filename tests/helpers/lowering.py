"""Questions about the tables of plans, lowered; and their rows by the memory engine."""

from collections import Counter
from typing import Any

from discreet.engines.memory import engine as memory
from discreet.query.functions.typed_values import TypedColumn
from discreet.query.lower.lower import LoweredQuestion, lower_question
from discreet.query.plan.expressions import Call, Column, Literal
from discreet.query.plan.nodes import (
    Aggregate,
    Filter,
    Join,
    Key,
    Measure,
    Outcome,
    PerUnit,
    Project,
    Question,
    Relation,
    Scan,
    UnionAll,
    UnitWindows,
)
from discreet.query.plan.types import Date, Number, Timestamp
from tests.helpers import plans
from tests.helpers.plans import catalog

CATALOG = catalog()


def call(function: str, *arguments: Any) -> Call:
    return Call(function, tuple(a if isinstance(a, (Call, Column, Literal)) else Literal(a) for a in arguments))


def col(name: str) -> Column:
    return Column(name)


def ask(source: Relation, *measures: Measure, keys: tuple[Key, ...] = ()) -> LoweredQuestion:
    asked = measures or (Measure("n", Aggregate.COUNT),)
    question = Question(source, keys, asked, Outcome(()), (tuple(k.name for k in keys),))
    return lower_question(question, CATALOG)


def rows(node: Relation, tables: plans.Data) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(sorted(row.items(), key=lambda item: item[0])) for row in memory.relation(node, catalog(tables))
    )


def is_claimed(field: TypedColumn, value: Any) -> bool:
    if value is None:
        return field.nullable
    match field.kind:
        case Number(low=low, high=high):
            return type(value) is int and low <= value <= high
        case Date(low=low, high=high) | Timestamp(low=low, high=high):
            return bool(low <= value <= high)
        case _:
            return True


def nodes_of(node: Relation) -> list[Relation]:
    match node:
        case Scan():
            return [node]
        case Join(left=left, right=right):
            return [node, *nodes_of(left), *nodes_of(right)]
        case UnionAll(parts=parts):
            return [node, *(n for part in parts for n in nodes_of(part))]
        case Filter(source=source) | Project(source=source) | PerUnit(source=source) | UnitWindows(source=source):
            return [node, *nodes_of(source)]


VISITS, HUMANS, CITIES = Scan("visits"), Scan("people"), Scan("cities")
