"""Multiplicative weights with the exponential mechanism: many conditions answered together on an explicit domain.

Guarantee: ρ-zCDP in total. One hundredth pays for the number of rows; each round pays half for the choice of the
condition that the model has most wrong, half for measuring it (Hardt, Ligett and McSherry 2012, with zCDP prices).
Proof: spending.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answer import Answer
from discreet.errors import BadParameter
from discreet.exact import Number, integer
from discreet.privacy.promises.events import Composed
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.shown import brief
from discreet.synthetic.domain import Domain
from discreet.synthetic.model.dense import MOST, Dense
from discreet.synthetic.predicate import Predicate, predicate
from discreet.synthetic.source import Clique, Counts, MarginalSource
from discreet.synthetic.spending import Spending, read_budget
from discreet.synthetic.synthesize import source_of

COUNTING = Fraction(1, 100)
MOST_ROUNDS = 1000
_SWEEPS = 8
_CELLS = 1 << 27


@dataclass(frozen=True, eq=False)
class Weighted:
    """A model of multiplicative weights and the conditions that it was fitted to."""

    domain: Domain
    model: Dense
    total: float
    questions: tuple[Predicate, ...]
    answers: NDArray[np.float64]
    """About how many rows satisfy each condition, by the model."""
    promise: ZCDP | Approx | Pure
    spending: Spending

    __repr__ = brief

    def count(self, where: str | Predicate) -> Answer:
        """How many rows satisfy any condition, by the model. Free; no error bar is known."""
        value = self.model.share(predicate(self.domain, where)) * self.total
        return Answer(value=value, event=Composed([]), cost="nothing", story=("asked the model, not the data",))


def mwem(
    table: Any,
    questions: Sequence[str | Predicate],
    *,
    domain: Domain | Mapping[str, Any] | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    rounds: int | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Weighted:
    """Answer many conditions together; the error grows like the root of their logarithm, not like their root.

    ``table`` is a table with its ``domain``, as in ``synthesize``, or a source. ``rounds``: as many as the theory
    suggests unless said. The domain may have at most 2^24 cells.

    >>> from discreet.synthetic.source import Rows
    >>> rows = Rows(Domain({"x": range(4)}), np.repeat([[0], [1]], 500, axis=0))
    >>> found = mwem(rows, ["x < 2", "x = 0", "x > 2"], rho=10, rounds=4)
    >>> len(found.answers), found.promise.rho <= 10
    (3, True)
    """
    budget, slack = read_budget(epsilon, delta, rho)
    source = source_of(table, domain, unit, max_rows)
    whole = source.domain
    if not questions or isinstance(questions, (str, Predicate)):
        raise BadParameter("questions", questions, "must be a list with at least one condition")
    asked = tuple(predicate(whole, where) for where in questions)
    model = Dense(whole.sizes)
    many = _rounds(rounds, whole, budget)
    stacks = _stacked(asked)
    exact = _exact(source, stacks, len(asked))
    moves = max((source.moves(c) for c in stacks), key=lambda m: m.l1)
    spending = Spending.of(budget, source.scale)
    counted = source.marginals([()])[0]
    total = max(1.0, float(spending.measure((), counted, source.moves(()), budget * COUNTING, "the total").noisy))
    each = budget * (1 - COUNTING) / (2 * many)
    held: list[tuple[int, float]] = []
    for _ in range(many):
        if cancel is not None and cancel():
            break
        expected = np.rint(_model_answers(model, stacks, len(asked)) * total * source.scale).astype(np.int64)
        place = spending.choose(np.abs(exact - expected).tolist(), moves.l1, each, f"one of {len(asked)} conditions")
        noisy = spending.measure((), exact[place : place + 1], moves, each, f"condition {place}").noisy
        held.append((place, float(noisy[0])))
        _learn(model, asked, held, total)
    answers = _model_answers(model, stacks, len(asked)) * total
    return Weighted(whole, model, total, asked, answers, spending.promise(slack), spending)


def _rounds(rounds: int | None, domain: Domain, rho: Fraction) -> int:
    if rounds is not None:
        return min(integer(rounds, "rounds", at_least=1), MOST_ROUNDS)
    # the potential falls by about the squared error a round: more rounds than this only measure noise
    return int(max(4, min(MOST_ROUNDS, round(6 * sqrt(log(max(3, domain.cells))) * max(1.0, float(rho)) ** 0.25))))


Stacks = dict[Clique, tuple[list[int], NDArray[np.int8]]]


def _stacked(asked: Sequence[Predicate]) -> Stacks:
    """Conditions over the same columns as one matrix."""
    places: dict[Clique, list[int]] = {}
    for i, p in enumerate(asked):
        places.setdefault(p.clique, []).append(i)
    if sum(len(at) * asked[at[0]].table.size for at in places.values()) > _CELLS:
        raise BadParameter(
            "questions", len(asked), f"must have at most {_CELLS:,} cells together: ask fewer, or narrower"
        )
    return {c: (at, np.stack([asked[i].table.ravel() for i in at]).astype(np.int8)) for c, at in places.items()}


def _exact(source: MarginalSource, stacks: Stacks, many: int) -> Counts:
    out = np.zeros(many, dtype=np.int64)
    for counts, (at, rows) in zip(source.marginals(list(stacks)), stacks.values(), strict=True):
        held = np.flatnonzero(counts)  # few cells hold somebody
        out[at] = rows[:, held].astype(np.int64) @ counts.ravel()[held]
    return out


def _model_answers(model: Dense, stacks: Stacks, many: int) -> NDArray[np.float64]:
    out = np.zeros(many)
    for clique, (at, rows) in stacks.items():
        out[at] = rows @ model.marginal(clique).ravel()
    return out


def _learn(model: Dense, asked: Sequence[Predicate], held: list[tuple[int, float]], total: float) -> None:
    """Go through all measurements a few times, the newest first."""
    for _ in range(_SWEEPS):
        for place, noisy in reversed(held):
            off = noisy / total - model.share(asked[place])
            model.update(asked[place], min(max(off, -1.0), 1.0))


def whole_domain(domain: Domain, table: NDArray[Any]) -> Predicate:
    """An arbitrary yes or no for each of all combinations, as a condition.

    >>> whole_domain(Domain({"x": range(2)}), np.array([True, False, True])).clique
    (0,)
    """
    given = np.asarray(table)
    if domain.cells > MOST or given.dtype != bool or given.size != domain.cells:
        raise BadParameter("table", "an array", f"must hold True or False for each of the {domain.cells:,} cells")
    return Predicate(tuple(range(len(domain))), given.reshape(domain.sizes), None, "a table")
