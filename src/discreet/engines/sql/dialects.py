"""What differs between the databases: words, quoting, and a handful of functions. All of it stands in these tables.

A dialect holds one template per operation; ``{0}``, ``{1}`` are its arguments, each used once unless it is a literal.
The meaning of every operation is the one of ``query/plan/primitives.py``; what needs more than a template is in
``primitives.py``.

Sessions must be set up so that moments with a time zone are turned into UTC (set the time zone to UTC), and Spark reads
string literals with backslash escapes (its default). What a dialect has no template for is refused by name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import Enum
from math import copysign, isinf

from discreet.errors import Unsupported
from discreet.query.plan.types import Value


class Sort(Enum):
    """What a piece of SQL holds."""

    INTEGER = "integer"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    REAL = "real"
    DECIMAL = "decimal"
    OTHER = "other"
    NULL = "null"


class Shape(Enum):
    """The shape of a statement that is quick on a database."""

    HASHED = "hash tables and joins: hashed_sums.py"
    SORTED = "one sort and no join: sorted_sums.py"
    WINDOWED = "rows move once, then sums and windows: windowed_sums.py"


def doubled(value: str) -> str:
    """A string literal of standard SQL.

    >>> print(doubled("it's"))
    'it''s'
    """
    return "'" + value.replace("'", "''") + "'"


def escaped(value: str) -> str:
    """A string literal where a backslash is an escape, on one line."""
    return "'" + "".join(_ESCAPES.get(character, character) for character in value) + "'"


_ESCAPES = {"\\": "\\\\", "'": "\\'", "\0": "\\u0000", "\n": "\\n", "\r": "\\r"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One database's way of writing SQL."""

    name: str
    types: Mapping[Sort, str]
    wide: str
    """The type of sums: exact, at least 127 bits."""
    templates: Mapping[str, str]
    quote: str = '"'
    end_quote: str = ""
    """The end of a quoted name, where it differs from its beginning."""
    any_name: bool = True
    """Whether a quoted name may hold the quote itself, doubled."""
    quoting: Callable[[str], str] = doubled
    """How a string literal is written."""
    like_escape: str = ""
    """The character that is an escape in a pattern of LIKE, if there is one."""
    nul: bool = True
    """Whether text can hold the character NUL."""
    whole_text: str = r"\A(?:{0})\z"
    """A regular expression that must match all of a text."""
    dot_all: str = "(?s)"
    """In front of a regular expression: the dot is any character."""
    text_end: str = "$"
    """The end of all of a text in a regular expression."""
    capture: str = "\\"
    """Before the number of a capture in a new text; like a backslash, it is escaped by one."""
    once: str = "AS"
    """Between the name of a common table expression and its SELECT: it is computed once."""
    again: str = "AS"
    """The same: it is computed wherever it is used, so that nothing is kept."""
    codes: bool = False
    """Whether keys are grouped faster as small codes: ENUM(...) of the listed texts, integers of few bits."""
    shape: Shape = Shape.HASHED
    """How the sums of a work are written."""
    gather: str = ""
    """What brings the rows of a unit to one place before they are summed (clusters)."""
    fence: str = ""
    """What keeps an inner SELECT from being merged into the outer one, which would copy its expressions."""
    infinities: tuple[str, str] | None = ("Infinity", "-Infinity")
    """How infinite doubles are written, if there are any."""
    smallest: float = 0.0
    """No double but 0 is surely held nearer to 0."""
    count: str = "count"
    """The function that counts rows in 64 bits."""
    joined: str = " || "
    """Between texts that are put together; nothing where concat() does that."""
    truths: bool = True
    """Whether a condition is a value like any other. If not, truth is a bit, and TRUE is no word."""
    mark: str = ""
    """What text gets at its end before it is grouped or compared, where spaces at the end would not count."""

    def identifier(self, name: str) -> str:
        """A quoted name, whatever is in it.

        >>> DUCKDB.identifier('x"; DROP TABLE t')
        '"x""; DROP TABLE t"'
        """
        if "\0" in name:
            raise Unsupported("a name with the character NUL", "rename the column")
        if not self.any_name and not name.replace("_", "").replace(" ", "").replace("-", "").isalnum():
            raise Unsupported(f"a name of more than letters, digits and _ on {self.name}", "rename the column")
        end = self.end_quote or self.quote
        return self.quote + name.replace(end, end * 2) + end

    def text(self, value: str) -> str:
        """A string literal, whatever is in it.

        >>> print(DUCKDB.text("it's"))
        'it''s'
        """
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Unsupported("text that is no valid Unicode", "remove the lone surrogates") from None
        if not self.nul and "\0" in value:
            raise Unsupported("text with the character NUL", f"{self.name} cannot hold it: leave it out")
        return self.quoting(value)

    def texts(self, *texts: str) -> str:
        """Texts put together; NULL if any is."""
        return self.joined.join(texts) if self.joined else f"concat({', '.join(texts)})"

    def pattern(self, normal: str) -> str:
        """A regular expression in normal form, as this database writes it."""
        return self.dot_all + (normal[:-1] + self.text_end if normal.endswith("$") else normal)

    def replacement(self, character: str) -> str:
        """A character of the new text beside captures."""
        return f"\\{character}" if character in ("\\", self.capture) else character

    def cast(self, sql: str, sort: Sort) -> str:
        """The value as another type; the caller knows that it fits."""
        own = f"cast_{sort.value}"
        return self.call(own, sql) if own in self.templates else f"CAST({sql} AS {self.types[sort]})"

    def marked(self, sql: str) -> str:
        """Text that is to be grouped or compared."""
        return self.call("marked", sql, self.text(self.mark)) if self.mark else sql

    def unmarked(self, sql: str) -> str:
        """The text itself again."""
        return self.call("unmarked", sql) if self.mark else sql

    def literal(self, value: Value) -> str:
        """A constant of the right type.

        >>> DUCKDB.literal(7), DUCKDB.literal(date(2024, 2, 29)), DUCKDB.literal(None)
        ('CAST(7 AS BIGINT)', "DATE '2024-02-29'", 'NULL')
        """
        match value:
            case None:
                return "NULL"
            case bool():
                return self.call("true" if value else "false")
            case int():
                if not -(1 << 63) <= value < 1 << 63:
                    raise Unsupported("a number beyond 64 bits", "use smaller numbers")
                return self.cast(str(value), Sort.INTEGER)
            case str():
                return self.text(value)
            case datetime():
                utc = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
                return self.call("timestamp", utc.isoformat(sep=" ", timespec="microseconds"))
            case date():
                return self.call("date", value.isoformat())
            case _:  # a Fraction: typing has turned all of them into cells, unless they face a raw float
                real = float(value)
                if real != value:
                    raise Unsupported("a comparison of floats with this number", "use one that a float can hold")
                return self.real(real)

    def real(self, value: float) -> str:
        """A double, exactly; also the infinities. Where there are none, the largest double is as far as it goes."""
        if isinf(value):
            largest = repr(copysign(sys.float_info.max, value))
            word = largest if self.infinities is None else self.infinities[value < 0]
        elif 0 < abs(value) < self.smallest:
            raise Unsupported(f"a float this near to 0 on {self.name}", "declare wider bounds or a larger step")
        else:
            word = repr(value)
        return self.cast(f"'{word}'", Sort.REAL)

    def call(self, operation: str, *arguments: str) -> str:
        """An operation by its template; refused if there is none."""
        try:
            template = self.templates[operation]
        except KeyError:
            what = operation.removeprefix("text_")
            more = " of text" if what != operation else ""
            raise Unsupported(f"{what}{more} on {self.name}", "compute it in a view, or use another engine") from None
        return template.format(*arguments)


UPPER, LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"

COMMON = {
    # integers
    "add": "({0} + {1})",
    "sub": "({0} - {1})",
    "mul": "({0} * {1})",
    "neg": "(-({0}))",
    "abs": "abs({0})",
    "sign": "CAST(sign({0}) AS BIGINT)",
    "mod": "({0} % NULLIF({1}, 0))",
    "remainder": "({0} % {1})",
    "wide_remainder": "({0} % {1})",
    "decimal": "CAST({0} AS DECIMAL({1}, {2}))",
    "half": "({0} >> 1)",
    "floor": "floor({0})",
    "root": "floor(sqrt(CAST({0} AS DOUBLE)))",
    "sum": "sum({0})",
    "decimal_nan": "",
    # comparing and logic
    "true": "TRUE",
    "false": "FALSE",
    "eq": "({0} = {1})",
    "ne": "({0} <> {1})",
    "lt": "({0} < {1})",
    "le": "({0} <= {1})",
    "gt": "({0} > {1})",
    "ge": "({0} >= {1})",
    "same": "({0} IS NOT DISTINCT FROM {1})",
    "text_eq": "({0} = {1})",
    "text_ne": "({0} <> {1})",
    "text_lt": "({0} < {1})",
    "text_le": "({0} <= {1})",
    "text_gt": "({0} > {1})",
    "text_ge": "({0} >= {1})",
    "text_min": "min({0})",
    "text_max": "max({0})",
    "is_null": "({0} IS NULL)",
    "not": "(NOT {0})",
    "in": "({0} IN ({1}))",
    "in_none": "CASE WHEN {0} IS NOT NULL THEN FALSE END",
    "nulls_last": "{0} NULLS LAST",
    "nulls_last_down": "{0} DESC NULLS LAST",
    # text
    "binary": "{0}",
    "like": "({0} LIKE {1})",
    "lower": f"translate({{0}}, '{UPPER}', '{LOWER}')",
    "upper": f"translate({{0}}, '{LOWER}', '{UPPER}')",
    "trim": "trim(BOTH ' ' FROM {0})",
    "ltrim": "trim(LEADING ' ' FROM {0})",
    "rtrim": "trim(TRAILING ' ' FROM {0})",
    "length": "CAST(length({0}) AS BIGINT)",
    "substring": "substring({0}, {1}, {2})",
    "concat": "({0} || {1})",
    "split_part": "split_part({0}, {1}, {2})",
    "right": "right({0}, {1})",
    "replace": "replace({0}, {1}, {2})",
    "md5": "md5({0})",
    # turning
    "integer_to_text": "CAST({0} AS VARCHAR)",
    "date_to_text": "CAST({0} AS VARCHAR)",
    "boolean_to_text": "CAST({0} AS VARCHAR)",
    "boolean_to_integer": "CAST(CAST({0} AS INTEGER) AS BIGINT)",
    "timestamp_to_date": "CAST({0} AS DATE)",
    "date_to_timestamp": "CAST({0} AS TIMESTAMP)",
    # dates
    "date": "DATE '{0}'",
    "timestamp": "TIMESTAMP '{0}'",
    "year": "CAST(year({0}) AS BIGINT)",
    "quarter": "CAST(quarter({0}) AS BIGINT)",
    "month": "CAST(month({0}) AS BIGINT)",
    "day": "CAST(day({0}) AS BIGINT)",
    "day_of_year": "CAST(dayofyear({0}) AS BIGINT)",
    "hour": "CAST(hour({0}) AS BIGINT)",
    "minute": "CAST(minute({0}) AS BIGINT)",
    "second": "CAST(second({0}) AS BIGINT)",
    "date_trunc": "date_trunc({0}, {1})",
}

DUCKDB = Dialect(
    name="duckdb",
    types={
        Sort.INTEGER: "BIGINT",
        Sort.TEXT: "VARCHAR",
        Sort.BOOLEAN: "BOOLEAN",
        Sort.DATE: "DATE",
        Sort.TIMESTAMP: "TIMESTAMP",
        Sort.REAL: "DOUBLE",
    },
    wide="HUGEINT",
    codes=True,
    once="AS MATERIALIZED",
    again="AS NOT MATERIALIZED",
    templates=COMMON
    | {
        "row_number": "row_number() OVER ()",
        "unnest": "{0} AS t CROSS JOIN LATERAL unnest(t.{1}) AS u({2})",
        "unnest_outer": "{0} AS t LEFT JOIN LATERAL unnest(t.{1}) AS u({2}) ON TRUE",
        "element": "{0}",
        "div": "({0} // NULLIF({1}, 0))",
        "quotient": "({0} // {1})",
        "wide_quotient": "({0} // {1})",
        "in_many": "({0} IN (SELECT unnest(CAST(string_split({1}, {2}) AS {3}[]))))",
        "trim": "trim({0}, ' ')",
        "ltrim": "ltrim({0}, ' ')",
        "rtrim": "rtrim({0}, ' ')",
        "starts_with": "starts_with({0}, {1})",
        "ends_with": "ends_with({0}, {1})",
        "contains": "contains({0}, {1})",
        "matching": "nullif(regexp_extract({0}, {1}), '')",
        "regexp_extract": "regexp_extract({0}, {1}, 1)",
        "regexp_replace_first": "regexp_replace({0}, {1}, {2})",
        "regexp_replace_all": "regexp_replace({0}, {1}, {2}, 'g')",
        "timestamp_to_text": "strftime({0}, '%Y-%m-%dT%H:%M:%S.%f')",
        "day_of_week": "isodow({0})",
        "days_between": "({1} - {0})",
        "add_days": "({0} + CAST({1} AS INTEGER))",
        "seconds_between": "((epoch_us({1}) - epoch_us({0})) // 1000000)",
        "add_seconds": "({0} + to_days({1}) + to_microseconds({2}000000))",
    },
)

POSTGRES = Dialect(
    name="postgres",
    types={
        Sort.INTEGER: "BIGINT",
        Sort.TEXT: "TEXT",
        Sort.BOOLEAN: "BOOLEAN",
        Sort.DATE: "DATE",
        Sort.TIMESTAMP: "TIMESTAMP",
        Sort.REAL: "DOUBLE PRECISION",
    },
    wide="NUMERIC",
    nul=False,
    whole_text=r"\A(?:{0})\Z",
    dot_all="",
    once="AS MATERIALIZED",
    again="AS NOT MATERIALIZED",
    shape=Shape.SORTED,
    fence=" OFFSET 0",
    templates=COMMON
    | {
        "row_number": "row_number() OVER ()",
        "unnest": "{0} AS t CROSS JOIN LATERAL unnest(t.{1}) AS u({2})",
        "unnest_outer": "{0} AS t LEFT JOIN LATERAL unnest(t.{1}) AS u({2}) ON TRUE",
        "element": '(CASE WHEN octet_length({0}) <= 131072 THEN {0} END COLLATE "C")',  # as columns of text are read
        "div": "({0} / NULLIF({1}, 0))",
        "quotient": "({0} / {1})",
        "wide_quotient": "div({0}, {1})",
        "root": "floor(sqrt(CAST({0} AS DOUBLE PRECISION)))",
        "decimal_nan": "WHEN {0} = 'NaN' THEN NULL ",
        "in_many": "({0} = ANY (CAST(string_to_array({1}, {2}) AS {3}[])))",
        # a column may come with a collation of its own; "C" compares bytes, which is code points in UTF-8
        "binary": '({0} COLLATE "C")',
        "text_lt": '({0} < {1} COLLATE "C")',
        "text_le": '({0} <= {1} COLLATE "C")',
        "text_gt": '({0} > {1} COLLATE "C")',
        "text_ge": '({0} >= {1} COLLATE "C")',
        "like": "({0} LIKE {1} ESCAPE '')",
        "starts_with": "starts_with({0}, {1})",
        "ends_with": "(right({0}, length({1})) = {1})",
        "contains": "(strpos({0}, {1}) > 0)",
        "matching": "substring({0} FROM {1})",
        "regexp_extract": "CASE WHEN {0} IS NOT NULL THEN coalesce(substring({0} FROM {1}), '') END",
        "regexp_replace_first": "regexp_replace({0}, {1}, {2})",
        "regexp_replace_all": "regexp_replace({0}, {1}, {2}, 'g')",
        "integer_to_text": "CAST({0} AS TEXT)",
        "date_to_text": "to_char({0}, 'YYYY-MM-DD')",
        "boolean_to_text": "CAST({0} AS TEXT)",
        "timestamp_to_text": "to_char({0}, 'YYYY-MM-DD\"T\"HH24:MI:SS.US')",
        "year": "CAST(extract(YEAR FROM {0}) AS BIGINT)",
        "quarter": "CAST(extract(QUARTER FROM {0}) AS BIGINT)",
        "month": "CAST(extract(MONTH FROM {0}) AS BIGINT)",
        "day": "CAST(extract(DAY FROM {0}) AS BIGINT)",
        "day_of_week": "CAST(extract(ISODOW FROM {0}) AS BIGINT)",
        "day_of_year": "CAST(extract(DOY FROM {0}) AS BIGINT)",
        "hour": "CAST(extract(HOUR FROM {0}) AS BIGINT)",
        "minute": "CAST(extract(MINUTE FROM {0}) AS BIGINT)",
        "second": "CAST(floor(extract(SECOND FROM {0})) AS BIGINT)",
        "date_trunc": "date_trunc({0}, CAST({1} AS TIMESTAMP))",
        "days_between": "CAST({1} - {0} AS BIGINT)",
        "add_days": "({0} + CAST({1} AS INTEGER))",
        "seconds_between": "CAST(trunc(extract(EPOCH FROM {1} - {0})) AS BIGINT)",
        "add_seconds": "({0} + make_interval(days => {1}, secs => {2}))",
    },
)

SPARK = Dialect(
    name="spark",
    types={
        Sort.INTEGER: "BIGINT",
        Sort.TEXT: "STRING",
        Sort.BOOLEAN: "BOOLEAN",
        Sort.DATE: "DATE",
        Sort.TIMESTAMP: "TIMESTAMP_NTZ",
        Sort.REAL: "DOUBLE",
    },
    wide="DECIMAL(38, 0)",
    shape=Shape.WINDOWED,
    gather=" DISTRIBUTE BY u",
    quote="`",
    quoting=escaped,
    like_escape="\\",
    text_end=r"\z",
    capture="$",
    templates=COMMON
    | {
        "timestamp": "TIMESTAMP_NTZ '{0}'",
        "row_number": "monotonically_increasing_id()",
        "unnest": "{0} AS t LATERAL VIEW explode(t.{1}) u AS {2}",
        "unnest_outer": "{0} AS t LATERAL VIEW OUTER explode(t.{1}) u AS {2}",
        "element": "{0}",
        "div": "({0} div NULLIF({1}, 0))",
        "quotient": "({0} div {1})",
        "wide_quotient": "({0} div {1})",
        "half": "shiftright({0}, 1)",
        "same": "({0} <=> {1})",
        "sum": "sum(CAST({0} AS DECIMAL(38, 0)))",
        "starts_with": "startswith({0}, {1})",
        "ends_with": "endswith({0}, {1})",
        "contains": "contains({0}, {1})",
        "matching": "nullif(regexp_extract({0}, {1}, 0), '')",
        "regexp_extract": "regexp_extract({0}, {1}, 1)",
        "regexp_replace_all": "regexp_replace({0}, {1}, {2})",
        "integer_to_text": "CAST({0} AS STRING)",
        "date_to_text": "CAST({0} AS STRING)",
        "boolean_to_text": "CAST({0} AS STRING)",
        "timestamp_to_text": "date_format({0}, 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS')",
        "date_to_timestamp": "CAST({0} AS TIMESTAMP_NTZ)",
        "day_of_week": "CAST(weekday({0}) + 1 AS BIGINT)",
        "date_trunc": "date_trunc({0}, CAST({1} AS TIMESTAMP_NTZ))",
        "days_between": "CAST(datediff({1}, {0}) AS BIGINT)",
        "add_days": "date_add({0}, {1})",
        "seconds_between": "(timestampdiff(MICROSECOND, {0}, {1}) div 1000000)",
        "add_seconds": "({0} + make_dt_interval({1}, 0, 0, {2}))",
    },
)
