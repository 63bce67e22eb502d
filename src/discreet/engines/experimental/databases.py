"""The databases of ``dp.engines.experimental``: what their catalogues call things, and the settings that we rely on."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.engines.experimental.dialects import BIGQUERY, DATABRICKS, MARIADB, MYSQL, SNOWFLAKE
from discreet.engines.experimental.source import Warehouse
from discreet.engines.experimental.sqlserver import SQLSERVER
from discreet.query.plan.schema import StoredKind


def kinds(**words: str) -> dict[str, StoredKind]:
    """Names of types, by kind; + stands for a space.

    >>> kinds(INTEGER="int bigint+unsigned")["bigint unsigned"].value
    'integer'
    """
    return {word.replace("+", " "): StoredKind[kind] for kind, listed in words.items() for word in listed.split()}


def reading(**forms: str) -> dict[StoredKind, str]:
    """How each kind is read: as it is, unless given otherwise."""
    return {kind: forms.get(kind.name, "{0}") for kind in StoredKind}


_MYSQL_TYPES = kinds(
    INTEGER="tinyint smallint mediumint int bigint year",
    DECIMAL="decimal",
    REAL="float double",
    TEXT="char varchar tinytext text mediumtext longtext enum set uuid",
    BOOLEAN="tinyint(1)",
    DATE="date",
    TIMESTAMP="datetime timestamp",
)
_A_DAY = "CASE WHEN MONTH({0}) > 0 AND DAYOFMONTH({0}) > 0 THEN {0} END"  # there is a day 0000-00-00: NULL


def _mysql(mariadb: bool) -> Warehouse:
    dialect = MARIADB if mariadb else MYSQL
    collation = "utf8mb4_nopad_bin" if mariadb else "utf8mb4_0900_bin"
    return Warehouse(
        dialect=dialect,
        kinds=_MYSQL_TYPES,
        read=reading(
            INTEGER="CAST({0} AS SIGNED)",
            REAL="CAST({0} AS DOUBLE)",
            TEXT=dialect.templates["cast_text"],
            BOOLEAN="({0} <> 0)",
            DATE=_A_DAY,
            TIMESTAMP=_A_DAY,
        ),
        own={"bigint unsigned": "CAST({0} AS DECIMAL(20, 0))"},
        details="column_type, NULL, numeric_scale",
        terms=(
            f"SET NAMES utf8mb4 COLLATE {collation}",
            "SET SESSION sql_mode = 'STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY'",
            "SET SESSION time_zone = '+00:00'",
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
        ),
    )


_SNOWFLAKE_ZONED = "DATE_TRUNC('MICROSECOND', CAST(CONVERT_TIMEZONE('UTC', {0}) AS TIMESTAMP_NTZ))"

WAREHOUSES: Mapping[str, Warehouse] = {
    "bigquery": Warehouse(
        dialect=BIGQUERY,
        kinds=kinds(
            INTEGER="int64",
            DECIMAL="numeric bignumeric",
            REAL="float64",
            TEXT="string",
            BOOLEAN="bool",
            DATE="date",
            TIMESTAMP="datetime timestamp",
        ),
        read=reading(REAL="CAST({0} AS FLOAT64)", INTEGER="CAST({0} AS INT64)", TEXT="CAST({0} AS STRING)"),
        own={"timestamp": "DATETIME({0}, 'UTC')"},
        details="data_type, collation_name, CASE data_type WHEN 'NUMERIC' THEN 9 END",
        plain=frozenset({"NULL"}),
        beside=True,
    ),
    "snowflake": Warehouse(
        dialect=SNOWFLAKE,
        kinds=kinds(
            DECIMAL="number",
            REAL="float",
            TEXT="text",
            BOOLEAN="boolean",
            DATE="date",
            TIMESTAMP="timestamp_ntz timestamp_ltz timestamp_tz",
        ),
        read=reading(REAL="CAST({0} AS DOUBLE)", TIMESTAMP="DATE_TRUNC('MICROSECOND', {0})"),
        own=dict.fromkeys(("timestamp_ltz", "timestamp_tz"), _SNOWFLAKE_ZONED),
        details="NULL, collation_name, numeric_scale",
        plain=frozenset({"utf8"}),
        terms=("ALTER SESSION SET TIMEZONE = 'UTC'", "ALTER SESSION SET BINARY_OUTPUT_FORMAT = 'HEX'"),
    ),
    "databricks": Warehouse(
        dialect=DATABRICKS,
        kinds=kinds(
            INTEGER="tinyint byte smallint short int integer bigint long",
            DECIMAL="decimal",
            REAL="float double",
            TEXT="string",
            BOOLEAN="boolean",
            DATE="date",
            TIMESTAMP="timestamp timestamp_ntz",
        ),
        read=reading(INTEGER="CAST({0} AS BIGINT)", REAL="CAST({0} AS DOUBLE)", TIMESTAMP="CAST({0} AS TIMESTAMP_NTZ)"),
        details="full_data_type, collation_name, numeric_scale",
        plain=frozenset({"UTF8_BINARY"}),
        terms=("SET TIME ZONE 'UTC'", "SET ANSI_MODE = true"),
    ),
    "mysql": _mysql(mariadb=False),
    "mariadb": _mysql(mariadb=True),
    "sqlserver": Warehouse(
        dialect=SQLSERVER,
        kinds=kinds(
            INTEGER="tinyint smallint int bigint",
            DECIMAL="decimal numeric money smallmoney",
            REAL="float real",
            TEXT="char varchar nchar nvarchar uniqueidentifier",
            BOOLEAN="bit",
            DATE="date",
            TIMESTAMP="datetime datetime2 smalldatetime datetimeoffset",
        ),
        read=reading(
            INTEGER="CAST({0} AS BIGINT)",
            REAL="CAST({0} AS FLOAT)",
            TEXT="CAST({0} AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2",
            TIMESTAMP="CAST({0} AS DATETIME2(6))",
        ),
        own={"datetimeoffset": "CAST(SWITCHOFFSET({0}, 0) AS DATETIME2(6))"},
        terms=(
            "SET ANSI_NULLS, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON",
            "SET LANGUAGE us_english",
        ),
    ),
}
