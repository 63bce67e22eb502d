"""A question of a session: preview it for free, release it for a price."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Protocol

from discreet.answer import CONFIDENCE
from discreet.engines.experimental.engine import sql_texts
from discreet.errors import BadQuestion, Unsupported
from discreet.exact import Number
from discreet.privacy.promises.measures import Measure
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.explain import tell
from discreet.query.answer.preview import Preview
from discreet.query.answer.several import Explanation
from discreet.query.engine import Engine
from discreet.query.estimate.prepare import Prepared
from discreet.query.front.frame import Asked
from discreet.query.front.unparse import as_sql
from discreet.query.plan.nodes import Outcome, Question
from discreet.query.plan.schema import Schema
from discreet.query.profile.choose import Chosen
from discreet.query.run import Quote, works_of
from discreet.session.auto import unknown_yet
from discreet.session.auto_bounds import Unknown, no_bounds
from discreet.session.price import Price


@dataclass(frozen=True, slots=True)
class Order:
    """Questions with their price: what a release pays for and answers. Making one touches no data."""

    quote: Quote
    outcomes: tuple[Outcome, ...]
    text: Callable[[], str] = str
    """The questions as a ledger keeps them."""
    confidence: Number = CONFIDENCE
    chosen: tuple[Chosen | None, ...] = ()
    """What was chosen from a profile; then the answers are finished accordingly."""
    sizes: tuple[int, ...] = ()
    """How many of the questions make up each answer; one each if empty."""


class QuerySession(Protocol):
    """What questions need of their session. A service uses the same methods; they are all that there is."""

    @property
    def budget(self) -> Measure:
        """What all answers together keep."""

    @property
    def remaining(self) -> Measure:
        """What is left of it."""

    @property
    def engine(self) -> Engine:
        """Where the tables are."""

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """What is public about the tables."""

    def ask(self, asked: Question) -> Query:
        """A question as a plan, prepared."""

    def quote(self, questions: Sequence[Prepared], price: Price) -> Quote:
        """Noise and price of prepared questions together. No data is touched."""

    def choose(self, question: Prepared, price: Price, *, correct: bool = True) -> Chosen:
        """The question with caps chosen from a profile."""

    def knows(self, question: Prepared) -> bool:
        """Whether something was released about the units of a question."""

    def find_bounds(self, queries: Sequence[Query], price: Price) -> tuple[tuple[Query, ...], Price]:
        """Buy what bounds are chosen from, for queries that wait for that; the queries then, and what is left."""

    def find_out(self, questions: Sequence[Prepared], price: Price, text: str) -> Price:
        """Buy the sizes of units if caps are to be chosen and nothing is known of them; the price that is left."""

    def preview(self, order: Order, rows: int | None = None) -> tuple[Preview, ...]:
        """Cost and error bars of each question of an order. Free."""

    def release(self, order: Order, shown: Callable[[tuple[TableAnswer, ...]], Any] = tuple) -> Any:
        """Pay for an order, then answer it."""


@dataclass(frozen=True, slots=True, repr=False)
class Query(Asked):
    """A question of a session: preview it for free, release it for a price. Make one by ``session.sql`` or verbs.

    Wherever a price is named, a ``Price`` may stand in the place of epsilon and all other numbers.
    """

    session: QuerySession
    plan: Question
    prepared: Prepared
    """What is computed for it."""
    waiting: tuple[Unknown, ...] = ()
    """Columns whose bounds are chosen when it is released: a tenth of its price buys their values first."""

    def __repr__(self) -> str:
        names = ", ".join(name for name, _ in self.plan.outcome.columns)
        return f"Query({names} of {', '.join(self.prepared.asked.tables)}; preview(...) is free, release(...) pays)"

    def again(self, plan: Question) -> Query:
        """The same session, another plan."""
        return self.session.ask(plan)

    def within(self, session: QuerySession) -> Query:
        """The same question, to be paid by another session over the same tables."""
        return replace(self, session=session)

    @property
    def text(self) -> str:
        """The question as SQL, however it was asked; ``session.sql`` reads it back as the same question."""
        return as_sql(self.plan, {name: schema.fields for name, schema in self.session.schemas.items()})

    def ledger_text(self) -> str:
        """The question as a ledger keeps it: its SQL; what it does, if there is no SQL for it."""
        try:
            return self.text
        except Unsupported:
            return "; ".join(line.strip() for one in self.prepared.all for line in tell(one, None).splitlines())

    def check_keys(self) -> None:
        """Refuses, before anything is paid, if a public table that keys come from has changed since it was asked."""
        listed = any(key.typed.keys_from is not None for one in self.prepared.all for key in one.asked.keys)
        if listed and _keys(self.again(self.plan).prepared) != _keys(self.prepared):
            raise BadQuestion("a public table that lists the groups has changed since this was asked; ask it again")

    def order(self, price: Price) -> Order:
        """The question with its price, to be previewed or released by its session."""
        if self.waiting:
            raise no_bounds(None, self.waiting)
        if self.prepared.beside:
            return self._together(price)
        if self.prepared.asked.caps.auto:
            return self._chosen(self.session.choose(self.prepared, price), price)
        quote = self.session.quote((self.prepared,), price)
        return Order(quote, (self.plan.outcome,), self.ledger_text, price.confidence)

    def _together(self, price: Price) -> Order:
        """All questions that the outcome is made of, for one price."""
        every = self.prepared.all
        if any(one.asked.caps.auto for one in every):
            raise BadQuestion(
                'max_rows is "auto" and several questions are asked in one: declare caps, or ask them alone'
            )
        outcomes = (self.plan.outcome, *(one.outcome for one in self.prepared.beside))
        quote = self.session.quote(every, price)
        return Order(quote, outcomes, self.ledger_text, price.confidence, sizes=(len(every),))

    def _chosen(self, chosen: Chosen, price: Price) -> Order:
        outcomes = (self.plan.outcome, *(one.outcome for one in chosen.questions[1:]))
        quote = self.session.quote(chosen.questions, price)
        return Order(quote, outcomes, self.ledger_text, price.confidence, (chosen,))

    def preview(
        self,
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        confidence: Number = CONFIDENCE,
        rows: int | None = None,
    ) -> Preview:
        """Error bars and cost, from public metadata alone.

        Some error bars depend on how many rows a group has: ``rows`` says for how many (1,000 unless said).
        """
        return self.session.preview(self._expected(Price.of(epsilon, delta, rho, error, confidence)), rows)[0]

    def _expected(self, price: Price) -> Order:
        """The order, or what is likely if its caps are not chosen yet."""
        auto = self.prepared.asked.caps.auto and not self.prepared.beside
        if auto and not self.waiting and not self.session.knows(self.prepared):
            return self._chosen(unknown_yet(self.prepared), price)
        return self.order(price)

    def release(
        self,
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        confidence: Number = CONFIDENCE,
    ) -> TableAnswer:
        """Pay, then answer. Instead of a price one may ask for an error: the least price that gives it is paid."""
        self.check_keys()
        (query,), price = self.session.find_bounds((self,), Price.of(epsilon, delta, rho, error, confidence))
        if not query.prepared.beside:
            price = self.session.find_out((query.prepared,), price, self.ledger_text())
        order = query.order(price)
        answer: TableAnswer = self.session.release(order, itemgetter(0))
        return answer

    def quote(
        self, epsilon: Number | Price | None = None, *, delta: Number | None = None, rho: Number | None = None
    ) -> Quote:
        """Noise and price, worked out without touching data: what ``release`` would pay for."""
        return self.order(Price.of(epsilon, delta, rho)).quote

    def explain(
        self, epsilon: Number | Price | None = None, *, delta: Number | None = None, rho: Number | None = None
    ) -> Explanation:
        """The plan, with how far one unit reaches at each step; with a price also the noise."""
        if epsilon is None and rho is None:
            return Explanation("\n".join(tell(one, None) for one in self.prepared.all))
        quote = self._expected(Price.of(epsilon, delta, rho)).quote
        asked = quote.questions if self.prepared.beside else quote.questions[:1]
        return Explanation("\n".join(tell(one, quote) for one in asked))

    def statements(
        self,
        database: str,
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
    ) -> tuple[str, ...]:
        """The SQL that a database such as "bigquery" would be asked before the noise; nothing is run or paid.

        Which keys of a heavy unit count is chosen with a secret salt; here the word SALT stands for it.
        """
        asked = self.quote(epsilon, delta=delta, rho=rho)
        return sql_texts(database, works_of(asked, "SALT"), self.session.schemas)


def _keys(prepared: Prepared) -> list[object]:
    return [one.asked.keys for one in prepared.all]


def gathered(sizes: Sequence[int], answers: tuple[TableAnswer, ...]) -> tuple[TableAnswer, ...]:
    """The answers of an order, those of further questions with the one whose outcome uses them."""
    if not sizes:
        return answers
    found, left = [], list(answers)
    for size in sizes:
        (first, *beside), left = left[:size], left[size:]
        told = tuple(dict.fromkeys(line for one in (first, *beside) for line in one.story))
        notes = tuple(dict.fromkeys(line for one in (first, *beside) for line in one.notes))
        found.append(replace(first, beside=tuple(beside), story=told, notes=notes) if beside else first)
    return tuple(found)


def gathered_previews(sizes: Sequence[int], previews: tuple[Preview, ...]) -> tuple[Preview, ...]:
    """The previews of an order in the same way: one for each answer, with the columns of all its questions."""
    found, left = [], list(previews)
    for size in sizes or [1] * len(left):
        (first, *beside), left = left[:size], left[size:]
        columns, shares = (
            tuple(one for part in (first, *beside) for one in getattr(part, name)) for name in ("columns", "shares")
        )
        found.append(replace(first, columns=columns, shares=shares) if beside else first)
    return tuple(found)
