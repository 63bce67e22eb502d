"""A remote curator, used as if its tables were here.

    session = dp.connect("https://curator.example", token)
    query = session.sql("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic")
    query = session["visits"].group_by("clinic").agg(n=dp.agg.count())      # the same question
    query.preview(epsilon="0.1")            # free
    answer = query.release(epsilon="0.1")   # pays, then answers
    answer["n"], answer.errors(), answer.receipt, session.remaining

Promise: each release has a key of its own, and is asked again under that key when the connection breaks: it is charged
once, and the answer is the one that was stored. Errors are those of the tree, raised here as they were there.
What a curator gets is SQL, whichever way a question was asked: it reads nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NoReturn
from urllib.parse import quote

from discreet.answer import CONFIDENCE
from discreet.continual.counter import read_method
from discreet.curator.amounts import read_amount
from discreet.curator.client.remote_answer import RemoteAnswer, RemotePreview, answers_of
from discreet.curator.client.remote_board import RemoteBoard
from discreet.curator.client.remote_plan import RemotePlan
from discreet.curator.client.remote_synthetic import RemoteJob, RemoteSynthetic
from discreet.curator.client.remote_tables import RemoteTables, publication_body
from discreet.curator.client.transport import Transport, new_key
from discreet.curator.public_schema import read
from discreet.errors import BadParameter, BadQuestion, CuratorRefused, Unsupported
from discreet.exact import Number, integer, number
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.answer.explain import tell
from discreet.query.answer.several import Explanation, Several
from discreet.query.answer.suggest import (
    SURE,
    Suggestion,
    find_column,
    rows_question,
    sizes_question,
    suggested,
    suggested_rows,
)
from discreet.query.estimate.prepare import Prepared
from discreet.query.front.frame import Asked, Frame
from discreet.query.front.unparse import as_sql
from discreet.query.passes import READING, Given, bound, lower, through
from discreet.query.plan.nodes import Question
from discreet.query.plan.schema import Schema
from discreet.query.profile.profile import Profile
from discreet.query.profile.questions import table_questions
from discreet.session.price import Price, Target, checked_targets
from discreet.session.rehearsal import made_up
from discreet.session.session import Session
from discreet.session.stored_answers import StoredAnswer, StoredAnswers
from discreet.session.workload import read_all
from discreet.synthetic.hierarchical.plan import Publication

_OWNER = "ask the owner, who declares the tables"


def _refused(what: str, hint: str) -> Callable[..., NoReturn]:
    """A part of a local session that a curator does not offer: refused by name."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise Unsupported(f"{what} of a remote session", hint)

    return refuse


def connect(url: str, token: str, dataset: str | None = None) -> RemoteSession:
    """A curator's data set, to be asked like a ``Session``; ``dataset`` may be left out if there is one.

    Guarantee: each release is charged once, however often the connection breaks. Nothing is sent to anybody but the
    curator. ``CuratorRefused`` if the token is not good, ``LedgerUnavailable`` if it cannot be reached.

    >>> connect("curator.example", "discreet_...")
    Traceback (most recent call last):
        ...
    discreet.errors.BadParameter: url is 'curator.example', but it must be http:// or https:// and a host
    """
    transport = Transport(url, token)
    names = [str(listed["name"]) for listed in transport.get("/api/datasets")]
    if dataset is None and len(names) != 1:
        raise BadParameter(
            "dataset", None, f"must be one of {', '.join(names) or 'none: you have no permission to ask'}"
        )
    chosen = names[0] if dataset is None else dataset
    if chosen not in names:
        raise BadParameter("dataset", chosen, f"must be one of {', '.join(names) or 'none'}")
    return RemoteSession(transport, chosen, transport.get(f"/api/datasets/{quote(chosen, safe='')}"))


@dataclass(frozen=True)
class RemoteSession:
    """A data set of a curator. Made by ``connect``."""

    transport: Transport = field(repr=False)
    dataset: str
    schema: Mapping[str, Any] = field(repr=False)
    """What is public about its tables, as the curator sends it."""

    @cached_property
    def schemas(self) -> Mapping[str, Schema]:
        """What is public about the tables."""
        try:
            return read(self.schema["tables"])
        except (KeyError, TypeError, ValueError):
            raise CuratorRefused("OtherVersion", "the curator has another version; use the one that it has") from None

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables."""
        return tuple(self.schema["tables"])

    @property
    def remaining(self) -> Measure:
        """What is left to you."""
        return read_amount(self._standing()["remaining"])

    @property
    def remaining_by_account(self) -> tuple[Measure, ...]:
        """What is left to you of each sum that is counted: under Rule.EITHER of (ε, δ) and of ρ, else of one."""
        return tuple(map(read_amount, self._standing()["accounts"]))

    @property
    def budget(self) -> Measure:
        """What all your answers together keep."""
        return read_amount(self._standing()["budget"])

    @property
    def public_key(self) -> str:
        """The key with which receipts and release cards can be checked."""
        return str(self.transport.get("/api/key")["public_key"])

    def sql(self, text: str, *, dialect: str | None = None) -> RemoteQuery:
        """A question in SQL: one SELECT. Nothing is spent until ``release``.

        One that is spelled as another ``dialect`` spells it is sent in our own spelling.
        """
        question = through(READING, text, Given(self.schemas, dialect=dialect))
        if isinstance(question, Question):
            return (
                RemoteQuery(self, question, text, self._prepared(question)) if dialect is None else self.ask(question)
            )
        if dialect is not None:
            raise Unsupported("a subquery that is one value, in another dialect", "ask it without dialect=")
        return RemoteQuery(self, None, text, None)  # values of its subqueries are looked up, or released first, there

    def __getitem__(self, name: str) -> Frame[RemoteQuery]:
        """A table, to be asked with verbs."""
        return Frame.about(name, self.schemas, self.ask)

    def ask(self, question: Question) -> RemoteQuery:
        """A question as a plan. It is sent as SQL: a plan that has no text is refused."""
        prepared = self._prepared(question)
        tables = {name: schema.fields for name, schema in self.schemas.items()}
        return RemoteQuery(self, question, as_sql(question, tables), prepared)

    def workload(self, queries: Sequence[RemoteQuery | str]) -> RemoteWorkload:
        """Several questions, planned and released together: what they share is released once."""
        return RemoteWorkload(self, read_all(queries, self.sql))

    def plan(
        self,
        queries: Sequence[RemoteQuery | str],
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Sequence[Target] | None = None,
        confidence: Number = CONFIDENCE,
    ) -> RemotePlan:
        """Several questions for one price, shared so that all are about equally far off; ``release`` pays and answers.

        What each gets is shown before anything is paid. Instead of a price, ``error`` may name an error for each
        question: the least price that keeps all of them is found.
        """
        read = self.workload(queries).queries
        kept = None if error is None else checked_targets(error, len(read))
        body = {"sqls": [query.text for query in read]} | Price(epsilon, delta, rho, kept, confidence).texts()
        return RemotePlan.shown(self.transport, self.path("plan"), body, read)

    def suggest_bounds(
        self,
        column: str,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        key: str | None = None,
        fresh: bool = False,
    ) -> Suggestion:
        """Bounds for a column ("cost", or "visits.cost") as a private estimate, paid like any question.

        The same estimate again is free, unless ``fresh``. ``NoEstimate`` if no value stands out from the noise of what
        was paid for.
        """
        table, name = find_column(column, self.schemas)
        _, step = sizes_question(table, name, self.schemas)
        price = replace(Price(epsilon, delta, rho), confidence=SURE)
        body = {"table": table, "column": name, "key": new_key(key), "fresh": fresh} | price.texts()
        return suggested(f"{table}.{name}", step, RemoteAnswer(self.transport.post(self.path("bounds"), body)))

    def suggest_max_rows(
        self,
        table: str,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        level: Number = "0.95",
        most: int = 1000,
        where: str | None = None,
        key: str | None = None,
        fresh: bool = False,
    ) -> int:
        """How many rows all but a few units have, as a private estimate, paid like any question.

        ``where``: among the rows that satisfy a condition, such as those of one day.
        """
        frame = self[table] if where is None else self[table].filter(where)
        query = rows_question(frame, table, self.schemas[table].table, level, most)
        return suggested_rows(query.release(epsilon, delta=delta, rho=rho, key=key, fresh=fresh), level)

    def synthesize(
        self,
        table: str,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        columns: Sequence[str] | None = None,
        domain: Mapping[str, Any] | None = None,
        workload: str | None = None,
        rows: int | None = None,
        key: str | None = None,
        **options: Any,
    ) -> RemoteSynthetic:
        """Synthetic rows of a table: begins the job and waits for it. ``start_synthesize`` only begins it.

        ``rows`` must be given; of the options there is ``quick``. The same ``key`` is the same job again.
        """
        if domain is not None:
            raise Unsupported("a domain of one's own of a remote session", _OWNER)
        price = Price(epsilon, delta, rho)
        job = self.start_synthesize(table, price, columns=columns, workload=workload, rows=rows, key=key, **options)
        return job.result()

    def start_synthesize(
        self,
        table: str,
        price: Price,
        *,
        columns: Sequence[str] | None = None,
        workload: str | None = None,
        rows: int | None = None,
        quick: bool = False,
        key: str | None = None,
    ) -> RemoteJob:
        """Pay for synthetic rows and begin to make them: a job to be watched, cancelled and waited for."""
        body = {"table": table, "rows": integer(rows or 0, "rows", at_least=1), "quick": quick, "key": new_key(key)}
        body |= {"columns": None if columns is None else list(columns), "workload": workload} | price.texts()
        return RemoteJob(self.transport, int(self.transport.post(self.path("synthetic"), body)["number"]))

    def tabulate(
        self,
        table: str,
        workload: Publication,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        key: str | None = None,
    ) -> RemoteTables:
        """Tables that add up, as ``dp.synthetic.publication`` asks for them. The same ``key`` gives them again."""
        if not isinstance(workload, Publication):
            raise Unsupported("tables other than a dp.synthetic.publication", "ask for the tables as a workload")
        price = Price(epsilon, delta, rho)
        body = publication_body(table, workload) | {"format": "parquet", "key": new_key(key)} | price.texts()
        number = int(self.transport.post(self.path("publication"), body)["number"])
        return RemoteTables.of(self.transport, number)

    def profile(
        self,
        table: str,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        columns: Sequence[str] | None = None,
        key: str | None = None,
        fresh: bool = False,
    ) -> Profile:
        """A private profile of a table, paid like any question; free where it was paid for, unless ``fresh``."""
        questions = table_questions(table, self.schemas, columns)
        body: dict[str, Any] = {"table": table, "columns": None if columns is None else list(columns), "fresh": fresh}
        body["key"] = new_key(key)
        reply = self.transport.post(self.path("profile"), body | Price(epsilon, delta, rho).texts())
        return Profile.read(table, questions, reply["answer"]["answers"])

    with_columns = _refused("with_columns", _OWNER)
    pmw = _refused("pmw", "use synthesize, whose rows answer any number of queries")
    suggest_keys = _refused("suggest_keys", _OWNER)
    prepare = _refused("prepare", _OWNER)
    learn = _refused("learn", "ask for the sums that a model needs, or use synthesize")
    regress = _refused("regress", _OWNER)
    compare = _refused("compare", "the report of a job says how well its model fits what was measured")

    def _prepared(self, question: Question) -> Prepared | None:
        """Refuse here, with the curator's message, what it would refuse from public metadata.

        Keys of public tables are read there, and long lists are sent in part; what depends on them is decided there.
        """
        lowered = lower(question, Given(self.schemas))
        listed = not any(
            column["more_keys"] for name in lowered.tables for column in self.schema["tables"][name]["columns"]
        )
        all_keys = all(key.typed.keys is not None or key.typed.keys_from is None for key in lowered.keys)
        return bound(lowered, Given(self.schemas)) if listed and all_keys else None

    def continual(
        self,
        text: str,
        epsilon: Number | None = None,
        *,
        by: str,
        horizon: int,
        name: str,
        days: int | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        method: str = "best",
        max_rows: int | None = None,
    ) -> RemoteBoard:
        """A dashboard of this name: opened and paid for all of its days, or gone on with, if it is the same.

        ``method``: "best" has the least error of the totals, "values" that of single days. ``max_rows``: rows of one
        unit that count on one day, needed where the table declares none.
        """
        body = {"sql": text, "by": by, "horizon": horizon, "days": days, "method": read_method(method).value}
        body |= {} if max_rows is None else {"max_rows": max_rows}
        body |= Price(epsilon, delta, rho).texts()
        path = self.path(f"boards/{quote(name, safe='')}")
        sent = self.transport.post(path, body)
        return RemoteBoard(self.transport, path, sent["horizon"], sent["cost"])

    def charges(self) -> list[dict[str, Any]]:
        """The questions that you paid, oldest first."""
        charges: list[dict[str, Any]] = []
        while True:
            after = charges[-1]["number"] if charges else 0
            more = self.transport.get(f"/api/answers?limit=1000&after={after}")["charges"]
            if not more:
                return charges
            charges += more

    def answers(self, search: str = "") -> StoredAnswers:
        """The answers about this data set that are there for nothing, the newest first: yours, and those of others.

        ``search``: words that the query has. ``session.answer(number)`` shows one. Empty of others' where the owner
        keeps answers apart.
        """
        lines: list[dict[str, Any]] = []
        while True:
            words, before = quote(search, safe=""), f"&before={lines[-1]['number']}" if lines else ""
            reply = self.transport.get(self.path(f"answers?limit=200&search={words}{before}"))
            lines += reply["answers"]
            if len(reply["answers"]) < 200:
                return StoredAnswers(StoredAnswer.read(line, reply["data"]) for line in lines)

    def rehearse(self, rows: int = 1000) -> Session:
        """A session on this machine over made-up rows of the public schema, to try code on: nothing is spent.

        Its answers mean nothing. Key sets and the rows of public tables are not sent, so they are made up as well.
        """
        neighbours = Neighbours[str(self.schema["neighbours"])]
        return Session(made_up(self.schemas, rows), budget=self.budget, neighbours=neighbours)

    def answer(self, sequence: int) -> RemoteAnswer:
        """A stored answer, by the number of its charge. Costs nothing."""
        answers = self.answers_to(sequence)
        if len(answers) != 1:
            raise BadParameter("sequence", sequence, "must be of one query; answers_to(...) reads a workload")
        return answers[0]

    def answers_to(self, sequence: int) -> tuple[RemoteAnswer, ...]:
        """The stored answers to a workload, by the number of its charge; of a question, its one answer."""
        return answers_of(self.transport.get(f"/api/answers/{integer(sequence, 'sequence', at_least=1)}"))

    def _standing(self) -> Mapping[str, Any]:
        population = self.schema["population"]
        return next(standing for standing in self.transport.get("/api/budget") if standing["population"] == population)

    def path(self, what: str) -> str:
        """Where this data set is asked."""
        return f"/api/datasets/{quote(self.dataset, safe='')}/{what}"


@dataclass(frozen=True, slots=True, repr=False)
class RemoteQuery(Asked):
    """A question to a curator: preview it for free, release it for a price."""

    session: RemoteSession
    known_plan: Question | None
    """None while values of its subqueries are not known."""
    text: str
    """The SQL that is sent."""
    prepared: Prepared | None
    """What is computed for it, as far as that is known here."""

    def __repr__(self) -> str:
        return f"RemoteQuery({self.text}; preview(...) is free, release(...) spends)"

    @property
    def plan(self) -> Question:  # type: ignore[override]
        """The query, as its text says it."""
        if self.known_plan is None:
            raise BadQuestion("say it in the text: the values of its subqueries are not known yet")
        return self.known_plan

    def again(self, plan: Question) -> RemoteQuery:
        """The same session, another plan."""
        return self.session.ask(plan)

    def preview(
        self,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        confidence: Number = CONFIDENCE,
        rows: int | None = None,
    ) -> RemotePreview:
        """Error bars and cost, and what would be left."""
        body = {"sql": self.text} | Price(epsilon, delta, rho, error, confidence).texts() | _rows(rows)
        return RemotePreview.of(self.session.transport.post(self.session.path("preview"), body))

    def release(
        self,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        confidence: Number = CONFIDENCE,
        key: str | None = None,
        fresh: bool = False,
    ) -> RemoteAnswer:
        """Pay, then answer. An answer to the same query of the same data that was paid for with at least this is free,
        and says so in ``paid_before``. ``fresh`` pays for another one. The same ``key`` gives the same answer again.
        """
        price = Price(epsilon, delta, rho, error, confidence)
        body = {"sql": self.text, "key": new_key(key), "fresh": fresh} | price.texts()
        return RemoteAnswer(self.session.transport.post(self.session.path("questions"), body))

    def explain(self, epsilon: Number | None = None, *, delta: Number | None = None, rho: Number | None = None) -> str:
        """The plan, with how far one unit reaches at each step; with a price also the noise. Free."""
        if epsilon is None and rho is None:
            if self.prepared is None:
                raise BadParameter("epsilon", None, "must be given, such as 0.1: only the curator knows all keys")
            return "\n".join(tell(prepared, None) for prepared in self.prepared.all)
        return "\n".join(self.preview(epsilon, delta=delta, rho=rho).story)

    def derived(self, confidence: Number = CONFIDENCE) -> RemoteAnswer | None:
        """What follows from a stored answer alone, for nothing: fewer columns, another order or limit, sums of groups.

        None if nothing does. Its intervals are those of the noise in that answer: of a sum, of all noises in it.
        """
        body = {"sql": self.text, "confidence": str(number(confidence, "confidence"))}
        reply = self.session.transport.post(self.session.path("derived"), body)
        return None if reply is None else RemoteAnswer(reply)

    quote = _refused("a quote", "preview shows what it costs")
    script = _refused("a script", "the page of the curator saves one")
    statements = _refused("what an engine is asked", "query.explain(epsilon=...) shows the plan")


@dataclass(frozen=True, slots=True)
class RemoteWorkload:
    """Several questions to a curator for one price."""

    session: RemoteSession
    queries: tuple[RemoteQuery, ...]

    def preview(
        self,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        confidence: Number = CONFIDENCE,
        rows: int | None = None,
    ) -> tuple[RemotePreview, ...]:
        """Error bars of each question; the cost is that of all together."""
        body = self._body(Price(epsilon, delta, rho, None, confidence)) | _rows(rows)
        reply = self.session.transport.post(self.session.path("workload/preview"), body)
        return tuple(RemotePreview.of(shown) for shown in reply["questions"])

    def release(
        self,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        confidence: Number = CONFIDENCE,
        key: str | None = None,
        fresh: bool = False,
    ) -> tuple[RemoteAnswer, ...]:
        """Pay once, then answer all; for nothing where the same workload was paid for, unless ``fresh``."""
        body = self._body(Price(epsilon, delta, rho, None, confidence)) | {"key": new_key(key), "fresh": fresh}
        return answers_of(self.session.transport.post(self.session.path("workload"), body))

    def explain(
        self, epsilon: Number | None = None, *, delta: Number | None = None, rho: Number | None = None
    ) -> Explanation:
        """The plan of each question; with a price also the noise that they share. Free."""
        if epsilon is None and rho is None:
            return Explanation(Several(query.explain() for query in self.queries))
        return Explanation(Several("\n".join(shown.story) for shown in self.preview(epsilon, delta=delta, rho=rho)))

    def _body(self, price: Price) -> dict[str, Any]:
        return {"sqls": [query.text for query in self.queries]} | price.texts()


def _rows(rows: int | None) -> dict[str, int]:
    return {} if rows is None else {"rows": rows}
