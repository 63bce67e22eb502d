"""Programs that read exact counts of one table: synthetic rows, tables that agree, trees, streams of questions.

Promise: all that can be refused is refused before the payment, which is one charge for everything that follows; the
data is read after it, by the session's engine, as bounded counts. Where a contribution bound or value bounds are open,
the first step is a profile for a tenth of the price, and the second counts with what was chosen from it. Proofs:
synthetic/spending.md, synthetic/tables/engine_source.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, Generic, TypeVar

from discreet.errors import BadParameter
from discreet.exact import number
from discreet.mechanisms.statistics.budget import Moves
from discreet.messages import Message, message
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import ZCDP, Approx, Measure, Pure
from discreet.privacy.promises.receipt import Receipt
from discreet.privacy.promises.record import show
from discreet.query.answer.answer import TableAnswer
from discreet.query.choose.choosing import Kept
from discreet.query.plan.work import Cells
from discreet.query.profile.profile import Profile
from discreet.query.profile.questions import table_questions
from discreet.session.backend import Backend, with_cap
from discreet.session.counts import OpenTable, with_chosen_cap
from discreet.session.price import Price, Terms, composed
from discreet.session.program import PartPayment, Program, QueryStep
from discreet.synthetic.domain import Domain
from discreet.synthetic.source import Clique, Counts
from discreet.synthetic.spending import read_budget
from discreet.synthetic.tables.engine_source import EngineSource
from discreet.synthetic.tables.schema_domain import domain_of

Made = TypeVar("Made")
Found = TypeVar("Found")
SHARE = Fraction(1, 10)
"""Of the price: what the profile costs, where something is open."""


@dataclass
class PaidSource:
    """A source whose first look pays: whatever is refused before it costs nothing."""

    source: EngineSource
    pay: PartPayment | _NoPayment
    price: Event | Approx
    kept: Kept
    notes: tuple[Message, ...] = ()
    """What was chosen for it."""
    _begun: bool = field(default=False, init=False)

    @property
    def domain(self) -> Domain:
        """The public domain."""
        return self.source.domain

    @property
    def scale(self) -> int:
        """What one row counts."""
        return self.source.scale

    @property
    def receipt(self) -> Receipt | None:
        """What all was paid with, once it was."""
        return self.pay.receipt

    def moves(self, clique: Clique) -> Moves:
        """How far a marginal moves."""
        return self.source.moves(clique)

    def with_domain(self, domain: Domain) -> PaidSource:
        """The same rows over other values of the same columns, under the same payment."""
        same_rows = replace(self, source=self.source.with_domain(domain))
        same_rows._begun = self._begun
        return same_rows

    def marginals(self, cliques: Sequence[Clique]) -> list[Counts]:
        """Exact counts; paid for. When the first are there, noise may be drawn, once for this payment."""
        return self._paid(lambda: self.source.marginals(cliques))

    def cells(self, clique: Clique) -> Cells:
        """Exact counts that are not 0; paid for in the same way."""
        return self._paid(lambda: self.source.cells(clique))

    def _paid(self, look: Callable[[], Found]) -> Found:
        if self._begun:
            return look()
        self.source.check()
        receipt = self.pay(self.price)
        counts = look()
        receipt.redeem(self.price)
        self.kept.answered = self._begun = True
        return counts


class _Tried(Exception):
    """All that can be refused was not."""


class _NoPayment:
    """In place of a payment, to try a request with: nothing is read, since the first look ends it."""

    receipt: Receipt | None = None

    def __call__(self, _: Event | Measure) -> Receipt:
        raise _Tried


@dataclass(frozen=True, slots=True)
class CountsJob(Generic[Made]):
    """Something that is made of exact counts and noise at one price."""

    name: str
    """As the ledger has it, such as "synthesize"."""
    what: str
    """In words, such as "synthetic rows"."""
    more: str
    """What else the ledger says of it, beside the table and its columns."""
    work: Callable[[Any, Mapping[str, Any]], Made]
    """Gets the counts, and the price as ``rho`` or as ``epsilon`` and ``delta``; its noise is worth no more."""
    written: Callable[[Made], bytes] | None = None
    """As JSON, for the ledger; None if it is not kept."""


@dataclass(frozen=True, slots=True)
class CountsStep(Generic[Made]):
    """A job on the counts of a source, for its share of the price."""

    job: CountsJob[Made]
    source: EngineSource
    price: Event | Approx
    budget: Mapping[str, Any]
    """The same, for the mechanism."""
    choose: Callable[[Sequence[TableAnswer]], tuple[EngineSource, tuple[Message, ...]]] | None = None
    """The source with what is chosen from histograms, which the step before has released; and what was chosen."""

    @property
    def cost(self) -> Measure:
        """What is charged, as an amount."""
        return self.price if isinstance(self.price, Approx) else ZCDP(self.price.rho)  # type: ignore[attr-defined]

    def run(self, backend: Backend, pay: PartPayment, kept: Kept, earlier: Sequence[Any]) -> Made:
        """Count, and make of it what the job says."""
        source, notes = self.source, tuple[Message, ...]()
        if self.choose is not None:
            source, notes = self.choose(earlier[-1])
        return self.job.work(PaidSource(source, pay, self.price, kept, notes), self.budget)


def counts_program(
    backend: Backend,
    job: CountsJob[Made],
    table: str,
    price: Price,
    *,
    columns: Sequence[str] | None = None,
    domain: Mapping[str, Any] | Domain | None = None,
    max_rows: int | None = None,
    keep: bool = False,
) -> Program:
    """What a job makes of a table's exact counts, as a program of one step; of two, where something is open.

    ``max_rows``: instead of a bound that would be chosen; ``keep``: whether counts are kept for later questions.
    """
    charged, budget = price_of_counts(backend.terms, price, job.what)
    schemas = backend.schemas
    if table not in schemas:
        raise BadParameter("table", table, f"must be one of {', '.join(schemas)}")
    if max_rows is not None and schemas[table].table.caps.auto:
        schemas = with_cap(schemas, table, max_rows)
    make = partial(EngineSource, backend.engine, neighbours=backend.terms.neighbours, keep=keep)
    left_open = OpenTable.of(table, schemas[table], columns, domain)
    first, left = split(price) if left_open else (price, price)
    if left_open:
        charged, budget = price_of_counts(backend.terms, left, job.what)
    tried = left_open.tried(schemas)
    source = make(tried, table, domain_of(table, tried[table], columns, domain))
    step = CountsStep(job, source, charged, budget)
    steps: tuple[Any, ...] = (step,)
    if left_open:
        with suppress(_Tried):
            job.work(PaidSource(source, _NoPayment(), charged, Kept()), budget)

        questions = table_questions(table, schemas, left_open.columns)

        def choose(answers: Sequence[TableAnswer]) -> tuple[EngineSource, tuple[Message, ...]]:
            profile = Profile.of(table, questions, answers)
            bounded, vain = left_open.with_bounds(schemas, profile)
            values = domain_of(table, bounded[table], columns, domain)
            rho = read_budget(**{"epsilon": None, "delta": None, "rho": None, **budget})[0]
            bounded, words = with_chosen_cap(bounded, table, profile, rho, values.sizes)
            return make(bounded, table, values), (*words, *vain, note_of_profile(price, left))

        quote = backend.terms.quote(
            [question.prepared for question in questions],
            first,
            lambda price: backend.affords(composed([price, charged])),
        )
        histograms = QueryStep(quote, tuple(question.prepared.outcome for question in questions))
        steps = histograms, replace(step, choose=choose)
    text = f"{job.name}({table}: {', '.join(source.domain.columns)}{job.more})"
    written = job.written
    return Program(steps, lambda: text, write=None if written is None else lambda made, _: written(made))


def price_of_counts(terms: Terms, price: Price, what: str) -> tuple[Event | Approx, dict[str, Any]]:
    """What is charged, and the same as the budget of the mechanism."""
    if price.error is not None:
        raise BadParameter("error", price.error, f"must be left out: {what} of a stated error have no known cost")
    match terms.allowance(price):
        case ZCDP(rho=rho):
            return events.ZCDP(rho), {"rho": rho}
        case Approx(epsilon=e, delta=d) as charged:
            if not d:
                raise BadParameter("delta", d, "must be above 0: Gaussian noise is never purely private")
            return charged, {"epsilon": e, "delta": d}
        case Pure():
            raise BadParameter("budget", terms.budget, f"must have a delta, or be in rho: {what} need Gaussian noise")


def split(price: Price) -> tuple[Price, Price]:
    """What the profile costs, and what is left for the rest."""
    return price.times(SHARE), price.times(1 - SHARE)


def note_of_profile(whole: Price, left: Price) -> Message:
    """That a part of the price was spent on a profile.

    >>> print(note_of_profile(Price(1), Price("9/10")))
    epsilon 0.1 of the cost was spent on a profile, to choose contribution bounds and value bounds.
    """
    before, after = whole.texts(), left.texts()
    spent = {name: number(before[name]) - number(after[name]) for name in ("epsilon", "rho") if name in before}
    return message("profile_cost", amounts=tuple(f"{name} {show(amount)}" for name, amount in spent.items()))
