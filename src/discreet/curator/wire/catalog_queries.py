"""Queries of the system catalogue: told apart from queries about the data, and rewritten for our own tables.

Guarantee: what comes out is one SELECT over the tables and functions of ``catalog_tables.py`` and nothing else, or
``BadQuestion``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError

from discreet.curator.wire.catalog_tables import INFORMATION_TABLES, MACROS, TABLES
from discreet.errors import BadQuestion

_OWN_NAMES = {line.split("(", 1)[0] for line in MACROS.split("\n") if line}
_OTHER_FUNCTIONS = {"array_length", "array_position", "array_to_string", "cardinality", "generate_subscripts", "unnest"}
_RENAMED = {"json_build_object": "json_object"}
_OBJECTS = {"regclass", "regtype", "regproc", "regnamespace", "regoper", "regrole"}
_DIALECT, _RUNS = Postgres(), DuckDB()


def read(text: str) -> exp.Query | None:
    """The tree of a statement that is about the catalogue, or about no table at all; None for any other."""
    try:
        trees = _DIALECT.parse(text)
    except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError):
        return None
    tree = trees[0] if len(trees) == 1 else None
    if not isinstance(tree, exp.Query):
        return None
    names = {cte.alias_or_name.lower() for cte in tree.find_all(exp.CTE)}
    tables = [table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    own = [table for table in tables if table.db or table.name.lower() not in names]
    return tree if all(_known(table) for table in own) else None


def _known(table: exp.Table) -> bool:
    name, space = table.name.lower(), table.db.lower()
    if space == "information_schema":
        return name in INFORMATION_TABLES
    return name in TABLES if space in {"", "pg_catalog"} else False


def rewritten(tree: exp.Query) -> str:
    """The statement over our own tables, with the few functions that the catalogue has, as DuckDB reads it."""
    changed = tree.copy()
    refused = next(changed.find_all(exp.Into, exp.Lock), None)
    if refused is not None:
        raise BadQuestion(f"{refused.key.upper()} cannot be used with the system catalogue.")
    _name_columns(changed)
    for node in reversed(list(changed.walk())):  # parts before the whole
        new = _change(node)
        if new is not node:
            node.replace(new)
    return changed.sql(dialect=_RUNS)


def _name_columns(tree: exp.Query) -> None:
    """Columns without a name get the one that PostgreSQL gives them."""
    first: Any = tree
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    for column in first.expressions if isinstance(first, exp.Select) else ():
        if not isinstance(column, exp.Alias | exp.Column | exp.Star):
            column.replace(exp.alias_(column.copy(), _column_name(column), quoted=True))


def _column_name(column: exp.Expr) -> str:
    match column:
        case exp.Cast():
            inner: Any = column.this
            while isinstance(inner, exp.Cast):
                inner = inner.this
            name = _column_name(inner)
            return column.to.sql(dialect=_DIALECT).lower() if name == "?column?" else name
        case exp.Paren() | exp.Collate():
            return _column_name(column.this)
        case exp.Dot():
            return _column_name(column.expression)
        case exp.Column() | exp.Anonymous():
            return column.name.lower()
        case exp.Case():
            return "case"
        case exp.Func():
            return str(column.sql_name()).lower().removeprefix("current_version").strip("_") or "version"
    return "?column?"


def _change(node: exp.Expr) -> exp.Expr:
    for types, change in _CHANGES:
        if isinstance(node, types):
            return change(node)
    return node


def _change_table(node: Any) -> exp.Expr:
    if not isinstance(node.this, exp.Identifier):
        if not isinstance(node.this, exp.GenerateSeries | exp.Unnest):
            raise BadQuestion("This table function is not known for the system catalogue.")
        node.set("db", None)
        return node  # type: ignore[no-any-return]
    if not _known(node):  # a name that WITH gives
        return node  # type: ignore[no-any-return]
    prefix = "_is_" if node.db.lower() == "information_schema" else "_"
    alias = node.alias or node.name
    return exp.alias_(exp.to_table(prefix + node.name.lower()), alias, table=True)


def _change_column(node: Any) -> exp.Expr:
    if node.args.get("db") is not None:  # pg_catalog.pg_class.oid
        return exp.column(node.this, table=node.args["table"])
    return node  # type: ignore[no-any-return]


def _change_cast(node: Any) -> exp.Expr:
    wanted = node.to.sql(dialect=_DIALECT).lower().replace('"', "").removeprefix("pg_catalog.")
    inner = node.this
    if wanted == "regclass":
        name = "_class_oid" if isinstance(inner, exp.Literal) and inner.is_string else "_class_name"
        return exp.Anonymous(this=name, expressions=[inner])
    if wanted in {"oid", "xid", "cid"}:
        return inner if isinstance(inner, exp.Anonymous) else exp.cast(inner, "BIGINT")
    if wanted in _OBJECTS | {"char", "name", "cstring"} or wanted.startswith("information_schema."):
        return exp.cast(inner, "VARCHAR")
    if wanted.endswith("[]"):
        return exp.cast(inner, "VARCHAR[]")
    return node  # type: ignore[no-any-return]


def _change_dot(node: Any) -> exp.Expr:
    """pg_catalog.f(x)."""
    return node.expression if node.this.name.lower() in {"pg_catalog", "information_schema"} else node  # type: ignore[no-any-return]


def _change_function(node: Any) -> exp.Expr:
    name = node.name.lower()
    if name in _RENAMED:
        return exp.Anonymous(this=_RENAMED[name], expressions=node.expressions)
    if name not in _OWN_NAMES | _OTHER_FUNCTIONS:
        raise BadQuestion(f"The function {name[:60]} is not known for the system catalogue.")
    return node  # type: ignore[no-any-return]


def _change_operator(node: Any) -> exp.Expr:
    """a OPERATOR(pg_catalog.~) b."""
    sign = node.args["operator"]
    sign = sign if isinstance(sign, str) else sign.sql(dialect=_DIALECT)
    if sign.rsplit(".", 1)[-1].strip('" ') != "~":
        raise BadQuestion("This operator is not known for the system catalogue.")
    return exp.RegexpLike(this=node.this, expression=node.expression)


def _call(name: str) -> Callable[[Any], exp.Expr]:
    return lambda _: exp.Anonymous(this=name, expressions=[])


_CHANGES: tuple[tuple[type | tuple[type, ...], Callable[[Any], exp.Expr]], ...] = (
    (exp.Table, _change_table),
    (exp.Column, _change_column),
    (exp.Cast, _change_cast),
    (exp.Collate, lambda node: node.this),
    (exp.Dot, _change_dot),
    (exp.Operator, _change_operator),
    ((exp.CurrentUser, exp.SessionUser), _call("current_user_")),
    (exp.CurrentCatalog, _call("current_catalog_")),
    (exp.CurrentSchema, _call("current_schema")),
    (exp.CurrentDatabase, _call("current_database")),
    (exp.CurrentVersion, _call("version")),
    (exp.Anonymous, _change_function),
)
