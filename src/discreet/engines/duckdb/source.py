"""Opened sources in DuckDB's words: an item for FROM in which every column has one of few types, and what is stored.

Integers of every width stay as they are, and so do DECIMAL, DOUBLE, BOOLEAN and DATE; all moments become TIMESTAMP in
UTC, cut down to the microsecond; ENUM and UUID become text. Other types can be present but not used.

No stored value can make a question fail. Text of a frame that is not UTF-8 is NULL; in Parquet, each byte that is not
part of UTF-8 is read as "?". Moments that DuckDB can only read by turning them into microseconds on the way, which is
an error where they are too far away, cannot be used: those of Parquet in milliseconds.

CSV: of a file only its first line is looked at when it is opened, and every column is text; ``csv_lines.py`` says how
lines are read. A line that does not fit is left out, whatever it holds: it takes no other line with it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import duckdb as driver

from discreet.engines.csv_lines import NEVER, read_header
from discreet.engines.labelled_files import read_labelled
from discreet.engines.sources import STORED_AS, DatabaseTable, Files, Format, Frame, Opened
from discreet.engines.sources import UNTYPED as UNTYPED_FIELD
from discreet.engines.sql.dialects import DUCKDB
from discreet.engines.sql.relations import Origin
from discreet.engines.workbooks import read_workbook
from discreet.errors import BadData
from discreet.query.plan.schema import Stored, StoredKind

_BITS = {
    "TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63, "HUGEINT": 127,
    "UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UBIGINT": 64,
}  # fmt: skip
_PLAIN = {
    "FLOAT": StoredKind.REAL,
    "DOUBLE": StoredKind.REAL,
    "VARCHAR": StoredKind.TEXT,
    "JSON": StoredKind.TEXT,
    "UUID": StoredKind.TEXT,
    "BOOLEAN": StoredKind.BOOLEAN,
    "DATE": StoredKind.DATE,
    "TIME": StoredKind.TIME,
    "TIMESTAMP": StoredKind.TIMESTAMP,
    "TIMESTAMP_S": StoredKind.TIMESTAMP,
    "TIMESTAMP_MS": StoredKind.TIMESTAMP,
    "TIMESTAMP_NS": StoredKind.TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": StoredKind.TIMESTAMP,
    "TIMESTAMPTZ_NS": StoredKind.TIMESTAMP,
}
_ELEMENTS = {"VARCHAR[]": StoredKind.TEXT, **dict.fromkeys((f"{kind}[]" for kind in _BITS), StoredKind.INTEGER)}
UNUSED_OPTIMIZERS = "'statistics_propagation,filter_pullup,filter_pushdown,join_filter_pushdown,type_pushdown'"
"""Nothing may rest on the statistics of a file: because of them no clamp may be left out (NaN is in none), and in a
scan DuckDB 2.0.0 takes "IS NULL" for true of all rows of a group whose text has one value. The rows of one person would
decide how the rows of others are read. Nor may a reader turn types by itself: where a cast gives NULL, a reader could
leave out the row. Filters that are not pushed down must not be pulled up either: the condition of a join would stay
above it, and below it all rows would meet all rows."""
_OTHER = StoredKind.OTHER
KEPT = "discreet_kept"
"""The table of a prepared copy that says which columns it keeps beside its own."""
UNTYPED = "discreet: text of a file without types"
"""The comment of such a column in a prepared copy."""
_MOST_DIGITS = 18
_UNREADABLE = ("halffloat", "decimal256")
"""What Arrow calls types that DuckDB refuses to scan, also inside others."""
# What is not yet of the type that we compute with. A moment too far away to be a TIMESTAMP is infinitely far away.
_FAR = "CASE WHEN {{0}} > {0} '9999-12-31 23:59:59' THEN TIMESTAMP 'infinity' WHEN {{0}} < {0} '0001-01-01' THEN "
_FAR += "TIMESTAMP '-infinity' ELSE CAST({{0}} AS TIMESTAMP) END"
# Down to the microsecond, in steps that cannot overflow: // cuts towards 0.
_NS = "CASE WHEN isfinite({0}) THEN make_timestamp(epoch_ns({0}) // 1000 - CASE WHEN epoch_ns({0}) % 1000 < 0 "
_NS += "THEN 1 ELSE 0 END) ELSE CAST({0} AS TIMESTAMP) END"
_TURNED = {
    **dict.fromkeys(("UUID", "JSON"), "CAST({0} AS VARCHAR)"),
    "TIMESTAMP_S": _FAR.format("TIMESTAMP_S"),
    "TIMESTAMP_MS": _FAR.format("TIMESTAMP_MS").replace("23:59:59", "23:59:59.999"),
    "TIMESTAMP_NS": _NS,
    "TIMESTAMPTZ_NS": _NS.format("CAST({0} AS TIMESTAMP_NS)"),
    "TIMESTAMP WITH TIME ZONE": _FAR.format("TIMESTAMPTZ").replace("23:59:59", "23:59:59.999999"),
}


def no_progress_bar(connection: driver.DuckDBPyConnection) -> None:
    """Turn it off where it is on: in Jupyter without ipywidgets it is off, and DuckDB refuses to touch the setting."""
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(True,)]:
        connection.execute("SET enable_progress_bar = false")


@dataclass(frozen=True, slots=True)
class Needs:
    """What a connection must have before it may be locked: files it may read, databases, frames by name."""

    paths: frozenset[str] = frozenset()
    databases: Mapping[str, str] = field(default_factory=dict)
    frames: Mapping[str, Any] = field(default_factory=dict)


def needs(opened: Opened, label: str) -> Needs:
    """What a source needs; ``label`` is a name that nothing else in the connection has."""
    match opened:
        case Files(_, paths):
            return Needs(paths=frozenset(paths))
        case DatabaseTable(path):
            return Needs(databases={label: path})
        case Frame(arrow):
            return Needs(frames={label: arrow})


def describe(opened: Opened, label: str, cursor: driver.DuckDBPyConnection, *, whole: bool = False) -> Origin:
    """Where the rows of a source come from, once the connection has what the source needs. Reads metadata only.

    ``whole``: with the columns that no question can use, as a copy of the table wants it.
    """
    match opened:
        case Files(Format.PARQUET, paths):
            return _typed(_parquet(paths, cursor), cursor, hidden=_in_milliseconds(paths, cursor), whole=whole)
        case Files(_, paths):
            origin = _typed(_csv(paths), cursor, whole=whole)
            return replace(origin, stored={name: Stored(StoredKind.TEXT, untyped=True) for name in origin.stored})
        case DatabaseTable(_, table, schema):
            item = ".".join(DUCKDB.identifier(name) for name in (label, schema, table))
            kept = _kept(label, schema, table, cursor)
            origin = _typed(item, cursor, text="{0} COLLATE C", kept=kept, whole=whole)
            text = dict.fromkeys(_untyped(label, schema, table, cursor), Stored(StoredKind.TEXT, untyped=True))
            origin = replace(origin, stored={**origin.stored, **text})
            return replace(origin, view=not _is_table(label, schema, table, cursor))
        case Frame(arrow):
            hidden = {field.name for field in arrow.schema if _turned_on_the_way(field.type)}
            read = "TRY(decode(encode({0})))"
            origin = _typed(DUCKDB.identifier(label), cursor, text=read, hidden=hidden, whole=whole)
            return replace(origin, stored={**origin.stored, **_left_out(arrow.schema), **_texts(arrow.schema)})


def _typed(
    item: str,
    cursor: driver.DuckDBPyConnection,
    *,
    text: str | None = None,
    hidden: Collection[str] = (),
    kept: Mapping[str, str] = MappingProxyType({}),
    whole: bool = False,
) -> Origin:
    """The item with its columns turned into the few types that we compute with; moments named ``hidden`` are of none.

    Columns that a prepared copy keeps beside its own are left as they are, and are no columns of the table.

    A column of a database may be declared COLLATE NOCASE, which DESCRIBE does not tell: then "a" and "A" would be one
    person. So its ``text`` is compared by code point from here on.
    """
    described = cursor.execute(f"DESCRIBE SELECT * FROM {item}").fetchall()
    columns = [(str(row[0]), str(row[1])) for row in described if row[0] not in kept.values()]
    far = {name.lower() for name in hidden}
    stored = {
        name: _stored(f"{kind} in seconds or milliseconds" if _names(name) & far and "TIMESTAMP" in kind else kind)
        for name, kind in columns
    }
    reach = {name: 1 << _BITS[kind] for name, kind in columns if kind in _BITS}
    # What DuckDB would turn on the way is left out: it turns the ends that a file states of such a column, used or not.
    other = [DUCKDB.identifier(name) for name, kind in columns if "TIMESTAMP" in kind and stored[name].kind is _OTHER]
    gone = [] if whole else other
    turned = []
    for name, kind in columns:
        column = DUCKDB.identifier(name)
        how = text if kind == "VARCHAR" else _TURNED.get("UUID" if kind.startswith("ENUM(") else kind)
        how = text.format(how) if kind == "JSON" and text is not None and how is not None else how
        if kind == "VARCHAR[]" and text is not None:
            how = f"list_transform({{0}}, lambda x: {text.format('x')})"
        if how is not None and column not in gone:
            turned.append(f"{how.format(column)} AS {column}")
    less = f" EXCLUDE ({', '.join(gone)})" if 0 < len(gone) < len(columns) else ""
    more = f" REPLACE ({', '.join(turned)})" if turned else ""
    sql = f"(SELECT *{less}{more} FROM {item})" if less or more else item
    return Origin(sql, stored, reach, kept)


def _is_table(label: str, schema: str, table: str, cursor: driver.DuckDBPyConnection) -> bool:
    """Whether a table of that name is stored; a view is none. DuckDB finds names whatever their case."""
    text = "SELECT 1 FROM duckdb_tables() WHERE lower(database_name) = lower(?) AND lower(schema_name) = lower(?) "
    return cursor.execute(f"{text}AND lower(table_name) = lower(?)", [label, schema, table]).fetchone() is not None


def _untyped(label: str, schema: str, table: str, cursor: driver.DuckDBPyConnection) -> list[str]:
    """The columns that a prepared copy has from a file without types, by the comment that it gave them."""
    text = "SELECT column_name FROM duckdb_columns() WHERE lower(database_name) = lower(?) AND lower(schema_name) = "
    text += "lower(?) AND lower(table_name) = lower(?) AND comment = ?"
    return [str(name) for (name,) in cursor.execute(text, [label, schema, table, UNTYPED]).fetchall()]


def _kept(label: str, schema: str, table: str, cursor: driver.DuckDBPyConnection) -> dict[str, str]:
    """The columns that a prepared copy keeps, by what they hold; none of any other database."""
    if not _is_table(label, schema, KEPT, cursor):
        return {}
    facts = ".".join(DUCKDB.identifier(name) for name in (label, schema, KEPT))
    rows = cursor.execute(f"SELECT holds, name FROM {facts} WHERE copy = ?", [table]).fetchall()
    return {str(holds): str(name) for holds, name in rows}


def _names(name: str) -> set[str]:
    """What a column may be called in its file: DuckDB counts names that differ by case only (v, V_1)."""
    return {name.lower(), re.sub(r"_\d+$", "", name.lower())}


def _stored(kind: str) -> Stored:
    if kind in _BITS:
        return Stored(StoredKind.INTEGER)
    digits = re.fullmatch(r"DECIMAL\(\d+,\s*(\d+)\)", kind)
    if digits and int(digits[1]) <= _MOST_DIGITS:
        return Stored(StoredKind.DECIMAL, int(digits[1]))
    if kind.startswith("ENUM("):
        return Stored(StoredKind.TEXT)
    return Stored(_PLAIN.get(kind, _OTHER), type=kind, element=_ELEMENTS.get(kind))


# --- frames -----------------------------------------------------------------------------------------------------------


def scannable(opened: Opened) -> Opened:
    """The same source; files of Stata, SPSS, SAS and Excel as an Arrow table, which is read here.

    Of an Arrow table, moments with a time zone are seen as the same moments in UTC, without one. DuckDB would
    turn them into microseconds when it scans, and say an error where they are too far away. Columns of types that it
    cannot scan at all are left out: they stand there without values, and cannot be used.
    """
    match opened:
        case Files(Format.LABELLED, (path,)):
            return Frame(read_labelled(path))
        case Files(Format.WORKBOOK, (path,)):
            return Frame(read_workbook(path))
    if not isinstance(opened, Frame) or type(opened.arrow).__name__ != "Table":
        return opened
    import pyarrow as pa  # heavy, and not needed for files

    table = opened.arrow
    for i, column in enumerate(table.schema):
        if any(word in str(column.type) for word in _UNREADABLE):
            named = pa.field(column.name, pa.binary(), metadata={STORED_AS: str(column.type)})
            table = table.set_column(i, named, pa.nulls(len(table), pa.binary()))
        elif pa.types.is_timestamp(column.type) and column.type.tz is not None:
            plain = pa.timestamp(column.type.unit)
            chunks = [chunk.view(plain) for chunk in table.column(i).chunks]
            table = table.set_column(i, column.name, pa.chunked_array(chunks, type=plain))
    return Frame(table)


def _left_out(schema: Any) -> dict[str, Stored]:
    """The columns that ``scannable`` left out, with the types that they have."""
    marks = {field.name: (field.metadata or {}).get(STORED_AS) for field in schema if hasattr(field, "metadata")}
    return {name: Stored(StoredKind.OTHER, type=mark.decode()) for name, mark in marks.items() if mark}


def _texts(schema: Any) -> dict[str, Stored]:
    """The columns of text that are numbers or times where a query reads them so."""
    marked = [column.name for column in schema if UNTYPED_FIELD in (getattr(column, "metadata", None) or {})]
    return dict.fromkeys(marked, Stored(StoredKind.TEXT, untyped=True))


def _turned_on_the_way(kind: Any) -> bool:
    """Whether DuckDB would multiply the moments of an Arrow column when it scans."""
    inner = getattr(kind, "value_type", None) or getattr(kind, "storage_type", None)  # dictionaries, extensions
    if inner is not None:
        return _turned_on_the_way(inner)
    return getattr(kind, "tz", None) is not None and kind.unit in ("s", "ms")


# --- files ------------------------------------------------------------------------------------------------------------


def _parquet(paths: Sequence[str], cursor: driver.DuckDBPyConnection) -> str:
    listed = _list(paths)
    options = (
        f"can_have_nan=true, utf8_validation='replace', hive_partitioning={'true' if _partitioned(paths) else 'false'}"
    )
    if len(paths) > 1:
        same = cursor.execute(
            "SELECT count(DISTINCT columns) FROM (SELECT list((name, type, logical_type, num_children)) AS columns "
            f"FROM (SELECT * FROM parquet_schema({listed}) ORDER BY file_name, column_id) WHERE column_id > 0 "
            "GROUP BY file_name)"
        ).fetchone()
        if same != (1,):  # then a column gets the type that holds all of its types, and NULL where it is missing
            options += ", union_by_name=true"
    return f"read_parquet({listed}, {options})"


def _in_milliseconds(paths: Sequence[str], cursor: driver.DuckDBPyConnection) -> set[str]:
    """The names of columns that hold moments in milliseconds, in any of the files."""
    rows = cursor.execute(
        f"SELECT DISTINCT name FROM parquet_schema({_list(paths)}) WHERE type = 'INT64' AND "
        "(converted_type = 'TIMESTAMP_MILLIS' OR logical_type LIKE '%MILLIS=MilliSeconds%')"
    ).fetchall()
    return {str(name) for (name,) in rows}


def _partitioned(paths: Sequence[str]) -> bool:
    """Folders such as year=2024 become columns; but of one file, no folder above it matters."""
    return len(paths) > 1 and any("=" in part for path in paths for part in path.split("/")[:-1])


def _list(paths: Sequence[str]) -> str:
    return f"[{', '.join(DUCKDB.text(path) for path in paths)}]"


def _csv(paths: Sequence[str]) -> str:
    """The fields of all lines but the first of each file, as text."""
    headers = [read_header(path) for path in paths]
    if any(header.names != headers[0].names for header in headers):
        raise BadData("CSV files of one table must have the same columns in the same order")
    parts = []
    for path, header in zip(paths, headers, strict=True):
        options = {"delim": NEVER, "quote": "", "escape": "", "comment": ""}
        written = [f"{name}={DUCKDB.text(mark)}" for name, mark in options.items()]
        written += ["header=false", "skip=1", "columns={'line': 'VARCHAR'}", "auto_detect=false", "ignore_errors=true"]
        written += ["strict_mode=false", "null_padding=false"]
        lines = f"read_csv({_list([path])}, {', '.join(written)})"
        parts.append(f"SELECT {fields_of('line', header.delimiter)} AS f FROM {lines}")
    names = headers[0].names
    listed = ", ".join(f"f[{i + 1}] AS {DUCKDB.identifier(name)}" for i, name in enumerate(names))
    return f"(SELECT {listed} FROM ({' UNION ALL '.join(parts)}) WHERE len(f) = {len(names)})"


def fields_of(line: str, delimiter: str) -> str:
    """The fields of a line as a list; NULL if its quotes are not those of RFC 4180. See ``csv_lines.py``."""
    d, never = DUCKDB.text(delimiter), DUCKDB.text(NEVER)
    plain = f"list_transform(string_split({line}, {d}), lambda x: nullif(x, ''))"
    hidden = (
        f"array_to_string(list_transform(string_split({line}, '\"'), "
        f"lambda x, i: CASE WHEN i % 2 = 0 THEN translate(x, {d}, {never}) ELSE x END), '\"')"
    )
    is_quoted = "(length(x) > 1 AND starts_with(x, '\"') AND ends_with(x, '\"'))"
    good = f"(NOT contains(x, '\"') OR ({is_quoted} AND NOT contains(replace(x[2:-2], '\"\"', ''), '\"')))"
    inside = f"replace(translate(x[2:-2], {never}, {d}), '\"\"', '\"')"
    value = f"CASE WHEN {is_quoted} THEN {inside} ELSE nullif(x, '') END"
    split = f"string_split({hidden}, {d})"
    quoted = f"CASE WHEN len(list_filter({split}, lambda x: NOT {good})) = 0 THEN "
    quoted += f"list_transform({split}, lambda x: {value}) END"
    return f"CASE WHEN contains({line}, '\"') THEN {quoted} ELSE {plain} END"
