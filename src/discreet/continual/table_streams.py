"""A question about a table as streams: its statistics by group, with noise that holds for the whole horizon.

Guarantee: for one unit that is counted on at most ``days`` days, whatever rows it has on each of them, all that is
released over the whole horizon keeps ``budget``. Proof: by_day.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.continual.attendance import Attendance
from discreet.continual.counter import DENSE, Method, choose, read_method
from discreet.continual.release import Plan, Stream
from discreet.continual.strategies import Appearances, Strategy
from discreet.errors import BadParameter, BadQuestion
from discreet.exact import integer
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.statistics.budget import Moves, noise_for
from discreet.mechanisms.statistics.error_bounds import Sums
from discreet.messages import message
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.estimate.error_bounds import Share, sum_error
from discreet.query.estimate.estimators import Estimate, Estimates
from discreet.query.estimate.noise_plan import Noised, plan_noise
from discreet.query.estimate.prepare import Job, Part, Prepared, jobs
from discreet.query.estimate.statistics import Rows, Statistic, Units, paid_with
from discreet.query.lower.lower import UNIT
from discreet.query.plan.expressions import Column
from discreet.query.plan.types import Text, Value
from discreet.query.plan.work import Exact, UnitSums, Work, WorkKey

_WHOSE = "__whose"


@dataclass(frozen=True, slots=True)
class TableStream:
    """Statistics that are paid for together: one stream with a column for each of them and each group."""

    noised: Mapping[Statistic, Noised]
    """With the noise of the stream."""
    plan: Plan


@dataclass(frozen=True, slots=True)
class TablePlan:
    """What is fixed before the first day: groups, strategy, noise and price."""

    part: Part
    groups: tuple[tuple[Value, ...], ...]
    daily: Mapping[Statistic, Noised]
    """How rows are weighed within a day."""
    streams: tuple[TableStream, ...]
    strategy: Strategy
    days: int
    """On how many days of the horizon a unit is counted."""
    budget: Pure | ZCDP
    unit_kind: Literal["text", "numbers"]
    """What names units: 7 and "7" are two, so that whoever is counted must go by one of them on all days."""

    @property
    def horizon(self) -> int:
        """How many days were paid for."""
        assert self.strategy.horizon is not None  # noqa: S101
        return self.strategy.horizon

    @property
    def event(self) -> events.Event:
        """What the whole horizon writes into the ledger, once."""
        return events.Pure(self.budget.epsilon) if isinstance(self.budget, Pure) else events.ZCDP(self.budget.rho)

    @property
    def capped(self) -> bool:
        """Whether days of units must be counted: not if every day counts."""
        return self.days < self.horizon

    def story(self) -> str:
        """One line on what gets noise."""
        noise = "discrete Laplace" if isinstance(self.budget, Pure) else "discrete Gaussian"
        return f"{self.strategy.story()}; {noise} noise"

    def fingerprint(self) -> str:
        """What two plans must agree on to go on with one state."""
        plans = " | ".join(
            f"{stream.plan.fingerprint()}; {', '.join(str(noised.unit) for noised in stream.noised.values())}"
            for stream in self.streams
        )
        return f"{self.groups!r}; {self.part.caps}; {self.days} of {self.horizon} days; {plans}"

    def todo(self, today: Prepared) -> tuple[Job, ...]:
        """What the engine computes for a day; where days are capped, unit by unit."""
        part = _only_part(today)
        if not _same(part, self.part):
            raise BadQuestion("the query changes with the day: it must not use the column of the day")
        todo = jobs(part, self.daily, None, "")
        return tuple(replace(job, work=_by_unit(job.work)) for job in todo) if self.capped else todo

    def in_arrays(self, todo: Sequence[Job]) -> bool:
        """Whether the numbers of all units may come as arrays: every other key lists its values, none of them NULL."""
        keys = [key for job in todo if isinstance(job.work, Work) for key in job.work.keys[:-1]]
        return self.capped and all(key.allowed is not None and None not in key.allowed for key in keys)

    def values(
        self, answered: Sequence[tuple[Job, Exact | UnitSums]], attendance: Attendance | None
    ) -> list[NDArray[Any]]:
        """For each stream the exact values of a day, one line."""
        places = {key: i for i, key in enumerate(self.groups)}
        counted = None
        if attendance is not None:
            counted = attendance.count({unit for _, exact in answered for unit in _units(exact)})
        sums: dict[Statistic, NDArray[Any]] = {}
        for job, exact in answered:
            rows = _rows(job, exact, places, counted)
            for statistic, numbers in zip(job.statistics, exact.numbers, strict=True):
                sums[statistic] = _added(rows, numbers, len(places))
        return [np.concatenate([sums[s] for s in stream.noised])[None, :] for stream in self.streams]

    def start(self) -> list[Stream]:
        """New streams, before the first day."""
        return [Stream(stream.plan, len(stream.noised) * len(self.groups)) for stream in self.streams]

    def estimates(self, sums: Sequence[Floats], t: int, width: int) -> Estimates:
        """The statistics over the last ``width`` days up to day t, from the released sums of each stream over them."""
        estimates: Estimates = {}
        for stream, line in zip(self.streams, sums, strict=True):
            for (statistic, noised), cells in zip(
                stream.noised.items(), line.reshape(len(stream.noised), -1), strict=True
            ):
                estimates[statistic] = self.estimate(noised, cells * float(noised.unit), t, width)
        return estimates

    def estimate(self, noised: Noised, values: Floats, t: int, width: int) -> Estimate:
        """A statistic over the last ``width`` days with the law of its error."""
        weight = self.strategy.window_weight(t, width)
        if not isinstance(noised.noise, Gaussian):
            bar = Sums(noised.noise, weight, 1, self.strategy.terms(t) if width == t else ())
            return Estimate(
                values, lambda miss: bar.error_at(1 - Fraction(max(miss, 1e-15))) * float(noised.unit), noised
            )
        many = self.strategy.rows_between(0, t)  # Σ |w| <= √(many Σ w²): so many equal weights are the worst case
        law = (Share(noised, math.sqrt(float(weight) / many), many),)
        return Estimate(values, partial(sum_error, law), noised, law)

    def noised(self, statistic: Statistic) -> Noised:
        """A statistic with the noise of its stream."""
        return next(stream.noised[statistic] for stream in self.streams if statistic in stream.noised)


def plan_table(
    prepared: Prepared,
    budget: Pure | ZCDP,
    neighbours: Neighbours,
    *,
    horizon: int,
    days: int | None,
    method: Method | str = Method.BEST,
) -> TablePlan:
    """The streams of a question, from public things alone."""
    last = integer(horizon, "horizon", at_least=1)
    if last > DENSE:
        raise BadParameter("horizon", horizon, f"must be at most {DENSE} days")
    most = last if days is None else integer(days, "days", at_least=1)
    if most > last:
        raise BadParameter("days", days, f"must be at most the horizon, which is {last}")
    part = _only_part(prepared)
    groups = part.domain()
    if groups is None:
        raise BadQuestion("a dashboard needs public groups", message("listed_groups"))
    daily = plan_noise((part.need,), budget, neighbours).sets[0]
    moved = most if neighbours is Neighbours.ADD_REMOVE else min(2 * most, last)  # a changed unit: old days and new
    unit = Appearances(steps=moved)
    wanted = read_method(method)
    if wanted is Method.BINNED:
        raise BadParameter("method", wanted.value, "must be another one: bins are for longer streams")
    strategy = choose(last, budget, wanted, unit)
    return TablePlan(
        part=part,
        groups=tuple(sorted(groups, key=lambda key: [(v is None, v) for v in key])),
        daily=daily,
        streams=_streams(daily, strategy, strategy.moves(unit)),
        strategy=strategy,
        days=most,
        budget=budget,
        unit_kind="text" if isinstance(prepared.asked.unit_kind, Text) else "numbers",
    )


def _streams(daily: Mapping[Statistic, Noised], strategy: Strategy, moves: Moves) -> tuple[TableStream, ...]:
    """One stream for what is paid for together, at the share of the budget that it has within a day."""
    together: dict[object, dict[Statistic, Noised]] = {}
    for statistic, noised in daily.items():
        together.setdefault(paid_with(statistic), {})[statistic] = noised
    streams = []
    for shared in together.values():
        noise = next(iter(shared.values())).noise
        if isinstance(noise, Gaussian):
            share: Pure | ZCDP = noise.price
            total = Moves(0, noise.moves_squared * moves.l2_squared)
        else:
            share, total = noise.price, Moves(noise.moves * moves.l1, 0)
        drawn = noise_for(share, total, 2)
        streams.append(
            TableStream(
                {s: replace(noised, noise=drawn) for s, noised in shared.items()}, Plan(strategy, drawn, wide=True)
            )
        )
    return tuple(streams)


def _only_part(prepared: Prepared) -> Part:
    (part,) = prepared.parts
    if not all(isinstance(statistic, Rows | Units) for statistic in part.need.statistics):
        raise BadQuestion("over days only COUNT, SUM and AVG can be added up")
    return part


def _same(first: Part, second: Part) -> bool:
    """Whether two days' questions have the same groups, statistics and caps: all but the rows."""
    return (first.caps, first.keys, first.recipes, first.need) == (
        second.caps,
        second.keys,
        second.recipes,
        second.need,
    )


def _by_unit(work: Any) -> Work:
    """The same sums unit by unit: weights are made of a unit's own rows, so they are the same."""
    assert isinstance(work, Work)  # noqa: S101
    return replace(work, keys=(*work.keys, WorkKey(_WHOSE, Column(UNIT), None)))


def _units(exact: Exact | UnitSums) -> Iterable[Value]:
    return exact.whose if isinstance(exact, UnitSums) else (key[-1] for key in exact.keys)


def _rows(
    job: Job, exact: Exact | UnitSums, places: Mapping[tuple[Value, ...], int], counted: set[Value] | None
) -> NDArray[np.intp]:
    """Where each row of a reply belongs; -1: nowhere, or to a unit that is not counted."""
    if not isinstance(exact, UnitSums):
        return _places(exact.keys, places, counted)
    assert isinstance(job.work, Work)  # noqa: S101
    listed = product(*(key.allowed or () for key in job.work.keys[:-1]))
    groups = np.array([places.get(key, -1) for key in listed], dtype=np.intp)
    here = np.array([counted is None or unit in counted for unit in exact.whose], dtype=np.bool_)
    return np.where(here[exact.units], groups[exact.places], -1) if len(exact.places) else np.zeros(0, dtype=np.intp)


def _places(
    keys: Sequence[tuple[Value, ...]], places: Mapping[tuple[Value, ...], int], counted: set[Value] | None
) -> NDArray[np.intp]:
    """Where each row of a reply belongs; -1: nowhere, or to a unit that is not counted."""
    if counted is None:
        places_of_rows = (places.get(key, -1) for key in keys)
    else:
        places_of_rows = (places.get(key[:-1], -1) if key[-1] in counted else -1 for key in keys)
    return np.fromiter(places_of_rows, dtype=np.intp, count=len(keys))


def _added(rows: NDArray[np.intp], numbers: NDArray[Any], size: int) -> NDArray[Any]:
    """Exact sums by place, as Python integers: 64-bit numbers in two halves, so that nothing wraps around."""
    kept = rows >= 0
    at, values = rows[kept], numbers[kept]
    line = np.zeros(size, dtype=object)
    if values.dtype == np.int64:
        halves = np.zeros((2, size), dtype=np.int64)
        np.add.at(halves[0], at, values >> 32)
        np.add.at(halves[1], at, values & 0xFFFFFFFF)
        line[:] = [(high << 32) + low for high, low in zip(*halves.tolist(), strict=True)]
    else:
        for place, value in zip(at.tolist(), values.tolist(), strict=True):
            line[place] += value
    return line
