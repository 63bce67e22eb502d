"""What the owner declares of a data set, as plain data: the same shape in curator.toml, in a request, in the ledger.

    {"tables": {"visits": {"source": "visits.parquet", "unit": "patient_id", "max_rows": 10, "columns": {
        "cost":   {"bounds": ["0", "5000"]},                  numbers as text or numbers; dates as "2025-01-31"
        "clinic": {"keys": ["North", "South"]},                "null_key": true if NULL is a group too
        "reason": {"unknown_keys": true}}}}}

Promise: ``write`` gives back what ``read`` understood, in canonical form and with exact numbers as text; what is not
understood is refused with its place, such as datasets.hospital.tables.visits.columns.cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.engines import data_paths
from discreet.errors import BadParameter
from discreet.exact import number
from discreet.ledger.owner_acts import check_name
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import ZCDP, Approx, Measure, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.plan.schema import Declared, Table, bounds, keys, table, unknown_keys
from discreet.query.plan.types import Value

CAPS = ("max_rows", "max_groups", "max_rows_per_group")
RULES = {"zcdp": Rule.ZCDP, "basic": Rule.BASIC}
NEIGHBOURS = {one.name.lower(): one for one in Neighbours}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTable:
    """One table: where it lies and what is said of it."""

    source: str
    unit: str | None
    public: bool = False
    columns: Mapping[str, Declared] = field(default_factory=dict)
    caps: Mapping[str, int] = field(default_factory=dict)

    def at(self, root: Path) -> Table:
        """The table as a session takes it."""
        files = [str(path) for path in data_paths.find(root, self.source)]
        return table(files, unit=self.unit, columns=self.columns, public=self.public, **self.caps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Tables about the same people."""

    tables: Mapping[str, DeclaredTable]

    def marks(self, root: Path) -> list[str]:
        """By what the private tables can be recognised."""
        return [
            mark
            for declared in self.tables.values()
            if not declared.public
            for mark in data_paths.marks(data_paths.find(root, declared.source))
        ]


# --- reading --------------------------------------------------------------------------------------------------------


def read(said: Any, place: str) -> Dataset:
    """The declaration of a data set."""
    said = section(said, place, {"tables"})
    tables = section(said.get("tables"), f"{place}.tables", None)
    if not tables:
        raise BadParameter(f"{place}.tables", {}, "must have at least one table")
    return Dataset(
        tables={_sql_name(name, place): _table(one, f"{place}.tables.{name}") for name, one in tables.items()}
    )


def _table(said: Any, place: str) -> DeclaredTable:
    said = section(said, place, {"source", "unit", "public", "columns", *CAPS})
    source, unit, public = said.get("source"), said.get("unit"), said.get("public", False)
    if not isinstance(source, str):
        raise BadParameter(f"{place}.source", source, "must be a file below the folder of the data")
    if not isinstance(public, bool):
        raise BadParameter(f"{place}.public", public, "must be true or false")
    columns = {
        name: _column(one, f"{place}.columns.{name}")
        for name, one in section(said.get("columns", {}), f"{place}.columns", None).items()
    }
    caps = {name: said[name] for name in CAPS if said.get(name) is not None}
    with_place = DeclaredTable(source=source, unit=unit, public=public, columns=columns, caps=caps)
    try:
        table([], unit=unit, columns=columns, public=public, **caps)
    except BadParameter as wrong:
        raise BadParameter(f"{place}.{wrong.name}", said.get(wrong.name), wrong.must) from None
    return with_place


def _column(said: Any, place: str) -> Declared:
    said = section(said, place, {"bounds", "keys", "unknown_keys", "null_key", "type", "nullable"})
    nullable = said.get("nullable", True)
    ways = [name for name in ("bounds", "keys", "unknown_keys") if said.get(name) not in (None, False)]
    if not isinstance(nullable, bool) or said.get("unknown_keys", True) is not True:
        raise BadParameter(place, said, "must have true or false for nullable and unknown_keys")
    if len(ways) > 1:
        raise BadParameter(place, said, "must have only one of bounds, keys and unknown_keys")
    try:
        match ways:
            case ["bounds"]:
                low, high = _two(said["bounds"])
                return bounds(_end(low), _end(high), nullable=nullable)
            case ["keys"]:
                return keys(_keys(said), nullable=nullable)
            case ["unknown_keys"]:
                return unknown_keys(nullable=nullable)
    except BadParameter as wrong:
        raise BadParameter(f"{place}.{ways[0]}", said[ways[0]], wrong.must) from None
    return Declared(nullable=nullable)


def _two(said: Any) -> tuple[Any, Any]:
    if not isinstance(said, list | tuple) or len(said) != 2:
        raise BadParameter("bounds", said, "must be a list of the least and the largest value")
    return said[0], said[1]


def _end(value: Any) -> Any:
    if not isinstance(value, str | int | float | Decimal | date):
        raise BadParameter("bounds", value, "must be numbers, dates or times")
    return str(value) if isinstance(value, float) else value  # 0.1 as it is written, not as it is stored


def _date(text: Any) -> date:
    try:
        return date.fromisoformat(text)
    except (TypeError, ValueError):
        raise BadParameter("date", text, 'must be a date such as "2025-01-31"') from None


def _keys(said: Mapping[str, Any]) -> list[Value]:
    listed, kind, null = said["keys"], said.get("type"), said.get("null_key", False)
    if not isinstance(listed, list) or not isinstance(null, bool):
        raise BadParameter("keys", listed, 'must be a list, such as ["North", "South"]')
    if kind not in (None, "date"):
        raise BadParameter("type", kind, 'must be "date", or left out')
    plain = [_date(one) if kind == "date" and isinstance(one, str) else one for one in listed]
    return [*plain, *([None] if null and None not in plain else [])]


def _sql_name(name: str, place: str) -> str:
    if not name.isidentifier() or len(name) > 60:
        raise BadParameter(f"{place}.tables", name, "must be named with letters, digits and _")
    return name


def section(said: Any, place: str, known: Iterable[str] | None) -> dict[str, Any]:
    """A part of a file or request: a table whose keys are known."""
    if not isinstance(said, dict) or not all(isinstance(key, str) for key in said):
        raise BadParameter(place, said, "must be a table of names and values")
    if known is not None:
        names = set(known)
        for key in said:
            if key not in names:
                raise BadParameter(
                    f"{place}.{key}", said[key], f"must be left out; known are {', '.join(sorted(names))}"
                )
    return said


# --- writing --------------------------------------------------------------------------------------------------------


def write(dataset: Dataset) -> dict[str, Any]:
    """The declaration as plain data, to be kept in the ledger."""
    return {"tables": {name: _write_table(one) for name, one in dataset.tables.items()}}


def _write_table(one: DeclaredTable) -> dict[str, Any]:
    said: dict[str, Any] = {"source": one.source}
    if one.unit is not None:
        said["unit"] = one.unit
    if one.public:
        said["public"] = True
    said |= dict(one.caps)
    return said | {"columns": {name: write_column(column) for name, column in one.columns.items()}}


def write_column(column: Declared) -> dict[str, Any]:
    """What is said of one column."""
    said: dict[str, Any] = {} if column.nullable else {"nullable": False}
    if column.low is not None and column.high is not None:
        said["bounds"] = [_text(column.low), _text(column.high)]
    if column.keys is not None:
        listed = [key for key in column.keys if key is not None]
        said["keys"] = [key.isoformat() if isinstance(key, date) else key for key in listed]
        if listed and isinstance(listed[0], date):
            said["type"] = "date"
        if len(listed) < len(column.keys):
            said["null_key"] = True
    if column.unknown:
        said["unknown_keys"] = True
    return said


def _text(end: Fraction | date) -> str:
    return end.isoformat() if isinstance(end, date) else str(end)


# --- promises -------------------------------------------------------------------------------------------------------


def read_promise(said: Any, place: str) -> Measure:
    """A budget or cap: {"epsilon": "1"}, {"epsilon": "1", "delta": "1e-9"} or {"rho": "1/2", "delta": ...}.

    >>> read_promise({"epsilon": "0.5", "delta": "1e-9"}, "budget")
    Approx(epsilon='1/2', delta='1/1000000000')
    """
    said = section(said, place, {"epsilon", "delta", "rho"})
    given = {name: _exact(value, f"{place}.{name}") for name, value in said.items() if value is not None}
    match given:
        case {"epsilon": epsilon, "delta": delta, **rest} if not rest:
            return Approx(epsilon, delta) if delta else Pure(epsilon)
        case {"epsilon": epsilon, **rest} if not rest:
            return Pure(epsilon)
        case {"rho": rho, **rest} if not set(rest) - {"delta"}:
            return ZCDP(rho, rest.get("delta", Fraction(0)))
    raise BadParameter(place, said, "must have epsilon, epsilon and delta, or rho and perhaps delta")


def _exact(value: Any, place: str) -> Fraction:
    found = number(str(value) if isinstance(value, float) else value, place)
    if found < 0:
        raise BadParameter(place, value, "must be at least 0")
    return found


def read_rule(said: Any, place: str) -> Rule | None:
    """How an (ε, δ) budget is counted."""
    if said is None:
        return None
    if said not in RULES:
        raise BadParameter(place, said, f"must be one of {', '.join(RULES)}")
    return RULES[said]


def read_neighbours(said: Any, place: str) -> Neighbours:
    """Which data sets are neighbours."""
    if said not in NEIGHBOURS:
        raise BadParameter(place, said, f"must be one of {', '.join(NEIGHBOURS)}")
    return NEIGHBOURS[said]


def read_name(said: Any, place: str) -> str:
    """A name of a data set, population or analyst that can stand in an address."""
    name = check_name(said, place)
    if set("/\\?#%") & set(name) or name in (".", ".."):
        raise BadParameter(place, name, "must have none of / \\ ? # %")
    return name
