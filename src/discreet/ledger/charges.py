"""Charges: a question that was paid, its price, and the sums after it.

Promise: ``priced`` refuses whatever no theorem allows to be added up here, before anything happens; ``charged`` refuses
what goes over the population's budget or the analyst's cap, by any amount.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import BadParameter, NotATheorem, NotRegistered, OverBudget
from discreet.ledger.entries import Entry, Json
from discreet.ledger.owner_acts import find_analyst
from discreet.ledger.records import CappedSums, ChargeRecord
from discreet.ledger.standing import least, remaining
from discreet.ledger.state import Population, State, limits_of
from discreet.privacy.budgets.currency import Amounts, add
from discreet.privacy.budgets.filters import is_interactive
from discreet.privacy.budgets.together import Together
from discreet.privacy.promises.events import Event
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
    again: bool = False
    """Whether an earlier request with the same key paid for it."""

    @property
    def sequence(self) -> int:
        """The number of its entry."""
        return self.entry.sequence

    @property
    def record(self) -> ChargeRecord:
        """What its entry says: the question, its price and the sums."""
        return ChargeRecord.read(self.entry)

    @property
    def pending(self) -> bool:
        """Charged, and no answer was stored: it is being computed, or a crash lost it. It stays charged."""
        return self.answer is None and self.card is None

    @property
    def pruned(self) -> bool:
        """Answered, and the answer is kept no longer."""
        return self.answer is None and self.card is not None


def priced(state: State, dataset: str, analyst: str, event: Event | Measure) -> tuple[Population, Amounts]:
    """The population that an event is charged to, and its price there; refuses what no theorem allows."""
    population = population_of(state, dataset)
    check_permission(state, population, analyst)
    money = population.currency
    price = tuple(map(short_up, money.amounts(event)))  # so that it can be written down
    Together(population.neighbours, weak=True).plus(event)  # no entry says whether an earlier one used biased bits
    if is_interactive(event) and money.interleaved is not None:
        price = money.interleaved(price)
    elif is_interactive(event) and not money.concurrent:
        raise NotATheorem("an interactive mechanism may stay open, and no theorem lets approximate zCDP interleave")
    if not any(price):
        raise BadParameter("event", event, "must cost something: what costs nothing needs no ledger")
    return population, price


def charged(
    state: State, dataset: str, analyst: str, price: Amounts, *, key: str, asked: str, query: str, parameters: Json,
    event: Json,
) -> ChargeRecord:  # fmt: skip
    """The record of a charge, if both the population's budget and the analyst's cap cover it."""
    population = population_of(state, dataset)
    check_permission(state, population, analyst)
    name, money = population.name, population.currency

    def sums(account: str | None) -> CappedSums:
        used, limit = state.used(name, account), state.limit(name, account)
        if limit is not None and not limit.fits(used, price):
            left = money.show_left(remaining(state, population, analyst))
            raise OverBudget(asked=money.shown(price), left=left)
        return CappedSums(used, add(used, price), None if limit is None else limit.most)

    return ChargeRecord(
        dataset, name, price, own=sums(analyst), total=sums(None), key=key, asked=asked, query=query,
        parameters=parameters, event=event,
    )  # fmt: skip


def population_of(state: State, dataset: str) -> Population:
    """The population that a data set is about."""
    registered = state.datasets.get(dataset)
    if registered is None or registered.retired:
        raise NotRegistered(f"there is no data set {dataset!r}")
    return state.populations[registered.population]


def check_permission(state: State, population: Population, analyst: str) -> None:
    """Check that an analyst may ask about a population."""
    find_analyst(state, analyst)
    if (population.name, analyst) not in state.caps:
        raise NotRegistered(f"{analyst!r} has no permission to ask about {population.name!r}")


def left_after(population: Population, charge: ChargeRecord) -> Measure:
    """What was left to the analyst just after a charge."""
    money = population.currency
    rests = [
        limits_of(population.budget, population.rule, sums.limit).rest(sums.after)
        for sums in (charge.total, charge.own)
        if sums.limit is not None
    ]
    return money.show_left(least(rests))
