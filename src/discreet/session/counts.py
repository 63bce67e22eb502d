"""Contribution bounds and value bounds for counts over many columns: synthetic rows, streams of questions, trees.

Promise: a choice is made from numbers that the same program released before, in a step of its own, and from nothing
else. Until then the request is tried with bounds of one step, so that what can be refused is refused before payment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from math import pi, sqrt
from typing import Any

from discreet.errors import NoEstimate
from discreet.messages import Message, message
from discreet.query.plan.schema import MAX_ROWS, Declared, Schema, StoredKind, bounds, resolve
from discreet.query.profile.choose_bounds import choose_bounds
from discreet.query.profile.classes import FIRST_YEAR, LAST_YEAR, STARTS
from discreet.query.profile.profile import Profile
from discreet.query.profile.sizes import UnitSizes
from discreet.session.backend import with_cap

ONE_WAY = Fraction(1, 3)
"""Of the price of synthetic rows: about what tables of one column get, which the cap is chosen for."""


@dataclass(frozen=True, slots=True)
class OpenTable:
    """What is to be chosen before the rows of a table can be counted."""

    table: str
    rows: bool
    """Whether the number of rows of a unit is."""
    columns: tuple[str, ...]
    """The columns whose value bounds are."""

    @classmethod
    def of(cls, table: str, schema: Schema, columns: Sequence[str] | None, domain: Any) -> OpenTable:
        """What is open of the columns that are wanted; those of a ``domain`` are declared there."""
        declared = set(domain or ())
        auto = [name for name, declaration in schema.table.columns.items() if declaration.auto and name not in declared]
        return cls(table, schema.table.caps.auto, tuple(name for name in auto if columns is None or name in columns))

    def __bool__(self) -> bool:
        return self.rows or bool(self.columns)

    def tried(self, schemas: Mapping[str, Schema]) -> Mapping[str, Schema]:
        """The schemas to try a request with: a value range of one step, and the largest number of rows."""
        widest = self._declared(schemas, {name: _one_step(schemas[self.table], name) for name in self.columns})
        return with_cap(widest, self.table, MAX_ROWS) if self.rows else widest

    def with_bounds(
        self, schemas: Mapping[str, Schema], profile: Profile
    ) -> tuple[Mapping[str, Schema], tuple[Message, ...]]:
        """The schemas with the bounds that a profile says, and a note of each that it could not say."""
        chosen, notes = dict[str, Declared](), list[Message]()
        for name in self.columns:
            own, values = schemas[self.table].table.columns[name], profile.values(name)
            try:
                if values is None:
                    raise NoEstimate
                chosen[name] = choose_bounds(values, nullable=own.nullable).declared
            except NoEstimate:
                chosen[name] = _one_step(schemas[self.table], name)
                notes.append(message("no_value_stood_out", column=f"{self.table}.{name}"))
        return self._declared(schemas, chosen), tuple(notes)

    def _declared(self, schemas: Mapping[str, Schema], columns: Mapping[str, Declared]) -> Mapping[str, Schema]:
        own = schemas[self.table]
        table = replace(own.table, columns={**own.table.columns, **columns})
        return {**schemas, self.table: resolve(self.table, table, own.stored)} if columns else schemas


def _one_step(schema: Schema, column: str) -> Declared:
    nullable = schema.table.columns[column].nullable
    if schema.stored[column].kind in (StoredKind.DATE, StoredKind.TIMESTAMP):
        return bounds(date(FIRST_YEAR, 1, 1), date(LAST_YEAR, 12, 31), nullable=nullable)
    return bounds(0, 1, nullable=nullable)


def with_chosen_cap(
    schemas: Mapping[str, Schema], table: str, profile: Profile, rho: Fraction, cells: Sequence[int]
) -> tuple[Mapping[str, Schema], tuple[Message, ...]]:
    """The schemas with a cap for a table, if it is to be chosen, and a note of what it cuts.

    ``rho`` pays for noise in tables of so many cells each.
    """
    if not schemas[table].table.caps.auto:
        return schemas, ()
    cap = cap_for_counts(profile.sizes, rho, cells)
    cut = profile.cut(cap)
    shares = (cut.share, cut.low, cut.high)
    note = message("table_rows_scaled", limit=cap, cut=shares, reach=cut.reach, beyond=cut.beyond)
    return with_cap(schemas, table, cap), (note,)


def cap_for_counts(sizes: UnitSizes, rho: Fraction, cells: Sequence[int]) -> int:
    """The cap for which noise and cut together are the least share of all rows, in a table of so many cells.

    What it cuts is a share of all rows; noise is what it adds to all cells of a table, if each column gets an equal
    part of what tables of one column are paid with.
    """
    if sizes.empty:
        return 1
    each = float(ONE_WAY * rho) / len(cells)
    noise = sqrt(2 / pi) / sqrt(2 * each) * sum(cells) / len(cells)

    def error(cap: int) -> float:
        return sizes.middle(sizes.shares_cut(cap)) + noise * cap / sizes.kept(cap)

    return min((start for start in STARTS if start <= sizes.reach), key=error)
