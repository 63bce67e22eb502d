"""Many questions of one table of a session, at one price: synthetic rows, a stream of questions, keys to begin with.

Promise: all that can be refused is refused before the payment, which is one charge for everything that follows; the
data is read after it, by the session's engine, as bounded counts. What was paid for and could not be read may be asked
for again under the same payment. Proofs: synthetic/spending.md, synthetic/pmw.md, synthetic/tables/engine_source.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar, overload

from discreet.answer import CONFIDENCE, Answer
from discreet.errors import BadParameter, EngineFailed, NoEstimate, NotATheorem, OverBudget, ReceiptRefused
from discreet.exact import Number
from discreet.mechanisms.statistics.budget import Moves
from discreet.privacy.budgets.filters import Filter, Open, currency_of
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import ZCDP, Approx, Measure, Pure
from discreet.privacy.promises.receipt import Receipt
from discreet.query.answer.suggest import find_column
from discreet.query.engine import Engine
from discreet.query.front.verbs import count
from discreet.query.plan.key_sets import Hierarchy
from discreet.query.plan.names import quoted
from discreet.query.plan.schema import Declared, Schema, keys
from discreet.query.plan.work import Cells
from discreet.session.counts import (
    Lacks,
    lacking,
    no_bounds,
    no_profile,
    to_try,
    with_cap,
    with_chosen_bounds,
    with_chosen_cap,
)
from discreet.session.payment import BudgetStore, Payment, fit_in_turn
from discreet.session.price import Price, Terms
from discreet.session.profile_first import going_on, note_of_first_payment, split
from discreet.session.profiles import Profiled, buy_profile, questions_to_buy
from discreet.synthetic.direct import Answers, answer
from discreet.synthetic.domain import Domain
from discreet.synthetic.hierarchical.plan import HierarchicalPlan, Publication
from discreet.synthetic.hierarchical.plan import plan as plan_publication
from discreet.synthetic.hierarchical.released import PublishedTables, publish
from discreet.synthetic.pmw import QUESTIONS, Stream, pmw
from discreet.synthetic.result import Synthetic
from discreet.synthetic.source import Clique, Counts, then
from discreet.synthetic.spending import read_budget
from discreet.synthetic.synthesize import synthesize
from discreet.synthetic.tables.engine_source import EngineSource
from discreet.synthetic.tables.schema_domain import domain_of
from discreet.synthetic.workload import Asked

Made = TypeVar("Made")


@dataclass
class PaidSource:
    """A source whose first look pays: whatever is refused before it costs nothing."""

    source: EngineSource
    payment: Payment
    price: Event | Approx
    before: Callable[[], None] = lambda: None
    """Called right before the payment."""
    notes: tuple[str, ...] = ()
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
        """What it was paid with, once it was."""
        return self.payment.receipt

    def moves(self, clique: Clique) -> Moves:
        """How far a marginal moves."""
        return self.source.moves(clique)

    def with_domain(self, domain: Domain) -> PaidSource:
        """The same rows over other values of the same columns, under the same payment."""
        found = replace(self, source=self.source.with_domain(domain))
        found._begun = self._begun
        return found

    def marginals(self, cliques: Sequence[Clique]) -> list[Counts]:
        """Exact counts; paid for. When the first are there, noise may be drawn, once for this payment."""
        return self._paid(lambda: self.source.marginals(cliques))

    def cells(self, clique: Clique) -> Cells:
        """Exact counts that are not 0; paid for in the same way."""
        return self._paid(lambda: self.source.cells(clique))

    def _paid(self, look: Callable[[], Made]) -> Made:
        if not self._begun:
            self.source.check()
            self.before()
            self.payment(self.price)
        found = look()
        if not self._begun:
            if self.payment.receipt is not None:
                self.payment.receipt.redeem(self.price)
            self._begun = True
        return found


class _Tried(Exception):
    """All that can be refused was not."""


class TriedSource(PaidSource):
    """A source to try a request with: whatever is refused before the first look is refused, and nothing is read."""

    def _paid(self, look: Callable[[], Made]) -> Made:
        """Nothing: here a payment would be due."""
        del look
        self.source.check()
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
    work: Callable[[PaidSource, Mapping[str, Any]], Made]
    """Gets the counts, and the price as ``rho`` or as ``epsilon`` and ``delta``; its noise is worth no more."""
    written: Callable[[Made], bytes]
    """As JSON, for the ledger."""

    def words(self, table: str, columns: Sequence[str]) -> str:
        """What the ledger says was asked."""
        return f"{self.name}({table}: {', '.join(columns)}{self.more})"


@dataclass(frozen=True, slots=True)
class Counting:
    """What is counted, and what it costs."""

    source: EngineSource
    price: Event | Approx
    budget: Mapping[str, Any]
    """The same, for the mechanism."""
    notes: tuple[str, ...]
    """What was chosen, and paid for that."""


class ManyQuestions(Profiled):
    """The part of a ``Session`` that is about many questions of one table."""

    _terms: Terms
    _budget_store: BudgetStore
    _engine: Engine
    _progress: bool | None

    def synthesize(
        self,
        table: str,
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        columns: Sequence[str] | None = None,
        domain: Mapping[str, Any] | Domain | None = None,
        workload: Asked | None = None,
        rows: int | None = None,
        **options: Any,
    ) -> Synthetic:
        """Synthetic rows of a private table, and the model behind them. One charge, however many marginals it takes.

        ``columns``: all whose values are public, by ``dp.keys`` and ``dp.bounds``, unless said. ``domain`` declares
        single columns otherwise. At most the table's ``max_rows`` rows of a unit count; those of a unit with more are
        weighted down. ``workload``, ``rows`` and all further options are those of ``dp.synthetic.synthesize``. Ctrl-C,
        or ``cancel=...``, keeps what was paid for: the model so far comes back, and nothing is given back.
        """
        options |= {"workload": workload, "rows": rows}

        def work(source: PaidSource, budget: Mapping[str, Any]) -> Synthetic:
            return then(
                lambda: synthesize(source, **budget, **{"progress": self._progress, **options}),
                lambda made: replace(made, receipt=source.receipt, notes=source.notes, max_rows=source.source.max_rows),
            )

        job = CountsJob("synthesize", "synthetic rows", f"; {_workload_words(workload)}", work, Synthetic.to_json)
        return self._from_counts(job, table, Price.of(epsilon, delta, rho), columns=columns, domain=domain)

    @overload
    def tabulate(
        self,
        table: str,
        workload: Publication,
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        domain: Mapping[str, Any] | Domain | None = None,
    ) -> PublishedTables: ...

    @overload
    def tabulate(
        self,
        table: str,
        workload: Asked,
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        columns: Sequence[str] | None = None,
        domain: Mapping[str, Any] | Domain | None = None,
        plan: str | None = None,
    ) -> Answers: ...

    def tabulate(
        self,
        table: str,
        workload: Asked | Publication,
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        columns: Sequence[str] | None = None,
        domain: Mapping[str, Any] | Domain | None = None,
        plan: str | None = None,
    ) -> Answers | PublishedTables:
        """Many counts of one table for one charge, with the least error that can be planned; all of them agree.

        ``workload``: a list of sets of columns, ``"all 2-way"``, or any workload of ``dp.synthetic``. Marginals are
        measured by their interactions, each once: with Gaussian noise nothing has a smaller sum of squared errors.
        With a ``dp.synthetic.publication`` the counts are whole numbers that add up over a declared hierarchy.
        """
        if isinstance(workload, Publication):
            return self._published(table, workload, Price.of(epsilon, delta, rho), domain)

        def work(source: PaidSource, budget: Mapping[str, Any]) -> Answers:
            answers = answer(source, workload, plan=plan, **budget)
            return replace(answers, receipt=source.receipt, notes=source.notes)

        job = CountsJob("tabulate", "tables", f"; {_workload_words(workload)}", work, Answers.to_json)
        return self._from_counts(job, table, Price.of(epsilon, delta, rho), columns=columns, domain=domain)

    def _published(
        self, table: str, publication: Publication, price: Price, given: Mapping[str, Any] | Domain | None
    ) -> PublishedTables:
        """Tables over a hierarchy that add up; the plan is made, and refused, before anything is paid."""
        planned = self._plan_publication(table, publication, given)

        def work(source: PaidSource, budget: Mapping[str, Any]) -> PublishedTables:
            made = publish(source, planned, **budget)
            return replace(made, receipt=source.receipt, notes=source.notes)

        names = "; ".join(" x ".join(columns) for columns in publication.tables)
        job = CountsJob("publish", "tables", f"; {names}", work, PublishedTables.to_json)
        domain = planned.domain
        return self._from_counts(job, table, price, columns=domain.columns, domain=domain)

    def _plan_publication(
        self, table: str, publication: Publication, given: Mapping[str, Any] | Domain | None = None
    ) -> HierarchicalPlan:
        if table not in self._schemas:
            raise BadParameter("table", table, f"must be one of {', '.join(self._schemas)}")
        schema = self._schemas[table]
        key_sets = schema.table.key_sets
        asked = list(dict.fromkeys(name for columns in publication.tables for name in columns))
        places = [one for one in key_sets if isinstance(one, Hierarchy) and set(one.levels) & set(asked)]
        hierarchy = places[0] if places else None
        others = [name for name in asked if hierarchy is None or name not in hierarchy.levels]
        domain = domain_of(table, schema, others, given) if others else Domain({"none": [0]})
        return plan_publication(publication, domain, hierarchy, key_sets)

    def compare(
        self,
        made: Synthetic,
        table: str,
        columns: Sequence[Sequence[str]],
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
    ) -> Answer:
        """How far synthetic rows' model is from the data in some marginals, as shares; paid like any question.

        ``columns``: the marginals, such as ``[("clinic", "smoker")]``. The answer is the L1 distance of each from the
        model, with one error bar for all; what it costs comes on top of what the model has cost.
        """
        if not isinstance(made, Synthetic):
            raise BadParameter("made", type(made).__name__, "must be what session.synthesize returned")
        marginals = made.marginals_named(columns)

        def work(source: PaidSource, budget: Mapping[str, Any]) -> Answer:
            given = {"epsilon": None, "delta": None, "rho": None} | dict(budget)
            found = made.compare(source, marginals, rho=read_budget(**given)[0])
            return replace(found, receipt=source.receipt)

        job = CountsJob("compare", "comparisons", "", work, _compared)
        price = Price.of(epsilon, delta, rho)
        return self._from_counts(
            job, table, price, columns=made.domain.columns, domain=made.domain, max_rows=made.max_rows
        )

    def _from_counts(
        self,
        job: CountsJob[Made],
        table: str,
        named: Price,
        *,
        columns: Sequence[str] | None,
        domain: Mapping[str, Any] | Domain | None = None,
        max_rows: int | None = None,
        left: Price | None = None,
    ) -> Made:
        """What a job makes of a table's exact counts: one charge, paid at the first look; kept in the ledger.

        ``max_rows``: instead of a cap that would be chosen; ``left``: of the price, where a profile was bought.
        """
        again = partial(self._from_counts, job, table, named, columns=columns, domain=domain, max_rows=max_rows)
        with going_on(lambda: again(left=split(named)[1])):
            found = self._counting(
                job.what, job.work, table, named, columns=columns, domain=domain, max_rows=max_rows, left=left
            )
        paying = self._payment(found.price, job.words(table, found.source.domain.columns))
        return self._made(job, found, paying)

    def _made(self, job: CountsJob[Made], found: Counting, paying: Payment) -> Made:
        source = PaidSource(found.source, paying, found.price, notes=found.notes)
        try:
            made = job.work(source, found.budget)
        except EngineFailed as failed:
            if paying.receipt is not None and not paying.receipt.used:
                failed.again = partial(self._made, job, found, paying)
            elif failed.again is not None:  # some noise was drawn; it goes on from there
                failed.again = partial(then, failed.again, partial(self._kept, job, paying))
            raise
        return self._kept(job, paying, made)

    def _kept(self, job: CountsJob[Made], paying: Payment, made: Made) -> Made:
        if self._ledger is not None:
            self._ledger.store_bytes(paying.budget_store, job.written(made))
        return made

    def pmw(
        self,
        table: str,
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        budget: Measure | None = None,
        columns: Sequence[str] | None = None,
        domain: Mapping[str, Any] | Domain | None = None,
        threshold: Number | None = None,
        hard: int | None = None,
        questions: int = QUESTIONS,
    ) -> Stream:
        """A stream of counts of one table under one charge: ``stream.ask("SELECT COUNT(*) ... WHERE ...")``.

        A public model answers as long as a test finds it close enough; otherwise the answer is measured, ``hard``
        times at most (unless said, 50, fewer where rows are few). ``budget`` is ``dp.Pure``, ``dp.Approx`` or
        ``dp.ZCDP``, in place of epsilon, delta and rho; options as in ``dp.synthetic.pmw``. Under an approximate zCDP
        budget no other question may be asked until ``stream.close()``: no theorem lets them interleave.
        """
        options: dict[str, Any] = {"threshold": threshold, "hard": hard, "questions": questions}
        named = _price(budget, epsilon, delta, rho)
        self._priced(named, "a stream")
        alone = not currency_of(self._terms.budget, self._terms.rule).concurrent
        held: list[Open] = []
        if alone and (self._ledger is not None or not isinstance(self._budget_store, Filter)):
            raise NotATheorem(
                "a stream stays open between other questions, and no theorem lets approximate zCDP interleave them: "
                "use a budget of dp.Approx without a rule, or dp.ZCDP(rho) without delta"
            )

        def work(source: PaidSource, asked: Mapping[str, Any]) -> Stream:
            return pmw(source, **options, **asked)

        def opened(left: Price | None = None) -> Stream:
            with going_on(lambda: opened(split(named)[1])):
                found = self._counting(
                    "a stream", work, table, named, columns=columns, domain=domain, keep=True, left=left
                )
            listed = ", ".join(found.source.domain.columns)
            words = f"pmw({table}: {listed}; hard {hard or 'as the number of rows allows'})"
            return begun(found, self._payment(found.price, words))

        def begun(found: Counting, paying: Payment) -> Stream:
            def hold() -> None:
                if held:
                    held[0].go_on()
                elif alone and isinstance(self._budget_store, Filter):
                    held.append(self._budget_store.open(found.price))
                    paying.receipt = held[0].receipt

            try:
                stream = work(PaidSource(found.source, paying, found.price, hold), found.budget)
            except ReceiptRefused:  # asked for again twice: the first one is open, and stays so
                raise
            except BaseException as error:
                unused = paying.receipt is not None and not paying.receipt.used
                if isinstance(error, EngineFailed) and unused:
                    error.again = partial(begun, found, paying)
                for one in held:
                    one.wait() if unused else one.close()
                raise
            stream.receipt, stream.closing = paying.receipt, [one.close for one in held]
            return stream

        return opened()

    def suggest_keys(
        self,
        column: str,
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
    ) -> Declared:
        """The keys of a column of ``dp.unknown_keys`` that enough units have, paid like any question: a ``dp.keys``.

        With ``session.with_columns(people={"town": found})`` it becomes a column of listed keys, which the domain of
        synthetic rows needs. ``NoEstimate`` if no key has enough units to be named.
        """
        name, column = find_column(column, self._schemas)
        if not self._schemas[name].fields[column].unknown:
            raise BadParameter("column", f"{name}.{column}", "must be declared with dp.unknown_keys()")
        question = self[name].group_by(quoted(column)).agg(n=count())  # type: ignore[index]
        answer = question.release(epsilon, delta=delta, rho=rho)
        found = [value for value in answer[column] if value is not None]
        if not found:
            raise NoEstimate
        return keys(found)

    # --- paying -----------------------------------------------------------------------------------------------------

    def _priced(self, price: Price, what: str) -> tuple[Event | Approx, dict[str, Any]]:
        """What is charged, and the same as the budget of the mechanism."""
        if price.error is not None:
            raise BadParameter("error", price.error, f"must be left out: {what} of a stated error have no known price")
        match self._terms.allowance(price):
            case ZCDP(rho=rho):
                return events.ZCDP(rho), {"rho": rho}
            case Approx(epsilon=e, delta=d) as charged:
                if not d:
                    raise BadParameter("delta", d, "must be above 0: Gaussian noise is never purely private")
                return charged, {"epsilon": e, "delta": d}
            case Pure():
                raise BadParameter(
                    "budget", self._terms.budget, f"must have a delta, or be in rho: {what} need Gaussian noise"
                )

    def _counting(
        self,
        what: str,
        work: Callable[[PaidSource, Mapping[str, Any]], object],
        table: str,
        named: Price,
        *,
        columns: Sequence[str] | None,
        domain: Mapping[str, Any] | Domain | None,
        max_rows: int | None = None,
        keep: bool = False,
        left: Price | None = None,
    ) -> Counting:
        """What is counted, and its price. Where caps or bounds are to be chosen, a tenth of it buys a profile first,
        unless it has done so before and this is what is ``left``.
        """
        price, budget = self._priced(named, what)
        schemas: Mapping[str, Schema] = self._schemas
        if table not in schemas:
            raise BadParameter("table", table, f"must be one of {', '.join(schemas)}")
        if max_rows is not None and schemas[table].table.caps.auto:
            schemas = with_cap(schemas, table, max_rows)
        make = partial(EngineSource, self._engine, neighbours=self._terms.neighbours, keep=keep)
        if left is None and lacking(table, schemas, self._known_profiles((table,)).get(table), columns, domain):
            self._read_ledger(table)  # another process may have bought it since
        if left is None and (lacks := lacking(table, schemas, self._profiles.get(table), columns, domain)):
            tried = to_try(schemas, lacks)
            source = make(tried, table, domain_of(table, tried[table], columns, domain))
            paying = self._payment(price, "")
            with suppress(_Tried):
                work(TriedSource(source, paying, price), budget)
            left = self._profile_first(lacks, named, what)
        left = left or named
        price, budget = self._priced(left, what)
        profile = self._known_profiles((table,)).get(table)
        schemas, vain = with_chosen_bounds(schemas, table, profile)
        values = domain_of(table, schemas[table], columns, domain)
        rho = read_budget(**{"epsilon": None, "delta": None, "rho": None, **budget})[0]
        schemas, words = with_chosen_cap(schemas, table, profile, rho, values.sizes)
        notes = (*words, *vain, *note_of_first_payment(named, left))
        return Counting(make(schemas, table, values), price, budget, notes)

    def _profile_first(self, lacks: Lacks, price: Price, what: str) -> Price:
        """Buy what caps and bounds are chosen from, if the rest can be paid then; the price that is left."""
        table = lacks.table
        if self._ledger is None and not isinstance(self._budget_store, Filter):  # a service sells profiles by itself
            raise no_bounds(None, lacks.bounds) if lacks.bounds else no_profile(table)
        first, left = split(price)
        known = self._profiles.get(table)
        asked = [one.prepared for one in questions_to_buy(self, table, lacks.columns, known)]
        payments = (self.quote(asked, first).plan.price, self._priced(left, what)[0])
        if not fit_in_turn(self._budget_store, payments):
            raise self._over_budget(self._priced(price, what)[0])
        buy_profile(self, table, first, lacks.columns, known=known, learn=self._add_profile)
        return left

    def _payment(self, price: Event | Approx, words: str) -> Payment:
        if not self._budget_store.fits(price):
            raise self._over_budget(price)
        return Payment(self._budget_store if self._ledger is None else self._ledger.budget_store(words))

    def _over_budget(self, price: Event | Approx) -> OverBudget:
        charged: Measure = price if isinstance(price, Approx) else ZCDP(price.rho)  # type: ignore[attr-defined]
        return OverBudget(asked=charged, left=self._budget_store.remaining)


def _compared(answer: Answer) -> bytes:
    found = {"distances": [float(d) for d in answer.value], "error": answer.error_at(CONFIDENCE), "spent": answer.cost}
    return json.dumps({"compared": found}, separators=(",", ":")).encode()


def _workload_words(workload: Asked | None) -> str:
    return workload if isinstance(workload, str) else "its default workload" if workload is None else "its workload"


def _price(budget: Measure | None, epsilon: Number | Price | None, delta: Number | None, rho: Number | None) -> Price:
    """The price of a promise, or of numbers; not of both."""
    if budget is None:
        return Price.of(epsilon, delta, rho)
    if (epsilon, delta, rho) != (None, None, None):
        raise BadParameter("budget", str(budget), "must stand alone: give it, or epsilon, delta and rho")
    match budget:
        case Pure(epsilon=amount):
            return Price(amount)
        case Approx(epsilon=amount, delta=chance):
            return Price(amount, chance)
        case ZCDP(rho=amount, delta=chance):
            return Price(None, chance or None, amount)
    raise BadParameter("budget", budget, "must be dp.Pure, dp.Approx or dp.ZCDP")
