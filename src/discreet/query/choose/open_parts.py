"""What a query leaves open, from its plan and public metadata alone: caps and bounds that nobody declared.

A sum whose values or rows are not bounded is clipped by the totals of units. Counts, means and the rest keep a cap on
rows, and values are clamped; keys that nobody listed are selected before anything else is asked of their groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeVar

from discreet.query.estimate.cuts import Cut
from discreet.query.estimate.prepare import Part, Prepared, counts_rows
from discreet.query.estimate.statistics import FINEST, ONE, ZERO
from discreet.query.functions.typed_values import Typed
from discreet.query.lower.lower import LoweredMeasure
from discreet.query.plan.expressions import Call, Expression, Literal
from discreet.query.plan.nodes import Aggregate
from discreet.query.plan.schema import MAX_ROWS, Caps
from discreet.query.plan.types import Number, Value
from discreet.query.plan.work import Total
from discreet.query.typing.untyped import FARTHEST

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class OpenPart:
    """A grouping set and what is to be chosen for it."""

    part: Part
    rows: bool
    """How many rows of a unit count."""
    groups: bool
    """In how many groups a unit counts, where units are counted."""
    clipped: tuple[int, ...]
    """The measures, by place, whose units are scaled down to a total: means of open values, and sums not beside one."""
    values: tuple[int, ...]
    """The measures whose values are clamped to bounds."""

    @property
    def distinct(self) -> tuple[LoweredMeasure, ...]:
        """The numbers of distinct values, of which a unit keeps one or as many as it has rows that count."""
        kinds = ((m, m.measure.aggregate is Aggregate.COUNT_DISTINCT) for m in self.part.measures)
        return tuple(m for m, counts in kinds if counts and self.rows and not m.arguments[0].is_unit)

    @property
    def clips(self) -> int:
        """How many clips are chosen, one ascent each: of rows, then of measures."""
        return self.rows + len(self.clipped)

    def can_estimate(self, measure: LoweredMeasure | None) -> bool:
        """Whether what a clip takes can be told: of sums, and of rows that are counted and bounded in all only. Not
        where groups are selected, as what those that have no name lose is in no released number.
        """
        if self.selects:
            return False
        if measure is not None:
            return measure.measure.aggregate is Aggregate.SUM
        caps = self.part.caps
        bounded = caps.max_groups is None and caps.max_rows_per_group is None
        return bounded and any(counts_rows(m) for m in self.part.measures)

    def totals(self, centres: Mapping[LoweredMeasure, int]) -> tuple[Total, ...]:
        """What they are chosen for; means are counted from their centres."""
        measures = (self.part.measures[place] for place in self.clipped)
        return (*((Total(ONE),) if self.rows else ()), *(_summed(m, centres.get(m, 0)) for m in measures))

    @property
    def selects(self) -> bool:
        """Whether keys are to be selected first."""
        return self.part.selects


def open_part(part: Part) -> OpenPart | None:
    """What is open in a grouping set; None if nothing is, and all is answered in one step."""
    auto = part.caps.auto
    measures = list(enumerate(part.measures))
    sums = {i for i, m in measures if m.measure.aggregate is Aggregate.SUM and (auto or m.open)}
    made = {i for i in sums if mean_of(part.measures[i], part.measures) is not None}
    values = tuple(i for i, m in measures if m.open and i not in sums)
    clipped = tuple(i for i, m in measures if i in sums - made or (m.open and m.measure.aggregate is Aggregate.AVG))
    others = [m for i, m in measures if i not in sums]
    rows = auto and any(m.measure.aggregate is not Aggregate.COUNT_UNITS for m in others)
    counts_units = any(m.measure.aggregate is Aggregate.COUNT_UNITS for m in others)
    groups = auto and bool(part.keys) and counts_units and part.caps.max_groups is None
    selects = auto and part.selects
    return OpenPart(part, rows, groups, clipped, values) if rows or groups or clipped or values or selects else None


def mean_of(measure: LoweredMeasure, measures: tuple[LoweredMeasure, ...]) -> LoweredMeasure | None:
    """Of an open sum: the mean of the same values beside it, whose centre, distances and count it is made of."""

    def same(other: LoweredMeasure) -> bool:
        alike = (other.arguments, other.where, other.span) == (measure.arguments, measure.where, measure.span)
        return alike and other.open and other.measure.aggregate is Aggregate.AVG

    asks = measure.open and measure.measure.aggregate is Aggregate.SUM
    return next(filter(same, measures), None) if asks else None


def open_parts(questions: tuple[Prepared, ...]) -> tuple[OpenPart, ...]:
    """The open grouping sets of some questions; those about the same groups of the same rows are one."""
    alike: list[list[Part]] = []
    for part in (part for question in questions for part in question.parts if open_part(part) is not None):
        same = next((some for some in alike if some[0].same_groups(part)), None)
        if same is None:
            alike.append([part])
        else:
            same.append(part)
    joint = (some[0] if len(some) == 1 else _with_all_measures(some) for some in alike)
    return tuple(found for part in joint if (found := open_part(part)) is not None)


def _with_all_measures(parts: list[Part]) -> Part:
    measures = dict.fromkeys(measure for part in parts for measure in part.measures)
    return replace(parts[0], measures=tuple(measures), recipes=())


def _summed(measure: LoweredMeasure, centre: int) -> Total:
    """What a unit's rows add up to, in cells of the argument."""
    value = measure.arguments[0].lowered
    if centre:
        ends = Literal(centre - FARTHEST), Literal(centre + FARTHEST)
        value = Call("sub", (Call("read_integer", (value, *ends)), Literal(centre)))
    return Total(value if measure.where is None else Call("case", (measure.where, value, ZERO)))


# --- what was chosen, and questions with it ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was chosen for a grouping set, from released numbers alone."""

    caps: Caps
    clips: dict[LoweredMeasure, int]
    """The length to which the totals of a unit are scaled down, in cells of the argument."""
    centres: dict[LoweredMeasure, int]
    """Of means with a clip: where they are counted from."""
    bounds: dict[LoweredMeasure, tuple[tuple[Fraction, Fraction], ...]]
    """Of other measures: between which values each argument is clamped."""
    unknown: dict[LoweredMeasure, str]
    """The measures of which nothing can be said, each with the code of the note that says why."""
    named: tuple[tuple[Value, ...], ...] | None = None
    """The groups that were selected, where nobody listed them."""
    cuts: dict[LoweredMeasure | None, Cut] = field(default_factory=dict)
    """What clips take, where that was estimated; None: the clip of rows."""

    def with_sums(self, measures: tuple[LoweredMeasure, ...]) -> Chosen:
        """With what was chosen for means, for the sums beside them."""
        pairs = [(measure, mean) for measure in measures if (mean := mean_of(measure, measures)) is not None]

        def also(chosen: dict[LoweredMeasure, _T]) -> dict[LoweredMeasure, _T]:
            return chosen | {measure: chosen[mean] for measure, mean in pairs if mean in chosen}

        return replace(
            self,
            clips=also(self.clips),
            centres=also(self.centres),
            bounds=also(self.bounds),
            unknown=also(self.unknown),
        )

    def of(self, part: Part) -> Part:
        """A grouping set with it: nothing is open any more."""
        measures = tuple(self._measure(measure) for measure in part.measures)
        cuts = {m.measure.name: self.cuts[m] for m in part.measures if m in self.cuts}
        if None in self.cuts:
            cuts[""] = self.cuts[None]
        bounded = frozenset(m.measure.name for m in part.measures if m in self.bounds)
        made = replace(part, caps=self.caps, named=self.named, chosen=True, cuts=cuts, bounded=bounded)
        return made.asking(measures)

    def _measure(self, measure: LoweredMeasure) -> LoweredMeasure:
        if measure in self.unknown:
            return replace(measure, open=False, unknown=self.unknown[measure])
        if measure in self.bounds:
            pairs = zip(measure.arguments, self.bounds[measure], strict=True)
            arguments = tuple(clamped(x, low, high) for x, (low, high) in pairs)
        else:
            arguments = measure.arguments
        clip, centre = self.clips.get(measure), self.centres.get(measure, 0)
        return replace(measure, open=False, arguments=arguments, clip=clip, centre=centre)


def clamped(x: Typed, low: Fraction, high: Fraction) -> Typed:
    """An argument within bounds; those that were declared stay, too."""
    assert isinstance(x.kind, Number)  # noqa: S101 - arguments are in cells
    step = x.kind.step
    first = min(max(-((-low) // step), x.kind.low), x.kind.high - 1)
    last = min(max(high // step, first + 1), x.kind.high)
    inside: Expression = Call("read_integer", (x.lowered, Literal(int(first)), Literal(int(last))))
    return replace(x, kind=Number(step, int(first), int(last)), lowered=inside)


def usual(opened: OpenPart) -> Chosen:
    """What stands in for choices before they are made, to plan shares and prices with; keys as if selected."""
    caps = opened.part.caps
    rows = MAX_ROWS if caps.auto else caps.max_rows
    measures = opened.part.measures
    return Chosen(
        caps=replace(caps, max_rows=rows, auto=False),
        clips={measures[i]: FINEST for i in opened.clipped} | dict.fromkeys(opened.distinct, MAX_ROWS),
        centres={m: 1 for m in measures if m.open and m.measure.aggregate is Aggregate.AVG},
        bounds={measures[i]: tuple(_unit_bounds(x) for x in measures[i].arguments) for i in opened.values},
        unknown={},
        named=((None,) * len(opened.part.keys),) if opened.selects else opened.part.named,
    ).with_sums(measures)


def _unit_bounds(x: Typed) -> tuple[Fraction, Fraction]:
    assert isinstance(x.kind, Number)  # noqa: S101
    return Fraction(0), max(Fraction(1), x.kind.step)


def with_chosen(question: Prepared, chosen: tuple[tuple[OpenPart, Chosen], ...]) -> Prepared:
    """A question whose grouping sets have what was chosen for them."""
    parts = tuple(
        next((choice.of(part) for opened, choice in chosen if opened.part.same_groups(part)), part)
        for part in question.parts
    )
    return replace(question, asked=replace(question.asked, caps=parts[0].caps), parts=parts)
