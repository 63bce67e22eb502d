"""Histograms in which one unit weighs one, however many rows it has: sizes of groups, and values by their size.

Guarantee: adding or removing a unit moves each histogram by at most 1 in L1, as bounding to one row does
(``lower/bounding.md``). They are questions like any other, priced by ``noise_plan``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.query.choose.classes import SIGNED_POWERS, power_of_two
from discreet.query.choose.open_parts import OpenPart
from discreet.query.estimate import statistics as st
from discreet.query.estimate.error_bounds import weighted_error
from discreet.query.estimate.estimators import Plain
from discreet.query.estimate.prepare import Part, Prepared
from discreet.query.functions.dates import OPEN_DAYS
from discreet.query.functions.typed_values import Typed
from discreet.query.lower.lower import UNIT, LoweredKey, LoweredMeasure
from discreet.query.lower.relation_facts import ONE_ROW
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Aggregate, Measure, Outcome, Project, Relation
from discreet.query.plan.types import Number

Counts = NDArray[np.float64]
_CELLS, _CLASS, _COUNT = "__cells", "__class", "__n"
_SURE = 0.001
_WINDOWS = (1, 2, 4, 8)
_YEAR = 366
_YEARS = OPEN_DAYS[1].year - OPEN_DAYS[0].year + 1
COUNTED = st.Rows(st.ONE, 1, Fraction(1), one_sign=True)


def sizes_of_groups(question: Prepared, opened: OpenPart) -> Prepared:
    """How many units are in each listed group, where a unit of several groups is shared among them."""
    return _histogram(question, opened.part.whole, opened.part.keys, opened.part.importance)


def values_of(question: Prepared, opened: OpenPart, measure: LoweredMeasure, argument: int) -> Prepared:
    """How the values of an argument are spread over public classes: signs and powers of two, or years."""
    x = measure.arguments[argument]
    cells: Expression = x.lowered
    if measure.where is not None:
        cells = Call("case", (measure.where, cells, Literal(None)))
    rows = Project(opened.part.whole, ((_CELLS, cells), (UNIT, Column(UNIT))))
    labels, lowered = _classes(measure, x)
    keys = (*labels, labels[-1] + 1)  # the last one is NULL: engines are slow with NULL among listed keys
    lowered = Call("case", (Call("is_null", (Column(_CELLS),)), Literal(keys[-1]), lowered))
    kind = Number(Fraction(1), keys[0], keys[-1])
    key = LoweredKey(_CLASS, Typed(kind, nullable=False, keys=keys, lowered=lowered))
    return _histogram(question, rows, (key,), 1.0)


def _classes(measure: LoweredMeasure, x: Typed) -> tuple[tuple[int, ...], Expression]:
    if measure.span is None:
        return SIGNED_POWERS, power_of_two(Column(_CELLS))
    assert isinstance(x.kind, Number)  # noqa: S101
    year = int(_YEAR / x.kind.step)
    return tuple(range(_YEARS + 1)), Call("floor_div", (Column(_CELLS), Literal(year)))


def _histogram(question: Prepared, rows: Relation, keys: tuple[LoweredKey, ...], importance: float) -> Prepared:
    measure = LoweredMeasure(Measure(_COUNT, Aggregate.COUNT), (), None)
    recipe = Plain(COUNTED, is_whole=False)
    part = Part(rows, ONE_ROW, keys, (measure,), (recipe,), importance=importance, given=True)
    histogram = replace(
        question.asked,
        source=rows,
        whole=rows,
        keys=keys,
        measures=(measure,),
        outcome=Outcome(((_COUNT, Column(_COUNT)),)),
        sets=(tuple(key.name for key in keys),),
        caps=ONE_ROW,
        beside=(),
    )
    return Prepared(histogram, (part,))


@dataclass(frozen=True, slots=True)
class ReleasedHistogram:
    """Noisy numbers of units in classes that are in order, and the scale of their noise."""

    counts: Counts
    scale: float
    gaussian: bool

    def typical_groups(self) -> float | None:
        """All units divided by those of a typical group; None where noise hides what a typical group is."""
        middle = float(np.median(self.counts))
        if middle < 3 * self.scale / len(self.counts) ** 0.5:
            return None
        return max(float(self.counts.sum()), middle) / middle

    def outermost(self) -> tuple[int, int] | None:
        """The first and the last class that surely hold something, alone or with some beyond; None if none does."""
        places = range(len(self.counts))
        above = [i for i in places if self._stands_out(self.counts[i:])]
        below = [i for i in places if self._stands_out(self.counts[i::-1])]
        return (min(below[0], above[-1]), max(below[0], above[-1])) if above and below else None

    def _stands_out(self, outward: Counts) -> bool:
        return any(
            float(outward[:many].sum()) > self.least(many, len(self.counts))
            for many in _WINDOWS
            if many <= len(outward)
        )

    def least(self, many: int, classes: int) -> float:
        """How many units so many classes together must hold to stand out from noise; all tests of a histogram
        together are wrong with a chance of one in a thousand.
        """
        miss = _SURE / (len(_WINDOWS) * classes)
        return weighted_error(self.scale, [1.0] * many, miss, gaussian=self.gaussian)


def bounds_from(
    histogram: ReleasedHistogram, measure: LoweredMeasure, argument: int
) -> tuple[Fraction, Fraction] | None:
    """Between which values an argument lies, but for a few; None if no class stands out from the noise."""
    x = measure.arguments[argument]
    assert isinstance(x.kind, Number)  # noqa: S101
    ends = replace_counts(histogram, histogram.counts[:-1]).outermost()
    if ends is None:
        return None
    if measure.span is not None:
        return Fraction(ends[0] * _YEAR), Fraction((ends[1] + 1) * _YEAR)
    low, high = (SIGNED_POWERS[end] for end in ends)
    step = x.kind.step
    least = -_size(-low) if low < 0 else (_size(low - 1) if low > 0 else Fraction(0))
    most = _size(high) if high > 0 else (-_size(-high - 1) if high < 0 else Fraction(0))
    return least * step, max(most, least + 1) * step


def centre_from(histogram: ReleasedHistogram, measure: LoweredMeasure, bounds: tuple[Fraction, Fraction]) -> int:
    """About the mean of the values, in cells: distances from there have both signs, and add up to little in a unit."""
    x = measure.arguments[0]
    assert isinstance(x.kind, Number)  # noqa: S101
    first, last = (int(end / x.kind.step) for end in bounds)
    ends = replace_counts(histogram, histogram.counts[:-1]).outermost()
    assert ends is not None, "there are bounds"  # noqa: S101
    places = range(ends[0], ends[1] + 1)
    counts = histogram.counts[ends[0] : ends[1] + 1]
    middles = np.array([_middle(measure, place, x.kind.step) for place in places])
    mean = float(counts @ middles) / max(float(counts.sum()), 1.0)
    return round(min(max(mean, first), last))


def _middle(measure: LoweredMeasure, place: int, step: Fraction) -> float:
    """About the mean of the values of a class, in cells: their logarithms are spread evenly, or they are themselves."""
    if measure.span is not None:
        return float((place + Fraction(1, 2)) * _YEAR / step)
    power = SIGNED_POWERS[place]
    return math.copysign(2.0 ** (abs(power) - 1) / math.log(2), power) if power else 0.0


def replace_counts(histogram: ReleasedHistogram, counts: Counts) -> ReleasedHistogram:
    """The same noise in other classes."""
    return ReleasedHistogram(counts, histogram.scale, histogram.gaussian)


def _size(power: int) -> Fraction:
    return Fraction(1 << power) if power > 0 else Fraction(0)
