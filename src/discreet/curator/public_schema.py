"""What is public about a table, as JSON and back: what a curator sends, and what a client makes of it.

Promise: all of it was declared by the owner or is the type of a column; nothing comes from a value, and where the data
lies is not sent. What is read back is the schema that the curator has, so that a question which cannot be asked is
refused at the client in the same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from discreet.exact import number
from discreet.query.answer.serialize import plain
from discreet.query.plan.key_sets import Hierarchy
from discreet.query.plan.schema import AUTO, NEVER, Caps, Declared, Field, Schema, Stored, StoredKind, Table, resolve
from discreet.query.plan.types import Boolean, Date, Kind, Number, Real, TimeOfDay, Timestamp, Value

MOST_KEYS = 1000
"""Keys of one column that are sent; of longer lists, how many more there are."""


def write(found: Schema) -> dict[str, Any]:
    """What is public about a table. Where it lies is not."""
    given, caps = found.table, found.table.caps
    others = {name: how.type[:60] for name, how in found.stored.items() if how.kind is StoredKind.OTHER}
    return {
        "unit": given.unit,
        "through": None if given.through is None else ".".join(given.through),
        "leads_to": None if given.through is None else list(given.through),
        "public": given.public,
        "max_rows": AUTO if caps.auto else caps.max_rows,
        "max_groups": caps.max_groups,
        "max_rows_per_group": caps.max_rows_per_group,
        "columns": [_column(name, field, found) for name, field in found.fields.items()],
        "places": [list(key_set.levels) for key_set in given.key_sets if isinstance(key_set, Hierarchy)],
        "unusable": others,
        "lists": {name: how.element.value for name, how in found.stored.items() if how.element is not None},
    }


def _column(name: str, field: Field, found: Schema) -> dict[str, Any]:
    kind, low, high = _kind(field.kind)
    declared, stored = found.table.columns.get(name, Declared()), found.stored.get(name) or found.derived[name]
    keys = None if field.keys is None else [plain(key) for key in field.keys[:MOST_KEYS]]
    return {
        "name": name,
        "kind": kind,
        "stored": stored.kind.value,
        "scale": stored.scale,
        "untyped": stored.untyped,
        "unit": found.table.unit == name,
        "low": low,
        "high": high,
        "bounds": _bounds(declared),
        "nullable": field.nullable,
        "keys": keys,
        "more_keys": 0 if field.keys is None else max(0, len(field.keys) - MOST_KEYS),
        "unknown_keys": field.unknown,
    }


def _bounds(declared: Declared) -> list[str] | str | None:
    if declared.auto or declared.never:
        return AUTO if declared.auto else NEVER
    return None if declared.low is None or declared.high is None else [_end(declared.low), _end(declared.high)]


def _kind(kind: Kind) -> tuple[str, str | None, str | None]:
    match kind:
        case TimeOfDay():
            return "time", None, None
        case Number(low=low, high=high) if max(abs(low), abs(high)) < 1 << 61:
            a, b = kind.ends
            return "number", _decimal(a), _decimal(b)
        case Number():
            return "number", None, None
        case Real():
            return "real", None, None
        case Boolean():
            return "boolean", None, None
        case Date(low=low, high=high):
            return "date", *_ends(low, high, date.min, date.max)
        case Timestamp(low=low, high=high):
            return "timestamp", *_ends(low, high, datetime.min, datetime.max)
        case _:
            return "text", None, None


def _ends(low: date, high: date, least: date, most: date) -> tuple[str | None, str | None]:
    return (None if low == least else low.isoformat(), None if high == most else high.isoformat())


def _decimal(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.12g}"


def _end(value: Fraction | date) -> str:
    """A bound as it was declared, exactly."""
    return value.isoformat() if isinstance(value, date) else str(value)


# --- and back ---------------------------------------------------------------------------------------------------------


def read(tables: Mapping[str, Any]) -> dict[str, Schema]:
    """The schemas of all tables, from what a curator sends."""
    return {name: _schema(name, data) for name, data in tables.items()}


def _schema(name: str, data: Mapping[str, Any]) -> Schema:
    stored = {
        one["name"]: Stored(StoredKind(one["stored"]), int(one["scale"]), bool(one.get("untyped", False)))
        for one in data["columns"]
    }
    lists = {column: StoredKind(kind) for column, kind in data.get("lists", {}).items()}
    stored |= {column: Stored(StoredKind.OTHER, element=lists.get(column), type=str(kind))
               for column, kind in data["unusable"].items()}  # fmt: skip
    declared = {one["name"]: _declared(one) for one in data["columns"]}
    table = Table(
        source=None,
        unit=data["unit"],
        through=None if data["leads_to"] is None else (data["leads_to"][0], data["leads_to"][1]),
        columns={column: one for column, one in declared.items() if one != Declared()},
        caps=Caps(
            max_rows=None if data["max_rows"] == AUTO else data["max_rows"],
            max_groups=data["max_groups"],
            max_rows_per_group=data["max_rows_per_group"],
            auto=data["max_rows"] == AUTO,
        ),
        public=data["public"],
    )
    return resolve(name, table, stored)


def _declared(data: Mapping[str, Any]) -> Declared:
    """A list of keys that was sent in part only is not known here: the curator decides."""
    kind = StoredKind(data["stored"])
    moments = kind in (StoredKind.DATE, StoredKind.TIMESTAMP)
    known = data["bounds"] not in (None, AUTO, NEVER)
    low, high = (_read_end(end, moments) for end in data["bounds"]) if known else (None, None)
    cut = bool(data["more_keys"])
    return Declared(
        low=low,
        high=high,
        keys=None if data["keys"] is None or cut else tuple(_key(key, kind) for key in data["keys"]),
        unknown=bool(data["unknown_keys"]) or cut,
        nullable=data["nullable"],
        auto=data["bounds"] == AUTO,
        never=data["bounds"] == NEVER,
    )


def _read_end(text: str, moments: bool) -> Fraction | date:
    if not moments:
        return number(text)
    return datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)


def _key(key: Any, kind: StoredKind) -> Value:
    return date.fromisoformat(key) if kind is StoredKind.DATE and key is not None else key
