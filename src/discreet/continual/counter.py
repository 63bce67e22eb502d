"""A running total that is released after every step, at one price for the whole horizon.

Guarantee: for one unit that moves the value of at most ``steps`` steps, each by at most ``sensitivity``, all answers
together keep ``budget``, whatever later values are made from. Proof: release.md and strategies.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import floor
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.answer import Accuracy, Answer
from discreet.arrays import Floats, Integers
from discreet.continual import binned, toeplitz
from discreet.continual.binned import Binned
from discreet.continual.caps import Caps
from discreet.continual.record import Record
from discreet.continual.release import OverStream, Plan, Stream
from discreet.continual.strategies import Appearances, Prefixes, Strategy, Values, read_horizon
from discreet.continual.toeplitz import Toeplitz
from discreet.continual.tree import Tree
from discreet.continual.unknown_horizon import Epochs
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, float_up, integer, positive
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.base.inputs import finite_real
from discreet.mechanisms.statistics.budget import Moves, noise_for
from discreet.mechanisms.statistics.error_bounds import Scaled, Sums
from discreet.mechanisms.statistics.sum_law import Terms
from discreet.noise.additive import LARGEST
from discreet.privacy.accountants.conversions import largest_zcdp
from discreet.privacy.promises.measures import ZCDP, Approx, Pure

Budget: TypeAlias = Pure | ZCDP | Approx
DENSE = 4096
"""Up to so many steps the square root is kept whole; beyond them in bins."""
_LONGEST_TREE = 1 << 40
FARTHEST = 1 << 62
_LARGE = 16  # beyond this epsilon there is next to no noise, and all strategies are alike


class Method(Enum):
    """What gets noise. BEST has the least variance at its worst step, from public parameters alone."""

    VALUES = "values"
    PREFIXES = "prefixes"
    TREE = "tree"
    SQUARE_ROOT = "square_root"
    BINNED = "binned"
    BEST = "best"


class Counter(OverStream):
    """Made by ``counter(...)``: push the value of each step, or the rows of people; get the noisy total so far."""

    __slots__ = ()

    @property
    def horizon(self) -> int | None:
        """How many steps were paid for; None if there is no last one."""
        return self.plan.strategy.horizon

    def accuracy(self, t: int) -> Accuracy:
        """How far the answer after t steps may lie from the exact total; known before any value is.

        >>> steps = counter(horizon=365, budget=ZCDP("0.1"))
        >>> steps.accuracy(1).error_at(0.95) < steps.accuracy(365).error_at(0.95) < 25
        True
        """
        last = integer(t, "t", at_least=1)
        if self.horizon is not None and last > self.horizon:
            raise BadParameter("t", t, f"must be at most the horizon, which is {self.horizon}")
        return AfterSteps(self.plan, self._cell, last).bar

    def scaled(self, weight: Fraction, steps: int, terms: Terms = ()) -> Accuracy:
        """The error bar of a combination of the noises of this Σ w², in the units of the values of so many steps."""
        return in_cells(Sums(self.plan.noise, weight, 1, terms), self._cell, steps)

    def push(self, value: Any) -> Answer:
        """The total after one more step, whose value is ``value``."""
        with self._stream.lock:
            self._check_values(1)
            exact = self._read([value])
            return self._answer(self._stream.go_on(exact))

    def push_rows(self, rows: Iterable[tuple[Any, Any]]) -> Answer:
        """The total after one more step, with these rows of (unit, value). Each unit is cut to what was paid for.

        Guarantee: over the whole stream, restored or not, a unit adds no more than ``caps``. Rows that name nobody, or
        have no finite number, are left out. Which of a unit's rows are left out depends on its own rows alone.

        >>> visits = counter(horizon=365, budget=ZCDP(10**6), steps=2, sensitivity=3)
        >>> [round(visits.push_rows([("ann", 5), ("bob", 1), (None, 9)]).value) for _ in range(3)]
        [4, 8, 8]
        """
        with self._stream.lock:
            self._stream.check(1)
            sums = self._take((unit, 0, value) for unit, value in read_rows(rows, 2, self._cell))
            total = min(max(sums.get(0, 0), -FARTHEST), FARTHEST)
            return self._answer(self._stream.go_on(np.array([[total]]), lambda _: self._beside()))

    def push_many(self, values: Sequence[Any] | NDArray[Any]) -> Floats:
        """The totals after each of many steps at once: the same law as pushing one by one, much quicker."""
        with self._stream.lock:
            self._check_values(len(values))
            exact = self._read(values)
            return self._stream.go_on(exact)[:, 0] * self._width if len(exact) else np.zeros(0)

    def restore(self, record: Record, saved: bytes | None = None) -> Counter:
        """A counter with these parameters that goes on where its record stands; an older state is refused."""
        stream, extra = Stream.restored(self.plan, record, saved, name=stream_name("counter", self._caps, self._cell))
        again = Counter(stream, self._caps, self._cell)
        again._load_units(extra)
        return again

    def _answer(self, estimates: Floats) -> Answer:
        t = self.position
        return Answer(
            value=float(estimates[-1, 0]) * self._width,
            event=self._event,
            cost=self._cost,
            story=(self._story, f"step {t}"),
            accuracy=AfterSteps(self.plan, self._cell, t),
        )

    def _read(self, values: Sequence[Any] | NDArray[Any]) -> Integers:
        return read_values(values, self._cell)[:, None]

    def __repr__(self) -> str:
        return f"Counter({self.plan.strategy!r}, {self.cost}, position={self.position})"


@dataclass(frozen=True, slots=True)
class AfterSteps:
    """The error bar after t steps, for so many keys at once: it is computed when somebody looks at it."""

    plan: Plan
    cell: Fraction
    t: int
    keys: int = 1

    @property
    def bar(self) -> Accuracy:
        """From the weights of the noises."""
        strategy = self.plan.strategy
        inner = Sums(self.plan.noise, strategy.weight(self.t), self.keys, strategy.terms(self.t))
        return in_cells(inner, self.cell, self.t)

    @property
    def expected_error(self) -> float:
        """E|error|."""
        return self.bar.expected_error

    def error_at(self, confidence: Number) -> float:
        """The error bar."""
        return self.bar.error_at(confidence)


def in_cells(bar: Sums, cell: Fraction, steps: int) -> Accuracy:
    """A bar in the units of the values of so many steps, with an allowance for rounding them to cells."""
    return bar if cell == 1 else Rounded(Scaled(bar, cell), steps * cell / 2)


def stream_name(kind: str, caps: Caps, cell: Fraction) -> str:
    """What two streams must agree on, beside their plan, to go on with one state."""
    return f"{kind}; {caps!r}; cells of {cell}; "


@dataclass(frozen=True)
class Rounded:
    """An error bar with an allowance for rounding to the grid."""

    inner: Accuracy
    allowance: Fraction

    @property
    def expected_error(self) -> float:
        """E|error|."""
        return float_up(Fraction(self.inner.expected_error) + self.allowance)

    def error_at(self, confidence: Number) -> float:
        """The error bar."""
        return float_up(Fraction(self.inner.error_at(confidence)) + self.allowance)


def counter(
    *,
    horizon: int | None,
    budget: Budget,
    sensitivity: Number = 1,
    steps: int = 1,
    separation: int = 1,
    method: Method | str = Method.BEST,
    cell: Number = 1,
    record: Record | None = None,
) -> Counter:
    """A running total over ``horizon`` steps, or without a known end (None).

    ``sensitivity``: how far one unit moves the value of one step. ``steps``: in how many steps one unit may appear over
    the whole horizon (1: each event is protected by itself), at least ``separation`` steps apart. A unit that moves
    from one step to another appears in two. ``cell``: values are rounded to multiples of it, 1 for whole numbers.

    >>> visits = counter(horizon=365, budget=ZCDP("0.1"))
    >>> answer = visits.push(120)
    >>> visits.position, visits.event, answer.error_at(0.95) < 12
    (1, ZCDP(rho='1/10', delta=0), True)
    """
    unit = Appearances(steps=steps, separation=separation).within(horizon)
    cells, width = cells_of(sensitivity, cell)
    paid = read_stream_budget(budget)
    strategy = choose(horizon, paid, read_method(method), unit)
    return make_counter(plan_for(strategy, paid, unit, cells), unit, cells, width, record)


def make_counter(plan: Plan, unit: Appearances, each: int, cell: Fraction, record: Record | None) -> Counter:
    """A counter for a unit that appears so often, and moves the value of a step by so many cells."""
    caps = Caps(steps=unit.steps, separation=unit.separation, largest=each)
    return Counter(Stream(plan, 1, record, name=stream_name("counter", caps, cell)), caps, cell)


def plan_for(
    strategy: Strategy,
    budget: Pure | ZCDP,
    unit: Appearances,
    each: int,
    *,
    keys: int = 1,
    delta: Fraction = Fraction(0),
) -> Plan:
    """The noise for a unit that moves at most ``keys`` values in a step, each by at most ``each``."""
    moved = strategy.moves(unit)
    total = Moves(l1=keys * each * moved.l1, l2_squared=keys * each * each * moved.l2_squared)
    noise = noise_for(budget, total, 2)  # 2: rows are many, so lengths are those of vectors
    if (noise.sigma_squared if isinstance(noise, Gaussian) else noise.scale**2) > LARGEST**2:
        raise BadParameter("sensitivity", each, "must be smaller, in cells: the noise would not fit into 64 bits")
    return Plan(strategy, noise, delta)


def choose(horizon: int | None, budget: Pure | ZCDP, method: Method, unit: Appearances) -> Strategy:
    """The strategy that was named, or the one with the least largest variance."""
    gaussian = isinstance(budget, ZCDP)
    if horizon is None:
        if method is not Method.BEST:
            raise BadParameter("method", method.value, "must be left out without a horizon")
        return Epochs(squared=gaussian)
    if not gaussian and method in {Method.SQUARE_ROOT, Method.BINNED}:
        raise BadParameter("method", method.value, "must be tree or values under a pure budget; or give a ZCDP budget")
    if method is not Method.BEST:
        return _make(method, horizon)
    last = read_horizon(horizon, _LONGEST_TREE, "tree")
    candidates: list[Strategy] = [Tree(last)]
    if gaussian and last <= binned.LONGEST:
        candidates.append(Toeplitz(last) if last <= DENSE else Binned(last))
    if last <= DENSE:
        candidates += [Values(last), Prefixes(last)]
    guide = budget if isinstance(budget, ZCDP) else Pure(min(budget.epsilon, Fraction(_LARGE)))
    return min(candidates, key=lambda s: _variance(s, guide, unit, last))


def _variance(strategy: Strategy, budget: Pure | ZCDP, unit: Appearances, t: int) -> Fraction:
    return Sums(plan_for(strategy, budget, unit, 1).noise, strategy.largest_weight(t), 1).variance_up


def _make(method: Method, horizon: int) -> Strategy:
    match method:
        case Method.VALUES:
            return Values(read_horizon(horizon, _LONGEST_TREE, method.value))
        case Method.PREFIXES:
            return Prefixes(read_horizon(horizon, toeplitz.LONGEST, method.value))
        case Method.SQUARE_ROOT:
            return Toeplitz(read_horizon(horizon, toeplitz.LONGEST, method.value))
        case Method.BINNED:
            return Binned(read_horizon(horizon, binned.LONGEST, method.value))
        case _:
            return Tree(read_horizon(horizon, _LONGEST_TREE, method.value))


def read_stream_budget(budget: Budget) -> Pure | ZCDP:
    """The budget of a whole stream: pure, or concentrated; an (ε, δ) buys the ρ that is certified to keep it.

    >>> read_stream_budget(Approx(1, "1e-6")).rho < read_stream_budget(Approx(2, "1e-6")).rho
    True
    """
    given: object = budget
    if isinstance(given, Approx):
        return ZCDP(largest_zcdp(given).rho) if given.delta else Pure(given.epsilon)
    if isinstance(given, ZCDP) and not given.delta and given.rho > 0:
        return given
    if isinstance(given, Pure) and given.epsilon > 0:
        return given
    raise BadParameter("budget", budget, "must be Pure(epsilon), ZCDP(rho) or Approx(epsilon, delta), all above 0")


def read_values(values: Any, cell: Fraction) -> Integers:
    """Exact values in cells; what is no finite number is refused without a word about it."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and cell == 1 and values.ndim == 1:
        return np.clip(values, -FARTHEST, FARTHEST).astype(np.int64)
    return np.array([_in_cells(value, cell) for value in _listed(values)], dtype=np.int64)


def read_rows(rows: Iterable[Any], size: int, cell: Fraction) -> Iterator[Any]:
    """Rows whose last part is a finite number, with that number in cells; others are left out, without a word."""
    for row in rows:
        if not isinstance(row, tuple) or len(row) != size:
            raise BadData("rows must be tuples: unit and value, with a key in between where there are keys")
        exact = finite_real(row[-1])
        if exact is not None:
            yield *row[:-1], min(max(round(exact / cell), -FARTHEST), FARTHEST)


def _listed(values: Any) -> Sequence[Any]:
    if isinstance(values, np.ndarray) and values.ndim == 1 and not isinstance(values, np.ma.MaskedArray):
        listed: list[Any] = values.tolist()
        return listed
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
        return values
    raise BadData("values must be a flat list of numbers, one for each step")


def _in_cells(value: Any, cell: Fraction) -> int:
    if type(value) is int and cell == 1:  # quickly
        return min(max(value, -FARTHEST), FARTHEST)
    exact = finite_real(value)
    if exact is None:
        raise BadData("a step's value must be a finite number")
    if cell == 1 and exact.denominator != 1:
        raise BadData("a step's value must be an integer; for reals give the counter a cell, such as cell='1/100'")
    return min(max(round(exact / cell), -FARTHEST), FARTHEST)


def read_method(method: Method | str) -> Method:
    """A method by its name."""
    try:
        return Method(method)
    except ValueError:
        raise BadParameter("method", method, f"must be one of {', '.join(m.value for m in Method)}") from None


def read_window(t: int, width: int) -> tuple[int, int]:
    """A step, and how many steps up to it."""
    last, size = integer(t, "t", at_least=1), integer(width, "width", at_least=1)
    if size > last:
        raise BadParameter("width", width, f"must be from 1 to t, which is {last}")
    return last, size


def cells_of(sensitivity: Number, cell: Number) -> tuple[int, Fraction]:
    """How many cells a value moves, and how wide a cell is: two roundings of numbers x cells apart differ by x + 1."""
    width, moved = positive(cell, "cell"), positive(sensitivity, "sensitivity")
    if width == 1 and moved.denominator == 1:
        return int(moved), width
    return floor(moved / width) + 1, width
