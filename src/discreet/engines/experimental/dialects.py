"""The dialects that are experimental: BigQuery, Snowflake, Databricks, MySQL, MariaDB.

SQL Server has a file of its own.

They follow the manuals of these databases. MariaDB's text has run on a real server, and Databricks writes what Spark
writes; nobody has run the others yet.

Columns of text must not have a collation of their own on BigQuery, Snowflake and Databricks: there text without one is
compared by code point. MySQL and MariaDB name a collation that compares code points and sees spaces at the end.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from discreet.engines.sql.dialects import COMMON, LOWER, SPARK, UPPER, Dialect, Sort, doubled, escaped


def _parts(form: str, *names: str) -> dict[str, str]:
    """Parts of dates, each by the same form."""
    return {name: form.format(name.upper()) for name in names}


BIGQUERY = Dialect(
    name="bigquery",
    types={
        Sort.INTEGER: "INT64",
        Sort.TEXT: "STRING",
        Sort.BOOLEAN: "BOOL",
        Sort.DATE: "DATE",
        Sort.TIMESTAMP: "DATETIME",
        Sort.REAL: "FLOAT64",
    },
    wide="BIGNUMERIC",
    quote="`",
    any_name=False,
    quoting=escaped,
    like_escape="\\",
    templates=COMMON
    | _parts("EXTRACT({0} FROM {{0}})", "year", "quarter", "month", "day", "hour", "minute", "second")
    | {
        "sum": "sum(CAST({0} AS BIGNUMERIC))",
        "div": "DIV({0}, NULLIF({1}, 0))",
        "quotient": "DIV({0}, {1})",
        "wide_quotient": "DIV({0}, {1})",
        "mod": "MOD({0}, NULLIF({1}, 0))",
        "remainder": "MOD({0}, {1})",
        "wide_remainder": "MOD({0}, {1})",
        "sign": "SIGN({0})",
        "half": "DIV(({0} - ({0} & 1)), 2)",  # its >> fills with zeros
        "root": "floor(sqrt(CAST({0} AS FLOAT64)))",
        "decimal": "ROUND(CAST({0} AS BIGNUMERIC), {2})",
        "trim": "trim({0}, ' ')",
        "ltrim": "ltrim({0}, ' ')",
        "rtrim": "rtrim({0}, ' ')",
        "length": "CHAR_LENGTH({0})",
        "substring": "SUBSTR({0}, {1}, {2})",
        "md5": "TO_HEX(MD5({0}))",
        "split_part": "CASE WHEN {0} IS NOT NULL THEN COALESCE(SPLIT({0}, {1})[SAFE_OFFSET({2} - 1)], '') END",
        "starts_with": "STARTS_WITH({0}, {1})",
        "ends_with": "ENDS_WITH({0}, {1})",
        "contains": "(STRPOS({0}, {1}) > 0 OR ({1} = '' AND {0} = {0}))",
        "matching": "REGEXP_EXTRACT({0}, {1})",
        "integer_to_text": "CAST({0} AS STRING)",
        "boolean_to_text": "CAST({0} AS STRING)",
        "date_to_text": "FORMAT_DATE('%E4Y-%m-%d', {0})",
        "timestamp_to_text": "FORMAT_DATETIME('%E4Y-%m-%dT%H:%M:%E6S', {0})",
        "boolean_to_integer": "CAST({0} AS INT64)",
        "date_to_timestamp": "CAST({0} AS DATETIME)",
        "timestamp": "DATETIME '{0}'",
        "day_of_week": "(MOD(EXTRACT(DAYOFWEEK FROM {0}) + 5, 7) + 1)",  # its Sunday is 1
        "day_of_year": "EXTRACT(DAYOFYEAR FROM {0})",
        "days_between": "DATE_DIFF({1}, {0}, DAY)",
        "add_days": "DATE_ADD({0}, INTERVAL {1} DAY)",
        "seconds_between": "DIV(DATETIME_DIFF({1}, {0}, MICROSECOND), 1000000)",
        "add_seconds": "DATETIME_ADD(DATETIME_ADD({0}, INTERVAL {1} DAY), INTERVAL {2} SECOND)",
    }
    | {
        f"date_trunc_{unit}": f"DATETIME_TRUNC(CAST({{0}} AS DATETIME), {unit.upper()})"
        for unit in ("year", "quarter", "month", "day", "hour", "minute")
    }
    | {"date_trunc_week": "DATETIME_TRUNC(CAST({0} AS DATETIME), ISOWEEK)"},
)

SNOWFLAKE = Dialect(
    name="snowflake",
    types={
        Sort.INTEGER: "NUMBER(38, 0)",
        Sort.TEXT: "VARCHAR",
        Sort.BOOLEAN: "BOOLEAN",
        Sort.DATE: "DATE",
        Sort.TIMESTAMP: "TIMESTAMP_NTZ(6)",
        Sort.REAL: "DOUBLE",
    },
    wide="NUMBER(38, 0)",
    quoting=escaped,
    whole_text="({0})",  # REGEXP_LIKE looks at all of a text
    infinities=("inf", "-inf"),
    templates=COMMON
    | {
        # a quotient has six digits and is rounded, so what is left over goes first; and no sign is left to the manual
        "div": "CAST(({0} - SIGN({0}) * MOD(ABS({0}), ABS(NULLIF({1}, 0)))) / NULLIF({1}, 0) AS NUMBER(38, 0))",
        "quotient": "CAST(({0} - SIGN({0}) * MOD(ABS({0}), {1})) / {1} AS NUMBER(38, 0))",
        "wide_quotient": "CAST(({0} - SIGN({0}) * MOD(ABS({0}), {1})) / {1} AS NUMBER(38, 0))",
        "mod": "(SIGN({0}) * MOD(ABS({0}), ABS(NULLIF({1}, 0))))",
        "remainder": "(SIGN({0}) * MOD(ABS({0}), {1}))",
        "wide_remainder": "(SIGN({0}) * MOD(ABS({0}), {1}))",
        "sign": "CAST(SIGN({0}) AS NUMBER(38, 0))",
        "half": "CAST(({0} - ABS(MOD({0}, 2))) / 2 AS NUMBER(38, 0))",
        "trim": "trim({0}, ' ')",
        "ltrim": "ltrim({0}, ' ')",
        "rtrim": "rtrim({0}, ' ')",
        "length": "LENGTH({0})",
        "starts_with": "STARTSWITH({0}, {1})",
        "ends_with": "ENDSWITH({0}, {1})",
        "contains": "CONTAINS({0}, {1})",
        "matching": "CASE WHEN REGEXP_LIKE({0}, {1}) THEN {0} END",
        "boolean_to_integer": "CAST({0} AS NUMBER(38, 0))",
        "date_to_text": "TO_CHAR({0}, 'YYYY-MM-DD')",
        "timestamp_to_text": "TO_CHAR({0}, 'YYYY-MM-DD\"T\"HH24:MI:SS.FF6')",
        "date_to_timestamp": "CAST({0} AS TIMESTAMP_NTZ(6))",
        "date": "TO_DATE('{0}', 'YYYY-MM-DD')",
        "timestamp": "TO_TIMESTAMP_NTZ('{0}', 'YYYY-MM-DD HH24:MI:SS.FF6')",
        **_parts("{0}({{0}})", "year", "quarter", "month", "day", "hour", "minute", "second"),
        "day_of_year": "DAYOFYEAR({0})",
        "day_of_week": "DAYOFWEEKISO({0})",
        "date_trunc_week": "DATEADD(DAY, 1 - DAYOFWEEKISO({0}), DATE_TRUNC('day', {0}))",  # whatever WEEK_START is
        "days_between": "DATEDIFF(DAY, {0}, {1})",
        "add_days": "DATEADD(DAY, {1}, {0})",
        "seconds_between": "TRUNC(DATEDIFF(MICROSECOND, {0}, {1}) / 1000000)",
        "add_seconds": "DATEADD(SECOND, {2}, DATEADD(DAY, {1}, {0}))",
    },
)

DATABRICKS = replace(SPARK, name="databricks")
"""Databricks runs Spark's SQL; its default is the strict ("ANSI") mode in which ours is tested."""


def _one_by_one(letters: str, others: str) -> str:
    """Letter after letter: there is no translate()."""
    return reduce(lambda x, pair: f"replace({x}, '{pair[0]}', '{pair[1]}')", zip(letters, others, strict=True), "{0}")


def unescaped(value: str) -> str:
    """A string literal that means the same whether or not a backslash is an escape, which a setting decides.

    >>> print(unescaped("it's"), unescaped("a" + chr(92)))
    'it''s' CONVERT(X'615C' USING utf8mb4)
    """
    if "\\" in value or "\0" in value:
        return f"CONVERT(X'{value.encode().hex().upper()}' USING utf8mb4)"
    return doubled(value)


_MONTH = "DATE_SUB(DATE({0}), INTERVAL DAYOFMONTH({0}) - 1 DAY)"


def _mysql(name: str, collation: str) -> Dialect:
    def binary(sql: str) -> str:
        return f"({sql} COLLATE {collation})"

    return Dialect(
        name=name,
        types={
            Sort.INTEGER: "SIGNED",
            Sort.TEXT: "CHAR",
            Sort.BOOLEAN: "SIGNED",
            Sort.DATE: "DATE",
            Sort.TIMESTAMP: "DATETIME(6)",
            Sort.REAL: "DOUBLE",
        },
        wide="DECIMAL(65, 0)",
        quote="`",
        quoting=unescaped,
        # neither \z nor $, which stops before a last line break: no character follows, whichever
        whole_text="^(?:{0})(?![^a]|a)",
        infinities=None,
        joined="",
        like_escape="|",
        templates=COMMON
        | {
            "div": "({0} DIV NULLIF({1}, 0))",
            "quotient": "({0} DIV {1})",
            "wide_quotient": "({0} DIV {1})",
            "half": "CAST(floor({0} / 2) AS SIGNED)",  # its >> fills with zeros; this division is one of decimals
            "sign": "CAST(sign({0}) AS SIGNED)",
            "same": "({0} <=> {1})",
            "nulls_last": "{0} IS NULL, {0}",
            "nulls_last_down": "{0} IS NULL, {0} DESC",
            "cast_boolean": "({0} <> 0)",
            "cast_text": f"CONVERT(CAST({{0}} AS CHAR) USING utf8mb4) COLLATE {collation}",
            "binary": "{0}",
            "like": "({0} LIKE {1} ESCAPE '|')",
            "lower": _one_by_one(UPPER, LOWER),
            "upper": _one_by_one(LOWER, UPPER),
            "length": "char_length({0})",
            "concat": "concat({0}, {1})",
            # substring_index gives the last part again for those beyond it
            "split_part": (
                "CASE WHEN char_length({0}) - char_length(replace({0}, {1}, '')) < char_length({1}) * ({2} - 1) THEN ''"
                " ELSE substring_index(substring_index({0}, {1}, {2}), {1}, -1) END"
            ),
            "md5": "md5({0})",
            "starts_with": "(left({0}, char_length({1})) = {1})",
            "ends_with": "(right({0}, char_length({1})) = {1})",
            "contains": "(locate({1}, {0}) > 0)",
            "matching": "nullif(regexp_substr({0}, {1}), '')",
            "integer_to_text": binary("CAST({0} AS CHAR)"),
            "date_to_text": binary("date_format({0}, '%Y-%m-%d')"),
            "timestamp_to_text": binary("date_format({0}, '%Y-%m-%dT%H:%i:%s.%f')"),
            "boolean_to_text": "CASE WHEN {0} THEN 'true' WHEN NOT {0} THEN 'false' END",
            "boolean_to_integer": "CAST({0} AS SIGNED)",
            "timestamp_to_date": "CAST({0} AS DATE)",
            "date_to_timestamp": "CAST({0} AS DATETIME(6))",
            **_parts("{0}({{0}})", "year", "quarter", "month", "day", "hour", "minute", "second"),
            "day_of_year": "dayofyear({0})",
            "day_of_week": "(weekday({0}) + 1)",
            "date_trunc_year": "DATE_SUB(DATE({0}), INTERVAL DAYOFYEAR({0}) - 1 DAY)",
            "date_trunc_quarter": f"DATE_SUB({_MONTH}, INTERVAL (MONTH({{0}}) - 1) % 3 MONTH)",
            "date_trunc_month": _MONTH,
            "date_trunc_week": "DATE_SUB(DATE({0}), INTERVAL WEEKDAY({0}) DAY)",
            "date_trunc_day": "DATE({0})",
            "date_trunc_hour": "date_format({0}, '%Y-%m-%d %H:00:00')",
            "date_trunc_minute": "date_format({0}, '%Y-%m-%d %H:%i:00')",
            "days_between": "datediff({1}, {0})",
            "add_days": "DATE_ADD({0}, INTERVAL {1} DAY)",
            "seconds_between": "(timestampdiff(MICROSECOND, {0}, {1}) DIV 1000000)",
            "add_seconds": "DATE_ADD(DATE_ADD({0}, INTERVAL {1} DAY), INTERVAL {2} SECOND)",
        },
    )


MYSQL = _mysql("mysql", "utf8mb4_0900_bin")
MARIADB = _mysql("mariadb", "utf8mb4_nopad_bin")
