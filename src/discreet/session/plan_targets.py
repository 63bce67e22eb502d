"""A workload with an error for each question: the least price, shared so that every question keeps its error.

Promise: nothing is paid until ``release``. The errors are those of previews: of noise alone, with the confidence asked
for, in a group of the usual size where they depend on one. Where a certified bound on the composition of all noises is
below the sum of their epsilons, the bound is the price.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.answer import confidence_level
from discreet.errors import BadParameter, NoPrice, NotATheorem
from discreet.exact import Number, number
from discreet.privacy.accountants.compose import compose
from discreet.privacy.promises.events import Stated
from discreet.privacy.promises.measures import ZCDP, Approx
from discreet.query.answer.preview import TYPICAL, preview
from discreet.query.estimate.prepare import Prepared
from discreet.query.run import Quote
from discreet.session.plan import ROUNDS, Plan, Planner, refuse_unknown, weighed
from discreet.session.price import Price, least, rounded, wanted_errors
from discreet.session.query import Order, Query

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
        _certified(session, quote, price), outcomes, lambda: "; ".join(q.ledger_text() for q in queries),
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


def _certified(session: Planner, quote: Quote, price: Price) -> Quote:
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
