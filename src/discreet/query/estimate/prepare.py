"""From a typed question to what must be computed: its grouping sets, their keys, their statistics and their works.

Everything here follows from the plan and public metadata: no data is touched, nothing is spent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import product
from math import prod
from typing import Any

import numpy as np

from discreet.errors import BadQuestion
from discreet.messages import Message, message
from discreet.query.estimate.choose_estimators import BY_TYPICAL_ROWS, recipes
from discreet.query.estimate.cuts import Cut
from discreet.query.estimate.estimators import Estimates, Recipe
from discreet.query.estimate.noise_plan import Need, Noised, Selection
from discreet.query.estimate.statistics import Bins, Distinct, QuantileCells, Rows, Statistic, Units, most_rows
from discreet.query.lower.bounding import each_counts_once, groups, limit_note, rows, values_kept
from discreet.query.lower.key_tuples import existing
from discreet.query.lower.key_tuples import how_many as how_many_groups
from discreet.query.lower.left_out import rows_left_out
from discreet.query.lower.lower import UNIT, LoweredKey, LoweredMeasure, LoweredQuestion
from discreet.query.lower.narrow_keys import combinations_allowed
from discreet.query.lower.prune import prune
from discreet.query.lower.push_clamps import push_clamps
from discreet.query.lower.relation_facts import ONE_ROW, rows_are_units
from discreet.query.plan.expressions import Call, Expression, Literal, columns
from discreet.query.plan.names import quoted
from discreet.query.plan.nodes import Aggregate, Filter, Outcome, Relation
from discreet.query.plan.schema import Caps
from discreet.query.plan.types import Number, Value
from discreet.query.plan.work import (
    AnyWork,
    Cell,
    ClippedSum,
    DistinctWork,
    RowSum,
    Total,
    TotalsWork,
    UnitSum,
    Weights,
    Work,
    WorkKey,
)

MOST_GROUPS = 1_000_000
PRIME = (1 << 31) - 1
SELECTING = 1.0
MOST_NAMED = 4096
"""More groups that were selected are not listed to an engine: it counts all, and the others are dropped here."""


@dataclass(frozen=True, slots=True)
class Clip:
    """To what the contributions of one unit were scaled down.

    >>> print(Clip("s", "totals", 400.0))
    Totals of s above 400 per unit were scaled down to that; ± leaves this out.
    >>> print(Clip("s", "totals", 400.0, (0.01, 0.006, 0.014), 800.0))  # doctest: +NORMALIZE_WHITESPACE
    Totals of s above 400 per unit were scaled down to that. Over all groups, s is about 1% (0.6 to 1.4%) too low,
    plus what units have above 800.
    """

    column: str
    """The column of the answer, or several; empty for rows, which all columns but sums count."""
    of: str
    """Rows, totals of the column's values, distances of a mean's values from about their middle, distinct values."""
    limit: float
    too_low: tuple[float, float, float] | None = None
    """By which share of itself the column is too low in all groups together, for what units have from ``limit`` to
    ``reach``: an estimate and its 95 % interval. None where there is none."""
    reach: float | None = None
    counts: str = ""
    """Of a clip of rows: the column that counts them, and that ``too_low`` is of."""
    one_sign: bool = True
    """Whether no value is below 0, as far as is declared; if some are, there is no telling what was taken."""
    units: int | None = None
    """So many units are above ``limit``, at most, with a chance of 95 %; what each of them has beyond it is not known.
    None where there is no such number."""

    @staticmethod
    def read(stored: Mapping[str, Any]) -> Clip:
        """One from JSON."""
        too_low = stored.get("too_low")
        return Clip(**{**stored, "too_low": None if too_low is None else tuple(too_low)})

    @property
    def about(self) -> str:
        """The column that ``too_low`` is of."""
        return self.column or self.counts

    @property
    def note(self) -> Message:
        """The same for people."""
        if self.too_low is not None and self.reach is not None:
            if not self.column:
                return message("rows_cut", limit=int(self.limit), too_low=self.too_low, reach=int(self.reach))
            code = "totals_cut" if self.one_sign else "totals_cut_if_positive"
            return message(code, column=self.column, limit=self.limit, too_low=self.too_low, reach=self.reach)
        if self.units is not None and not self.column:
            return message("rows_scaled_of", limit=int(self.limit), units=self.units)
        if self.units is not None and self.of == "totals":
            return message("totals_scaled_of", column=self.column, limit=self.limit, units=self.units)
        if not self.column:
            return message("rows_scaled", limit=int(self.limit))
        if self.of == "distinct values":
            return message("distinct_limited", column=self.column, limit=int(self.limit))
        if self.of == "rows":
            return message("rows_scaled_in", column=self.column, limit=int(self.limit))
        code = "totals_scaled" if self.of == "totals" else "distances_scaled"
        return message(code, column=self.column, limit=self.limit)

    def __str__(self) -> str:
        return str(self.note)


@dataclass(frozen=True, slots=True)
class Part:
    """One grouping set: GROUP BY these keys."""

    whole: Relation
    """The rows, with all columns."""
    caps: Caps
    keys: tuple[LoweredKey, ...]
    measures: tuple[LoweredMeasure, ...]
    recipes: tuple[Recipe, ...]
    notes: tuple[Message, ...] = field(default=(), compare=False)
    """What a reader of the answer should know of its conditions."""
    importance: float = 1.0
    """How much it matters beside other parts, when a price is shared."""
    gaussian: bool = False
    """Whether all noise will be Gaussian, whatever the questions are."""
    given: bool = False
    """Whether its recipes are as whoever made it wants them, and none are chosen for its measures."""
    searches: bool = True
    """Whether quantiles may be searched for; otherwise they are read off a tree."""
    named: tuple[tuple[Value, ...], ...] | None = None
    """The groups that were selected before, where nobody listed them."""
    chosen: bool = False
    """Whether its caps were chosen for it."""
    exists: tuple[tuple[Value, ...], ...] | None = field(default=None, compare=False, repr=False)
    """The combinations of listed keys that key sets let stand together; None: all."""
    cuts: Mapping[str, Cut] = field(default_factory=dict, compare=False)
    """What clips take, by the measure; of rows by the empty name."""
    longer: Mapping[str, int] = field(default_factory=dict, compare=False)
    """How many units have more than a clip, at most; named in the same way."""
    bounded: frozenset[str] = field(default=frozenset(), compare=False)
    """The measures whose bounds were chosen from the data: a number somewhere between these is no answer."""

    @property
    def all_notes(self) -> tuple[Message, ...]:
        """The contribution bound of one unit, what is NULL and why, and what else there is to know."""
        return self.notes_with(self.clips)

    def notes_with(self, clips: Sequence[Clip]) -> tuple[Message, ...]:
        """The same with estimates of what the clips take."""
        gone = rows_left_out(self.keys, self.whole)
        if self.counts_all:
            limits = [message("each_unit_once_per_group" if self.keys else "each_unit_once")]
        elif rows_are_units(self.whole):
            limits = [message("each_unit_once")]
        elif self.chosen:
            limits = [clip.note for clip in clips]
        else:
            limits = [limit_note(self.caps, grouped=bool(self.keys))]
        nulls = [message(m.unknown, column=m.measure.name) for m in self.measures if m.unknown]
        return (*nulls, *self._clamped, *limits, *self.notes, *([] if gone is None else [gone]))

    @property
    def _clamped(self) -> tuple[Message, ...]:
        """Between which ends the values of measures count, where these were chosen."""
        named: dict[tuple[float | date, float | date], list[str]] = {}
        for measure in (m for m in self.measures if m.measure.name in self.bounded and not m.unknown):
            for place, argument in enumerate(measure.arguments, 1):
                assert isinstance(argument.kind, Number)  # noqa: S101 - arguments are in cells
                low, high = (float(end * argument.kind.step) for end in (argument.kind.low, argument.kind.high))
                ends: tuple[float | date, float | date] = low, high
                if measure.span is not None:
                    ends = measure.span.first + timedelta(days=low), measure.span.first + timedelta(days=high)
                name = measure.measure.name
                named.setdefault(ends, []).append(f"{name} (argument {place})" if len(measure.arguments) > 1 else name)
        return tuple(
            message("values_clamped", columns=tuple(names), low=low, high=high) for (low, high), names in named.items()
        )

    @property
    def clips(self) -> tuple[Clip, ...]:
        """How far one unit may reach, as it was chosen: in rows, and in the totals of each measure."""
        if not self.chosen:
            return ()
        statistics = [statistic for recipe in self.recipes for statistic in recipe.needs]
        by_caps = [s for s in statistics if most_rows(s) is None]
        by_rows = any(isinstance(s, Bins | QuantileCells) or (isinstance(s, Rows) and not s.clip) for s in by_caps)
        clips = [Clip("", "rows", float(rows(self.caps)), units=self.longer.get(""))] if by_rows else []
        named: dict[tuple[str, float], list[str]] = {}
        for measure in self.measures:
            kind = measure.arguments[0].kind if measure.arguments else None
            if measure.clip is not None and measure.measure.aggregate in BY_TYPICAL_ROWS:
                named.setdefault(("rows", float(measure.clip)), []).append(measure.measure.name)
            elif measure.clip is not None and measure.measure.aggregate is Aggregate.COUNT_DISTINCT:
                named.setdefault(("distinct values", float(measure.clip)), []).append(measure.measure.name)
            elif measure.clip is not None and isinstance(kind, Number):
                of = "distances from the centre" if measure.centre else "totals"
                named.setdefault((of, float(measure.clip * kind.step)), []).append(measure.measure.name)
        clips += [
            Clip(", ".join(names), of, limit, units=self.longer.get(names[0])) for (of, limit), names in named.items()
        ]
        return tuple(clips)

    def clips_of(self, estimates: Estimates) -> tuple[Clip, ...]:
        """The clips, with what they take of all groups together as far as that was estimated."""
        return tuple(self._estimated(clip, estimates) for clip in self.clips)

    def _estimated(self, clip: Clip, estimates: Estimates) -> Clip:
        cut = self.cuts.get(clip.column)
        measures = zip(self.measures, self.recipes, strict=True)
        measured = next(
            ((m, r) for m, r in measures if (m.measure.name == clip.column if clip.column else counts_rows(m))), None
        )
        if cut is None or measured is None or clip.of not in {"rows", "totals"}:
            return clip
        measure, recipe = measured
        kind = measure.arguments[0].kind if measure.arguments else None
        step = float(kind.step) if isinstance(kind, Number) else 1.0
        share = cut.share_of(float(np.nansum(recipe.value(estimates))) / step)
        one_sign = not isinstance(kind, Number) or kind.low >= 0
        return replace(
            clip,
            too_low=share,
            reach=cut.reach * step,
            counts="" if clip.column else measure.measure.name,
            one_sign=one_sign,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the measures."""
        return tuple(m.measure.name for m in self.measures)

    @property
    def source(self) -> Relation:
        """The rows, with the columns that are used."""
        used = [key.typed.lowered for key in self.keys]
        used += [s.value for s in self.need.statistics if not isinstance(s, Units)]
        return prune(self.whole, frozenset({UNIT}).union(*map(columns, used)))

    @property
    def selects(self) -> bool:
        """Whether there is a key that nobody listed, and groups are to be selected."""
        return self.named is None and any(key.typed.keys is None for key in self.keys)

    @property
    def need(self) -> Need:
        """The statistics, and how much each matters."""
        weights: dict[Statistic, float] = {}
        for recipe in self.recipes:
            for statistic, weight in recipe.needs.items():
                weights[statistic] = weights.get(statistic, 0.0) + self.importance * weight
        if self.selects:
            weights[Units()] = weights.get(Units(), 0.0) + self.importance * SELECTING
        return Need(caps=self._within_groups, statistics=weights, grouped=bool(self.keys), selects=self.selects)

    @property
    def group_count(self) -> int | None:
        """How many groups there are; None if some keys are not listed."""
        if self.named is not None:
            return len(self.named)
        if self.exists is not None:
            return len(self.exists)
        return None if self.selects else prod(len(key.typed.keys or ()) for key in self.keys)

    @property
    def counts_all(self) -> bool:
        """Whether no cap cuts anything: only units are counted, in no more groups than the caps allow."""
        units = all(statistic == Units() for recipe in self.recipes for statistic in recipe.needs)
        fits = not self.keys or (self.group_count is not None and self.group_count <= groups(self.caps))
        return units and fits and not self.caps.auto

    @property
    def _within_groups(self) -> Caps:
        """The caps, with no more groups than there are: no unit has more, so it costs nothing and spares noise."""
        if not self.keys or self.group_count is None or self.caps.auto:
            return self.caps
        return replace(self.caps, max_rows=rows(self.caps), max_groups=max(1, min(groups(self.caps), self.group_count)))

    def listed(self, place: int) -> tuple[Value, ...] | None:
        """The values of a key that count: those that are listed, or those of the groups that were selected, if few."""
        listed = self.keys[place].typed.keys
        if listed is not None or self.named is None or len(self.named) > MOST_NAMED:
            return listed
        return tuple(dict.fromkeys(group[place] for group in self.named)) or (None,)

    def same_groups(self, other: Part) -> bool:
        """Whether both are about the same groups of the same rows, so that they can share statistics."""
        mine, theirs = self.whole, other.whole
        filtered = mine.predicate if isinstance(mine, Filter) else None
        if mine is not theirs and filtered != (theirs.predicate if isinstance(theirs, Filter) else None):
            return False  # where two questions differ: all that is below is long, and mostly equal
        return (mine, self.caps, self.keys, self.named) == (theirs, other.caps, other.keys, other.named)

    def asking(self, measures: tuple[LoweredMeasure, ...]) -> Part:
        """The same groups with these measures, each with its recipe."""
        once = bool(self.keys) and each_counts_once(self.caps)
        many = self.group_count if self.searches else None
        chosen = recipes(measures, once=once, selects=self.selects, gaussian=self.gaussian, groups=many)
        return replace(self, measures=measures, recipes=chosen)

    def with_gaussian_noise(self) -> Part:
        """The same with the recipes that are best when all noise is Gaussian."""
        gaussian = replace(self, gaussian=True)
        return gaussian if self.given else gaussian.asking(self.measures)

    def with_trees(self) -> Part:
        """The same with all quantiles off trees, if several of one column are searched for."""
        several = any(isinstance(s, QuantileCells) and len(s.levels) > 1 for r in self.recipes for s in r.needs)
        return replace(self, searches=False).asking(self.measures) if several else self

    def joined(self, others: Sequence[Part]) -> Part:
        """All together, statistics that several need once."""
        if not others:
            return self
        parts = (self, *others)
        measures = tuple(measure for part in parts for measure in part.measures)
        importance = max(part.importance for part in parts)
        if all(part.given for part in parts):
            made = tuple(recipe for part in parts for recipe in part.recipes)
            return replace(self, measures=measures, recipes=made, importance=importance)
        return replace(self.asking(measures), importance=importance, given=False)

    def made_by(self, recipes: Mapping[LoweredMeasure, Recipe]) -> Part:
        """This part with the recipes that its measures have in a joint one."""
        return replace(self, recipes=tuple(recipes[measure] for measure in self.measures))

    def shown(self, keys: Sequence[tuple[Value, ...]]) -> list[bool]:
        """Which of these groups are shown: all but those whose keys cannot stand together, as conditions say."""
        is_allowed = combinations_allowed({key.name: key.typed.lowered for key in self.keys}, self.whole)
        return [is_allowed is None or is_allowed(key) for key in keys]

    def domain(self) -> tuple[tuple[Value, ...], ...] | None:
        """All combinations of listed keys, in engine terms; None if some are not listed."""
        if self.selects or self.named is not None:
            return self.named
        return self.exists if self.exists is not None else tuple(product(*(key.typed.keys or () for key in self.keys)))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A question, ready to be priced."""

    asked: LoweredQuestion
    parts: tuple[Part, ...]
    beside: tuple[Prepared, ...] = ()
    """Further questions whose released rows the outcome uses."""

    @property
    def all(self) -> tuple[Prepared, ...]:
        """All questions that are released."""
        return self, *self.beside

    @property
    def outcome(self) -> Outcome:
        """What happens to the released rows."""
        return self.asked.outcome


def prepare(question: LoweredQuestion) -> Prepared:
    """The grouping sets of a question with their recipes; refuses what cannot be answered."""
    if not question.measures and not any(key.typed.keys is None for key in question.keys):
        raise BadQuestion("nothing is asked of the data here: add an aggregate such as COUNT(*)")
    by_name = {key.name: key for key in question.keys}
    if question.caps.auto and not question.keys and _counts_units(question):
        question = replace(question, caps=ONE_ROW)
    parts = []
    for names in question.sets:
        keys = tuple(by_name[name] for name in names)
        listed = {key.name: key.typed.keys for key in keys}
        _check_keys(keys, how_many_groups(listed, question.key_sets))
        exists = existing(listed, question.key_sets)
        if exists == ():
            raise BadQuestion("the conditions leave no combination of keys that exists; change them")
        whole = _in_some_group(question.whole, [key for key in question.keys if key.name not in names])
        part = Part(whole, question.caps, keys, (), (), question.notes, exists=exists)
        parts.append(part.asking(question.measures))
    return Prepared(question, tuple(parts), tuple(prepare(other) for other in question.beside))


def _counts_units(question: LoweredQuestion) -> bool:
    """Whether only units are counted, each once, so that no cap is needed."""
    chosen = recipes(question.measures)
    return all(statistic == Units() for recipe in chosen for statistic in recipe.needs)


def _in_some_group(whole: Relation, away: list[LoweredKey]) -> Relation:
    """A total counts the rows of the groups that it is the total of: what is in no finer group is in no total."""
    tests = [_listed(key.typed.lowered, key.typed.keys) for key in away if key.typed.keys is not None]
    if not tests:
        return whole
    return Filter(whole, tests[0] if len(tests) == 1 else Call("and", tuple(tests)))


def _listed(key: Expression, keys: tuple[Value, ...]) -> Expression:
    values = tuple(Literal(value) for value in keys if value is not None)
    ways: list[Expression] = [Call("in", (key, *values))] if values else []
    if None in keys:
        ways.append(Call("is_null", (key,)))
    return ways[0] if len(ways) == 1 else Call("or", tuple(ways))


def _check_keys(keys: tuple[LoweredKey, ...], many: int) -> None:
    for key in keys:
        typed = key.typed
        if typed.is_unit:
            raise BadQuestion(
                f"{quoted(key.name)} is the unit itself: groups of one person each cannot be released; "
                "group by it in a subquery, and aggregate across people outside"
            )
        if isinstance(typed.kind, Number) and typed.kind.step.denominator != 1:
            raise BadQuestion(
                f"{quoted(key.name)} is not an integer: round it before grouping, as in FLOOR({quoted(key.name)})"
            )
    if many > MOST_GROUPS:
        raise BadQuestion(f"there are {many:,} combinations of keys, and at most {MOST_GROUPS:,} can be answered")


def counts_rows(measure: LoweredMeasure) -> bool:
    """Whether it is the number of all rows."""
    return measure.measure.aggregate is Aggregate.COUNT and not measure.arguments and measure.where is None


# --- works ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Job:
    """A work, and which statistic each of its numbers is."""

    work: AnyWork
    statistics: tuple[Statistic, ...]


def _line(salt: str) -> tuple[int, int]:
    """Coefficients of a line modulo 2^31 - 1, from the secret salt; the slope is not 0."""
    return 1 + int(salt[:15], 16) % (PRIME - 1), int(salt[15:30] or "0", 16) % PRIME


def jobs(part: Part, noised: Mapping[Statistic, Noised], selection: Selection | None, salt: str) -> tuple[Job, ...]:
    """What the engine must compute for one grouping set: row sums together, the rest one by one.

    Where keys are selected, the job with the units comes first: its groups are all that there are.
    """
    read = [s.value for s in noised if not isinstance(s, Units)]
    source, moved = push_clamps(part.source, [*(key.typed.lowered for key in part.keys), *read])
    keys = tuple(WorkKey(key.name, moved(key.typed.lowered), part.listed(place)) for place, key in enumerate(part.keys))
    most = None if selection is None else selection.most_keys

    def work(
        cells: tuple[Cell, ...],
        weights: Weights,
        split: WorkKey | None = None,
        pick: tuple[int, int] | None = None,
    ) -> Work:
        return Work(
            source=source,
            unit=UNIT,
            keys=keys,
            cells=cells,
            weights=weights,
            split=split,
            pick=pick,
            most_keys=most,
            salt="" if most is None else salt,
        )

    totals = [(s, noised_one) for s, noised_one in noised.items() if isinstance(s, Rows) and s.clip is not None]
    together: dict[Weights, list[Rows | Units]] = {}
    alone: list[Job] = []
    for statistic, noised_one in noised.items():
        match statistic:
            case Rows(clip=int()):
                continue
            case Rows() | Units():
                together.setdefault(noised_one.weights, []).append(statistic)
            case Bins(value=value, whole=whole) | QuantileCells(bins=Bins(value=value, whole=whole)):
                split = WorkKey("__bin", moved(value), None)
                # Of many fine bins one is as good as another: picking one is half the work of spreading over all.
                pick = _line(salt) if noised_one.weights.per_group == 1 and keys and not whole else None
                alone.append(Job(work((RowSum(Literal(1)),), noised_one.weights, split, pick), (statistic,)))
            case Distinct(value=value, own=own, most=most_pairs):
                cap = most_pairs or values_kept(part.need.caps, own=own, grouped=bool(part.keys))
                distinct = DistinctWork(source=source, unit=UNIT, keys=keys, value=moved(value), cap=cap, salt=salt)
                alone.append(Job(distinct, (statistic,)))
    sums = [
        Job(
            work(tuple(RowSum(moved(s.value)) if isinstance(s, Rows) else UnitSum() for s in statistics), weights),
            tuple(statistics),
        )
        for weights, statistics in together.items()
    ]
    sums.sort(key=lambda job: Units() not in job.statistics)
    if totals:
        cells = tuple(ClippedSum(Total(moved(s.value)), noised_one.weights.cap) for s, noised_one in totals)
        clipped = TotalsWork(
            source=source,
            unit=UNIT,
            keys=keys,
            cells=cells,
            scale=totals[0][1].scale,
            most_keys=most,
            salt="" if most is None else salt,
        )
        sums.append(Job(clipped, tuple(s for s, _ in totals)))
    return (*sums, *alone)
