"""What the owner declares of a data set, as plain data: the same shape in curator.toml, in a request, in the ledger.

    {"tables": {"visits": {"source": "visits.parquet", "unit": "patient_id", "max_rows": "auto", "columns": {
        "cost":   {"bounds": ["0", "5000"]},                  numbers as text or numbers, dates as "2025-01-31"
        "clinic": {"keys": ["North", "South"]},                "null_key": true if NULL is a group too
        "reason": {"unknown_keys": true}}}}}

Promise: ``write`` gives back what ``read`` understood, in canonical form and with exact numbers as text; what is not
understood is refused with its place, such as datasets.hospital.tables.visits.columns.cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, StrictInt, StrictStr, model_validator

from discreet.curator.engine_process.remote import RemoteEngine
from discreet.curator.service import data_sources
from discreet.curator.service.sections import Flag, Section, must, read_section, table_of
from discreet.engines.duckdb.object_store import ObjectStore
from discreet.errors import BadParameter
from discreet.exact import number
from discreet.ledger.owner_acts import check_name
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import ZCDP, Approx, Measure, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.plan import schema
from discreet.query.plan.key_sets import Hierarchy, KeySet, hierarchy, key_set
from discreet.query.plan.public_totals import PublicTotals, public_totals
from discreet.query.plan.schema import AUTO, MAX_ROWS, NEVER, Declared, Table, bounds, keys, table, unknown_keys
from discreet.query.plan.types import Value

CAPS = ("max_rows", "max_groups", "max_rows_per_group")
RULES = {"either": Rule.EITHER, "zcdp": Rule.ZCDP, "basic": Rule.BASIC}
NEIGHBOURS = {neighbours.name.lower(): neighbours for neighbours in Neighbours}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTable:
    """One table: where it lies and what is declared of it."""

    source: str
    unit: str | None
    public: bool = False
    columns: Mapping[str, Declared] = field(default_factory=dict)
    caps: Mapping[str, Any] = field(default_factory=dict)
    key_sets: tuple[KeySet, ...] = ()
    """Which combinations of keys exist."""
    public_totals: tuple[PublicTotals, ...] = ()
    """How many rows there are, where that is public."""
    known_columns: tuple[str, ...] | None = None
    """The columns that it had when the owner registered it: no other one can be asked about. None: an older version
    registered it, and all can."""

    def at(self, root: Path) -> Table:
        """The table as a session takes it."""
        place = data_sources.place_of_table(root, self.source)
        # older versions registered tables without max_rows, and took 10: what is in a ledger keeps its meaning
        caps = {**self.caps, "max_rows": MAX_ROWS} if self.undeclared else self.caps
        return table(
            place,
            unit=self.unit,
            columns=self.columns,
            public=self.public,
            key_sets=self.key_sets,
            public_totals=self.public_totals,
            **caps,
        )

    @property
    def undeclared(self) -> bool:
        """Whether nothing says how many rows of one unit count."""
        return not self.public and "max_rows" not in self.caps and len(self.caps) < len(CAPS) - 1

    def completed(self) -> DeclaredTable:
        """The table with max_rows = "auto" if nothing else is declared: how it is registered."""
        if schema.UNDECLARED is None or not self.undeclared:
            return self
        return replace(self, caps={"max_rows": schema.UNDECLARED, **self.caps})


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Tables about the same people."""

    tables: Mapping[str, DeclaredTable]
    version: str | None = None
    """Which data these are, in the owner's words: answers are shared as long as it stays. None: the files tell."""
    answers_apart: bool = False
    """Whether analysts get their own answers only, and pay for those that others have paid for."""

    def completed(self) -> Dataset:
        """The tables as they are registered: each says how many rows of one unit count."""
        return self._each(lambda _, declared: declared.completed())

    def knowing(self, columns: Mapping[str, tuple[str, ...]]) -> Dataset:
        """The tables with the columns that they have when they are registered."""
        return self._each(lambda name, declared: replace(declared, known_columns=columns[name]))

    def without_known_columns(self) -> Dataset:
        """The tables as the owner declares them."""
        return self._each(lambda _, declared: replace(declared, known_columns=None))

    def _each(self, change: Callable[[str, DeclaredTable], DeclaredTable]) -> Dataset:
        return replace(self, tables={name: change(name, declared) for name, declared in self.tables.items()})

    def marks(self, root: Path) -> list[str]:
        """By what the private tables can be recognised."""
        return [
            mark
            for declared in self.tables.values()
            if not declared.public
            for mark in data_sources.marks_of(root, declared.source)
        ]

    def folders(self, root: Path) -> list[Path]:
        """Where the files of the private tables lie."""
        return [
            path.parent
            for declared in self.tables.values()
            if not declared.public
            for path in data_sources.files_of(root, declared.source)
        ]

    def engine(self) -> RemoteEngine | ObjectStore | None:
        """The server or store that the tables lie on; None for files."""
        return data_sources.engine_of(declared.source for declared in self.tables.values())


# --- reading --------------------------------------------------------------------------------------------------------


class ColumnSection(Section):
    """What is declared of a column: bounds, keys or unknown keys."""

    bounds: Annotated[
        list[Any] | Literal["auto", "never"] | None,
        must('must be a list of the least and the largest value, "auto" or "never"'),
    ] = None
    keys: Annotated[list[Any] | None, must('must be a list, such as ["North", "South"]')] = None
    unknown_keys: Annotated[Literal[True] | None, must("must be true, or left out")] = None
    null_key: Any = False
    other: Any = None
    type: Any = None
    nullable: Flag = True

    @model_validator(mode="after")
    def _checked(self) -> Self:
        self.declared()
        return self

    def declared(self) -> Declared:
        """The declaration."""
        ways = [name for name in ("bounds", "keys", "unknown_keys") if getattr(self, name) is not None]
        if len(ways) > 1:
            raise BadParameter("", self.model_dump(), "must have only one of bounds, keys and unknown_keys")
        try:
            match ways:
                case ["bounds"] if isinstance(self.bounds, str):
                    return bounds(self.bounds, nullable=self.nullable)
                case ["bounds"]:
                    low, high = self._ends()
                    return bounds(low, high, nullable=self.nullable)
                case ["keys"]:
                    return keys(self._keys(), nullable=self.nullable, other=self._key(self.other))
                case ["unknown_keys"]:
                    return unknown_keys(nullable=self.nullable)
        except BadParameter as wrong:
            raise wrong.renamed(f".{ways[0]}") from None
        return Declared(nullable=self.nullable)

    def _ends(self) -> list[Any]:
        if not isinstance(self.bounds, list) or len(self.bounds) != 2:
            raise BadParameter("", self.bounds, "must be a list of the least and the largest value")
        for end in self.bounds:
            if not isinstance(end, str | int | float | Decimal | date):
                raise BadParameter("", end, "must be numbers, dates or times")
        return [str(end) if isinstance(end, float) else end for end in self.bounds]  # 0.1 as written, not as stored

    def _keys(self) -> list[Value]:
        if not isinstance(self.null_key, bool):
            raise BadParameter("", self.null_key, "must have true or false for null_key")
        if self.type not in (None, "date"):
            raise BadParameter("", self.type, 'must be "date", or left out')
        listed = [self._key(key) for key in self.keys or ()]
        return [*listed, *([None] if self.null_key and None not in listed else [])]

    def _key(self, key: Any) -> Any:
        return _date(key) if self.type == "date" and isinstance(key, str) else key


class KeySetSection(Section):
    """Combinations of keys that exist; with a name, a hierarchy from the coarsest to the finest column."""

    name: Annotated[StrictStr | None, must("must be a name, for a hierarchy")] = None
    columns: Annotated[list[StrictStr], must('must be a list of columns, such as ["state", "county"]')]
    rows: Annotated[list[list[Any]], must('must be a list of lists, such as [["A", "a1"], ["A", "a2"]]')]
    dates: Annotated[list[StrictStr], must("must be the columns that are dates")] = Field(default_factory=list)
    other: Annotated[StrictStr | StrictInt | None, must("must be a key for places that are not listed")] = None

    @model_validator(mode="after")
    def _checked(self) -> Self:
        try:
            self.declared()
        except BadParameter as wrong:
            raise wrong.renamed("") from None
        return self

    def declared(self) -> KeySet:
        """The declaration."""
        at = [place for place, name in enumerate(self.columns) if name in self.dates]
        rows = [
            tuple(_date(v) if place in at and v is not None else v for place, v in enumerate(row)) for row in self.rows
        ]
        if self.name is not None:
            return hierarchy(self.name, self.columns, table=rows, other=self.other)
        if self.other is not None:
            raise BadParameter("other", self.other, "must be left out, or have a name for the hierarchy")
        return key_set(rows, self.columns)


class TotalsSection(Section):
    """Numbers of rows that are public; with ``from_data``, that the owner publishes without noise."""

    columns: Annotated[list[StrictStr], must('must be a list of columns, such as ["state"], or empty')]
    rows: Annotated[list[list[Any]], must('must be a list of keys and their count, such as [["A", 1200], ["B", 300]]')]
    dates: Annotated[list[StrictStr], must("must be the columns that are dates")] = Field(default_factory=list)
    from_data: Annotated[StrictStr | None, must("must say why totals of the data are published")] = None

    @model_validator(mode="after")
    def _checked(self) -> Self:
        try:
            self.declared()
        except BadParameter as wrong:
            raise wrong.renamed("") from None
        return self

    def declared(self) -> PublicTotals:
        """The declaration, as ``dp.public_totals`` makes it."""
        if any(len(row) != len(self.columns) + 1 for row in self.rows):
            raise BadParameter("rows", len(self.rows), f"must have a key of {', '.join(self.columns)} and a count each")
        if not self.columns:
            return public_totals(self.rows[0][0] if len(self.rows) == 1 else None, from_data=self.from_data)
        columns = dict(zip([*self.columns, "count"], map(list, zip(*self.rows, strict=True)), strict=False))
        for name in self.dates:
            columns[name] = [None if day is None else _date(day) for day in columns.get(name, [])]
        return public_totals(columns, self.columns, from_data=self.from_data)


class TableSection(Section):
    """Where a table lies and what is declared of it."""

    source: Annotated[StrictStr, must("must be a file below the folder of the data, or a table on a server")] = Field(
        None, validate_default=True
    )
    unit: Any = None
    public: Flag = False
    columns: Annotated[dict[str, ColumnSection], BeforeValidator(lambda data: table_of(data, ""))] = Field(
        default_factory=dict
    )
    max_rows: Any = None
    max_groups: Any = None
    max_rows_per_group: Any = None
    key_sets: list[KeySetSection] = Field(default_factory=list)
    public_totals: list[TotalsSection] = Field(default_factory=list)
    known_columns: Annotated[list[StrictStr] | None, must("must be a list of names")] = None
    """Written by the service when a table is registered."""

    @model_validator(mode="after")
    def _checked(self) -> Self:
        declared = self.declared()
        try:
            data_sources.read_source(declared.source)
            table(
                [],
                unit=declared.unit,
                columns=declared.columns,
                public=declared.public,
                key_sets=declared.key_sets,
                public_totals=declared.public_totals,
                **declared.caps,
            )
        except BadParameter as wrong:
            raise wrong.renamed(f".{wrong.name}") from None
        return self

    def declared(self) -> DeclaredTable:
        """The declaration."""
        return DeclaredTable(
            source=self.source,
            unit=self.unit,
            public=self.public,
            columns={name: column.declared() for name, column in self.columns.items()},
            caps={name: cap for name in CAPS if (cap := getattr(self, name)) is not None},
            key_sets=tuple(key_set.declared() for key_set in self.key_sets),
            public_totals=tuple(totals.declared() for totals in self.public_totals),
            known_columns=None if self.known_columns is None else tuple(self.known_columns),
        )


def read(data: Any, place: str) -> Dataset:
    """The declaration of a data set."""
    data = table_of(data, place, {"tables", "version", "answers_apart"})
    version, apart = data.get("version"), data.get("answers_apart", False)
    if version is not None:
        check_name(version, f"{place}.version")
    if not isinstance(apart, bool):
        raise BadParameter(f"{place}.answers_apart", apart, "must be true or false")
    return replace(read_tables(data.get("tables"), f"{place}.tables"), version=version, answers_apart=apart)


def read_tables(data: Any, place: str) -> Dataset:
    """The tables of a data set."""
    tables = table_of(data, place)
    if not tables:
        raise BadParameter(place, {}, "must have at least one table")
    return Dataset(
        tables={
            _sql_name(name, place): read_section(TableSection, table, f"{place}.{name}").declared()
            for name, table in tables.items()
        }
    )


def _date(text: Any) -> date:
    try:
        return date.fromisoformat(text)
    except (TypeError, ValueError):
        raise BadParameter("date", text, 'must be a date such as "2025-01-31"') from None


def _sql_name(name: str, place: str) -> str:
    if not name.isidentifier() or len(name) > 60:
        raise BadParameter(place, name, "must be named with letters, digits and _")
    return name


# --- writing --------------------------------------------------------------------------------------------------------


def write(dataset: Dataset) -> dict[str, Any]:
    """The declaration as plain data, to be kept in the ledger."""
    about: dict[str, Any] = {"tables": {name: _write_table(declared) for name, declared in dataset.tables.items()}}
    if dataset.version is not None:
        about["version"] = dataset.version
    return about | ({"answers_apart": True} if dataset.answers_apart else {})


def _write_table(table: DeclaredTable) -> dict[str, Any]:
    data: dict[str, Any] = {"source": table.source}
    if table.unit is not None:
        data["unit"] = table.unit
    if table.public:
        data["public"] = True
    data |= dict(table.caps)
    if table.key_sets:
        data["key_sets"] = [_write_key_set(key_set) for key_set in table.key_sets]
    if table.public_totals:
        data["public_totals"] = [_write_totals(totals) for totals in table.public_totals]
    if table.known_columns is not None:
        data["known_columns"] = list(table.known_columns)
    return data | {"columns": {name: write_column(column) for name, column in table.columns.items()}}


def _write_key_set(key_set: KeySet) -> dict[str, Any]:
    dates = [
        name for place, name in enumerate(key_set.columns) if any(isinstance(row[place], date) for row in key_set.rows)
    ]
    other = key_set.other if isinstance(key_set, Hierarchy) else None
    listed = [row for row in key_set.rows if other is None or row[-1] != other]
    rows = [[value.isoformat() if isinstance(value, date) else value for value in row] for row in listed]
    data: dict[str, Any] = {"name": key_set.name} if isinstance(key_set, Hierarchy) else {}
    data |= {} if other is None else {"other": other}
    return data | {"columns": list(key_set.columns), "rows": rows} | ({"dates": dates} if dates else {})


def _write_totals(totals: PublicTotals) -> dict[str, Any]:
    written = _write_key_set(KeySet(totals.columns, totals.keys))
    written["rows"] = [[*key, count] for key, count in zip(written["rows"], totals.counts, strict=True)]
    return written | ({} if totals.from_data is None else {"from_data": totals.from_data})


def write_column(column: Declared) -> dict[str, Any]:
    """What is data of one column."""
    data: dict[str, Any] = {} if column.nullable else {"nullable": False}
    if column.auto or column.never:
        data["bounds"] = AUTO if column.auto else NEVER
    if column.low is not None and column.high is not None:
        data["bounds"] = [_text(column.low), _text(column.high)]
    if column.keys is not None:
        listed = [key for key in column.keys if key is not None]
        data["keys"] = [key.isoformat() if isinstance(key, date) else key for key in listed]
        if listed and isinstance(listed[0], date):
            data["type"] = "date"
        if len(listed) < len(column.keys):
            data["null_key"] = True
        if column.other is not None:
            data["other"] = column.other.isoformat() if isinstance(column.other, date) else column.other
    if column.unknown:
        data["unknown_keys"] = True
    return data


def _text(end: Fraction | date) -> str:
    return end.isoformat() if isinstance(end, date) else str(end)


# --- promises -------------------------------------------------------------------------------------------------------


def read_promise(data: Any, place: str) -> Measure:
    """A budget or cap: {"epsilon": "1"}, {"epsilon": "1", "delta": "1e-9"} or {"rho": "1/2", "delta": ...}.

    >>> read_promise({"epsilon": "0.5", "delta": "1e-9"}, "budget")
    Approx(epsilon='1/2', delta='1/1000000000')
    """
    data = table_of(data, place, {"epsilon", "delta", "rho"})
    given = {name: _exact(value, f"{place}.{name}") for name, value in data.items() if value is not None}
    match given:
        case {"epsilon": epsilon, "delta": delta, **rest} if not rest:
            return Approx(epsilon, delta) if delta else Pure(epsilon)
        case {"epsilon": epsilon, **rest} if not rest:
            return Pure(epsilon)
        case {"rho": rho, **rest} if not set(rest) - {"delta"}:
            return ZCDP(rho, rest.get("delta", Fraction(0)))
    raise BadParameter(place, data, "must have epsilon, epsilon and delta, or rho and perhaps delta")


def _exact(value: Any, place: str) -> Fraction:
    exact = number(str(value) if isinstance(value, float) else value, place)
    if exact < 0:
        raise BadParameter(place, value, "must be at least 0")
    return exact


def read_rule(data: Any, place: str) -> Rule | None:
    """How an (ε, δ) budget is counted."""
    if data is None:
        return None
    if data not in RULES:
        raise BadParameter(place, data, f"must be one of {', '.join(RULES)}")
    return RULES[data]


def read_neighbours(data: Any, place: str) -> Neighbours:
    """Which data sets are neighbours."""
    if data not in NEIGHBOURS:
        raise BadParameter(place, data, f"must be one of {', '.join(NEIGHBOURS)}")
    return NEIGHBOURS[data]


def read_name(data: Any, place: str) -> str:
    """A name of a data set, population or analyst that can stand in an address."""
    name = check_name(data, place)
    if set("/\\?#%") & set(name) or name in (".", ".."):
        raise BadParameter(place, name, "must have none of / \\ ? # %")
    return name
