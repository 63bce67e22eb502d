"""Rows of any source as the engine over DuckDB reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.engines.duckdb.engine import duckdb
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Project, Scan
from discreet.query.plan.schema import Schema, StoredKind, Table
from discreet.query.plan.work import Form, RowSum, Weights, Work, WorkKey

READS: dict[StoredKind, Callable[[str], Expression]] = {
    StoredKind.INTEGER: lambda name: Call("read_integer", (Column(name), Literal(-(1 << 62)), Literal(1 << 62))),
    StoredKind.REAL: lambda name: Call("read_real", (Column(name), Literal(-2), Literal(-1000), Literal(1000))),
    StoredKind.DECIMAL: lambda name: Call("read_decimal", (Column(name), Literal(2), Literal(-1000), Literal(1000))),
    StoredKind.TEXT: lambda name: Call("read_text", (Column(name),)),
    StoredKind.DATE: lambda name: Call("read_date", (Column(name),)),
    StoredKind.TIMESTAMP: lambda name: Call("read_timestamp", (Column(name),)),
    StoredKind.BOOLEAN: lambda name: Call("read_boolean", (Column(name),)),
}


def rows(source: Any, *names: str, unit: str = "u") -> list[tuple[Any, ...]]:
    """All rows that have a unit, as the engine reads them."""
    engine = duckdb(threads=1)
    stored = engine.columns(source)
    names = names or tuple(name for name in stored if name != unit and stored[name].kind in READS)
    columns = [("__unit", Column(unit)), *((name, READS[stored[name].kind](name)) for name in names)]
    work = Work(
        source=Project(Scan("t"), tuple(columns)),
        unit="__unit",
        keys=tuple(WorkKey(name, Column(name), None) for name in names),
        cells=(RowSum(Literal(1)),),
        weights=Weights(form=Form.ROWS, cap=1 << 16, scale=1),
    )
    schema = Schema(table=Table(source=source, unit=unit), stored=stored, fields={})
    (exact,) = engine.run([work], {"t": schema})
    found = [key for key, n in zip(exact.keys, exact.numbers[0].tolist(), strict=True) for _ in range(n)]
    return sorted(found, key=repr)


def kinds(source: Any) -> dict[str, StoredKind]:
    return {name: stored.kind for name, stored in duckdb(threads=1).columns(source).items()}
