"""The system catalogue that programs read when they connect, answered from the public schema alone.

Guarantee: what is here was declared by the owner or is the type of a column; no row of a table is. The statements of
clients are read and rewritten by ``catalog_queries.py`` and run by a database in memory that holds nothing else, has no
access to files or networks, and is stopped after ``SECONDS``.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
from sqlglot import exp

from discreet.curator.wire.catalog_queries import rewritten
from discreet.curator.wire.catalog_tables import (
    INFORMATION_TABLES,
    LONG_NAMES,
    MACROS,
    SETTINGS,
    TABLES,
    TYPES,
    VERSION,
)
from discreet.curator.wire.types import BOOL, DATE, FLOAT8, INT8, TEXT, TEXTS, TIMESTAMP, WireType
from discreet.errors import BadQuestion
from discreet.query.plan.schema import Schema
from discreet.query.plan.types import Boolean, Date, Kind, Number, Timestamp
from discreet.query.plan.types import Text as TextKind

SECONDS = 5.0
MOST_ROWS = 100_000
_SYSTEM, _PUBLIC, _INFORMATION = 11, 2200, 13_000
_FIRST_TABLE = 20_000
_OWNER = 10
_SHORT = {oid: name for oid, name, *_ in TYPES}


@dataclass(frozen=True, slots=True)
class Rows:
    """What a statement about the catalogue gives."""

    columns: tuple[tuple[str, WireType], ...]
    rows: tuple[tuple[Any, ...], ...]


def column_type(kind: Kind) -> WireType:
    """The type that clients see for a column of a private table."""
    match kind:
        case Number(step=step):
            return INT8 if step == 1 else FLOAT8
        case TextKind():
            return TEXT
        case Boolean():
            return BOOL
        case Date():
            return DATE
        case Timestamp():
            return TIMESTAMP
        case _:
            return FLOAT8


class Catalog:
    """The catalogue of one data set, for one user."""

    def __init__(self, dataset: str, user: str, schemas: Mapping[str, Schema]) -> None:
        settings: dict[str, Any] = {"enable_external_access": "false", "memory_limit": "128MB", "threads": "1",
                    "autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}  # fmt: skip
        self._base = duckdb.connect(":memory:", config=settings)
        self._lock = threading.Lock()
        self._fill(dataset, user, schemas)
        self._base.execute("SET python_enable_replacements = false")
        self._base.execute("SET lock_configuration = true")

    def close(self) -> None:
        """Forget it."""
        self._base.close()

    def run(self, tree: exp.Query) -> Rows:
        """The rows of a statement that ``read`` has read."""
        text = rewritten(tree)
        with self._lock:
            cursor = self._base.cursor()
            stop = threading.Timer(SECONDS, cursor.interrupt)
            stop.start()
            try:
                cursor.execute(text)
                rows = tuple(cursor.fetchmany(MOST_ROWS))
                columns = tuple((name, _wire_type(str(kind))) for name, kind, *_ in cursor.description or ())
            except duckdb.Error:
                raise BadQuestion("This query of the system catalogue is not known here.") from None
            finally:
                stop.cancel()
                cursor.close()
        return Rows(columns, tuple(tuple(map(_plain, row)) for row in rows))

    def _fill(self, dataset: str, user: str, schemas: Mapping[str, Schema]) -> None:
        run = self._base.execute
        prefixed = {f"_{name}": columns for name, columns in TABLES.items()}
        prefixed |= {f"_is_{name}": columns for name, columns in INFORMATION_TABLES.items()}
        run(";".join(f"CREATE TABLE {name} ({columns})" for name, columns in prefixed.items()))
        values = {"version": VERSION, "database": _quoted(dataset), "user": _quoted(user)}
        for line in filter(None, MACROS.split("\n")):
            run("CREATE MACRO " + line.format(**values))
        for oid, name in ((_SYSTEM, "pg_catalog"), (_PUBLIC, "public"), (_INFORMATION, "information_schema")):
            self._add("_pg_namespace", oid=oid, nspname=name, nspowner=_OWNER)
            self._add("_is_schemata", catalog_name=dataset, schema_name=name, schema_owner=user)
        self._add(
            "_pg_database", oid=1, datname=dataset, datdba=_OWNER, encoding=6, datcollate="C", datctype="C",
            datistemplate=False, datallowconn=True, datconnlimit=-1, dattablespace=1663, datlocprovider="c",
        )  # fmt: skip
        self._add(
            "_pg_roles", oid=_OWNER, rolname=user, rolsuper=False, rolinherit=True, rolcreaterole=False,
            rolcreatedb=False, rolcanlogin=True, rolreplication=False, rolbypassrls=False, rolconnlimit=-1,
        )  # fmt: skip
        self._add("_pg_user", usename=user, usesysid=_OWNER, usesuper=False)
        self._add("_pg_am", oid=2, amname="heap", amtype="t")
        self._add("_pg_tablespace", oid=1663, spcname="pg_default", spcowner=_OWNER)
        for setting, value in SETTINGS.items():
            self._add("_pg_settings", name=setting, setting=value)
        for one in TYPES:
            self._type(*one)
        for place, (name, schema) in enumerate(schemas.items()):
            self._table(_FIRST_TABLE + place, name, schema, dataset, user)

    def _type(self, oid: int, name: str, length: int, category: str, array: int) -> None:
        """A type, and that of arrays of it."""
        same = {"typnamespace": _SYSTEM, "typowner": _OWNER, "typtype": "b", "typisdefined": True, "typdelim": ",",
                "typrelid": 0, "typnotnull": False, "typbasetype": 0, "typtypmod": -1, "typndims": 0,
                "typcollation": 0}  # fmt: skip
        self._add("_pg_type", oid=oid, typname=name, typlen=length, typcategory=category, typelem=0, typarray=array,
                  typinput=f"{name}in", typoutput=f"{name}out", typreceive=f"{name}recv", **same)  # fmt: skip
        long = LONG_NAMES.get(name, name)
        self._add("_pg_long_names", oid=oid, typlong=long)
        if array:
            self._add("_pg_long_names", oid=array, typlong=f"{long}[]")
            self._add("_pg_type", oid=array, typname=f"_{name}", typlen=-1, typcategory="A", typelem=oid, typarray=0,
                      typinput="array_in", typoutput="array_out", typreceive="array_recv", **same)  # fmt: skip

    def _table(self, oid: int, name: str, schema: Schema, dataset: str, user: str) -> None:
        self._add(
            "_pg_class", oid=oid, relname=name, relnamespace=_PUBLIC, reltype=0, reloftype=0, relowner=_OWNER, relam=2,
            relfilenode=oid, reltablespace=0, relpages=0, reltuples=-1.0, reltoastrelid=0, relhasindex=False,
            relisshared=False, relpersistence="p", relkind="r", relnatts=len(schema.fields), relchecks=0,
            relhasrules=False, relhastriggers=False, relhassubclass=False, relrowsecurity=False,
            relforcerowsecurity=False, relispopulated=True, relreplident="d", relispartition=False, relhasoids=False,
        )  # fmt: skip
        self._add(
            "_pg_tables", schemaname="public", tablename=name, tableowner=user, hasindexes=False, hasrules=False,
            hastriggers=False, rowsecurity=False,
        )  # fmt: skip
        where = {"table_schema": "public", "table_name": name}
        self._add("_is_tables", table_catalog=dataset, table_type="BASE TABLE", is_insertable_into="NO", **where)
        self._add("_is_table_privileges", grantee=user, privilege_type="SELECT", **where)
        for place, (column, field) in enumerate(schema.fields.items(), 1):
            kind = column_type(field.kind)
            self._add(
                "_pg_attribute", attrelid=oid, attname=column, atttypid=kind.oid, attstattarget=-1, attlen=kind.size,
                attnum=place, attndims=0, atttypmod=-1, attstorage="p", attcompression="",
                attnotnull=not field.nullable, atthasdef=False, atthasmissing=False, attidentity="", attgenerated="",
                attisdropped=False, attislocal=True, attinhcount=0, attcollation=0,
            )  # fmt: skip
            self._add(
                "_is_columns", table_catalog=dataset, column_name=column, ordinal_position=place,
                is_nullable="YES" if field.nullable else "NO", data_type=kind.name, udt_catalog=dataset,
                udt_schema="pg_catalog", udt_name=_SHORT[kind.oid], is_identity="NO", is_generated="NEVER",
                is_updatable="NO", **where,
            )  # fmt: skip

    def _add(self, table: str, **row: Any) -> None:
        marks = ", ".join("?" * len(row))
        self._base.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))  # noqa: S608


def _wire_type(kind: str) -> WireType:
    kind = kind.upper()
    if kind.endswith("[]") or kind == "LIST":
        return TEXTS
    if kind in {"BOOLEAN", "BOOL"}:
        return BOOL
    if kind.endswith("INT") or kind.endswith("INTEGER") or kind in {"NUMBER", "HUGEINT"}:
        return INT8
    if kind in {"DOUBLE", "FLOAT"} or kind.startswith("DECIMAL"):
        return FLOAT8
    return {"DATE": DATE, "TIMESTAMP": TIMESTAMP}.get(kind, TEXT)


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str | list) else str(value)


def _quoted(text: str) -> str:
    """Text inside of single quotes of a macro; braces would be read as its places."""
    return text.replace("'", "''")
