"""Sources of Spark: DataFrames, tables, files; and how their columns are stored.

  tinyint smallint int bigint     integers
  decimal(p, s)                   decimals with s digits
  float double                    floats
  string char varchar             text, compared by code point whatever its collation; char(n) without the spaces at its
                                  end. What is not UTF-8 is NULL
  boolean date
  array of integers or string     lists, for UNNEST
  timestamp_ntz, timestamp        moments; those of a zone in UTC
Columns of other types can be there but cannot be used. Arrow tables and pandas frames go through this process: they are
for small tables beside large ones.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.engines.csv_lines import NEVER, parse_header
from discreet.engines.sql.dialects import SPARK
from discreet.engines.sql.relations import Origin
from discreet.errors import BadData
from discreet.query.plan.schema import ELEMENTS, Stored, StoredKind

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_KINDS = {
    "tinyint": StoredKind.INTEGER,
    "smallint": StoredKind.INTEGER,
    "int": StoredKind.INTEGER,
    "bigint": StoredKind.INTEGER,
    "float": StoredKind.REAL,
    "double": StoredKind.REAL,
    "string": StoredKind.TEXT,
    "boolean": StoredKind.BOOLEAN,
    "date": StoredKind.DATE,
    "timestamp": StoredKind.TIMESTAMP,
    "timestamp_ntz": StoredKind.TIMESTAMP,
}
_BITS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
_READ = {
    StoredKind.INTEGER: "CAST({0} AS BIGINT)",
    StoredKind.REAL: "CAST({0} AS DOUBLE)",
    StoredKind.TEXT: "try_validate_utf8(CAST({0} AS STRING))",
    StoredKind.TIMESTAMP: "CAST({0} AS TIMESTAMP_NTZ)",  # the session's zone is UTC while a question runs
}
_READ_LIST = {
    StoredKind.INTEGER: "CAST({0} AS ARRAY<BIGINT>)",
    StoredKind.TEXT: "transform({0}, x -> try_validate_utf8(x))",
}
_DECIMAL = re.compile(r"decimal\(([0-9]+),(-?[0-9]+)\)")
_TEXT = re.compile(r"(string|char|varchar)\b.*")
_CSV = re.compile(r"\.(csv|tsv)(\.(gz|zst|bz2))?[/*]*$", re.IGNORECASE)
_PATH = re.compile(r"[/\\*]|\.(parquet|(csv|tsv)(\.(gz|zst|bz2))?)$|^[a-z][a-z0-9+.-]*:", re.IGNORECASE)
UNTYPED = "discreet: untyped"
"""The mark of a column that is text in a file without types, in its metadata."""
_PADDED = re.compile(r"char\b.*", re.IGNORECASE)
_CHAR = "__CHAR_VARCHAR_TYPE_STRING"
"""Under which a field of type string says that it is stored as char(n)."""


@dataclass(frozen=True, slots=True)
class Source:
    """A DataFrame under the name by which our SQL finds it; ``given`` keeps the user's object alive."""

    frame: Any
    name: str
    given: object
    files: frozenset[str] = frozenset()
    """What a DataFrame that was given read when it was opened."""

    @property
    def is_given(self) -> bool:
        """Whether it is the user's own DataFrame: it means what it means under the settings of the user's session."""
        return self.frame is self.given

    def register(self) -> None:
        """Register it under its name. Spark Connect analyses it here, under the settings that hold now."""
        self.frame.createOrReplaceTempView(self.name)

    def unregister(self, session: SparkSession) -> None:
        """Remove the name."""
        session.catalog.dropTempView(self.name)


def frame_of(source: object, session: SparkSession) -> Any:
    """The DataFrame of a source; nothing is computed."""
    if hasattr(source, "createOrReplaceTempView"):
        return source
    if hasattr(source, "__fspath__"):
        source = str(source)
    if isinstance(source, str):
        if not _PATH.search(source):
            session.catalog.refreshTable(source)  # its files may be others than this session remembers
            return session.table(source)
        return _csv(source, session) if _CSV.search(source) else session.read.parquet(source)
    import pyarrow as pa  # heavy, and other engines do without it

    if isinstance(source, pa.Table):
        return session.createDataFrame(_plain(source))
    if type(source).__module__.startswith("pandas"):
        return session.createDataFrame(_plain(pa.Table.from_pandas(source, preserve_index=False)))
    raise BadData("the source must be a DataFrame of Spark, the name of a table, or a path of Parquet or CSV files")


def _csv(path: str, session: SparkSession) -> Any:
    """CSV files as ``csv_lines.py`` says: lines as they are, split here, all fields text. Of data, headers are read."""
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    def lines(*paths: str) -> Any:
        marks = {"sep": NEVER, "quote": "", "escape": "", "comment": ""}
        reader = session.read.options(**marks).option("maxCharsPerColumn", -1).option("mode", "PERMISSIVE")
        return reader.csv(list(paths), header=True, inferSchema=False)

    whole = lines(path)
    headers = {parse_header(_first(lines(file)).encode(), path) for file in whole.inputFiles()}
    if len({header.names for header in headers}) != 1:
        raise BadData("CSV files of one table must have the same columns in the same order, after the same header")
    if len(headers) != 1:
        raise BadData("CSV files of one table must have the same delimiter")
    (header,) = headers
    split = whole.select(F.expr(_fields_of(SPARK.identifier(whole.columns[0]), header.delimiter)).alias("f"))
    fitting = split.where(F.size("f") == len(header.names))
    marked = {UNTYPED: True}
    return fitting.select(*(F.col("f").getItem(i).alias(name, metadata=marked) for i, name in enumerate(header.names)))


def _first(frame: Any) -> str:
    """The first line of a file, which Spark takes for the name of its column."""
    return str(frame.columns[0]) if frame.columns else ""


def _fields_of(line: str, delimiter: str) -> str:
    """The fields of a line as an array; NULL if its quotes are not those of RFC 4180."""
    d, never, by = SPARK.text(delimiter), SPARK.text(NEVER), SPARK.text(re.escape(delimiter))
    plain = f"transform(split({line}, {by}, -1), x -> nullif(x, ''))"
    hidden = (
        f"array_join(transform(split({line}, '\"', -1), "
        f"(x, i) -> CASE WHEN i % 2 = 1 THEN translate(x, {d}, {never}) ELSE x END), '\"')"
    )
    is_quoted = "(length(x) > 1 AND startswith(x, '\"') AND endswith(x, '\"'))"
    inner = "substring(x, 2, length(x) - 2)"
    good = f"(NOT contains(x, '\"') OR ({is_quoted} AND NOT contains(replace({inner}, '\"\"', ''), '\"')))"
    inside = f"replace(translate({inner}, {never}, {d}), '\"\"', '\"')"
    value = f"CASE WHEN {is_quoted} THEN {inside} ELSE nullif(x, '') END"
    parts = f"split({hidden}, {by}, -1)"
    quoted = f"CASE WHEN forall({parts}, x -> {good}) THEN transform({parts}, x -> {value}) END"
    return f"CASE WHEN contains({line}, '\"') THEN {quoted} ELSE {plain} END"


def _plain(table: pa.Table) -> pa.Table:
    """Columns that Spark does not know as those that hold the same values; moments in microseconds."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        column = table.column(i)
        if pa.types.is_uint64(field.type):
            column = column.cast(pa.decimal128(20, 0))
        elif pa.types.is_timestamp(field.type):
            column = _microseconds(column).cast(pa.timestamp("us", field.type.tz))
        elif pa.types.is_dictionary(field.type):
            column = column.cast(field.type.value_type)
        table = table.set_column(i, field.name, column)
    return table


def _microseconds(column: Any) -> Any:
    """Moments in whole microseconds, rounded down; the nearest one where there is none, where Arrow's cast fails."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole, unit = column.cast(pa.int64()), column.type.unit
    if unit == "ns":
        cut = pc.divide(whole, 1000)  # towards 0
        return pc.subtract(cut, pc.greater(pc.multiply(cut, 1000), whole).cast(pa.int64()))
    each = {"s": 10**6, "ms": 10**3, "us": 1}[unit]
    end = ((1 << 63) - 1) // each
    nearest = pc.max_element_wise(pc.min_element_wise(whole, end, skip_nulls=False), -end, skip_nulls=False)
    return pc.multiply(nearest, each)


def files_of(frame: Any, name: str, session: SparkSession) -> frozenset[str]:
    """The files that a DataFrame reads now: those of its folders are listed again. ``name`` is that of its view."""
    session.catalog.refreshTable(name)
    return frozenset(frame.inputFiles())


def describe(source: Source, session: SparkSession) -> Origin:
    """How each column is stored, and how all of them are read; it must be registered. Nothing is computed."""
    view = session.table(source.name)  # a frame of another session would not be found
    kinds = view.dtypes
    untyped = {field.name for field in view.schema.fields if field.metadata.get(UNTYPED)}
    if len({name.lower() for name, _ in kinds}) != len(kinds):
        raise BadData("the source must have columns whose names differ in more than upper and lower case")
    text = Stored(StoredKind.TEXT, untyped=True)
    stored = {name: text if name in untyped else _stored(kind) for name, kind in kinds}
    reach = {name: 1 << _BITS[kind] for name, kind in kinds if kind in _BITS}
    padded = {name for name, kind in kinds if _PADDED.fullmatch(kind)}
    padded |= {field.name for field in view.schema.fields if _PADDED.fullmatch(str(field.metadata.get(_CHAR, "")))}
    return Origin(read_as(source.name, stored, padded), stored, reach)


def _stored(kind: str) -> Stored:
    decimal = _DECIMAL.fullmatch(kind)
    if decimal is not None:
        scale = int(decimal[2])
        return Stored(StoredKind.DECIMAL, scale) if scale >= 0 else Stored(StoredKind.OTHER)
    if _TEXT.fullmatch(kind):
        return Stored(StoredKind.TEXT)
    array = re.fullmatch(r"array<(\w+)>", kind)
    element = None if array is None else _KINDS.get(array[1])
    return Stored(_KINDS.get(kind, StoredKind.OTHER), type=kind, element=element if element in ELEMENTS else None)


def read_as(view: str, stored: Mapping[str, Stored], padded: Collection[str] = ()) -> str:
    """An item for FROM: the columns that can be used, as the types with which we compute; char(n) is ``padded``."""
    columns = []
    for name, how in stored.items():
        if how.kind is StoredKind.OTHER and how.element is None:
            continue
        quoted = SPARK.identifier(name)
        read = (_READ if how.element is None else _READ_LIST).get(how.element or how.kind, "{0}").format(quoted)
        columns.append(f"{f'rtrim({read})' if name in padded else read} AS {quoted}")
    return f"(SELECT {', '.join(columns) or '1 AS one'} FROM {SPARK.identifier(view)})"
