"""The steps of a query with something open: select keys, look at sizes and values, choose clips, then answer.

Guarantee: one charge pays for all steps. Each step keeps its share of it whatever earlier steps released, and what is
chosen is a function of released numbers and public metadata. Proof: choosing.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from threading import Lock
from typing import Any

from discreet.errors import ReceiptRefused, Unsupported
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.additive.laplace import Laplace
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.choose.classes import ladder
from discreet.query.choose.clips import (
    BEST,
    BEST_OF_MEANS,
    BEST_OF_SPREAD,
    COUNTED,
    Ascents,
    Goal,
    goal,
    less_for_each,
    longer_units,
    noisy_units,
)
from discreet.query.choose.histograms import COUNTED as UNITS_OF_CLASS
from discreet.query.choose.histograms import ReleasedHistogram, bounds_from, centre_from, sizes_of_groups, values_of
from discreet.query.choose.open_parts import Chosen, OpenPart, may_be_unknown, open_parts, usual, with_chosen
from discreet.query.choose.shares import (
    GUESSED_GROUPS,
    PriceShares,
    answering_allowance,
    as_event,
    looks_at_sizes,
    portion,
    pure_epsilon,
    selecting_allowance,
    shares,
)
from discreet.query.estimate.choose_estimators import BY_TYPICAL_ROWS
from discreet.query.estimate.cuts import SHARE, Cut, noisy_cut, tells
from discreet.query.estimate.noise_plan import Allowance, Noised, check_selects, predicted_error
from discreet.query.estimate.prepare import Part, Prepared, jobs
from discreet.query.estimate.statistics import Distinct, Rows, Statistic, Units, most_rows
from discreet.query.lower.bounding import Noise, rows
from discreet.query.lower.lower import UNIT, LoweredMeasure
from discreet.query.lower.prune import prune
from discreet.query.plan.expressions import columns
from discreet.query.plan.names import quoted
from discreet.query.plan.nodes import Aggregate
from discreet.query.plan.schema import MAX_ROWS
from discreet.query.plan.work import AnyWork, Exact, Total, UnitClasses, WorkKey
from discreet.query.typing.infer import NEVER_HINT
from discreet.randomness import Bits

MOST_ROWS = 1 << 16
"""The largest cap on rows and on groups."""
EDGES = ladder()
TYPICAL_SKEW = 1.5
"""All rows divided by those of a typical group, beside the number of groups, where nothing is known of their sizes."""
_WIDER = 8
_SIZES = "sizes of groups"
TOO_FEW = "null_too_few"
"""Why a measure is NULL, as the code of a note: too few units to choose how far one may reach."""
NO_VALUES = "null_no_values"
"""No value stands out from the noise, so no bounds could be chosen."""

Compute = Callable[[Sequence[AnyWork]], Sequence[Exact]]
"""The exact numbers of some works."""
Draw = Callable[[Sequence[Prepared], Allowance], Sequence[tuple[Any, Mapping[Statistic, Noised]]]]
"""Questions of one grouping set each, released within an allowance: what was released, and its noise."""


@dataclass(frozen=True, slots=True)
class Choosing:
    """What is chosen for some questions, and what each step of it costs. Making one touches no data."""

    questions: tuple[Prepared, ...]
    parts: tuple[OpenPart, ...]
    shares: tuple[PriceShares, ...]
    allowance: Allowance
    answering: Allowance
    neighbours: Neighbours
    noise: tuple[Mapping[Statistic, Noised], ...]
    """Of each open part, for the choices that stand in: noise grows with the clip, so it says noise for all clips."""

    @property
    def event(self) -> Event:
        """What all steps cost together."""
        selecting = sum(part.selects for part in self.parts)
        before = sum((split.together - split.selecting for split in self.shares), Fraction(0))
        steps = [as_event(portion(self.allowance, before))] if before else []
        steps += [
            as_event(selecting_allowance(self.allowance, split.selecting, selecting))
            for split in self.shares
            if split.selecting
        ]
        return events.Composed([*steps, as_event(self.answering)])

    def question_of(self, opened: OpenPart) -> Prepared:
        """A question that has the part, for its rows and tables."""
        return next(q for q in self.questions if any(opened.part.same_groups(part) for part in q.parts))

    def works(self) -> list[AnyWork]:
        """What an engine will be asked before the answer, for those that say beforehand what they cannot compute."""
        return [_classes(opened, opened.totals({})) for opened in self.parts if opened.clips]


@dataclass(frozen=True, slots=True)
class Climbed:
    """What an ascent gave."""

    measure: LoweredMeasure | None
    """None: rows."""
    clip: int | None
    """None where there are too few units to choose one."""
    cut: Cut | None
    """What the clip takes, where it is estimated."""
    longer: int | None
    """So many units are longer than the clip, at most; None where that is not known."""


@dataclass(slots=True)
class Kept:
    """What was drawn for one payment already: whoever goes on after a failure of the engine draws none of it again."""

    selected: dict[int, tuple[tuple[Any, ...], ...]] = field(default_factory=dict)
    histograms: dict[object, ReleasedHistogram] = field(default_factory=dict)
    reach: dict[int, int] = field(default_factory=dict)
    climbed: dict[int, list[Climbed]] = field(default_factory=dict)
    chosen: dict[int, Chosen] = field(default_factory=dict)
    begun: bool = False
    answered: bool = False
    _running: Lock = field(default_factory=Lock)

    @contextmanager
    def one_at_a_time(self) -> Iterator[None]:
        """Held while the payment is used: whoever goes on twice, or in two threads, is refused the second time."""
        if not self._running.acquire(blocking=False):
            raise ReceiptRefused("this payment is being used; one payment is good for one release")
        try:
            if self.answered:
                raise ReceiptRefused("this receipt was used already; one payment is good for one release")
            yield
        finally:
            self._running.release()


def choosing(
    questions: Sequence[Prepared],
    allowance: Allowance,
    neighbours: Neighbours,
    noise: Callable[[Sequence[Prepared], Allowance], tuple[Noise, Callable[[Part], Mapping[Statistic, Noised]]]],
) -> Choosing | None:
    """The steps before an answer; None if nothing is open. ``noise`` says what noise an allowance buys."""
    every = tuple(questions)
    parts = open_parts(every)
    if not parts:
        return None
    for measure in (measure for opened in parts for measure in opened.by_values if measure.never):
        raise Unsupported(f"bounds of {quoted(measure.measure.name)} that are chosen from its values", NEVER_HINT)
    together = len({(part.whole, part.keys) for question in every for part in question.parts})
    split = shares(parts, together)
    left = 1 - sum((opened.together for opened in split), Fraction(0))
    selects = any(part.selects for part in parts)
    if selects:
        check_selects(allowance)
    stood_in = stand_in(every, parts)
    names = any(part.selects for question in stood_in for part in question.parts)  # keys of what is not open
    kind, noised = noise(stood_in, answering_allowance(allowance, left, selects=selects, needs_delta=True))
    needs_delta = names or (kind is Noise.GAUSSIAN and isinstance(allowance, Approx))
    answering = answering_allowance(allowance, left, selects=selects, needs_delta=needs_delta)
    if not needs_delta:
        _, noised = noise(stood_in, answering)
    laws = tuple(noised(usual(opened).of(opened.part)) for opened in parts)
    return Choosing(every, parts, split, allowance, answering, neighbours, laws)


def stand_in(questions: Sequence[Prepared], parts: Sequence[OpenPart]) -> tuple[Prepared, ...]:
    """The questions with the usual choices, and with keys as if they were selected."""
    made = tuple((opened, usual(opened)) for opened in parts)
    return tuple(with_chosen(question, made) for question in questions)


# --- running them -----------------------------------------------------------------------------------------------------


def choose(plan: Choosing, compute: Compute, draw: Draw, bits: Bits, kept: Kept) -> tuple[Prepared, ...]:
    """The questions with all that was chosen for them."""
    selecting = sum(part.selects for part in plan.parts)
    for place, opened in enumerate(plan.parts):
        own = plan.shares[place]
        if opened.groups and place not in kept.reach:
            kept.reach[place] = _groups_of_a_unit(plan, opened, own, compute, bits)
        if opened.selects and place not in kept.selected:
            allowed = selecting_allowance(plan.allowance, own.selecting, selecting)
            units = _selected(plan, opened, allowed, draw)
            kept.selected[place], kept.histograms[place, _SIZES] = units
        if place not in kept.chosen:
            kept.chosen[place] = _chosen(plan, place, compute, draw, bits, kept)
    chosen = tuple((opened, kept.chosen[place]) for place, opened in enumerate(plan.parts))
    return tuple(with_chosen(question, chosen) for question in plan.questions)


def _chosen(plan: Choosing, place: int, compute: Compute, draw: Draw, bits: Bits, kept: Kept) -> Chosen:  # noqa: PLR0917
    opened = plan.parts[place]
    caps = opened.part.caps
    groups = _typical_groups(plan, place, draw, kept)
    bounds, centres, unknown = _bounds(plan, place, draw, kept)
    max_rows = MAX_ROWS if caps.auto else caps.max_rows
    clips: dict[LoweredMeasure, int] = {}
    if opened.clips and place not in kept.climbed:
        exact = compute([_classes(opened, opened.totals(centres))])[0]
        kept.climbed[place] = list(_climbed(plan, place, exact, groups, bits))
    cuts: dict[LoweredMeasure | None, Cut] = {}
    longer: dict[LoweredMeasure | None, int] = {}
    for climbed in kept.climbed.get(place, ()):
        measure, clip = climbed.measure, climbed.clip
        if clip is not None and climbed.cut is not None:
            cuts[measure] = climbed.cut
        of_rows = measure is None or measure in opened.of_typical
        if clip is not None and climbed.longer is not None and not (of_rows and clip > MOST_ROWS):
            longer[measure] = climbed.longer
        if measure is None:
            max_rows = max_rows if clip is None else min(clip, MOST_ROWS)
        elif measure in opened.of_typical:
            clips |= dict.fromkeys(opened.of_typical, MAX_ROWS if clip is None else min(clip, MOST_ROWS))
        elif clip is not None:
            clips[measure] = clip
        elif may_be_unknown(measure):
            unknown[measure] = TOO_FEW
    if opened.distinct:
        clips |= _values_kept(plan, place, max_rows or MAX_ROWS, compute, bits)
    caps = replace(caps, auto=False, max_rows=max_rows, max_groups=kept.reach.get(place, caps.max_groups))
    chosen = Chosen(caps, clips, centres, bounds, unknown, kept.selected.get(place), cuts, longer)
    return chosen.with_sums(opened.part.measures)


def _climbed(plan: Choosing, place: int, exact: Exact, groups: float, bits: Bits) -> Iterator[Climbed]:
    """The clip of rows, then of each measure that has one. Rows of groups have one always: the noise of the usual limit
    would be larger than the groups of so few units.
    """
    epsilon = pure_epsilon(portion(plan.allowance, plan.shares[place].clips))
    everyone, _ = longer_units(exact, 0, len(EDGES))
    units = noisy_units(everyone, COUNTED * epsilon, bits)
    climbs, ascents = goals(plan, place, groups)
    longer = [longer_units(exact, at, len(EDGES))[1] for at in range(len(climbs))]
    for at, ((measure, reached, estimating), end) in enumerate(zip(climbs, ascents(longer, bits), strict=True)):
        step, counts = reached.clip(end, EDGES), longer[at]
        cut = noisy_cut(counts, EDGES, step, estimating, bits) if estimating else None
        sure = units >= reached.enough or (measure is None and bool(plan.parts[place].part.keys))
        most = None if end == len(EDGES) - 1 else ascents.at_most(at, len(EDGES))
        yield Climbed(measure, EDGES[step] if sure else None, cut, most)


def goals(
    plan: Choosing, place: int, groups: float | None = None
) -> tuple[list[tuple[LoweredMeasure | None, Goal, Fraction]], Ascents]:
    """The goal for rows, then for each measure that is clipped, each with the ε of an estimate of what its clip takes
    (0 where there is none), and the ascents to all of them; without ``groups``, for groups of usual sizes.
    """
    opened = plan.parts[place]
    if groups is None:
        groups = TYPICAL_SKEW * (opened.part.group_count or GUESSED_GROUPS) if opened.part.keys else 1.0
    epsilon = pure_epsilon(portion(plan.allowance, plan.shares[place].clips))
    noises, estimate = _noise_of_clips(opened, plan.noise[place]), SHARE * epsilon / opened.clips
    by_rows: list[LoweredMeasure | None] = [*([None] if opened.rows else []), *opened.of_typical[:1]]
    measures = [*by_rows, *(opened.part.measures[at] for at in opened.clipped)]
    estimating = [
        estimate if opened.can_estimate(m) and tells(_best(m) * groups * noises[m], estimate) else Fraction(0)
        for m in measures
    ]
    climbing = (1 - COUNTED) * epsilon - sum(estimating)
    alone = climbing / less_for_each(len(measures), plan.neighbours)
    made = [goal(alone, noises[m], groups, _best(m)) for m in measures]
    ascents = Ascents(climbing, tuple(reached.beyond for reached in made), plan.neighbours)
    return list(zip(measures, made, estimating, strict=True)), ascents


def _best(measure: LoweredMeasure | None) -> float:
    if measure is None:
        return BEST
    aggregate = measure.measure.aggregate
    return BEST_OF_MEANS if aggregate is Aggregate.AVG else BEST_OF_SPREAD if aggregate in BY_TYPICAL_ROWS else BEST


def _values_kept(plan: Choosing, place: int, most: int, compute: Compute, bits: Bits) -> dict[LoweredMeasure, int]:
    """How many distinct values of a unit count, for each measure: one, unless ``most`` surely gives many more.

    One value of each unit is enough where each value has many units, and needs ``most`` times less noise.
    """
    opened = plan.parts[place]
    epsilon = pure_epsilon(portion(plan.allowance, plan.shares[place].distinct)) / len(opened.distinct)
    works = [_pairs_kept(plan, place, measure, cap, bits) for measure in opened.distinct for cap in (1, most)]
    exact = iter(compute(works))
    kept = {}
    for measure in opened.distinct:
        few, many = (sum(int(number) for number in next(exact).numbers[0]) for _ in (1, most))
        noise = Laplace(scale=(most + 1) / epsilon, moves=most + 1)
        drawn = noise.noise(None, bits)
        assert isinstance(drawn, int)  # noqa: S101
        kept[measure] = most if many - few + drawn > 2 * noise.scale else 1
    return kept


def _pairs_kept(plan: Choosing, place: int, measure: LoweredMeasure, cap: int, bits: Bits) -> AnyWork:
    """The distinct pairs of group and value, so many of each unit: the work of the answer, with another cap."""
    opened, kept = plan.parts[place], replace(measure, open=False, clip=cap)
    part = replace(opened.part, caps=usual(opened).caps).asking((kept,))
    (statistic,) = part.recipes[0].needs
    law = next(noised for other, noised in plan.noise[place].items() if isinstance(other, Distinct))
    (job,) = jobs(part, {statistic: law}, None, f"{bits.below(1 << 128):032x}")
    return job.work


def _noise_of_clips(opened: OpenPart, noised: Mapping[Statistic, Noised]) -> dict[LoweredMeasure | None, float]:
    """How many clips the noise of the answer is in a group, on average: of rows, and of each measure that is clipped.
    By what stands in.
    """
    stood_in = usual(opened)
    most = float(rows(stood_in.caps))
    by_rows = [each for s, each in noised.items() if not (isinstance(s, Units) or _clip(s) or most_rows(s))]
    noises: dict[LoweredMeasure | None, float] = {
        None: min((_mean_size(each) / (_size(each.statistic) * most) for each in by_rows), default=1.0)
    }
    recipes = stood_in.of(opened.part).recipes
    for at in opened.clipped:
        statistic = next(s for s in recipes[at].needs if _clip(s))
        noises[opened.part.measures[at]] = _mean_size(noised[statistic]) / _size(statistic)
    of_spread = [predicted_error(each) / (2 * _size(s) * MAX_ROWS) for s, each in noised.items() if most_rows(s)]
    return noises | dict.fromkeys(opened.of_typical, max(of_spread, default=1.0))


def _clip(statistic: Statistic) -> bool:
    return isinstance(statistic, Rows) and statistic.clip is not None


def _size(statistic: Statistic) -> float:
    return float(statistic.bound * statistic.step) if isinstance(statistic, Rows) else 1.0


def _mean_size(noised: Noised) -> float:
    """About the mean size of its noise; of all parts of a range together, if it is one of them."""
    parts = 1 + len(noised.statistic.beside) if isinstance(noised.statistic, Rows) else 1
    return math.sqrt(parts * noised.variance / 2)


def _typical_groups(plan: Choosing, place: int, draw: Draw, kept: Kept) -> float:
    """All rows divided by those of a typical group, about."""
    opened = plan.parts[place]
    if not opened.part.keys:
        return 1.0
    if looks_at_sizes(opened):
        question = sizes_of_groups(plan.question_of(opened), opened)
        _draw_once(kept, (place, _SIZES), question, portion(plan.allowance, plan.shares[place].sizes), draw)
    sizes = kept.histograms.get((place, _SIZES))
    many = opened.part.group_count or (GUESSED_GROUPS if sizes is None else len(sizes.counts))
    seen = None if sizes is None or not len(sizes.counts) else sizes.typical_groups()
    return TYPICAL_SKEW * max(1, many) if seen is None else seen


_Bounds = tuple[
    dict[LoweredMeasure, tuple[tuple[Fraction, Fraction], ...]], dict[LoweredMeasure, int], dict[LoweredMeasure, str]
]


def _bounds(plan: Choosing, place: int, draw: Draw, kept: Kept) -> _Bounds:
    """The bounds of each measure whose values are open, the centres of means, and where none could be chosen, why."""
    bounds: dict[LoweredMeasure, tuple[tuple[Fraction, Fraction], ...]] = {}
    centres: dict[LoweredMeasure, int] = {}
    unknown: dict[LoweredMeasure, str] = {}
    opened = plan.parts[place]
    for key, (question, budget) in histograms_of_values(plan, place).items():
        _draw_once(kept, (place, key), question, budget, draw)
    for measure in (opened.part.measures[at] for at in opened.values):
        drawn = [kept.histograms[place, (x.lowered, measure.where)] for x in measure.arguments]
        ends = [bounds_from(histogram, measure, argument) for argument, histogram in enumerate(drawn)]
        seen = tuple(pair for pair in ends if pair is not None)
        if len(seen) < len(ends):
            if may_be_unknown(measure):
                unknown[measure] = NO_VALUES
            continue
        bounds[measure] = seen
        if measure.measure.aggregate is Aggregate.AVG:
            centres[measure] = centre_from(drawn[0], measure, seen[0])
            bounds[measure] = seen if measure.span is not None else tuple(_wider(*pair) for pair in seen)
    return bounds, centres, unknown


def histograms_of_values(plan: Choosing, place: int) -> dict[object, tuple[Prepared, Pure | ZCDP]]:
    """The histograms by which bounds of values are chosen, one for each argument, and what each may cost."""
    opened = plan.parts[place]
    question, histograms = plan.question_of(opened), dict[object, Prepared]()
    for measure in (opened.part.measures[at] for at in opened.values):
        for argument, x in enumerate(measure.arguments):
            histograms.setdefault((x.lowered, measure.where), values_of(question, opened, measure, argument))
    budget = portion(plan.allowance, plan.shares[place].values / max(1, len(histograms)))
    return {key: (histogram, budget) for key, histogram in histograms.items()}


def _wider(low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of a mean whose units are clipped: the few values beyond those that stand out need not be cut, too, on
    either side. Its noise is that of the clip, however wide they are.
    """
    reach = _WIDER * max(-low, high)
    return -reach, reach


def _draw_once(kept: Kept, key: object, question: Prepared, allowance: Allowance, draw: Draw) -> None:
    if key not in kept.histograms:
        ((released, noised),) = draw([question], allowance)
        kept.histograms[key] = _histogram(released, noised, UNITS_OF_CLASS)


def scale_of(noised: Noised) -> tuple[float, bool]:
    """The scale of Laplace noise, or the deviation of Gaussian noise, and whether it is that."""
    gaussian = isinstance(noised.noise, Gaussian)
    return max(float(noised.variance) ** 0.5 / (1.0 if gaussian else 2**0.5), 1e-9), gaussian


def _histogram(released: Any, noised: Mapping[Statistic, Noised], statistic: Statistic) -> ReleasedHistogram:
    return ReleasedHistogram(released.estimates[statistic].values, *scale_of(noised[statistic]))


def _groups_of_a_unit(plan: Choosing, opened: OpenPart, own: PriceShares, compute: Compute, bits: Bits) -> int:
    """In how many groups a unit counts: such that few units have more."""
    epsilon = pure_epsilon(portion(plan.allowance, own.reach))
    exact = compute([_classes(opened, (Total(None),))])[0]
    _, longer = longer_units(exact, 0, len(EDGES))
    ascent = Ascents(epsilon, (goal(epsilon, 1.0, 1.0).beyond,), plan.neighbours)
    most = min(EDGES[ascent([longer], bits)[0]], MOST_ROWS)
    listed = opened.part.group_count
    return most if listed is None else max(1, min(most, listed))


def _selected(
    plan: Choosing, opened: OpenPart, allowance: Allowance, draw: Draw
) -> tuple[tuple[tuple[Any, ...], ...], ReleasedHistogram]:
    """The groups that enough units have, and how many units each has, about."""
    ((released, noised),) = draw([selecting_question(plan, opened)], allowance)
    return released.keys, _histogram(released, noised, Units())


def selecting_question(plan: Choosing, opened: OpenPart) -> Prepared:
    """Which groups enough units have, and how many each has.

    A unit of t groups weighs 1/√t in each of them (with Laplace noise: 1 in one of them). If it weighed m times as much
    where it has m² groups and more, the noise would have to be m times as large, and others would be drowned by it.
    """
    question, part = plan.question_of(opened), opened.part
    caps = replace(part.caps, auto=False, max_groups=1 if part.caps.auto else part.caps.max_groups)
    caps = caps if caps.max_rows is not None else replace(caps, max_rows=MOST_ROWS)
    units = replace(part, caps=caps, measures=(), recipes=(), given=True)
    return replace(question, parts=(units,))


def _classes(opened: OpenPart, totals: tuple[Total, ...]) -> UnitClasses:
    """How many units have a total of which length, over all groups of the part."""
    part = opened.part
    keys = tuple(WorkKey(key.name, key.typed.lowered, key.typed.keys) for key in part.keys)
    used = [key.expression for key in keys] + [total.value for total in totals if total.value is not None]
    source = prune(part.whole, frozenset({UNIT}).union(*map(columns, used)))
    return UnitClasses(source=source, unit=UNIT, keys=keys, totals=totals, edges=EDGES)
