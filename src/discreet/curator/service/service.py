"""The curator itself, without HTTP: who sees which data sets, what a question costs, and how it is answered.

An answer is made in this order, and in no other: plan and price (no data); hold an engine; pay, durably; run the
engine in its own process, first for what is to be chosen, all under the one payment; add noise, here; wait for the grid
of time; store the answer; hand out what was stored.

Promise: nothing leaves that was not stored, nothing is stored that was not paid, and a failure after the payment is
one constant reply that is stored like an answer. Whatever is refused before the payment is refused by public things.
"""

from __future__ import annotations

import json
import math
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from discreet.answer import confidence_level
from discreet.curator.amounts import write_amount
from discreet.curator.error_replies import Refusal, log, reply, where
from discreet.curator.limits import Limits, Meter, check_number, check_size
from discreet.curator.planning import Planning
from discreet.curator.service import declarations, serialize
from discreet.curator.service.access import Access, Caller
from discreet.curator.service.audit_export import AuditExport
from discreet.curator.service.budget_requests import BudgetRequests
from discreet.curator.service.cancelling import CANCELLED, cancelled_charges
from discreet.curator.service.config import Config
from discreet.curator.service.copies.lease import Lease
from discreet.curator.service.copies.marker import mark
from discreet.curator.service.copies.place import check_place
from discreet.curator.service.copies.unit_sets import MOST, check_units, keep_units, smallest_of, unit_cautions
from discreet.curator.service.copies.witness import Publisher, check_witness
from discreet.curator.service.job_questions import PublicationQuestion
from discreet.curator.service.library import SAME, Library, Sameness, check_no_job, read_answer
from discreet.curator.service.open_datasets import MadePreview, OpenDataset, OpenDatasets, unit_column
from discreet.curator.service.people import OWNER, Role, Staff
from discreet.curator.service.questions import (
    AnyQuestion,
    Check,
    PlanQuestion,
    Read,
    SqlQuestion,
    WorkloadQuestion,
    accuracy,
    program_for,
    question_of,
    stored_form,
)
from discreet.curator.service.readiness import Readiness
from discreet.curator.service.reply_timing import Grid
from discreet.curator.service.sign_on import SignOn
from discreet.errors import (
    AlreadyProtected,
    BadParameter,
    BadQuestion,
    DiscreetError,
    EngineFailed,
    LedgerBusy,
    LedgerMismatch,
    NotRegistered,
    ServiceBusy,
)
from discreet.ledger.charges import Charge
from discreet.ledger.entries import write_event
from discreet.ledger.journal import Clock, utc
from discreet.ledger.receipts import paper_price, verify_paper
from discreet.ledger.state import Dataset, Population, State, limits_of
from discreet.ledger.store import Ledger, Line
from discreet.ledger.verify import verify_ledger
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.answer.derived import derived
from discreet.query.answer.serialize import dump
from discreet.query.estimate.prepare import Prepared
from discreet.query.plan.schema import EACH_ROW
from discreet.session.backend import Backend
from discreet.session.ledger_budget import AlreadyCharged, LedgerBudget, RetryBudget
from discreet.session.program import Program, run
from discreet.session.query import Query, RefusedForValues, read_query
from discreet.session.synthetic import preview_publication

Point = Callable[[str], None]
ANONYMOUS_LIMITS = Limits(requests_per_second=Fraction(10), burst=60)
"""What one address may ask for without a valid token."""
_SOURCES = 5
"""Stored answers from which an answer is tried to be derived."""
_SLACK = 5
"""Seconds after the deadline after which a charge without an answer is known to be lost."""


@dataclass(frozen=True, slots=True)
class _Unpaid:
    """What a preview is made with."""

    backend: Backend
    budget_store: LedgerBudget
    reading: tuple[Any, ...] = ()
    """How questions in SQL are read and checked."""

    def costs(self, program: Program, people: Population) -> dict[str, Any]:
        """What a program would cost, and what would be left."""
        cost = self.budget_store.quote(program.price)
        return {
            "price": write_amount(cost.price),
            "left": write_amount(cost.left),
            "left_after": None if cost.left_after is None else write_amount(cost.left_after),
            "price_epsilon": serialize.epsilon_of(cost.price, people),
            "left_epsilon": serialize.epsilon_of(cost.left, people),
            "left_after_epsilon": None if cost.left_after is None else serialize.epsilon_of(cost.left_after, people),
        }

    def previews(self, program: Program, rows: int | None, people: Population) -> list[dict[str, Any]]:
        """The error bars of each answer of a program, and what all would cost."""
        left = self.budget_store.quote(program.price).left
        shown = serialize.previews(program.previews(self.backend, rows), program, left)
        common = self.costs(program, people) | {"allowance": write_amount(program.allowance)}
        return [each | common for each in shown]


class Curator:
    """Data sets, a ledger and analysts. Any number of threads may use it."""

    def __init__(self, config: Config, ledger: Ledger, *, clock: Clock = utc, at: Point = lambda _: None) -> None:
        self.config = config
        self.ledger = ledger
        self.access = Access(ledger, clock)
        self.people = Staff(ledger)
        self.sign_on = None if config.sign_on is None else SignOn.configured(ledger, self.access, config.sign_on)
        self.requests = BudgetRequests(ledger, clock)
        self.meter = Meter(config.limits)
        self.anonymous_meter = Meter(ANONYMOUS_LIMITS)
        self.planning = Planning(config.limits)
        self.grid = Grid(float(config.quantum), config.grid)
        self.open_datasets = OpenDatasets(config)
        self.library = Library(ledger)
        self.readiness = Readiness(ledger, _folders(config))
        self._clock = clock
        self.at = at
        self.audit: AuditExport | None = None
        self._kept: list[Lease | Publisher | AuditExport] = []
        """What is renewed while this serves."""

    def serve(self) -> None:
        """Check that this ledger is to be served here, and by this machine alone; go on checking while it serves."""
        check_place(self.ledger, self.config.ledger)
        check_witness(self.ledger, self.config.witness)
        if self._kept:
            return
        if isinstance(self.config.ledger, Path):
            self._kept.append(Lease(self.ledger, self.config.ledger))
        if self.config.witness is not None:
            self._kept.append(Publisher(self.ledger, self.config.witness))
        if self.config.audit is not None:
            position = self.config.copies.with_name("audit.position")
            self.audit = AuditExport(self.ledger, self.config.audit, position)
            self._kept.append(self.audit)

    def now(self) -> datetime:
        """The time by this service's clock."""
        return self._clock()

    def cautions(self) -> list[str]:
        """What the owner should know: about where the ledger is stored, and about other ledgers on the same data."""
        cautions = list(self.ledger.cautions)
        for name, dataset in self.ledger.datasets.items():
            if dataset.retired:
                continue
            with suppress(DiscreetError):  # what cannot be read is reported when it is opened
                folders = declarations.read(dict(dataset.about), name).folders(self.config.data)
                cautions += mark(folders, self.ledger.head.ledger)
        cautions += [
            f"queries about the data set {name!r} are refused: its tables are not there, or not as they were "
            "registered; restore them, register it again, or retire it"
            for name in self.readiness.broken
        ]
        cautions += [
            f"the data set {name!r} has columns that came after it was registered, and they cannot be queried: "
            f"{', '.join(columns)}; declare them and register it again to allow it"
            for name, columns in self.open_datasets.left_out().items()
        ]
        cautions += unit_cautions(self.ledger.look())
        return list(dict.fromkeys(cautions))

    def look_at_datasets(self) -> None:
        """Find the data sets that cannot be asked now, by public facts about their tables; they are no more ready."""
        broken = []
        for name, dataset in self.ledger.datasets.items():
            if dataset.retired:
                continue
            try:
                opened = self.open(dataset)
                opened.engine.check_sources(schema.table.source for schema in opened.backend.schemas.values())
            except ServiceBusy:
                if name in self.readiness.broken:
                    broken.append(name)
            except DiscreetError as error:
                if name not in self.readiness.broken:
                    log.error("%s cannot be asked: %s", name, type(error).__name__)
                broken.append(name)
        self.readiness.broken = tuple(broken)

    def close(self) -> None:
        """End the engines and let go of the ledger."""
        while self._kept:
            self._kept.pop().close()
        self.open_datasets.close()
        self.ledger.close()

    # --- data sets --------------------------------------------------------------------------------------------------

    def datasets(self, caller: Caller) -> dict[str, Dataset]:
        """The data sets that somebody may know of: an analyst those they may ask about, others those they oversee."""
        return _datasets(self.ledger.look(), caller)

    def dataset(self, caller: Caller, name: str) -> tuple[Dataset, Population]:
        """One of them, and the people in it; what somebody may not know of is not there."""
        state = self.ledger.look()
        dataset = _datasets(state, caller).get(name)
        if dataset is None:
            raise NotRegistered("there is no such data set for you")
        return dataset, state.populations[dataset.population]

    def population(self, name: str) -> Population:
        """The people of a data set, with their budget."""
        people = self.ledger.look().populations.get(name)
        if people is None:
            raise NotRegistered("there is no such population")
        return people

    def open(self, dataset: Dataset) -> OpenDataset:
        """A data set, opened: once, until the owner describes it anew."""
        return self.open_datasets.get(dataset, lambda: self.population(dataset.population))

    def register(
        self,
        name: str,
        dataset: declarations.Dataset,
        population: str,
        *,
        budget: Measure | None = None,
        protects: str = "one person",
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
        rule: Rule | None = None,
        decision: str | None = None,
        by: str = OWNER,
    ) -> int:
        """Register a data set, and a budget for its people if they have none; the number of the entry.

        Its files must be there and its declaration fit their columns; else nothing is recorded.
        """
        people = self.ledger.populations.get(population)
        if people is None and budget is None:
            raise BadParameter("budget", None, f"must be given: the people of {population!r} have none yet")
        if people is not None and budget is not None and budget != people.budget:
            raise AlreadyProtected(f"the people of {population!r} have another budget already: {people.budget}")
        dataset = dataset.completed().without_known_columns()
        nothing = limits_of(budget, rule, ())
        kept = people or Population(population, budget, rule, Fraction(0), nothing, neighbours, protects)  # type: ignore[arg-type]
        opened = self.open_datasets.make(dataset, kept, name)
        try:
            schemas = opened.backend.schemas
            dataset = dataset.knowing({table: tuple(schema.stored) for table, schema in schemas.items()})
            marks, about = dataset.marks(self.config.data), declarations.write(dataset)
            units = self._units(name, population, dataset, opened, decided=decision is not None)
            if units and decision is None:
                check_units(self.ledger, name, population, units)
            if people is None and budget is not None:
                if decision is None:  # else there would be a budget without data
                    self.ledger.owner.check_unprotected(name, population, marks=marks)
                self.ledger.owner.protect(population, budget, unit=protects, neighbours=neighbours, rule=rule, by=by)
            done = self.ledger.owner.register(name, population, about=about, marks=marks, decision=decision, by=by)
        except BaseException:
            opened.engine.close()
            raise
        self.open_datasets.put(name, replace(opened, about=about))
        if units:
            keep_units(self.ledger, name, population, units, decided=decision is not None, by=by)
        return done.sequence

    def _units(
        self, name: str, population: str, dataset: declarations.Dataset, opened: OpenDataset, *, decided: bool
    ) -> set[str]:
        """Hashes of some units of a data set, by which they are recognised elsewhere."""
        own = [
            table
            for table in dataset.tables.values()
            if table.unit not in (None, EACH_ROW) and "->" not in str(table.unit)
        ]
        places = [(table.at(self.config.data).source, unit_column(table.unit)) for table in own]
        tables = [partial(opened.engine.smallest_hashes, *place, MOST) for place in places]
        return smallest_of(self.ledger, name, population, tables, decided=decided)

    def grid_of(self, name: str) -> Grid:
        """The grid of time on which answers about a data set leave."""
        configured = self.config.datasets.get(name)
        if configured is None:
            return self.grid
        return Grid(float(configured.quantum or self.config.quantum), configured.grid or self.config.grid)

    def grid_for(self, caller: Caller, name: str) -> Grid:
        """The same, for those who may know of the data set; for all others the server's."""
        return self.grid_of(name) if name in self.datasets(caller) else self.grid

    # --- asking -----------------------------------------------------------------------------------------------------

    def preview(self, caller: Caller, name: str, question: SqlQuestion | WorkloadQuestion) -> list[dict[str, Any]]:
        """The error bars of each question, and what all would cost together. Free."""
        began = time.monotonic()
        registered, people = self.dataset(caller, name)
        opened = self.open(registered)
        question = question.fixed()
        seen, kept = self._seen(), isinstance(question, SqlQuestion) and question.price.error is None
        made = opened.plans.shown((caller.name, question), seen) if kept else None
        if made is None:
            unpaid = self._unpaid(opened, caller, name, question)
            program = question.program(unpaid.backend, *unpaid.reading)
            plan = Sameness.plan_of(question, program, opened.about)
            made = MadePreview(unpaid.previews(program, question.rows, people), plan, program.price)
            if isinstance(question, SqlQuestion):
                opened.plans.note((caller.name, question.sql), time.monotonic() - began)
            if kept:
                opened.plans.show((caller.name, question), seen, made)
        earlier = self._earlier(caller, registered, made, self._data(opened))
        return [{**shown, "earlier": earlier} for shown in made.shown]

    def _earlier(self, caller: Caller, dataset: Dataset, made: MadePreview, data: str | None) -> dict[str, Any] | None:
        """The answer that releasing this would give for nothing, if there is one."""
        charge = None
        if data is not None:
            with suppress(LedgerMismatch):  # asking it says so
                charge = self.library.find(caller.name, dataset, Sameness(made.plan, data), made.price)
        return None if charge is None else serialize.library_line(charge)

    def preview_plan(self, caller: Caller, name: str, question: PlanQuestion) -> dict[str, Any]:
        """What each question of a plan gets, what all would cost together, and their error bars. Free."""
        registered, people = self.dataset(caller, name)
        opened = self.open(registered)
        question = question.fixed()
        unpaid = self._unpaid(opened, caller, name, question)
        plan = question.plan(unpaid.backend, *unpaid.reading)
        shown = unpaid.previews(plan.program, question.rows, people)
        return {"plan": plan.summary.as_dict(), "questions": shown}

    def preview_publication(self, caller: Caller, name: str, question: PublicationQuestion) -> dict[str, Any]:
        """The error of each table, the levels' shares of the cost, and what all would cost. Free."""
        registered, people = self.dataset(caller, name)
        unpaid = self._unquoted(self.open(registered), caller, name)
        question.check(unpaid.backend)
        preview = preview_publication(unpaid.backend, question.table, question.wanted, question.price)
        tables = [dict(zip(("table", "cells", "error"), table, strict=True)) for table in preview.tables]
        shares = [{"level": level or "total", "share": share} for level, share in preview.shares.items()]
        more = {"tables": tables, "shares": shares, "consequences": list(preview.consequences)}
        return more | unpaid.costs(preview.program, people)

    def _unquoted(self, opened: OpenDataset, caller: Caller, name: str) -> _Unpaid:
        """A budget from which nothing is paid."""
        budget_store = LedgerBudget(self.ledger, name, caller.name, key="", query="", parameters={})
        return _Unpaid(opened.backend.serving(budget_store), budget_store)

    def _unpaid(
        self, opened: OpenDataset, caller: Caller, name: str, question: SqlQuestion | WorkloadQuestion
    ) -> _Unpaid:
        """Questions that are read, with a budget from which nothing is paid."""
        unpaid = self._unquoted(opened, caller, name)
        return replace(unpaid, reading=self._reading(opened, unpaid.backend, caller, question))

    def _seen(self) -> tuple[object, ...]:
        """What previews depend on beside the question: what the ledger has, by whichever server."""
        state = self.ledger.look()
        return state.sequence, state.hash

    def previews_at_once(self, caller: Caller, name: str, question: SqlQuestion) -> bool:
        """Whether a preview is known to take but a moment and to wait for nobody: a server makes it in its loop."""
        if not self.ledger.local or question.price.error is not None:
            return False
        opened = self.open_datasets.opened(self.dataset(caller, name)[0])
        if opened is None:
            return False
        made = opened.plans.shown((caller.name, question), self._seen()) is not None
        return made or opened.plans.quick((caller.name, question.sql))

    def ask(
        self,
        caller: Caller,
        name: str,
        question: AnyQuestion,
        key: str | None = None,
        *,
        fresh: bool = False,
        began: float | None = None,
        paid: Callable[[int, Callable[[], None]], None] = lambda *_: None,
    ) -> Charge:
        """Pay for what is asked and answer it; the answer is in the charge that comes back, as it is stored.

        An answer to the same query of the same data that was paid for with at least this comes back for nothing, with
        ``again``; ``fresh`` pays for another one. ``began`` is when the request came, by ``time.monotonic``: the answer
        is then stored on the grid of time. ``paid`` is called with the number of the charge, before the data is read,
        and with what stops the engine.
        """
        registered, _ = self.dataset(caller, name)
        opened = self.open(registered)
        question, budget_store = self._under_key(caller, name, question, key)
        budget_store.paid = lambda number: paid(number, opened.engine.stopper())
        backend = opened.backend.serving(budget_store)
        try:
            if isinstance(question, PlanQuestion):
                budget_store.check_new()  # to plan again what was paid would take seconds, and come to the same
            reading = self._reading(opened, backend, caller, question)
            with self.planning.limited():
                program = program_for(question, backend, *reading)
            self.at("planned")
            data = self._data(opened)
            if data is not None and budget_store.noted is None:
                rows = Sameness.rows_of(program.answer.quote.questions)
                same = Sameness(Sameness.plan_of(question, program, opened.about), data, rows)
                earlier = None if fresh else self.library.find(caller.name, registered, same, program.price)
                if earlier is not None:
                    return replace(earlier, again=True)
                budget_store.note({SAME: {**asdict(same), "rows": list(rows)}})
            with opened.engine.reserved(caller.name):
                stored, words = self._answered(backend, question, program, budget_store)
            if data is not None and data != self._data(opened):
                stored = dump({**json.loads(stored), "data_changed": True})  # while they were read: of neither version
        except AlreadyCharged as before:
            return self._again(before.charge)
        charge = budget_store.charge
        if charge is None:
            raise EngineFailed
        self.at("noise")
        if began is not None:
            self.grid_of(name).hold(began)
        if charge.sequence in cancelled_charges(self.ledger.look()):
            stored, words = dump(CANCELLED), None
        return self.ledger.store_answer(charge, stored, accuracy=words)

    def derived(self, caller: Caller, name: str, question: SqlQuestion) -> tuple[Charge, dict[str, Any]] | None:
        """What follows from a stored answer alone, with the charge of that one; free. None if nothing does.

        The plan of that answer is made again, and must have the event that was charged: then its noise is known.
        """
        registered, _ = self.dataset(caller, name)
        opened = self.open(registered)
        data, question = self._data(opened), question.fixed()
        unpaid = self._unpaid(opened, caller, name, question)
        (query,) = question.queries(*unpaid.reading)
        level = confidence_level(question.price.confidence)
        if data is not None and query.values is None:
            rows = Sameness.rows_of([query.prepared])
            for charge in islice(self.library.about(caller.name, registered, data, rows), _SOURCES):
                numbers, record = read_answer(charge).get("numbers"), charge.record
                earlier = question_of(record.query, record.parameters)
                if numbers is None or earlier is None:
                    continue
                program = earlier.program(unpaid.backend, *unpaid.reading)
                if len(program.steps) > 1 or write_event(program.price) != record.event:
                    continue
                quote = program.answer.quote
                made = derived(query.prepared, query.plan.outcome, quote, quote.questions[0], numbers, charge.sequence)
                if made is not None:
                    return charge, serialize.answer_for_client(made, level)
        return None

    def charged_before(self, caller: Caller, name: str, question: AnyQuestion, key: str) -> Charge | None:
        """What was charged for this question under this key, without waiting for an engine; KeyReused for another."""
        self.dataset(caller, name)
        _, budget_store = self._under_key(caller, name, question, key)
        try:
            budget_store.check_new()
        except AlreadyCharged as before:
            return before.charge
        return None

    def _under_key(
        self, caller: Caller, name: str, question: AnyQuestion, key: str | None
    ) -> tuple[AnyQuestion, RetryBudget]:
        """A question as its key has it, and what pays for it."""
        before = None if key is None else self.ledger.charge_of(caller.name, key)
        if isinstance(question, SqlQuestion | WorkloadQuestion):
            question = question.fixed(None if before is None else before.record.parameters.get("asked_at"))
        query, parameters, key = question.query, question.parameters, key or secrets.token_hex(16)
        budget_store = RetryBudget(self.ledger, name, caller.name, key=key, query=query, parameters=parameters)
        if before is not None:  # the key decides, whatever the data are by now
            budget_store.note({name: value for name, value in before.record.parameters.items() if name == SAME})
        return question, budget_store

    def _data(self, opened: OpenDataset) -> str | None:
        """Which data an answer would be about now; None if that is not known."""
        return opened.data_version(self.ledger.owner.hidden)

    def _answered(
        self, backend: Backend, question: AnyQuestion, program: Program, budget_store: LedgerBudget
    ) -> tuple[bytes, dict[str, str] | None]:
        """The answer as it will be stored, and its accuracy. After the payment every failure is one and the same."""
        try:
            stored = stored_form(question, run(program, backend), backend)
            return dump(stored), accuracy(stored)
        except AlreadyCharged:
            raise
        except RefusedForValues as refused:  # the values that it names were released, so they are its answer
            return dump(reply(BadQuestion(str(refused)))[1]), None
        except Exception as error:
            if budget_store.charge is None:  # refused before anything was paid
                raise
            if not isinstance(error, EngineFailed):
                log.error("after a payment: %s", where(error))
            return dump(reply(EngineFailed())[1]), None

    def _reading(
        self, opened: OpenDataset, backend: Backend, caller: Caller, question: AnyQuestion
    ) -> tuple[Read, Check]:
        """What reads questions, and what refuses those that are too large: no data is touched."""
        if isinstance(question, WorkloadQuestion):
            check_number(len(question.sqls), self.config.limits)
        fresh: dict[str, Query] = {}
        dialect = question.dialect if isinstance(question, SqlQuestion | WorkloadQuestion) else None
        spelling = "" if dialect is None else f"{dialect}: "

        def read(text: str) -> Query:
            key = spelling + text
            query = opened.plans.get((caller.name, key)) or fresh.get(key)
            if query is None:
                query = fresh[key] = read_query(backend, text, dialect)
            return replace(query, backend=backend)

        def check(questions: Sequence[Prepared]) -> None:
            check_size(questions, self.config.limits)
            for text, query in fresh.items():
                opened.plans.put((caller.name, text), query)

        return read, check

    def _again(self, charge: Charge) -> Charge:
        """A question that was charged before: its stored answer, or what there is to say of it."""
        if charge.pruned:
            raise Refusal(
                410,
                "Pruned",
                "this query was answered, and the owner keeps the answer no longer; a new key costs again",
            )
        if not charge.pending:
            return replace(charge, again=True)
        wait = self._under_way_for(charge)
        if wait > timedelta(0):
            raise LedgerBusy(
                "this query was charged, and is being answered or was lost with a server that ended; ask again with "
                f"the same key, which costs nothing more: after {math.ceil(wait.total_seconds())} s it is known"
            )
        raise EngineFailed  # lost in a crash: charged, never answered

    def _under_way_for(self, charge: Charge) -> timedelta:
        """How long an answer may still come."""
        limit = timedelta(seconds=float(self.config.limits.deadline) + float(self.config.limits.patience) + _SLACK)
        return datetime.fromisoformat(charge.entry.time) + limit - self._clock()

    def is_under_way(self, charge: Charge) -> bool:
        """Whether an answer to a charge without one may still come."""
        return self._under_way_for(charge) > timedelta(0)

    def check_answered(self, charge: Charge) -> None:
        """Refuse to show an answer that is not stored: it is under way, or it was lost and will never come."""
        if not charge.pending:
            return
        check_no_job(charge.record.parameters)
        if self.is_under_way(charge):
            raise Refusal(503, "UnderWay", "this query is being answered; look again in a few seconds")
        raise EngineFailed

    # --- looking ----------------------------------------------------------------------------------------------------

    def answer(self, caller: Caller, sequence: int) -> Charge:
        """A stored answer: one's own, or one about people whose answers one may read."""
        charge = self.receipt(caller, sequence)
        if caller.role is not Role.ANALYST and not caller.reads(charge.record.population):
            raise Refusal.nothing_here()
        return charge

    def shown_answer(self, caller: Caller, sequence: int) -> Charge:
        """The same, or one that is shared: about a data set that one may ask now, and that keeps no answers apart."""
        with suppress(Refusal):
            return self.answer(caller, sequence)
        try:
            charge = self.ledger.charge(sequence)
            dataset, _ = self.dataset(caller, charge.record.dataset)
        except NotRegistered:
            raise Refusal.nothing_here() from None
        if caller.role is not Role.ANALYST or not self.library.shares(charge, dataset):
            raise Refusal.nothing_here()
        return charge

    def shared_answers(
        self, caller: Caller, name: str, search: str = "", before: int | None = None
    ) -> tuple[str | None, Iterator[Charge]]:
        """Which data a data set has now, and the answers about it that one may see, the newest first."""
        dataset, _ = self.dataset(caller, name)
        if caller.role is not Role.ANALYST and not caller.reads(dataset.population):
            raise Refusal.nothing_here()
        analyst = caller.name if caller.role is Role.ANALYST else None
        return self._data(self.open(dataset)), self.library.listed(analyst, dataset, search, before)

    def receipt(self, caller: Caller, sequence: int) -> Charge:
        """A charge, of which one may see what was asked and paid: one's own, or of a budget that one oversees."""
        try:
            charge = self.ledger.charge(sequence)
        except NotRegistered:
            raise Refusal.nothing_here() from None
        own = caller.role is Role.ANALYST and charge.entry.by == caller.name
        if not own and not caller.oversees(charge.record.population):
            raise Refusal.nothing_here()
        return charge

    def entries(self, caller: Caller, *, after: int, limit: int, kind: str | None = None) -> list[Line]:
        """Entries of the ledger: those about oneself, or about the budgets that one oversees."""
        if caller.role is Role.ANALYST:
            return self.ledger.entries(after=after, limit=limit, kind=kind, analyst=caller.name)
        if caller.populations is None:
            return self.ledger.entries(after=after, limit=limit, kind=kind)
        parts = [
            self.ledger.entries(after=after, limit=limit, kind=kind, population=name)
            for name in sorted(caller.populations)
        ]
        return sorted(chain(*parts), key=lambda line: line.entry.sequence)[:limit]

    def check_overseen(self, caller: Caller, dataset: str | None, population: str | None) -> None:
        """Refuse what is about people that somebody does not oversee, as if it were not there."""
        if dataset is not None:
            self.dataset(caller, dataset)
        if population is not None and not caller.oversees(population):
            raise NotRegistered("there is no such population")

    def verify_paper(self, text: str) -> dict[str, Any]:
        """What a receipt or release card of this ledger says, and whether its charge stands there; or BadSignature."""
        says = verify_paper(text, self.ledger.look().public_keys)
        try:
            charge = self.ledger.charge(says["number"])
        except NotRegistered:
            charge = None
        if charge is None or charge.entry.hash != says["hash"]:
            return says | {"price": paper_price(says), "stands": False}
        return says | {"price": str(charge.price), "stands": True}

    def budget(self, caller: Caller) -> list[dict[str, Any]]:
        """Where the budgets stand: an analyst's own, or those that one oversees and each analyst's share."""
        if caller.role is Role.ANALYST:
            return budgets(self.ledger, caller.name)
        return [standing for standing in budgets(self.ledger) if caller.oversees(standing["population"])]

    def verified(self) -> dict[str, Any]:
        """A check of every entry, sum and stored answer of the ledger."""
        head = self.config.head
        if head is None and isinstance(self.config.ledger, Path):
            head = self.config.ledger.with_name(f"{self.config.ledger.name}.head")
        report = verify_ledger(self.config.ledger, head=head)
        return {"ok": report.good, "entries": report.entries, "problems": list(report.problems)}


def budgets(ledger: Ledger, analyst: str | None = None) -> list[dict[str, Any]]:
    """Where the budgets of a ledger stand: those of one analyst, or all of them and each analyst's share."""
    state = ledger.look()
    people, analysts = dict(state.populations), dict(state.analysts)

    def own(name: str, who: str) -> dict[str, Any]:
        return serialize.standing(ledger.standing(name, who), people[name])

    if analyst is not None:
        return [own(name, analyst) for name in analysts[analyst].caps]
    return [
        serialize.standing(ledger.standing(name), population)
        | {"analysts": [own(name, a.name) for a in analysts.values() if name in a.caps and not a.revoked]}
        for name, population in people.items()
    ]


def _folders(config: Config) -> tuple[Path, ...]:
    """Where the ledger and its head file lie on this machine."""
    files = (config.ledger if isinstance(config.ledger, Path) else None, config.head, config.key)
    return tuple({file.parent for file in files if file is not None})


def _datasets(state: State, caller: Caller) -> dict[str, Dataset]:
    present = {name: dataset for name, dataset in dict(state.datasets).items() if not dataset.retired}
    if caller.role is not Role.ANALYST:
        return {name: dataset for name, dataset in present.items() if caller.oversees(dataset.population)}
    analyst = state.analysts.get(caller.name)
    caps: Mapping[str, object] = {} if analyst is None else analyst.caps
    return {name: dataset for name, dataset in present.items() if dataset.population in caps}
