"""A plan with an error for each question: the least price is found for which all keep theirs.

Promise: nothing is paid until ``release``. The noise keeps the error that was asked for, where contribution bounds and
value bounds are declared. A certified bound on the composition of all noises is charged where it is below the sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.answer import confidence_level
from discreet.errors import BadParameter, NoPrice, NotATheorem
from discreet.exact import number
from discreet.privacy.accountants.compose import compose
from discreet.privacy.promises.events import Stated
from discreet.privacy.promises.measures import ZCDP, Approx
from discreet.query.answer.preview import TYPICAL, preview
from discreet.query.estimate.prepare import Prepared
from discreet.query.run import Quote
from discreet.session.backend import Backend
from discreet.session.plan import ROUNDS, Plan, check_plain, make_plan, weighed
from discreet.session.plan_summary import PlannedQuestion, TargetSummary
from discreet.session.price import Price, Target, check_closed, checked_targets, least, rounded, wanted_errors
from discreet.session.program import Program, QueryStep
from discreet.session.query import Query, ledger_text


def plan_for(backend: Backend, queries: Sequence[Query], price: Price) -> Plan:
    """A plan that shares a price, or finds the least one for the errors that it names."""
    confidence_level(price.confidence)
    if price.error is None:
        return make_plan(backend, queries, price)
    return make_target_plan(backend, queries, checked_targets(price.error, len(queries)), replace(price, error=None))


def make_target_plan(backend: Backend, queries: Sequence[Query], targets: Sequence[Target], price: Price) -> Plan:
    """The least price for which each question keeps its error."""
    if price.epsilon is not None or price.rho is not None:
        raise BadParameter(
            "error", targets, "must not be given together with a privacy cost: one follows from the other"
        )
    check_plain(queries)
    check_closed([query.prepared for query in queries], targets)
    wanted = [wanted_errors(query.prepared, target) for query, target in zip(queries, targets, strict=True)]
    kept = tuple(_Kept(query.prepared, errors) for query, errors in zip(queries, wanted, strict=True))
    level = confidence_level(price.confidence)
    in_rho = isinstance(backend.terms.budget, ZCDP)

    def at(amount: Fraction, weights: Sequence[float]) -> Quote:
        paid = replace(price, rho=amount) if in_rho else replace(price, epsilon=amount)
        return backend.quote(weighed([target.question for target in kept], weights), paid)

    def shares(quote: Quote) -> list[float]:
        return [target.share(quote, level) for target in kept]

    weights = [1.0] * len(queries)
    for _ in range(ROUNDS):
        parts = shares(at(Fraction(1), weights))
        middle = sum(parts) / len(parts)
        weights = [min(max(w * (r / middle) ** 2, 1e-6), 1e6) for w, r in zip(weights, parts, strict=True)]
    even = [1.0] * len(queries)
    amount = min(rounded(least(lambda a, ws=some: max(shares(at(a, ws))) <= 1)) for some in (even, weights))  # type: ignore[misc]
    quote = next(q for q in (at(amount, weights), at(amount, even)) if max(shares(q)) <= 1)
    alone = [_amount(backend.quote((target.question,), replace(price, error=target.wanted))) for target in kept]
    texts = [ledger_text([query]) for query in queries]
    paid = _certified_price(backend, quote, price)
    step = QueryStep(paid, tuple(query.plan.outcome for query in queries))
    program = Program((step,), lambda: "; ".join(texts), price.confidence)
    tables = [query.prepared.asked.tables for query in queries]
    many = len(queries)
    questions = tuple(map(PlannedQuestion, texts, tables, shares(quote), [TYPICAL] * many, [1.0] * many))
    saving = float(_amount(paid) / sum(alone, Fraction(0)))
    summary = TargetSummary(str(paid.price), paid.plan.noise.value, questions, saving)
    return Plan(backend, tuple(queries), program, summary)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A question and the errors that it is to keep."""

    question: Prepared
    wanted: Mapping[str, Fraction]

    def share(self, quote: Quote, level: Fraction) -> float:
        """How much the noise takes of what it may take, at the worst column."""
        part = self.question.parts[0]
        shown = preview(quote, part, remaining="", affordable=True, confidence=level, at_most=True)
        return max(shown.error(name) / float(error) for name, error in self.wanted.items())


def _amount(quote: Quote) -> Fraction:
    price: Any = quote.price
    amount: Fraction = price.rho if isinstance(price, ZCDP) else price.epsilon
    return amount


def _certified_price(backend: Backend, quote: Quote, price: Price) -> Quote:
    """The same noise for a certified bound on what it costs, where that is lower than the sum."""
    given_amounts = quote.allowance
    if not isinstance(given_amounts, Approx) or not given_amounts.delta or any(part.selects for part in quote.parts):
        return quote
    questions: Sequence[Prepared] = quote.questions
    if backend.quote_beyond(questions, replace(price, epsilon=given_amounts.epsilon), 1.0) is None:
        return quote
    try:
        bound = rounded(number(compose([quote.plan.event]).epsilon(delta=given_amounts.delta).upper, "epsilon"))
    except (NoPrice, NotATheorem):
        return quote
    if bound >= given_amounts.epsilon:
        return quote
    allowed = Approx(bound, given_amounts.delta)
    stated = Stated(quote.plan.event, allowed.epsilon, allowed.delta)
    return replace(quote, plan=replace(quote.plan, price=stated), allowance=allowed)
