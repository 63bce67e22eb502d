"""A session: tables, an engine, and one budget for everything that is asked of them.

Promise: whatever is asked, in whatever order, all answers together keep the budget; previews are free; a question that
cannot be asked is refused before data is touched and before anything is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import partial
from operator import itemgetter
from os import PathLike
from typing import Any

from discreet.answer import CONFIDENCE, confidence_level
from discreet.engines.duckdb.engine import duckdb
from discreet.engines.experimental.engine import sql_texts
from discreet.errors import BadParameter, EngineFailed, NotATheorem, OverBudget, Unsupported
from discreet.exact import Number, positive
from discreet.privacy.budgets.filters import Filter, Rule
from discreet.privacy.promises.measures import ZCDP, Approx, Measure, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.receipt import Receipt
from discreet.progress import Progress
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.explain import story, tell
from discreet.query.answer.preview import Preview, preview
from discreet.query.answer.suggest import (
    Suggestion,
    bounds_words,
    find_column,
    rows_question,
    sizes_question,
    suggested,
)
from discreet.query.estimate.noise_plan import Allowance
from discreet.query.estimate.prepare import Prepared, prepare
from discreet.query.front.frame import Asked, Frame
from discreet.query.front.sql.parse import question_about
from discreet.query.front.unparse import as_sql
from discreet.query.lower.lower import lower_question
from discreet.query.lower.public_keys import Listed, with_public_keys
from discreet.query.plan.nodes import Outcome, Question
from discreet.query.plan.schema import Declared, Schema, Table, resolve
from discreet.query.plan.work import Engine
from discreet.query.run import Answers, Quote, quote, release, works_of
from discreet.session.price import BudgetStore, Payment, SessionLedger, Terms


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

    ``progress``: whether a release that takes more than two seconds says what it is doing; unless said, it does in a
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

            self._ledger = opened = open_local_ledger(
                ledger, given, self._engine.name, budget=budget, neighbours=neighbours, rule=rule
            )
            budget, neighbours, rule, budget_store = (
                opened.budget,
                opened.neighbours,
                opened.rule,
                opened.budget_store(""),
            )
        self._terms = Terms(budget, rule)  # type: ignore[arg-type]
        self._budget_store: BudgetStore = Filter(self._terms.budget, rule) if budget_store is None else budget_store
        self._neighbours = neighbours or Neighbours.ADD_REMOVE
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
        """A question as a plan; both doors end here."""
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
        found._progress = False  # how long reading takes is not for strangers
        return found

    # --- estimates that are paid for ----------------------------------------------------------------------------------

    def suggest_bounds(
        self, column: str, epsilon: Number | None = None, *, delta: Number | None = None, rho: Number | None = None
    ) -> Suggestion:
        """Bounds for a column ("cost", or "visits.cost") as a private estimate, paid like any question.

        ``NoEstimate`` if no value stands out from the noise of what was paid for.
        """
        name, column = find_column(column, self._schemas)
        asked, step = sizes_question(name, column, self._schemas)
        price = self._quote((prepare(asked),), self._terms.allowance(epsilon, delta, rho))
        words = bounds_words(name, column)
        answer: TableAnswer = self._release(price, (asked.outcome,), itemgetter(0), lambda: words)
        return suggested(f"{name}.{column}", step, answer)

    def suggest_max_rows(
        self,
        table: str,
        epsilon: Number | None = None,
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
        terms = self._terms
        found = Session(
            tables, budget=terms.budget, engine=self._engine, neighbours=self._neighbours, rule=terms.rule,
            budget_store=self._budget_store, progress=self._progress,
        )  # fmt: skip
        found._ledger = self._ledger
        return found

    # --- for queries --------------------------------------------------------------------------------------------------

    def _quote(self, prepared: Sequence[Prepared], allowance: Allowance) -> Quote:
        return quote(prepared, allowance, self._neighbours)

    def _preview(self, asked: Quote, which: Prepared, rows: int | None, confidence: Number) -> Preview:
        fits = self._budget_store.fits(asked.plan.price)
        left = str(self._budget_store.after(asked.plan.price) if fits else self._budget_store.remaining)
        return preview(asked, which.parts[0], remaining=left, affordable=fits, rows=rows, confidence=confidence)

    def _release(
        self,
        asked: Quote,
        outcomes: Sequence[Outcome],
        shown: Callable[[tuple[TableAnswer, ...]], Any],
        question: Callable[[], str] = str,
        *,
        confidence: Number = CONFIDENCE,
        payment: Payment | None = None,
    ) -> Any:
        """Pay (unless it is paid) and answer. What is paid and could not be answered may be asked for again.

        A ledger keeps the answers, with their error bars of this confidence, before they are shown.
        """
        if payment is None:
            if not self._budget_store.fits(asked.plan.price):
                raise OverBudget(asked=asked.price, left=self._budget_store.remaining)
            payment = Payment(self._budget_store if self._ledger is None else self._ledger.budget_store(question()))
        try:
            with Progress(self._progress) as progress:
                released, receipt = release(asked, self._engine, self._schemas, payment, progress.step)
        except EngineFailed as failed:
            if payment.receipt is not None and not payment.receipt.used:
                failed.again = partial(
                    self._release, asked, outcomes, shown, question, confidence=confidence, payment=payment
                )
            raise
        answers = self._answers(asked, outcomes, released, receipt)
        if self._ledger is not None:
            self._ledger.store(payment.budget_store, answers, confidence)
        return shown(answers)

    def _answers(
        self, asked: Quote, outcomes: Sequence[Outcome], answers: Answers, receipt: Receipt
    ) -> tuple[TableAnswer, ...]:
        return tuple(
            TableAnswer(
                outcome=outcome,
                released=released,
                event=asked.plan.event,
                cost=str(receipt.price if receipt.price is not None else asked.plan.price),
                story=story(asked, prepared),
                receipt=receipt,
            )
            for prepared, outcome, released in zip(asked.questions, outcomes, answers, strict=True)
        )


@dataclass(frozen=True, slots=True, repr=False)
class Query(Asked):
    """A question of a session: preview it for free, release it for a price. Make one by ``session.sql`` or verbs."""

    session: Session
    plan: Question
    _prepared: Prepared

    def __repr__(self) -> str:
        names = ", ".join(name for name, _ in self.plan.outcome.columns)
        return f"Query({names} of {', '.join(self._prepared.asked.tables)}; preview(...) is free, release(...) pays)"

    def again(self, plan: Question) -> Query:
        """The same session, another plan."""
        return self.session.ask(plan)

    @property
    def text(self) -> str:
        """The question as SQL, however it was asked; ``session.sql`` reads it back as the same question."""
        return as_sql(self.plan, {name: schema.fields for name, schema in self.session._schemas.items()})

    def preview(
        self,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        confidence: Number = CONFIDENCE,
        rows: int | None = None,
    ) -> Preview:
        """Error bars and cost, from public metadata alone. ``rows``: in a group of how many."""
        asked = self._quote(epsilon, delta, rho, error, confidence)
        return self.session._preview(asked, asked.questions[0], rows, confidence)

    def release(
        self,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        confidence: Number = CONFIDENCE,
    ) -> TableAnswer:
        """Pay, then answer. Instead of a price one may ask for an error: the least price that gives it is paid."""
        asked = self._quote(epsilon, delta, rho, error, confidence)
        answer: TableAnswer = self.session._release(
            asked, (self.plan.outcome,), itemgetter(0), self._words, confidence=confidence
        )
        return answer

    def _words(self) -> str:
        """The question as a ledger keeps it: its SQL; what it does, if there is no SQL for it."""
        try:
            return self.text
        except Unsupported:
            return "; ".join(line.strip() for line in tell(self._prepared, None).splitlines())

    def quote(self, epsilon: Number | None = None, *, delta: Number | None = None, rho: Number | None = None) -> Quote:
        """Noise and price, worked out without touching data: what ``release`` would pay for."""
        return self._quote(epsilon, delta, rho, None, CONFIDENCE)

    def explain(self, epsilon: Number | None = None, *, delta: Number | None = None, rho: Number | None = None) -> str:
        """The plan, with how far one unit reaches at each step; with a price also the noise."""
        if epsilon is None and rho is None:
            return tell(self._prepared, None)
        return tell(self._prepared, self._quote(epsilon, delta, rho, None, CONFIDENCE))

    def statements(
        self,
        database: str,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
    ) -> tuple[str, ...]:
        """The SQL that a database such as "bigquery" would be asked before the noise; nothing is run or paid.

        Which keys of a heavy unit count is chosen with a secret salt; here the word SALT stands for it.
        """
        asked = self._quote(epsilon, delta, rho, None, CONFIDENCE)
        return sql_texts(database, works_of(asked, "SALT"), self.session._schemas)

    def _quote(
        self,
        epsilon: Number | None,
        delta: Number | None,
        rho: Number | None,
        error: Number | Mapping[str, Number] | None,
        confidence: Number,
    ) -> Quote:
        if error is None:
            return self.session._quote((self._prepared,), self.session._terms.allowance(epsilon, delta, rho))
        if epsilon is not None or rho is not None:
            raise BadParameter("error", error, "must not be given together with a price: one follows from the other")
        return cheapest(self, error, confidence, delta)


def cheapest(query: Query, error: Number | Mapping[str, Number], confidence: Number, delta: Number | None) -> Quote:
    """The least price, to one part in a thousand or so, for which every column named keeps its error."""
    part = query._prepared.parts[0]
    wanted = (
        {name: positive(e, "error") for name, e in error.items()}
        if isinstance(error, Mapping)
        else dict.fromkeys(part.names, positive(error, "error"))
    )
    for name in wanted:
        if name not in part.names:
            raise BadParameter("error", name, f"must name columns of the answer: {', '.join(part.names)}")
        if part.recipes[part.names.index(name)].depends_on_values:
            raise BadParameter(
                "error",
                name,
                "must not be of this column: how far off it is depends on how the values lie, so no price is sure to "
                "give it; say epsilon=... (preview tells what is likely), or error={...} of other columns",
            )
    level = confidence_level(confidence)
    in_rho = isinstance(query.session.budget, ZCDP)

    def at(price: Fraction) -> Quote:
        terms = query.session._terms
        allowance = terms.allowance(None, delta, price) if in_rho else terms.allowance(price, delta, None)
        return query.session._quote((query._prepared,), allowance)

    def good(price: Fraction) -> bool:
        found = preview(at(price), part, remaining="", affordable=True, confidence=level)
        return all(found.error(name) <= e for name, e in wanted.items())

    return at(_round(_least(good)))


def _round(price: Fraction) -> Fraction:
    """The next price above with four digits: more of it is never worse, and people can read it."""
    context = Context(prec=4, rounding=ROUND_CEILING)
    return Fraction(context.divide(Decimal(price.numerator), Decimal(price.denominator)))


def _least(good: Callable[[Fraction], bool]) -> Fraction:
    """A price that is good, at most about 1/1024 above the least: first by doubling, then by halving the gap."""
    high = Fraction(1, 1 << 10)
    while not good(high):
        high *= 2
        if high > 1 << 20:
            raise BadParameter("error", "this small", "must be larger: no price gives it")
    low = high / 2 if high > Fraction(1, 1 << 10) else Fraction(0)
    for _ in range(10):
        middle = (low + high) / 2
        if good(middle):
            high = middle
        else:
            low = middle
    return high


@dataclass(frozen=True, slots=True)
class Workload:
    """Several questions for one price."""

    session: Session
    queries: tuple[Query, ...]

    def _quote(self, epsilon: Number | None, delta: Number | None, rho: Number | None) -> Quote:
        allowance = self.session._terms.allowance(epsilon, delta, rho)
        return self.session._quote([query._prepared for query in self.queries], allowance)

    def preview(
        self,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        confidence: Number = CONFIDENCE,
        rows: int | None = None,
    ) -> tuple[Preview, ...]:
        """Error bars of each question; the cost is that of all together."""
        asked = self._quote(epsilon, delta, rho)
        return tuple(self.session._preview(asked, question, rows, confidence) for question in asked.questions)

    def release(
        self, epsilon: Number | None = None, *, delta: Number | None = None, rho: Number | None = None
    ) -> tuple[TableAnswer, ...]:
        """Pay once, then answer all."""
        asked = self._quote(epsilon, delta, rho)
        answers: tuple[TableAnswer, ...] = self.session._release(
            asked,
            [query.plan.outcome for query in self.queries],
            tuple,
            lambda: "; ".join(query._words() for query in self.queries),
        )
        return answers


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
