"""What can be asked of a curator and paid for: a question, several together, the sizes of a column.

Promise: ``query`` and ``parameters`` of whatever is asked are all that decides its answer, in canonical form: they are
what is written into the ledger and what a key is bound to. Planning touches no data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.answer import CONFIDENCE, confidence_level
from discreet.curator.service import serialize
from discreet.exact import number
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.suggest import SURE, bounds_words, sizes_question
from discreet.query.estimate.prepare import Prepared, prepare
from discreet.query.plan.nodes import Outcome
from discreet.query.run import Quote
from discreet.session.session import Query, Session, Workload

Read = Callable[[str], Query]
"""Reads one text; perhaps it was read before."""
Check = Callable[[Sequence[Prepared]], None]
"""Refuses what is too large before anybody works on it."""
Plan = tuple[Quote, tuple[Outcome, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What may be paid, and the confidence of the error bars; all numbers as exact text."""

    epsilon: str | None = None
    delta: str | None = None
    rho: str | None = None
    confidence: str = str(CONFIDENCE)

    def amounts(self) -> dict[str, Any]:
        """The numbers, in canonical form."""
        found: dict[str, Any] = {
            name: str(number(value, name))
            for name, value in (("epsilon", self.epsilon), ("delta", self.delta), ("rho", self.rho))
            if value is not None
        }
        return found | {"confidence": str(number(self.confidence, "confidence"))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Price):
    """One question. Instead of a price there may be an error that the answer must keep."""

    sql: str
    error: str | Mapping[str, str] | None = None
    rows: int | None = None

    @property
    def query(self) -> str:
        """What is written into the ledger."""
        return self.sql.strip()

    @property
    def parameters(self) -> dict[str, Any]:
        """All but the text that decides the answer, in canonical form."""
        found = self.amounts()
        if isinstance(self.error, Mapping):
            return found | {"error": {name: str(number(e, "error")) for name, e in self.error.items()}}
        return found if self.error is None else found | {"error": str(number(self.error, "error"))}

    def plan(self, session: Session, read: Read, check: Check) -> Plan:
        """The price, the noise, and what becomes of the numbers."""
        query = read(self.sql)
        check([query._prepared])
        level = confidence_level(self.confidence)
        return query._quote(self.epsilon, self.delta, self.rho, self.error, level), (query.plan.outcome,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Together(Price):
    r"""Several questions, planned together and paid once.

    In the ledger they are one text, with the length of each among the parameters, so that it can be taken apart again.

    >>> both = Together(sqls=("SELECT 1", " SELECT 22 "), epsilon="1")
    >>> both.query, both.parameters["workload"]
    ('SELECT 1;\nSELECT 22', [8, 9])
    """

    sqls: tuple[str, ...]
    rows: int | None = None

    @property
    def query(self) -> str:
        """What is written into the ledger."""
        return ";\n".join(text.strip() for text in self.sqls)

    @property
    def parameters(self) -> dict[str, Any]:
        """All but the text that decides the answer, in canonical form."""
        return self.amounts() | {"workload": [len(text.strip()) for text in self.sqls]}

    def plan(self, session: Session, read: Read, check: Check) -> Plan:
        """The price of all together, the noise, and what becomes of the numbers."""
        queries = tuple(read(text) for text in self.sqls)
        check([query._prepared for query in queries])
        confidence_level(self.confidence)
        quote = Workload(session, queries)._quote(self.epsilon, self.delta, self.rho)
        return quote, tuple(query.plan.outcome for query in queries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes(Price):
    """How many values of a column have which sign and power of two: from the counts, bounds can be suggested."""

    table: str
    column: str
    confidence: str = SURE

    @property
    def query(self) -> str:
        """What is written into the ledger."""
        return bounds_words(self.table, self.column)

    @property
    def parameters(self) -> dict[str, Any]:
        """All but the text that decides the answer, in canonical form."""
        return self.amounts() | {"estimate": "bounds"}

    def plan(self, session: Session, read: Read, check: Check) -> Plan:
        """The price, the noise, and what becomes of the numbers."""
        asked, _ = sizes_question(self.table, self.column, session.schemas)
        prepared = prepare(asked)
        check([prepared])
        confidence_level(self.confidence)
        allowance = session._terms.allowance(self.epsilon, self.delta, self.rho)
        return session._quote((prepared,), allowance), (asked.outcome,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What is asked, with its price: no data was touched."""

    session: Session
    quote: Quote
    outcomes: tuple[Outcome, ...]
    together: bool
    confidence: str

    def told(self, answers: Sequence[TableAnswer]) -> dict[str, Any]:
        """The answers as they are stored and sent."""
        found = [serialize.answer_for_client(one, number(self.confidence, "confidence")) for one in answers]
        if not self.together:
            return found[0]
        return {"answers": found, "confidence": found[0]["confidence"], "cost": found[0]["cost"]}


Asking = Asked | Together | Sizes


def planned(asked: Asking, session: Session, read: Read, check: Check) -> Planned:
    """What is asked, with its price; whatever could be refused later is refused here."""
    quote, outcomes = asked.plan(session, read, check)
    return Planned(
        session=session,
        quote=quote,
        outcomes=outcomes,
        together=isinstance(asked, Together),
        confidence=asked.confidence,
    )


def accuracy(told: Mapping[str, Any]) -> dict[str, str]:
    """How far off an answer may be, in words for its card: the largest error bar of each column."""
    many = {f"{i}. ": one for i, one in enumerate(told.get("answers", ()), start=1)} or {"": told}
    found: dict[str, str] = {}
    for place, one in many.items():
        worst = {name: [e for e in column if e is not None] for name, column in one["errors"].items()}
        days = dict.fromkeys(one["kinds"], " days")
        found |= {f"{place}{n}": f"within {max(bars):.6g}{days.get(n, '')}" for n, bars in worst.items() if bars}
    return found | {"confidence": told["confidence"]}
