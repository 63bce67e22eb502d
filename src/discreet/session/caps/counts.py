"""Caps and bounds for counts over many columns: synthetic rows, streams of questions, trees.

Promise: a choice is made from released numbers alone. Where nothing is known, a tenth of the price buys a profile
first: after all that can be refused was tried without reading or paying, and if the whole price fits the budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import pi, sqrt
from typing import Any

from discreet.query.plan.schema import MAX_ROWS, Caps, Schema
from discreet.query.profile.classes import STARTS
from discreet.query.profile.profile import Profile
from discreet.query.profile.sizes import UnitSizes
from discreet.session.caps.auto_bounds import Unknown, no_bounds, with_bounds, with_expected_bounds

ONE_WAY = Fraction(1, 3)
"""Of the price of synthetic rows: about what tables of one column get, which the cap is chosen for."""


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
