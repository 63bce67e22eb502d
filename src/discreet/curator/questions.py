"""What can be asked of a curator and paid for: a question, several together, the sizes of a column.

Promise: ``query`` and ``parameters`` of whatever is asked are all that decides its answer, in canonical form: they are
what is written into the ledger and what a key is bound to. Planning touches no data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.answer import CONFIDENCE, confidence_level
from discreet.curator import shown
from discreet.exact import number
from discreet.session import Query, Session, Workload
from discreet.table.answer import TableAnswer
from discreet.table.plan import Outcome
from discreet.table.prepare import Prepared
from discreet.table.run import Quote


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
    def texts(self) -> tuple[str, ...]:
        """The questions."""
        return (self.sql,)

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

    def quote(self, session: Session, queries: Sequence[Query]) -> Quote:
        """The price and the noise."""
        (query,) = queries
        return query._quote(self.epsilon, self.delta, self.rho, self.error, confidence_level(self.confidence))


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
    def texts(self) -> tuple[str, ...]:
        """The questions."""
        return self.sqls

    @property
    def query(self) -> str:
        """What is written into the ledger."""
        return ";\n".join(text.strip() for text in self.sqls)

    @property
    def parameters(self) -> dict[str, Any]:
        """All but the text that decides the answer, in canonical form."""
        return self.amounts() | {"workload": [len(text.strip()) for text in self.sqls]}

    def quote(self, session: Session, queries: Sequence[Query]) -> Quote:
        """The price of all together and the noise."""
        confidence_level(self.confidence)
        return Workload(session, tuple(queries))._quote(self.epsilon, self.delta, self.rho)


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
        found = [shown.answer(one, number(self.confidence, "confidence")) for one in answers]
        if not self.together:
            return found[0]
        return {"answers": found, "confidence": found[0]["confidence"], "cost": found[0]["cost"]}


Asking = Asked | Together


def planned(
    asked: Asking, session: Session, read: Callable[[str], Query], check: Callable[[Sequence[Prepared]], None]
) -> Planned:
    """What is asked, with its price; whatever could be refused later is refused here.

    ``read`` reads one text, and ``check`` refuses what is too large before anybody works on it.
    """
    queries = tuple(read(text) for text in asked.texts)
    check([query._prepared for query in queries])
    return Planned(
        session=session,
        quote=asked.quote(session, queries),
        outcomes=tuple(query.plan.outcome for query in queries),
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
