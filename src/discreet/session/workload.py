"""Several questions, planned and released together: what they share is released once, and there is one price."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from discreet.answer import CONFIDENCE
from discreet.errors import BadParameter
from discreet.exact import Number
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.explain import tell
from discreet.query.answer.preview import Preview
from discreet.query.answer.several import Explanation, Several, preformatted
from discreet.session.price import Price
from discreet.session.query import Order, Query, QuerySession, order_together

T = TypeVar("T")


def read_all(queries: Iterable[T | str], read: Callable[[str], T]) -> tuple[T, ...]:
    """Questions that may be texts, each of them read."""
    if isinstance(queries, str) or not isinstance(queries, Iterable):
        raise BadParameter("queries", "one question", "must be a list: [question]")
    found = tuple(read(query) if isinstance(query, str) else query for query in queries)
    if not found:
        raise BadParameter("queries", "none", "must be at least one question")
    return found


@dataclass(frozen=True, slots=True, repr=False)
class Workload:
    """Several questions for one price."""

    session: QuerySession
    queries: tuple[Query, ...]

    def order(self, price: Price) -> Order:
        """The questions with the price of all together."""
        for query in self.queries:
            query.check_whole()
        return order_together(self.session, self.queries, price, self.ledger_text)

    def ledger_text(self) -> str:
        """The questions as a ledger keeps them."""
        return "; ".join(query.ledger_text() for query in self.queries)

    def preview(
        self,
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        confidence: Number = CONFIDENCE,
        rows: int | None = None,
    ) -> Several[Preview]:
        """Error bars of each question, and the shares of the price that go into it; the cost is that of all together.

        ``rows``: in a group of how many rows.
        """
        order = self.order(Price.of(epsilon, delta, rho, None, confidence))
        return Several(self.session.preview(order, rows))

    def release(
        self, epsilon: Number | Price | None = None, *, delta: Number | None = None, rho: Number | None = None
    ) -> Several[TableAnswer]:
        """Pay once, then answer all."""
        for query in self.queries:
            query.check_keys()
        answers: Several[TableAnswer] = self.session.release(self.order(Price.of(epsilon, delta, rho)), Several)
        return answers

    def explain(
        self, epsilon: Number | Price | None = None, *, delta: Number | None = None, rho: Number | None = None
    ) -> Explanation:
        """The plan of each question; with a price also the noise that they share."""
        free = epsilon is None and rho is None
        quote = None if free else self.order(Price.of(epsilon, delta, rho)).quote
        own = [one for query in self.queries for one in query.prepared.all]
        asked = own if quote is None else quote.questions
        return Explanation(Several(tell(one, quote) for one in asked))

    def __repr__(self) -> str:
        return "\n".join([f"{len(self.queries)} questions; preview(...) is free, release(...) pays", *self._lines()])

    def _lines(self) -> list[str]:
        return [f"{i}. {query!r}" for i, query in enumerate(self.queries, 1)]

    def _repr_html_(self) -> str:
        return preformatted(repr(self))
