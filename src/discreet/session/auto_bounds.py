"""Bounds declared as "auto": chosen from a profile before a question is planned, and told with its answer.

Promise: a choice is made from released numbers alone; where nothing was released, the question is refused, unpaid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from discreet.errors import BadQuestion, NoEstimate
from discreet.query.estimate.prepare import Prepared
from discreet.query.plan.schema import Schema, resolve
from discreet.query.profile.choose_bounds import ChosenBounds, choose_bounds
from discreet.query.profile.profile import Profile


def chosen_bounds(schema: Schema, profile: Profile | None) -> tuple[dict[str, ChosenBounds], list[str]]:
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
            missing.append(column)
    return found, missing


def with_bounds(
    schemas: Mapping[str, Schema], profiles: Mapping[str, Profile]
) -> tuple[Mapping[str, Schema], tuple[str, ...]]:
    """The schemas with bounds that were chosen, and the columns for which none could be."""
    made, missing = {}, []
    for name, schema in schemas.items():
        found, unknown = chosen_bounds(schema, profiles.get(name))
        missing += [f"{name}.{column}" for column in unknown]
        columns = {**schema.table.columns, **{column: one.declared for column, one in found.items()}}
        made[name] = resolve(name, replace(schema.table, columns=columns), schema.stored) if found else schema
    return made, tuple(missing)


def no_bounds(refused: BadQuestion, missing: tuple[str, ...]) -> BadQuestion:
    """The refusal, with what to do about bounds that could not be chosen."""
    if not missing or "bounds" not in str(refused):
        return refused
    return BadQuestion(
        f"{refused}; no bounds could be chosen yet for {', '.join(missing)}: buy a profile of the table with "
        "session.profile(table, epsilon=...), for more if one was bought and nothing stood out from its noise"
    )


def bounds_told(question: Prepared, schemas: Mapping[str, Schema], profiles: Mapping[str, Profile]) -> tuple[str, ...]:
    """The bounds that were chosen for columns of a question's tables, as text."""
    found: list[str] = []
    for name in question.asked.tables:
        if any(one.auto for one in schemas[name].table.columns.values()):
            found += map(str, chosen_bounds(schemas[name], profiles.get(name))[0].values())
    return tuple(found)
