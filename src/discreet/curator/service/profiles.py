"""Profiles of a curator's tables: found in its ledger for everyone, and bought by the first question that needs one.

Promise: what was released and stored is read; nothing is spent by reading it. A question and what it buys first cost
together no more than the question's price, and nothing is bought unless that fits the budget of the people and the
analyst's own. What a key has bought is not bought again: a request that is repeated after a crash goes on with the
price that is left. Two first questions in one process buy once; two servers may buy one each, out of the price of the
question that each of them answers.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

from discreet.curator.service.questions import UNITS_OF, ProfileQuestion, UnitsQuestion
from discreet.errors import BadData, BadParameter, EngineFailed, ServiceBusy
from discreet.ledger.charges import Charge
from discreet.ledger.records import ChargeRecord
from discreet.ledger.store import Ledger
from discreet.query.plan.schema import Schema
from discreet.query.profile.questions import Asked, table_questions
from discreet.session.caps.auto import note_of_first_payment, split
from discreet.session.ledger_budget import LedgerBudget
from discreet.session.price import Price
from discreet.session.query import Query
from discreet.session.session import Session

_BOUGHT = {"profile", "units"}


def needs_profile(schema: Schema) -> bool:
    """Whether caps of a table or bounds of a column are to be chosen."""
    return schema.table.caps.auto or any(one.auto for one in schema.table.columns.values())


class StoredProfiles:
    """The profiles of a data set that its ledger has. Any number of threads may use it."""

    def __init__(self) -> None:
        self.sizes: dict[str, list[dict[str, Any]]] = {}
        """What was bought for questions about several tables, by their text."""
        self._after = -1
        self._pending: set[int] = set()
        self._known: set[int] = set()
        self._lock = threading.Lock()
        self._buying = threading.Lock()

    @property
    def number(self) -> int:
        """How many were read: previews are made anew when there are more."""
        return len(self._known)

    def read(self, ledger: Ledger, dataset: str, session: Session, *, again: bool = False) -> None:
        """Let a session use the profiles that have stored answers. Nothing is spent.

        The ledger is read once; ``again``: also what came since, such as what other servers sold.
        """
        if self._after >= 0 and not again:
            return
        with self._lock:
            todo, self._pending = self._pending, set()
            while lines := ledger.entries(after=max(self._after, 0), kind=ChargeRecord.KIND):
                self._after = lines[-1].entry.sequence
                records = ((line.entry.sequence, ChargeRecord.read(line.entry)) for line in lines)
                todo |= {
                    number for number, one in records if one.dataset == dataset and _BOUGHT & one.parameters.keys()
                }
            self._after = max(self._after, 0)
            for number in sorted(todo):
                self._learn(ledger.charge(number), session)

    def learn(self, charge: Charge, session: Session) -> None:
        """Let a session use a profile that was just bought."""
        with self._lock:
            self._learn(charge, session)

    def _learn(self, charge: Charge, session: Session) -> None:
        if charge.pending:
            self._pending.add(charge.sequence)
        elif charge.sequence not in self._known:
            self._known.add(charge.sequence)
            stored = {} if charge.answer is None else json.loads(charge.answer)
            if "answers" in stored and "units" in charge.record.parameters:
                self.sizes[charge.record.query.removeprefix(UNITS_OF)] = stored["answers"]
            elif "answers" in stored:
                _learn(session, charge.record.parameters, stored["answers"])

    @contextmanager
    def one_buyer(self, patience: float) -> Iterator[None]:
        """Hold others back while a profile is bought: they will find it. ServiceBusy if that takes too long."""
        if not self._buying.acquire(timeout=patience):
            raise ServiceBusy("a first question is buying a profile; nothing was spent, ask again")
        try:
            yield
        finally:
            self._buying.release()


def _learn(session: Session, parameters: Any, stored: list[dict[str, Any]]) -> None:
    table, columns, sizes = str(parameters["profile"]), parameters["columns"], bool(parameters.get("sizes", True))
    with suppress(BadData, BadParameter, ValueError):  # it is of a table as it was declared before
        asked = {one.about.of(one.column) for one in table_questions(table, session.schemas, columns)}
        if {one["about"] for one in stored if "about" in one} <= asked:
            session.learn_profile(table, columns, stored, sizes=sizes)


def _has_profile(session: Session, table: str) -> bool:
    with suppress(BadParameter):
        return bool(session.profile(table).histograms)
    return False


# --- what a question buys first -------------------------------------------------------------------------------------


Queries = Mapping[str, Query]
"""Questions by their text."""
_Paid: TypeAlias = dict[str, Mapping[str, Any]]
"""What a request has bought, in order: the names of tables, or questions, with their parameters."""


@dataclass(frozen=True, slots=True)
class Lacking:
    """What must be bought before caps and bounds of questions can be chosen."""

    tables: Mapping[str, tuple[str, ...]]
    """Profiles of these, with the columns that the questions look at."""
    joined: Mapping[str, tuple[Asked, ...]]
    """Sizes of units among the rows of questions about several tables, by their text."""

    @classmethod
    def of(cls, profiles: StoredProfiles, session: Session, queries: Queries) -> Lacking:
        """What is not known, and was not stored either."""
        for text, query in queries.items():
            if text.strip() in profiles.sizes and session.sizes_of_joined(query):
                session.learn_sizes(query, profiles.sizes[text.strip()])
        joined = {text: session.sizes_of_joined(query) for text, query in queries.items()}
        return cls(session.lacks(tuple(queries.values())), {text: some for text, some in joined.items() if some})

    @property
    def names(self) -> tuple[str, ...]:
        """Of each thing that must be bought."""
        return (*self.tables, *(UNITS_OF + text.strip() for text in self.joined))

    def words(self, price: Price) -> tuple[str, ...]:
        """What a preview says of it.

        >>> Lacking({"visits": ("clinic",)}, {}).words(Price.of("0.5"))
        ('epsilon 1/20 of the price buys first: a profile of visits, free for all questions of everybody from then on',)
        """
        if not self.names:
            return ()
        spent = note_of_first_payment(price, split(price)[1])[0].partition(" was spent")[0]
        found = [f"a profile of {table}, free for all questions of everybody from then on" for table in self.tables]
        found += ["the sizes of units among the joined rows, free for this question from then on"][: len(self.joined)]
        return (f"{spent} of the price buys first: {'; '.join(found)}",)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPurchase:
    """What one request buys before it is answered."""

    ledger: Ledger
    dataset: str
    analyst: str
    request: str
    """Its key and what it asks."""
    profiles: StoredProfiles
    patience: float
    """Seconds to wait for another question that is buying."""
    buy: Callable[[ProfileQuestion | UnitsQuestion, str], Charge]
    """Pays under a key, and stores what was bought."""

    def price_left(self, session: Session, budget: LedgerBudget, price: Price, read: Callable[[], Queries]) -> Price:
        """Buy what is lacking; what is left of the price for the answer: all of it, if nothing was bought.

        ``read`` reads the questions, with what is known then.
        """
        if not any(map(needs_profile, session.schemas.values())):
            return price
        paid = {str(one.parameters.get("profile", one.query)): one.parameters for one in self._paid()}
        for table in paid:
            if table in session.schemas:
                session.answer_anyway(table, tuple(session.schemas[table].fields))
        if Lacking.of(self.profiles, session, read()).names:
            with self.profiles.one_buyer(self.patience):
                self.profiles.read(self.ledger, self.dataset, session, again=True)
                self._buy_all(session, budget, price, read, paid)
        return split(price)[1] if paid else price

    def _paid(self) -> Iterator[ChargeRecord]:
        """What the same request has bought before."""
        for i in count():
            found = self.ledger.charge_of(self.analyst, first_key(self.request, i))
            if found is None:
                return
            yield found.record

    def _buy_all(
        self, session: Session, budget: LedgerBudget, price: Price, read: Callable[[], Queries], paid: _Paid
    ) -> None:
        queries = read()
        lacking = Lacking.of(self.profiles, session, queries)
        if not lacking.names:
            return
        budget.check_new()
        first, left = split(price, len({*lacking.names, *paid}))
        profiles = []
        for table, columns in lacking.tables.items():
            before = paid.get(table, {"columns": columns, "sizes": not _has_profile(session, table)})
            named, sizes = tuple(before["columns"]), bool(before.get("sizes", True))  # as its key has paid for it
            profiles.append(ProfileQuestion(table=table, columns=named, price=first, sizes=sizes))
        if not paid:
            bought = [*(one.asked(session) for one in profiles), *lacking.joined.values()]
            every = [one for query in queries.values() for one in query.prepared.all]
            session.check_fits(every, price, [(asked, first) for asked in bought], left)
        for one in profiles:
            self._buy(one, one.table, paid)
            session.answer_anyway(one.table, one.columns or ())
        if lacking.joined:
            queries = read()  # bounds are chosen now
            for text in lacking.joined:
                if about := session.sizes_of_joined(queries[text]):  # unless another question had the same joined rows
                    units = UnitsQuestion(sql=text, about=about, price=first)
                    self._buy(units, units.query, paid)
                    session.learn_sizes(queries[text], self.profiles.sizes[text.strip()])

    def _buy(self, asked: ProfileQuestion | UnitsQuestion, name: str, paid: _Paid) -> None:
        paid.setdefault(name, asked.parameters)
        charge = self.buy(asked, first_key(self.request, list(paid).index(name)))
        if charge.answer is None or "answers" not in json.loads(charge.answer):
            raise EngineFailed


def first_key(request: str, i: int) -> str:
    """The key under which a request buys the first thing, the second, and so on: the same when it is repeated.

    >>> first_key("k", 0)
    'profile 0 for 8254c329a92850f6d539dd376f4816ee'
    """
    return f"profile {i} for {hashlib.sha256(request.encode()).hexdigest()[:32]}"
