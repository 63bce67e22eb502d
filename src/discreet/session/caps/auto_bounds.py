"""Bounds declared as "auto": chosen from a profile before a question is planned, and stated with its answer.

Promise: a choice is made from released numbers alone. Where nothing was released yet, a tenth of the price of a release
buys the values first; what cannot buy is refused, unpaid. Where something was bought and nothing stood out from the
noise, a further question is refused; the one that paid is answered with bounds of one step, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction

from discreet.answer import how_many
from discreet.errors import BadQuestion, NoEstimate, NoProfile
from discreet.query.answer.preview import Preview
from discreet.query.estimate.prepare import Prepared
from discreet.query.lower.lower import LoweredMeasure
from discreet.query.plan.expressions import columns
from discreet.query.plan.nodes import Aggregate, Project, Scan, parts_of
from discreet.query.plan.schema import Declared, Schema, StoredKind, bounds, resolve
from discreet.query.plan.types import Number
from discreet.query.profile.choose_bounds import ChosenBounds, choose_bounds
from discreet.query.profile.classes import FIRST_YEAR, LAST_YEAR
from discreet.query.profile.profile import Profile
from discreet.query.profile.value_cut import ValueCut, value_cut

_COUNTS = (Aggregate.COUNT, Aggregate.COUNT_UNITS, Aggregate.COUNT_DISTINCT)


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


def without_choices(schemas: Mapping[str, Schema]) -> Mapping[str, Schema]:
    """The schemas with no bounds where they are to be chosen: for what must mean the same after another profile."""
    return {
        name: _declared(
            name, one, {column: replace(said, auto=False) for column, said in one.table.columns.items() if said.auto}
        )
        for name, one in schemas.items()
    }


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


def no_bounds(refused: BadQuestion | None, missing: Sequence[Unknown]) -> BadQuestion:
    """The refusal, with what to do about bounds that could not be chosen."""
    if refused is not None and (not missing or "bounds" not in str(refused)):
        return refused
    reason = "" if refused is None else f"{refused}; "
    return NoProfile(
        f"{reason}no bounds could be chosen yet for {', '.join(map(str, missing))}: buy a profile of the table with "
        "session.profile(table, epsilon=...), for more if one was bought and nothing stood out from its noise"
    )


def waited_for(question: Prepared, missing: Sequence[Unknown]) -> tuple[Unknown, ...]:
    """Those of the columns whose bounds could not be chosen that a question looks at, unless they were bought."""
    return tuple(
        one for one in missing if not one.asked and any(one.column in columns_read(q, one.table) for q in question.all)
    )


def columns_to_buy(missing: Sequence[Unknown], keys: Sequence[str], schema: Schema) -> tuple[str, ...]:
    """The columns of one table that a profile is bought for: those to be bounded, and those it is grouped by."""
    listed = [key for key in keys if key in schema.fields and key != schema.table.unit]
    return tuple(dict.fromkeys([*(one.column for one in missing), *listed]))


def without_bounds(
    found: Preview, question: Prepared, waiting: Sequence[Unknown], notes: tuple[str, ...], units: int
) -> Preview:
    """A preview that has no error bars for values whose bounds are to be chosen, and says so; counts keep theirs.

    ``notes``: what else there is to say; ``units``: how many must have values alike for bounds to be chosen.
    """
    if not waiting:
        return found
    counts = {m.measure.name for m in question.asked.measures if m.measure.aggregate in _COUNTS}
    columns = tuple(one if one.name in counts else replace(one, error=math.inf) for one in found.columns)
    words = (
        f"bounds of {', '.join(map(str, waiting))} are not chosen yet: a release spends a tenth of its price on their "
        f"values, and chooses then; only then the error bars are known. Unless {how_many(units, 'units')} or more have "
        "values of one size, such as 4 to 8, or dates of one year, none may stand out from the noise: then the whole "
        "price is spent in vain"
    )
    return replace(found, columns=columns, notes=(*notes, words))


def bounds_told(question: Prepared, schemas: Mapping[str, Schema], profiles: Mapping[str, Profile]) -> tuple[str, ...]:
    """The bounds that were chosen for columns of a question's tables, as text."""
    found: list[str] = []
    for name in question.asked.tables:
        if any(one.auto for one in schemas[name].table.columns.values()):
            chosen, missing = chosen_bounds(name, schemas[name], profiles.get(name))
            read = columns_read(question, name)
            found += [str(_clipped(one, question, profiles[name])) for one in chosen.values() if one.column in read]
            vain = [one.column for one in missing if one.asked and one.column in read]
            found += [_in_vain(column, _one_step(schemas[name], column)) for column in vain]
        found += map(str, value_cuts(question, schemas[name], profiles.get(name)))
    return tuple(found)


def _in_vain(column: str, used: Declared) -> str:
    return (
        f"bounds of {column} could not be chosen: no value stood out from the noise of what was bought first; values "
        f"were read as lying from {used.low} to {used.high}, so what depends on {column} says nothing about it: a "
        "profile at a higher price may see more, or declare bounds"
    )


def columns_read(question: Prepared, table: str) -> set[str]:
    """The columns of a table that a question looks at."""
    projects = [one for one in parts_of(question.asked.source) if isinstance(one, Project)]
    above = [one for one in projects if isinstance(one.source, Scan) and one.source.table == table]
    return {name for one in above for name, _ in one.columns}


def value_cuts(question: Prepared, schema: Schema, profile: Profile | None) -> list[ValueCut]:
    """What declared bounds cut of the columns of a table that are summed or averaged; nothing without a profile."""
    read = {column for m in _summed(question) for argument in m.arguments for column in columns(argument.lowered)}
    ends = _ends(question)
    found = []
    for column, said in schema.table.columns.items():
        values = None if profile is None or column not in read else profile.values(column)
        if values is not None and isinstance(said.low, Fraction) and isinstance(said.high, Fraction):
            low, high = ends.get(column, (said.low, said.high))  # those that were chosen within the declared ones
            found.append(value_cut(values, float(low), float(high)))
    return [one for one in found if one is not None]


def _clipped(chosen: ChosenBounds, question: Prepared, profile: Profile) -> ChosenBounds | ValueCut:
    """Chosen bounds; what is cut by narrower ones, if such were chosen for this question."""
    values, own = profile.values(chosen.column), (chosen.declared.low, chosen.declared.high)
    low, high = _ends(question).get(chosen.column, own)
    if values is None or (low, high) == own or not isinstance(low, Fraction) or not isinstance(high, Fraction):
        return chosen
    return value_cut(values, float(low), float(high)) or chosen


def _summed(question: Prepared) -> list[LoweredMeasure]:
    return [m for m in question.asked.measures if m.measure.aggregate in (Aggregate.SUM, Aggregate.AVG)]


def _ends(question: Prepared) -> dict[str, tuple[Fraction, Fraction]]:
    """The bounds of columns that are summed or averaged as they are, as this question has them."""
    return {x.origin[1]: (x.kind.low * x.kind.step, x.kind.high * x.kind.step)
            for m in _summed(question) for x in m.arguments
            if x.origin is not None and isinstance(x.kind, Number)}  # fmt: skip
