"""What the owner of the data does: each act is an entry in the same chain as the charges.

Promise: a budget belongs to the people protected. Data that can be recognised as those of one population are not put
under another, and so under a second budget, unless the owner says why; the words are recorded. Nothing is given back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from discreet.errors import AlreadyProtected, BadParameter, LedgerError, NotRegistered
from discreet.exact import Number, probability
from discreet.ledger.entries import Entry, amounts_text
from discreet.ledger.journal import Draft, Journal
from discreet.ledger.state import Act, Books, Population, counted, read_measure, write_event, write_measure
from discreet.privacy.budgets.filters import Amounts, Rule, add
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Approx, Measure
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

        An (ε, δ) budget is counted by zCDP unless ``rule`` says otherwise, with the share ``reserve`` of δ set aside
        for the δ's of the events themselves, now and for good. ``unit`` says in words what is protected.
        """
        name, share = check_name(population, "population"), probability(reserve, "reserve")
        if rule is None and isinstance(budget, Approx):
            rule = Rule.ZCDP
        if not isinstance(neighbours, Neighbours):
            raise BadParameter("neighbours", neighbours, "must be Neighbours.ADD_REMOVE or Neighbours.CHANGE_ONE")
        limits = counted(budget, rule, share).limits
        said = _stored(budget)

        def decide(books: Books, _: object) -> Draft:
            if name in books.populations:
                raise AlreadyProtected(f"there is a budget for {name!r} already; change it with set_budget")
            body = {
                "population": name,
                "budget": said,
                "rule": None if rule is None else rule.name,
                "reserve": str(share),
                "limits": amounts_text(limits),
                "neighbours": neighbours.name,
                "unit": _words(str(unit), "unit"),
            }
            return Draft("population", by, body)

        return self._append(decide)

    def set_budget(self, population: str, budget: Measure, *, reason: str, by: str = "owner") -> Entry:
        """Raise or lower a budget, counted as before. What was spent stays spent.

        The promise that then holds is the largest budget that the owner would ever have set.
        """
        said = _stored(budget)

        def decide(books: Books, _: object) -> Draft:
            known = find_population(books, population)
            if type(budget) is not type(known.budget):
                raise BadParameter("budget", budget, f"must be of the same kind as before, which is {known.budget}")
            limits = _limits(known, budget)
            body = {"population": known.name, "budget": said, "limits": amounts_text(limits), "reason": _why(reason)}
            return Draft("budget", by, body)

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

        ``marks`` are texts by which the data can be recognised under another name: where they lie, the identity of
        the table or file, a hash of the content. They are stored under the ledger's key, so that no reader can test
        a guess. If a mark, or the name, is known from another population, these people have a budget already:
        AlreadyProtected, unless ``decision`` says why a second budget is right.
        """
        name = check_name(dataset, "dataset")
        hidden = self._hidden(marks)

        def decide(books: Books, _: object) -> Draft:
            known = find_population(books, population)
            if decision is None:
                self._check_unprotected(books, name, known.name, hidden)
            body = {
                "dataset": name,
                "population": known.name,
                "about": dict(about or {}),
                "marks": hidden,
                "decision": None if decision is None else _why(decision, "decision"),
            }
            return Draft("dataset", by, body)

        return self._append(decide)

    def check_unprotected(self, dataset: str, population: str, *, marks: Iterable[str]) -> None:
        """What ``register`` would refuse without a decision, looked up beforehand: AlreadyProtected, or nothing."""
        self._check_unprotected(self._journal.refresh(), dataset, population, self._hidden(marks))

    def recognises(self, dataset: str, marks: Iterable[str]) -> bool:
        """Whether data with these marks may be those that were registered: one mark is the same, or none is known."""
        known = self._journal.refresh().datasets.get(dataset)
        hidden = self._hidden(marks)
        if known is None or not hidden or not known.marks or known.marked_by != self._journal.key.public:
            return True
        return not known.marks.isdisjoint(hidden)

    def _hidden(self, marks: Iterable[str]) -> list[str]:
        return sorted({self._journal.key.mark(mark) for mark in marks})

    def _check_unprotected(self, books: Books, dataset: str, population: str, hidden: list[str]) -> None:
        for other in dict(books.datasets).values():
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

        def decide(books: Books, _: object) -> Draft:
            if dataset not in books.datasets:
                raise NotRegistered(f"there is no data set {dataset!r}")
            return Draft("retire", by, {"dataset": dataset, "reason": _why(reason)})

        return self._append(decide)

    def add_analyst(self, analyst: str, *, by: str = "owner") -> Entry:
        """Let somebody in. They may ask nothing until they have a grant. A name is for one person, for good."""
        name = check_name(analyst, "analyst")

        def decide(books: Books, _: object) -> Draft:
            if name in books.analysts:
                raise BadParameter("analyst", name, "must be new: a name is for one person, for good")
            return Draft("analyst", by, {"analyst": name})

        return self._append(decide)

    def grant(self, analyst: str, population: str, cap: Measure | None = None, *, by: str = "owner") -> Entry:
        """Let an analyst ask about a population, up to a cap of their own; or change that cap.

        The cap is a promise of the same kind as the budget. None: as far as the budget goes.
        """
        said = None if cap is None else _stored(cap)

        def decide(books: Books, _: object) -> Draft:
            find_analyst(books, analyst)
            known = find_population(books, population)
            limits = None if cap is None else amounts_text(_limits(known, cap))
            return Draft("grant", by, {"analyst": analyst, "population": known.name, "cap": said, "limits": limits})

        return self._append(decide)

    def revoke_analyst(self, analyst: str, *, reason: str, by: str = "owner") -> Entry:
        """Let somebody ask no more. What they spent stays spent."""

        def decide(books: Books, _: object) -> Draft:
            find_analyst(books, analyst)
            return Draft("revoke", by, {"analyst": analyst, "reason": _why(reason)})

        return self._append(decide)

    def write_off(self, population: str, what: Event | Measure, *, reason: str, by: str = "owner") -> Entry:
        """Charge a budget for something that was released elsewhere, or lost from the ledger; also beyond its limit."""

        def decide(books: Books, _: object) -> Draft:
            known = find_population(books, population)
            price = tuple(map(short_up, known.currency.amounts(what)))
            before = books.used(known.name)
            after = add(before, price)
            known.currency.shown(after)  # refuses what no promise could state
            total = {"before": amounts_text(before), "after": amounts_text(after)}
            body = {"population": known.name, "event": write_event(what), "price": amounts_text(price), "total": total}
            return Draft("write_off", by, body | {"reason": _why(reason)})

        return self._append(decide)

    def acknowledge(self, *, reason: str, by: str = "owner") -> Entry:
        """After a LedgerMismatch: say why the ledger is not the one that was seen before, and go on from what is there.

        What was spent in entries that are lost is not counted any more: charge it with ``write_off``.
        """
        return self._journal.acknowledge(_why(reason), by)

    def record(self, kind: str, body: Mapping[str, Any], *, by: str = "owner") -> Entry:
        """Record any other act. ``kind`` has a dot, as in "access.token"; the ledger only keeps it, see ``acts``."""
        if not _KIND.fullmatch(kind):
            raise BadParameter("kind", kind, 'must be small letters with a dot, as in "access.token"')
        return self._append(lambda *_: Draft(kind, by, body))

    def acts(self, kind: str) -> tuple[Act, ...]:
        """All recorded acts of a kind, oldest first, with those of other servers."""
        return tuple(self._journal.refresh().acts.get(kind, ()))

    def _append(self, decide: Any) -> Entry:
        entry = self._journal.append(decide)
        if entry is None:  # every act writes
            raise LedgerError("nothing was recorded")
        return entry


# --- finding and checking -----------------------------------------------------------------------------------------


def find_population(books: Books, name: str) -> Population:
    """The population of this name."""
    if name not in books.populations:
        raise NotRegistered(f"there is no budget for {name!r}")
    return books.populations[name]


def find_analyst(books: Books, name: str) -> None:
    """Check that an analyst of this name may still ask."""
    if name not in books.analysts or books.analysts[name].revoked:
        raise NotRegistered(f"there is no analyst {name!r}")


def check_cap(population: Population, cap: Measure) -> None:
    """Check that a cap can stand beside a population's budget: a promise that is counted as the budget is."""
    _limits(population, cap)


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
        raise BadParameter("cap", str(promise), f"must be of the kind of the budget, which is {population.budget}")
    return money.limits


def _stored(promise: Measure) -> dict[str, Any]:
    """A promise as it is stored, if it can be read back."""
    said = write_measure(promise)
    if read_measure(said) != promise:
        raise BadParameter("budget", promise, "must be a promise that can be written down")
    return said


def _why(reason: str, name: str = "reason") -> str:
    text = _words(reason, name)
    if not text.strip():
        raise BadParameter(name, reason, "must say why")
    return text


def _words(text: str, name: str) -> str:
    given: object = text
    if not isinstance(given, str) or len(given) > 10_000:
        raise BadParameter(name, type(given).__name__, "must be a text of at most 10,000 characters")
    return given
