"""The dialect of SQL Server 2022 and newer (Azure SQL too): experimental, nobody has run it yet.

What is special there: conditions are no values, so truth is a bit; ``=`` and GROUP BY do not see spaces at the end of a
text, whatever its collation, so text is marked at its end before it is compared; text is UTF-16, so lengths are taken
under a collation that knows pairs, and text has no order that follows code points. That order is refused, by name, and
so is LIKE with ``_``.
"""

from __future__ import annotations

from discreet.engines.sql.dialects import COMMON, LOWER, UPPER, Dialect, Sort, doubled

_BINARY = "COLLATE Latin1_General_100_BIN2"
_PAIRS = "COLLATE Latin1_General_100_CS_AS_SC"
_BYTES = "COLLATE Latin1_General_100_BIN2_UTF8"
_UNITS = "CAST(DATALENGTH({0}) / 2 AS INT)"
_REFUSED = ("text_lt", "text_le", "text_gt", "text_ge", "text_min", "text_max", "split_part", "right", "replace")


def national(value: str) -> str:
    """A string literal of UTF-16. A backslash before a line break would swallow both: they are kept apart.

    >>> print(national("it's"))
    N'it''s'
    """
    parts = value.replace("\\\r", "\\\0\r").replace("\\\n", "\\\0\n").split("\0")
    literals = [f"N{doubled(part)}" for part in parts]
    return literals[0] if len(literals) == 1 else f"({' + '.join(literals)})"


def _part(name: str) -> str:
    return f"CAST(DATEPART({name}, {{0}}) AS BIGINT)"


_OWN = {
    "true": "CAST(1 AS BIT)",
    "false": "CAST(0 AS BIT)",
    "truth": "CASE WHEN {0} THEN CAST(1 AS BIT) WHEN NOT {0} THEN CAST(0 AS BIT) END",
    "holds": "({0} = 1)",
    "marked": f"(({{0}} + {{1}}) {_BINARY})",
    "unmarked": f"LEFT({{0}}, {_UNITS} - 1)",
    # integers
    "sum": "sum(CAST({0} AS DECIMAL(38, 0)))",
    "div": "({0} / NULLIF({1}, 0))",
    "quotient": "({0} / {1})",
    "wide_quotient": "CAST(({0} - {0} % {1}) / {1} AS DECIMAL(38, 0))",
    "half": "(({0} - ABS({0} % 2)) / 2)",
    "sign": "CAST(sign({0}) AS BIGINT)",
    "floor": "floor({0})",
    "root": "floor(sqrt(CAST({0} AS FLOAT)))",
    # comparing
    "text_eq": f"(({{0}} + N'|') = ({{1}} + N'|') {_BINARY})",
    "text_ne": f"(({{0}} + N'|') <> ({{1}} + N'|') {_BINARY})",
    "in_none": "({0} <> {0})",
    "nulls_last": "CASE WHEN {0} IS NULL THEN 1 ELSE 0 END, {0}",
    "nulls_last_down": "CASE WHEN {0} IS NULL THEN 1 ELSE 0 END, {0} DESC",
    # text
    "binary": f"({{0}} {_BINARY})",
    "like_set": "[{0}]",
    "lower": f"TRANSLATE({{0}}, N'{UPPER}', N'{LOWER}')",
    "upper": f"TRANSLATE({{0}}, N'{LOWER}', N'{UPPER}')",
    "trim": "LTRIM(RTRIM({0}))",
    "ltrim": "LTRIM({0})",
    "rtrim": "RTRIM({0})",
    "length": f"CAST(LEN(({{0}} + N'|') {_PAIRS}) - 1 AS BIGINT)",
    "substring": f"(SUBSTRING({{0}} {_PAIRS}, {{1}}, {{2}}) {_BINARY})",
    "concat": "({0} + {1})",
    "md5": f"CONVERT(NVARCHAR(32), HASHBYTES('MD5', CAST(({{0}}) {_BYTES} AS VARCHAR(MAX))), 2)",
    "starts_with": f"((LEFT({{0}}, {_UNITS.format('{1}')}) + N'|') = ({{1}} + N'|') {_BINARY})",
    "ends_with": f"((RIGHT({{0}}, {_UNITS.format('{1}')}) + N'|') = ({{1}} + N'|') {_BINARY})",
    "contains": "(CHARINDEX({1}, {0}) > 0 OR (DATALENGTH({1}) = 0 AND {0} = {0}))",
    "text_to_integer": (
        "CASE WHEN (({0} LIKE N'[0-9]%' AND DATALENGTH({0}) <= 36)"
        " OR (({0} LIKE N'[+][0-9]%' OR {0} LIKE N'[-][0-9]%') AND DATALENGTH({0}) <= 38))"
        " AND {0} NOT LIKE N'_%[^0-9]%' THEN TRY_CAST({0} AS BIGINT) END"
    ),
    "text_to_date": (
        "CASE WHEN {0} LIKE N'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]' AND DATALENGTH({0}) = 20"
        " THEN TRY_CONVERT(DATE, {0}, 23) END"
    ),
    # turning
    "integer_to_text": "CAST({0} AS NVARCHAR(MAX))",
    "date_to_text": "CAST(CONVERT(NVARCHAR(10), {0}, 23) AS NVARCHAR(MAX))",
    "timestamp_to_text": "REPLACE(CONVERT(NVARCHAR(26), {0}, 121), N' ', N'T')",
    "boolean_to_text": "CASE WHEN {0} = 1 THEN N'true' WHEN {0} = 0 THEN N'false' END",
    "boolean_to_integer": "CAST({0} AS BIGINT)",
    "date_to_timestamp": "CAST({0} AS DATETIME2(6))",
    # dates
    "date": "CAST('{0}' AS DATE)",
    "timestamp": "CAST('{0}' AS DATETIME2(6))",
    **{name: _part(name.upper()) for name in ("year", "quarter", "month", "day", "hour", "minute", "second")},
    "day_of_year": _part("DAYOFYEAR"),
    "day_of_week": "CAST(DATEDIFF(DAY, CAST('0001-01-01' AS DATE), {0}) % 7 + 1 AS BIGINT)",  # that was a Monday
    **{f"date_trunc_{unit}": f"DATETRUNC({unit.upper()}, {{0}})" for unit in ("year", "quarter", "month", "day")},
    **{f"date_trunc_{unit}": f"DATETRUNC({unit.upper()}, {{0}})" for unit in ("hour", "minute")},
    "date_trunc_week": "DATETRUNC(ISO_WEEK, {0})",
    "days_between": "CAST(DATEDIFF(DAY, {0}, {1}) AS BIGINT)",
    "add_days": "DATEADD(DAY, {1}, {0})",
    "seconds_between": "(DATEDIFF_BIG(MICROSECOND, {0}, {1}) / 1000000)",
    "add_seconds": "DATEADD(SECOND, {2}, DATEADD(DAY, {1}, {0}))",
}

SQLSERVER = Dialect(
    name="sqlserver",
    types={
        Sort.INTEGER: "BIGINT",
        Sort.TEXT: "NVARCHAR(MAX)",
        Sort.BOOLEAN: "BIT",
        Sort.DATE: "DATE",
        Sort.TIMESTAMP: "DATETIME2(6)",
        Sort.REAL: "FLOAT",
    },
    wide="DECIMAL(38, 0)",
    quote="[",
    end_quote="]",
    quoting=national,
    infinities=None,
    smallest=2.2250738585072014e-308,
    count="COUNT_BIG",
    joined=" + ",
    truths=False,
    mark="|",
    templates={name: form for name, form in COMMON.items() if name not in _REFUSED} | _OWN,
)
