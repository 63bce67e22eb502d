"""Caps chosen for a question: those for which the predicted total error, noise and cut together, is least.

Promise: the choice is a function of the question, its price, public metadata and released numbers alone: it costs
nothing, and the same profile gives the same choice on every engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

import numpy as np

from discreet.answer import how_many
from discreet.query.estimate.estimators import Estimate, Mean, Plain, Quantile, Recipe
from discreet.query.estimate.moments import Moment
from discreet.query.estimate.noise_plan import Noised
from discreet.query.estimate.prepare import Part, Prepared, prepare
from discreet.query.estimate.searched_quantile import SearchedQuantile
from discreet.query.estimate.statistics import ONE, Rows, Statistic, Units
from discreet.query.estimate.two_sided_sums import Count as SidesCount
from discreet.query.estimate.two_sided_sums import Mean as SidesMean
from discreet.query.lower.lower import LoweredMeasure
from discreet.query.plan.expressions import Column
from discreet.query.plan.nodes import Outcome
from discreet.query.plan.schema import MAX_ROWS, Caps
from discreet.query.plan.work import Form
from discreet.query.profile.classes import STARTS
from discreet.query.profile.clip import clipped
from discreet.query.profile.histogram import Floats, Histogram
from discreet.query.profile.rescale import can_rescale
from discreet.query.profile.sizes import Cut, UnitSizes
from discreet.query.profile.spread import Spread, same_rank
from discreet.query.run import Quote, as_estimate

BASE = 2
"""The cap at which noise is looked at; it is in proportion to the cap."""
ONE_DEVIATION = 0.32
CLUSTERING = 0.25
"""How much of the square of its rows a unit keeps at least, when its rows are spread over some groups."""
MEANS = 0.1
"""A mean or quantile is off by about this share of what is cut: heavy units have somewhat other values."""
VALUES = 3.0
"""Values mostly lie well below an upper bound that somebody can name: by so much below the middle."""
TOTAL = 1 / 27
"""How much a total matters beside the groups: its share of the price is about a quarter."""
MOST_CORRECTED = 4.0
"""Groups are multiplied by no more than this: their intervals reach to its square."""
FARTHER = 16
"""Caps are tried up to so many times the largest size that stands out."""
NEARLY = 1.2
"""Of caps whose predicted error is nearly the least, the largest: noise is in the error bar, what is cut is not."""

Ask = Callable[[Sequence[Prepared]], Quote]


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


@dataclass(frozen=True, slots=True)
class Chosen:
    """A question with its caps, perhaps with a total to which its groups are made to agree."""

    questions: tuple[Prepared, ...]
    caps: Caps
    cut: Cut | None
    rows: int | None
    """In a typical group, about."""
    error: float
    """The predicted relative error there, noise and cut together."""
    words: tuple[str, ...]
    own: bool = False
    """Whether the cut is about the rows of the question itself, and not about those of its table."""
    spread: Spread | None = None
    """How counts of groups that nobody listed are made of numbers of units, where that is better."""

    shrinks: bool = False
    """Whether the means of groups may borrow from each other."""
    factor: tuple[float, float] = (1.0, 1.0)
    """By how much groups are predicted to be multiplied, so that they agree with a total, and the most of it."""

    @property
    def corrected(self) -> bool:
        """Whether groups are made to agree with a total."""
        return len(self.questions) > 1


def choose(asked: Prepared, known: Known, quote: Ask, *, correct: bool = True) -> Chosen:
    """The caps with the least predicted error; with ``correct``, also with a total where that is better."""
    part = asked.parts[0]
    correct = correct and asked.asked.caps.correct
    shrinks = correct and len(asked.parts) == 1 and bool(part.keys) and not part.selects
    found = _choose(asked, known, quote, correct=correct)
    if known.values and not known.sizes.empty:
        tighter, words = clipped(found.questions[0], known.values, partial(_noise_of, found, known, quote))
        if words:
            again = replace(tighter, asked=replace(tighter.asked, caps=asked.asked.caps))
            found = _choose(again, known, quote, correct=correct)
            found = replace(found, words=(*found.words, *words))
    return replace(found, shrinks=shrinks)


def _noise_of(found: Chosen, known: Known, quote: Ask, place: int) -> float:
    """One deviation of a measure in a typical group, for each row there (of a mean: as it is)."""
    asked = quote(found.questions)
    part = asked.questions[0].parts[0]
    recipe, rows = part.recipes[place], _share(part, known) * known.sizes.rows()
    error = recipe.error_if(partial(_estimate, asked.noised(part)), max(rows, 1.0), ONE_DEVIATION)
    return error if _is_mean(recipe) else error / max(rows, 1.0)


def _choose(asked: Prepared, known: Known, quote: Ask, *, correct: bool) -> Chosen:
    part = asked.parts[0]
    sizes = known.sizes
    if sizes.empty:
        caps = chosen_caps(asked, MAX_ROWS, None)
        words = f"no unit stands out from the noise of the profile, so {MAX_ROWS} rows of each unit count"
        return Chosen((with_caps(asked, caps),), caps, sizes.cut(MAX_ROWS), 1, math.inf, (words,))
    if part.selects and len(asked.parts) == 1 and all(map(_counts_rows, part.recipes)):
        return _by_units(asked, known, quote)
    if part.keys and set(part.need.statistics) == {Units()} and not part.selects:
        return _units_alone(asked, known, quote)
    share = _share(part, known)
    most = _groups(asked, known, quote)[1] if part.keys and (part.selects or Units() in part.need.statistics) else None
    rows = share * sizes.rows()
    noise = relative_noise(quote((_base(asked, most),)), 0, rows, VALUES)
    plain = _best(partial(_plain, sizes, noise), sizes)
    if not correct or not correctable(asked):
        return _told(asked, (), plain, most, known, rows)
    total = _total(asked)
    both = quote((_base(asked, most), with_caps(total, Caps(max_rows=BASE))))
    top = _top(both, sizes)
    noise = relative_noise(both, 0, rows, VALUES)
    corrected = _best(partial(_corrected, known, share, noise, top.error), sizes, nearly=1.0)
    if corrected.error >= plain.error:
        return _told(asked, (), plain, most, known, rows)
    found = _told(asked, (with_caps(total, Caps(max_rows=top.cap)),), corrected, most, known, rows)
    factor = sizes.expected(1 / np.maximum(1 - sizes.shares_cut(corrected.cap), 1e-9))
    return replace(found, factor=(factor, factor * (1 + 2 * top.noise)))


def chosen_caps(asked: Prepared, rows: int, groups: int | None) -> Caps:
    """Caps for a question; what was declared of groups stays."""
    said = asked.asked.caps
    most = groups if said.max_groups is None else said.max_groups
    return Caps(max_rows=rows, max_groups=most, max_rows_per_group=said.max_rows_per_group)


def with_caps(asked: Prepared, caps: Caps) -> Prepared:
    """The same question with other caps."""
    parts = tuple(replace(part, caps=caps).asking(part.measures) for part in asked.parts)
    return Prepared(replace(asked.asked, caps=caps), parts)


def typical_rows(asked: Prepared, known: Known) -> int | None:
    """How many rows a typical group has, about; None if nothing stands out."""
    if known.sizes.empty:
        return None
    return max(1, round(_share(asked.parts[0], known) * known.sizes.rows()))


# --- predicting -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Predicted:
    cap: int
    error: float
    noise: float


def _best(error: Callable[[int], _Predicted], sizes: UnitSizes, nearly: float = NEARLY) -> _Predicted:
    """The largest cap whose error is nearly the least."""
    caps = [start for start in STARTS if start <= FARTHER * sizes.reach]
    found = [error(cap) for cap in caps]
    least = min(one.error for one in found)
    return max((one for one in found if one.error <= nearly * least), key=lambda one: one.cap)


def _base(asked: Prepared, most: int | None) -> Prepared:
    return with_caps(asked, chosen_caps(asked, BASE, most))


def _share(part: Part, known: Known) -> float:
    """The share of all rows that a typical group has."""
    if not part.keys:
        return 1.0
    domain = part.domain()
    if known.shares is not None and len(known.shares):
        return max(float(np.median(known.shares)), 0.1 / len(known.shares))
    return 1 / len(domain) if domain else 0.001


def relative_noise(asked: Quote, place: int, rows: float, values: float = 1.0) -> tuple[float, float]:
    """The relative noise of counts and sums, and of means and quantiles, in a group of so many rows (0: none asked).

    ``values``: how many times smaller than the middle of its bounds a typical value is taken to be.
    """
    part = asked.questions[place].parts[0]
    noised = asked.noised(part)
    errors: dict[bool, list[float]] = {True: [], False: []}
    for recipe in part.recipes:
        found = recipe.relative_error_if(partial(_estimate, noised), max(rows, 1.0), ONE_DEVIATION)
        of_values = any(isinstance(s, Rows) and s.bound > 1 for s in recipe.needs) and not isinstance(
            recipe, SidesCount
        )
        errors[_is_mean(recipe)].append(found * values if of_values else found)
    counted, means = (math.sqrt(sum(e * e for e in some) / len(some)) if some else 0.0 for some in
                      (errors[False], errors[True]))  # fmt: skip
    return counted, means


def _estimate(noised: Mapping[Statistic, Noised], statistic: Statistic, values: Floats) -> Estimate:
    return as_estimate(values, noised[statistic])


def _is_mean(recipe: Recipe) -> bool:
    inner = getattr(recipe, "inner", recipe)
    return isinstance(inner, Mean | SidesMean | Quantile | SearchedQuantile | Moment)


def _plain(sizes: UnitSizes, noise: tuple[float, float], cap: int) -> _Predicted:
    """Noise in proportion to the cap, and what the cap cuts."""
    cut = sizes.shares_cut(cap)
    counted, means = noise[0] * cap / BASE + 0 * cut, noise[1] * cap / BASE / np.maximum(1 - cut, 1e-9)
    errors = [np.hypot(counted, cut)] * bool(noise[0]) + [np.hypot(means, MEANS * cut)] * bool(noise[1])
    alone = [counted] * bool(noise[0]) + [means] * bool(noise[1])
    return _Predicted(cap, sizes.expected(_together(errors, cut)), sizes.expected(_together(alone, 0 * cut)))


def _corrected(known: Known, share: float, noise: tuple[float, float], top: float, cap: int) -> _Predicted:
    """Noise times the factor, the spread of the units over the groups, and the error of the total."""
    sizes = known.sizes
    cut = sizes.shares_cut(cap)
    factor = 1 / np.maximum(1 - cut, 1e-9)
    if sizes.expected(factor) > MOST_CORRECTED:
        return _Predicted(cap, math.inf, math.inf)
    counted, means = (one * cap / BASE * factor for one in noise)
    spread = sizes.spread_errors(cap, share, _clustering(known))
    errors = [np.sqrt(counted**2 + spread**2 + top**2)] * bool(noise[0])
    errors += [np.hypot(means, MEANS * cut)] * bool(noise[1])
    alone = [counted] * bool(noise[0]) + [means] * bool(noise[1])
    return _Predicted(cap, sizes.expected(_together(errors, cut)), sizes.expected(_together(alone, 0 * cut)))


def _clustering(known: Known) -> Callable[[Floats], Floats]:
    """How much of the square of its rows a unit keeps that is spread over groups: all of it, if it has one group."""
    if known.groups is None:
        return lambda n: np.full(n.shape, CLUSTERING)
    each = known.sizes.typical
    touched = np.minimum(same_rank(np.maximum(known.sizes.counts, 0.0), known.groups), each)
    return lambda n: np.clip(1 / np.interp(np.log(n), np.log(each), touched), CLUSTERING, 1.0)


def _together(errors: Sequence[Floats], cut: Floats) -> Floats:
    """One error for all columns of a question: the root of the mean square."""
    return np.asarray(np.sqrt(sum(error * error for error in errors) / len(errors))) if errors else cut


def correctable(asked: Prepared) -> bool:
    """Whether groups may be made to agree with a total: they add up to one, and their keys are listed."""
    part = asked.parts[0]
    one = len(asked.parts) == 1 and bool(part.keys) and not part.selects
    return one and asked.asked.caps.correct and any(map(can_rescale, part.recipes))


def _total(asked: Prepared) -> Prepared:
    """The counts and sums of all groups together."""
    part = asked.parts[0]
    measures = tuple(m for m, r in zip(part.measures, part.recipes, strict=True) if can_rescale(r))
    question = replace(asked.asked, sets=((),), measures=measures, outcome=_outcome(measures))
    found = prepare(question)
    (only,) = found.parts
    return replace(found, parts=(replace(only, importance=TOTAL),))


def _outcome(measures: tuple[LoweredMeasure, ...]) -> Outcome:
    return Outcome(tuple((m.measure.name, Column(m.measure.name)) for m in measures))


def _top(both: Quote, sizes: UnitSizes) -> _Predicted:
    """The cap of the total."""
    base = max(relative_noise(both, 1, sizes.rows(), VALUES))

    def error(cap: int) -> _Predicted:
        noise = base * cap / BASE
        return _Predicted(cap, sizes.expected(np.hypot(noise, sizes.shares_cut(cap))), noise)

    return _best(error, sizes)


def _counts_rows(recipe: Recipe) -> bool:
    return (
        isinstance(recipe, Plain) and recipe.is_count and recipe.statistic == Rows(ONE, 1, Fraction(1), one_sign=True)
    )


def _by_units(asked: Prepared, known: Known, quote: Ask) -> Chosen:
    """Keys that nobody listed, with their counts: all of the price goes into numbers of units, which name the keys."""
    once = replace(asked, asked=replace(asked.asked, caps=replace(asked.asked.caps, max_rows_per_group=1)))
    most = asked.asked.caps.max_groups or _groups(once, known, quote)[1]
    caps = Caps(max_groups=most, max_rows_per_group=1)
    asking = with_caps(asked, caps)
    found = quote((asking,))
    units = found.noised(found.questions[0].parts[0])[Units()]
    selection = found.selection(found.questions[0].parts[0])
    assert selection is not None  # noqa: S101 - keys are selected
    spread = Spread.of(known.sizes, known.groups, most, rooted=units.weights.form is Form.L2)
    least = float(spread.rows_of(np.array([selection.threshold / units.scale]))[0])
    error = units.error(ONE_DEVIATION) / (selection.threshold / units.scale)
    cut = None if known.groups is None else known.groups.cut(most, what="groups")
    words = [
        f"chosen from the profile{known.of}: a unit counts once in a group, and fully in at most "
        f"{how_many(most, 'groups')}: all of the price goes into naming keys; one is named from about {least:,.0f} "
        "rows on",
        *([] if cut is None else [str(cut)]),
        "counts are corrected: they follow from numbers of units and released sizes of units, if the rows of a unit "
        "lie in groups as everybody's do; error bars reach from no correction to its square",
    ]
    return Chosen((asking,), caps, cut, max(1, round(least)), error, tuple(words), spread=spread)


def _units_alone(asked: Prepared, known: Known, quote: Ask) -> Chosen:
    """Numbers of units in listed groups: only how many groups of a unit count fully matters."""
    error, most = _groups(asked, known, quote)
    caps = chosen_caps(asked, most, most)
    cut = None if known.groups is None else known.groups.cut(caps.max_groups or most, what="groups")
    words = (
        f"chosen from the profile{known.of}: a unit counts fully in at most "
        f"{how_many(caps.max_groups or most, 'groups')}; predicted error in a typical group: {error:.1%}",
        *([] if cut is None else [str(cut)]),
    )
    return Chosen((with_caps(asked, caps),), caps, cut, typical_rows(asked, known), error, words)


def _groups(asked: Prepared, known: Known, quote: Ask) -> tuple[float, int]:
    """In how many groups a unit counts fully: least noise of a number of units beside the share that is kept; and the
    error that this is predicted to have (of keys that nobody listed, the threshold).
    """
    sizes = known.groups or known.sizes
    tried = []
    each = asked.asked.caps.max_rows_per_group
    for most in (start for start in STARTS if start <= FARTHER * sizes.reach):
        caps = Caps(max_rows=max(most, BASE) if each is None else None, max_groups=most, max_rows_per_group=each)
        found = quote((with_caps(asked, caps),))
        part = found.questions[0].parts[0]
        units = found.noised(part)[Units()]
        rooted = units.weights.form is Form.L2
        share = sizes.sum_of(partial(_weighed, most, rooted)) / sizes.rows()
        selection = found.selection(part)
        if selection is not None:
            error = selection.threshold / units.scale / max(share, 1e-9)
        else:
            many = _share(part, known) * sizes.rows()
            error = math.hypot(units.error(ONE_DEVIATION) / max(many, 1.0), 1 - share)
        tried.append((error, most))
    return min(tried)


def _weighed(most: int, rooted: bool, size: Floats) -> Floats:
    """What units with so many groups weigh in all of them together."""
    return np.minimum(size, np.sqrt(most * size) if rooted else most)


# --- words ------------------------------------------------------------------------------------------------------------


def _told(  # noqa: PLR0917
    asked: Prepared, total: tuple[Prepared, ...], best: _Predicted, most: int | None, known: Known, rows: float
) -> Chosen:
    caps = chosen_caps(asked, best.cap, most)
    most = caps.max_groups
    cut = known.sizes.cut(best.cap)
    lines = [
        f"chosen from the profile{known.of}: at most {how_many(best.cap, 'rows')} of each unit"
        + (f", {how_many(most, 'groups')}" if most is not None else "")
        + f"; predicted error in a group of about {rows:,.0f} rows: {best.error:.1%}, noise alone: {best.noise:.1%}",
        str(cut),
    ]
    if most is not None and known.groups is not None:
        lines.append(str(known.groups.cut(most, what="groups")))
    if total:
        lines.append(
            f"groups are made to agree with a total that is released once with at most "
            f"{total[0].asked.caps.max_rows:,} rows of each unit"
        )
    own, many = not known.of, max(1, round(rows))
    return Chosen((with_caps(asked, caps), *total), caps, cut, many, best.error, tuple(lines), own)
