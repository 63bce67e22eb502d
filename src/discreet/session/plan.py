"""A workload that knows its budget: the price is shared so that the questions are about equally far off, relatively.

Promise: nothing is paid until ``release``; the noise of each question is shown before. The whole is priced at once:
what questions share is released once, and where a certified bound on the composition of all noises is below the sum of
their epsilons, the noise is made smaller until the bound is the price.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from discreet.errors import BadQuestion, NoPrice, NotATheorem
from discreet.privacy.accountants.compose import compose
from discreet.privacy.accountants.conversions import gdp_delta
from discreet.privacy.promises.events import Composed, DiscreteGaussian, Event, Stated
from discreet.privacy.promises.measures import GDP, Approx
from discreet.privacy.promises.record import short_up
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.preview import TYPICAL, Preview
from discreet.query.answer.several import Several
from discreet.query.estimate.noise_plan import Noised
from discreet.query.estimate.prepare import Prepared
from discreet.query.estimate.statistics import Rows, Units
from discreet.query.run import Quote
from discreet.session.backend import Backend
from discreet.session.count_tables import MOST_WORSE, measured_together
from discreet.session.plan_summary import Planned, PlannedQuestion, PlanSummary
from discreet.session.price import Price
from discreet.session.program import Program, QueryStep, run
from discreet.session.query import Query, check_keys, check_whole, ledger_text

ROUNDS = 6
ONE_DEVIATION = 0.32
LEAST = 1e-9
_SAME = 1e-3
"""Weights that change by no more than this share, or gain no more of the error, are good: shares of a price are rounded
anyway."""
TRIES = (1.6, 1.25, 1.1, 1.04)
"""How much more than the price the epsilons may add up to, if a certified bound says that the whole keeps the price."""


@dataclass(frozen=True, slots=True, repr=False)
class Plan(Planned):
    """Questions with the error that each will have, for one price."""

    backend: Backend
    queries: tuple[Query, ...]
    program: Program
    summary: PlanSummary

    @property
    def previews(self) -> Several[Preview]:
        """Error bars of each question, and the shares of the price that go into it; the cost is of all together."""
        return Several(self.program.previews(self.backend))

    def release(self) -> tuple[TableAnswer, ...]:
        """Pay once, then answer all."""
        check_keys(self.queries)
        answers: tuple[TableAnswer, ...] = run(self.program, self.backend)
        return answers


def make_plan(backend: Backend, queries: Sequence[Query], price: Price) -> Plan:
    """Share a price over questions."""
    check_plain(queries)
    draft = PlanDraft(backend, tuple(queries), price)
    each = price.times(Fraction(1, len(queries)))
    alone = tuple(
        PlanDraft(backend, (query,), each, (rows,)).errors([1.0])[0]
        for query, rows in zip(queries, draft.rows, strict=True)
    )
    weights = draft.best_weights(alone)
    quote = _certified(backend, draft.weighed(weights), price)
    step = QueryStep(quote, tuple(query.plan.outcome for query in queries), agree=True)
    step = measured_together(backend, step, [1 / rows for rows in draft.rows])
    quote, errors = step.quote, draft.errors_of(step.quote)
    texts = tuple(ledger_text([query]) for query in queries)
    program = Program((step,), lambda: "; ".join(texts), price.confidence)
    tables = [query.prepared.asked.tables for query in queries]
    questions = tuple(map(PlannedQuestion, texts, tables, errors, draft.rows, alone))
    saving = sum(errors) / sum(alone)
    summary = PlanSummary(str(quote.price), quote.plan.noise.value, questions, saving)
    return Plan(backend, tuple(queries), program, summary)


@dataclass(frozen=True)
class PlanDraft:
    """Questions for one price: how far off each is, by how much each matters."""

    backend: Backend
    queries: tuple[Query, ...]
    price: Price
    known_rows: tuple[int, ...] | None = None

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """How many rows a group has, about: as if all tables had the same rows."""
        if self.known_rows is not None:
            return self.known_rows
        many = [query.prepared.parts[0].group_count or 1 for query in self.queries]
        return tuple(max(1, round(TYPICAL * (max(many) / max(n, 1)) ** 0.5)) for n in many)

    def weighed(self, weights: Sequence[float]) -> list[Prepared]:
        """All questions, each mattering so much when the price is shared."""
        return weighed([query.prepared for query in self.queries], weights)

    def errors(self, weights: Sequence[float]) -> tuple[float, ...]:
        """How far off each question is with these weights."""
        return self.errors_of(self.backend.quote(self.weighed(weights), self.price))

    def errors_of(self, quote: Quote) -> tuple[float, ...]:
        """The noise of each question beside its groups, for the contribution bounds and value bounds that it has."""
        return tuple(relative_noise(quote, place, rows) for place, rows in enumerate(self.rows))

    def best_weights(self, alone: Sequence[float]) -> list[float]:
        """How much each question should matter for the least sum of errors, where none is much worse than alone."""
        weights = [1.0] * len(self.queries)
        tried: list[tuple[bool, float, list[float]]] = []
        for _ in range(ROUNDS + 1):
            errors = self.errors(weights)
            starved = any(error > MOST_WORSE * own for error, own in zip(errors, alone, strict=True))
            tried.append((starved, sum(errors), list(weights)))
            middle = sum(errors) / len(errors)
            weights = [
                min(
                    max(w * max((error / middle) ** 2, (error / (MOST_WORSE * own)) ** 4 if starved else 0.0), 1e-6),
                    1e6,
                )
                for w, error, own in zip(weights, errors, alone, strict=True)
            ]
            if all(abs(new - old) <= _SAME * old for new, old in zip(weights, tried[-1][2], strict=True)):
                break
        return min(tried)[2]


def relative_noise(quote: Quote, place: int, rows: int) -> float:
    """The noise of a question's statistics beside so many rows with the largest values, one deviation: the root of the
    mean square over its measures, each by its worst statistic.
    """
    part = quote.questions[place].parts[0]
    noised = quote.noised(part)
    worst = [max((_beside(noised[s], rows) for s in recipe.needs), default=0.0) for recipe in part.recipes]
    if part.selects:
        worst.append(_beside(noised[Units()], rows))
    return max(LEAST, math.sqrt(sum(error * error for error in worst) / max(1, len(worst))))


def _beside(noised: Noised, rows: int) -> float:
    statistic = noised.statistic
    size = float(statistic.bound * statistic.step) if isinstance(statistic, Rows) else 1.0
    return noised.error(ONE_DEVIATION) / (size * rows)


def check_plain(queries: Sequence[Query]) -> None:
    """Refuses what is not one release each."""
    check_whole(queries)
    if any(query.prepared.beside for query in queries):
        raise BadQuestion("a plan shares its cost over plain queries: ask the parts of UNION ALL and joins alone")


def weighed(questions: Sequence[Prepared], weights: Sequence[float]) -> list[Prepared]:
    """Questions that matter so much when a price is shared."""
    return [
        replace(question, parts=tuple(replace(part, importance=weight * part.importance) for part in question.parts))
        for question, weight in zip(questions, weights, strict=True)
    ]


def _hopeless(event: Event, wanted: Approx) -> bool:
    """Whether noise that is all Gaussian is surely too small for a price: to certify hundreds of them takes a second.

    Only a guess, by the continuous law: noise that is not certified is not used, whatever this says.
    """
    drawn = event.events if isinstance(event, Composed) else (event,)
    if not all(isinstance(event, DiscreteGaussian) for event in drawn):
        return False
    mu_squared = sum((event.sensitivity_squared / event.sigma_squared for event in drawn), Fraction(0))  # type: ignore[attr-defined]
    return bool(gdp_delta(GDP(mu_squared=short_up(mu_squared)), wanted.epsilon).lower > 1.05 * wanted.delta)


def _certified(backend: Backend, questions: Sequence[Prepared], price: Price) -> Quote:
    """The least noise whose composition is certified to keep the price; that of adding up, if no bound is better."""
    plain = backend.quote(questions, price)
    wanted = plain.allowance
    if plain.choosing is not None:
        return plain
    if not isinstance(wanted, Approx) or not wanted.delta or any(part.selects for part in plain.parts):
        return plain  # that keys are selected is proven for sums of (ε, δ) only
    for times in TRIES:
        try:
            larger = backend.quote_beyond(questions, price, times)
            if larger is None:
                return plain
            if _hopeless(larger.plan.event, wanted):
                continue
            if compose([larger.plan.event]).epsilon(delta=wanted.delta).upper <= wanted.epsilon:
                price_of_all = Stated(larger.plan.event, wanted.epsilon, wanted.delta)
                return replace(larger, plan=replace(larger.plan, price=price_of_all), allowance=wanted)
        except (NoPrice, NotATheorem):
            return plain
    return plain
