"""Small tables as lists of plain Python values: Arrow tables, lists of dicts, dicts of lists.

A stored day or moment outside the years 1 to 9999 is read as the first or last one inside them; a moment is put into
UTC and cut down to the microsecond (towards the past). Text that is not UTF-8 is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.errors import BadData
from discreet.query.plan.schema import ELEMENTS, Stored, StoredKind

if TYPE_CHECKING:
    import pyarrow as pa

Columns: TypeAlias = dict[str, list[Any]]

EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)
FIRST, LAST = ((moment - EPOCH) // MICROSECOND for moment in (datetime.min, datetime.max))
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def columns(source: Any) -> dict[str, Stored]:
    """The stored type of each column.

    Of plain Python values the types follow from the values themselves: where they must not, give an Arrow table.

    >>> columns({"n": [1, None], "name": ["a", "b"]})["n"].kind
    <StoredKind.INTEGER: 'integer'>
    """
    if _is_arrow(source):
        return {field.name: _of_arrow(field.type) for field in source.schema}
    return {name: _of_values(name, values) for name, values in _plain(source).items()}


def rows(source: Any) -> list[dict[str, Any]]:
    """The rows, with plain Python values."""
    if _is_arrow(source):
        columns: Columns = {name: _arrow_values(source.column(name)) for name in source.column_names}
    else:
        columns = {name: [_plain_value(value) for value in values] for name, values in _plain(source).items()}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _is_arrow(source: Any) -> bool:
    """Whether it is a table of Arrow; asked without Arrow, which is slow to import."""
    kind = type(source)
    return kind.__name__ == "Table" and kind.__module__.partition(".")[0] == "pyarrow"


# --- plain Python ---------------------------------------------------------------------------------------------------

KINDS: tuple[tuple[type, StoredKind], ...] = (  # the first that fits: True is an int, and a datetime is a date
    (bool, StoredKind.BOOLEAN),
    (int, StoredKind.INTEGER),
    (Decimal, StoredKind.DECIMAL),
    (float, StoredKind.REAL),
    (str, StoredKind.TEXT),
    (datetime, StoredKind.TIMESTAMP),
    (date, StoredKind.DATE),
    (time, StoredKind.TIME),
)


def _plain(source: object) -> Columns:
    """A dict of lists of equal length, from that or from a list of dicts."""
    if isinstance(source, Mapping):
        columns = {name: list(values) for name, values in source.items()}
        if len({len(values) for values in columns.values()}) > 1:
            raise BadData("the columns of a table must have the same length")
    elif isinstance(source, Sequence) and all(isinstance(row, Mapping) for row in source):
        names = list(dict.fromkeys(name for row in source for name in row))
        columns = {name: [row.get(name) for row in source] for name in names}
    else:
        raise BadData("a table in memory must be an Arrow table, a list of dicts or a dict of lists")
    if not all(isinstance(name, str) for name in columns):
        raise BadData("the names of columns must be text")
    return columns


def _of_values(name: str, values: Iterable[object]) -> Stored:
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, list) for value in present):
        element = _of_values(name, [x for value in present if isinstance(value, list) for x in value])
        return Stored(StoredKind.OTHER, element=element.kind if element.kind in ELEMENTS else None, type="list")
    kinds = {next((kind for sort, kind in KINDS if isinstance(v, sort)), StoredKind.OTHER) for v in present}
    if len(kinds) > 1:
        raise BadData(f"column {name} must hold values of one type")
    kind = kinds.pop() if kinds else StoredKind.OTHER
    digits = [-_exponent(v) for v in present if isinstance(v, Decimal)]
    return Stored(kind, max([0, *digits]) if kind is StoredKind.DECIMAL else 0)


def _exponent(x: Decimal) -> int:
    exponent = x.as_tuple().exponent
    if isinstance(exponent, str):  # NaN or infinity
        raise BadData("decimals must be finite")
    return exponent


def _plain_value(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


# --- Arrow ----------------------------------------------------------------------------------------------------------


def _of_arrow(kind: pa.DataType) -> Stored:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _of_arrow(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        element = _of_arrow(kind.value_type).kind
        return Stored(StoredKind.OTHER, element=element if element in ELEMENTS else None, type=str(kind))
    if pa.types.is_decimal(kind):
        return Stored(StoredKind.DECIMAL, kind.scale)
    tests: tuple[tuple[Callable[[pa.DataType], bool], StoredKind], ...] = (
        (pa.types.is_integer, StoredKind.INTEGER),
        (pa.types.is_floating, StoredKind.REAL),
        (pa.types.is_string, StoredKind.TEXT),
        (pa.types.is_large_string, StoredKind.TEXT),
        (pa.types.is_string_view, StoredKind.TEXT),
        (pa.types.is_boolean, StoredKind.BOOLEAN),
        (pa.types.is_date, StoredKind.DATE),
        (pa.types.is_time, StoredKind.TIME),
        (pa.types.is_timestamp, StoredKind.TIMESTAMP),
    )
    return Stored(next((stored for fits, stored in tests if fits(kind)), StoredKind.OTHER), type=str(kind))


def arrow_of(stored: Stored) -> pa.DataType | None:
    """An Arrow type that is read as this; None if there is none.

    >>> arrow_of(Stored(StoredKind.OTHER, element=StoredKind.TEXT)), arrow_of(Stored(StoredKind.OTHER))
    (ListType(list<item: string>), None)
    """
    import pyarrow as pa

    if stored.kind is StoredKind.DECIMAL:
        return pa.decimal128(38, stored.scale)
    if stored.element is not None:
        return pa.list_(arrow_of(Stored(stored.element)))
    types = {
        StoredKind.INTEGER: pa.int64(),
        StoredKind.REAL: pa.float64(),
        StoredKind.TEXT: pa.string(),
        StoredKind.BOOLEAN: pa.bool_(),
        StoredKind.DATE: pa.date32(),
        StoredKind.TIME: pa.time64("us"),
        StoredKind.TIMESTAMP: pa.timestamp("us"),
    }
    return types.get(stored.kind)


def _arrow_values(column: pa.ChunkedArray) -> list[Any]:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_timestamp(kind):
        return [_moment(x, PER_SECOND[kind.unit]) for x in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_date32(kind):
        return [_day(x) for x in column.cast(pa.int32()).to_pylist()]
    if pa.types.is_date64(kind):
        return [None if x is None else _day(x // 86_400_000) for x in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return [_text(x) for x in column.cast(pa.large_string()).cast(pa.large_binary()).to_pylist()]
    if _of_arrow(kind).element is StoredKind.TEXT:
        inner = pa.list_(pa.large_binary()) if pa.types.is_list(kind) else pa.large_list(pa.large_binary())
        lists = column.cast(inner).to_pylist()
        return [None if texts is None else [_text(text) for text in texts] for texts in lists]
    values: list[Any] = column.to_pylist()
    return values


def _text(x: bytes | None) -> str | None:
    try:
        return None if x is None else x.decode()
    except UnicodeDecodeError:
        return None


def _moment(x: int | None, per_second: int) -> datetime | None:
    if x is None:
        return None
    micros = min(max(x * 10**6 // per_second, FIRST), LAST)
    return EPOCH + timedelta(microseconds=micros)


def _day(x: int | None) -> date | None:
    if x is None:
        return None
    return date.fromordinal(min(max(x + EPOCH.toordinal(), date.min.toordinal()), date.max.toordinal()))
