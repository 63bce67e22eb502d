"""A workload that knows its budget: the price is shared so that the questions are about equally far off, relatively.

Promise: nothing is paid until ``release``; what each question gets is shown before: noise, and what caps cut where a
profile tells. The whole is priced at once: what questions share is released once, and where a certified bound on the
composition of all noises is below the sum of their epsilons, the noise is made smaller until the bound is the price.
"""

from __future__ import annotations

import html
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from operator import itemgetter
from typing import Protocol

from discreet.errors import BadQuestion, NoPrice, NotATheorem
from discreet.privacy.accountants.compose import compose
from discreet.privacy.promises.events import Stated
from discreet.privacy.promises.measures import Approx
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.preview import TYPICAL
from discreet.query.estimate.prepare import Prepared
from discreet.query.lower.bounding import rows as rows_of_caps
from discreet.query.plan.nodes import Outcome
from discreet.query.plan.schema import Caps
from discreet.query.profile.agreeing_tables import expected_gains
from discreet.query.profile.choose import Chosen, with_other_caps
from discreet.query.profile.predict import Known, Predicted, predict
from discreet.query.run import Quote
from discreet.session.caps.auto_bounds import no_bounds
from discreet.session.price import Price
from discreet.session.query import Order, Query, QuerySession, places_of

ROUNDS = 6
TRIES = (1.6, 1.25, 1.1, 1.04)
"""How much more than the price the epsilons may add up to, if a certified bound says that the whole keeps the price."""


class Planner(QuerySession, Protocol):
    """What a plan needs of its session."""

    def known(self, question: Prepared) -> Known | None:
        """What was released about the units of a question."""

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
    predicted: tuple[Predicted, ...]
    """The relative error of each in a group of ``rows`` rows, one deviation: noise and what caps cut."""
    rows: tuple[int, ...]
    alone: tuple[float, ...]
    """The same, were each question asked by itself for an equal part of the price."""

    @property
    def errors(self) -> tuple[float, ...]:
        """The relative error of each question, noise and cut together; noise alone where the cut is unknown."""
        return tuple(one.error for one in self.predicted)

    @property
    def saving(self) -> float:
        """The mean error beside that of asking one by one: 0.7 is 30 % less."""
        return sum(self.errors) / sum(self.alone)

    def __str__(self) -> str:
        head = ("error", "noise alone", "caps cut", "asked alone", "rows in a group")
        corrected = [one is not None and one.corrected for one in self.order.chosen] or [False] * len(self.queries)
        cells = [
            (f"{one.error:.2%}", f"{one.noise:.2%}", _cut_shown(one, also), f"{alone:.2%}", f"{rows:,}")
            for one, also, alone, rows in zip(self.predicted, corrected, self.alone, self.rows, strict=True)
        ]
        widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in (head, *cells)
        ]
        texts = ("question", *(query.ledger_text() for query in self.queries))
        return "\n".join([
            f"costs {self.order.quote.price}, {self.order.quote.plan.noise.value} noise; predicted relative errors:",
            *(f"  {line}  {text}" for line, text in zip(lines, texts, strict=True)),
            *self._remarks(),
            f"on average {self.saving:.2f} times the error of asking one by one",
        ])  # fmt: skip

    def _remarks(self) -> Iterator[str]:
        unknown = dict.fromkeys(
            table for query, one in zip(self.queries, self.predicted, strict=True) if one.cut is None
            for table in query.prepared.asked.tables
        )  # fmt: skip
        if unknown:
            yield (
                f"what caps cut of {', '.join(unknown)} is unknown and not in these errors: a profile would tell, with "
                "session.profile(table, epsilon=...)"
            )
        if any(one.cut for one in self.predicted):
            yield "what caps cut is predicted as if units too rare for the profile grow rarer as the others do"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def release(self) -> tuple[TableAnswer, ...]:
        """Pay once, then answer all."""
        answers: tuple[TableAnswer, ...] = self.session.release(self.order)
        return answers


def _cut_shown(one: Predicted, corrected: bool) -> str:
    if one.cut is None:
        return "unknown"
    return f"{one.cut:.1%}{', corrected' if corrected else ''}"


def make_plan(session: Planner, queries: Sequence[Query], price: Price) -> Plan:
    """Share a price over questions."""
    for query in queries:
        query.check_whole()
        refuse_unknown(query)
    if any(query.prepared.beside for query in queries):
        raise BadQuestion("a plan shares its price over plain questions: ask the parts of UNION ALL and joins alone")
    asked, each = tuple(queries), price.times(Fraction(1, len(queries)))
    tried = [Draft(session, asked, price, chosen) for chosen in _choices(session, asked, each)]
    (_, weights), draft = min(((one.best_weights(), one) for one in tried), key=lambda found: found[0][0])
    quote = _certified(session, draft.weighed(weights), price)
    found = draft.predicted(quote)
    text = "; ".join(query.ledger_text() for query in queries)
    order = Order(quote, draft.outcomes, lambda: text, price.confidence, _told(draft.chosen, found), agree=True)
    return Plan(session, asked, order, found, draft.rows, _alone(session, asked, each, draft.rows))


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
            bought = [one.noise**2 / one.error for one in found]
            middle = sum(bought) / len(bought)
            weights = [min(max(w * (b / middle) ** 2, 1e-6), 1e6) for w, b in zip(weights, bought, strict=True)]
        return min(tried, key=itemgetter(0))


def _choices(session: Planner, queries: tuple[Query, ...], each: Price) -> Iterator[tuple[Chosen | None, ...]]:
    """Caps that are best for an equal part of the price, and for more; each time also such that questions share what
    they have in common, which is then paid once.
    """
    before: list[object] = []
    for times in (1 << k for k in range(len(queries).bit_length())):
        chosen = tuple(
            session.choose(query.prepared, each.times(Fraction(times))) if query.prepared.asked.caps.auto else None
            for query in queries
        )
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


def _alone(session: Planner, queries: tuple[Query, ...], each: Price, rows: tuple[int, ...]) -> tuple[float, ...]:
    """How far off each question is if it is asked by itself for its part of the price, in groups of so many rows."""
    found = []
    for query, many in zip(queries, rows, strict=True):
        draft = Draft(session, (query,), each, next(_choices(session, (query,), each)), (many,))
        found.append(draft.predicted(session.quote(draft.weighed([1.0]), each))[0].error)
    return tuple(found)


def _told(chosen: tuple[Chosen | None, ...], found: tuple[Predicted, ...]) -> tuple[Chosen | None, ...]:
    """What was chosen, with the errors that it has in a plan; nothing, if nothing was."""
    told = tuple(
        None if one is None else replace(one, error=new.error, noise=None if one.noise is None else new.noise)
        for one, new in zip(chosen, found, strict=True)
    )
    return told if any(told) else ()


def refuse_unknown(query: Query) -> None:
    """Refuses where bounds are to be chosen and nothing is known: a plan is shown before anything is paid."""
    if query.waiting:
        raise no_bounds(None, query.waiting)


def weighed(each: Sequence[Sequence[Prepared]], weights: Sequence[float]) -> list[Prepared]:
    """Questions that matter so much when a price is shared, each with its total."""
    return [
        replace(one, parts=tuple(replace(part, importance=weight * part.importance) for part in one.parts))
        for some, weight in zip(each, weights, strict=True)
        for one in some
    ]


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
