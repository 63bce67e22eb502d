"""A workload that knows its budget: the price is shared so that the questions are about equally far off, relatively.

Promise: nothing is paid until ``release``; what each question gets is shown before: noise, and what caps cut where a
profile tells. The whole is priced at once: what questions share is released once, and where a certified bound on the
composition of all noises is below the sum of their epsilons, the noise is made smaller until the bound is the price.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from operator import itemgetter
from typing import Protocol

from discreet.errors import BadQuestion, NoPrice, NotATheorem
from discreet.privacy.accountants.compose import compose
from discreet.privacy.accountants.conversions import gdp_delta
from discreet.privacy.promises.events import Composed, DiscreteGaussian, Event, Stated
from discreet.privacy.promises.measures import GDP, Approx
from discreet.privacy.promises.record import short_up
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.preview import TYPICAL, Preview
from discreet.query.answer.several import Several
from discreet.query.estimate.prepare import Prepared
from discreet.query.lower.bounding import rows as rows_of_caps
from discreet.query.plan.nodes import Outcome
from discreet.query.plan.schema import Caps
from discreet.query.profile.agreeing_tables import expected_gains
from discreet.query.profile.choose import Chosen, with_other_caps
from discreet.query.profile.predict import Known, Predicted, predict
from discreet.query.run import Quote
from discreet.session.caps.auto import unknown_yet
from discreet.session.caps.auto_bounds import no_bounds
from discreet.session.plan_summary import Planned, PlannedQuestion, PlanSummary
from discreet.session.price import Price
from discreet.session.query import Order, Query, QuerySession, places_of, waiting_for

ROUNDS = 6
_SAME = 1e-3
"""Weights that change by no more than this share, or gain no more of the error, are good: shares of a price are rounded
anyway."""
TRIES = (1.6, 1.25, 1.1, 1.04)
"""How much more than the price the epsilons may add up to, if a certified bound says that the whole keeps the price."""


class Planner(QuerySession, Protocol):
    """What a plan needs of its session."""

    def known(self, question: Prepared) -> Known | None:
        """What was released about the units of a question."""

    def rows_in_a_group(self, question: Prepared, chosen: Chosen | None) -> int | None:
        """How many rows a group has, about, if a profile says it."""

    def rows_that_count(self, question: Prepared) -> int | None:
        """How many rows count in the smallest group, about, if a profile says it."""

    def quote_beyond(self, questions: Sequence[Prepared], price: Price, times: float) -> Quote | None:
        """Noise for a price so many times as large; None where nothing but adding up is allowed."""


@dataclass(frozen=True, slots=True, repr=False)
class Plan(Planned):
    """Questions with the error that each will have, for one price."""

    session: QuerySession
    queries: tuple[Query, ...]
    order: Order
    summary: PlanSummary

    @property
    def previews(self) -> Several[Preview]:
        """Error bars of each question, and the shares of the price that go into it; the cost is of all together."""
        return Several(self.session.preview(self.order))

    def release(self) -> tuple[TableAnswer, ...]:
        """Pay once, then answer all."""
        for query in self.queries:
            query.check_keys()
        answers: tuple[TableAnswer, ...] = self.session.release(self.order)
        return answers


def make_plan(session: Planner, queries: Sequence[Query], price: Price, *, expected: bool = False) -> Plan:
    """Share a price over questions; ``expected``: to be previewed, also where caps or bounds are not chosen yet."""
    check_plain(queries, expected=expected)
    asked, each = tuple(queries), price.times(Fraction(1, len(queries)))
    tried = [Draft(session, asked, price, chosen) for chosen in _choices(session, asked, each, expected=expected)]
    (_, weights), draft = min(((one.best_weights(), one) for one in tried), key=lambda found: found[0][0])
    quote = _certified(session, draft.weighed(weights), price)
    found = draft.predicted(quote)
    texts = tuple(query.ledger_text() for query in queries)
    told = _told(draft.chosen, found)
    order = Order(
        quote,
        draft.outcomes,
        lambda: "; ".join(texts),
        price.confidence,
        told,
        agree=True,
        waiting=waiting_for(queries),
    )
    alone = _alone(session, asked, each, draft.rows, expected=expected)
    questions = planned_questions(queries, found, draft.chosen, draft.rows, alone, texts=texts)
    saving = sum(one.error for one in found) / sum(alone)
    return Plan(session, asked, order, PlanSummary(str(quote.price), quote.plan.noise.value, questions, saving))


def planned_questions(
    queries: Sequence[Query],
    predicted: Sequence[Predicted],
    chosen: Sequence[Chosen | None],
    rows: Sequence[int],
    alone: Sequence[float],
    *,
    texts: Sequence[str],
) -> tuple[PlannedQuestion, ...]:
    """What each question gets; ``texts`` are the questions as a ledger keeps them."""
    corrected = [one is not None and one.corrected for one in chosen]
    tables = [query.prepared.asked.tables for query in queries]
    return tuple(map(PlannedQuestion, texts, tables, predicted, corrected, rows, alone))


@dataclass(frozen=True)
class Draft:
    """Questions with caps that were chosen for them: how far off each is, by how much each matters."""

    session: Planner
    queries: tuple[Query, ...]
    price: Price
    chosen: tuple[Chosen | None, ...]
    said: tuple[int, ...] | None = None
    """How many rows a group has, if that is said."""

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Of all questions, each followed by the total that it is corrected to."""
        return tuple(
            outcome for query, some in zip(self.queries, self._each, strict=True)
            for outcome in (query.plan.outcome, *(one.outcome for one in some[1:]))
        )  # fmt: skip

    @cached_property
    def _each(self) -> tuple[tuple[Prepared, ...], ...]:
        both = zip(self.queries, self.chosen, strict=True)
        return tuple((query.prepared,) if one is None else one.questions for query, one in both)

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """How many rows a group has, about: by a profile; else as if all tables had the same rows."""
        if self.said is not None:
            return self.said
        firsts = [some[0] for some in self._each]
        many = [len(question.parts[0].domain() or (None,)) for question in firsts]
        found = map(self.session.rows_in_a_group, firsts, self.chosen)
        return tuple(rows or round(TYPICAL * (max(many) / n) ** 0.5) for rows, n in zip(found, many, strict=True))

    @cached_property
    def _known(self) -> tuple[Known | None, ...]:
        return tuple(self.session.known(query.prepared) for query in self.queries)

    def weighed(self, weights: Sequence[float]) -> list[Prepared]:
        """All questions, each mattering so much when the price is shared."""
        return weighed(self._each, weights)

    def predicted(self, quote: Quote) -> tuple[Predicted, ...]:
        """How far off each question is, with the noise of a quote."""
        gains = expected_gains(quote)
        each = zip(places_of(self.chosen), self._known, self.rows, self._each, strict=True)
        return tuple(
            predict(quote, place, known, rows, corrected_by_next=len(some) > 1, gain=gains[place])
            for place, known, rows, some in each
        )

    def best_weights(self) -> tuple[float, list[float]]:
        """How much each question should matter for the least sum of errors, as far as money buys it; and that sum."""
        weights = [1.0] * len(self.queries)
        tried = []
        for _ in range(ROUNDS + 1):
            found = self.predicted(self.session.quote(self.weighed(weights), self.price))
            tried.append((sum(one.error for one in found), list(weights)))
            if len(tried) > 1 and tried[-1][0] > (1 - _SAME) * min(tried[:-1])[0]:
                break
            bought = [one.noise**2 / one.error for one in found]
            middle = sum(bought) / len(bought)
            weights = [min(max(w * (b / middle) ** 2, 1e-6), 1e6) for w, b in zip(weights, bought, strict=True)]
            if all(abs(new - old) <= _SAME * old for new, old in zip(weights, tried[-1][1], strict=True)):
                break
        return min(tried, key=itemgetter(0))


def _choices(
    session: Planner, queries: tuple[Query, ...], each: Price, *, expected: bool = False
) -> Iterator[tuple[Chosen | None, ...]]:
    """Caps that are best for an equal part of the price, and for more; each time also such that questions share what
    they have in common, which is then paid once.
    """
    before: list[object] = []
    for times in (1 << k for k in range(len(queries).bit_length())):
        chosen = tuple(
            None if not query.prepared.asked.caps.auto
            else unknown_yet(query.prepared) if expected and not session.knows(query.prepared)
            else session.choose(query.prepared, each.times(Fraction(times)))
            for query in queries
        )  # fmt: skip
        for found in (chosen, _with_common_caps(session, queries, chosen)):
            caps = [None if one is None else [question.asked.caps for question in one.questions] for one in found]
            if caps not in before:
                before.append(caps)
                yield found


def _with_common_caps(
    session: Planner, queries: tuple[Query, ...], chosen: tuple[Chosen | None, ...]
) -> tuple[Chosen | None, ...]:
    """The same caps for all questions about the same groups of the same rows, and for what corrects them: the largest
    of each.
    """
    largest: dict[Hashable, Caps] = {}
    for place, question in (pair for one in chosen if one is not None for pair in enumerate(one.questions)):
        groups, caps = (place, _groups(question)), question.asked.caps
        largest[groups] = max(caps, largest.get(groups, caps), key=rows_of_caps)
    found = list(chosen)
    for i, (query, one) in enumerate(zip(queries, chosen, strict=True)):
        known = session.known(query.prepared)
        if one is not None and known is not None:
            each = [largest[place, _groups(question)] for place, question in enumerate(one.questions)]
            found[i] = with_other_caps(one, known, each)
    return tuple(found)


def _groups(question: Prepared) -> Hashable:
    return question.parts[0].whole, question.parts[0].keys


def _alone(
    session: Planner, queries: tuple[Query, ...], each: Price, rows: tuple[int, ...], *, expected: bool
) -> tuple[float, ...]:
    """How far off each question is if it is asked by itself for its part of the price, in groups of so many rows."""
    found = []
    for query, many in zip(queries, rows, strict=True):
        draft = Draft(session, (query,), each, next(_choices(session, (query,), each, expected=expected)), (many,))
        found.append(draft.predicted(session.quote(draft.weighed([1.0]), each))[0].error)
    return tuple(found)


def _told(chosen: tuple[Chosen | None, ...], found: tuple[Predicted, ...]) -> tuple[Chosen | None, ...]:
    """What was chosen, with the errors that it has in a plan; nothing, if nothing was."""
    told = tuple(
        None if one is None else replace(one, error=new.error, noise=None if one.noise is None else new.noise)
        for one, new in zip(chosen, found, strict=True)
    )
    return told if any(told) else ()


def check_plain(queries: Sequence[Query], *, expected: bool = False) -> None:
    """Refuses what is not one release each, and where bounds are to be chosen and nothing is known: a plan is shown
    before anything is paid; ``expected``: it is only to be shown.
    """
    for query in queries:
        query.check_whole()
    if any(query.prepared.beside for query in queries):
        raise BadQuestion("a plan shares its price over plain questions: ask the parts of UNION ALL and joins alone")
    waiting = waiting_for(queries)
    if waiting and not expected:
        raise no_bounds(None, waiting)


def weighed(each: Sequence[Sequence[Prepared]], weights: Sequence[float]) -> list[Prepared]:
    """Questions that matter so much when a price is shared, each with its total."""
    return [
        replace(one, parts=tuple(replace(part, importance=weight * part.importance) for part in one.parts))
        for some, weight in zip(each, weights, strict=True)
        for one in some
    ]


def _hopeless(event: Event, wanted: Approx) -> bool:
    """Whether noise that is all Gaussian is surely too small for a price: to certify hundreds of them takes a second.

    Only a guess, by the continuous law: noise that is not certified is not used, whatever this says.
    """
    drawn = event.events if isinstance(event, Composed) else (event,)
    if not all(isinstance(one, DiscreteGaussian) for one in drawn):
        return False
    mu_squared = sum((one.sensitivity_squared / one.sigma_squared for one in drawn), Fraction(0))  # type: ignore[attr-defined]
    return bool(gdp_delta(GDP(mu_squared=short_up(mu_squared)), wanted.epsilon).lower > 1.05 * wanted.delta)


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
            if _hopeless(found.plan.event, wanted):
                continue
            if compose([found.plan.event]).epsilon(delta=wanted.delta).upper <= wanted.epsilon:
                price_of_all = Stated(found.plan.event, wanted.epsilon, wanted.delta)
                return replace(found, plan=replace(found.plan, price=price_of_all), allowance=wanted)
        except (NoPrice, NotATheorem):
            return plain
    return plain
