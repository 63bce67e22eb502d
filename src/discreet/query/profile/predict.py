"""How far off an answer will be: noise and what caps cut, together, predicted from released numbers.

Promise: a function of the noise plan, public metadata and released numbers alone. A prediction, for choices and plans:
no error bar rests on it. All errors are relative and one deviation; in means, a share of what is cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from discreet.errors import NoEstimate
from discreet.query.estimate.estimators import Estimate, Mean, Plain, Quantile, Recipe
from discreet.query.estimate.moments import Moment
from discreet.query.estimate.noise_plan import Noised
from discreet.query.estimate.prepare import Part
from discreet.query.estimate.searched_quantile import SearchedQuantile
from discreet.query.estimate.statistics import Rows, Statistic, Units
from discreet.query.estimate.two_sided_sums import Count as SidesCount
from discreet.query.estimate.two_sided_sums import Mean as SidesMean
from discreet.query.lower.bounding import rows as rows_of_caps
from discreet.query.lower.lower import LoweredMeasure
from discreet.query.lower.relation_facts import one_row_each
from discreet.query.plan.types import Number
from discreet.query.plan.work import Form
from discreet.query.profile.choose_bounds import typical_size
from discreet.query.profile.classes import STARTS
from discreet.query.profile.histogram import Floats, Histogram
from discreet.query.profile.sizes import UnitSizes, same_rank
from discreet.query.run import Quote, as_estimate

ONE_DEVIATION = 0.32
CLUSTERING = 0.25
"""How much of the square of its rows a unit keeps at least, when its rows are spread over some groups."""
MEANS = 0.1
"""A mean or quantile is off by about this share of what is cut: heavy units have somewhat other values."""
VALUES = 3.0
"""Values mostly lie well below an upper bound that somebody can name: by so much below the middle, if nobody knows."""
MOST_CORRECTED = 4.0
"""Groups are multiplied by no more than this, on average: the more is cut, the less of a group is known."""
LEAST = 1e-9
"""An error that is 0, as that of a median in wide bins may be: it was asked for all the same."""
FARTHER = 16
"""Caps are tried up to so many times the largest size that stands out."""


@dataclass(frozen=True, slots=True)
class Known:
    """What was released about the rows of a question."""

    sizes: UnitSizes
    groups: UnitSizes | None = None
    shares: Floats | None = None
    """Of the rows that each group has, about."""
    of: str = ""
    """Which rows the sizes are about, in words."""
    values: Mapping[tuple[str, str], Histogram] = field(default_factory=dict)
    """The values of columns, by table and column, where they were released."""
    keys: Histogram | None = None
    """How units are spread over the groups, each weighing one: of the rows of the question itself, by its one key."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """The error of an answer with a cap."""

    cap: int
    error: float
    """Noise and cut together."""
    noise: float
    """Noise alone."""
    cut: float | None = None
    """The share of the rows (or groups) that is cut, about; None if nothing is known of it."""


def caps_to_try(sizes: UnitSizes) -> list[int]:
    """Public numbers, up to some times the largest size that stands out."""
    return [start for start in STARTS if start <= FARTHER * sizes.reach]


def share_of_a_group(part: Part, known: Known) -> float:
    """The share of all rows that a typical group has."""
    if not part.keys:
        return 1.0
    domain = part.domain()
    if known.shares is not None and len(known.shares):
        return max(float(np.median(known.shares)), 0.1 / len(known.shares))
    return 1 / len(domain) if domain else 0.001


def share_of_the_least(part: Part, known: Known) -> float:
    """The share of all rows that the smallest group has, about: of those that nobody has counted, an even one."""
    if not part.keys or known.shares is None or not len(known.shares):
        return share_of_a_group(part, known)
    return max(float(np.min(known.shares)), 0.1 / len(known.shares))


def relative_noise(
    asked: Quote,
    place: int,
    rows: float,
    known: Known | None = None,
    *,
    only: Callable[[Recipe], bool] | None = None,
) -> tuple[float, float]:
    """The relative noise of counts and sums, and of means and quantiles, in a group of so many rows (0: none asked).

    With what is known of the units, sums and means are beside values as they are, or well below the middle. ``only``:
    of these alone.
    """
    part = asked.questions[place].parts[0]
    noised = asked.noised(part)
    errors: dict[bool, list[float]] = {True: [], False: []}
    for measure, recipe in zip(part.measures, part.recipes, strict=True):
        if only is not None and not only(recipe):
            continue
        found = recipe.relative_error_if(partial(estimate, noised), max(rows, 1.0), ONE_DEVIATION)
        of_values = any(isinstance(s, Rows) and s.bound > 1 for s in recipe.needs) and not isinstance(
            recipe, SidesCount
        )
        below = _below_the_middle(measure, known) if of_values and known is not None else 1.0
        errors[is_mean(recipe)].append(max(below * found, LEAST))
    counted, means = (math.sqrt(sum(e * e for e in some) / len(some)) if some else 0.0 for some in
                      (errors[False], errors[True]))  # fmt: skip
    return counted, means


def _below_the_middle(measure: LoweredMeasure, known: Known) -> float:
    """How many times smaller than the middle of its bounds a typical value is."""
    kind = measure.arguments[0].kind if len(measure.arguments) == 1 else None
    size = size_of_values(measure, known)
    return VALUES if size is None or not isinstance(kind, Number) else _middle(kind) / size


def size_of_values(measure: LoweredMeasure, known: Known) -> float | None:
    """How far from 0 a typical value of a measure's one column is, if its values were released."""
    origin = measure.arguments[0].origin if len(measure.arguments) == 1 else None
    values = None if origin is None else known.values.get(origin)
    try:
        return None if values is None else typical_size(values)
    except NoEstimate:
        return None


def size_of_sum(measure: LoweredMeasure, known: Known, rows: float) -> float | None:
    """How large a sum of so many rows is, about: of values as they are, or well below the middle of their bounds."""
    kind = measure.arguments[0].kind if len(measure.arguments) == 1 else None
    size = size_of_values(measure, known)
    if size is not None:
        return rows * size
    return rows * _middle(kind) / VALUES if isinstance(kind, Number) else None


def _middle(kind: Number) -> float:
    """Of the bounds of a column; of those around 0, half of the way to one end."""
    return float(max(abs(kind.low + kind.high) / 2, (kind.high - kind.low) / 4) * kind.step)


def estimate(noised: Mapping[Statistic, Noised], statistic: Statistic, values: Floats) -> Estimate:
    """Values with the noise that is planned for a statistic."""
    return as_estimate(values, noised[statistic])


def noise_of_total(asked: Quote, place: int, known: Known) -> float:
    """The relative noise of a total that groups are made to agree with: of its counts, where it has some, since sums
    are then counts times means.
    """
    counts = any(map(is_count, asked.questions[place].parts[0].recipes))
    return max(relative_noise(asked, place, known.sizes.rows(), known, only=is_count if counts else None))


def is_count(recipe: Recipe) -> bool:
    """Whether it is a number of rows."""
    return isinstance(recipe, SidesCount) or (isinstance(recipe, Plain) and recipe.is_count)


def is_mean(recipe: Recipe) -> bool:
    """Whether it does not grow with the number of rows."""
    inner = getattr(recipe, "inner", recipe)
    return isinstance(inner, Mean | SidesMean | Quantile | SearchedQuantile | Moment)


def grows_with_caps(recipe: Recipe) -> bool:
    """Whether its error is in proportion to the noise; that of a quantile has steps, one for each bin."""
    return not isinstance(getattr(recipe, "inner", recipe), Quantile | SearchedQuantile)


def plain(sizes: UnitSizes, noise: tuple[float, float], cap: int) -> Predicted:
    """Noise (of counts, of means) at this cap, and what the cap cuts."""
    cut = sizes.shares_cut(cap)
    counted, means = noise[0] + 0 * cut, noise[1] / np.maximum(1 - cut, 1e-9)
    errors = [np.hypot(counted, cut)] * bool(noise[0]) + [np.hypot(means, MEANS * cut)] * bool(noise[1])
    return _together(sizes, cap, cut, errors, [counted] * bool(noise[0]) + [means] * bool(noise[1]))


def corrected(known: Known, share: float, noise: tuple[float, float], top: float, cap: int) -> Predicted:
    """Noise times the factor, the spread of the units over the groups, and the error ``top`` of the total."""
    sizes = known.sizes
    cut = sizes.shares_cut(cap)
    factor = 1 / np.maximum(1 - cut, 1e-9)
    if sizes.expected(factor) > MOST_CORRECTED:
        return Predicted(cap, math.inf, math.inf)
    counted, means = (one * factor for one in noise)
    spread = sizes.spread_errors(cap, share, clustering(known))
    errors = [np.sqrt(counted**2 + spread**2 + top**2)] * bool(noise[0])
    errors += [np.hypot(means, MEANS * cut)] * bool(noise[1])
    return _together(sizes, cap, cut, errors, [counted] * bool(noise[0]) + [means] * bool(noise[1]))


def one_total(sizes: UnitSizes, noise: float, cap: int) -> Predicted:
    """A total with this noise."""
    cut = sizes.shares_cut(cap)
    return Predicted(cap, sizes.expected(np.hypot(noise, cut)), noise, sizes.middle(cut))


def kept_of_groups(sizes: UnitSizes, most: int, *, rooted: bool) -> float:
    """The share of all (unit, group) pairs that is left if a unit counts fully in ``most`` groups."""
    return sizes.sum_of(lambda size: np.minimum(size, np.sqrt(most * size) if rooted else most)) / sizes.rows()


def of_units(asked: Quote, place: int, known: Known, gain: float = 1.0) -> Predicted:
    """Numbers of units in groups: their noise beside the (unit, group) pairs that are left."""
    sizes = known.groups or known.sizes
    part = asked.questions[place].parts[0]
    most, units = part.caps.max_groups or rows_of_caps(part.caps), asked.noised(part)[Units()]
    cut = 1 - kept_of_groups(sizes, most, rooted=units.weights.form is Form.L2)
    noise = gain * units.error(ONE_DEVIATION) / max(share_of_a_group(part, known) * sizes.rows(), 1.0)
    return Predicted(most, math.hypot(noise, cut), noise, cut)


def predict(
    asked: Quote, place: int, known: Known | None, rows: float, *, corrected_by_next: bool = False, gain: float = 1.0
) -> Predicted:
    """The error of the question in this place of a quote, as it is planned there, in a group of so many rows.

    ``corrected_by_next``: the question after it is a total with which its groups are made to agree; ``gain``: by how
    much the noise of counts falls afterwards.
    """
    question = asked.questions[place]
    part = question.parts[0]
    cap, units_alone = rows_of_caps(part.caps), set(part.need.statistics) == {Units()}
    of_all = units_alone and not part.keys
    if of_all and known is not None:
        rows = known.sizes.units()
    counted, means = relative_noise(asked, place, rows, known)
    noise = gain * counted, means
    certain = one_row_each(question.asked.whole) or of_all
    if certain or known is None or known.sizes.empty or part.selects:
        return Predicted(cap, max(noise), max(noise), 0.0 if certain else None)
    if units_alone:
        return of_units(asked, place, known, gain)
    if not corrected_by_next:
        return plain(known.sizes, noise, cap)
    base = noise_of_total(asked, place + 1, known)
    top = one_total(known.sizes, base, rows_of_caps(asked.questions[place + 1].parts[0].caps))
    return corrected(known, share_of_a_group(part, known), noise, top.error, cap)


def clustering(known: Known) -> Callable[[Floats], Floats]:
    """How much of the square of its rows a unit keeps that is spread over groups: all of it, if it has one group."""
    if known.groups is None:
        return lambda n: np.full(n.shape, CLUSTERING)
    each = known.sizes.typical
    touched = np.minimum(same_rank(np.maximum(known.sizes.counts, 0.0), known.groups), each)
    return lambda n: np.clip(1 / np.interp(np.log(n), np.log(each), touched), CLUSTERING, 1.0)


def _together(sizes: UnitSizes, cap: int, cut: Floats, errors: Sequence[Floats], noises: Sequence[Floats]) -> Predicted:
    """One error for all columns of a question: the root of the mean square."""

    def one(some: Sequence[Floats], none: Floats) -> float:
        return sizes.expected(np.asarray(np.sqrt(sum(x * x for x in some) / len(some))) if some else none)

    return Predicted(cap, one(errors, cut), one(noises, 0 * cut), sizes.middle(cut))
