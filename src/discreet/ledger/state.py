"""The books: what the entries of a ledger add up to. Nothing here touches a disk.

Promise: the books follow from the entries alone. Each entry is checked against all before it: it continues the chain,
its sums are exact, it fits under the caps that held then. What does not is refused as Broken and changes nothing.
Believes: entries.py, and the arithmetic of privacy/budgets/filters.py.

A budget belongs to a *population*: the people protected. Data sets are tables about a population; all of them, and all
analysts, draw on its one account. An analyst's cap is an account beside it, charged in the same entry.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from discreet.ledger.entries import BEFORE_ALL, Broken, Entry, amounts_text, follows, read_amounts
from discreet.privacy.budgets.filters import Amounts, Currency, Rule, add, currency_of, fits
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.record import Record
from discreet.privacy.promises.serialize import measure_from_json, to_json

_Sum: TypeAlias = tuple[Amounts, list[str]]

FORMAT = 1
"""The format of entries; every format that ever was stays readable."""


@dataclass(frozen=True, slots=True)
class Population:
    """The people protected by one budget: what is promised to them, to which unit, for which neighbours."""

    name: str
    budget: Measure
    rule: Rule | None
    reserve: Fraction
    limits: Amounts
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


@dataclass(slots=True)
class Books:
    """The state of a ledger after its first ``sequence`` entries."""

    ledger: str = ""
    public_keys: list[str] = field(default_factory=list)
    """All keys that ever signed, the newest last."""
    sequence: int = 0
    hash: str = BEFORE_ALL
    charges: int = 0
    populations: dict[str, Population] = field(default_factory=dict)
    datasets: dict[str, Dataset] = field(default_factory=dict)
    analysts: dict[str, Analyst] = field(default_factory=dict)
    caps: dict[tuple[str, str], Amounts | None] = field(default_factory=dict)
    acts: dict[str, list[Act]] = field(default_factory=dict)
    acknowledged: list[str] = field(default_factory=list)
    # Sums and limits with their texts, by population and analyst (None: all together). Texts are quick to compare.
    _used: dict[tuple[str, str | None], _Sum] = field(default_factory=dict)
    _limits: dict[tuple[str, str | None], _Sum | None] = field(default_factory=dict)

    @property
    def public_key(self) -> str:
        """The key that signs now."""
        return self.public_keys[-1] if self.public_keys else ""

    def used(self, population: str, analyst: str | None = None) -> Amounts:
        """What was spent of a population's budget, by all or by one analyst."""
        return self._sum_of((population, analyst))[0]

    def apply(self, entry: Entry) -> None:
        """Take the next entry into account, or raise Broken."""
        if self.sequence:
            follows(entry, sequence=self.sequence, previous=self.hash, ledger=self.ledger)
        else:
            follows(entry, sequence=0, previous=BEFORE_ALL, ledger=entry.ledger)
            if entry.kind != "ledger":
                raise Broken("it is the first, and does not open a ledger")
        if "." in entry.kind:
            act = Act(entry.sequence, entry.kind, entry.by, entry.time, entry.body)
            self.acts.setdefault(entry.kind, []).append(act)
        elif entry.kind in _KINDS:
            try:
                _KINDS[entry.kind](self, entry)
            except (KeyError, TypeError, ValueError, AttributeError):
                raise Broken(f"it does not read as an entry of kind {entry.kind}") from None
        else:
            raise Broken("it is of a kind that is not known here: was it written by a newer version?")
        self.sequence, self.hash = entry.sequence, entry.hash

    # --- kinds of entries -----------------------------------------------------------------------------------------

    def _open(self, entry: Entry) -> None:
        if entry.body["format"] != FORMAT or self.sequence:
            raise Broken("it opens a ledger in a format that is not known here, or a second time")
        self.ledger, self.public_keys = entry.ledger, [str(entry.body["public_key"])]

    def _key(self, entry: Entry) -> None:
        self.public_keys.append(str(entry.body["public_key"]))

    def _population(self, entry: Entry) -> None:
        body = entry.body
        rule = None if body["rule"] is None else Rule[body["rule"]]
        (reserve,) = read_amounts([body["reserve"]])
        found = Population(
            name=str(body["population"]),
            budget=read_measure(body["budget"]),
            rule=rule,
            reserve=reserve,
            limits=read_amounts(body["limits"]),
            neighbours=Neighbours[body["neighbours"]],
            unit=str(body["unit"]),
        )
        if found.name in self.populations:
            raise Broken("it opens a population a second time")
        self.populations[found.name] = found
        self._limits[found.name, None] = found.limits, amounts_text(found.limits)

    def _budget(self, entry: Entry) -> None:
        known = self.populations[entry.body["population"]]
        limits = read_amounts(entry.body["limits"])
        if len(limits) != len(known.limits):
            raise Broken("it changes the currency of a budget")
        self.populations[known.name] = replace(known, budget=read_measure(entry.body["budget"]), limits=limits)
        self._limits[known.name, None] = limits, amounts_text(limits)

    def _dataset(self, entry: Entry) -> None:
        body = entry.body
        name, population = str(body["dataset"]), self.populations[body["population"]].name
        self.datasets[name] = Dataset(
            name, population, dict(body["about"]), frozenset(map(str, body["marks"])), self.public_key
        )

    def _retire(self, entry: Entry) -> None:
        known = self.datasets[entry.body["dataset"]]
        self.datasets[known.name] = replace(known, retired=True)

    def _analyst(self, entry: Entry) -> None:
        name = str(entry.body["analyst"])
        if name in self.analysts:
            raise Broken("it adds an analyst a second time")
        self.analysts[name] = Analyst(name)

    def _revoke(self, entry: Entry) -> None:
        known = self.analysts[entry.body["analyst"]]
        self.analysts[known.name] = replace(known, revoked=True)

    def _grant(self, entry: Entry) -> None:
        body = entry.body
        known, population = self.analysts[body["analyst"]], self.populations[body["population"]]
        limits = None if body["limits"] is None else read_amounts(body["limits"])
        if limits is not None and len(limits) != len(population.limits):
            raise Broken("it caps an analyst in another currency")
        cap = None if body["cap"] is None else read_measure(body["cap"])
        self.analysts[known.name] = replace(known, caps={**known.caps, population.name: cap})
        self.caps[population.name, known.name] = limits
        self._limits[population.name, known.name] = None if limits is None else (limits, amounts_text(limits))

    def _charge(self, entry: Entry) -> None:
        body = entry.body
        population, dataset, analyst = self.populations[body["population"]], self.datasets[body["dataset"]], entry.by
        if dataset.population != population.name or dataset.retired or self.analysts[analyst].revoked:
            raise Broken("it charges for what could not be asked")
        price = read_amounts(body["price"])
        everybody, own = (population.name, None), (population.name, analyst)
        sums = self._paid(everybody, price, body["total"]), self._paid(own, price, body["own"])
        self._used[everybody], self._used[own] = sums
        self.charges += 1

    def _write_off(self, entry: Entry) -> None:
        account = self.populations[entry.body["population"]].name, None
        price = read_amounts(entry.body["price"])
        self._used[account] = self._paid(account, price, entry.body["total"], capped=False)

    def _acknowledge(self, entry: Entry) -> None:
        self.acknowledged.append(entry.hash)

    def _paid(
        self, account: tuple[str, str | None], price: Amounts, said: Mapping[str, Any], *, capped: bool = True
    ) -> _Sum:
        """What an account has used after a payment, if the entry got its sums right and stayed under the limit."""
        before, text_before = self._sum_of(account)
        after = add(before, price)
        text_after = amounts_text(after)
        if said["before"] != text_before or said["after"] != text_after:
            raise Broken("its sums are wrong")
        limit = self._limits[account] if capped else None
        if limit is not None:
            limits, text = limit
            within = all(a <= most for a, most in zip(after, limits, strict=True)) or fits(limits, before, price)
            if said["limit"] != text or not within:
                raise Broken("it goes over a cap")
        return after, text_after

    def _sum_of(self, account: tuple[str, str | None]) -> _Sum:
        found = self._used.get(account)
        if found is None:
            nothing = (Fraction(0),) * len(self.populations[account[0]].limits)
            return nothing, amounts_text(nothing)
        return found


_KINDS: dict[str, Callable[[Books, Entry], None]] = {
    "ledger": Books._open,
    "key": Books._key,
    "population": Books._population,
    "budget": Books._budget,
    "dataset": Books._dataset,
    "retire": Books._retire,
    "analyst": Books._analyst,
    "revoke": Books._revoke,
    "grant": Books._grant,
    "charge": Books._charge,
    "write_off": Books._write_off,
    "acknowledge": Books._acknowledge,
}


@lru_cache(maxsize=256)
def counted(budget: Measure, rule: Rule | None, reserve: Fraction) -> Currency:
    """How a budget is counted; remembered, since the δ split of zCDP takes a search."""
    return currency_of(budget, rule, reserve=reserve)


def write_measure(measure: Measure) -> dict[str, Any]:
    """A promise as it stands in an entry."""
    result: dict[str, Any] = json.loads(to_json(measure))
    return result


def read_measure(said: Any) -> Measure:
    """The promise that was written."""
    return measure_from_json(json.dumps(said))


def write_event(what: Record) -> dict[str, Any]:
    """An event or promise as it stands in an entry."""
    result: dict[str, Any] = json.loads(to_json(what))  # type: ignore[arg-type]
    return result
