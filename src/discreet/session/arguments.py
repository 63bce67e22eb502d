"""What a session is made of: tables, a budget, neighbours and a rule, checked before data is touched."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from discreet.errors import BadParameter, NotATheorem
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.engine import Engine
from discreet.query.plan.schema import Schema, Table, resolve


def given_tables(tables: object, named: Mapping[str, Table]) -> dict[str, Table]:
    """All tables of a session by name, at least one.

    >>> given_tables({"visits": 7}, {})
    Traceback (most recent call last):
    discreet.errors.BadParameter: visits is 'int', but it must be made by dp.table: ...
    """
    given = {**_named_tables(tables), **named}
    if not given:
        raise BadParameter("tables", "none", "must be given, such as visits=dp.table(...)")
    for name, table in given.items():
        given_table: object = table
        if name in _AMOUNTS and not isinstance(given_table, Table):
            raise BadParameter("budget", None, f"must be given in place of {name}=: {_as_budget(given)}")
        if not isinstance(given_table, Table):
            rule = f'must be made by dp.table: {name}=dp.table({_source(given_table)}, unit="person_id")'
            raise BadParameter(name, type(given_table).__name__, rule)
    return given


_AMOUNTS = ("epsilon", "delta", "rho")
"""What people write in place of a budget."""


def _as_budget(given: Mapping[str, object]) -> str:
    """The budget that amounts among the tables stand for, as it is written."""
    amounts = {name: given.get(name) for name in _AMOUNTS}
    epsilon, delta, rho = (repr(x) if isinstance(x, int | float | str) else name for name, x in amounts.items())
    if "rho" in given:
        return f"budget=dp.ZCDP({rho})"
    return f"budget=dp.Approx({epsilon}, {delta})" if "delta" in given else f"budget=dp.Pure({epsilon})"


def _named_tables(tables: object) -> dict[str, Table]:
    """The tables that were given by name; a file or a frame that was given instead gets a hint."""
    if tables is None:
        return {}
    if isinstance(tables, Mapping) and all(isinstance(name, str) for name in tables):
        return dict(tables)
    raise BadParameter(
        "tables", type(tables).__name__, "must be tables by name, each with the unit that is protected: "
        f'dp.Session(people=dp.table({_source(tables)}, unit="person_id"), budget=dp.Pure(1))',
    )  # fmt: skip


def _source(given: object) -> str:
    """A file by its name; of anything else nothing is shown, since it may be the rows."""
    return repr(str(given)) if isinstance(given, str | PathLike) else "..."


def check_budget(budget: object) -> None:
    """A promise, or a hint what to write in place of a number."""
    if not isinstance(budget, Pure | Approx | ZCDP):
        raise BadParameter("budget", budget, _which_budget(budget))


def _which_budget(given: object) -> str:
    which = "must be dp.Pure(epsilon), dp.Approx(epsilon, delta) or dp.ZCDP(rho)"
    if isinstance(given, int | float | str) and not isinstance(given, bool):
        return f"{which}: budget=dp.Pure({given!r}) is a pure epsilon of {given}"
    if isinstance(given, tuple | list) and len(given) == 2:
        return f"{which}: budget=dp.Approx({given[0]!r}, {given[1]!r}) is epsilon {given[0]} and delta {given[1]}"
    return which


def check_engine(engine: object) -> None:
    """An engine, and not a table or the name of a database."""
    if engine is not None and not callable(getattr(engine, "columns", None)):
        raise BadParameter(
            "engine",
            type(engine).__name__,
            "must be made by dp.engines.duckdb(), dp.engines.postgres(...) or dp.engines.spark(...); tables are given "
            "by their names, such as visits=dp.table(...)",
        )


def check_terms(neighbours: object, rule: Rule | None) -> None:
    """The relation and the rule are ones that a session keeps; None: those of its budget."""
    if neighbours is not None and not isinstance(neighbours, Neighbours):
        raise BadParameter("neighbours", neighbours, "must be Neighbours.ADD_REMOVE or Neighbours.CHANGE_ONE")
    if rule not in (None, Rule.EITHER, Rule.BASIC, Rule.ZCDP):
        raise NotATheorem("a session counts by Rule.EITHER, Rule.BASIC or Rule.ZCDP")


def read_schemas(given: Mapping[str, Table], engine: Engine) -> dict[str, Schema]:
    """What is public about the tables, with the columns that the engine finds."""
    schemas = {name: resolve(name, table, engine.columns(table.source)) for name, table in given.items()}
    _check_foreign_keys(schemas)
    return schemas


def _check_foreign_keys(schemas: Mapping[str, Schema]) -> None:
    """Every foreign key leads, in the end, to a table with a unit of its own."""
    for name, schema in schemas.items():
        seen = [name]
        at: Any = schema.table
        while at.through is not None:
            table, column = at.through
            if table not in schemas or column not in schemas[table].stored:
                raise BadParameter("unit", f"{at.unit} -> {table}.{column}", "must lead to a column of a table here")
            if table in seen:
                raise BadParameter("unit", f"{at.unit} -> {table}.{column}", "must not lead in a circle")
            seen.append(table)
            at = schemas[table].table
            if at.public:
                raise BadParameter("unit", f"{table}.{column}", "must lead to a private table: people are not public")
