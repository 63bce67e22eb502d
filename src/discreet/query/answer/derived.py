"""What follows from released numbers: other columns, orders and limits of the same groups, and sums of groups.

Guarantee: post-processing of released numbers and public metadata; it costs nothing, and its intervals are true.
Numbers are used as they are where a query needs the same statistics of the same groups of the same rows. Totals are
sums of groups only where the groups surely hold all rows: their keys are listed, and no value can be missing from the
lists; and where at most ``max_rows`` rows of a unit count in all groups together, so that no more do in their sum.
Intervals are for the sum of the groups as that answer bounded them. The noises of groups are independent, so the law of
their sum is known (``error_bounds.py``). All else has no derived answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.messages import message
from discreet.query.answer.answer import TableAnswer
from discreet.query.estimate.error_bounds import Share, sum_error
from discreet.query.estimate.estimators import Estimate, Plain, Recipe
from discreet.query.estimate.noise_plan import Noised
from discreet.query.estimate.prepare import Part, Prepared
from discreet.query.estimate.statistics import Rows, Statistic, Units, count
from discreet.query.lower.bounding import rows
from discreet.query.lower.left_out import rows_left_out
from discreet.query.lower.lower import LoweredMeasure
from discreet.query.plan.fingerprint import fingerprint
from discreet.query.plan.nodes import Outcome
from discreet.query.plan.schema import Caps
from discreet.query.plan.work import Form
from discreet.query.run import Quote, Released, as_estimate, in_order

ReleasedNumbers = list[dict[str, list[float]]]
"""For each grouping set of an answer, the released numbers of its groups, by the hash of the statistic."""


def kept_numbers(answer: TableAnswer) -> ReleasedNumbers | None:
    """The noisy numbers that an answer was made of, to be stored with it; None if nothing could be derived from them.

    Groups that were selected or chosen are left out: what is not shown is part of their totals.
    """
    numbers: ReleasedNumbers = []
    for released in answer.released:
        part = released.part
        if part.selects or part.named is not None or part.chosen or answer.beside:
            return None
        simple = {s: e for s, e in released.estimates.items() if type(e) is Estimate and e.own_noise is not None}
        numbers.append({_name(s): e.values.tolist() for s, e in simple.items()})
    return numbers


def derived(  # noqa: PLR0917
    prepared: Prepared, outcome: Outcome, quote: Quote, source: Prepared, numbers: ReleasedNumbers, number: int
) -> TableAnswer | None:
    """The answer to a query from the numbers of another one, which ``quote`` prices and ``source`` prepares; or None.

    ``number`` is that of the other one's charge.
    """
    if prepared.beside or source.beside or quote.choosing is not None or len(numbers) != len(source.parts):
        return None
    released = []
    for part in prepared.parts:
        tries = (_from(part, other, quote, kept) for other, kept in zip(source.parts, numbers, strict=True))
        made = next((some for some in tries if some is not None), None)
        if made is None:
            return None
        released.append(made)
    story = (f"derived from the released numbers of answer {number}, by post-processing alone: nothing was spent",)
    note = message("derived", number=number)
    event, cost = quote.plan.event, f"nothing now; answer {number} cost {quote.price}"
    return TableAnswer(outcome, tuple(released), event, cost, story, own_notes=(note,))


def _name(statistic: Statistic) -> str:
    return fingerprint(statistic)[:16]


def _from(part: Part, other: Part, quote: Quote, kept: Mapping[str, list[float]]) -> Released | None:
    """The groups of a grouping set from those of another one: the same, or finer ones."""
    if part.selects or part.named is not None or part.chosen or part.exists is not None or other.exists is not None:
        return None
    planned, noised = quote.planned(other), quote.noised(other)
    recipes = _recipes(part, planned)
    needs = {statistic for recipe in recipes.values() for statistic in recipe.needs}
    sources = {s: _source(s, noised, part) for s in needs}
    if any(source not in noised or _name(source) not in kept for source in sources.values()):
        return None
    values = {s: np.array(kept[_name(source)], dtype=np.float64) for s, source in sources.items()}
    if part.same_groups(other):
        estimates = {s: as_estimate(values[s], noised[sources[s]]) for s in needs}
        every = in_order(Released(part, part.domain() or (), {}))
        return replace(every, part=part.made_by(recipes), estimates=estimates)
    fine = in_order(Released(other, other.domain() or (), {})).keys
    bounded_by_rows = all(noised[source].weights.form in {Form.ROWS, Form.L1} for source in sources.values())
    if not _are_totals(part, other, recipes.values()) or not bounded_by_rows:
        return None
    names = [key.name for key in other.keys]
    axes = [names.index(key.name) for key in part.keys]
    domain = in_order(Released(part, tuple(product(*(key.typed.keys or () for key in part.keys))), {})).keys
    place = {key: i for i, key in enumerate(domain)}
    to = np.array([place[tuple(key[axis] for axis in axes)] for key in fine])
    many = len(fine) // max(1, len(domain))
    sums = {s: _summed(values[s], to, len(domain), noised[sources[s]], many) for s in needs}
    return Released(part.made_by(recipes), domain, sums)


def _summed(values: Floats, to: Any, groups: int, noised: Noised, many: int) -> Estimate:
    """Sums over groups whose noises are independent, each of them of equally many."""
    law = (Share(noised, 1.0, many),)
    return Estimate(np.bincount(to, values, groups).astype(np.float64), partial(sum_error, law), None, law)


def _recipes(part: Part, planned: Part) -> dict[LoweredMeasure, Recipe]:
    """How each measure was made there, whatever it is called; its own way, if it was not asked for."""
    made = {_unnamed(m): recipe for m, recipe in zip(planned.measures, planned.recipes, strict=True)}
    own = zip(part.measures, part.recipes, strict=True)
    return {measure: made.get(_unnamed(measure), recipe) for measure, recipe in own}


def _unnamed(measure: LoweredMeasure) -> LoweredMeasure:
    return replace(measure, measure=replace(measure.measure, name=""))


def _are_totals(part: Part, other: Part, recipes: Iterable[Recipe]) -> bool:
    """Whether the groups of one part are, surely and whatever the data, the sums of those of the other."""
    coarse, fine = list(part.keys), list(other.keys)
    summed = [key for key in fine if key not in coarse]
    same_rows = part.whole == other.whole and part.caps == other.caps == Caps(max_rows=part.caps.max_rows)
    listed = all(key.typed.keys is not None for key in fine)
    whole = listed and rows_left_out(summed, other.whole) is None
    plain = all(isinstance(r, Plain) and _is_linear(r.statistic, part) for r in recipes)
    return all(key in fine for key in coarse) and same_rows and whole and plain


def _is_linear(statistic: Statistic, part: Part) -> bool:
    """Whether the sum of all groups is a sum over their rows, each with the same weight; or over units, each of which
    weighs one row in all groups together.
    """
    if isinstance(statistic, Units):
        return rows(part.caps) == 1
    return isinstance(statistic, Rows) and statistic.clip is None and statistic.most is None


def _source(statistic: Statistic, noised: Mapping[Statistic, Noised], part: Part) -> Statistic:
    """What was released that is this: with one row of each unit, rows and units are the same number."""
    every = count(None, None)
    same: dict[Statistic, Statistic] = {every: Units(), Units(): every} if rows(part.caps) == 1 else {}
    return statistic if statistic in noised else same.get(statistic, statistic)
