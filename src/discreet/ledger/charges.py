"""What a charge is: a question that was paid, its price, and the sums that it makes.

Promise: ``priced`` refuses whatever no theorem allows to be added up here, before anything happens; ``charged`` refuses
what goes over the population's budget or the analyst's cap, by any amount.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.errors import BadParameter, NotATheorem, NotRegistered, OverBudget
from discreet.ledger.entries import Entry, amounts_text, read_amounts
from discreet.ledger.owner_acts import find_analyst
from discreet.ledger.standing import room
from discreet.ledger.state import Books, Population
from discreet.privacy.budgets.filters import Amounts, add, check_relation, fits, is_interactive, rest
from discreet.privacy.promises.events import Event, stated_for
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.receipt import Receipt
from discreet.privacy.promises.record import short_up


@dataclass(frozen=True, slots=True)
class Charge:
    """A question that was paid, and its answer if one was stored."""

    entry: Entry
    fresh: bool
    """Whether it was paid just now, by this call: only then may data be read and noise be drawn."""
    receipt: Receipt | None
    """For ``mechanism.release``, good once; only with a fresh charge."""
    price: Measure
    proof: str
    """The signed receipt, for the analyst to keep."""
    answer: bytes | None = None
    card: str | None = None

    @property
    def sequence(self) -> int:
        """The number of its entry."""
        return self.entry.sequence

    @property
    def pending(self) -> bool:
        """Charged, and no answer was stored: it is being computed, or a crash lost it. It stays charged."""
        return self.answer is None


def priced(books: Books, dataset: str, analyst: str, event: Event | Measure) -> tuple[Population, Amounts]:
    """The population that an event is charged to, and its price there; refuses what no theorem allows."""
    population = asked_about(books, dataset)
    check_leave(books, population, analyst)
    money = population.currency
    price = tuple(map(short_up, money.amounts(event)))  # so that it can be written down
    if isinstance(event, Event):
        check_relation(stated_for(event), population.neighbours)
    if is_interactive(event) and not money.concurrent:
        raise NotATheorem("an interactive mechanism may stay open, and no theorem lets approximate zCDP interleave")
    if not any(price):
        raise BadParameter("event", event, "must cost something: what costs nothing needs no ledger")
    return population, price


def charged(books: Books, dataset: str, analyst: str, price: Amounts) -> dict[str, Any]:
    """The sums of a charge, if both the population's budget and the analyst's cap cover it."""
    population = asked_about(books, dataset)
    check_leave(books, population, analyst)
    name, money = population.name, population.currency
    cap = books.caps[name, analyst]
    accounts = {"own": (cap, books.used(name, analyst)), "total": (population.limits, books.used(name))}
    for limits, used in accounts.values():
        if limits is not None and not fits(limits, used, price):
            left = (money.shown_left or money.shown)(room(books, population, analyst))
            raise OverBudget(asked=money.shown(price), left=left)
    sums = {
        which: {
            "before": amounts_text(used),
            "after": amounts_text(add(used, price)),
            "limit": None if limits is None else amounts_text(limits),
        }
        for which, (limits, used) in accounts.items()
    }
    return {"dataset": dataset, "population": name, "price": amounts_text(price), **sums}


def asked_about(books: Books, dataset: str) -> Population:
    """The population that a data set is about."""
    found = books.datasets.get(dataset)
    if found is None or found.retired:
        raise NotRegistered(f"there is no data set {dataset!r}")
    return books.populations[found.population]


def check_leave(books: Books, population: Population, analyst: str) -> None:
    """Check that an analyst may ask about a population."""
    find_analyst(books, analyst)
    if (population.name, analyst) not in books.caps:
        raise NotRegistered(f"{analyst!r} has no leave to ask about {population.name!r}")


def left_after(population: Population, body: Mapping[str, Any]) -> Measure:
    """What was left to the analyst just after a charge."""
    money = population.currency
    rests = [
        rest(read_amounts(sums["limit"]), read_amounts(sums["after"]))
        for sums in (body["total"], body["own"])
        if sums["limit"] is not None
    ]
    return (money.shown_left or money.shown)(tuple(map(min, zip(*rests, strict=True))))
