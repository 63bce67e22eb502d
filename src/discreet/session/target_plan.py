"""A plan with an error for each question: the least price is found for which all keep theirs.

Promise: nothing is paid until ``release``. Where a profile tells what caps cut of a column, noise and cut together keep
the error that was asked for, as far as is predicted; elsewhere the noise does, and the plan says so. A certified bound
on the composition of all noises is charged where it is below the sum.
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
from discreet.query.lower.bounding import rows as rows_of_caps
from discreet.query.profile.choose import Chosen
from discreet.query.profile.predict import Predicted
from discreet.query.run import Quote
from discreet.session.plan import ROUNDS, Plan, Planner, refuse_unknown, weighed
from discreet.session.price import Price, least, rounded, wanted_errors
from discreet.session.query import Order, Query

Target = Number | Mapping[str, Number]
"""The error of all columns of a question, or of some by name."""


@dataclass(frozen=True, slots=True, repr=False)
class TargetPlan(Plan):
    """Questions that each keep an error, for the least price; ``predicted`` are shares of what was asked for."""

    apart: Fraction
    """What the questions would cost one by one, added up."""

    @property
    def saving(self) -> float:
        """The price beside that of asking one by one: 0.7 is 30 % less."""
        return float(_amount(self.order.quote) / self.apart)

    def __str__(self) -> str:
        lines = [f"costs {self.order.quote.price}, {self.order.quote.plan.noise.value} noise; errors by their targets:"]
        for query, one in zip(self.queries, self.predicted, strict=True):
            cut = (
                "what caps cut is not in it"
                if one.cut is None
                else f"noise {one.noise:.0%}, what caps cut {one.cut:.0%}"
            )
            lines.append(f"  {one.error:8.0%} of the error asked for ({cut}): {query.ledger_text()}")
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
    wanted = [wanted_errors(query.prepared, target) for query, target in zip(queries, targets, strict=True)]
    chosen = tuple(
        session.choose(query.prepared, replace(price, error=errors)) if query.prepared.asked.caps.auto else None
        for query, errors in zip(queries, wanted, strict=True)
    )
    kept = tuple(map(_Kept, (q.prepared for q in queries), chosen, wanted))
    level = confidence_level(price.confidence)
    in_rho = isinstance(session.budget, ZCDP)

    def at(amount: Fraction, weights: Sequence[float]) -> Quote:
        paid = replace(price, rho=amount) if in_rho else replace(price, epsilon=amount)
        return session.quote(weighed([[one.question] for one in kept], weights), paid)

    def shares(quote: Quote) -> list[float]:
        return [one.share(quote, level) for one in kept]

    weights = [1.0] * len(queries)
    for _ in range(ROUNDS):
        found = shares(at(Fraction(1), weights))
        middle = sum(found) / len(found)
        weights = [min(max(w * (r / middle) ** 2, 1e-6), 1e6) for w, r in zip(weights, found, strict=True)]
    even = [1.0] * len(queries)
    amount = min(rounded(least(lambda a, ws=some: max(shares(at(a, ws))) <= 1)) for some in (even, weights))  # type: ignore[misc]
    quote = next(q for q in (at(amount, weights), at(amount, even)) if max(shares(q)) <= 1)
    alone = [_amount(session.quote((one.question,), replace(price, error=one.left))) for one in kept]
    order = Order(
        _certified_price(session, quote, price), tuple(query.plan.outcome for query in queries),
        lambda: "; ".join(q.ledger_text() for q in queries), price.confidence, chosen if any(chosen) else (),
    )  # fmt: skip
    predicted = tuple(one.predicted(quote, level) for one in kept)
    rows = (TYPICAL,) * len(queries)
    return TargetPlan(session, tuple(queries), order, predicted, rows, (1.0,) * len(queries), sum(alone, Fraction(0)))


@dataclass(frozen=True, slots=True)
class _Kept:
    """A question, what was chosen for it, and the errors that it is to keep."""

    asked: Prepared
    chosen: Chosen | None
    wanted: Mapping[str, Fraction]

    @property
    def question(self) -> Prepared:
        return self.asked if self.chosen is None else self.chosen.questions[0]

    @property
    def left(self) -> Mapping[str, Fraction]:
        """What noise may take of each error."""
        return self.wanted if self.chosen is None or self.chosen.left is None else self.chosen.left

    def _noise(self, quote: Quote, level: Fraction) -> dict[str, float]:
        shown = preview(quote, self.question.parts[0], remaining="", affordable=True, confidence=level)
        return {name: shown.error(name) for name in self.wanted}

    def share(self, quote: Quote, level: Fraction) -> float:
        """How much the noise takes of what it may take, at the worst column."""
        return max(error / float(self.left[name]) for name, error in self._noise(quote, level).items())

    def predicted(self, quote: Quote, level: Fraction) -> Predicted:
        """What noise and caps take of the error asked for, at the worst column."""
        known = self.chosen is not None and self.chosen.left is not None

        def one(name: str, noise: float) -> Predicted:
            taken, cut = noise / float(self.wanted[name]), 1 - float(self.left[name] / self.wanted[name])
            return Predicted(rows_of_caps(self.question.asked.caps), taken + cut, taken, cut if known else None)

        return max((one(*pair) for pair in self._noise(quote, level).items()), key=lambda found: found.error)


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
