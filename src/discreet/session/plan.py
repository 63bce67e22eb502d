"""A workload that knows its budget: the price is shared so that the questions are about equally far off, relatively.

Promise: nothing is paid until ``release``; what each question gets is shown before. The whole is priced at once: what
questions share is released once, and where a certified bound on the composition of all noises is below the sum of
their epsilons, the noise is made smaller until the bound is the price. Instead of a price each question may have an
error: the least price is found for which all keep theirs, a certified bound below it is charged.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

from discreet.answer import confidence_level
from discreet.errors import BadParameter, BadQuestion, NoPrice, NotATheorem
from discreet.exact import Number, number
from discreet.privacy.accountants.compose import compose
from discreet.privacy.promises.events import Stated
from discreet.privacy.promises.measures import ZCDP, Approx
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.preview import TYPICAL, preview
from discreet.query.estimate.prepare import Prepared
from discreet.query.profile.agreeing_tables import expected_gains
from discreet.query.profile.choose import Chosen, relative_noise
from discreet.query.run import Quote
from discreet.session.caps.auto_bounds import no_bounds
from discreet.session.price import Price, least, rounded, wanted_errors
from discreet.session.query import Order, Query, QuerySession

ROUNDS = 6
TRIES = (1.6, 1.25, 1.1, 1.04)
"""How much more than the price the epsilons may add up to, if a certified bound says that the whole keeps the price."""


class Planner(QuerySession, Protocol):
    """What a plan needs of its session."""

    def rows_in_a_group(self, question: Prepared, chosen: Chosen | None) -> int | None:
        """How many rows a group has, about, if a profile says it."""

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

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

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
    rows = _rows(session, questions, chosen)
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
    text = "; ".join(query.ledger_text() for query in queries)
    order = Order(quote, outcomes, lambda: text, price.confidence, _told(chosen), agree=True)
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
    found = []
    for place, (many, gain) in enumerate(zip(rows, expected_gains(quote), strict=True)):
        counted, means = relative_noise(quote, place, many)
        found.append(max(gain * counted, means))
    return found


def _rows(session: Planner, questions: Sequence[Prepared], chosen: Sequence[Chosen | None]) -> tuple[int, ...]:
    """How many rows a group has, about: by a profile; else as many as it has where all tables have the same rows."""
    many = [len(question.parts[0].domain() or (None,)) for question in questions]
    most = max(many)
    found = [session.rows_in_a_group(question, one) for question, one in zip(questions, chosen, strict=True)]
    return tuple(rows or round(TYPICAL * (most / groups) ** 0.5) for rows, groups in zip(found, many, strict=True))


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


# --- an error for each question ---------------------------------------------------------------------------------------

Target = Number | Mapping[str, Number]
"""The error of all columns of a question, or of some by name."""


@dataclass(frozen=True, slots=True, repr=False)
class TargetPlan(Plan):
    """Questions that each keep an error, for the least price; ``errors`` are shares of what was asked for."""

    apart: Fraction
    """What the questions would cost one by one, added up."""

    @property
    def saving(self) -> float:
        """The price beside that of asking one by one: 0.7 is 30 % less."""
        return float(_amount(self.order.quote) / self.apart)

    def __str__(self) -> str:
        lines = [f"costs {self.order.quote.price}, {self.order.quote.plan.noise.value} noise; errors by their targets:"]
        for query, error in zip(self.queries, self.errors, strict=True):
            lines.append(f"  {error:8.0%} of the error asked for: {query.ledger_text()}")
        return "\n".join([*lines, f"{self.saving:.2f} times what asking one by one would cost"])

    __repr__ = __str__


def make_target_plan(session: Planner, queries: Sequence[Query], targets: Sequence[Target], price: Price) -> TargetPlan:
    """The least price for which each question keeps its error."""
    if isinstance(targets, str | Mapping) or not isinstance(targets, Sequence) or len(targets) != len(queries):
        raise BadParameter("error", targets, f"must be a list of {len(queries)} errors, one for each question")
    if price.epsilon is not None or price.rho is not None:
        raise BadParameter("error", targets, "must not be given together with a price: one follows from the other")
    for query in queries:
        refuse_unknown(query)
    questions = [query.prepared for query in queries]
    wanted = [wanted_errors(question, target) for question, target in zip(questions, targets, strict=True)]
    level = confidence_level(price.confidence)
    in_rho = isinstance(session.budget, ZCDP)

    def at(amount: Fraction, weights: Sequence[float]) -> Quote:
        paid = replace(price, rho=amount) if in_rho else replace(price, epsilon=amount)
        return session.quote(weighed(questions, weights), paid)

    def shares(quote: Quote) -> list[float]:
        """How much of the error asked for each question has, at its worst column."""
        found = []
        for question, errors in zip(questions, wanted, strict=True):
            shown = preview(quote, question.parts[0], remaining="", affordable=True, confidence=level)
            found.append(max(shown.error(name) / float(error) for name, error in errors.items()))
        return found

    weights = [1.0] * len(queries)
    for _ in range(ROUNDS):
        found = shares(at(Fraction(1), weights))
        middle = sum(found) / len(found)
        weights = [min(max(w * (r / middle) ** 2, 1e-6), 1e6) for w, r in zip(weights, found, strict=True)]
    even = [1.0] * len(queries)
    amount = min(rounded(least(lambda a, ws=some: max(shares(at(a, ws))) <= 1)) for some in (even, weights))  # type: ignore[misc]
    quote = next(q for q in (at(amount, weights), at(amount, even)) if max(shares(q)) <= 1)
    alone = [
        _amount(session.quote((one,), replace(price, error=target)))
        for one, target in zip(questions, targets, strict=True)
    ]
    outcomes = tuple(query.plan.outcome for query in queries)
    order = Order(
        _certified_price(session, quote, price), outcomes, lambda: "; ".join(q.ledger_text() for q in queries),
        price.confidence,
    )  # fmt: skip
    rows = (TYPICAL,) * len(queries)
    return TargetPlan(
        session, tuple(queries), order, tuple(shares(quote)), rows, (1.0,) * len(queries), sum(alone, Fraction(0))
    )


def _amount(quote: Quote) -> Fraction:
    price: Any = quote.price
    amount: Fraction = price.rho if isinstance(price, ZCDP) else price.epsilon
    return amount


def _certified_price(session: Planner, quote: Quote, price: Price) -> Quote:
    """The same noise for a certified bound on what it costs, where that is lower than the sum."""
    asked = quote.allowance
    if not isinstance(asked, Approx) or not asked.delta or any(part.selects for part in quote.parts):
        return quote
    questions: Sequence[Prepared] = quote.questions
    if session.quote_beyond(questions, replace(price, epsilon=asked.epsilon), 1.0) is None:
        return quote
    try:
        bound = rounded(number(compose([quote.plan.event]).epsilon(delta=asked.delta).upper, "epsilon"))
    except (NoPrice, NotATheorem):
        return quote
    if bound >= asked.epsilon:
        return quote
    allowed = Approx(bound, asked.delta)
    stated = Stated(quote.plan.event, allowed.epsilon, allowed.delta)
    return replace(quote, plan=replace(quote.plan, price=stated), allowance=allowed)
