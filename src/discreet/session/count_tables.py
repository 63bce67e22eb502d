"""Counts of the same rows by several sets of keys, measured together: what the tables share is measured once.

Promise: one charge within what the price allows, for the same rows, values and contribution bound as the queries have
by themselves. It is made before anything is read, and noise is added once. Which way is taken follows from predicted
errors, which are public. All answers follow from one set of measured interactions, so they agree before rounding, and
their intervals are those of the variance that they have. Proof: count_tables.md, on synthetic/residuals.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, prod, sqrt
from typing import Any

import numpy as np

from discreet.errors import BadParameter
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.messages import message
from discreet.privacy.accountants.conversions import largest_zcdp
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Approx
from discreet.query.answer.agreeing_tables import Axis, made_to_agree
from discreet.query.answer.answer import TableAnswer
from discreet.query.choose.choosing import Kept
from discreet.query.estimate.estimators import Plain
from discreet.query.estimate.noise_plan import Noised
from discreet.query.estimate.prepare import Part
from discreet.query.estimate.statistics import ONE, Rows, Statistic, Units
from discreet.query.lower.bounding import Noise, row_reach, rows
from discreet.query.lower.lower import LoweredKey
from discreet.query.lower.prune import prune
from discreet.query.lower.relation_facts import UNIT
from discreet.query.plan.expressions import Call, Column, Expression, Literal, columns
from discreet.query.plan.nodes import Filter, Project, Relation
from discreet.query.plan.types import Boolean
from discreet.query.plan.work import Form
from discreet.query.run import Quote, Released, as_estimate, in_order
from discreet.session.backend import Backend
from discreet.session.counts_program import PaidSource
from discreet.session.program import PartPayment, QueryStep, answers_of, gathered
from discreet.synthetic.columns import whole
from discreet.synthetic.domain import Domain
from discreet.synthetic.residuals import Interactions, Measurements, question_spread
from discreet.synthetic.source import Clique
from discreet.synthetic.spending import Spending
from discreet.synthetic.tables.column_keys import key_of_listed
from discreet.synthetic.tables.engine_source import EngineSource
from discreet.synthetic.workload import Marginal, Question

IN_COMMON = message("tables_in_common")
MOST_WORSE = 1.5
"""No question of a plan is to be off by more than so many times what it would be otherwise."""
MOST_CELLS = 1 << 22
_COUNTS = (Rows(ONE, 1, Fraction(1), one_sign=True), Units())
_TURNS = 8
_DEVIATION = 0.32


@dataclass(frozen=True)
class CountTables:
    """Grouping sets that count the same rows by listed keys, as marginals of one domain."""

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, quote: Quote) -> CountTables | None:
        """Those of a quote; None if a question of it is something else, or if they have nothing in common."""
        first = quote.parts[0]
        alike = all(
            len(question.parts) == 1 and not question.beside and _counts(question.parts[0])
            for question in quote.questions
        ) and all((part.whole, part.caps) == (first.whole, first.caps) for part in quote.parts)
        if quote.choosing is not None or len(quote.parts) < 2 or not alike:
            return None
        tables = cls(quote.parts)
        return tables if sum(map(tables.domain.size, tables.cliques)) <= MOST_CELLS else None

    @cached_property
    def hidden(self) -> tuple[bool, ...]:
        """Of each key, whether a row may have a value that is not listed: it counts in tables without that key."""
        return tuple(_may_be_unlisted(key, self.parts[0].whole) for key in self.keys.values())

    @cached_property
    def keys(self) -> Mapping[Axis, LoweredKey]:
        """The keys of all tables, each once."""
        return {_axis(key): key for part in self.parts for key in part.keys}

    @cached_property
    def domain(self) -> Domain:
        """A code for each listed value, and one for all others where there may be such."""
        listed = (len(key.typed.keys or ()) for key in self.keys.values())
        sizes = [many + hidden for many, hidden in zip(listed, self.hidden, strict=True)]
        return Domain({f"key{i}": whole(0, size - 1, nullable=False) for i, size in enumerate(sizes)})

    @cached_property
    def cliques(self) -> tuple[Clique, ...]:
        """Of each table, its columns of the domain."""
        places = {axis: i for i, axis in enumerate(self.keys)}
        return tuple(tuple(sorted(places[_axis(key)] for key in part.keys)) for part in self.parts)

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """The tables as marginals."""
        return tuple(Question(Marginal(()), clique, None, Fraction(1)) for clique in self.cliques)

    @cached_property
    def spreads(self) -> tuple[Mapping[Clique, float], ...]:
        """Of each table, the variance of a cell by the interaction that it comes from, for noise of variance 1."""
        return tuple(
            {part: float(variance[0]) for part, variance in question_spread(self.domain, question).items()}
            for question in self.questions
        )

    def source(self, backend: Backend) -> EngineSource:
        """The exact counts; nothing is read before they are asked for."""
        first = self.parts[0]
        used = {UNIT}.union(*(columns(key.typed.lowered) for key in self.keys.values()))
        listed = tuple(
            key_of_listed(f"key{i}", key.typed.lowered, key.typed.keys or (), hidden=hidden)
            for i, (key, hidden) in enumerate(zip(self.keys.values(), self.hidden, strict=True))
        )
        return EngineSource.of_rows(
            backend.engine,
            backend.schemas,
            prune(first.whole, frozenset(used)),
            first.caps,
            listed,
            self.domain,
            backend.terms.neighbours,
        )

    def interactions(self, source: EngineSource, matters: Sequence[float]) -> Interactions:
        """What to measure so that Σ deviation · ``matters`` is least, about: by weights that are found in turns."""
        weights = [matter * matter for matter in matters]
        planned = self._weighed(source, weights)
        for _ in range(_TURNS):
            deviations = self._deviations(planned)
            weights = [matter / deviation for matter, deviation in zip(matters, deviations, strict=True)]
            planned = self._weighed(source, weights)
        return planned

    def _weighed(self, source: EngineSource, weights: Sequence[float]) -> Interactions:
        total: dict[Clique, float] = {}
        for weight, spread in zip(weights, self.spreads, strict=True):
            for part, variance in spread.items():
                total[part] = total.get(part, 0.0) + weight * variance
        return Interactions(self.domain, total, source.moves(()))

    def _deviations(self, planned: Interactions) -> list[float]:
        """Up to a common factor: the best σ² of an interaction is as the root of its moves² over its weight."""
        noise = {part: planned.unit_noise(part) for part in planned.weights}
        return [sqrt(sum(v * noise[part] for part, v in spread.items())) for spread in self.spreads]

    def noised(self, part: Part, variance: float, scale: int) -> Mapping[Statistic, Noised]:
        """The counts of a table with what all noise comes to in one of its numbers."""
        reach = row_reach(part.caps, Noise.GAUSSIAN, grouped=False)
        assert reach.weights.scale == scale, "weights of a query's rows and of marginals are the same"  # noqa: S101
        effective = Gaussian(Fraction(ceil(variance * scale**2)), reach.l2_squared * scale**2, dimension=2)
        return {recipe.statistic: Noised(recipe.statistic, reach, effective, common=True) for recipe in _recipes(part)}

    def released(self, measured: Measurements, quote: Quote) -> list[Released]:
        """The tables with their bars; each cell of listed keys, in the order of its keys."""
        made = []
        for part, clique in zip(self.parts, self.cliques, strict=True):
            own = [list(self.keys).index(_axis(key)) for key in part.keys]
            sizes = [len(key.typed.keys or ()) for key in part.keys]
            table = np.transpose(measured.table(clique), [clique.index(place) for place in own])
            values = table[tuple(slice(size) for size in sizes)].reshape(prod(sizes))
            noised = quote.plan.sets[self.parts.index(part)]
            estimates = {statistic: as_estimate(values, drawn) for statistic, drawn in noised.items()}
            made.append(in_order(Released(part, part.domain() or ((),), estimates)))
        return made


def _axis(key: LoweredKey) -> Axis:
    return key.typed.lowered, key.typed.keys


def _may_be_unlisted(key: LoweredKey, whole: Relation) -> bool:
    """Whether a row may have a value that is not listed: not where there are no others, or they have a key together."""
    typed, listed = key.typed, set(key.typed.keys or ())
    if typed.nullable and None not in listed:
        return True
    if isinstance(typed.kind, Boolean):
        return not {False, True} <= listed
    match _definition(typed.lowered, whole):
        case Call(function="case", arguments=(test, _, Literal(value=other))):
            return other not in listed or not _listed_in(test) <= {*listed, None}
    return True


def _definition(expression: Expression, relation: Relation) -> Expression:
    """What a column of a relation is made of, as far as it is renamed only."""
    while isinstance(expression, Column) and isinstance(relation, Filter | Project):
        if isinstance(relation, Project):
            expression = dict(relation.columns).get(expression.name, expression)
        relation = relation.source
    return expression


def _listed_in(test: Expression) -> set[Any]:
    """The values for which a test may be true: x IN (...), x IS NULL, or one of such tests; else one that no key is."""
    match test:
        case Call(function="or", arguments=tests):
            return set().union(*map(_listed_in, tests))
        case Call(function="is_null"):
            return {None}
        case Call(function="in", arguments=(_, *values)):
            return {v.value if isinstance(v, Literal) else object() for v in values}
    return {object()}


def _recipes(part: Part) -> list[Plain]:
    return [recipe for recipe in part.recipes if isinstance(recipe, Plain)]


def _counts(part: Part) -> bool:
    """Whether it is a number of rows by listed keys, bounded by the rows of a unit, and nothing else."""
    if part.caps.auto or part.selects or part.named is not None or part.exists is not None or part.clips:
        return False
    if len({_axis(key) for key in part.keys}) < len(part.keys) or any(r not in _recipes(part) for r in part.recipes):
        return False
    counted = {recipe.statistic for recipe in _recipes(part)}
    once = rows(part.caps) == 1  # then units are rows
    reach = row_reach(part.need.caps, Noise.GAUSSIAN, grouped=bool(part.keys))
    return bool(counted) and counted <= set(_COUNTS[: 2 if once else 1]) and (once or reach.weights.form is Form.ROWS)


@dataclass(frozen=True, slots=True)
class TablesStep(QueryStep):
    """Queries that count the same rows, answered from interactions of their keys."""

    tables: CountTables | None = None
    interactions: Interactions | None = None
    source: EngineSource | None = None
    rho: Fraction = Fraction(0)

    def run(self, backend: Backend, pay: PartPayment, kept: Kept, earlier: Sequence[Any]) -> tuple[TableAnswer, ...]:
        """Pay, count, add noise."""
        assert self.tables is not None  # noqa: S101
        assert self.interactions is not None  # noqa: S101
        assert self.source is not None  # noqa: S101
        paid = PaidSource(self.source, pay, self.price, kept)  # type: ignore[arg-type]
        exact = paid.marginals(self.interactions.counted)
        measured = self.interactions.measure(paid, exact, self.rho, Spending.of(self.rho, paid.scale))
        tables = self.tables.released(measured, self.quote)
        released = tuple(
            (replace(tables[self.quote.place(q.parts[0])], part=q.parts[0]),) for q in self.quote.questions
        )
        assert paid.receipt is not None  # noqa: S101
        answers = tuple(
            replace(answer, own_notes=(*answer.own_notes, IN_COMMON))
            for answer in answers_of(self.quote, self.outcomes, released, paid.receipt)
        )
        apart = self.agree and any(self.tables.hidden)  # by what is not listed, if by more than noise
        return gathered(self.sizes, made_to_agree(answers) if apart else answers)


def measured_together(backend: Backend, step: QueryStep, matters: Sequence[float] | None = None) -> QueryStep:
    """The step, or one that measures its tables of counts together where less noise is predicted so, at no more cost.

    ``matters``: by how much the noise of each question does.
    """
    tables, rho = CountTables.of(step.quote), _rho(step.quote)
    if tables is None or not rho:
        return step
    of_part = [0.0] * len(tables.parts)
    for question, matter in zip(step.quote.questions, matters or [1.0] * len(step.quote.questions), strict=True):
        of_part[step.quote.place(question.parts[0])] += matter
    try:
        source = tables.source(backend)
        interactions = tables.interactions(source, of_part)
        noise = interactions.noise(source.moves(()), rho)
    except BadParameter:  # too many interactions, or too little noise: they stay as they are
        return step
    variances = [
        sum(v * float(noise[part]) for part, v in spread.items()) / source.scale**2 for spread in tables.spreads
    ]
    sets = tuple(
        tables.noised(part, variance, source.scale) for part, variance in zip(tables.parts, variances, strict=True)
    )
    before, after = (
        [max(drawn.error(_DEVIATION) for drawn in noised.values()) for noised in plan]
        for plan in (step.quote.plan.sets, sets)
    )
    better = sum(m * a for m, a in zip(of_part, after, strict=True)) < sum(
        m * b for m, b in zip(of_part, before, strict=True)
    )
    if not better or any(a > MOST_WORSE * b for a, b in zip(after, before, strict=True)):
        return step
    event = events.ZCDP(rho)
    stated = _stated(step.quote)
    price = event if stated is None else events.Stated(event, stated.epsilon, stated.delta)
    plan = replace(step.quote.plan, noise=Noise.GAUSSIAN, sets=sets, event=event, price=price)
    return TablesStep(
        replace(step.quote, plan=plan),
        step.outcomes,
        step.sizes,
        step.agree,
        tables=tables,
        interactions=interactions,
        source=source,
        rho=rho,
    )


def _rho(quote: Quote) -> Fraction:
    """What the measurements may cost under zCDP: what is charged in rho, or what keeps the (ε, δ); 0 without a δ."""
    match quote.allowance:
        case ZCDP():
            return price_zcdp(quote.plan.event).rho
        case Approx(delta=delta) as allowed if delta:
            return largest_zcdp(allowed).rho
        case _:
            return Fraction(0)


def _stated(quote: Quote) -> Approx | None:
    """The (ε, δ) that the price names beside its rho."""
    if isinstance(quote.allowance, Approx):
        return quote.allowance
    price = quote.plan.price
    return Approx(price.epsilon, price.delta) if isinstance(price, events.Stated) else None
