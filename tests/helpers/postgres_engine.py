"""Questions to the engine over PostgreSQL."""

from __future__ import annotations

from typing import Any

import psycopg

from discreet.engines.postgres.engine import Postgres
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import Project, Scan
from discreet.query.plan.schema import Table, resolve
from discreet.query.plan.work import Form, RowSum, Weights, Work, WorkKey
from tests.contracts.engines.lab import UNIT, Numbers, f, numbers


def execute(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def as_role(dsn: str, role: str, **more: str) -> str:
    return psycopg.conninfo.make_conninfo(dsn, user=role, **more)


def values(engine: Postgres, source: object, **reads: tuple[object, ...]) -> list[tuple[Any, ...]]:
    """What the columns of a table are read as, row by row; ``id`` is its unit."""
    columns = {name: f(str(how), Column(name), *more) for name, (how, *more) in reads.items()}  # type: ignore[arg-type]
    relation = Project(Scan("t"), ((UNIT, Column("id")), ("id", Column("id")), *columns.items()))
    keys = tuple(WorkKey(name, Column(name), None) for name in ("id", *columns))
    weights = Weights(form=Form.ROWS, cap=1, scale=1)
    work = Work(source=relation, unit=UNIT, keys=keys, cells=(RowSum(Literal(1)),), weights=weights)
    (found,) = asked(engine, source, [work])
    return [tuple(value for _, value in key)[1:] for key in sorted(found, key=lambda key: str(key[0]))]


def asked(engine: Postgres, source: object, works: Any) -> list[Numbers]:
    schema = resolve("t", Table(source=source, unit=None, public=True), engine.columns(source))
    return [numbers(exact) for exact in engine.run(works, {"t": schema})]


def count_rows() -> Work:
    relation = Project(Scan("t"), ((UNIT, Column("id")),))
    weights = Weights(form=Form.ROWS, cap=1, scale=1)
    return Work(source=relation, unit=UNIT, keys=(), cells=(RowSum(Literal(1)),), weights=weights)
