"""Made-up rows of a public schema, to try code on before anything is spent.

Promise: the rows follow from what is public alone: names and types of columns, declared keys and bounds, where units
and foreign keys lead. No row of a private table is read for them; they are the same whatever the data are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from discreet.engines.memory.source import arrow_of
from discreet.exact import integer
from discreet.query.plan.schema import EACH_ROW, Declared, Schema, Stored, StoredKind, Table

ROWS_OF_A_UNIT = 3
_FIRST_DAY = date(2024, 1, 1)
_MOST_ELEMENTS = 4


def made_up(schemas: Mapping[str, Schema], rows: int) -> dict[str, Table]:
    """The same declarations over made-up rows; public tables that are there stay as they are."""
    many = integer(rows, "rows", at_least=1)
    led_to = {schema.table.through for schema in schemas.values()}
    tables = {}
    for name, schema in schemas.items():
        own = schema.table
        if own.public and own.source is not None:
            tables[name] = own
            continue
        sets = {column: some for some in own.key_sets for column in some.columns}
        columns = {}
        for column, how in schema.stored.items():
            kind = arrow_of(how)
            if kind is None:
                continue
            declared = own.columns.get(column, Declared())
            if (name, column) in led_to or column == own.unit not in (None, EACH_ROW):
                units = many if (name, column) in led_to or own.through else -(-many // ROWS_OF_A_UNIT)
                values = [_name(i % units, how) for i in range(many)]
            elif column in sets:
                place = sets[column].columns.index(column)
                allowed = sets[column].rows
                values = [
                    allowed[_drawn(f"{name} {sets[column].columns} {i}", len(allowed))][place] for i in range(many)
                ]
            else:
                values = [_value(f"{name}.{column} {i}", how, declared) for i in range(many)]
            columns[column] = pa.array(values, kind)
        tables[name] = replace(own, source=pa.table(columns), public_totals=())
    return tables


def _name(number: int, how: Stored) -> Any:
    """A unit, or what a foreign key leads to."""
    return {StoredKind.TEXT: f"made up {number}", StoredKind.REAL: float(number)}.get(how.kind, number)


def _value(place: str, how: Stored, declared: Declared) -> Any:
    """A value between the bounds, or one of the keys; somewhere usual, where nothing is declared. Or a list of such."""
    if how.element is not None:
        return [_value(f"{place} {i}", Stored(how.element), declared) for i in range(_drawn(place, _MOST_ELEMENTS))]
    if declared.keys:
        return declared.keys[_drawn(place, len(declared.keys))]
    share = Fraction(_drawn(place, 1 << 32), 1 << 32)
    match how.kind:
        case StoredKind.BOOLEAN:
            return share < Fraction(1, 2)
        case StoredKind.TEXT:
            return "abcdefgh"[_drawn(place, 8)]
        case StoredKind.TIME:
            return (datetime.min + timedelta(seconds=int(share * 86_400))).time()
        case StoredKind.DATE | StoredKind.TIMESTAMP:
            return _moment(share, how.kind, declared)
    low, high = declared.low, declared.high
    least, most = (Fraction(0), Fraction(100)) if isinstance(low, date) or low is None else (low, Fraction(high))  # type: ignore[arg-type]
    number = least + share * (most - least)
    if how.kind is StoredKind.INTEGER:
        return min(round(number), int(most))
    return float(number) if how.kind is StoredKind.REAL else round(Decimal(float(number)), how.scale)


def _moment(share: Fraction, kind: StoredKind, declared: Declared) -> date:
    low = declared.low if isinstance(declared.low, date) else _FIRST_DAY
    high = declared.high if isinstance(declared.high, date) else low + timedelta(days=365)
    first = datetime.combine(low, datetime.min.time()) if not isinstance(low, datetime) else low
    last = datetime.combine(high, datetime.min.time()) if not isinstance(high, datetime) else high
    moment = first + timedelta(seconds=int(share * int((last - first).total_seconds())))
    return moment if kind is StoredKind.TIMESTAMP else moment.date()


def _drawn(place: str, many: int) -> int:
    """A number below ``many`` that follows from a place: no noise, and nothing secret."""
    return int.from_bytes(hashlib.sha256(place.encode()).digest()[:8], "big") % many
