"""Caps for an error that was asked for: those for which noise and cut together keep it, at the least price.

Promise: a function of the question, released numbers and public metadata alone. What a cap cuts is a prediction, on
average over the ways in which units too rare for the profile may be spread; what is left of the error is for the noise,
whose error bars keep it for certain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from discreet.answer import how_many
from discreet.exact import significant
from discreet.query.estimate.estimators import Recipe
from discreet.query.estimate.prepare import Prepared
from discreet.query.estimate.statistics import Units
from discreet.query.lower.lower import LoweredMeasure
from discreet.query.plan.nodes import Aggregate
from discreet.query.profile.choose import Chosen, chosen_caps, typical_rows, with_caps
from discreet.query.profile.predict import MEANS, Known, caps_to_try, is_count, size_of_values

Errors = Mapping[str, Fraction]


def choose_for_error(asked: Prepared, known: Known, wanted: Errors, otherwise: Callable[[], Chosen]) -> Chosen:
    """The question with the cap for which its errors cost least; ``otherwise``: where nobody can tell what is cut."""
    sizes = _sizes_of_columns(asked, known)
    counted = {name: size for name, size in sizes.items() if name in wanted}
    best: tuple[float, int, dict[str, Fraction]] = (math.inf, 0, {})
    for cap in caps_to_try(known.sizes) if counted else ():
        share = known.sizes.on_average(known.sizes.shares_cut(cap))
        left = {name: error - Fraction(share * counted.get(name, 0.0)) for name, error in wanted.items()}
        if min(left.values()) > 0:
            best = min(best, (cap / min(float(one / wanted[name]) for name, one in left.items()), cap, left))
    _, cap, left = best
    if not cap:
        found = otherwise()
        return replace(found, noise=None, lines=(*found.lines, "the error asked for is kept by the noise alone"))
    caps, cut, rows = chosen_caps(asked, cap, None), known.sizes.cut(cap), typical_rows(asked, known)
    taken = ", ".join(
        f"of {name} {significant(float(wanted[name] - left[name]), 3)} of {significant(float(wanted[name]), 3)}"
        for name in counted
    )
    lines = [
        f"chosen from the profile{known.of}: at most {how_many(cap, 'rows')} of each unit, for which the errors asked "
        f"for cost least; in a group of about {how_many(rows or 1, 'rows')} the cap is predicted "
        f"to take {taken}, and noise the rest",
        str(cut),
    ]
    if unknown := [name for name in wanted if name not in counted]:
        lines.append(f"what is cut of {', '.join(unknown)} is not in the error asked for")
    error = max(float(wanted[name]) / max(size, 1e-300) for name, size in counted.items())
    return Chosen((with_caps(asked, caps),), caps, cut, rows, error, tuple(lines), own=not known.of, left=left)


def _sizes_of_columns(asked: Prepared, known: Known) -> dict[str, float]:
    """How large a column is in a typical group if nothing is cut, about (of a mean, the part that a cut moves); those
    of which that is known.
    """
    part, rows = asked.parts[0], typical_rows(asked, known)
    if rows is None or part.selects or len(asked.parts) != 1 or (part.keys and Units() in part.need.statistics):
        return {}
    found = {
        name: _size(measure, recipe, float(rows), known)
        for name, measure, recipe in zip(part.names, part.measures, part.recipes, strict=True)
    }
    return {name: size for name, size in found.items() if size is not None}


def _size(measure: LoweredMeasure, recipe: Recipe, rows: float, known: Known) -> float | None:
    if measure.measure.aggregate is Aggregate.COUNT and is_count(recipe):
        return rows
    share = {Aggregate.SUM: rows, Aggregate.AVG: MEANS}.get(measure.measure.aggregate)
    size = size_of_values(measure, known)
    return None if share is None or size is None else share * size
