"""A query of a session: preview it for free, release it for a price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.answer import CONFIDENCE
from discreet.engines.experimental.engine import sql_texts
from discreet.errors import BadParameter, BadQuestion, DiscreetError, EngineFailed, EngineUnreachable, Unsupported
from discreet.exact import Number
from discreet.messages import Message, message
from discreet.privacy.promises.receipt import Receipt
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.explain import tell
from discreet.query.answer.preview import Preview
from discreet.query.answer.several import Explanation
from discreet.query.estimate.prepare import Prepared
from discreet.query.front.frame import Asked, Frame
from discreet.query.front.sql.constants import (
    Known,
    Listed,
    Missing,
    Staged,
    given_note,
    some_value,
    stand_in,
    value_of,
)
from discreet.query.front.sql.dialects import frozen, respelled
from discreet.query.front.sql.privacy_clause import take_privacy_clause
from discreet.query.front.unparse import as_sql
from discreet.query.lower.listed_groups import with_presence
from discreet.query.lower.lower import lower_relation
from discreet.query.lower.public_keys import public_value
from discreet.query.plan.nodes import Question, Relation
from discreet.query.run import Quote, quote, within, works_of
from discreet.session.backend import Backend
from discreet.session.count_tables import measured_together
from discreet.session.price import Price, shares
from discreet.session.program import Program, QueryStep, run
from discreet.session.script import script_of
from discreet.session.stored_answers import ReleaseRequest

NO_GROUPS = "no group passed the list that was released first, so there is no group to answer"


class RefusedForValues(BadQuestion):
    """The query with released values in it is refused: a function of them, and it names them. They are paid."""


@dataclass(frozen=True, slots=True)
class SubqueryValues:
    """Values of subqueries that a query releases before its answer."""

    text: str
    """The query as it was written."""
    staged: Staged
    public: tuple[Known, ...]
    """Values that are public; None for those that are released."""
    first: tuple[Prepared, ...]
    """What is released first."""

    def question(self, released: Sequence[Known]) -> Question:
        """The query with these values in it."""
        left = iter(released)
        every = [value if constant.question is None else next(left)
                 for value, constant in zip(self.public, self.staged.constants, strict=True)]  # fmt: skip
        return self.staged.fill(every)


@dataclass(frozen=True, slots=True, repr=False)
class Query(Asked):
    """A query of a session: preview it for free, release it for a price. Make one by ``session.sql`` or verbs."""

    backend: Backend
    plan: Question
    prepared: Prepared
    """What is computed for it."""
    values: SubqueryValues | None = None
    """What is released first, if anything is; then the plan is for values in the middle of what they could be."""
    _own_price: Price | None = None
    """What its text says that it may cost."""

    def __repr__(self) -> str:
        names = ", ".join(name for name, _ in self.plan.outcome.columns)
        return f"Query({names} of {', '.join(self.prepared.asked.tables)}; preview(...) is free, release(...) spends)"

    def again(self, plan: Question) -> Query:
        """The same session, another plan."""
        if self.values is not None:
            raise BadQuestion("say it in the text: the values of its subqueries are not known yet")
        return query_of(self.backend, plan)

    @property
    def text(self) -> str:
        """The query as SQL, however it was asked; ``session.sql`` reads it back as the same query."""
        if self.values is not None:
            return self.values.text
        return as_sql(self.plan, {name: schema.fields for name, schema in self.backend.schemas.items()})

    def _offered(
        self,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        confidence: Number = CONFIDENCE,
    ) -> Price:
        """What it may cost: as it is given here, or as the text says; never both."""
        given = Price(epsilon, delta, rho, error, confidence)
        if self._own_price is None:
            return given
        if (given.epsilon, given.delta, given.rho, given.error) != (None, None, None, None):
            raise BadParameter("epsilon", given.epsilon, "must be left out: the text states the cost in OPTIONS(...)")
        return replace(self._own_price, confidence=given.confidence)

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
        """Error bars and cost, from public metadata alone; also of values that are released first.

        Some error bars depend on how many rows a group has: ``rows`` says for how many (1,000 unless said).
        """
        program = program_of(self, self._offered(epsilon, delta, rho, error, confidence))
        return program.previews(self.backend, rows)[0]

    def release(
        self,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        confidence: Number = CONFIDENCE,
        fresh: bool = True,
    ) -> TableAnswer:
        """Pay, then answer. Instead of a price one may ask for an error: the least price that gives it is paid.

        With ``fresh=False``, an answer of this session to the same query of the same data that cost at least this comes
        back for nothing, with a note that says so.
        """
        return release_query(self, self._offered(epsilon, delta, rho, error, confidence), fresh=fresh)

    def quote(self, epsilon: Number | None = None, *, delta: Number | None = None, rho: Number | None = None) -> Quote:
        """Noise and price, worked out without touching data: what ``release`` would pay for."""
        check_whole([self])
        quoted: Quote = program_of(self, self._offered(epsilon, delta, rho)).answer.quote
        return quoted

    def explain(
        self, epsilon: Number | None = None, *, delta: Number | None = None, rho: Number | None = None
    ) -> Explanation:
        """The plan, with how far one unit reaches at each step; with a price also the noise, and what was chosen."""
        if epsilon is None and rho is None and self._own_price is None:
            return Explanation("\n".join(tell(prepared, None) for prepared in prepared_of([self])))
        return program_of(self, self._offered(epsilon, delta, rho)).explain()

    def script(
        self,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        confidence: Number = CONFIDENCE,
    ) -> str:
        """A Python program that declares the same tables, asks this query and prints its preview; holds no row."""
        return script_of(self.backend, self.text, self._offered(epsilon, delta, rho, error, confidence))

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
        quoted = self.quote(epsilon, delta=delta, rho=rho)
        if quoted.choosing is not None:
            raise BadQuestion(
                "the statements are not known before contribution bounds, value bounds and groups are",
                message("declare_all_open"),
            )
        return sql_texts(database, works_of(quoted, "SALT"), self.backend.schemas)


# --- making queries ---------------------------------------------------------------------------------------------------


def query_of(backend: Backend, question: Question) -> Query:
    """A plan as a query; SQL and verbs both end here."""
    question = with_presence(question, backend.schemas)
    return Query(backend, question, backend.prepare(question))


def read_query(backend: Backend, text: str, dialect: str | None = None) -> Query:
    """A query in SQL: one SELECT. Values of public subqueries are looked up, others are released first.

    The text may say what it costs, as BigQuery spells that.
    """
    text, clause = take_privacy_clause(text)
    if clause is not None:
        bounded = replace(backend, schemas=clause.bounded(backend.schemas))
        return replace(read_query(bounded, text, dialect), _own_price=Price(clause.epsilon, clause.delta))
    question = backend.read(text, dialect)
    if isinstance(question, Question):
        return query_of(backend, question)
    fixed, _ = frozen(respelled(text, dialect))
    return _with_values(question, backend, fixed.strip())


def frame_of(backend: Backend, name: str) -> Frame[Query]:
    """A table, to be asked with verbs."""
    return Frame.about(name, backend.schemas, lambda question: query_of(backend, question))


def _with_values(staged: Staged, backend: Backend, text: str) -> Query:
    public = [
        None if constant.public is None else _looked_up(*constant.public, backend) for constant in staged.constants
    ]
    if all(constant.question is None for constant in staged.constants):
        return query_of(backend, staged.fill(public))
    first = tuple(backend.prepare(constant.question) for constant in staged.constants if constant.question is not None)
    values = SubqueryValues(text, staged, tuple(public), first)
    return replace(query_of(backend, values.question([stand_in(prepared.asked) for prepared in first])), values=values)


def _looked_up(relation: Relation, column: str, backend: Backend) -> Known:
    value = public_value(relation, column, backend.engine, backend.schemas)
    return (
        value
        if value is not None
        else Missing(some_value(lower_relation(relation, backend.schemas).fields[column].kind))
    )


# --- queries as programs ----------------------------------------------------------------------------------------------


def prepared_of(queries: Sequence[Query]) -> list[Prepared]:
    """All that is computed for these queries."""
    every = []
    for query in queries:
        before = () if query.values is None else query.values.first
        every += [part for prepared in (*before, query.prepared) for part in prepared.all]
    return every


def ledger_text(queries: Sequence[Query]) -> str:
    """The queries as a ledger keeps them: their SQL; what one does, if there is no SQL for it."""

    def text(query: Query) -> str:
        try:
            return query.text
        except Unsupported:
            return "; ".join(
                line.strip() for prepared in query.prepared.all for line in tell(prepared, None).splitlines()
            )

    return "; ".join(map(text, queries))


def check_keys(queries: Sequence[Query]) -> None:
    """Refuses, before anything is paid, if a public table that keys come from has changed since it was asked."""
    for query in queries:
        listed = any(key.typed.keys_from is not None for prepared in query.prepared.all for key in prepared.asked.keys)
        if listed and _keys(query.backend.prepare(query.plan)) != _keys(query.prepared):
            raise BadQuestion("a public table that lists the groups has changed since this was asked; ask it again")


def _keys(prepared: Prepared) -> list[object]:
    return [part.asked.keys for part in prepared.all]


def check_whole(queries: Sequence[Query]) -> None:
    """Refuses queries that need other releases first: such a one cannot be one of several."""
    if any(query.values is not None for query in queries):
        raise BadQuestion(
            "a subquery here is a value that must be released first: ask it alone, and write its answer as a constant"
        )


def program_of(query: Query, price: Price) -> Program:
    """A query with its price: one step; or the values of its subqueries, then the answer with them."""
    if query.values is None:
        return together(query.backend, (query,), price)
    return _after_values(query, query.values, price)


def release_query(query: Query, price: Price, *, fresh: bool = True) -> TableAnswer:
    """Pay for a query, then answer it; if it need not be ``fresh``, unless this session has its answer."""
    check_keys([query])
    backend, program = query.backend, program_of(query, price)
    sources = [backend.schemas[name].table.source for name in sorted(program.tables)]
    request = ReleaseRequest.of(program.questions, program.cost, sources)
    earlier = None if fresh else backend.shelf.find(request)
    if earlier is not None:
        return earlier

    def shown(released: tuple[TableAnswer, ...]) -> TableAnswer:
        backend.shelf.keep(request, program.text, released[0])
        return released[0]

    answer: TableAnswer = run(program, backend, shown)
    return answer


def together(backend: Backend, queries: Sequence[Query], price: Price) -> Program:
    """Queries that are answered in one step, for one price."""
    check_whole(queries)
    every = [prepared for query in queries for prepared in query.prepared.all]
    outcomes = [o for q in queries for o in (q.plan.outcome, *(prepared.outcome for prepared in q.prepared.beside))]
    sizes = tuple(len(query.prepared.all) for query in queries)
    several = () if all(size == 1 for size in sizes) else sizes
    step = QueryStep(backend.quote(every, price), tuple(outcomes), several)
    return Program((measured_together(backend, step),), lambda: ledger_text(queries), price.confidence)


def _after_values(query: Query, values: SubqueryValues, price: Price) -> Program:
    """One step for each value, and one for the answer with them."""
    backend, many = query.backend, len(values.first)
    each, left = shares(price, many)
    steps = [*((prepared.all, each) for prepared in values.first), (query.prepared.all, left)]
    *quotes, planned = backend.terms.quotes(steps, backend.affords)
    first = [_step_of(prepared, made) for prepared, made in zip(values.first, quotes, strict=True)]

    def fill(released: Sequence[Any]) -> QueryStep:
        given = _values(values, released)
        try:
            filled = query_of(backend, values.question(given))
            made = quote(filled.prepared.all, planned.allowance, backend.terms.neighbours)
        except (EngineFailed, EngineUnreachable):  # a public table could not be read: it goes on later
            raise
        except DiscreetError as refused:  # a function of released values: they are not lost
            why = NO_GROUPS if Listed(()) in given else str(refused)
            raise RefusedForValues("; ".join((why, *map(str, _notes_of(released, given))))) from None
        made = within(made, planned.allowance)
        return _step_of(filled.prepared, replace(made, plan=replace(made.plan, price=planned.plan.price)))

    def join(released: Sequence[Any], receipt: Receipt) -> tuple[TableAnswer, ...]:
        *before, (answer,) = released
        words = _notes_of(before, _values(values, before))
        story = tuple(line for (answer_before,) in before for line in answer_before.story)
        notes, whole_story = (*words, *answer.own_notes), (*story, *map(str, words), *answer.story)
        price = str(receipt.price)
        return (replace(answer, cost=price, receipt=receipt, event=receipt.what, own_notes=notes, story=whole_story),)

    last = replace(_step_of(query.prepared, planned), fill=fill)
    return Program((*first, last), lambda: values.text, price.confidence, join)


def _step_of(prepared: Prepared, made: Quote) -> QueryStep:
    every = prepared.all
    return QueryStep(made, tuple(part.outcome for part in every), () if len(every) == 1 else (len(every),))


def _values(values: SubqueryValues, released: Sequence[Any]) -> list[Known]:
    likes = [stand_in(prepared.asked) for prepared in values.first]
    return [value_of(answer, like) for (answer,), like in zip(released, likes, strict=True)]


def _notes_of(released: Sequence[Any], values: Sequence[Known]) -> tuple[Message, ...]:
    return tuple(given_note(answer, value) for (answer,), value in zip(released, values, strict=True))
