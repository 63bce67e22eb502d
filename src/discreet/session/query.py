"""A question of a session: preview it for free, release it for a price."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NoReturn, Protocol

from discreet.answer import CONFIDENCE
from discreet.engines.experimental.engine import sql_texts
from discreet.errors import BadQuestion, Unsupported
from discreet.exact import Number
from discreet.messages import Message, message
from discreet.privacy.promises.measures import Measure
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.explain import tell
from discreet.query.answer.preview import Preview
from discreet.query.answer.several import Explanation
from discreet.query.engine import Engine
from discreet.query.estimate.prepare import Prepared
from discreet.query.front.frame import Asked
from discreet.query.front.sql.constants import (
    Known,
    Missing,
    Staged,
    given_note,
    some_value,
    stand_in,
    together,
    value_of,
)
from discreet.query.front.unparse import as_sql
from discreet.query.lower.lower import lower_relation
from discreet.query.lower.public_keys import public_value
from discreet.query.plan.nodes import Outcome, Question, Relation
from discreet.query.plan.schema import Schema
from discreet.query.plan.types import Value
from discreet.query.run import Quote, works_of
from discreet.session.price import Price, shares


@dataclass(frozen=True, slots=True)
class Order:
    """Questions with their price: what a release pays for and answers. Making one touches no data."""

    quote: Quote
    outcomes: tuple[Outcome, ...]
    text: Callable[[], str] = str
    """The questions as a ledger keeps them."""
    confidence: Number = CONFIDENCE
    sizes: tuple[int, ...] = ()
    """How many of the questions make up each answer; one each if empty."""
    agree: bool = False
    """Whether counts of the answers are made to agree with each other."""


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

    def check_parts_fit(self, parts: Sequence[tuple[Query, Price]], whole: tuple[Query, Price]) -> None:
        """Refuses before the first of several queries is paid, if not all can be: they are parts of one."""

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

    def check_whole(self) -> None:
        """Refuses a question that needs other releases first: it cannot be one of several."""

    def order(self, price: Price) -> Order:
        """The question with its price, to be previewed or released by its session."""
        return order_together(self.session, (self,), price, self.ledger_text)

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
        return self.session.preview(self.order(Price.of(epsilon, delta, rho, error, confidence)), rows)[0]

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
        order = self.order(Price.of(epsilon, delta, rho, error, confidence))
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
        """The plan, with how far one unit reaches at each step; with a price also the noise, and what was chosen."""
        if epsilon is None and rho is None:
            return Explanation("\n".join(tell(one, None) for one in self.prepared.all))
        quote = self.order(Price.of(epsilon, delta, rho)).quote
        return Explanation("\n".join(tell(one, quote) for one in quote.questions))

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
        if asked.choosing is not None:
            raise BadQuestion(
                "the statements are not known before contribution bounds, value bounds and groups are",
                message("declare_all_open"),
            )
        return sql_texts(database, works_of(asked, "SALT"), self.session.schemas)


# --- values that are released first -----------------------------------------------------------------------------------


class ReleasesFirst:
    """What questions that release values first have in common, here and of a curator.

    ``first`` is what is released first, ``_main`` the question with its values; until they are known, it is planned for
    values in the middle of what they could be.
    """

    __slots__ = ()
    first: tuple[Any, ...]

    @abstractmethod
    def _main(self, values: Sequence[Known]) -> Any:
        """The question with these values in it."""

    @abstractmethod
    def _stand_ins(self) -> list[Value]:
        """Values such as those that are released first."""

    def again(self, plan: Question) -> NoReturn:
        """Refused: the plan is not known before the values are."""
        raise BadQuestion("say it in the text: the values of its subqueries are not known yet")

    def preview(
        self,
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        confidence: Number = CONFIDENCE,
        rows: int | None = None,
    ) -> Any:
        """Error bars of the answer and of the values that are released first, each for its part of the price."""
        price = Price.of(epsilon, delta, rho, error, confidence)
        each, left = shares(price, len(self.first))
        planned = self._main(self._stand_ins())
        first = [query.preview(each, rows=rows) for query in self.first]
        return together(planned.preview(left, rows=rows), planned.preview(price, rows=rows), first)

    def _released(
        self, price: Price, ask: Callable[[Any, Price, int], Any]
    ) -> tuple[Any, list[Any], tuple[Message, ...]]:
        """The answer, those that were released first (numbered from 1), and what to say of them."""
        each, left = shares(price, len(self.first))
        answers = [ask(query, each, i) for i, query in enumerate(self.first, 1)]
        values = [value_of(answer, like) for answer, like in zip(answers, self._stand_ins(), strict=True)]
        words = tuple(given_note(one, value) for one, value in zip(answers, values, strict=True))
        try:
            return ask(self._main(values), left, 0), answers, words
        except BadQuestion as refused:  # a function of released values: they are not lost
            raise BadQuestion("; ".join((str(refused), *map(str, words)))) from None


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class StagedQuery(ReleasesFirst, Query):
    """A question that releases values first. Its plan is for values in the middle of what they could be."""

    staged: Staged
    known: tuple[Known, ...]
    """Values that are public."""
    first: tuple[Query, ...]
    """What is released first."""

    def check_whole(self) -> None:
        """Refused: there are two releases, one after the other."""
        raise BadQuestion(
            "a subquery here is a value that must be released first: ask it alone, and write its answer as a constant"
        )

    def order(self, price: Price) -> Order:
        """Refused, as above."""
        self.check_whole()
        raise AssertionError("never reached")  # pragma: no cover

    def _main(self, values: Sequence[Known]) -> Query:
        left = iter(values)
        every = [value if one.question is None else next(left)
                 for value, one in zip(self.known, self.staged.constants, strict=True)]  # fmt: skip
        return self.session.ask(self.staged.fill(every))

    def _stand_ins(self) -> list[Value]:
        return [stand_in(query.prepared.asked) for query in self.first]

    def release(
        self,
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        confidence: Number = CONFIDENCE,
    ) -> TableAnswer:
        """Release the values, then the answer with them; nothing unless the whole price fits the budget."""
        price = Price.of(epsilon, delta, rho, error, confidence)
        planned, (each, left) = self._main(self._stand_ins()), shares(price, len(self.first))
        parts = [*((query, each) for query in self.first), (planned, left)]
        self.session.check_parts_fit(parts, (planned, price))
        answer, answers, words = self._released(price, lambda query, part, _: query.release(part))
        story = tuple(line for one in answers for line in one.story)
        cost = " + ".join(one.cost for one in (*answers, answer))
        whole: TableAnswer = replace(
            answer, cost=cost, own_notes=(*words, *answer.own_notes), story=(*story, *map(str, words), *answer.story)
        )
        return whole

    def explain(
        self, epsilon: Number | Price | None = None, *, delta: Number | None = None, rho: Number | None = None
    ) -> Explanation:
        """The plans, one after the other; with a price also the noise."""
        if epsilon is None and rho is None:
            return Explanation("\n".join(query.explain() for query in (*self.first, self._main(self._stand_ins()))))
        each, left = shares(Price.of(epsilon, delta, rho), len(self.first))
        parts = [*(query.explain(each) for query in self.first), self._main(self._stand_ins()).explain(left)]
        return Explanation("\n".join(parts))


def with_constants(staged: Staged, session: QuerySession, engine: Engine) -> Query:
    """The question with public values looked up; if others are left, one that releases them first."""
    known = [None if one.public is None else _looked_up(*one.public, engine, staged.schemas)
             for one in staged.constants]  # fmt: skip
    if all(one.question is None for one in staged.constants):
        return session.ask(staged.fill(known))
    first = [None if one.question is None else session.ask(one.question) for one in staged.constants]
    stand_ins = [value if query is None else stand_in(query.prepared.asked)
                 for value, query in zip(known, first, strict=True)]  # fmt: skip
    main = session.ask(staged.fill(stand_ins))
    asked = tuple(query for query in first if query is not None)
    return StagedQuery(session, main.plan, main.prepared, staged=staged, known=tuple(known), first=asked)


def _looked_up(relation: Relation, column: str, engine: Engine, schemas: Mapping[str, Schema]) -> Known:
    found = public_value(relation, column, engine, schemas)
    return found if found is not None else Missing(some_value(lower_relation(relation, schemas).fields[column].kind))


def _keys(prepared: Prepared) -> list[object]:
    return [one.asked.keys for one in prepared.all]


def order_together(
    session: QuerySession,
    queries: Sequence[Query],
    price: Price,
    text: Callable[[], str],
) -> Order:
    """All questions that these are made of, for one price."""
    every = [one for query in queries for one in query.prepared.all]
    outcomes = [o for q in queries for o in (q.plan.outcome, *(one.outcome for one in q.prepared.beside))]
    sizes = tuple(len(query.prepared.all) for query in queries)
    several = () if all(size == 1 for size in sizes) else sizes
    return Order(session.quote(every, price), tuple(outcomes), text, price.confidence, several)


def gathered(sizes: Sequence[int], answers: tuple[TableAnswer, ...]) -> tuple[TableAnswer, ...]:
    """The answers of an order, those of further questions with the one whose outcome uses them."""
    if not sizes:
        return answers
    found, left = [], list(answers)
    for size in sizes:
        (first, *beside), left = left[:size], left[size:]
        told = tuple(dict.fromkeys(line for one in (first, *beside) for line in one.story))
        notes = tuple(dict.fromkeys(line for one in (first, *beside) for line in one.own_notes))
        found.append(replace(first, beside=tuple(beside), story=told, own_notes=notes) if beside else first)
    return tuple(found)


def gathered_previews(sizes: Sequence[int], previews: tuple[Preview, ...]) -> tuple[Preview, ...]:
    """The previews of an order in the same way: one for each answer, with the columns of all its questions."""
    found, left = [], list(previews)
    for size in sizes or [1] * len(left):
        (first, *beside), left = left[:size], left[size:]
        columns, shares, notes = (
            tuple(one for part in (first, *beside) for one in getattr(part, name))
            for name in ("columns", "shares", "notes")
        )
        once = tuple(dict.fromkeys(notes))
        found.append(replace(first, columns=columns, shares=shares, notes=once) if beside else first)
    return tuple(found)
