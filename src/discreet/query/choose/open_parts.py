"""What a query leaves open, from its plan and public metadata alone: caps and bounds that nobody declared.

A sum whose values or rows are not bounded is clipped by the totals of units. Counts, means and the rest keep a cap on
rows, and values are clamped; keys that nobody listed are selected before anything else is asked of their groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeVar

from discreet.query.estimate.choose_estimators import BY_TYPICAL_ROWS
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
_FEW_VALUES = 16
_BY_REACH = frozenset(
    {
        Aggregate.AVG,
        Aggregate.VARIANCE,
        Aggregate.STDDEV,
        Aggregate.COVARIANCE,
        Aggregate.CORRELATION,
    }
)
"""What gets noise as large as values may be."""


@dataclass(frozen=True, slots=True)
class OpenPart:
    """A grouping set and what is to be chosen for it."""

    part: Part
    rows: bool
    """How many rows of a unit count."""
    typical: tuple[int, ...]
    """The measures, by place, of how values are spread: how many rows of a unit count there is chosen apart."""
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
    def by_values(self) -> tuple[LoweredMeasure, ...]:
        """The measures for which something is chosen by their values."""
        return (*(self.part.measures[place] for place in (*self.clipped, *self.values)), *self.distinct)

    @property
    def clips(self) -> int:
        """How many clips are chosen, one ascent each: of rows, of rows where values are typical, then of measures."""
        return self.rows + bool(self.typical) + len(self.clipped)

    @property
    def of_typical(self) -> tuple[LoweredMeasure, ...]:
        """The measures of how values are spread."""
        return tuple(self.part.measures[place] for place in self.typical)

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
        by_rows = (Total(ONE),) * (self.rows + bool(self.typical))
        return (*by_rows, *(_summed(m, centres.get(m, 0)) for m in measures))

    @property
    def selects(self) -> bool:
        """Whether keys are to be selected first."""
        return self.part.selects


def open_part(part: Part) -> OpenPart | None:
    """What is open in a grouping set; None if nothing is, and all is answered in one step."""
    auto = part.caps.auto
    measures = list(enumerate(part.measures))
    sums = {i for i, m in measures if m.measure.aggregate is Aggregate.SUM and (auto or m.open)}
    values = tuple(i for i, m in measures if i not in sums and (m.open or (auto and _may_lie_close(m))))
    means = {i for i in values if part.measures[i].measure.aggregate is Aggregate.AVG}
    made = {i for i in sums if mean_of(part.measures[i], [part.measures[mean] for mean in means]) is not None}
    clipped = tuple(i for i, _ in measures if i in (sums - made) | means)
    typical = tuple(i for i, m in measures if auto and m.measure.aggregate in BY_TYPICAL_ROWS)
    others = [m for i, m in measures if i not in sums and i not in typical]
    rows = auto and any(m.measure.aggregate is not Aggregate.COUNT_UNITS for m in others)
    counts_units = any(m.measure.aggregate is Aggregate.COUNT_UNITS for m in others)
    groups = auto and bool(part.keys) and counts_units and part.caps.max_groups is None
    selects = auto and part.selects
    opened = OpenPart(part, rows, typical, groups, clipped, values)
    return opened if opened.clips or groups or values or selects else None


def _may_lie_close(measure: LoweredMeasure) -> bool:
    """Of bounded values: whether they may lie much closer together than their bounds, which is worth a look."""
    kinds = [x.kind for x in measure.arguments]
    wide = all(isinstance(kind, Number) and kind.high - kind.low >= _FEW_VALUES for kind in kinds)
    return measure.measure.aggregate in _BY_REACH and measure.span is None and wide


def may_be_unknown(measure: LoweredMeasure) -> bool:
    """Whether it is NULL where a clip or bounds cannot be chosen; others have declared bounds to fall back on."""
    return measure.open or measure.measure.aggregate is Aggregate.SUM


def mean_of(measure: LoweredMeasure, means: Iterable[LoweredMeasure]) -> LoweredMeasure | None:
    """Of a sum: the one of these means that is of the same values, whose centre, distances and count it is made of."""

    def same(other: LoweredMeasure) -> bool:
        return (other.arguments, other.where, other.span) == (measure.arguments, measure.where, measure.span)

    return next(filter(same, means), None) if measure.measure.aggregate is Aggregate.SUM else None


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
    return tuple(opened for part in joint if (opened := open_part(part)) is not None)


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
    longer: dict[LoweredMeasure | None, int] = field(default_factory=dict)
    """How many units have more than a clip, at most."""

    def with_sums(self, measures: tuple[LoweredMeasure, ...]) -> Chosen:
        """With what was chosen for means, for the sums beside them."""
        chosen_for = self.bounds.keys() | self.unknown.keys()
        means = [m for m in measures if m.measure.aggregate is Aggregate.AVG and m in chosen_for]
        pairs = [(measure, mean) for measure in measures if (mean := mean_of(measure, means)) is not None]

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
        names: dict[LoweredMeasure | None, str] = {m: m.measure.name for m in part.measures} | {None: ""}
        cuts = {name: self.cuts[m] for m, name in names.items() if m in self.cuts}
        longer = {name: self.longer[m] for m, name in names.items() if m in self.longer}
        bounded = frozenset(m.measure.name for m in part.measures if m in self.bounds)
        made = replace(part, caps=self.caps, named=self.named, chosen=True, cuts=cuts, longer=longer, bounded=bounded)
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
        clips={measures[i]: FINEST for i in opened.clipped}
        | dict.fromkeys((*opened.distinct, *opened.of_typical), MAX_ROWS),
        centres={measures[i]: 1 for i in opened.values if measures[i].measure.aggregate is Aggregate.AVG},
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
