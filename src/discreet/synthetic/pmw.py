"""Online private multiplicative weights: a stream of questions, answered by a public model until it is wrong.

Guarantee: the whole stream is ρ-zCDP, however many questions are asked and whatever they are made from earlier answers.
A sparse-vector test says, without showing the answer, whether the model is off by more than a threshold. If not, the
model answers, for free. If so, the answer is measured and the model learns from it, at most ``hard`` times. After that
the model goes on answering, untested, and says so. Proof: pmw.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import ceil
from threading import Lock
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.answer import Accuracy, Answer
from discreet.errors import BadParameter, BadQuestion, NotATheorem
from discreet.exact import Number, float_up, integer, number, sqrt_down
from discreet.mechanisms.selection.above_threshold import AboveThreshold, Run, above_threshold
from discreet.mechanisms.statistics.budget import Moves
from discreet.privacy.budgets.filters import Open
from discreet.privacy.promises.events import Composed, Event
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.privacy.promises.receipt import Receipt
from discreet.synthetic.domain import Domain
from discreet.synthetic.model.dense import MOST, Dense
from discreet.synthetic.model.fit import Fit, Measured, fit
from discreet.synthetic.model.junction import tree_cells
from discreet.synthetic.predicate import Predicate, question
from discreet.synthetic.source import MarginalSource
from discreet.synthetic.spending import Spending, gaussian_for, read_budget
from discreet.synthetic.synthesize import source_of

TOTAL = Fraction(1, 50)
"""The share of the budget that pays for the number of rows."""
HARD = 50
"""The most questions that are measured unless more are asked for."""
COARSE = 8
"""The threshold is at most this part of all rows, unless ``hard`` is given and one hard question allows it."""
TESTING = Fraction(9, 10)
"""The share of a hard question's budget that its test gets: its noise is far larger than that of a measurement."""
QUESTIONS = 1000
_FINE = 1 << 20
_FACTORED_CELLS = 1 << 20
_SIDES = 6  # columns of a conjunction whose sides are measured together
_LEAST = 0.5
_MOST_FACTOR = 1e3


class How(Enum):
    """Where an answer came from."""

    MODEL = "the model, which passed the test"
    MEASURED = "a measurement, from which the model learned"
    UNTESTED = "the model, untested: the budget is spent"


@dataclass(frozen=True, slots=True)
class Tested:
    """The error of an answer that passed the test: no more than the threshold and the margin of its noise."""

    test: AboveThreshold
    runs: int
    questions: int
    scale: int = 1

    @property
    def expected_error(self) -> float:
        """No more than at 95 %."""
        return self.error_at("0.95")

    def error_at(self, confidence: Number) -> float:
        """For the first ``questions`` answers of all runs together; a miss in any run counts against the confidence."""
        miss = (1 - number(confidence, "confidence")) / self.runs
        return float(self.test.threshold + self.test.margin_at(1 - miss, self.questions)) / self.scale


class Model(Protocol):
    """What answers for free, and learns from what was measured."""

    def share(self, condition: Predicate) -> float:
        """The share of rows that satisfy a condition, by the model."""
        ...

    def learn(self, condition: Predicate, rho: Fraction) -> tuple[float, float]:
        """Pay ``rho``, measure, learn; the noisy count comes back, and its variance."""
        ...


class _Explicit:
    """One weight for every possible row; one multiplicative update for each measurement."""

    def __init__(self, source: MarginalSource, spending: Spending, total: float) -> None:
        self._source, self._spending, self._total = source, spending, total
        self._dense = Dense(source.domain.sizes)

    def share(self, condition: Predicate) -> float:
        return self._dense.share(condition)

    def learn(self, condition: Predicate, rho: Fraction) -> tuple[float, float]:
        exact = split(condition, self._source.marginals([condition.clique])[0])
        measured = self._spending.measure((), exact, self._source.moves(condition.clique), rho, "a hard query")
        noisy = measured.noisy.astype(np.float64)
        expected = split(condition, self._dense.marginal(condition.clique)) * self._total
        off = noisy - expected
        trusted = expected + off * off**2 / (off**2 + measured.variance)  # what is within the noise moves little
        factor = np.maximum(trusted, _LEAST) / np.maximum(expected, _LEAST)
        self._dense.scale(condition.clique, np.clip(factor, 1 / _MOST_FACTOR, _MOST_FACTOR)[where_split(condition)])
        return float(noisy[(0,) * noisy.ndim]), measured.variance


def split(condition: Predicate, marginal: NDArray[Any]) -> NDArray[Any]:
    """A marginal as a table of sides: in or out, for each column of a conjunction; for the whole condition otherwise.

    Guarantee: each row is in one cell of it, so it moves no further than the marginal. The first cell is the answer.

    >>> from discreet.synthetic.predicate import predicate
    >>> p = predicate(Domain({"x": range(3), "y": range(2)}), "x < 1 AND y = 0")
    >>> split(p, np.arange(12).reshape(4, 3)).tolist()
    [[0, 3], [18, 45]]
    """
    if condition.factors is None or not 1 <= len(condition.clique) <= _SIDES:
        inside = condition.count(marginal)
        return np.array([inside, marginal.sum() - inside])
    table = marginal
    for axis, kept in enumerate(condition.factors):
        sides = [table.compress(side, axis=axis).sum(axis=axis, keepdims=True) for side in (kept, ~kept)]
        table = np.concatenate(sides, axis=axis)
    return table


def where_split(condition: Predicate) -> Any:
    """For each cell of the marginal, its place in the table of sides."""
    if condition.factors is None or not 1 <= len(condition.clique) <= _SIDES:
        return (~condition.table).astype(np.int64)
    return np.ix_(*[(~kept).astype(np.int64) for kept in condition.factors])


class _Factored:
    """A graphical model, for domains that are too large to write out; learns the whole marginal at the same price."""

    def __init__(self, source: MarginalSource, spending: Spending, total: float) -> None:
        self._source, self._spending = source, spending
        self._measured = [Measured((0,), np.full(source.domain.sizes[0], total / source.domain.sizes[0]), 1e18)]
        self._fit: Fit = fit(source.domain.sizes, self._measured)

    def share(self, condition: Predicate) -> float:
        return float(condition.count(self._fit.model.marginal(condition.clique)))

    def learn(self, condition: Predicate, rho: Fraction) -> tuple[float, float]:
        domain, clique = self._source.domain, condition.clique
        have = [*(m.clique for m in self._measured), clique]
        exact = self._source.marginals([clique])[0]
        if tree_cells(domain.sizes, have) > _FACTORED_CELLS:  # no room in the model: the answer alone
            sides = split(condition, exact)
            measured = self._spending.measure((), sides, self._source.moves(clique), rho, "a hard query")
            return float(measured.noisy.flat[0]), measured.variance
        measured = self._spending.measure(clique, exact, self._source.moves(clique), rho, "a hard query")
        self._measured.append(measured)
        self._fit = fit(domain.sizes, self._measured, start=self._fit.potentials)
        return float(condition.count(measured.noisy)), measured.variance * float(condition.table.sum())


class Stream:
    """Made by ``pmw``: ``ask`` answers one question after the other. Threads may share it; it cannot be copied."""

    def __init__(
        self,
        source: MarginalSource,
        budget: tuple[Fraction, Approx | None],
        *,
        threshold: Number | None,
        hard: int | None,
        questions: int,
    ) -> None:
        rho, slack = budget
        self._source, self._slack, self._questions = source, slack, questions
        self._moves = _moves(source)
        self._spending = Spending.of(rho, source.scale)
        self._lock = Lock()

        def each(many: int) -> tuple[Fraction, AboveThreshold]:
            """What a measurement may cost, and the test, if so many questions are hard."""
            of_one = rho * (1 - TOTAL) / many
            return of_one * (1 - TESTING), _test(of_one * TESTING, self._moves.l1, threshold, questions, source.scale)

        least, _ = each(hard or HARD)
        gaussian_for(min(rho * TOTAL, least), self._moves, 2)  # refuses what is too little, before anything is read
        counted = source.marginals([()])[0]
        paid = self._spending.measure((), counted, source.moves(()), rho * TOTAL, "the total")
        self._total = max(1.0, float(paid.noisy))
        fine = self._total * source.scale / COARSE
        self._hard = hard or next((many for many in range(HARD, 1, -1) if each(many)[1].threshold <= fine), 1)
        self._measuring, self._test = each(self._hard)
        explicit = source.domain.cells <= MOST
        self._model: Model = (_Explicit if explicit else _Factored)(source, self._spending, self._total)
        self._learned = 0
        self.receipt: Receipt | None = None
        """What it was paid with, if a session paid for it."""
        self.closing: Sequence[Callable[[], None]] = ()
        """Called when it is closed."""
        self._open, self._run = self._start()

    @property
    def domain(self) -> Domain:
        """The public domain."""
        return self._source.domain

    @property
    def threshold(self) -> float:
        """An answer that is further off than this, in rows, is likely to be measured."""
        return self._test.threshold / self._source.scale

    @property
    def hard_left(self) -> int:
        """How many more questions can be measured."""
        return self._hard - self._learned

    @property
    def promise(self) -> ZCDP | Approx | Pure:
        """What the whole stream keeps, however many questions are asked: what was given. It does not grow."""
        return self._spending.promise(self._slack)

    @property
    def events(self) -> list[tuple[str, Event]]:
        """All that was paid for, in order."""
        return list(self._spending.events)

    def ask(self, where: str | Predicate) -> Answer:
        """How many rows satisfy a condition: ``"age < 30"``, or ``"SELECT COUNT(*) FROM t WHERE age < 30"``."""
        condition = question(self.domain, where)
        if self._source.moves(condition.clique).l1 > self._moves.l1:
            raise BadQuestion("a unit can move this count further than the number of rows; the test does not cover it")
        with self._lock:
            expected = self._total * self._model.share(condition)
            if self._run is None:
                return self._answer(expected, How.UNTESTED)
            exact = int(condition.count(self._source.marginals([condition.clique])[0]))
            if not self._run.ask(abs(exact - round(expected * self._source.scale))):
                return self._answer(expected, How.MODEL)
            self._close()
            noisy, variance = self._model.learn(condition, self._measuring)
            self._learned += 1
            if self._learned < self._hard:
                self._open, self._run = self._start()
            return self._answer(noisy, How.MEASURED, Summed(variance))

    def close(self) -> None:
        """Look at the data no more: from now on the model answers by itself, untested. Nothing is given back."""
        with self._lock:
            self._close()
            self._learned = self._hard
            for close in self.closing:
                close()

    def __reduce__(self) -> NoReturn:
        raise NotATheorem("a stream can be neither copied nor stored: a copy would go on after it was closed")

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(self, value: float, how: How, accuracy: Accuracy | None = None) -> Answer:
        if how is How.MODEL:
            accuracy = Tested(self._test, self._hard, self._questions, self._source.scale)
        event: Event = self._spending.events[-1][1] if how is How.MEASURED else Composed([])
        return Answer(value=value, event=event, cost="charged by the stream", story=(how.value,), accuracy=accuracy)

    def _start(self) -> tuple[Open | None, Run | None]:
        held = self._spending.filter.open(self._test.event)
        self._spending.events.append(("opened a test", self._test.event))
        return held, self._test.start(held.receipt)

    def _close(self) -> None:
        if self._open is not None:
            self._open.close()
        self._open, self._run = None, None


@dataclass(frozen=True, slots=True)
class Summed:
    """The error of a sum of independent discrete Gaussian noises: sub-Gaussian with its variance."""

    variance: float

    @property
    def expected_error(self) -> float:
        """E|error| is at most the root of the variance."""
        return float(self.variance**0.5)

    def error_at(self, confidence: Number) -> float:
        """By the tail of a sub-Gaussian."""
        miss = float(1 - number(confidence, "confidence"))
        return float((2 * self.variance * np.log(2 / miss)) ** 0.5)


def pmw(
    table: Any,
    *,
    domain: Domain | Mapping[str, Any] | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
    columns: Sequence[str] | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    threshold: Number | None = None,
    hard: int | None = None,
    questions: int = QUESTIONS,
) -> Stream:
    """Open a stream of questions under one budget.

    ``hard`` is how many questions may be measured: unless said, as many as 50, but so few that the threshold is at most
    an eighth of the noisy number of rows. ``threshold``, in rows, is how far off the model may be: unless said, just
    beyond the noise of the test over ``questions`` questions. Up to 2^24 combinations have a weight each; larger
    domains are modelled by marginals.

    >>> people = {"sex": ["f", "m"] * 5000, "smoker": ["no", "no", "no", "yes"] * 2500}
    >>> stream = pmw(people, domain={"sex": ["f", "m"], "smoker": ["no", "yes"]}, epsilon=1, delta="1e-9", hard=5)
    >>> answer = stream.ask("smoker = 'yes'")
    >>> abs(answer.value - 2500) < 1500
    True
    """
    budget = read_budget(epsilon, delta, rho)
    many = None if hard is None else integer(hard, "hard", at_least=1)
    most_questions = integer(questions, "questions", at_least=1)
    if domain is not None and columns is not None:
        domain = (domain if isinstance(domain, Domain) else Domain(domain)).only(columns)
    source = source_of(table, domain, unit, max_rows)
    return Stream(source, budget, threshold=threshold, hard=many, questions=most_questions)


def _moves(source: MarginalSource) -> Moves:
    """A bound for every marginal: that of the number of rows, in which a unit is counted with all it has."""
    return source.moves(())


def _test(rho: Fraction, moved: int, threshold: Number | None, questions: int, scale: int = 1) -> AboveThreshold:
    """One test per hard question: ε-DP with ε tanh(ε/2) <= ε²/2 <= rho. ``threshold`` is in rows."""
    epsilon = Fraction(int(sqrt_down(2 * rho) * _FINE), _FINE)
    if not epsilon:
        raise BadParameter("rho", float_up(rho), "must be larger for so many hard queries")
    free = above_threshold(threshold=0, epsilon=epsilon, sensitivity=moved)
    at = ceil(number(threshold, "threshold") * scale) if threshold is not None else free.margin_at("0.95", questions)
    if at < 1:
        raise BadParameter("threshold", threshold, "must be at least 1")
    return above_threshold(threshold=at, epsilon=epsilon, sensitivity=moved)
