"""Tables and views of a PostgreSQL database: how they are named, found, and read.

Promise: names reach the server as parameters, or quoted as the catalogue has them. Only metadata is read here. What
the role may not read, or only in part, is refused here: the server plans a SELECT of all columns and runs nothing.

  smallint integer bigint         integers
  numeric(p, s)                   decimals with s digits; NaN is NULL. Without a scale it cannot be used
  real  double precision          floats
  text varchar char(n) name       text; char(n) without the spaces at its end, as PostgreSQL compares it. Of more
                                  than 131,072 bytes it is NULL: PostgreSQL fails on values of 1 GB, and questions may
                                  make a text 256 times as long, in several keys of a row
  uuid, enumerations              text, as PostgreSQL writes them
  boolean date
  time                            times of day, to the second
  arrays of integers and text     lists, for UNNEST; an array of several dimensions is one list
  timestamp, with time zone       moments, those with a zone in UTC
  domains                         what they are made of
Columns of other types, and those that the role may not read, can be there but cannot be used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.engines.postgres.connections import driver
from discreet.engines.sql.dialects import POSTGRES
from discreet.engines.sql.relations import Origin
from discreet.errors import BadData, BadParameter
from discreet.query.plan.schema import ELEMENTS, Stored, StoredKind

if TYPE_CHECKING:
    from discreet.engines.postgres.connections import Connection

_KINDS = {
    "int2": StoredKind.INTEGER,
    "int4": StoredKind.INTEGER,
    "int8": StoredKind.INTEGER,
    "float4": StoredKind.REAL,
    "float8": StoredKind.REAL,
    "text": StoredKind.TEXT,
    "varchar": StoredKind.TEXT,
    "bpchar": StoredKind.TEXT,
    "name": StoredKind.TEXT,
    **dict.fromkeys(("uuid", "json", "jsonb"), StoredKind.TEXT),
    "bool": StoredKind.BOOLEAN,
    "date": StoredKind.DATE,
    "time": StoredKind.TIME,
    "timestamp": StoredKind.TIMESTAMP,
    "timestamptz": StoredKind.TIMESTAMP,
}
_MOST_DIGITS = 38
_READ = {  # always a cast to what we compute with: should the owner change a type later on, no bound is lost
    StoredKind.INTEGER: "CAST({0} AS BIGINT)",
    StoredKind.DECIMAL: "CAST({0} AS NUMERIC)",
    StoredKind.REAL: "CAST({0} AS DOUBLE PRECISION)",
    StoredKind.TEXT: '(CAST({0} AS TEXT) COLLATE "C")',  # units too: under a loose collation two people would be one
    StoredKind.BOOLEAN: "{0}",
    StoredKind.DATE: "{0}",
    StoredKind.TIME: "{0}",
    StoredKind.TIMESTAMP: "{0}",
}
_READ_LIST = {StoredKind.INTEGER: "CAST({0} AS BIGINT[])", StoredKind.TEXT: "CAST({0} AS TEXT[])"}
_ZONED = "({0} AT TIME ZONE 'UTC')"
_LONGEST_TEXT = 1 << 17
_LONG = f'(CASE WHEN octet_length(CAST({{0}} AS TEXT)) <= {_LONGEST_TEXT} THEN CAST({{0}} AS TEXT) END COLLATE "C")'
_MAY_BE_LONG = ("text", "varchar", "bpchar")

_FIND = """
SELECT c.oid, pg_catalog.row_security_active(c.oid), pg_catalog.has_schema_privilege(n.oid, 'USAGE')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""
# A domain is followed down to its base type; what the column or a domain says of digits goes along.
_COLUMNS = """
WITH RECURSIVE found AS (
    SELECT a.attnum, a.attname, a.atttypid AS kind, a.atttypmod AS digits
    FROM pg_catalog.pg_attribute a
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
        AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT')
  UNION ALL
    SELECT f.attnum, f.attname, t.typbasetype, CASE WHEN f.digits = -1 THEN t.typtypmod ELSE f.digits END
    FROM found f JOIN pg_catalog.pg_type t ON t.oid = f.kind WHERE t.typtype = 'd'
)
SELECT f.attname, t.typname, t.typtype = 'e', t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace, f.digits
FROM found f JOIN pg_catalog.pg_type t ON t.oid = f.kind WHERE t.typtype <> 'd' ORDER BY f.attnum
"""


_WRITABLE = """
SELECT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) OR pg_catalog.bool_or(
    pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
    OR pg_catalog.has_any_column_privilege(c.oid, 'INSERT, UPDATE'))
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s
"""


@dataclass(frozen=True, slots=True)
class PostgresTable:
    """A table or view by its name in the catalogue."""

    table: str
    schema: str | None = None

    def __str__(self) -> str:
        return self.table if self.schema is None else f"{self.schema}.{self.table}"


def postgres_table(table: str, *, schema: str) -> PostgresTable:
    """A table or view of a PostgreSQL database, for names that hold a dot; elsewhere write "schema.table".

    >>> str(postgres_table("visits.2024", schema="clinic"))
    'clinic.visits.2024'
    """
    for name, value in (("table", table), ("schema", schema)):
        if not isinstance(value, str) or not value or "\0" in value:
            raise BadParameter(name, value, "must be a name")
    return PostgresTable(table, schema)


def named(source: object) -> PostgresTable:
    """What a source of ``dp.table`` names.

    >>> named("clinic.visits")
    PostgresTable(table='visits', schema='clinic')
    """
    if isinstance(source, PostgresTable):
        return source
    if not isinstance(source, str):
        raise BadData(f'a table in PostgreSQL must be named, as in "schema.table"; not a {type(source).__name__}')
    first, dot, second = source.partition(".")
    if "\0" in source or not first or (dot and not second) or "." in second:
        raise BadData(
            'a table in PostgreSQL must be named as "table" or "schema.table"; '
            "for names that hold a dot there is dp.engines.postgres_table"
        )
    return PostgresTable(second, first) if dot else PostgresTable(first)


def describe(table: PostgresTable, schema: str, connection: Connection) -> Origin:
    """Where the rows of a table come from. Reads the catalogue only."""
    schema = table.schema or schema
    table_facts = connection.execute(_FIND, (schema, table.table)).fetchone()
    if table_facts is None or not table_facts[2]:
        raise BadData(
            f"{schema}.{table.table} must be a table or view of this database that the role may read "
            "(names are compared letter by letter, upper and lower case too)"
        )
    if table_facts[1]:
        raise BadData(
            f"{schema}.{table.table} must not show each role other rows: row-level security would change the answers; "
            "let the role bypass it, or make a view"
        )
    stored: dict[str, Stored] = {}
    read = []
    for name, kind, is_enum, built_in, digits in connection.execute(_COLUMNS, (table_facts[0],)):
        how = stored[name] = _stored(kind if built_in else "", is_enum, digits)
        if how.element is not None:
            read.append(f"{_READ_LIST[how.element].format(POSTGRES.identifier(name))} AS {POSTGRES.identifier(name)}")
        if how.kind is not StoredKind.OTHER:
            column = POSTGRES.identifier(name)
            form = _ZONED if kind == "timestamptz" else _LONG if kind in _MAY_BE_LONG else _READ[how.kind]
            read.append(f"{form.format(column)} AS {column}")
    if not read:
        raise BadData(f"{schema}.{table.table} must have a column that the role may read, of a type that can be used")
    item = ".".join(POSTGRES.identifier(part) for part in (schema, table.table))
    sql = f"(SELECT {', '.join(read)} FROM {item})"
    try:
        connection.execute(f"EXPLAIN SELECT * FROM {sql} AS t".encode())
    except driver().errors.InsufficientPrivilege:
        raise BadData(
            f"{schema}.{table.table} must be a table or view that the role may read with all that it is made of, and "
            "without row-level security below it: let the role bypass that, or make a view that its owner may read"
        ) from None
    return Origin(sql, stored)


def writable(table: PostgresTable, schema: str, connection: Connection) -> bool:
    """Whether the role could change a table: by a privilege, as its owner, or as a superuser."""
    privileges = connection.execute(_WRITABLE, (table.schema or schema, table.table)).fetchone()
    return privileges is not None and bool(privileges[0])


def _stored(kind: str, is_enum: bool, digits: int) -> Stored:
    """The stored type; ``digits`` is PostgreSQL's code for precision and scale, -1 if there is none."""
    if is_enum:
        return Stored(StoredKind.TEXT)
    if kind == "numeric" and digits >= 4:
        scale = (((digits - 4) & 0x7FF) ^ 1024) - 1024  # 11 bits with a sign
        if scale <= _MOST_DIGITS:
            return Stored(StoredKind.DECIMAL, max(scale, 0))
    element = _KINDS.get(kind.removeprefix("_")) if kind.startswith("_") and kind != "_bpchar" else None
    return Stored(_KINDS.get(kind, StoredKind.OTHER), type=kind, element=element if element in ELEMENTS else None)
