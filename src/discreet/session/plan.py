"""A workload that knows its budget: the price is shared so that the questions are about equally far off, relatively.

Promise: nothing is paid until ``release``; what each question gets is shown before. The whole is priced at once: what
questions share is released once, and where a certified bound on the composition of all noises is below the sum of
their epsilons, the noise is made smaller until the bound is the price.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from discreet.errors import BadQuestion, NoPrice, NotATheorem
from discreet.exact import number
from discreet.privacy.accountants.compose import compose
from discreet.privacy.promises.events import Stated
from discreet.privacy.promises.measures import Approx
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.preview import TYPICAL
from discreet.query.estimate.prepare import Prepared
from discreet.query.profile.choose import Chosen, relative_noise
from discreet.query.run import Quote
from discreet.session.auto_bounds import no_bounds
from discreet.session.price import Price
from discreet.session.query import Order, Query, QuerySession

ROUNDS = 6
TRIES = (1.6, 1.25, 1.1, 1.04)
"""How much more than the price the epsilons may add up to, if a certified bound says that the whole keeps the price."""


class Planner(QuerySession, Protocol):
    """What a plan needs of its session."""

    def quote_beyond(self, questions: Sequence[Prepared], price: Price, times: float) -> Quote | None:
        """Noise for a price so many times as large; None where nothing but adding up is allowed."""


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """Questions with the error that each will have, for one price."""

    session: QuerySession
    queries: tuple[Query, ...]
    order: Order
    errors: tuple[float, ...]
    """Relative, one deviation, in a group of ``rows`` rows."""
    rows: tuple[int, ...]
    alone: tuple[float, ...]
    """The same, were each question asked by itself for an equal part of the price."""

    @property
    def saving(self) -> float:
        """The mean error beside that of asking one by one: 0.7 is 30 % less."""
        return sum(self.errors) / sum(self.alone)

    def __str__(self) -> str:
        lines = [f"costs {self.order.quote.price}, {self.order.quote.plan.noise.value} noise; relative errors:"]
        for query, error, alone, rows in zip(self.queries, self.errors, self.alone, self.rows, strict=True):
            lines.append(f"  {error:8.2%} (asked alone {alone:.2%}) in a group of {rows:,} rows: {query.ledger_text()}")
        return "\n".join([*lines, f"on average {self.saving:.2f} times the error of asking one by one"])

    __repr__ = __str__

    def release(self) -> tuple[TableAnswer, ...]:
        """Pay once, then answer all."""
        answers: tuple[TableAnswer, ...] = self.session.release(self.order)
        return answers


def make_plan(session: Planner, queries: Sequence[Query], price: Price) -> Plan:
    """Share a price over questions."""
    for query in queries:
        query.check_whole()
        refuse_unknown(query)
    if any(query.prepared.beside for query in queries):
        raise BadQuestion("a plan shares its price over plain questions: ask the parts of UNION ALL and joins alone")
    each = _share(price, len(queries))
    chosen = tuple(
        session.choose(query.prepared, each, correct=False) if query.prepared.asked.caps.auto else None
        for query in queries
    )
    questions = [q.prepared if one is None else one.questions[0] for q, one in zip(queries, chosen, strict=True)]
    rows = tuple(TYPICAL if one is None or one.rows is None else one.rows for one in chosen)
    weights = [1.0] * len(queries)
    best = _errors(session.quote(questions, price), rows)
    best_weights = list(weights)
    errors = best
    for _ in range(ROUNDS):
        middle = sum(errors) / len(errors)
        weights = [min(max(w * (e / middle) ** 2, 1e-6), 1e6) for w, e in zip(weights, errors, strict=True)]
        errors = _errors(session.quote(weighed(questions, weights), price), rows)
        if sum(errors) < sum(best):
            best, best_weights = errors, list(weights)
    shared = weighed(questions, best_weights)
    quote = _certified(session, shared, price)
    outcomes = tuple(query.plan.outcome for query in queries)
    order = Order(quote, outcomes, lambda: "; ".join(q.ledger_text() for q in queries), price.confidence, _told(chosen))
    alone = [_errors(session.quote((one,), each), (many,))[0] for one, many in zip(questions, rows, strict=True)]
    return Plan(session, tuple(queries), order, tuple(_errors(quote, rows)), rows, tuple(alone))


def _told(chosen: tuple[Chosen | None, ...]) -> tuple[Chosen | None, ...]:
    return chosen if any(one is not None for one in chosen) else ()


def _share(price: Price, many: int) -> Price:
    given = {"epsilon": price.epsilon, "delta": price.delta, "rho": price.rho}
    return replace(price, **{name: number(v, name) / many for name, v in given.items() if v is not None})


def refuse_unknown(query: Query) -> None:
    """Refuses where bounds are to be chosen and nothing is known: a plan is shown before anything is paid."""
    if query.waiting:
        raise no_bounds(None, query.waiting)


def weighed(questions: Sequence[Prepared], weights: Sequence[float]) -> list[Prepared]:
    """Questions that matter so much when a price is shared."""
    return [
        replace(one, parts=tuple(replace(part, importance=weight) for part in one.parts))
        for one, weight in zip(questions, weights, strict=True)
    ]


def _errors(quote: Quote, rows: Sequence[int]) -> list[float]:
    return [max(relative_noise(quote, place, many)) for place, many in enumerate(rows)]


def _certified(session: Planner, questions: Sequence[Prepared], price: Price) -> Quote:
    """The least noise whose composition is certified to keep the price; that of adding up, if no bound is better."""
    plain = session.quote(questions, price)
    wanted = plain.allowance
    if not isinstance(wanted, Approx) or not wanted.delta or any(part.selects for part in plain.parts):
        return plain  # that keys are selected is proven for sums of (ε, δ) only
    for times in TRIES:
        try:
            found = session.quote_beyond(questions, price, times)
            if found is None:
                return plain
            if compose([found.plan.event]).epsilon(delta=wanted.delta).upper <= wanted.epsilon:
                price_of_all = Stated(found.plan.event, wanted.epsilon, wanted.delta)
                return replace(found, plan=replace(found.plan, price=price_of_all), allowance=wanted)
        except (NoPrice, NotATheorem):
            return plain
    return plain
