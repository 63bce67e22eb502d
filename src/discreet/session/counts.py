"""Caps and bounds for counts over many columns: synthetic rows, streams of questions, trees.

Promise: a choice is made from released numbers alone. Where nothing is known, a tenth of the price buys a profile
first: after all that can be refused was tried without reading or paying, and if the whole price fits the budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from math import pi, sqrt
from typing import Any

from discreet.errors import BadQuestion, NoEstimate, NoProfile
from discreet.messages import message
from discreet.query.plan.schema import MAX_ROWS, Caps, Declared, Schema, StoredKind, bounds, resolve
from discreet.query.profile.choose_bounds import ChosenBounds, choose_bounds
from discreet.query.profile.classes import FIRST_YEAR, LAST_YEAR, STARTS
from discreet.query.profile.profile import Profile
from discreet.query.profile.sizes import UnitSizes

ONE_WAY = Fraction(1, 3)
"""Of the price of synthetic rows: about what tables of one column get, which the cap is chosen for."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A column whose bounds are to be chosen, and could not be yet."""

    table: str
    column: str
    asked: bool
    """Whether its values were bought, and none stood out from the noise."""

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


def chosen_bounds(
    name: str, schema: Schema, profile: Profile | None
) -> tuple[dict[str, ChosenBounds], tuple[Unknown, ...]]:
    """The bounds of the columns of a table that are to be chosen, and those of which nothing is known."""
    found: dict[str, ChosenBounds] = {}
    missing = []
    for column, said in schema.table.columns.items():
        if not said.auto:
            continue
        values = None if profile is None else profile.values(column)
        try:
            if values is None:
                raise NoEstimate
            found[column] = choose_bounds(values, nullable=said.nullable)
        except NoEstimate:
            missing.append(Unknown(name, column, values is not None))
    return found, tuple(missing)


def with_bounds(
    schemas: Mapping[str, Schema], profiles: Mapping[str, Profile]
) -> tuple[Mapping[str, Schema], tuple[Unknown, ...]]:
    """The schemas with bounds that were chosen, and the columns for which none could be."""
    made: dict[str, Schema] = {}
    missing: list[Unknown] = []
    for name, schema in schemas.items():
        found, unknown = chosen_bounds(name, schema, profiles.get(name))
        missing += unknown
        made[name] = _declared(name, schema, {column: one.declared for column, one in found.items()})
    return made, tuple(missing)


def with_expected_bounds(schemas: Mapping[str, Schema], missing: Sequence[Unknown]) -> Mapping[str, Schema]:
    """The same with bounds of one step where none could be chosen: to plan with, and where a release paid in vain."""
    made = dict(schemas)
    for one in missing:
        schema = made[one.table]
        made[one.table] = _declared(one.table, schema, {one.column: _one_step(schema, one.column)})
    return made


def _declared(name: str, schema: Schema, columns: Mapping[str, Declared]) -> Schema:
    """A schema with some columns declared anew."""
    if not columns:
        return schema
    return resolve(name, replace(schema.table, columns={**schema.table.columns, **columns}), schema.stored)


def _one_step(schema: Schema, column: str) -> Declared:
    nullable = schema.table.columns[column].nullable
    if schema.stored[column].kind in (StoredKind.DATE, StoredKind.TIMESTAMP):
        return bounds(date(FIRST_YEAR, 1, 1), date(LAST_YEAR, 12, 31), nullable=nullable)
    return bounds(0, 1, nullable=nullable)


_BOUNDS = ("declare_bounds", "declare_its_bounds", "narrow_bounds", "clamp")
"""What a query with a column without bounds is told to do."""


def no_bounds(refused: BadQuestion | None, missing: Sequence[Unknown]) -> BadQuestion:
    """The refusal, with what to do about bounds that could not be chosen."""
    if refused is not None and (not missing or refused.fix is None or refused.fix.code not in _BOUNDS):
        return refused
    return NoProfile(
        f"no bounds are chosen yet for {', '.join(map(str, missing))}",
        message("profile_again"),
    )


@dataclass(frozen=True, slots=True)
class Lacks:
    """What must be known of a table before its rows can be counted."""

    table: str
    caps: bool
    bounds: tuple[Unknown, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """A profile of these is enough."""
        return tuple(one.column for one in self.bounds)

    def __bool__(self) -> bool:
        return self.caps or bool(self.bounds)


def no_profile(tables: str) -> NoProfile:
    """The refusal where a contribution bound is to be chosen and no profile was bought."""
    return NoProfile(
        f"the number of rows per unit of {tables} is not bounded, and there is no profile to choose a bound from",
        message("bound_or_profile"),
    )


def lacking(
    table: str, schemas: Mapping[str, Schema], profile: Profile | None, columns: Sequence[str] | None, domain: Any
) -> Lacks:
    """What is to be chosen for the columns that are wanted, and was not bought yet."""
    own = {} if profile is None else {table: profile}
    missing = with_bounds({table: schemas[table]}, own)[1]
    said = set(domain or ())
    wanted = [one for one in missing if (columns is None or one.column in columns) and one.column not in said]
    if vain := [one for one in wanted if one.asked]:
        raise no_bounds(None, vain)
    return Lacks(table, schemas[table].table.caps.auto and profile is None, tuple(wanted))


def to_try(schemas: Mapping[str, Schema], lacks: Lacks) -> Mapping[str, Schema]:
    """The schemas to try a request with, before it is known what will be chosen."""
    found = with_expected_bounds(schemas, lacks.bounds)
    return with_cap(found, lacks.table, MAX_ROWS) if found[lacks.table].table.caps.auto else found


def with_chosen_bounds(
    schemas: Mapping[str, Schema], table: str, profile: Profile | None
) -> tuple[Mapping[str, Schema], tuple[str, ...]]:
    """The schemas with the bounds that a profile of the table says; and those that it could not say, in words."""
    chosen, missing = with_bounds({table: schemas[table]}, {} if profile is None else {table: profile})
    vain = [one for one in missing if one.asked]
    words = (f"no value of {one} stood out from the noise of what was bought first: what is said of it is nothing"
             for one in vain)  # fmt: skip
    return with_expected_bounds({**schemas, **chosen}, vain), tuple(words)


def with_chosen_cap(
    schemas: Mapping[str, Schema], table: str, profile: Profile | None, rho: Fraction, cells: Sequence[int]
) -> tuple[Mapping[str, Schema], tuple[str, ...]]:
    """The schemas with a cap for a table, if it is to be chosen, and what it cuts in words.

    ``rho`` pays for noise in tables of so many cells each.
    """
    if profile is None or not schemas[table].table.caps.auto:
        return schemas, ()
    cap = cap_for_counts(profile.sizes, rho, cells)
    return with_cap(schemas, table, cap), (
        f"rows of a unit are weighted down to a cap, chosen here: {profile.cut(cap)}",
    )


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


def with_cap(schemas: Mapping[str, Schema], table: str, cap: int) -> Mapping[str, Schema]:
    """The schemas with this cap on the rows of a unit of a table, whatever was declared."""
    own = schemas[table]
    return {**schemas, table: replace(own, table=replace(own.table, caps=Caps(max_rows=cap)))}
