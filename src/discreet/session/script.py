"""A query as a Python program, to be kept, reviewed or run elsewhere, before anything is charged.

Promise: the program holds declarations, the query and what it may cost: what an analyst wrote, and no row. Run as it is
it only previews.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from discreet.engines.sources import DatabaseTable
from discreet.privacy.budgets.filters import default_rule
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.plan.schema import AUTO, EACH_ROW, NEVER, Declared, Table
from discreet.session.backend import Backend
from discreet.session.price import Price


def script_of(backend: Backend, text: str, price: Price) -> str:
    """A program that declares the tables of a session, asks a query and prints its preview."""
    arguments = ", ".join(_price(price))
    body = ["session = dp.Session(", "    {", *_tables(backend), "    },", *_terms(backend), ")"]
    body += [f"query = session.sql({_quoted(text)})", f"print(query.preview({arguments}))"]
    body += [f"# print(query.release({arguments}))  # charged to the budget"]
    imports = ["import datetime", ""] if any("datetime." in line for line in body) else []
    return "\n".join(
        ['"""A query; its preview costs nothing."""', "", *imports, "import discreet as dp", "", *body, ""]
    )


def _tables(backend: Backend) -> Iterator[str]:
    for name, schema in backend.schemas.items():
        yield f"        {name!r}: dp.table("
        yield from (f"            {line}" for line in _arguments(schema.table))
        yield "        ),"


def _arguments(table: Table) -> Iterator[str]:
    yield _source(table.source)
    if table.public:
        yield "public=True,"
    elif table.unit == EACH_ROW:
        yield "unit=dp.each_row,"
    else:
        unit = str(table.unit) if table.through is None else f"{table.unit} -> {'.'.join(table.through)}"
        yield f"unit={unit!r},"
        caps = {name: getattr(table.caps, name) for name in ("max_rows", "max_groups", "max_rows_per_group")}
        yield from (f"{name}={cap}," for name, cap in caps.items() if cap is not None)
    columns = {name: code for name, column in table.columns.items() if (code := _declared(column))}
    if columns:
        yield "columns={"
        yield from (f"    {name!r}: {code}," for name, code in columns.items())
        yield "},"
    if table.key_sets or table.public_totals:
        yield "# key_sets and public_totals must be declared here again"


def _source(source: Any) -> str:
    match source:
        case str() | os.PathLike():
            return f"{os.fspath(source)!r},"
        case [*paths] if paths and all(isinstance(path, str | os.PathLike) for path in paths):
            return f"{[os.fspath(path) for path in paths]!r},"
        case DatabaseTable(path, table, schema):
            return f"dp.engines.duckdb_table({path!r}, {table!r}, schema={schema!r}),"
        case _:
            return f"...,  # put the {type(source).__name__} here"


def _declared(column: Declared) -> str:
    """The call that declares a column; empty if it says nothing."""
    more = "" if column.nullable else ", nullable=False"
    if column.keys is not None:
        other = "" if column.other is None else f", other={column.other!r}"
        return f"dp.keys({list(column.keys)!r}{other}{more})"
    if column.low is not None and column.high is not None:
        return f"dp.bounds({_end(column.low)}, {_end(column.high)}{more})"
    if column.unknown:
        return f"dp.unknown_keys({more[2:]})"
    return f'dp.bounds("{AUTO if column.auto else NEVER}"{more})' if column.auto or column.never else ""


def _end(end: Fraction | date) -> str:
    if isinstance(end, datetime):
        return repr(str(end))
    if isinstance(end, date):
        return repr(end.isoformat())
    return str(end) if end.denominator == 1 else repr(str(end))


def _terms(backend: Backend) -> Iterator[str]:
    terms = backend.terms
    yield f"    budget=dp.{terms.budget!r},"
    if backend.ledger is None:
        yield '    # a new budget each time this runs; ledger="budget.db" keeps one'
    else:
        yield "    # ledger=...,  the file that keeps this budget"
    if terms.neighbours is not Neighbours.ADD_REMOVE:
        yield f"    neighbours=dp.{terms.neighbours!s},"
    if terms.rule is not None and terms.rule is not default_rule(terms.budget):
        yield f"    rule=dp.{terms.rule!s},"
    if backend.engine.name != "duckdb":
        yield f"    # engine=dp.engines.{backend.engine.name}(...),"


def _quoted(text: str) -> str:
    """A text as a constant, on lines of its own where it has several."""
    plain = text.strip()
    if '"' in plain or "\\" in plain or (not plain.isprintable() and "\n" not in plain):
        return repr(plain)
    return f'"""\n{plain}\n"""' if "\n" in plain else f'"{plain}"'


def _price(price: Price) -> Iterator[str]:
    given: Mapping[str, Any] = {"epsilon": price.epsilon, "delta": price.delta, "rho": price.rho, "error": price.error}
    for name, value in given.items():
        if value is not None:
            yield f"{name}={value if isinstance(value, int | dict) else repr(str(value))}"
    if price.confidence != Price().confidence:
        yield f"confidence={str(price.confidence)!r}"
