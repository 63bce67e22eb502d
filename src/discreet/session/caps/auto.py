"""Caps chosen for the user: what is known of a question's units, what finding out costs, and what becomes of it.

Promise: a choice is made from released numbers alone. Where nothing is known, a tenth of the price of a question buys
the sizes of its units first, if the whole price fits the budget; the rest pays for the answer.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answer import confidence_level, how_many
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, number
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.preview import Preview
from discreet.query.estimate.estimators import Plain, Recipe
from discreet.query.estimate.noise_plan import Allowance
from discreet.query.estimate.prepare import Prepared
from discreet.query.estimate.statistics import Rows, Units
from discreet.query.lower.bounding import rows
from discreet.query.lower.lower import LoweredKey
from discreet.query.lower.relation_facts import one_row_each
from discreet.query.plan.expressions import Column
from discreet.query.plan.nodes import Project, Scan
from discreet.query.plan.schema import MAX_ROWS
from discreet.query.profile.agreeing_tables import AGREED
from discreet.query.profile.choose import Chosen, chosen_caps, correctable, with_caps
from discreet.query.profile.histogram import Histogram
from discreet.query.profile.predict import Known, is_count, size_of_sum
from discreet.query.profile.profile import Profile
from discreet.query.profile.questions import About, Asked, groups_per_unit, keys_of, rows_per_unit
from discreet.query.profile.rescale import (
    OTHERS,
    Rescaled,
    bounded_cut,
    can_rescale,
    expected_error,
    largest_value,
    rescaled,
)
from discreet.query.profile.shrink import shrunk
from discreet.query.profile.sizes import Cut, UnitSizes
from discreet.query.profile.spread import InRows, Spread
from discreet.query.run import Released
from discreet.session.price import Price

MOST_GROUPS = 1_000_000
MISS = 0.05
SHARE = Fraction(1, 10)
"""Of the price of a question: what the sizes of its units cost, where nobody bought them before."""


def known_of(question: Prepared, profiles: Mapping[str, Profile], bought: Mapping[Any, Known]) -> Known | None:
    """What was released about the units of a question: of its own rows, or of its one table."""
    own = bought.get(about(question))
    tables = question.asked.tables
    profile = profiles.get(tables[0]) if len(tables) == 1 else None
    values = {} if profile is None else {(tables[0], one.column): one for one in profile.all_values}
    if own is not None and not (profile is not None and all_rows(question) and _sees_more(profile, own)):
        return replace(own, values=values)
    if profile is None:
        return None
    keys = question.parts[0].keys
    lone = keys[0].typed.lowered if len(keys) == 1 else None
    column = lone.name if isinstance(lone, Column) else None
    groups = None if column is None else profile.groups(column)
    same = profile.keys(column) if column is not None and all_rows(question) else None
    found = Known(profile.sizes, groups, _shares(keys, profile), f" of {tables[0]}", values, same)
    if own is None:
        return found
    return replace(
        found,
        groups=own.groups if groups is None else groups,
        shares=own.shares if found.shares is None else found.shares,
        keys=own.keys if same is None else same,
    )


def _sees_more(profile: Profile, own: Known) -> bool:
    """Whether a profile of all rows has less noise than what was bought for one question about them."""
    return profile.sizes.histogram.variance < own.sizes.histogram.variance


def _shares(keys: Sequence[LoweredKey], profile: Profile) -> NDArray[np.float64] | None:
    """Of the units that each group of these keys has, as if keys had nothing to do with each other."""
    columns = [key.typed.lowered.name if isinstance(key.typed.lowered, Column) else "" for key in keys]
    found = [profile.keys(column) for column in columns]
    known = [one.shares() for one in found if one is not None]
    if not keys or len(known) < len(keys) or math.prod(map(len, known)) > MOST_GROUPS:
        return None
    return reduce(lambda a, b: np.outer(a, b).ravel(), known)


def about(question: Prepared) -> tuple[Any, ...]:
    """What sizes are kept under: the rows and the groups."""
    return question.asked.whole, question.asked.keys, question.asked.sets


def sizes_asked(question: Prepared, *, tied: bool = True) -> tuple[Asked, ...]:
    """The histograms that a choice for this question needs; ``tied``: how tied units are to groups, where groups may
    be corrected by a total.
    """
    asked, part = question.asked, question.parts[0]
    found = [rows_per_unit(part.whole, asked.unit_kind, asked.tables, importance=8.0)]
    if part.keys and (part.selects or Units() in part.need.statistics):
        found.append(groups_per_unit(part.whole, part.keys, asked.unit_kind, asked.tables, importance=8.0))
    elif tied and correctable(question):
        found.append(groups_per_unit(part.whole, part.keys, asked.unit_kind, asked.tables, importance=0.125))
    if len(part.keys) == 1 and part.keys[0].typed.keys is not None:
        found.append(keys_of(part.keys[0], part.whole, asked.unit_kind, asked.tables))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Buying:
    """The histograms that choices for some questions need, all bought together."""

    about: tuple[Hashable, ...]
    each: tuple[tuple[Asked, ...], ...]

    @property
    def asked(self) -> tuple[Asked, ...]:
        """All of them, one after another."""
        return tuple(chain.from_iterable(self.each))

    def known(self, histograms: Sequence[Histogram]) -> dict[Hashable, Known]:
        """What the histograms say about each question."""
        left = iter(histograms)
        return {
            key: _known([(one.about, next(left)) for one in some])
            for key, some in zip(self.about, self.each, strict=True)
        }

    def known_from(self, answers: Sequence[TableAnswer]) -> dict[Hashable, Known]:
        """The same, from what was just released."""
        return self.known([Histogram.of(one, answer) for one, answer in zip(self.asked, answers, strict=True)])


def sizes_to_buy(questions: Sequence[Prepared], *, tied: bool = True) -> Buying:
    """What must be bought for these questions; once for those about the same groups of the same rows."""
    found = {about(question): sizes_asked(question, tied=tied) for question in questions}
    return Buying(tuple(found), tuple(found.values()))


def _known(histograms: Sequence[tuple[About, Histogram]]) -> Known:
    found = dict(histograms)
    groups, shares = found.get(About.GROUPS), found.get(About.KEYS)
    return Known(
        UnitSizes(found[About.ROWS]),
        None if groups is None else UnitSizes(groups),
        None if shares is None else shares.shares(),
        keys=shares,
    )


def sizes_read(questions: Sequence[Prepared], stored: Sequence[Mapping[str, Any]]) -> dict[Hashable, Known] | None:
    """What was bought for these questions before, from a ledger; None if their tables were declared otherwise then."""
    for tied in (True, False):  # older versions bought less
        found = sizes_to_buy(questions, tied=tied)
        if len(found.asked) == len(stored):
            try:
                read = [Histogram.read(one, answer) for one, answer in zip(found.asked, stored, strict=True)]
            except BadData:
                return None
            return found.known(read)
    return None


def split(price: Price, parts: int = 1) -> tuple[Price, Price]:
    """What each of so many parts costs that are bought first, all together a tenth, and what is left for the answer."""
    if price.error is not None:
        raise BadParameter(
            "error", price.error, "must be left out while caps or bounds are to be chosen and nothing is known: "
            "declare max_rows=... of the table and bounds, or buy a profile first, with session.profile(...)",
        )  # fmt: skip
    return price.times(SHARE / parts), price.times(1 - SHARE)


def part_of(allowed: Allowance, share: Fraction) -> Allowance:
    """A share of what a question may cost.

    >>> part_of(Pure(1), SHARE)
    Pure(epsilon='1/10')
    """
    match allowed:
        case Pure(epsilon):
            return Pure(share * epsilon)
        case Approx(epsilon, delta):
            return Approx(share * epsilon, share * delta)
        case ZCDP(rho, delta):
            return ZCDP(share * rho, delta)


def note_of_first_payment(asked: Price, left: Price) -> tuple[str, ...]:
    """That a part of the price was spent before the answer, in words; nothing, if none was.

    >>> note_of_first_payment(Price.of(1), Price.of("9/10"))
    ('epsilon 1/10 was spent before, to choose caps and bounds; what it bought is known to later questions',)
    """
    before, after = asked.texts(), left.texts()
    amounts = [f"{name} {number(before[name]) - number(after[name])}" for name in ("epsilon", "rho") if name in before]
    spent = " and ".join(amounts)
    words = f"{spent} was spent before, to choose caps and bounds; what it bought is known to later questions"
    return () if before == after else (words,)


def cut_of(question: Prepared, profiles: Mapping[str, Profile]) -> tuple[Cut | None, tuple[str, ...]]:
    """What the declared caps cut of a question's rows, about, and how to say it; that it is unknown, if it is."""
    asked = question.asked
    if one_row_each(asked.whole) or all(part.counts_all for part in question.parts):
        return None, ()
    profile = profiles.get(asked.tables[0]) if len(asked.tables) == 1 else None
    if profile is None:
        table = asked.tables[0]
        words = (
            f'how much of the rows is beyond is unknown: session.profile("{table}", epsilon="0.05") would tell, at '
            "that price, and for all questions after it"
        )
        return None, (words,)
    found = profile.cut(rows(asked.caps))
    where = "" if asked.whole == asked.source else " (of the whole table)"
    return found, (f"{found}{where}",)


def unknown_yet(question: Prepared) -> Chosen:
    """What a preview can show where caps are to be chosen and nothing is known: a cap that nobody chose."""
    caps = chosen_caps(question, MAX_ROWS, None)
    words = (
        f"caps are not chosen yet: a release spends a tenth of its price on the sizes of the units, and chooses then; "
        f"this preview is for a cap of {MAX_ROWS} rows, without that tenth"
    )
    return Chosen((with_caps(question, caps),), caps, None, None, math.inf, (words,))


def corrected_preview(found: Preview, chosen: Chosen | None, asked: int | None, wide: Preview | None) -> Preview:
    """A preview with the error bars of counts and sums after the correction; of sums as large as values are, about.

    ``asked``: in a group of how many rows; by default, of as many as are typical. ``wide``: that of the groups with a
    larger cap, where they correct.
    """
    if chosen is None or (not chosen.corrected and chosen.spread is None):
        return found
    rows = float(asked or chosen.rows or 1)
    part = chosen.questions[0].parts[0]
    columns, held = [], []
    for one, measure, recipe in zip(found.columns, part.measures, part.recipes, strict=True):
        size = rows if is_count(recipe) else None
        if size is None and wide is not None and chosen.known is not None and can_rescale(recipe):
            size = size_of_sum(measure, chosen.known, rows)
        if size is None:
            columns.append(one)
            continue
        error = chosen.spread.expected_error(one.error, size) if chosen.spread else one.error
        if wide is not None and chosen.known is not None:
            error = _expected_error(chosen, chosen.known.sizes, recipe, size, one.error, wide.error(one.name))
        columns.append(replace(one, error=error, rows=round(rows)))
        held.append(one.name)
    others = [one.name for one in columns if one.name not in held]
    return replace(found, columns=tuple(columns), counted=part.counted_with(held, others))


def _expected_error(chosen: Chosen, sizes: UnitSizes, recipe: Recipe, size: float, noise: float, wide: float) -> float:  # noqa: PLR0917
    cap = rows(chosen.questions[2].parts[0].caps)
    cut = bounded_cut(sizes, cap, abs(largest_value(recipe)), np.array([size + wide]), OTHERS * MISS)
    return expected_error(size, chosen.factor, noise, wide, float(cut[0]))


def confidence_of_wide(confidence: Number) -> Fraction:
    """What is left of it for the noise of the larger cap, when the rest of an interval has taken its part."""
    kept = number(str(1 - OTHERS)) ** 2
    return 1 - kept * (1 - confidence_level(confidence))


def finish(chosen: Chosen, answers: Sequence[TableAnswer]) -> TableAnswer:
    """An answer with what was chosen for it; its groups made to agree with the total after it, if there is one."""
    first, words = answers[0], chosen.words
    factors: dict[str, Rescaled] = {}
    if chosen.corrected and chosen.known is not None:
        parts, total, wide = (one.released[0] for one in answers)
        groups, factors = rescaled(parts, total, wide, chosen.known)
        first = replace(first, released=(groups,))
        words = (*words, *(_corrected(name, made, groups, chosen.cut) for name, made in factors.items()))
    if chosen.shrinks:
        groups, moved = shrunk(first.released[0], answers[1].released[0] if chosen.corrected else None, factors)
        first = replace(first, released=(groups, *first.released[1:]))
        words = (*words, *map(_shrunk, moved))
    if chosen.spread is not None:
        first = replace(first, released=tuple(_in_rows(one, chosen.spread) for one in first.released))
    agreed = (f"{one}; then each table was corrected by its own total" if factors and one == AGREED else one
              for one in first.notes)  # fmt: skip
    found = replace(first, story=(*first.story, *words), notes=(*words, *agreed), cut=chosen.cut)
    question = chosen.questions[0]
    return with_total(found, question) if chosen.own or all_rows(question) else found


def all_rows(question: Prepared) -> bool:
    """Whether a question is about all rows of one table."""
    relation = question.asked.whole
    while isinstance(relation, Project):
        relation = relation.source
    return isinstance(relation, Scan)


def with_total(answer: TableAnswer, question: Prepared) -> TableAnswer:
    """The answer with the intervals of noise and cut together, where there are such."""
    total = total_of(answer, question)
    lines = (
        f"{name} with what is cut: {low:,.0f} to {high:,.0f} ({answer.cut.confidence:.0%}), if no unit has more than "
        f"{how_many(answer.cut.reach, 'rows')}"
        for name, (low, high) in total.items()
    )
    return replace(answer, total=total, notes=(*answer.notes, *lines))


def total_of(answer: TableAnswer, question: Prepared) -> dict[str, tuple[float, float]]:
    """Of a count without groups: between which numbers it lies, noise and cut together; of units within the reach."""
    cut, released = answer.cut, answer.released[0]
    nested = question.asked.outcome.is_nested
    if cut is None or nested or released.part.keys or len(answer.released) != 1 or not len(answer):
        return {}
    level = 1 - (1 - number(str(cut.confidence), "confidence")) / 2
    asked = dict(question.asked.outcome.columns)
    found = {}
    for name, recipe in zip(released.part.names, released.part.recipes, strict=True):
        counted = isinstance(recipe, Plain) and recipe.is_count and isinstance(recipe.statistic, Rows)
        ends = answer.intervals(level)[name][0] if counted and asked.get(name) == Column(name) else None
        if ends is not None:
            found[name] = cut.total(float(ends[0]), float(ends[1]))
    return found


def _in_rows(released: Released, spread: Spread) -> Released:
    recipes = tuple(InRows(one, spread) for one in released.part.recipes)
    return replace(released, part=replace(released.part, recipes=recipes))


def _shrunk(name: str) -> str:
    return (
        f"{name} is corrected: means of groups that are noisy are moved towards that of all groups, by no more than "
        f"their own error bars"
    )


def _corrected(name: str, made: Rescaled, groups: Released, cut: Cut | None) -> str:
    reach = "" if cut is None else f", as far as units have no more than {how_many(cut.reach, cut.what)}"
    own = made.factors(groups.estimates)
    least, most = f"{float(own.min()):.4g}", f"{float(own.max()):.4g}"
    how = f"all groups were multiplied by {least}" if least == most else f"groups were multiplied by {least} to {most}"
    why = "" if made.groups is None else " and with how large the units of each are, which differs from group to group"
    return (
        f"{name} is corrected: {how}, so that they agree with the total{why}; error bars hold whatever is cut of each "
        f"group{reach}"
    )
