"""Tables of databases that we have no engine of their own for: how they are named, described, and read.

Promise: names reach the server quoted, or as quoted text. Only the catalogue (``information_schema``) is read here, and
every column is cast to what we compute with: should the owner change a type later on, no bound is lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from discreet.engines.sql.dialects import Dialect
from discreet.engines.sql.relations import Origin
from discreet.errors import BadData
from discreet.query.plan.schema import Stored, StoredKind

Table: TypeAlias = tuple[str, ...]
"""The parts of a name: schema and table, or what is above them too."""

_MOST_DIGITS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Warehouse:
    """A database: its dialect, and what its catalogue says."""

    dialect: Dialect
    kinds: Mapping[str, StoredKind]
    """By the catalogue's name of a type, in small letters."""
    read: Mapping[StoredKind, str]
    """How a column of each kind is read."""
    own: Mapping[str, str] = field(default_factory=dict)
    """How a column of a certain type is read, where that differs."""
    terms: Sequence[str] = ()
    """Statements at the beginning of every connection: settings that could change a result."""
    details: str = "NULL, NULL, numeric_scale"
    """What else the catalogue is asked for each column: its full type, its collation, its digits after the point."""
    plain: frozenset[str] = frozenset()
    """Names of collations that compare code points; columns with other ones cannot be used. Empty: all can."""
    beside: bool = False
    """Whether each schema has a catalogue of its own."""

    def question(self, table: Table) -> str:
        """The SELECT that describes a table: name, type, full type, collation, digits."""
        d = self.dialect
        *above, schema, name = table
        where = [*above, schema] if self.beside else above
        place = "".join(f"{d.identifier(part)}." for part in where)
        words = "INFORMATION_SCHEMA.COLUMNS" if self.beside else "information_schema.columns"
        return (
            f"SELECT column_name, data_type, {self.details} FROM {place}{words} "
            f"WHERE table_schema = {d.text(schema)} AND table_name = {d.text(name)} ORDER BY ordinal_position"
        )

    def origin(self, table: Table, described: Iterable[Sequence[Any]]) -> Origin:
        """Where the rows of a table come from, given what the catalogue says of it."""
        d, stored, read = self.dialect, dict[str, Stored](), []
        for name, kind, full, collation, digits in described:
            how = stored[name] = self._stored(str(kind), str(full or kind), collation, digits)
            if how.kind is not StoredKind.OTHER:
                column = d.identifier(name)
                form = self._form(str(full or kind), how.kind)
                read.append(f"{form.format(column)} AS {column}")
        if not read:
            raise BadData(
                f"{'.'.join(table)} must be a table or view that this connection may read, with a column of a type "
                "that can be used (names are compared letter by letter, upper and lower case too)"
            )
        item = ".".join(d.identifier(part) for part in table)
        return Origin(f"(SELECT {', '.join(read)} FROM {item})", stored)

    def _form(self, full: str, kind: StoredKind) -> str:
        word = full.lower()
        return self.own.get(word) or self.own.get(_bare(word)) or self.read[kind]

    def _stored(self, kind: str, full: str, collation: object, digits: object) -> Stored:
        stored = self.kinds.get(full.lower()) or self.kinds.get(_bare(full.lower())) or self.kinds.get(kind.lower())
        if stored is StoredKind.TEXT and self.plain and collation and str(collation) not in self.plain:
            return Stored(StoredKind.OTHER, type=full)
        if stored is not StoredKind.DECIMAL:
            return Stored(stored or StoredKind.OTHER, type=full)
        given = re.search(r"\(\s*\d+\s*(?:,\s*(\d+)\s*)?\)", full)
        scale = int(given[1] or 0) if given else int(str(digits)) if digits is not None else None
        if scale is None or scale > _MOST_DIGITS:
            return Stored(StoredKind.OTHER, type=full)
        return Stored(StoredKind.DECIMAL, scale)


def _bare(kind: str) -> str:
    """A type without what stands in brackets.

    >>> _bare("bigint(20) unsigned")
    'bigint unsigned'
    """
    return re.sub(r"\s*\([^)]*\)", "", kind)


def named(source: object) -> Table:
    """What a source of ``dp.table`` names: "schema.table", with more parts before if there are; or a tuple of parts.

    >>> named("clinic.visits"), named(("clinic", "visits.2024"))
    (('clinic', 'visits'), ('clinic', 'visits.2024'))
    """
    parts = tuple(source.split(".")) if isinstance(source, str) else source
    if isinstance(parts, tuple) and 2 <= len(parts) <= 3:
        texts = tuple(part for part in parts if isinstance(part, str) and part and "\0" not in part)
        if len(texts) == len(parts):
            return texts
    raise BadData(
        'a table must be named as "schema.table" or "catalog.schema.table"; if a name holds a dot, as a tuple of parts'
    )


Run: TypeAlias = Callable[[str], Sequence[Sequence[Any]]]


def describe(warehouse: Warehouse, table: Table, run: Run) -> Origin:
    """Where the rows of a table come from."""
    return warehouse.origin(table, run(warehouse.question(table)))
