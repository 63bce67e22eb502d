"""Several questions, planned and released together: what they share is released once, and there is one price."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from discreet.answer import CONFIDENCE
from discreet.errors import BadParameter
from discreet.exact import Number
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.explain import tell
from discreet.query.answer.preview import Preview
from discreet.query.answer.several import Explanation, Several, preformatted
from discreet.session.backend import Backend
from discreet.session.price import Price
from discreet.session.program import Program, run
from discreet.session.query import Query, check_keys, prepared_of, together

T = TypeVar("T")


def read_all(queries: Iterable[T | str], read: Callable[[str], T]) -> tuple[T, ...]:
    """Questions that may be texts, each of them read."""
    if isinstance(queries, str) or not isinstance(queries, Iterable):
        raise BadParameter("queries", "one query", "must be a list: [query]")
    read_queries = tuple(read(query) if isinstance(query, str) else query for query in queries)
    if not read_queries:
        raise BadParameter("queries", "none", "must be at least one query")
    if any(getattr(query, "_own_price", None) is not None for query in read_queries):
        raise BadParameter("queries", "a text with OPTIONS(...)", "must state no cost: all have one cost together")
    return read_queries


def release_together(backend: Backend, queries: Sequence[Query], price: Price) -> Several[TableAnswer]:
    """Pay once, then answer all."""
    check_keys(queries)
    answers: Several[TableAnswer] = run(together(backend, queries, price), backend, Several)
    return answers


@dataclass(frozen=True, slots=True, repr=False)
class Workload:
    """Several questions for one price."""

    backend: Backend
    queries: tuple[Query, ...]

    def preview(
        self,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        confidence: Number = CONFIDENCE,
        rows: int | None = None,
    ) -> Several[Preview]:
        """Error bars of each question, and the shares of the price that go into it; the cost is that of all together.

        ``rows``: in a group of how many rows.
        """
        return Several(self._program(Price(epsilon, delta, rho, None, confidence)).previews(self.backend, rows))

    def release(
        self, epsilon: Number | None = None, *, delta: Number | None = None, rho: Number | None = None
    ) -> Several[TableAnswer]:
        """Pay once, then answer all."""
        return release_together(self.backend, self.queries, Price(epsilon, delta, rho))

    def explain(
        self, epsilon: Number | None = None, *, delta: Number | None = None, rho: Number | None = None
    ) -> Explanation:
        """The plan of each question; with a price also the noise that they share."""
        if epsilon is None and rho is None:
            return Explanation(Several(tell(prepared, None) for prepared in prepared_of(self.queries)))
        quote = self._program(Price(epsilon, delta, rho)).answer.quote
        return Explanation(Several(tell(question, quote) for question in quote.questions))

    def _program(self, price: Price) -> Program:
        return together(self.backend, self.queries, price)

    def __repr__(self) -> str:
        return "\n".join([f"{len(self.queries)} queries; preview(...) is free, release(...) spends", *self._lines()])

    def _lines(self) -> list[str]:
        return [f"{i}. {query!r}" for i, query in enumerate(self.queries, 1)]

    def _repr_html_(self) -> str:
        return preformatted(repr(self))
