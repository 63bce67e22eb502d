"""A session: tables, an engine, and one budget for everything that is asked of them.

Promise: whatever is asked, in whatever order, all answers together keep the budget; previews are free; a question that
cannot be asked is refused before data is touched and before anything is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from operator import itemgetter
from os import PathLike
from typing import Any

from discreet.engines.duckdb.engine import duckdb
from discreet.errors import BadParameter, EngineFailed, NotATheorem, OverBudget
from discreet.exact import Number
from discreet.privacy.budgets.filters import Filter, Rule
from discreet.privacy.promises.measures import ZCDP, Approx, Measure, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.receipt import Receipt
from discreet.progress import Progress
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.explain import story
from discreet.query.answer.preview import Preview, preview
from discreet.query.answer.suggest import (
    Suggestion,
    bounds_words,
    find_column,
    rows_question,
    sizes_question,
    suggested,
)
from discreet.query.engine import Engine
from discreet.query.estimate.prepare import Prepared, prepare
from discreet.query.front.frame import Frame
from discreet.query.front.sql.parse import question_about
from discreet.query.lower.lower import lower_question
from discreet.query.lower.public_keys import Listed, with_public_keys
from discreet.query.plan.nodes import Question
from discreet.query.plan.schema import Declared, Schema, Table, resolve
from discreet.query.run import Answers, Quote, release
from discreet.session.copies import prepared_copies
from discreet.session.payment import BudgetStore, Payment, SessionLedger
from discreet.session.price import Price, Terms
from discreet.session.query import Order, Query
from discreet.session.workload import Workload

__all__ = ["Query", "Session", "Workload"]


class Session:
    """Tables, an engine and a budget.

    ``budget`` is ``dp.Approx(epsilon, delta)``, ``dp.Pure(epsilon)`` or ``dp.ZCDP(rho, delta)``. For an (ε, δ) budget
    ``rule=dp.Rule.ZCDP`` lets many questions cost less together than the sum of their epsilons.

    ``ledger`` is a file in which the budget outlives the process: it is made the first time, and whoever opens it later
    spends what is left, with every charge on the disk before data are read. ``budget``, ``neighbours`` and ``rule`` may
    then be left out; others than those it was opened with are refused, and so are another unit and other data. Without
    a ledger the budget is forgotten with the process, or kept by a ``budget_store`` of your own.

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
        given = {**(tables or {}), **named}
        if not given:
            raise BadParameter("tables", "none", "must be given, such as visits=dp.table(...)")
        for name, table in given.items():
            found: object = table
            if not isinstance(found, Table):
                raise BadParameter(name, found, "must be made by dp.table(...)")
        if not isinstance(budget, Pure | Approx | ZCDP) and (budget is not None or ledger is None):
            raise BadParameter("budget", budget, "must be dp.Pure, dp.Approx or dp.ZCDP")
        if neighbours is not None and not isinstance(neighbours, Neighbours):
            raise BadParameter("neighbours", neighbours, "must be Neighbours.ADD_REMOVE or Neighbours.CHANGE_ONE")
        if ledger is not None and budget_store is not None:
            raise BadParameter("budget_store", "given", "must be left out: the ledger keeps the budget")
        if rule not in (None, Rule.BASIC, Rule.ZCDP):
            raise NotATheorem("a session counts by Rule.BASIC or Rule.ZCDP")
        self._engine = duckdb() if engine is None else engine
        self._schemas = {
            name: resolve(name, table, self._engine.columns(table.source)) for name, table in given.items()
        }
        _check_foreign_keys(self._schemas)
        self._ledger: SessionLedger | None = None
        if ledger is not None:
            from discreet.session.local_ledger import open_local_ledger  # it needs an extra

            self._ledger = kept = open_local_ledger(
                ledger, given, self._engine.name, budget=budget, neighbours=neighbours, rule=rule
            )
            budget, neighbours, rule, budget_store = kept.budget, kept.neighbours, kept.rule, kept.budget_store("")
        self._terms = Terms(budget, rule, neighbours or Neighbours.ADD_REMOVE)  # type: ignore[arg-type]
        self._budget_store: BudgetStore = Filter(self._terms.budget, rule) if budget_store is None else budget_store
        self._public_keys: Listed = {}
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
    def schemas(self) -> Mapping[str, Schema]:
        """What is public about the tables."""
        return dict(self._schemas)

    @property
    def engine(self) -> Engine:
        """Where the tables are."""
        return self._engine

    def __repr__(self) -> str:
        return f"Session(tables={', '.join(self.tables)}; engine={self._engine.name}; remaining={self.remaining})"

    # --- asking -----------------------------------------------------------------------------------------------------

    def sql(self, text: str) -> Query:
        """A question in SQL: one SELECT. Nothing is spent until ``release``."""
        return self.ask(question_about(text, self._schemas))

    def __getitem__(self, name: str) -> Frame[Query]:
        """A table, to be asked with verbs."""
        return Frame.about(name, self._schemas, self.ask)

    def ask(self, asked: Question) -> Query:
        """A question as a plan; SQL and verbs both end here."""
        lowered = with_public_keys(lower_question(asked, self._schemas), self._engine, self._schemas, self._public_keys)
        return Query(self, asked, prepare(lowered))

    def workload(self, queries: Sequence[Query | str]) -> Workload:
        """Several questions, planned and released together: what they share is released once."""
        found = [self.sql(query) if isinstance(query, str) else query for query in queries]
        if not found:
            raise BadParameter("queries", "none", "must be at least one question")
        return Workload(self, tuple(found))

    def serving(self, budget_store: BudgetStore) -> Session:
        """The same tables and engine under another budget: how a curator answers many analysts."""
        found = copy(self)
        found._budget_store, found._ledger = budget_store, None
        found._progress = False  # an analyst must not see how long reading takes
        return found

    # --- estimates that are paid for ----------------------------------------------------------------------------------

    def suggest_bounds(
        self,
        column: str,
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
    ) -> Suggestion:
        """Bounds for a column ("cost", or "visits.cost") as a private estimate, paid like any question.

        ``NoEstimate`` if no value stands out from the noise of what was paid for.
        """
        name, column = find_column(column, self._schemas)
        asked, step = sizes_question(name, column, self._schemas)
        quote = self.quote((prepare(asked),), Price.of(epsilon, delta, rho))
        order = Order(quote, (asked.outcome,), partial(bounds_words, name, column))
        answer: TableAnswer = self.release(order, itemgetter(0))
        return suggested(f"{name}.{column}", step, answer)

    def suggest_max_rows(
        self,
        table: str,
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        level: Number = "0.95",
        most: int = 1000,
    ) -> int:
        """How many rows all but a few units have, as a private estimate, paid like any question."""
        asked = rows_question(self[table], table, self._schemas[table].table, level, most)
        return max(1, int(asked.release(epsilon, delta=delta, rho=rho).value))

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
        found._ledger = self._ledger
        return found

    def prepare(self, *tables: str, folder: str | PathLike[str] | None = None) -> Session:
        """The same budget on private copies of some tables, or of all that are not public, sorted by unit.

        Worth it for many questions: they are 1.4 to 3 times faster, and every exact number is the same. With a
        ``folder`` copies outlive the process and are made again when their files change; they hold the data, so keep
        them as safe. Without one they go with the session. For DuckDB, the embedded engine.
        """
        found = prepared_copies(self._engine, self._schemas, tables, folder)
        sources = {name: replace(schema.table, source=found.get(name, schema.table.source))
                   for name, schema in self._schemas.items()}  # fmt: skip
        return self._with_tables(sources)

    # --- the interface for queries and services -----------------------------------------------------------------------

    def quote(self, questions: Sequence[Prepared], price: Price) -> Quote:
        """Noise and price of prepared questions together. No data is touched."""
        return self._terms.quote(questions, price)

    def preview(self, order: Order, rows: int | None = None) -> tuple[Preview, ...]:
        """Cost and error bars of each question of an order; ``rows``: in a group of how many. Free."""
        price, budget_store = order.quote.plan.price, self._budget_store
        fits = budget_store.fits(price)
        left = str(budget_store.after(price) if fits else budget_store.remaining)
        return tuple(
            preview(order.quote, one.parts[0], remaining=left, affordable=fits, rows=rows, confidence=order.confidence)
            for one in order.quote.questions
        )

    def release(
        self,
        order: Order,
        shown: Callable[[tuple[TableAnswer, ...]], Any] = tuple,
        *,
        payment: Payment | None = None,
    ) -> Any:
        """Pay (unless it is paid) and answer: what ``shown`` makes of the answers, in the order of the questions.

        What is paid and could not be answered may be asked for again. A ledger keeps the answers, with their error
        bars, before they are shown.
        """
        asked = order.quote
        if payment is None:
            if not self._budget_store.fits(asked.plan.price):
                raise OverBudget(asked=asked.price, left=self._budget_store.remaining)
            payment = Payment(self._budget_store if self._ledger is None else self._ledger.budget_store(order.text()))
        try:
            with Progress(self._progress) as progress:
                released, receipt = release(asked, self._engine, self._schemas, payment, progress.step)
        except EngineFailed as failed:
            if payment.receipt is not None and not payment.receipt.used:
                failed.again = partial(self.release, order, shown, payment=payment)
            raise
        answers = _answers(order, released, receipt)
        if self._ledger is not None:
            self._ledger.store(payment.budget_store, answers, order.confidence)
        return shown(answers)


def _answers(order: Order, found: Answers, receipt: Receipt) -> tuple[TableAnswer, ...]:
    asked = order.quote
    return tuple(
        TableAnswer(
            outcome=outcome,
            released=released,
            event=asked.plan.event,
            cost=str(receipt.price if receipt.price is not None else asked.plan.price),
            story=story(asked, prepared),
            receipt=receipt,
        )
        for prepared, outcome, released in zip(asked.questions, order.outcomes, found, strict=True)
    )


def _check_foreign_keys(schemas: Mapping[str, Schema]) -> None:
    """Every foreign key leads, in the end, to a table with a unit of its own."""
    for name, schema in schemas.items():
        seen = [name]
        at: Any = schema.table
        while at.through is not None:
            table, column = at.through
            if table not in schemas or column not in schemas[table].stored:
                raise BadParameter("unit", f"{at.unit} -> {table}.{column}", "must lead to a column of a table here")
            if table in seen:
                raise BadParameter("unit", f"{at.unit} -> {table}.{column}", "must not lead in a circle")
            seen.append(table)
            at = schemas[table].table
            if at.public:
                raise BadParameter("unit", f"{table}.{column}", "must lead to a private table: people are not public")
