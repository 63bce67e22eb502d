"""Several questions, planned and released together: what they share is released once, and there is one price."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.answer import CONFIDENCE
from discreet.exact import Number
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.preview import Preview
from discreet.session.price import Price
from discreet.session.query import Order, Query, QuerySession


@dataclass(frozen=True, slots=True)
class Workload:
    """Several questions for one price."""

    session: QuerySession
    queries: tuple[Query, ...]

    def order(self, price: Price) -> Order:
        """The questions with the price of all together."""
        chosen = tuple(
            self.session.choose(query.prepared, price, correct=False) if query.prepared.asked.caps.auto else None
            for query in self.queries
        )
        questions = [
            query.prepared if one is None else one.questions[0] for query, one in zip(self.queries, chosen, strict=True)
        ]
        outcomes = tuple(query.plan.outcome for query in self.queries)
        own = chosen if any(chosen) else ()
        return Order(self.session.quote(questions, price), outcomes, self.ledger_text, price.confidence, own)

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
    ) -> tuple[Preview, ...]:
        """Error bars of each question; the cost is that of all together."""
        return self.session.preview(self.order(Price.of(epsilon, delta, rho, None, confidence)), rows)

    def release(
        self, epsilon: Number | Price | None = None, *, delta: Number | None = None, rho: Number | None = None
    ) -> tuple[TableAnswer, ...]:
        """Pay once, then answer all."""
        price = Price.of(epsilon, delta, rho)
        for query in self.queries:
            query.check_keys()
        for query in self.queries:
            price = self.session.find_out(query.prepared, price, query.ledger_text())
        answers: tuple[TableAnswer, ...] = self.session.release(self.order(price))
        return answers
