"""Releases made of releases: one after the other on the same data, or side by side on parts of it.

Promise: the event of the whole follows from the events of the parts; nothing is charged twice and nothing is left out.
Believes: basic composition; and group privacy of the measures.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.answer import Accuracy, confidence_level
from discreet.errors import BadParameter
from discreet.exact import Number
from discreet.privacy.budgets.filters import as_event
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.randomness import Bits
from discreet.shown import brief
from discreet.stable.core import domains
from discreet.stable.core.keys import check_keys
from discreet.stable.core.metrics import ADD_REMOVE, How, Relation, RowMetric, as_metric
from discreet.stable.core.release import Release, price
from discreet.stable.core.total import Field, check_field, show_field
from discreet.stable.maps.grouping import group_by


@dataclass(frozen=True, slots=True)
class AllAtOnce:
    """The accuracy of several answers together: the error bar holds for all of them at once, by the union bound."""

    parts: tuple[Accuracy, ...]

    @property
    def expected_error(self) -> float:
        """The largest E|error| among them."""
        return max(part.expected_error for part in self.parts)

    def error_at(self, confidence: Number) -> float:
        """An error that none of them exceeds, with this confidence."""
        miss = (1 - confidence_level(confidence)) / len(self.parts)
        return max(part.error_at(1 - Fraction(miss)) for part in self.parts)


# --- one after the other ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sequential(Release):
    """Several releases of the same data.

    Guarantee: the events of all of them, composed. Whole numbers come out as one array, other things as a tuple.

    >>> from discreet.mechanisms.additive.laplace import laplace
    >>> from discreet.stable.maps.counting import count
    >>> from discreet.stable.maps.summing import sum
    >>> both = sequential([count() >> laplace(epsilon="1/2"), sum(bounds=(0, 9)) >> laplace(epsilon=1)])
    >>> both.cost(), both([1, 2, 3]).value.shape
    (Pure(epsilon='3/2'), (2,))
    """

    __repr__ = brief

    releases: tuple[Release, ...]

    @property
    def input_domain(self) -> domains.Rows | domains.Groups:
        """What they all take."""
        return self.releases[0].input_domain

    @property
    def input_metric(self) -> RowMetric:
        """What ``distance`` counts for all of them."""
        return self.releases[0].input_metric

    @property
    def accuracy(self) -> Accuracy | None:
        """For all answers at once, where each has one."""
        return _together(self.releases)

    def _event(self, distance: int) -> Event:
        return events.Composed([release._event(distance) for release in self.releases])

    def draw(self, data: Any, bits: Bits) -> Any:
        """What each of them draws, one after the other."""
        return _gather([release.draw(data, bits) for release in self.releases])

    def story(self) -> tuple[str, ...]:
        """The story of each."""
        return tuple(f"{i}: {line}" for i, release in enumerate(self.releases, 1) for line in release.story())


def sequential(releases: Sequence[Release]) -> Sequential:
    """All of these releases, on the same data."""
    parts = _releases(releases)
    for release in parts[1:]:
        if release.input_domain != parts[0].input_domain:
            raise BadParameter("releases", f"of {release.input_domain}", f"must all take {parts[0].input_domain}")
        if release.input_metric != parts[0].input_metric:
            raise BadParameter(
                "releases",
                f"priced for {release.input_metric}",
                f"must all be priced for {parts[0].input_metric}, as the first: build them with the same neighbours=",
            )
    return Sequential(parts)


# --- side by side -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parallel(Release):
    """One release for each part of the data; a row is in the part whose public key it holds, or in none.

    Guarantee: a row added or removed is in one part, so it costs what the dearest release costs. A changed row may
    leave one part and enter another: two steps, the price for a group of two (2ε, 4ρ). d rows are a group of d.

    >>> from discreet.mechanisms.additive.laplace import laplace
    >>> from discreet.privacy.promises.neighbours import Neighbours
    >>> from discreet.stable.maps.counting import count
    >>> parts = {key: count() >> laplace(epsilon="1/2") for key in ("a", "b", "c")}
    >>> parallel(parts).cost(), parallel(parts, neighbours=Neighbours.CHANGE_ONE).cost()
    (Pure(epsilon='1/2'), Pure(epsilon=1))
    """

    __repr__ = brief

    parts: tuple[tuple[Hashable, Release], ...]
    by: Field
    metric: RowMetric

    @property
    def input_domain(self) -> domains.Rows | domains.Groups:
        """Rows."""
        return domains.Rows()

    @property
    def input_metric(self) -> RowMetric:
        """Rows added or removed, or changed."""
        return self.metric

    @property
    def accuracy(self) -> Accuracy | None:
        """For all parts at once, where each has one."""
        return _together([release for _, release in self.parts])

    def _event(self, distance: int) -> Event:
        event = events.Parallel([release._event(1) for _, release in self.parts])
        group = distance if self.metric.how is How.ADDED else 2 * distance
        return event if group == 1 else as_event(price(event).group(group))

    def draw(self, data: Any, bits: Bits) -> Any:
        """What each release draws from its own part, in the order of the keys."""
        groups = group_by([key for key, _ in self.parts], by=self.by).apply(data)
        return _gather([release.draw(groups[key], bits) for key, release in self.parts])

    def story(self) -> tuple[str, ...]:
        """The parts, and the story of each."""
        start = f"split by {show_field(self.by)} into {len(self.parts)} public parts"
        return (start, *(f"{key}: {line}" for key, release in self.parts for line in release.story()))


def parallel(releases: Mapping[Any, Release], *, by: Field = None, neighbours: Relation = None) -> Parallel:
    """One release for each public key; ``by`` says where a row holds its key (None: the row is the key).

    The releases must be priced for rows added or removed: how many rows a part has is private, even where the number
    of all rows is public.
    """
    given: object = releases
    if not isinstance(given, Mapping):
        raise BadParameter("releases", given, "must map public keys to releases, as in {'a': release}")
    keys, parts = check_keys(list(given)), _releases(list(given.values()))
    metric = as_metric(neighbours) or ADD_REMOVE
    if metric.unit is not None:
        raise BadParameter(
            "neighbours",
            str(metric),
            "must be of rows, since a unit may be in several parts: insert cap_rows before it",
        )
    for release in parts:
        if not isinstance(release.input_domain, domains.Rows):
            raise BadParameter("releases", f"of {release.input_domain}", "must take rows")
        if release.input_metric != ADD_REMOVE:
            raise BadParameter(
                "releases", f"priced for {release.input_metric}", f"must be priced for {ADD_REMOVE} in their own part"
            )
    return Parallel(tuple(zip(keys, parts, strict=True)), check_field(by, "by"), metric)


# --- both ---------------------------------------------------------------------------------------------------------


def _releases(given: Any) -> tuple[Release, ...]:
    if not isinstance(given, (list, tuple)) or not given:
        raise BadParameter("releases", given, "must be a list of releases, at least one")
    for release in given:
        if not isinstance(release, Release):
            raise BadParameter("releases", type(release).__name__, "must all be releases: a map >> a mechanism")
    return tuple(given)


def _together(releases: Sequence[Release]) -> Accuracy | None:
    accuracies = [release.accuracy for release in releases]
    known = tuple(accuracy for accuracy in accuracies if accuracy is not None)
    return AllAtOnce(known) if len(known) == len(accuracies) else None


def _gather(values: list[Any]) -> Any:
    """Whole numbers as one array (of objects where they exceed 64 bits), anything else as a tuple."""
    if not all(type(value) is int for value in values):
        return tuple(values)
    fits = all(-(1 << 63) <= value < 1 << 63 for value in values)
    return np.array(values, dtype=np.int64 if fits else object)
