"""What every stable map is: a domain and a metric on both sides, a stability, and an exact function.

Promise: inputs at distance d give outputs at most ``stability(d)`` apart, in the metrics that the map names. Chains are
checked when they are made: ``a >> b`` exists only if b takes what a gives, and counts distance as a does.

A map that says nothing about neighbours takes over the metric of the map before it; alone, it stands for rows added or
removed. A map that does say is held to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, overload

from discreet.errors import BadParameter
from discreet.shown import brief
from discreet.stable.core import domains
from discreet.stable.core.domains import Domain, Groups, Rows
from discreet.stable.core.metrics import ADD_REMOVE, NORMS, NUMBER, How, Metric, RowMetric, steps
from discreet.stable.core.release import Measured, Noisy, Prepared, Release, Waiting, measured, prepared


@dataclass(frozen=True, slots=True, kw_only=True)
class StableMap(ABC):
    """An exact function of data that does not tear neighbours apart.

    >>> from discreet.stable import count
    >>> isinstance(count(), StableMap)
    True
    """

    name: ClassVar[str] = "map"
    takes_groups: ClassVar[bool] = False
    takes_units: ClassVar[bool] = False

    metric: RowMetric | None = None
    """What distance counts on the input, if that was said."""
    domain: Rows | Groups | None = None
    """What it is given, once it stands in a chain."""

    def __post_init__(self) -> None:
        given = self.input_domain
        if isinstance(given, Groups) and not self.takes_groups:
            raise BadParameter(self.name, "behind group_by", f"must come before it: {self.name} takes rows, not groups")
        if self.input_metric.unit is not None and not self.takes_units:
            raise BadParameter(
                self.name,
                f"applied to {self.input_metric}",
                "must be applied to rows: insert cap_rows(cap, unit=...) before it, so that one unit has few of them",
            )

    @property
    def input_domain(self) -> Rows | Groups:
        """What it takes."""
        return self.domain or Rows()

    @property
    def input_metric(self) -> RowMetric:
        """What ``distance`` counts on the input."""
        return self.metric or ADD_REMOVE

    @property
    @abstractmethod
    def output_domain(self) -> Domain:
        """What it gives."""

    @property
    @abstractmethod
    def output_metric(self) -> Metric:
        """What ``stability`` counts on the output."""

    @abstractmethod
    def stability(self, distance: int) -> Any:
        """How far apart the outputs of two inputs at this distance are, at most."""

    @abstractmethod
    def apply(self, data: Any) -> Any:
        """The function, on data in the form of the domain."""

    @abstractmethod
    def story(self) -> tuple[str, ...]:
        """What it does, one line a step."""

    def __call__(self, data: Any) -> Any:
        """The exact output. Not a release: for tests, and for those who may see the data."""
        return self.apply(read(data, self.input_domain))

    def after(self, domain: Domain, metric: Metric) -> Self:
        """The same map, in a chain behind something that gives this domain and this metric."""
        if not isinstance(domain, (Rows, Groups)) or not isinstance(metric, RowMetric):
            raise BadParameter(
                self.name, f"behind {domain}", "must come before it: behind an exact answer comes a mechanism"
            )
        if self.metric is not None and self.metric != metric:
            raise BadParameter(
                self.name,
                f"made for {self.metric}",
                f"must be made for {metric}, which come before it: leave out neighbours= and it follows",
            )
        return replace(self, domain=domain, metric=metric)

    def parts(self) -> tuple[StableMap, ...]:
        """The maps that it is made of, as they were written."""
        return (self,)

    @overload
    def __rshift__(self, other: StableMap) -> Chain: ...
    @overload
    def __rshift__(self, other: Release) -> Prepared: ...
    @overload
    def __rshift__(self, other: Noisy | Waiting) -> Measured: ...
    def __rshift__(self, other: StableMap | Release | Noisy | Waiting) -> Chain | Measured | Prepared:
        if isinstance(other, StableMap):
            return chain((*self.parts(), *other.parts()))
        if isinstance(other, Release):
            return prepared(self, other)
        if isinstance(other, (Noisy, Waiting)):
            return measured(self, other)
        raise BadParameter(
            "what follows >>",
            type(other).__name__,
            "must be a stable map, a release, or noise such as laplace(epsilon=1); a mechanism that reads data by "
            "itself, such as a mean, is paid with Filter(budget).spend(m.event): m.release(values, receipt)",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(StableMap):
    """A map from rows to one exact number; behind group_by, to one for each group."""

    takes_groups: ClassVar[bool] = True

    @property
    def output_domain(self) -> Domain:
        """One number, or one for each group."""
        given = self.input_domain
        return domains.Vector(len(given.keys), given.keys) if isinstance(given, Groups) else domains.Number()

    @property
    def output_metric(self) -> Metric:
        """The absolute difference, or the three norms."""
        return NORMS if isinstance(self.input_domain, Groups) else NUMBER


def read(data: Any, domain: Rows | Groups) -> Any:
    """The data in the form of the domain; refuses the wrong kind of container and nothing else."""
    return domains.read_groups(data, domain.keys) if isinstance(domain, Groups) else domains.read_rows(data)


def each_group(data: Any, f: Any) -> Any:
    """f of the rows, or of the rows of each group."""
    return {key: f(rows) for key, rows in data.items()} if isinstance(data, dict) else f(data)


# --- chains -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain(StableMap):
    """Maps one after the other.

    Guarantee: the stability of the last at the stability of the one before it, and so on: distances bound distances.

    >>> from discreet.stable.maps.capping import cap_rows
    >>> from discreet.stable.maps.counting import count
    >>> people = cap_rows(3, unit="person") >> count()
    >>> people.stability(2)
    6
    """

    name: ClassVar[str] = "chain"
    takes_groups: ClassVar[bool] = True
    takes_units: ClassVar[bool] = True

    written: tuple[StableMap, ...]
    maps: tuple[StableMap, ...]
    """The same maps, each adapted to the one before it."""

    __repr__ = brief

    @property
    def input_domain(self) -> Rows | Groups:
        """What the first map takes."""
        return self.maps[0].input_domain

    @property
    def input_metric(self) -> RowMetric:
        """What ``distance`` counts for the first map."""
        return self.maps[0].input_metric

    @property
    def output_domain(self) -> Domain:
        """What the last map gives."""
        return self.maps[-1].output_domain

    @property
    def output_metric(self) -> Metric:
        """What the last map's stability counts."""
        return self.maps[-1].output_metric

    def stability(self, distance: int) -> Any:
        """Through all maps."""
        moved = steps(distance)
        for each in self.maps:
            moved = each.stability(moved)
        return moved

    def apply(self, data: Any) -> Any:
        """Through all maps."""
        for each in self.maps:
            data = each.apply(data)
        return data

    def story(self) -> tuple[str, ...]:
        """What each of them does."""
        return tuple(line for each in self.maps for line in each.story())

    def after(self, domain: Domain, metric: Metric) -> Chain:
        """The same maps, behind something that gives this domain and this metric."""
        return chain((self.written[0].after(domain, metric), *self.written[1:]))

    def parts(self) -> tuple[StableMap, ...]:
        """The maps as they were written."""
        return self.written


def chain(written: tuple[StableMap, ...]) -> Chain:
    """The maps in this order, each adapted to the one before it."""
    maps = [written[0]]
    for each in written[1:]:
        maps.append(each.after(maps[-1].output_domain, maps[-1].output_metric))
    return Chain(written=written, maps=tuple(maps), metric=maps[0].metric)


# --- maps that look at one row at a time --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RowByRow(StableMap):
    """One row in, one row out: each row by itself.

    Guarantee: stability d, in every metric of rows: elements that are alike stay alike, and none comes or goes.
    """

    takes_groups: ClassVar[bool] = True

    @property
    @abstractmethod
    def row(self) -> domains.Row:
        """What kind of row comes out."""

    @abstractmethod
    def rows(self, rows: list[Any]) -> list[Any]:
        """All rows, each by itself."""

    @property
    def output_domain(self) -> Domain:
        """As many rows, of the new kind."""
        return replace(self.input_domain, row=self.row)

    @property
    def output_metric(self) -> RowMetric:
        """The metric of the input."""
        return self.input_metric

    def stability(self, distance: int) -> int:
        """No further apart than before."""
        return steps(distance)

    def apply(self, data: Any) -> Any:
        """Each row of the data, or of each group."""
        return each_group(data, self.rows)


PUBLIC_NUMBER = frozenset({How.CHANGED, How.IN_PLACE})
"""Metrics under which neighbours have the same number of rows."""
