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
from discreet.query.estimate.estimators import Plain, Recipe
from discreet.query.estimate.prepare import Prepared, prepare
from discreet.query.estimate.statistics import ONE, Rows, Units
from discreet.query.lower.bounding import rows as rows_of_caps
from discreet.query.lower.lower import LoweredMeasure, LoweredQuestion
from discreet.query.plan.expressions import Column
from discreet.query.plan.nodes import Outcome
from discreet.query.plan.schema import MAX_ROWS, Caps
from discreet.query.plan.work import Form
from discreet.query.profile.clip import clipped
from discreet.query.profile.predict import (
    ONE_DEVIATION,
    Known,
    Predicted,
    caps_to_try,
    corrected,
    estimate,
    grows_with_caps,
    is_mean,
    kept_of_groups,
    noise_of_total,
    of_units,
    one_total,
    plain,
    relative_noise,
    share_of_a_group,
)
from discreet.query.profile.rescale import can_rescale
from discreet.query.profile.sizes import Cut, UnitSizes
from discreet.query.profile.spread import Spread
from discreet.query.run import Quote

BASE = 2
"""The cap at which noise is looked at; it is in proportion to the cap."""
TOTALS = (1 / 27, 1 / 343)
"""How much a total may matter beside the groups: about a fifth of the price, or a tenth; the better one is chosen."""
WIDE = 1 / 27
"""How much the same groups with a larger cap matter: about a fifth of the price."""
NEARLY = 1.2
"""Of caps whose predicted error is nearly the least, the largest: noise is in the error bar, what is cut is not."""

Ask = Callable[[Sequence[Prepared]], Quote]


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
    lines: tuple[str, ...]
    """What was chosen and why."""
    noise: float | None = None
    """The predicted relative error of the noise alone, where both were predicted."""
    own: bool = False
    """Whether the cut is about the rows of the question itself, and not about those of its table."""
    spread: Spread | None = None
    """How counts of groups that nobody listed are made of numbers of units, where that is better."""

    shrinks: bool = False
    """Whether the means of groups may borrow from each other."""
    factor: float = 1.0
    """By how much groups are predicted to be multiplied, so that they agree with a total."""

    known: Known | None = field(default=None, compare=False)
    """What groups are corrected by, beside a total."""
    left: Mapping[str, Fraction] | None = None
    """Of errors that were asked for: what is left of them for the noise of each column."""

    @property
    def corrected(self) -> bool:
        """Whether groups are made to agree with a total."""
        return len(self.questions) > 1

    @property
    def words(self) -> tuple[str, ...]:
        """What was chosen and why, with the error that is predicted for it."""
        if self.noise is None:
            return self.lines
        rows = f"a group of about {how_many(self.rows or 1, 'rows')}"
        errors = f"predicted error in {rows}: {self.error:.1%}, noise alone: {self.noise:.1%}"
        return (f"{self.lines[0]}; {errors}", *self.lines[1:])


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
            found = replace(found, lines=(*found.lines, *words))
    return replace(found, shrinks=shrinks)


def _noise_of(found: Chosen, known: Known, quote: Ask, place: int) -> float:
    """One deviation of a measure in a typical group, for each row there (of a mean: as it is)."""
    asked = quote(found.questions)
    part = asked.questions[0].parts[0]
    recipe, rows = part.recipes[place], share_of_a_group(part, known) * known.sizes.rows()
    error = recipe.error_if(partial(estimate, asked.noised(part)), max(rows, 1.0), ONE_DEVIATION)
    return error if is_mean(recipe) else error / max(rows, 1.0)


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
    share = share_of_a_group(part, known)
    most = _groups(asked, known, quote) if part.keys and (part.selects or Units() in part.need.statistics) else None
    rows = share * sizes.rows()
    noise = _noise_by_cap(asked, most, quote, rows, known)
    alone = _best(lambda cap: plain(sizes, noise(cap), cap), sizes)
    if not correct or not correctable(asked):
        return _told(asked, (), alone, most, known, rows)
    found = min((_corrected(asked, one, most, known, quote) for one in TOTALS), key=lambda one: one.error)
    return found if found.error < alone.error else _told(asked, (), alone, most, known, rows)


def _corrected(asked: Prepared, importance: float, most: int | None, known: Known, quote: Ask) -> Chosen:
    """Groups that are made to agree with a total which matters so much, bounded by the same groups at a larger cap."""
    share, sizes = share_of_a_group(asked.parts[0], known), known.sizes
    rows, total, wide = share * sizes.rows(), _total(asked, importance), _wide(asked)
    other = 2 * BASE  # groups with the same cap would be released once
    every = quote((_base(asked, most), with_caps(total, Caps(max_rows=BASE)), with_caps(wide, Caps(max_rows=other))))
    top, noise = _top(every, known), _in_proportion(relative_noise(every, 0, rows, known))
    best = _best(lambda cap: corrected(known, share, noise(cap), top.error, cap), sizes, nearly=1.0)
    large = _wide_cap(sizes, max(relative_noise(every, 2, rows, known)) * rows / other, rows, best.cap)
    further = with_caps(total, Caps(max_rows=top.cap)), with_caps(wide, Caps(max_rows=large))
    found = _told(asked, further, best, most, known, rows)
    return replace(found, factor=_factor(sizes, found.caps), known=known)


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
    return max(1, round(share_of_a_group(asked.parts[0], known) * known.sizes.rows()))


# --- trying caps ------------------------------------------------------------------------------------------------------


def _best(error: Callable[[int], Predicted], sizes: UnitSizes, nearly: float = NEARLY) -> Predicted:
    """The largest cap whose error is nearly the least."""
    found = [error(cap) for cap in caps_to_try(sizes)]
    least = min(one.error for one in found)
    return max((one for one in found if one.error <= nearly * least), key=lambda one: one.cap)


def _noise_by_cap(
    asked: Prepared, most: int | None, quote: Ask, rows: float, known: Known
) -> Callable[[int], tuple[float, float]]:
    """The noise of counts and of means at a cap."""
    if all(map(grows_with_caps, asked.parts[0].recipes)):
        return _in_proportion(relative_noise(quote((_base(asked, most),)), 0, rows, known))
    return lambda cap: relative_noise(quote((with_caps(asked, chosen_caps(asked, cap, most)),)), 0, rows, known)


def _in_proportion(base: tuple[float, float]) -> Callable[[int], tuple[float, float]]:
    """At a cap, what is known at the cap ``BASE``."""
    return lambda cap: (base[0] * cap / BASE, base[1] * cap / BASE)


def _base(asked: Prepared, most: int | None) -> Prepared:
    return with_caps(asked, chosen_caps(asked, BASE, most))


def correctable(asked: Prepared) -> bool:
    """Whether groups may be made to agree with a total: they add up to one, and their keys are listed."""
    part = asked.parts[0]
    one = len(asked.parts) == 1 and bool(part.keys) and not part.selects
    return one and asked.asked.caps.correct and any(map(can_rescale, part.recipes))


def _total(asked: Prepared, importance: float) -> Prepared:
    """The counts and sums of all groups together."""
    return _correcting(replace(asked.asked, sets=((),)), asked, importance)


def _wide(asked: Prepared) -> Prepared:
    """The counts and sums of each group once more."""
    return _correcting(asked.asked, asked, WIDE)


def _correcting(question: LoweredQuestion, asked: Prepared, importance: float) -> Prepared:
    part = asked.parts[0]
    measures = tuple(m for m, r in zip(part.measures, part.recipes, strict=True) if can_rescale(r))
    found = prepare(replace(question, measures=measures, outcome=_outcome(measures)))
    (only,) = found.parts
    return replace(found, parts=(replace(only, importance=importance),))


def _outcome(measures: tuple[LoweredMeasure, ...]) -> Outcome:
    return Outcome(tuple((m.measure.name, Column(m.measure.name)) for m in measures))


def _top(both: Quote, known: Known) -> Predicted:
    """The cap of the total."""
    sizes = known.sizes
    base = noise_of_total(both, 1, known)
    return _best(lambda cap: one_total(sizes, base * cap / BASE, cap), sizes)


def _wide_cap(sizes: UnitSizes, noise_of_one: float, rows: float, least: int) -> int:
    """The cap of the groups that bound what is cut: for the shortest intervals, and no less than that of the groups.

    ``noise_of_one``: their noise in rows at a cap of 1, one deviation.
    """

    def length(cap: int) -> float:
        noise = 2 * noise_of_one * cap
        return noise + min(sizes.rows_beyond(cap, ONE_DEVIATION), (max(sizes.reach / cap, 1.0) - 1) * (rows + noise))

    return min({least, max(least, sizes.reach), *(cap for cap in caps_to_try(sizes) if cap > least)}, key=length)


def _counts_rows(recipe: Recipe) -> bool:
    return (
        isinstance(recipe, Plain) and recipe.is_count and recipe.statistic == Rows(ONE, 1, Fraction(1), one_sign=True)
    )


def _by_units(asked: Prepared, known: Known, quote: Ask) -> Chosen:
    """Keys that nobody listed, with their counts: all of the price goes into numbers of units, which name the keys."""
    once = replace(asked, asked=replace(asked.asked, caps=replace(asked.asked.caps, max_rows_per_group=1)))
    most = asked.asked.caps.max_groups or _groups(once, known, quote)
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
    most = _groups(asked, known, quote)
    caps = chosen_caps(asked, most, most)
    asking = with_caps(asked, caps)
    best = of_units(quote((asking,)), 0, known)
    most = caps.max_groups or most
    cut = None if known.groups is None else known.groups.cut(most, what="groups")
    lines = (
        f"chosen from the profile{known.of}: a unit counts fully in at most {how_many(most, 'groups')}",
        *([] if cut is None else [str(cut)]),
    )
    return Chosen((asking,), caps, cut, typical_rows(asked, known), best.error, lines, best.noise)


def _groups(asked: Prepared, known: Known, quote: Ask) -> int:
    """In how many groups a unit counts fully: least error of a number of units; of keys that nobody listed, the least
    threshold beside the share that is kept.
    """
    sizes = known.groups or known.sizes
    tried = []
    each = asked.asked.caps.max_rows_per_group
    for most in caps_to_try(sizes):
        caps = Caps(max_rows=max(most, BASE) if each is None else None, max_groups=most, max_rows_per_group=each)
        found = quote((with_caps(asked, caps),))
        part = found.questions[0].parts[0]
        selection = found.selection(part)
        if selection is None:
            tried.append((of_units(found, 0, known).error, most))
            continue
        units = found.noised(part)[Units()]
        kept = kept_of_groups(sizes, most, rooted=units.weights.form is Form.L2)
        tried.append((selection.threshold / units.scale / max(kept, 1e-9), most))
    return min(tried)[1]


# --- words ------------------------------------------------------------------------------------------------------------


def _told(  # noqa: PLR0917
    asked: Prepared, total: tuple[Prepared, ...], best: Predicted, most: int | None, known: Known, rows: float
) -> Chosen:
    caps = chosen_caps(asked, best.cap, most)
    cut = known.sizes.cut(best.cap)
    own, many, lines = not known.of, max(1, round(rows)), _lines(known, caps, cut, total)
    return Chosen((with_caps(asked, caps), *total), caps, cut, many, best.error, lines, best.noise, own)


def _lines(known: Known, caps: Caps, cut: Cut, total: Sequence[Prepared]) -> tuple[str, ...]:
    most = caps.max_groups
    lines = [
        f"chosen from the profile{known.of}: at most {how_many(rows_of_caps(caps), 'rows')} of each unit"
        + (f", {how_many(most, 'groups')}" if most is not None else ""),
        str(cut),
    ]
    if most is not None and known.groups is not None:
        lines.append(str(known.groups.cut(most, what="groups")))
    if total:
        lines.append(
            f"groups are made to agree with a total that is released once with at most "
            f"{total[0].asked.caps.max_rows:,} rows of each unit; the groups are released again with at most "
            f"{total[1].asked.caps.max_rows:,}, for their error bars"
        )
    return tuple(lines)


def with_other_caps(found: Chosen, known: Known, caps: Sequence[Caps]) -> Chosen:
    """The same choice with other caps of the question and of its total; those of numbers of units stay as they are."""
    if found.cut is None or found.cut.what != "rows" or found.noise is None:
        return found
    first, *total = (with_caps(question, one) for question, one in zip(found.questions, caps, strict=True))
    cut, old = known.sizes.cut(rows_of_caps(caps[0])), _lines(known, found.caps, found.cut, found.questions[1:])
    lines = (*_lines(known, caps[0], cut, total), *found.lines[len(old) :])
    factor = _factor(known.sizes, caps[0]) if total else 1.0
    return replace(found, questions=(first, *total), caps=caps[0], cut=cut, lines=lines, factor=factor)


def _factor(sizes: UnitSizes, caps: Caps) -> float:
    """By how much groups are predicted to be multiplied, so that they agree with a total that is hardly cut."""
    return sizes.expected(1 / np.maximum(1 - sizes.shares_cut(rows_of_caps(caps)), 1e-9))
