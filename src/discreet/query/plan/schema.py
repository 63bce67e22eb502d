"""What the owner of the data declares: the unit that is protected, bounds, keys, caps. Nothing is read from the data.

Promise: everything here is public, and noise, cost and refusals follow from it alone.

Policy for values that do not fit, the same on every engine: a row whose unit is NULL is dropped, and where units are
stored as floats, so is a row whose unit is no whole number between ±2^53 (where each is a float of its own); NaN is
NULL; a number beyond its bounds is aggregated as the nearest bound, and so are the infinities (conditions see what is
stored); -0.0 is 0; a row whose key is not among the declared keys is in no group; a NULL where bounds were declared
with ``nullable=False`` is read as the value between them that is nearest to 0, or as the first day or time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from difflib import get_close_matches
from enum import Enum
from fractions import Fraction
from typing import Any, overload

from discreet.errors import BadParameter
from discreet.exact import Number as ExactNumber
from discreet.exact import integer, number
from discreet.query.plan.evaluate import is_plain_text, text_to_moment
from discreet.query.plan.key_sets import FEW_KEYS, Hierarchy, KeySet, key_set
from discreet.query.plan.names import is_ours
from discreet.query.plan.public_totals import PublicTotals, check_totals
from discreet.query.plan.types import LARGEST, Boolean, Date, Kind, Number, Real, Text, TimeOfDay, Timestamp, Value
from discreet.shown import brief

AUTO, NEVER = "auto", "never"
UNDECLARED: str | None = AUTO
"""What ``max_rows`` is where nobody says it: chosen for each question."""
MAX_ROWS = 10
"""Rows per unit that count where nothing is known, and where older versions registered a table without caps."""
CELLS = 1 << 30
"""A float column is read on a grid of at least this many steps between its bounds."""
MOST_STEPS = 10**38
"""Bounds have fewer steps than this; where 2^62 or more, the column is read on a step that is 10, 100, ... times."""
MOST_KEYS = 1_000_000
_LONGEST_TYPE = 60


class StoredKind(Enum):
    """How a column is stored."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    REAL = "real"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    OTHER = "other"


ELEMENTS = (StoredKind.INTEGER, StoredKind.TEXT)
"""What the elements of a list may be, for UNNEST."""
UNIT_KINDS = (StoredKind.INTEGER, StoredKind.TEXT, StoredKind.REAL)
"""How a unit may be stored; floats are read as whole numbers."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The type of a stored column; ``scale`` is the number of digits after the point of a DECIMAL.

    ``type`` is the engine's word for a type that cannot be used. ``untyped``: it is text in a file without types (CSV),
    which ``kind`` says how to read; what cannot be read so is NULL.
    """

    kind: StoredKind
    scale: int = 0
    untyped: bool = False
    element: StoredKind | None = None
    """Of a list: how its elements are stored. The list itself is ``OTHER``: only UNNEST can use it."""
    type: str = field(default="", compare=False, repr=False)


# --- what is said of a column ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Declared:
    """Made by ``bounds``, ``keys``, ``unknown_keys``: what the owner says of a column."""

    low: Fraction | date | None = None
    high: Fraction | date | None = None
    keys: tuple[Value, ...] | None = None
    unknown: bool = False
    nullable: bool = True
    auto: bool = False
    """Whether each query chooses its bounds, in its own charge: the same as saying nothing of the column."""
    never: bool = False
    """Whether no query may choose bounds, a clip or groups by its values."""
    other: Value = None
    """One of the keys, as which all values that are not listed are read."""

    __repr__ = brief


def bounds(low: ExactNumber | date, high: ExactNumber | date | None = None, *, nullable: bool = True) -> Declared:
    """A column of numbers, dates or times between two public bounds; what lies beyond is aggregated as the nearest one.

    A day as the upper bound of times means all of that day. ``bounds("auto")``: each query chooses them.
    ``bounds("never")``: no query may choose anything by the values of this column, so sums, means and groups of it are
    refused, before anything is charged; it may stand in conditions, and ``COUNT`` counts it.
    ``nullable=False`` says that every row has a value: a NULL is then read as the value between the bounds that is
    nearest to 0 (the first day or time), in every aggregate. Without two bounds there is no such value, and it is left
    out as others are.

    >>> bounds(0, 5_000).high
    Fraction(5000, 1)
    >>> bounds("2024-01-01", "2024-12-31").high
    datetime.date(2024, 12, 31)
    """
    if low in (AUTO, NEVER):
        if high is not None:
            raise BadParameter("high", high, f'must be left out: "{low}" is said of both bounds')
        return Declared(nullable=nullable, auto=low == AUTO, never=low == NEVER)
    if high is None:
        raise BadParameter("high", None, 'must be given, or say dp.bounds("auto")')
    first, last = _moment("low", low), _moment("high", high)
    if first is not None or last is not None:
        if first is None or last is None:
            raise BadParameter("high", high, "must be a date or a time, as low is, or both must be numbers")
        if _first(first) > _last(last):
            raise BadParameter("low", low, "must not be after high")
        return Declared(low=first, high=last, nullable=nullable)
    a, b = number(low, "low"), number(high, "high")  # type: ignore[arg-type]
    if a >= b:
        raise BadParameter("low", low, "must be below high")
    return Declared(low=a, high=b, nullable=nullable)


def _moment(name: str, given: object) -> date | None:
    """A date or a time, also one that is written; None for anything else."""
    read = text_to_moment(given) if isinstance(given, str) else given
    if isinstance(read, datetime) and read.tzinfo is not None:
        raise BadParameter(name, read, "must have no time zone: times are read as UTC, so write it as UTC")
    return read if isinstance(read, date) else None


def _first(day: date) -> datetime:
    return day if isinstance(day, datetime) else datetime.combine(day, time.min)


def _last(day: date) -> datetime:
    return day if isinstance(day, datetime) else datetime.combine(day, time.max)


@overload
def keys(values: Iterable[Value], columns: None = None, *, nullable: bool = True, other: Value = None) -> Declared: ...


@overload
def keys(values: Any, columns: Sequence[str], *, nullable: bool = True) -> KeySet: ...


def keys(
    values: Any, columns: Sequence[str] | None = None, *, nullable: bool = True, other: Value = None
) -> Declared | KeySet:
    """A column with a public list of keys: each of them is answered, also when nobody has it.

    Put None into the list if rows without a key shall be a group of their own. ``other="elsewhere"`` is a further key:
    every value that is not listed, except NULL, is read as this one. Without it, such rows are in no group.

    With ``columns`` it is a set of tuples that exist, for ``dp.table(..., key_sets=[...])``: from a list of tuples, a
    frame, or a public table of rows. Such sets can be combined: ``a | b``, ``a & b``, ``a - b``, ``a.join(b)``.

    >>> keys(["North", "South"]).keys
    ('North', 'South')
    >>> keys([("North", "Ward 1"), ("South", "Ward 1")], ["clinic", "ward"]).columns
    ('clinic', 'ward')
    """
    if columns is not None:
        if other is not None:
            raise BadParameter("other", other, "must be left out of tuples; dp.hierarchy takes it")
        return key_set(values, columns)
    if isinstance(values, str | bytes):
        raise BadParameter("keys", values, 'must be a list of keys, such as ["North", "South"]')
    listed = tuple(_key(value) for value in values)
    if other is not None and _key(other) not in listed:
        listed = (*listed, _key(other))
    if not listed:
        raise BadParameter("keys", [], "must have at least one key")
    if len(listed) > MOST_KEYS:
        raise BadParameter("keys", len(listed), f"must be at most {MOST_KEYS:,} keys")
    if len(set(listed)) != len(listed):
        raise BadParameter("keys", "a list with a key twice", "must list each key once")
    if len({_sort_of(k) for k in listed if k is not None}) > 1:
        raise BadParameter("keys", "of several types", "must be all text, all integers, all dates or all booleans")
    return Declared(keys=listed, nullable=nullable, other=None if other is None else _key(other))


def unknown_keys(*, nullable: bool = True) -> Declared:
    """A column whose keys nobody lists in advance: a key is named only if enough units have it, which costs delta."""
    return Declared(unknown=True, nullable=nullable)


def _key(value: object) -> Value:
    if isinstance(value, str) and not is_plain_text(value):
        raise BadParameter("keys", value, "must not hold NUL characters or halves of surrogate pairs")
    if value is None or isinstance(value, bool | str | date):
        return value
    if isinstance(value, float):
        raise BadParameter("keys", value, "must be text, integers, dates or booleans; floats cannot be keys")
    if hasattr(value, "__index__"):  # numpy integers too
        return int(value)
    raise BadParameter("keys", value, "must be text, integers, dates or booleans")


def _sort_of(value: Value) -> type:
    return type(value)


class EachRow(str):
    """In the place of a unit: each row is a person of its own, who is in no other row and in no other table.

    >>> visitors = table({"age": [40, 51]}, unit=EACH_ROW)
    >>> visitors.unit, visitors.caps.max_rows
    ('#row', 1)
    """

    __slots__ = ()


EACH_ROW = EachRow("#row")
EACH_ELEMENT = "#element"
"""What a column that holds one element of a list begins with; engines see no other name of it."""


# --- a table --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """What one unit may contribute to one question: in all, in how many groups, in each group.

    None means not declared. ``max_rows`` may follow from the other two; where it does not and is to be chosen, ``auto``
    is set. One cap alone limits the others.
    """

    max_rows: int | None = None
    max_groups: int | None = None
    max_rows_per_group: int | None = None
    auto: bool = False
    """Whether each query chooses them, in its own charge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Made by ``dp.table``: where the data is, and what is declared of it."""

    source: Any = field(repr=False)  # it may be the rows themselves
    unit: str | None
    """The column that names the unit; None for a public table."""
    through: tuple[str, str] | None = None
    """(table, column): ``unit`` refers to that column, and the unit is the one of the row found there."""
    columns: Mapping[str, Declared] = field(default_factory=dict)
    caps: Caps = field(default_factory=Caps)
    public: bool = False
    key_sets: tuple[KeySet, ...] = ()
    """Which combinations of keys exist."""
    public_totals: tuple[PublicTotals, ...] = ()
    """How many rows there are, where that is public."""


def table(
    source: Any,
    *,
    unit: str | None = None,
    columns: Mapping[str, Declared] | None = None,
    max_rows: int | str | None = None,
    max_groups: int | None = None,
    max_rows_per_group: int | None = None,
    public: bool = False,
    key_sets: Iterable[KeySet] = (),
    public_totals: Iterable[PublicTotals] = (),
) -> Table:
    """A table for a session: a file, folder or glob of Parquet or CSV, an Arrow table, a DataFrame, a database table.

    ``unit`` names the column that says whose row it is: all rows of one unit are protected together. Where the person
    stands in another table, write the foreign key: ``unit="order_id -> orders.id"``.
    ``max_rows`` is how many rows of one unit count in one question (the rows of a unit with more are weighted down),
    ``max_groups`` in how many groups, ``max_rows_per_group`` how many in each. Without ``max_rows``, or with
    ``max_rows="auto"``, each query chooses its own contribution bound, for a part of its own cost.
    ``unit=dp.each_row`` says that each row is a person of its own, who is in no other row and no other table.
    ``public=True`` is for tables that hold nothing private: they need no unit.
    ``key_sets`` say which combinations of keys exist (``dp.keys`` of tuples, ``dp.hierarchy``): groups by such columns
    are those alone, and rows of any other combination are in no group and in no total of such groups.
    ``public_totals`` (``dp.public_totals``) are numbers of rows that everybody knows: published tables have them.
    """
    combinations = _key_sets(key_sets, public)
    columns = _with_keys_of(combinations, _declared(columns))
    listed = (name for name, column in columns.items() if column.keys is not None)
    totals = check_totals(public_totals, listed, public=public)
    if public:
        if unit is not None:
            raise BadParameter("unit", unit, "must be left out for a public table")
        if (max_rows, max_groups, max_rows_per_group) != (None, None, None):
            raise BadParameter("max_rows", max_rows, "must be left out for a public table: it has no units")
        return Table(source=source, unit=None, columns=columns, public=True)
    if unit is None:
        raise BadParameter(
            "unit",
            None,
            "must name the column that says whose row it is (or say unit=dp.each_row if each row is a "
            "person of its own, public=True if it has no units)",
        )
    if unit == EACH_ROW:
        if max_rows not in (None, 1) or (max_groups, max_rows_per_group) != (None, None):
            raise BadParameter("max_rows", max_rows, "must be 1, or left out: each person has one row here")
        return Table(
            source=source,
            unit=EACH_ROW,
            columns=columns,
            caps=Caps(max_rows=1),
            key_sets=combinations,
            public_totals=totals,
        )
    column, through = _unit(unit)
    if max_rows == AUTO and (max_groups, max_rows_per_group) != (None, None):
        raise BadParameter("max_groups", max_groups, 'must be left out with max_rows="auto": it is chosen too')
    if max_rows is None and None in (max_groups, max_rows_per_group):
        max_rows = UNDECLARED
    auto = max_rows == AUTO
    caps = Caps(
        max_rows=None if max_rows is None or auto else read_cap(max_rows, "max_rows"),
        max_groups=None if max_groups is None else read_cap(max_groups, "max_groups"),
        max_rows_per_group=None if max_rows_per_group is None else read_cap(max_rows_per_group, "max_rows_per_group"),
        auto=auto,
    )
    return Table(
        source=source,
        unit=column,
        through=through,
        columns=columns,
        caps=caps,
        key_sets=combinations,
        public_totals=totals,
    )


def read_cap(value: object, name: str) -> int:
    """A cap, checked."""
    if isinstance(value, str):
        raise BadParameter(name, value, 'must be an integer, or "auto" for max_rows')
    cap = integer(value, name, at_least=1)  # type: ignore[arg-type]
    if cap > 1 << 16:
        raise BadParameter(name, value, "must be at most 65536")
    return cap


def _unit(unit: str) -> tuple[str, tuple[str, str] | None]:
    if not isinstance(unit, str):
        raise BadParameter("unit", unit, "must be the name of a column")
    column, arrow, target = (part.strip() for part in unit.partition("->"))
    if not arrow:
        return unit, None
    name, dot, other = (part.strip() for part in target.partition("."))
    if not (column and name and dot and other):
        raise BadParameter("unit", unit, 'must be a column, or a foreign key such as "order_id -> orders.id"')
    return column, (name, other)


def _key_sets(given: Iterable[KeySet], public: bool) -> tuple[KeySet, ...]:
    """Sets of tuples, checked; each column is a level of at most one hierarchy."""
    if isinstance(given, KeySet):
        given = (given,)
    checked = tuple(given)
    for tuples in checked:
        if not isinstance(tuples, KeySet):
            raise BadParameter("key_sets", tuples, "must be made by dp.hierarchy, or by dp.keys with columns")
    if checked and public:
        raise BadParameter("key_sets", "declared", "must be left out for a public table: its rows say what exists")
    levels = [(name, tuples) for tuples in checked if isinstance(tuples, Hierarchy) for name in tuples.levels]
    for name, tuples in levels:
        if sum(name == other for other, _ in levels) > 1:
            raise BadParameter("key_sets", name, f"must be a level of one hierarchy; {tuples.name} is not the only one")
    return checked


def _with_keys_of(key_sets: tuple[KeySet, ...], columns: dict[str, Declared]) -> dict[str, Declared]:
    """The columns with the keys that their tuples have; refuses other keys that were declared."""
    declared = dict(columns)
    for tuples in key_sets:
        for place, name in enumerate(tuples.columns):
            listed = tuple(dict.fromkeys(row[place] for row in tuples.rows))
            before = declared.get(name, Declared())
            if before.keys is None and before != Declared(nullable=before.nullable):
                raise BadParameter(
                    f"columns[{name!r}]", "declared otherwise", "must be left out: a key set lists its keys"
                )
            if before.keys is not None and set(before.keys) != set(listed):
                raise BadParameter("key_sets", name, "must have the same keys everywhere: intersect the sets first")
            declared[name] = replace(before, keys=listed if before.keys is None else before.keys)
            if isinstance(tuples, Hierarchy) and tuples.other is not None:
                declared[name] = replace(declared[name], other=tuples.other)
    return declared


def _declared(columns: Mapping[str, Declared] | None) -> dict[str, Declared]:
    declared = dict(columns or {})
    for name, given in declared.items():
        if not isinstance(given, Declared):
            raise BadParameter(f"columns[{name!r}]", given, "must be made by dp.bounds, dp.keys or dp.unknown_keys")
    return declared


# --- a table whose columns are known ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a relation, as everyone may know it.

    ``keys`` lists all values it can have in a group key (None inside: NULL is one); ``unknown`` allows private
    selection of them. Values of keys are plain: for numbers, the cells.
    """

    kind: Kind
    nullable: bool = True
    keys: tuple[Value, ...] | None = None
    unknown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """A table of a session, resolved: how each column is stored and what it means."""

    table: Table
    stored: Mapping[str, Stored]
    """How each column is stored; of files without types, as what its text is read."""
    fields: Mapping[str, Field]
    lists: Mapping[str, Field] = field(default_factory=dict)
    """What is known of the elements of columns that are lists."""
    derived: Mapping[str, Stored] = field(default_factory=dict)
    """Upper levels of a hierarchy that are not stored and follow from its finest one; as what they would be stored."""

    def is_whole(self, column: str) -> bool:
        """Whether a column of floats is read as whole numbers: as a unit, or as a foreign key that leads to one."""
        return column == self.table.unit and column in self.stored and self.stored[column].kind is StoredKind.REAL

    def id_kind(self, column: str) -> StoredKind:
        """As what a unit or a foreign key is compared."""
        return StoredKind.INTEGER if self.is_whole(column) else self.stored[column].kind


def resolve(name: str, given: Table, stored: Mapping[str, Stored]) -> Schema:
    """The schema of a table from its declaration and the stored types of its columns; refuses what does not agree."""
    upper = {level for key_set in given.key_sets if isinstance(key_set, Hierarchy) for level in key_set.levels[:-1]}
    for column in given.columns:
        if column in stored or column not in upper:  # the upper levels follow from the finest one
            _check_column(name, column, stored)
    if given.unit == EACH_ROW and EACH_ROW in stored:
        raise BadParameter("unit", EACH_ROW, "must not be a column: rename it, or name the column of the unit")
    if given.unit is not None and given.unit != EACH_ROW:
        _check_column(name, given.unit, stored)
        if stored[given.unit].kind not in UNIT_KINDS:
            it_is = f"it is {stored[given.unit].kind.value}"
            raise BadParameter("unit", given.unit, f"must be a column of integers or text; {it_is}")
        if given.through is None and is_ours(given.unit):
            raise BadParameter("unit", given.unit, "must be none of our own names, such as __unit: rename the column")
        if given.unit in given.columns and given.columns[given.unit] != Declared():
            raise BadParameter(f"columns[{given.unit!r}]", "declared", "must be left out: it is the unit")
    stored = {column: _as_declared(how, given.columns.get(column, Declared())) for column, how in stored.items()}
    fields = {
        column: _field(name, column, how, given.columns.get(column, Declared()))
        for column, how in _as_read(given.unit, stored).items()
        if how.kind is not StoredKind.OTHER and not is_ours(column)
    }
    lists = {
        column: _field(name, column, Stored(how.element), given.columns.get(column, Declared()))
        for column, how in stored.items()
        if how.element is not None and not is_ours(column)
        if not any(other.startswith(EACH_ELEMENT) for other in stored)
    }
    derived = _derived(given, stored)
    fields |= {column: _field(name, column, how, given.columns[column]) for column, how in derived.items()}
    return Schema(table=given, stored=dict(stored), fields=fields, lists=lists, derived=derived)


def _derived(given: Table, stored: Mapping[str, Stored]) -> dict[str, Stored]:
    """The upper levels that each row has by its finest one, where there are few enough of those."""
    derived: dict[str, Stored] = {}
    for places in given.key_sets:
        if isinstance(places, Hierarchy) and len(places.rows) <= FEW_KEYS:
            follow = places.other is not None  # what is stored would not know of the other key
            upper = [(i, name) for i, name in enumerate(places.levels[:-1]) if follow or name not in stored]
            derived |= {name: Stored(_KEY_KINDS.get(type(places.rows[0][i]), StoredKind.TEXT)) for i, name in upper}
    return derived


def _as_read(unit: str | None, stored: Mapping[str, Stored]) -> dict[str, Stored]:
    """A unit of floats is read as whole numbers."""
    whole = Stored(StoredKind.INTEGER)
    return {name: whole if (name, how.kind) == (unit, StoredKind.REAL) else how for name, how in stored.items()}


def _as_declared(stored: Stored, declared: Declared) -> Stored:
    """As what the text of a file without types is read: only what the owner says of the column decides.

    >>> text = Stored(StoredKind.TEXT, untyped=True)
    >>> _as_declared(text, bounds("2024-01-01", "2024-12-31")).kind, _as_declared(text, keys([1, 2])).kind
    (<StoredKind.DATE: 'date'>, <StoredKind.INTEGER: 'integer'>)
    """
    if not stored.untyped:
        return stored
    if declared.auto or isinstance(declared.low, Fraction):
        if any(isinstance(end, Fraction) and abs(end) >= 10**18 for end in (declared.low, declared.high)):
            raise BadParameter(
                "bounds", f"{declared.low} to {declared.high}", "must be below 10^18: no more digits are read"
            )
        is_decimal = stored.kind is StoredKind.DECIMAL
        return replace(stored, kind=StoredKind.DECIMAL, scale=stored.scale if is_decimal else _digits(declared))
    if isinstance(declared.low, date):
        times = isinstance(declared.low, datetime) or isinstance(declared.high, datetime)
        return Stored(StoredKind.TIMESTAMP if times else StoredKind.DATE, untyped=True)
    listed = next((key for key in declared.keys or () if key is not None), None)
    return stored if listed is None else Stored(_KEY_KINDS.get(type(listed), StoredKind.TEXT), untyped=True)


_KEY_KINDS = {bool: StoredKind.BOOLEAN, int: StoredKind.INTEGER, date: StoredKind.DATE, datetime: StoredKind.TIMESTAMP}
UNTYPED_DIGITS = 6
"""Digits after the point of a number in a file without types, where nobody says how large it is."""
_MOST_DIGITS = 18


def _digits(declared: Declared) -> int:
    """Digits after the point: as many as make 10^9 steps between the bounds."""
    if not isinstance(declared.low, Fraction) or not isinstance(declared.high, Fraction):
        return UNTYPED_DIGITS
    width = declared.high - declared.low
    return next((n for n in range(1, _MOST_DIGITS) if width * 10**n >= 10**9), _MOST_DIGITS)


def unusable(column: str, schemas: Mapping[str, Schema]) -> str | None:
    """Why a column that is stored in a table is none of its columns; None if no table has it."""
    for table, schema in schemas.items():
        for name, stored in schema.stored.items():
            if name.casefold() == column.casefold() and stored.kind is StoredKind.OTHER:
                if stored.element is not None:
                    return f"the column {name} of {table} is a list: write FROM {table}, UNNEST({name}) AS t(element)"
                kind = f"its type, {stored.type[:_LONGEST_TYPE]}," if stored.type else "its type"
                return (
                    f"the column {name} of {table} cannot be used: {kind} cannot be read here; "
                    "store it as numbers, text, booleans, dates or timestamps in microseconds"
                )
    return None


def _check_column(name: str, column: str, stored: Mapping[str, Stored]) -> None:
    if column not in stored:
        near = get_close_matches(column, stored, n=1)
        hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(sorted(stored))}"
        raise BadParameter("column", column, f"must be a column of {name}; {hint}")


def _field(name: str, column: str, stored: Stored, declared: Declared) -> Field:
    place = f"{name}.columns[{column!r}]"
    numeric = stored.kind in (StoredKind.INTEGER, StoredKind.DECIMAL, StoredKind.REAL)
    fit = f"must fit the column, which is stored as {stored.kind.value}"
    if stored.kind is StoredKind.TEXT:
        fit += ": store it as numbers, dates or times"
    if declared.auto and not (numeric or stored.kind in (StoredKind.DATE, StoredKind.TIMESTAMP)):
        raise BadParameter(place, "bounds", fit)
    if isinstance(declared.low, Fraction) and not numeric:
        raise BadParameter(place, "bounds", fit)
    if isinstance(declared.low, date) and stored.kind not in (StoredKind.DATE, StoredKind.TIMESTAMP):
        raise BadParameter(place, "bounds of dates", fit)
    if stored.kind is StoredKind.DATE and (isinstance(declared.low, datetime) or isinstance(declared.high, datetime)):
        raise BadParameter(place, "bounds of times", "must be days: the column is stored as date")
    inexact = (StoredKind.REAL,) if declared.unknown else (StoredKind.REAL, StoredKind.DECIMAL, StoredKind.TIMESTAMP)
    if (declared.keys or declared.unknown) and stored.kind in inexact:
        raise BadParameter(
            place, "keys", f"must be text, integers, dates or booleans; it is stored as {stored.kind.value}"
        )
    kind = _kind(stored, declared)
    listed = None if declared.keys is None else tuple(_fits(place, key, kind) for key in declared.keys)
    if listed is None and stored.kind is StoredKind.BOOLEAN:
        listed = (False, True)
    return Field(kind, declared.nullable or declared.low is None, listed, declared.unknown)


def _kind(stored: Stored, declared: Declared) -> Kind:
    low, high = declared.low, declared.high
    match stored.kind:
        case StoredKind.INTEGER | StoredKind.DECIMAL:
            step = own_step(stored)
            if isinstance(low, Fraction) and isinstance(high, Fraction):
                return _within(_coarser(step, low, high), low, high)
            return Number(step, -LARGEST, LARGEST)
        case StoredKind.REAL if isinstance(low, Fraction) and isinstance(high, Fraction):
            return _within(grid_step(low, high), low, high)
        case StoredKind.REAL:
            return Real()
        case StoredKind.BOOLEAN:
            return Boolean()
        case StoredKind.TIME:
            return TimeOfDay(Fraction(1), 0, 86_399)
        case StoredKind.DATE if isinstance(low, date) and isinstance(high, date):
            return Date(low, high)
        case StoredKind.DATE:
            return Date()
        case StoredKind.TIMESTAMP if isinstance(low, date) and isinstance(high, date):
            return Timestamp(_first(low), _last(high))
        case StoredKind.TIMESTAMP:
            return Timestamp()
        case _:
            return Text()


def own_step(stored: Stored) -> Fraction:
    """The step of whole numbers, and of decimals by their digits."""
    return Fraction(1, 10**stored.scale)


def _coarser(step: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """The least power of ten times the step that has fewer than 2^62 steps between 0 and either bound.

    >>> _coarser(Fraction(1), Fraction(0), Fraction(2**63 - 1)), _coarser(Fraction(1, 100), Fraction(0), Fraction(9))
    (Fraction(10, 1), Fraction(1, 100))
    """
    reach = max(abs(low), abs(high))
    if reach >= MOST_STEPS * step:
        must = "must be below 10^38 steps of the column: no engine stores more digits than that"
        raise BadParameter("bounds", f"{low} to {high}", must)
    while reach >= LARGEST * step:
        step *= 10
    return step


def grid_step(low: Fraction, high: Fraction) -> Fraction:
    """The step of a float column: the power of two that makes at least 2^30 cells between its bounds.

    Far from zero it is coarser: the farther bound has at most 2^61 cells.

    >>> grid_step(Fraction(0), Fraction(100)) == Fraction(1, 1 << 24)
    True
    """
    step = Fraction(1)
    while (high - low) / step < CELLS:
        step /= 2
    while (high - low) / step >= 2 * CELLS or max(abs(low), abs(high)) / step > LARGEST // 2:
        step *= 2
    return step


def _within(step: Fraction, low: Fraction, high: Fraction) -> Number:
    """The cells inside the bounds: the lower bound rounded up, the upper one down."""
    a, b = -((-low) // step), high // step
    if a > b or max(abs(a), abs(b)) >= LARGEST:  # that many cells stand for a column without bounds
        must = "must hold a value of the column; values beyond bounds are read as their ends"
        raise BadParameter("bounds", f"{low} to {high}", must)
    return Number(step, int(a), int(b))


def _fits(place: str, key: Value, kind: Kind) -> Value:
    good = {Number: int, Text: str, Boolean: bool, Date: date}.get(type(kind))
    if isinstance(kind, Number) and isinstance(key, int) and abs(key) > LARGEST:
        raise BadParameter(place, key, "must be integers of at most 2^62 in size: larger ones are read as 2^62")
    if key is None or (good is not None and type(key) is good):
        return key
    raise BadParameter(place, key, f"must be a list of values that the column can have; it holds {type(kind).__name__}")
