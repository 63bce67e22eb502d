"""Tables of one plan made to agree: what a table with more keys says about one with fewer, and the other way round.

Counts of the same rows by different keys have common totals. The least-squares fit to all of them falls apart into one
estimate for each set A of keys: the part of a table that is about A and about no fewer keys (its analysis of variance).
Every table with the keys of A has it, with noise of a known variance; the fit is their mean, weighted by precision
(Xiao et al. 2023, ResidualPlanner). Proof: agreeing_tables.md.

Promise: after the noise, so it costs nothing. Intervals stay where they were and only stretch to the fitted value: they
hold for the same reason as before. Tables that differ by more than noise explains (rows whose keys are not listed
everywhere) are left as they are.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np

from discreet.arrays import Floats
from discreet.messages import message
from discreet.query.answer.answer import TableAnswer
from discreet.query.estimate.estimators import Estimates, Fitted, Plain, Recipe
from discreet.query.estimate.noise_plan import Noised
from discreet.query.estimate.prepare import Part
from discreet.query.estimate.statistics import ONE, Rows, Statistic, Units
from discreet.query.estimate.two_sided_sums import Count
from discreet.query.lower.bounding import each_counts_once
from discreet.query.run import Released

AGREED = message("tables_agree")
TOO_FAR = 6.0
"""Deviations by which tables may differ from what noise explains."""
_COUNTS = (Rows(ONE, 1, Fraction(1), one_sign=True), Units())
"""Units are rows where each counts once."""
Axis = Hashable


@dataclass(frozen=True)
class CountTable:
    """A table of counts: its keys, how many values each has, and the variance of the noise in a cell."""

    sizes: Mapping[Axis, int]
    variance: float

    def variance_of(self, keys: frozenset[Axis]) -> float:
        """Of a total over all keys but these."""
        return self.variance * prod(n for axis, n in self.sizes.items() if axis not in keys)

    @property
    def subsets(self) -> list[frozenset[Axis]]:
        """All sets of its keys."""
        return [frozenset(some) for k in range(len(self.sizes) + 1) for some in combinations(self.sizes, k)]


def shape_of(part: Part, noised: Mapping[Statistic, Noised]) -> CountTable | None:
    """The table of counts in a grouping set; None if it has none, or its keys are not listed."""
    count = _count(part)
    if count is None or part.selects or not part.keys:
        return None
    if any(statistic == Units() for statistic, _ in _shares(count)) and not each_counts_once(part.caps):
        return None
    sizes: dict[Axis, int] = {(key.typed.lowered, key.typed.keys): len(key.typed.keys or ()) for key in part.keys}
    if len(sizes) != len(part.keys):
        return None
    variance = sum(share**2 * float(noised[s].variance) for s, share in _shares(count))
    return CountTable(sizes, variance)


def fitted(tables: Sequence[tuple[CountTable, Floats]]) -> list[Floats] | None:
    """The tables, axes in the order of their shapes, fitted to each other; None if they are too far apart."""
    parts: dict[frozenset[Axis], list[tuple[float, Floats]]] = {}
    for shape, values in tables:
        for some in shape.subsets:
            parts.setdefault(some, []).append((1 / shape.variance_of(some), _part(shape, values, some)))
    means = {}
    for some, weighted in parts.items():
        weights = np.array([weight for weight, _ in weighted])
        mean = sum(weight * part for weight, part in weighted) / weights.sum()
        free = (len(weighted) - 1) * prod(n - 1 for n in mean.shape if n > 1)
        far = sum(float(weight * ((part - mean) ** 2).sum()) for weight, part in weighted)
        if len(weighted) > 1 and far > free + TOO_FAR * np.sqrt(2 * free) + TOO_FAR:
            return None
        means[some] = mean
    made = []
    for shape, values in tables:
        total = np.zeros(values.shape)
        for some in shape.subsets:
            over = prod(n for axis, n in shape.sizes.items() if axis not in some)
            total = total + _along(shape, means[some], some) / over
        made.append(total)
    return made


def _part(shape: CountTable, values: Floats, some: frozenset[Axis]) -> Floats:
    """What a table says about these keys together and about no fewer, with the keys in one order for all tables."""
    away = tuple(i for i, axis in enumerate(shape.sizes) if axis not in some)
    part = values.sum(axis=away)
    for i in range(part.ndim):
        part = part - part.mean(axis=i, keepdims=True)
    own = [axis for axis in shape.sizes if axis in some]
    return np.asarray(np.transpose(part, [own.index(axis) for axis in sorted(own, key=repr)]))


def _along(shape: CountTable, part: Floats, some: frozenset[Axis]) -> Floats:
    """Such a part with the axes of a table."""
    order = sorted(some, key=repr)
    own = [axis for axis in shape.sizes if axis in some]
    turned = np.transpose(part, [order.index(axis) for axis in own])
    return turned.reshape([n if axis in some else 1 for axis, n in shape.sizes.items()])


# --- answers ----------------------------------------------------------------------------------------------------------


def made_to_agree(answers: tuple[TableAnswer, ...]) -> tuple[TableAnswer, ...]:
    """The answers of a plan with counts that agree, where several tables are about the same rows with the same caps."""
    groups: dict[Hashable, list[int]] = {}
    for i, answer in enumerate(answers):
        if len(answer.released) == 1 and _shape(answer.released[0]) is not None:
            part = answer.released[0].part
            groups.setdefault((part.whole, part.caps), []).append(i)
    agreed = list(answers)
    for places in groups.values():
        for i, level in zip(places, _agreeing([answers[i].released[0] for i in places]), strict=True):
            if level is not None:
                answer = answers[i]
                agreed[i] = replace(answer, released=(level,), own_notes=(*answer.own_notes, AGREED))
    return tuple(agreed)


def _agreeing(released: Sequence[Released]) -> list[Released | None]:
    shapes = [_shape(level) for level in released]
    keys = [frozenset(shape.sizes) if shape is not None else frozenset() for shape in shapes]
    first = {some: i for i, some in reversed(list(enumerate(keys)))}  # questions about the same groups share a table
    if len(first) < 2:
        return [None] * len(released)
    tables = {some: _table(shapes[i], released[i]) for some, i in first.items()}
    new = fitted(list(tables.values()))
    if new is None:
        return [None] * len(released)
    moved = {some: level - table for (some, (_, table)), level in zip(tables.items(), new, strict=True)}
    return [
        _moved(level, np.transpose(moved[some], _order(shapes[first[some]], shape)).reshape(-1))
        for level, shape, some in zip(released, shapes, keys, strict=True)
    ]


def _shape(level: Released) -> CountTable | None:
    noised = {s: e.noised for s, e in level.estimates.items()}
    count = _count(level.part)
    if count is None or any(noised.get(s) is None or isinstance(level.estimates[s], Fitted) for s, _ in _shares(count)):
        return None
    return shape_of(level.part, noised)  # type: ignore[arg-type]


def _table(shape: CountTable | None, level: Released) -> tuple[CountTable, Floats]:
    """Released rows are sorted by key: a table in row-major order."""
    count = _count(level.part)
    assert shape is not None  # noqa: S101
    assert count is not None  # noqa: S101
    values = sum(share * level.estimates[s].values for s, share in _shares(count))
    return shape, np.asarray(values).reshape(tuple(shape.sizes.values()))


def _order(first: CountTable | None, own: CountTable | None) -> list[int]:
    assert first is not None  # noqa: S101
    assert own is not None  # noqa: S101
    return [list(first.sizes).index(axis) for axis in own.sizes]


def _count(part: Part) -> Recipe | None:
    """The number of rows of each group, from what is released for it."""
    for recipe in part.recipes:
        sides = getattr(recipe, "sides", None)
        if sides is not None and sides.absent is None and not sides.null_side:
            return Count(sides)
        if isinstance(recipe, Plain) and recipe.statistic in _COUNTS:
            return recipe
    return None


def _shares(count: Recipe) -> list[tuple[Statistic, float]]:
    """The statistics that a count is the weighted sum of."""
    return list(zip(count.parts, count.shares, strict=True)) if isinstance(count, Count) else [(count.statistic, 1.0)]  # type: ignore[attr-defined]


def _moved(level: Released, by: Floats) -> Released:
    """The group's statistics moved so that its count is by so much larger: each in equal measure."""
    count = _count(level.part)
    assert count is not None  # noqa: S101
    shares = _shares(count)
    length = sum(share**2 for _, share in shares)
    estimates: Estimates = dict(level.estimates)
    for statistic, share in shares:
        noisy = level.estimates[statistic]
        values = noisy.values + by * share / length
        estimates[statistic] = Fitted(
            values, noisy.error, noisy.noised, noisy.law, centre=noisy.middle, least=-np.inf, most=np.inf
        )
    return replace(level, estimates=estimates)
