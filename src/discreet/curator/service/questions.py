"""What can be asked of a curator and paid for: a question, several together or in a plan, the sizes of a column.

Promise: ``query`` and ``parameters`` of whatever is asked are all that decides its answer, in canonical form: they are
what is written into the ledger and what a key is bound to. Planning touches no data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

from discreet.answer import confidence_level
from discreet.curator.service import serialize
from discreet.exact import number, significant
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.derived import kept_numbers
from discreet.query.answer.suggest import bounds_words
from discreet.query.estimate.prepare import Prepared
from discreet.query.front.sql.dialects import OwnSpelling, frozen, respelled, utc_now
from discreet.query.profile.histogram import UnitHistogram
from discreet.query.profile.questions import KEY, About, HistogramQuery, table_questions
from discreet.session.backend import Backend
from discreet.session.plan import Plan, check_plain
from discreet.session.price import Price
from discreet.session.profiles import profile_program, sizes_program
from discreet.session.program import Program
from discreet.session.query import Query, check_whole, prepared_of, program_of, together
from discreet.session.target_plan import plan_for

Read = Callable[[str], Query]
"""Reads one text; perhaps it was read before."""
Check = Callable[[Sequence[Prepared]], None]
"""Refuses what is too large before anybody works on it."""


def _fixed(texts: Sequence[str], dialect: str | None, asked_at: str | None) -> tuple[tuple[str, ...], str | None]:
    """Texts in our own spelling without a clock, and the moment that stands for it, if one names it."""
    moment = utc_now() if asked_at is None else datetime.fromisoformat(asked_at)
    fixed = [frozen(respelled(text, dialect), lambda: moment) for text in texts]
    named = any(at is not None for _, at in fixed)
    return tuple(OwnSpelling(text) for text, _ in fixed), moment.isoformat() if named else None


def _spelled(question: SqlQuestion | WorkloadQuestion) -> dict[str, Any]:
    """What a ledger keeps of how a text was written."""
    kept = {"dialect": question.dialect, "asked_at": question.asked_at}
    return {name: value for name, value in kept.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlQuestion:
    """One question. Instead of a price there may be an error that the answer must keep."""

    sql: str
    price: Price
    rows: int | None = None
    dialect: str | None = None
    asked_at: str | None = None
    """The moment that stands for CURRENT_DATE and the like, where the text names it."""

    def fixed(self, asked_at: str | None = None) -> SqlQuestion:
        """The same in our own spelling, with this moment (or now) in the place of the time of asking."""
        texts, moment = _fixed((self.sql,), self.dialect, asked_at)
        return replace(self, sql=texts[0], asked_at=moment)

    @property
    def texts(self) -> tuple[str, ...]:
        """All questions."""
        return (self.sql,)

    @property
    def query(self) -> str:
        """What is written into the ledger."""
        return self.sql.strip()

    @property
    def parameters(self) -> dict[str, Any]:
        """All but the text that decides the answer, in canonical form."""
        return self.price.texts() | _spelled(self)

    def queries(self, read: Read, check: Check) -> tuple[Query, ...]:
        """What is asked, read and not too large; what cannot be one release is refused."""
        query = read(self.sql)
        check(prepared_of([query]))
        return (query,)

    def program(self, backend: Backend, read: Read, check: Check) -> Program:
        """The price, the noise, and what becomes of the numbers."""
        (query,) = self.queries(read, check)
        return program_of(replace(query, backend=backend), self.price)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadQuestion:
    r"""Several questions, planned together and paid once.

    In the ledger they are one text, with the length of each among the parameters, so that it can be taken apart again.

    >>> both = WorkloadQuestion(sqls=("SELECT 1", " SELECT 22 "), price=Price("1"))
    >>> both.query, both.parameters["workload"]
    ('SELECT 1;\nSELECT 22', [8, 9])
    """

    sqls: tuple[str, ...]
    price: Price
    rows: int | None = None
    dialect: str | None = None
    asked_at: str | None = None

    def fixed(self, asked_at: str | None = None) -> Self:
        """The same in our own spelling, with this moment (or now) in the place of the time of asking."""
        texts, moment = _fixed(self.sqls, self.dialect, asked_at)
        return replace(self, sqls=texts, asked_at=moment)

    @property
    def texts(self) -> tuple[str, ...]:
        """All questions."""
        return self.sqls

    @property
    def query(self) -> str:
        """What is written into the ledger."""
        return ";\n".join(text.strip() for text in self.sqls)

    @property
    def parameters(self) -> dict[str, Any]:
        """All but the text that decides the answer, in canonical form."""
        return self.price.texts() | {"workload": [len(text.strip()) for text in self.sqls]} | _spelled(self)

    def queries(self, read: Read, check: Check) -> tuple[Query, ...]:
        """What is asked, read and not too large; what cannot be one release is refused."""
        queries = tuple(read(text) for text in self.sqls)
        check_whole(queries)
        check(prepared_of(queries))
        return queries

    def program(self, backend: Backend, read: Read, check: Check) -> Program:
        """The price of all together, the noise, and what becomes of the numbers."""
        return together(backend, self.queries(read, check), self.price)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanQuestion(WorkloadQuestion):
    """Several questions that share one price so that all are about equally far off, or that each keep an error.

    >>> PlanQuestion(sqls=("SELECT 1", "SELECT 22"), price=Price(error=(5, 60))).parameters
    {'confidence': '19/20', 'error': ['5', '60'], 'workload': [8, 9], 'plan': 'one price'}
    """

    @property
    def parameters(self) -> dict[str, Any]:
        """All but the text that decides the answer, in canonical form."""
        return super(PlanQuestion, self).parameters | {"plan": "one price"}  # slots: super() is of another class

    def queries(self, read: Read, check: Check) -> tuple[Query, ...]:
        """What is asked, read and not too large; what a plan cannot hold is refused."""
        queries = super(PlanQuestion, self).queries(read, check)
        check_plain(queries)
        return queries

    def plan(self, backend: Backend, read: Read, check: Check) -> Plan:
        """What each question gets, and the program."""
        return plan_for(backend, self.queries(read, check), self.price)

    def program(self, backend: Backend, read: Read, check: Check) -> Program:
        """The price of all together, the noise, and what becomes of the numbers."""
        return self.plan(backend, read, check).program


@dataclass(frozen=True, slots=True, kw_only=True)
class SizesQuestion:
    """How many values of a column have which sign and power of two: from the counts, bounds can be suggested."""

    table: str
    column: str
    price: Price

    @property
    def query(self) -> str:
        """What is written into the ledger."""
        return bounds_words(self.table, self.column)

    @property
    def parameters(self) -> dict[str, Any]:
        """All but the text that decides the answer, in canonical form."""
        return self.price.texts() | {"estimate": "bounds"}

    def program(self, backend: Backend, read: Read, check: Check) -> Program:
        """The price, the noise, and what becomes of the numbers."""
        program = sizes_program(backend, self.table, self.column, self.price)
        check(program.answer.quote.questions)
        return program


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileQuestion:
    """A private profile of a table, or of some of its columns: histograms to be looked at."""

    table: str
    columns: tuple[str, ...] | None
    price: Price

    @property
    def query(self) -> str:
        """What is written into the ledger."""
        named = "" if self.columns is None else f": {', '.join(self.columns) or 'rows per unit'}"
        return f"profile({self.table}{named})"

    @property
    def parameters(self) -> dict[str, Any]:
        """All but the text that decides the answer, in canonical form."""
        columns = None if self.columns is None else list(self.columns)
        return self.price.texts() | {"profile": self.table, "columns": columns}

    def histograms(self, backend: Backend) -> tuple[HistogramQuery, ...]:
        """The histograms."""
        return table_questions(self.table, backend.schemas, self.columns)

    def program(self, backend: Backend, read: Read, check: Check) -> Program:
        """The price, the noise, and what becomes of the numbers."""
        questions = self.histograms(backend)
        check([question.prepared for question in questions])
        return profile_program(backend, questions, self.query, self.price)


AnyQuestion = SqlQuestion | WorkloadQuestion | PlanQuestion | SizesQuestion | ProfileQuestion


def program_for(question: AnyQuestion, backend: Backend, read: Read, check: Check) -> Program:
    """What is asked, with its price; whatever could be refused later is refused here."""
    confidence_level(question.price.confidence)
    return question.program(backend, read, check)


def question_of(query: str, parameters: Mapping[str, Any]) -> SqlQuestion | None:
    """A question in SQL as a ledger keeps it; None if it is of another kind."""
    if not parameters.keys() <= {"epsilon", "delta", "rho", "error", "confidence", "dialect", "asked_at", "same_as"}:
        return None
    given: dict[str, Any] = {name: parameters.get(name) for name in ("epsilon", "delta", "rho", "error", "confidence")}
    spelled = {name: parameters.get(name) for name in ("dialect", "asked_at")}
    return SqlQuestion(sql=OwnSpelling(query), price=Price(**given), **spelled)


def stored_form(question: AnyQuestion, answers: Sequence[TableAnswer], backend: Backend) -> dict[str, Any]:
    """The answers as they are stored and sent."""
    confidence = number(question.price.confidence, "confidence")
    sent = [serialize.answer_for_client(answer, confidence) for answer in answers]
    if isinstance(question, ProfileQuestion):
        about = question.histograms(backend)
        sent = [body | _in_words(ask, answer) for body, ask, answer in zip(sent, about, answers, strict=True)]
    if isinstance(question, SqlQuestion):
        return sent[0] | {"numbers": kept_numbers(answers[0])}
    if isinstance(question, SizesQuestion):
        return sent[0]
    return {"answers": sent, "confidence": sent[0]["confidence"], "cost": sent[0]["cost"]}


def _in_words(question: HistogramQuery, answer: TableAnswer) -> dict[str, Any]:
    """What a histogram is about, and the classes of its rows."""
    histogram = UnitHistogram.of(question, answer)
    words = {label: histogram.label(i) for i, label in enumerate(histogram.labels)}
    rows = histogram.labels if question.about is About.DISTINCT else answer[KEY]
    return {"about": histogram.title, "labels": [words[key] for key in rows]}


def accuracy(stored: Mapping[str, Any]) -> dict[str, str]:
    """How far off an answer may be, in words for its card: the largest error bar of each column."""
    many = {f"{i}. ": part for i, part in enumerate(stored.get("answers", ()), start=1)} or {"": stored}
    words: dict[str, str] = {}
    for place, sent in many.items():
        worst = {name: [e for e in column if e is not None] for name, column in sent["errors"].items()}
        days = dict.fromkeys(sent["kinds"], " days")
        words |= {
            f"{place}{n}": f"within {significant(max(bars), 6)}{days.get(n, '')}" for n, bars in worst.items() if bars
        }
    return words | {"confidence": stored["confidence"]}
