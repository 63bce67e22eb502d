"""The state of a ledger: what its entries add up to. Nothing here touches a disk.

Promise: the state follows from the entries alone. What each kind of entry does to it, and what is checked first, stands
in records.py.

A budget belongs to a *population*: the people protected. Data sets are tables about a population; all of them, and all
analysts, draw on its one account. An analyst's cap is an account beside it, charged in the same entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.ledger.entries import BEFORE_ALL
from discreet.privacy.budgets.currency import Amounts, Currency, Limits
from discreet.privacy.budgets.filters import Rule, currency_of
from discreet.privacy.promises.measures import Approx, Measure
from discreet.privacy.promises.neighbours import Neighbours


@dataclass(frozen=True, slots=True)
class Population:
    """The people protected by one budget: what is promised to them, to which unit, for which neighbours."""

    name: str
    budget: Measure
    rule: Rule | None
    reserve: Fraction
    limits: Limits
    """The budget as amounts, fixed when it was set: a later version that converts more tightly changes nothing."""
    neighbours: Neighbours
    unit: str

    @property
    def currency(self) -> Currency:
        """How this budget is counted."""
        return replace(counted(self.budget, self.rule, self.reserve), limits=self.limits)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A table about a population. ``about`` is the owner's description: schema, source, bounds."""

    name: str
    population: str
    about: Mapping[str, Any]
    marks: frozenset[str] = frozenset()
    marked_by: str = ""
    retired: bool = False


@dataclass(frozen=True, slots=True)
class Analyst:
    """Somebody who may ask. ``caps`` maps populations to the most that they may spend there, None for no own cap."""

    name: str
    revoked: bool = False
    caps: Mapping[str, Measure | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Act:
    """Something recorded by ``Ledger.record``."""

    sequence: int
    kind: str
    by: str
    time: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """Where a stream stands that was paid for in advance: its answers go on from the state with this hash alone."""

    name: str
    population: str
    by: str
    charge: int
    position: int
    step: str
    state: str
    ended: bool = False
    """Whether the ledger was set back since: the stream may have gone further than is known here."""


@dataclass(slots=True)
class State:
    """The state of a ledger after its first ``sequence`` entries."""

    ledger: str = ""
    public_keys: list[str] = field(default_factory=list)
    """All keys that ever signed, the newest last."""
    sequence: int = 0
    hash: str = BEFORE_ALL
    charges: int = 0
    charged: dict[str, int] = field(default_factory=dict)
    """By data set: how many questions about it were charged."""
    populations: dict[str, Population] = field(default_factory=dict)
    datasets: dict[str, Dataset] = field(default_factory=dict)
    analysts: dict[str, Analyst] = field(default_factory=dict)
    caps: dict[tuple[str, str], Limits | None] = field(default_factory=dict)
    """By population and analyst: who may ask about whom, and up to where."""
    spent: dict[tuple[str, str | None], Amounts] = field(default_factory=dict)
    """By population and analyst, None for all analysts together; see ``used``."""
    acts: dict[str, list[Act]] = field(default_factory=dict)
    """By kind: what other packages recorded."""
    acknowledged: list[str] = field(default_factory=list)
    streams: dict[str, StreamPosition] = field(default_factory=dict)
    """By name: what was answered last of each stream."""

    def copied(self) -> State:
        """The same state, to be continued by itself: what either takes in, the other does not have."""
        return State(*(_own(getattr(self, field)) for field in _FIELDS))

    @property
    def public_key(self) -> str:
        """The key that signs now."""
        return self.public_keys[-1] if self.public_keys else ""

    def used(self, population: str, analyst: str | None = None) -> Amounts:
        """What was spent of a population's budget, by all or by one analyst."""
        spent = self.spent.get((population, analyst))
        return self.populations[population].limits.nothing if spent is None else spent

    def limit(self, population: str, analyst: str | None = None) -> Limits | None:
        """The most that may be spent there, by all or by one analyst; None for an analyst without an own cap."""
        return self.populations[population].limits if analyst is None else self.caps[population, analyst]


_FIELDS = [attribute.name for attribute in fields(State)]


def _own(part: Any) -> Any:
    """A copy of what can change."""
    if isinstance(part, list):
        return list(part)
    if isinstance(part, dict):
        return {name: list(value) if isinstance(value, list) else value for name, value in part.items()}
    return part


def limits_of(promise: Measure | None, rule: Rule | None, most: Amounts) -> Limits:
    """Amounts that were fixed for a promise, as the limits that its rule makes of them."""
    if rule is not Rule.EITHER or not isinstance(promise, Approx):
        return Limits(most)
    return Limits(most, together=2, alone=(promise.epsilon, promise.delta))


@lru_cache(maxsize=256)
def counted(budget: Measure, rule: Rule | None, reserve: Fraction) -> Currency:
    """How a budget is counted; remembered, since the δ split of zCDP takes a search."""
    return currency_of(budget, rule, reserve=reserve)
