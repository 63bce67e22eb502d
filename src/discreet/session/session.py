"""A session: tables, an engine, and one budget for everything that is asked of them.

Promise: whatever is asked, in whatever order, all answers together keep the budget; previews are free; a question that
cannot be asked is refused before data is touched and before anything is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from fractions import Fraction
from functools import partial
from os import PathLike
from typing import Any, NoReturn, overload

from discreet.answer import CONFIDENCE
from discreet.engines.duckdb.engine import duckdb
from discreet.errors import BadParameter, BadQuestion, EngineFailed, NotATheorem, OverBudget
from discreet.exact import Number, number
from discreet.learning.inference.coefficients import Coefficients
from discreet.learning.models.histogram_tree import HistogramTree
from discreet.privacy.budgets.filters import Filter, Rule, default_rule
from discreet.privacy.promises.measures import Approx, Measure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.receipt import Receipt
from discreet.progress import Progress
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.explain import story
from discreet.query.answer.preview import Preview, preview
from discreet.query.choose.choosing import Kept
from discreet.query.engine import Engine
from discreet.query.estimate.prepare import Prepared, prepare
from discreet.query.front.frame import Frame
from discreet.query.front.sql.constants import staged_question
from discreet.query.lower.listed_groups import with_presence
from discreet.query.lower.lower import lower_question
from discreet.query.lower.public_keys import with_public_keys
from discreet.query.plan.nodes import Outcome, Question
from discreet.query.plan.schema import Declared, Schema, Table, read_cap
from discreet.query.profile.agreeing_tables import made_to_agree
from discreet.query.profile.profile import Profile
from discreet.query.run import Answers, Quote, quote, release
from discreet.session.arguments import check_budget, check_engine, check_terms, given_tables, read_schemas
from discreet.session.board import Board, BoardRecord, MemoryBoard, check_fixed, parameters, plan_board
from discreet.session.copies import prepared_copies
from discreet.session.counts import with_cap
from discreet.session.learn import Model, declared_columns, learn, tree_columns, tree_job
from discreet.session.payment import Affords, BudgetStore, HasAccounts, Payment, SessionLedger, fit_in_turn
from discreet.session.plan import Plan
from discreet.session.price import Price, Target, Terms
from discreet.session.query import Order, Query, gathered, gathered_previews, with_constants
from discreet.session.regress import Regression, regression
from discreet.session.synthetic import ManyQuestions
from discreet.session.target_plan import plan_for
from discreet.session.workload import Workload, read_all

__all__ = ["Query", "Session", "Workload"]


class Session(ManyQuestions):
    """Tables, an engine and a budget.

    ``budget`` is ``dp.Approx(epsilon, delta)``, ``dp.Pure(epsilon)`` or ``dp.ZCDP(rho, delta)``. An (ε, δ) budget is
    counted by ``dp.Rule.EITHER`` unless ``rule`` is given: few questions cost the sum of their epsilons, many less.

    ``ledger`` is a file in which the budget outlives the process: it is made the first time, and whoever opens it later
    spends what is left, with every charge on the disk before data are read. ``budget``, ``neighbours`` and ``rule`` may
    then be left out; others than those it was opened with are refused, and so are another unit and other data. Without
    a ledger the budget is forgotten with the process, or kept by a ``budget_store`` of your own.

    >>> from discreet.privacy.promises.measures import Pure
    >>> from discreet.query.plan.schema import table
    >>> visits = table({"patient": [1, 2, 2]}, unit="patient")
    >>> session = Session(visits=visits, budget=Pure(1))
    >>> answer = session.sql("SELECT COUNT(*) AS n FROM visits").release(epsilon="0.25")
    >>> session.remaining
    Pure(epsilon='3/4')

    ``progress``: whether a release that takes more than two seconds shows what it is doing; by default, it does in a
    terminal or a notebook.
    """

    def __init__(
        self,
        tables: Mapping[str, Table] | None = None,
        *,
        budget: Measure | None = None,
        engine: Engine | None = None,
        neighbours: Neighbours | None = None,
        rule: Rule | None = None,
        ledger: str | PathLike[str] | None = None,
        budget_store: BudgetStore | None = None,
        progress: bool | None = None,
        **named: Table,
    ) -> None:
        given = given_tables(tables, named)
        if budget is not None or ledger is None:
            check_budget(budget)
        check_terms(neighbours, rule)
        check_engine(engine)
        if ledger is not None and budget_store is not None:
            raise BadParameter("budget_store", "given", "must be left out: the ledger keeps the budget")
        self._engine = duckdb() if engine is None else engine
        self._schemas = read_schemas(given, self._engine)
        self._ledger: SessionLedger | None = None
        if ledger is not None:
            from discreet.session.local_ledger import open_local_ledger  # it needs an extra

            self._ledger = kept = open_local_ledger(
                ledger, given, self._engine.name, budget=budget, neighbours=neighbours, rule=rule
            )
            budget, neighbours, rule, budget_store = kept.budget, kept.neighbours, kept.rule, kept.budget_store("")
        rule = rule or default_rule(budget)  # type: ignore[arg-type]
        self._terms = Terms(budget, rule, neighbours or Neighbours.ADD_REMOVE)  # type: ignore[arg-type]
        self._budget_store: BudgetStore = (
            Filter(self._terms.budget, rule, neighbours=self._terms.neighbours)
            if budget_store is None
            else budget_store
        )
        self._profiles: dict[str, Profile] = {}
        self._progress = progress

    # --- what there is ----------------------------------------------------------------------------------------------

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables."""
        return tuple(self._schemas)

    @property
    def budget(self) -> Measure:
        """What all answers together keep."""
        return self._terms.budget

    @property
    def remaining(self) -> Measure:
        """What is left of it."""
        return self._budget_store.remaining

    @property
    def remaining_by_account(self) -> tuple[Measure, ...]:
        """What is left of each sum that is counted: under Rule.EITHER of (ε, δ) and of ρ, else of one."""
        store = self._budget_store
        return store.remaining_by_account if isinstance(store, HasAccounts) else (store.remaining,)

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """What is public about the tables."""
        return dict(self._schemas)

    @property
    def engine(self) -> Engine:
        """Where the tables are."""
        return self._engine

    def __repr__(self) -> str:
        return f"Session(tables={', '.join(self.tables)}; engine={self._engine.name}; remaining={self.remaining})"

    def __copy__(self) -> Session:
        same = object.__new__(type(self))  # with the same budget, which is there once
        same.__dict__.update(self.__dict__)
        return same

    def __reduce__(self) -> NoReturn:
        raise NotATheorem(
            "a session can be neither deep-copied nor pickled: each copy could spend the budget; threads may share it, "
            "and ledger= keeps one budget for several processes"
        )

    # --- asking -----------------------------------------------------------------------------------------------------

    def sql(self, text: str, *, dialect: str | None = None) -> Query:
        """A question in SQL: one SELECT. Nothing is spent until ``release``.

        ``dialect`` says whose quotes, weeks and argument orders it is written in: "duckdb" (as without one),
        "postgres", "redshift", "snowflake", "bigquery", "tsql", "mysql" or "spark".
        """
        found = staged_question(text, self._schemas, dialect)
        return self.ask(found) if isinstance(found, Question) else with_constants(found, self, self._engine)

    def __getitem__(self, name: str) -> Frame[Query]:
        """A table, to be asked with verbs."""
        return Frame.about(name, self._schemas, self.ask)

    def ask(self, asked: Question) -> Query:
        """A question as a plan; SQL and verbs both end here."""
        asked = with_presence(asked, self._schemas)
        prepared = prepare(with_public_keys(lower_question(asked, self._schemas), self._engine, self._schemas))
        return Query(self, asked, prepared)

    def workload(self, queries: Sequence[Query | str]) -> Workload:
        """Several questions, planned and released together: what they share is released once."""
        return Workload(self, read_all(queries, self.sql))

    def plan(
        self,
        queries: Sequence[Query | str],
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Sequence[Target] | None = None,
        confidence: Number = CONFIDENCE,
    ) -> Plan:
        """Several questions for one price, shared so that all are about equally far off; ``release`` pays and answers.

        What each gets is shown before anything is paid: noise, and what caps cut where a profile tells. The whole is
        priced at once, by a certified bound where that is better than adding up. Instead of a price, ``error`` may name
        an error for each question: the least price that keeps all of them is found.
        """
        found = self.workload(queries)
        return plan_for(self, found.queries, Price.of(epsilon, delta, rho, error, confidence))

    def continual(
        self,
        text: str | Query,
        epsilon: Number | Price | None = None,
        *,
        by: str,
        horizon: int,
        days: int | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        method: str = "best",
        max_rows: int | None = None,
        name: str | None = None,
        record: BoardRecord | None = None,
    ) -> Board:
        """A dashboard: one question, answered day by day for ``horizon`` days, at one price for all of them.

        ``by`` is the column of dates or times that says which day a row belongs to. On a day the table's caps hold for
        each unit, or ``max_rows``, which must be given where caps are to be chosen: all days have the same. ``days``:
        on how many days of the horizon a unit counts, all of them if left out (fewer days, less noise). ``method``:
        "best" has the least error of the totals, "values" that of single days. The first ``advance`` pays. With a
        ledger the dashboard of this ``name`` (or of this question and price) goes on where it was left; ``record`` is
        for services that keep it themselves.
        """
        query = self.sql(text) if isinstance(text, str) else text
        query.check_whole()
        if query.plan.outcome.asked_at is not None:
            raise BadQuestion("a dashboard asks the same on all its days: write the date itself, DATE '2025-01-31'")
        if query.prepared.beside:
            raise BadQuestion("a dashboard is one question: ask the parts as dashboards of their own")
        price, terms, ledger = Price.of(epsilon, delta, rho), self._terms, self._ledger
        if record is None and ledger is not None:
            told = parameters(by, horizon, days, price, terms.neighbours, method=method, max_rows=max_rows)
            record = ledger.board(name, query.ledger_text(), told)
        fixed = self._fixed(query.prepared.asked.tables, max_rows)
        query = fixed.ask(query.plan)
        check_fixed(query.prepared)
        asked, plan, charged = plan_board(
            fixed, query.plan, terms, by=by, horizon=horizon, days=days, price=price, method=method
        )
        return Board(fixed, asked, plan, charged, record or MemoryBoard(self._budget_store), progress=self._progress)

    def _fixed(self, tables: Sequence[str], max_rows: int | None) -> Session:
        """The same with this cap on the private ones of some tables."""
        schemas: Mapping[str, Schema] = self._schemas
        for name in tables if max_rows is not None else ():
            if not schemas[name].table.public:
                schemas = with_cap(schemas, name, read_cap(max_rows, "max_rows"))
        fixed = copy(self)
        fixed._schemas = dict(schemas)
        return fixed

    def serving(self, budget_store: BudgetStore) -> Session:
        """The same tables and engine under another budget: how a curator answers many analysts."""
        found = copy(self)
        found._budget_store, found._ledger = budget_store, None
        found._progress = False  # an analyst must not see how long reading takes
        return found

    # --- models, other columns, other copies --------------------------------------------------------------------------

    def learn(
        self,
        model: type[Model],
        table: str,
        *,
        features: Sequence[str],
        target: str,
        epsilon: Number | Price | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        depth: int | None = None,
    ) -> Model:
        """A model of ``target`` from sums that the engine computes where the data lies, paid like one question.

        ``model`` is ``dp.learning.LinearRegression`` (numbers with declared bounds), ``dp.learning.CategoricalNB`` or
        ``dp.learning.HistogramTree``, of ``depth`` 2 unless said (declared keys or bounds; the target has keys).
        ``released_`` holds the answers that a model was made of; ``nodes_`` the noisy counts of a tree.
        """
        price = Price.of(epsilon, delta, rho)
        if model is not HistogramTree:
            if depth is not None:
                raise BadParameter("depth", depth, "must be left out: it is that of a HistogramTree")
            return learn(self, model, table, features=features, target=target, price=price)
        columns, label, classes = tree_columns(declared_columns(self, table, features, target))
        job, domain = tree_job(columns, label, classes, 2 if depth is None else depth, self._progress)
        return self._from_counts(job, table, price, columns=domain.columns, domain=domain)

    @overload
    def regress(self, formula: str, table: str) -> Regression: ...

    @overload
    def regress(
        self,
        formula: str,
        table: str,
        epsilon: Number | None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
    ) -> Coefficients: ...

    def regress(
        self, formula: str, table: str, epsilon: Number | None = None, *,
        delta: Number | None = None, rho: Number | None = None,
    ) -> Regression | Coefficients:  # fmt: skip
        """A regression table: ``session.regress("hours ~ age + C(sex)", "people", epsilon=1)``.

        Least squares, debiased for the noise, with intervals that count sampling and noise. Each unit counts once. One
        charge. Without a price: a regression whose ``preview(epsilon, rows=...)`` is free and ``release(...)`` pays.
        """
        asked = regression(self._fixed((table,) if table in self._schemas else (), 1), formula, table)
        return asked if epsilon is None and rho is None else asked.release(epsilon, delta=delta, rho=rho)

    def with_columns(self, **declared: Mapping[str, Declared]) -> Session:
        """The same budget, engine and tables, with columns declared anew: ``with_columns(visits={"cost": ...})``."""
        tables = {name: schema.table for name, schema in self._schemas.items()}
        for name, columns in declared.items():
            if name not in tables:
                raise BadParameter("table", name, f"must be one of {', '.join(tables)}")
            tables[name] = replace(tables[name], columns={**tables[name].columns, **columns})
        return self._with_tables(tables)

    def _with_tables(self, tables: Mapping[str, Table]) -> Session:
        """The same budget and engine with other tables."""
        terms = self._terms
        found = Session(
            tables, budget=terms.budget, engine=self._engine, neighbours=terms.neighbours, rule=terms.rule,
            budget_store=self._budget_store, progress=self._progress,
        )  # fmt: skip
        found._ledger, found._profiles = self._ledger, self._profiles
        return found

    def prepare(self, *tables: str, folder: str | PathLike[str] | None = None) -> Session:
        """The same budget on private copies of some tables, or of all that are not public, sorted by unit.

        Worth it for many questions: by one declared key, without a filter, they are 3 to 10 times faster, others 1.2
        to 4 times, and every exact number is the same. Making a copy takes as long as ten questions or so. With a
        ``folder`` copies outlive the process and are made again when their files change; they hold the data, so keep
        them as safe. Without one they go with the session. For DuckDB, the embedded engine.
        """
        found = prepared_copies(self._engine, self._schemas, tables, folder, self.sql)
        sources = {name: replace(schema.table, source=found.get(name, schema.table.source))
                   for name, schema in self._schemas.items()}  # fmt: skip
        return self._with_tables(sources)

    # --- the interface for queries and services -----------------------------------------------------------------------

    def quote(self, questions: Sequence[Prepared], price: Price) -> Quote:
        """Noise and price of prepared questions together. No data is touched."""
        store = self._budget_store
        return self._terms.quote(questions, price, store.affords if isinstance(store, Affords) else store.fits)

    def check_parts_fit(self, parts: Sequence[tuple[Query, Price]], whole: tuple[Query, Price]) -> None:
        """Refuses before the first of several queries is paid, if not all can be; ``whole``: what they are parts of."""
        store, paid = self._budget_store, list[Any]()
        together = self.quote(whole[0].prepared.all, whole[1])
        for query, price in parts:
            quote = self._terms.quote(query.prepared.all, price, lambda one: fit_in_turn(store, (*paid, one)))
            paid.append(quote.plan.price)
        # noise that is planned later may take all of the δ that is named; one payment may take all of a budget's δ if
        # it is the first of all, of two the second has half
        left, named = store.remaining, sum(number(price.delta or 0) for _, price in parts)
        new = isinstance(store, Affords) or left == self._terms.budget
        apart = new and self._terms.rule is Rule.EITHER and isinstance(left, Approx)
        too_much = apart and 2 * named > left.delta  # type: ignore[union-attr]
        if too_much or not fit_in_turn(store, (together.plan.price,)) or not fit_in_turn(store, paid):
            raise OverBudget(asked=together.price, left=left)

    def quote_beyond(self, questions: Sequence[Prepared], price: Price, times: float) -> Quote | None:
        """Noise for a price so many times as large, for whoever certifies that it costs less. No data is touched.

        None unless the sum of (ε, δ) is counted: only there may a whole be paid as an (ε, δ).
        """
        allowed = self._terms.allowance(price)
        if not isinstance(allowed, Approx) or self._terms.rule not in (None, Rule.BASIC, Rule.EITHER):
            return None
        larger = Approx(allowed.epsilon * Fraction(times), allowed.delta)
        return quote(questions, larger, self._terms.neighbours)

    def preview(self, order: Order, rows: int | None = None) -> tuple[Preview, ...]:
        """Cost and error bars of each question of an order; ``rows``: in a group of how many. Free."""
        price, budget_store = order.quote.plan.price, self._budget_store
        fits = budget_store.fits(price)
        left = str(budget_store.after(price) if fits else budget_store.remaining)
        quote = order.quote
        previews = tuple(
            preview(quote, one.parts[0], remaining=left, affordable=fits, rows=rows, confidence=order.confidence)
            for one in quote.questions
        )
        return gathered_previews(order.sizes, previews)

    def release(
        self,
        order: Order,
        shown: Callable[[tuple[TableAnswer, ...]], Any] = tuple,
        *,
        payment: Payment | None = None,
        kept: Kept | None = None,
    ) -> Any:
        """Pay (unless it is paid) and answer: what ``shown`` makes of the answers, in the order of the questions.

        What is paid and could not be answered may be asked for again: ``kept`` is what was drawn for it before. A
        ledger keeps the answers, with their error bars, before they are shown.
        """
        quote, kept = order.quote, kept or Kept()
        if payment is None:
            if not self._budget_store.fits(quote.plan.price):
                raise OverBudget(asked=quote.price, left=self._budget_store.remaining)
            payment = Payment(self._budget_store if self._ledger is None else self._ledger.budget_store(order.text()))
        try:
            with Progress(self._progress) as progress:
                quote, released, receipt = release(
                    quote, self._engine, self._schemas, payment, report=progress.step, kept=kept
                )
        except EngineFailed as failed:
            if payment.receipt is not None and not kept.answered:
                failed.again = partial(self.release, order, shown, payment=payment, kept=kept)
            raise
        answers = _answers(quote, order.outcomes, released, receipt)
        answers = made_to_agree(answers) if order.agree else answers
        answers = gathered(order.sizes, answers)
        if self._ledger is not None:
            self._ledger.store(payment.budget_store, answers, order.confidence)
        return shown(answers)


def _answers(quote: Quote, outcomes: Sequence[Outcome], released: Answers, receipt: Receipt) -> tuple[TableAnswer, ...]:
    return tuple(
        TableAnswer(
            outcome=outcome,
            released=parts,
            event=quote.plan.event,
            cost=str(receipt.price if receipt.price is not None else quote.plan.price),
            story=story(quote, prepared),
            receipt=receipt,
        )
        for prepared, outcome, parts in zip(quote.questions, outcomes, released, strict=True)
    )
