"""Multiplicative weights with the exponential mechanism: many conditions answered together on an explicit domain.

Guarantee: ρ-zCDP in total. One hundredth pays for the number of rows; each round pays half for the choice of the
condition that the model has most wrong, half for measuring it (Hardt, Ligett and McSherry 2012, with zCDP prices).
Proof: spending.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, log, sqrt
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
MOST_ROUNDS = 1 << 14
_ALWAYS = 150
_WORK = 1 << 36  # cells that a model may be asked for and corrected in by default: about a minute
_SWEEPS = 8
_UPDATES = 256  # in one round: with many measurements fewer sweeps are enough
_CELLS = 1 << 27
_FLOAT_CELLS = 1 << 24


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

    ``table`` is a table with its ``domain``, as in ``synthesize``, or a source. ``rounds``: unless said, as
    many as balance what is not learned yet with the noise, by the noisy number of rows and the number of conditions,
    and no more than twice what there is to measure; over 10^6 cells and more also no more than a few minutes allow. The
    domain may have at most 2^24 cells.

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
    conditions = tuple(predicate(whole, where) for where in questions)
    model = Dense(whole.sizes)
    given = None if rounds is None else min(integer(rounds, "rounds", at_least=1), MOST_ROUNDS)
    stacks = _stacked(conditions)
    exact = _exact(source, stacks, len(conditions))
    moves = max((source.moves(c) for c in stacks), key=lambda m: m.l1)
    spending = Spending.of(budget, source.scale)
    counted = source.marginals([()])[0]
    total = max(1.0, float(spending.measure((), counted, source.moves(()), budget * COUNTING, "the total").noisy))
    units = total * source.scale / moves.l1  # a released number, in steps of one unit
    many = _rounds(units, len(conditions), whole.cells, budget) if given is None else given
    each = budget * (1 - COUNTING) / (2 * many)
    held: list[tuple[int, float]] = []
    for _ in range(many):
        if cancel is not None and cancel():
            break
        expected = np.rint(_model_answers(model, stacks, len(conditions)) * total * source.scale).astype(np.int64)
        place = spending.choose(
            np.abs(exact - expected).tolist(), moves.l1, each, f"one of {len(conditions)} conditions"
        )
        noisy = spending.measure((), exact[place : place + 1], moves, each, f"condition {place}").noisy
        held.append((place, float(noisy[0])))
        _learn(model, conditions, held, total)
    answers = _model_answers(model, stacks, len(conditions)) * total
    return Weighted(whole, model, total, conditions, answers, spending.promise(slack), spending)


def _rounds(units: float, questions: int, cells: int, rho: Fraction) -> int:
    """The rounds at which what is not learned yet, √(ln cells / T), is about the noise of a round, √T ln k / (√ρ n).

    A fourth of the balance of the two bounds, since the corrections of earlier rounds are repeated; no more than twice
    what there is to measure. A round corrects the model by each measurement so far, so that T rounds touch about T²
    times all cells: ``_WORK`` in all, but 150 rounds always.

    >>> [_rounds(n, 1024, 1024, Fraction(1, 40)) for n in (100, 2_000, 32_000, 10**6)]
    [4, 26, 420, 2048]
    """
    balance = units * sqrt(float(rho) * log(max(3, cells))) / (4 * (1 + log(questions)))
    affordable = max(_ALWAYS, isqrt(_WORK // cells))
    return round(max(4, min(balance, 2 * min(questions, cells), affordable)))


Stacks = dict[Clique, tuple[list[int], NDArray[Any]]]


def _stacked(conditions: Sequence[Predicate]) -> Stacks:
    """Conditions over the same columns as one matrix; of floats, which are multiplied fast, unless they are many."""
    places: dict[Clique, list[int]] = {}
    for i, p in enumerate(conditions):
        places.setdefault(p.clique, []).append(i)
    cells = sum(len(at) * conditions[at[0]].table.size for at in places.values())
    if cells > _CELLS:
        raise BadParameter(
            "questions", len(conditions), f"must have at most {_CELLS:,} cells together: ask fewer, or narrower"
        )
    kind = np.float64 if cells <= _FLOAT_CELLS else np.int8
    return {c: (at, np.stack([conditions[i].table.ravel() for i in at]).astype(kind)) for c, at in places.items()}


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


def _learn(model: Dense, conditions: Sequence[Predicate], held: list[tuple[int, float]], total: float) -> None:
    """Go through all measurements a few times, the newest first."""
    for _ in range(max(1, min(_SWEEPS, _UPDATES // len(held)))):
        for place, noisy in reversed(held):
            off = noisy / total - model.share(conditions[place])
            model.update(conditions[place], min(max(off, -1.0), 1.0))


def whole_domain(domain: Domain, table: NDArray[Any]) -> Predicate:
    """An arbitrary yes or no for each of all combinations, as a condition.

    >>> whole_domain(Domain({"x": range(2)}), np.array([True, False, True])).clique
    (0,)
    """
    given = np.asarray(table)
    if domain.cells > MOST or given.dtype != bool or given.size != domain.cells:
        raise BadParameter("table", "an array", f"must hold True or False for each of the {domain.cells:,} cells")
    return Predicate(tuple(range(len(domain))), given.reshape(domain.sizes), None, "a table")
