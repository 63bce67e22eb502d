"""What a session is behind its methods: tables, an engine, and a budget that pays for programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NoReturn

from discreet.errors import NotATheorem
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Approx, Measure
from discreet.query.engine import Engine
from discreet.query.estimate.prepare import Prepared
from discreet.query.front.sql.constants import Staged
from discreet.query.passes import PREPARING, READING, Given, through
from discreet.query.plan.nodes import Question
from discreet.query.plan.schema import Caps, Schema, read_cap
from discreet.query.run import Quote, quote
from discreet.session.payment import Affords, BudgetStore, Payment, SessionLedger
from discreet.session.price import Price, Terms
from discreet.session.stored_answers import Shelf


@dataclass(frozen=True, slots=True)
class Backend:
    """Tables, an engine and a budget: all that queries and programs need of their session. A curator serves one."""

    schemas: Mapping[str, Schema]
    engine: Engine
    terms: Terms
    budget_store: BudgetStore
    ledger: SessionLedger | None = None
    progress: bool | None = None
    shelf: Shelf = field(default_factory=Shelf)
    """What was answered in this session."""

    def __reduce__(self) -> NoReturn:
        raise NotATheorem(
            "a session can be neither deep-copied nor pickled: each copy could spend the budget; threads may share it, "
            "and ledger= keeps one budget for several processes"
        )

    def serving(self, budget_store: BudgetStore) -> Backend:
        """The same tables and engine under another budget: how a curator answers many analysts.

        Nothing shows progress: an analyst must not see how long reading takes.
        """
        return replace(self, budget_store=budget_store, ledger=None, progress=False)

    def read(self, text: str, dialect: str | None = None) -> Question | Staged:
        """A query in SQL, or what it needs first."""
        question: Question | Staged = through(READING, text, Given(self.schemas, dialect=dialect))
        return question

    def prepare(self, question: Question) -> Prepared:
        """A query with what is to be computed for it; public tables may be read, private ones are not."""
        prepared: Prepared = through(PREPARING, question, Given(self.schemas, self.engine))
        return prepared

    def affords(self, price: Event | Measure) -> bool:
        """Whether this would fit the budget now, as a new payment."""
        store = self.budget_store
        return store.affords(price) if isinstance(store, Affords) else store.fits(price)

    def quote(self, questions: Sequence[Prepared], price: Price) -> Quote:
        """Noise and price of prepared queries together. No data is touched."""
        return self.terms.quote(questions, price, self.affords)

    def quote_beyond(self, questions: Sequence[Prepared], price: Price, times: float) -> Quote | None:
        """Noise for a price so many times as large, for whoever certifies that it costs less. No data is touched.

        None unless the sum of (ε, δ) is counted: only there may a whole be paid as an (ε, δ).
        """
        allowed = self.terms.allowance(price)
        if not isinstance(allowed, Approx) or self.terms.rule not in (None, Rule.BASIC, Rule.EITHER):
            return None
        larger = Approx(allowed.epsilon * Fraction(times), allowed.delta)
        return quote(questions, larger, self.terms.neighbours)

    def with_max_rows(self, tables: Sequence[str], max_rows: int | None) -> Backend:
        """The same with this bound on the private ones of some tables, if there is one."""
        schemas = self.schemas
        for name in tables if max_rows is not None else ():
            if not schemas[name].table.public:
                schemas = with_cap(schemas, name, read_cap(max_rows, "max_rows"))
        return replace(self, schemas=schemas)

    def payment(self, text: Callable[[], str]) -> Payment:
        """What will pay for a program, once; a ledger keeps its text."""
        return Payment(self.budget_store if self.ledger is None else self.ledger.budget_store(text()))


def with_cap(schemas: Mapping[str, Schema], table: str, cap: int) -> Mapping[str, Schema]:
    """The schemas with this cap on the rows of a unit of a table, whatever was declared."""
    own = schemas[table]
    return {**schemas, table: replace(own, table=replace(own.table, caps=Caps(max_rows=cap)))}
