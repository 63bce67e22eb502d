"""What the owner of the data does: each act is an entry in the same chain as the charges.

Promise: a budget belongs to the people protected. Data that can be recognised as those of one population are not put
under another, and so under a second budget, unless the owner gives a reason, which is recorded. Nothing is given back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from discreet.errors import AlreadyProtected, BadParameter, LedgerError, NotRegistered
from discreet.exact import Number, probability
from discreet.ledger.entries import Entry, read_measure, write_event
from discreet.ledger.journal import Draft, Journal
from discreet.ledger.record_base import CustomRecord, Record
from discreet.ledger.records import (
    AnalystRecord,
    BudgetRecord,
    DatasetRecord,
    GrantRecord,
    PopulationRecord,
    RetireRecord,
    RevokeRecord,
    Sums,
    WriteOffRecord,
)
from discreet.ledger.state import Act, Population, State, counted
from discreet.messages import message
from discreet.privacy.budgets.currency import Amounts, add
from discreet.privacy.budgets.filters import Rule, default_rule
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Approx, Measure, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.record import short_up

_LONGEST_NAME = 100
_KIND = re.compile(r"[a-z_]+(\.[a-z_]+)+")


class Owner:
    """The owner's acts. Made by ``Ledger.owner``; ``by`` in every act is the name that is recorded."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def protect(
        self,
        population: str,
        budget: Measure,
        *,
        unit: object = "one person",
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
        rule: Rule | None = None,
        reserve: Number = "1/2",
        by: str = "owner",
    ) -> Entry:
        """Open a budget for the people of a population.

        An (ε, δ) budget is counted by Rule.EITHER unless ``rule`` names another, with the share ``reserve`` of δ set
        aside for the δ's of the events themselves, now and for good. ``unit`` describes what is protected.
        """
        name, share = check_name(population, "population"), probability(reserve, "reserve")
        rule = rule or default_rule(budget)
        if not isinstance(neighbours, Neighbours):
            raise BadParameter("neighbours", neighbours, "must be Neighbours.ADD_REMOVE or Neighbours.CHANGE_ONE")
        limits = counted(budget, rule, share).limits.most
        _check_readable(budget)
        described = _check_text(str(unit), "unit")

        def decide(state: State, _: object) -> Draft:
            if name in state.populations:
                raise AlreadyProtected(f"there is a budget for {name!r} already; change it with set_budget")
            return Draft(PopulationRecord(name, budget, rule, share, limits, neighbours, described), by)

        return self._append(decide)

    def set_budget(self, population: str, budget: Measure, *, reason: str, by: str = "owner") -> Entry:
        """Raise or lower a budget, counted as before. What was spent stays spent.

        The promise that then holds is the largest budget that the owner would ever have set.
        """
        _check_readable(budget)

        def decide(state: State, _: object) -> Draft:
            population_now = find_population(state, population)
            if type(budget) is not type(population_now.budget):
                raise BadParameter(
                    "budget", budget, f"must be of the same kind as before, which is {population_now.budget}"
                )
            return Draft(
                BudgetRecord(population_now.name, budget, _limits(population_now, budget), check_reason(reason)), by
            )

        return self._append(decide)

    def register(
        self,
        dataset: str,
        population: str,
        *,
        marks: Iterable[str],
        about: Mapping[str, Any] | None = None,
        decision: str | None = None,
        by: str = "owner",
    ) -> Entry:
        """Register a data set about a population, or describe it anew.

        ``marks`` are texts by which the data can be recognised under another name: their path, the identity of
        the table or file, a hash of the content. They are stored under the ledger's key, so that no reader can test
        a guess. If a mark, or the name, is known from another population, these people have a budget already:
        AlreadyProtected, unless ``decision`` says why a second budget is right.
        """
        name = check_name(dataset, "dataset")
        hidden = self._hidden(marks)

        def decide(state: State, _: object) -> Draft:
            about_population = find_population(state, population)
            if decision is None:
                self._check_unprotected(state, name, about_population.name, hidden)
            why = None if decision is None else check_reason(decision, "decision")
            return Draft(DatasetRecord(name, about_population.name, dict(about or {}), tuple(hidden), why), by)

        return self._append(decide)

    def check_unprotected(self, dataset: str, population: str, *, marks: Iterable[str]) -> None:
        """What ``register`` would refuse without a decision, looked up beforehand: AlreadyProtected, or nothing."""
        self._check_unprotected(self._journal.refresh(), dataset, population, self._hidden(marks))

    def recognises(self, dataset: str, marks: Iterable[str]) -> bool:
        """Whether data with these marks may be those that were registered: one mark is the same, or none is known."""
        registered = self._journal.refresh().datasets.get(dataset)
        hidden = self._hidden(marks)
        if registered is None or not hidden or not registered.marks or registered.marked_by != self._journal.key.public:
            return True
        return not registered.marks.isdisjoint(hidden)

    def hidden(self, text: str) -> str:
        """A text under the ledger's key: the same text can be found again, and no reader can test a guess."""
        return self._journal.key.mark(text)

    def _hidden(self, marks: Iterable[str]) -> list[str]:
        return sorted({self.hidden(mark) for mark in marks})

    def _check_unprotected(self, state: State, dataset: str, population: str, hidden: list[str]) -> None:
        for other in dict(state.datasets).values():
            if other.population == population:
                continue
            seen = other.name == dataset or not other.marks.isdisjoint(hidden)
            # what was marked under an earlier key cannot be compared
            blind = other.marks and other.marked_by != self._journal.key.public
            if seen or blind:
                raise AlreadyProtected(
                    f"{dataset!r} {'holds' if seen else 'may hold'} the same data as {other.name!r}, which is under "
                    f"the budget of {other.population!r}: register it there, or give a decision"
                )

    def retire(self, dataset: str, *, reason: str, by: str = "owner") -> Entry:
        """Close a data set for questions. Its name and what was spent on it stay."""

        def decide(state: State, _: object) -> Draft:
            if dataset not in state.datasets:
                raise NotRegistered(f"there is no data set {dataset!r}")
            return Draft(RetireRecord(dataset, check_reason(reason)), by)

        return self._append(decide)

    def add_analyst(self, analyst: str, *, by: str = "owner") -> Entry:
        """Add an analyst. They may ask nothing until they have a grant. A name is for one person, for good."""
        name = check_name(analyst, "analyst")

        def decide(state: State, _: object) -> Draft:
            if name in state.analysts:
                raise BadParameter("analyst", name, "must be new: a name is for one person, for good")
            return Draft(AnalystRecord(name), by)

        return self._append(decide)

    def grant(
        self,
        analyst: str,
        population: str,
        cap: Measure | None = None,
        *,
        by: str = "owner",
        also: Callable[[State], Record] | None = None,
    ) -> Entry:
        """Let an analyst ask about a population, up to a cap of their own; or change that cap.

        The cap is a promise of the same kind as the budget. None: as far as the budget goes. ``also`` makes a record
        that is written in the same step, or refuses both.
        """
        if cap is not None:
            _check_readable(cap)

        def decide(state: State, _: object) -> tuple[Draft, ...]:
            find_analyst(state, analyst)
            granted_population = find_population(state, population)
            limits = None if cap is None else check_cap(granted_population, cap)
            granted = GrantRecord(analyst, granted_population.name, cap, limits)
            return tuple(Draft(record, by) for record in (granted, *(() if also is None else (also(state),))))

        return self._append(decide)

    def revoke_analyst(self, analyst: str, *, reason: str, by: str = "owner") -> Entry:
        """Let an analyst ask no more. What they spent stays spent."""

        def decide(state: State, _: object) -> Draft:
            find_analyst(state, analyst)
            return Draft(RevokeRecord(analyst, check_reason(reason)), by)

        return self._append(decide)

    def write_off(self, population: str, what: Event | Measure, *, reason: str, by: str = "owner") -> Entry:
        """Charge a budget for something that was released elsewhere, or lost from the ledger; also beyond its limit."""

        def decide(state: State, _: object) -> Draft:
            charged_population = find_population(state, population)
            price = tuple(map(short_up, charged_population.currency.amounts(what)))
            before = state.used(charged_population.name)
            after = add(before, price)
            charged_population.currency.shown(after)  # refuses what no promise could state
            total, why = Sums(before, after), check_reason(reason)
            return Draft(WriteOffRecord(charged_population.name, write_event(what), price, total, why), by)

        return self._append(decide)

    def acknowledge(self, *, reason: str, by: str = "owner") -> Entry:
        """After a LedgerMismatch: say why the ledger is not the one that was seen before, and go on from what is there.

        What was spent in entries that are lost is not counted any more: charge it with ``write_off``.
        """
        return self._journal.acknowledge(check_reason(reason), by)

    def record(
        self,
        kind: str,
        body: Mapping[str, Any],
        *,
        by: str = "owner",
        check: Callable[[State], object] = lambda _: None,
    ) -> Entry:
        """Record any other act. ``kind`` has a dot, as in "access.token"; the ledger only keeps it, see ``acts``.

        ``check`` may refuse by raising: it sees the state that the act follows, with what other servers wrote.
        """
        if not _KIND.fullmatch(kind):
            raise BadParameter("kind", kind, 'must be small letters with a dot, as in "access.token"')

        def decide(state: State, _: object) -> Draft:
            check(state)
            return Draft(CustomRecord(kind, body), by)

        return self._append(decide)

    def acts(self, kind: str) -> tuple[Act, ...]:
        """All recorded acts of a kind, oldest first, with those of other servers."""
        return tuple(self._journal.refresh().acts.get(kind, ()))

    def _append(self, decide: Any) -> Entry:
        entry = self._journal.append(decide)
        if entry is None:  # every act writes
            raise LedgerError("nothing was recorded")
        return entry


# --- finding and checking -----------------------------------------------------------------------------------------


def find_population(state: State, name: str) -> Population:
    """The population of this name."""
    if name not in state.populations:
        raise NotRegistered(f"there is no budget for {name!r}")
    return state.populations[name]


def find_analyst(state: State, name: str) -> None:
    """Check that an analyst of this name may still ask."""
    if name not in state.analysts or state.analysts[name].revoked:
        raise NotRegistered(f"there is no analyst {name!r}")


def check_cap(population: Population, cap: Measure) -> Amounts:
    """A cap as amounts, if it can stand beside a population's budget: counted as the budget is, and not above it."""
    limits = _limits(population, cap)
    if any(most > whole for most, whole in zip(limits, population.limits.most, strict=True)):
        raise BadParameter("cap", str(cap), f"must not be above the budget of all, which is {population.budget}")
    return limits


def check_name(name: str, what: str) -> str:
    """A name that can be printed in one line."""
    given: object = name
    if not isinstance(given, str) or not 0 < len(given) <= _LONGEST_NAME or not given.isprintable():
        raise BadParameter(what, given, f"must be a printable text of 1 to {_LONGEST_NAME} characters")
    if given != given.strip():
        raise BadParameter(what, given, "must not begin or end with a space")
    return given


def _limits(population: Population, promise: Measure) -> Amounts:
    """A promise as amounts in the currency of a population, under its rule and with its split of δ."""
    rule = population.rule if isinstance(promise, Approx) else None
    money = counted(promise, rule, population.reserve)
    if money.name != population.currency.name:
        amounts = {Pure: ("epsilon",), Approx: ("epsilon", "delta")}.get(type(population.budget), ("rho",))
        must = f"must be of the kind of the budget, which is {population.budget}"
        raise BadParameter("cap", str(promise), must, message("give_amounts", amounts=amounts))
    return money.limits.most


def _check_readable(promise: Measure) -> None:
    """Check that a promise is read back as it is written."""
    if read_measure(write_event(promise)) != promise:
        raise BadParameter("budget", promise, "must be a promise that can be stored")


def check_reason(reason: str, name: str = "reason") -> str:
    """A reason, as it is recorded."""
    text = _check_text(reason, name)
    if not text.strip():
        raise BadParameter(name, reason, "must say why")
    return text


def _check_text(text: str, name: str) -> str:
    given: object = text
    if not isinstance(given, str) or len(given) > 10_000:
        raise BadParameter(name, type(given).__name__, "must be a text of at most 10,000 characters")
    return given
