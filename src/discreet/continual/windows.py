"""Sums over the last steps, and sums that forget: their error does not grow with time.

Guarantee: as for a counter, for one unit in at most ``steps`` steps. Proof: release.md.

``window``: the stream is cut into spans as wide as the window, and each span has a counter of its own. A step is in one
span, so all spans together cost what one does, and there is no last step. The last ``width`` steps are the end of one
span and the beginning of the next. ``decayed``: Σ γ^(t-s) x_s by the square root of its own matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.answer import Accuracy
from discreet.arrays import Floats, Integers
from discreet.continual.counter import (
    Budget,
    Counter,
    Method,
    cells_of,
    choose,
    make_counter,
    plan_for,
    read_stream_budget,
    read_window,
)
from discreet.continual.record import Record
from discreet.continual.strategies import Appearances, Plain, Process, Strategy, read_horizon
from discreet.continual.toeplitz import LONGEST, Toeplitz
from discreet.errors import BadParameter
from discreet.exact import Number, number
from discreet.mechanisms.statistics.budget import Moves


@dataclass(frozen=True, slots=True)
class Spans(Strategy):
    """Spans of ``width`` steps without end, each with the same strategy; the answer is the sum of the last ``width``.

    >>> Spans(Toeplitz(7), 7).weight(3) < Spans(Toeplitz(7), 7).weight(10)
    True
    """

    inner: Strategy
    width: int
    horizon: None = None

    def moves(self, unit: Appearances) -> Moves:
        """k appearances in any spans: k times as far as one in L1, k² times in squared L2."""
        once = self.inner.moves(Appearances())
        return Moves(l1=unit.steps * once.l1, l2_squared=unit.steps**2 * once.l2_squared)

    def weight(self, t: int) -> Fraction:
        """The span under way, and what is left of the one before: its total less a prefix, (a + b)² <= 2 a² + 2 b²."""
        here = (t - 1) % self.width + 1
        now = self.inner.weight(here)
        if t <= self.width or here == self.width:
            return now
        return now + 2 * (self.inner.weight(self.width) + self.inner.weight(here))

    def largest_weight(self, horizon: int) -> Fraction:
        """The largest of one span."""
        return max(self.weight(self.width + here) for here in range(1, self.width + 1))

    @property
    def longest_row(self) -> int:
        """That of a span."""
        return self.inner.longest_row

    def rows_between(self, start: int, end: int) -> int:
        """Span by span."""
        total = 0
        while start < end:
            here = start % self.width
            take = min(self.width - here, end - start)
            total += self.inner.rows_between(here, here + take)
            start += take
        return total

    def start(self, keys: int) -> Process:
        """A new stream."""
        return _Spanned(self, keys)

    def story(self) -> str:
        """One line on what gets noise."""
        return f"spans of {self.width} steps; in each {self.inner.story()}"


class _Spanned(Process):
    """The span under way, and the prefixes that were released of the one before."""

    __slots__ = ("_before", "_exact", "_measured", "_now", "_public", "_spans")

    def __init__(self, spans: Spans, keys: int) -> None:
        self._spans = spans
        self._exact, self._public = spans.inner.start(keys), spans.inner.start(keys)
        self._before: Floats = np.zeros((0, keys))
        self._now: Floats = np.zeros((0, keys))
        self._measured = 0

    def measure(self, values: Integers) -> Integers:
        """The rows of each span."""
        rows, done, width = [], 0, self._spans.width
        while done < len(values):
            take = min(width - self._measured, len(values) - done)
            rows.append(self._exact.measure(values[done : done + take]))
            done += take
            self._measured += take
            if self._measured == width:
                self._exact, self._measured = self._spans.inner.start(values.shape[1]), 0
        return np.concatenate(rows)

    def estimate(self, noisy: Any, steps: int) -> Floats:
        """The prefix of the span under way, plus the total of the one before less its prefix."""
        out, row, done, width = [], 0, 0, self._spans.width
        while done < steps:
            here = len(self._now)
            take = min(width - here, steps - done)
            used = self._spans.inner.rows_between(here, here + take)
            part = self._public.estimate(noisy[row : row + used], take)
            row += used
            done += take
            self._now = np.concatenate([self._now, part])
            out.append(part if not len(self._before) else part + self._before[-1] - self._before[here : here + take])
            if len(self._now) == width:
                self._before, self._now = self._now, self._now[:0]
                self._public = self._spans.inner.start(part.shape[1])
        return np.concatenate(out)

    def state(self) -> Plain:
        """Both spans."""
        return {
            "exact": self._exact.state(),
            "public": self._public.state(),
            "before": self._before.tolist(),
            "now": self._now.tolist(),
            "measured": self._measured,
        }

    def load(self, state: Plain) -> None:
        """Continue."""
        keys = self._before.shape[1]
        self._exact.load(state["exact"])
        self._public.load(state["public"])
        self._before = np.array(state["before"], dtype=np.float64).reshape(-1, keys)
        self._now = np.array(state["now"], dtype=np.float64).reshape(-1, keys)
        self._measured = state["measured"]


def window(
    *,
    width: int,
    budget: Budget,
    sensitivity: Number = 1,
    steps: int = 1,
    cell: Number = 1,
    record: Record | None = None,
) -> Counter:
    """The sum of the last ``width`` steps after every step, without a last one, at one price.

    >>> from discreet.privacy.promises.measures import ZCDP
    >>> week = window(width=7, budget=ZCDP("0.1"))
    >>> week.horizon, week.push(120).error_at(0.95) < 12, week.accuracy(10**9).error_at(0.95) < 30
    (None, True, True)
    """
    last = read_horizon(width, LONGEST, "window")
    unit, paid = Appearances(steps=steps), read_stream_budget(budget)
    each, size = cells_of(sensitivity, cell)
    inner = choose(last, paid, Method.BEST, Appearances())
    return make_counter(plan_for(Spans(inner, last), paid, unit, each), unit, each, size, record)


def decayed(
    *,
    rate: Number,
    horizon: int,
    budget: Budget,
    sensitivity: Number = 1,
    steps: int = 1,
    separation: int = 1,
    cell: Number = 1,
    record: Record | None = None,
) -> Counter:
    """Σ rate^(t-s) x_s after every step: what lies back counts less, 0 < rate < 1. The budget must be ρ or (ε, δ).

    >>> from discreet.privacy.promises.measures import ZCDP
    >>> recent = decayed(rate="0.9", horizon=1000, budget=ZCDP("0.1"))
    >>> recent.accuracy(1000).error_at(0.95) < 1.001 * recent.accuracy(100).error_at(0.95)
    True
    """
    gamma = number(rate, "rate")
    if not 0 < gamma < 1:
        raise BadParameter("rate", rate, "must be above 0 and below 1")
    paid = read_stream_budget(budget)
    last = read_horizon(horizon, LONGEST, "decayed")
    unit = Appearances(steps=steps, separation=separation).within(last)
    each, size = cells_of(sensitivity, cell)
    return make_counter(plan_for(Toeplitz(last, gamma), paid, unit, each), unit, each, size, record)


def window_accuracy(counter: Counter, t: int, width: int) -> Accuracy:
    """How far the sum of the last ``width`` steps lies off when it is made from two answers of a counter.

    >>> from discreet.continual.counter import counter
    >>> from discreet.privacy.promises.measures import ZCDP
    >>> visits = counter(horizon=365, budget=ZCDP("0.1"))
    >>> window_accuracy(visits, 100, 7).error_at(0.95) < visits.accuracy(100).error_at(0.95)
    True
    """
    strategy = counter.plan.strategy
    if isinstance(strategy, Spans) or (isinstance(strategy, Toeplitz) and strategy.decay != 1):
        raise BadParameter("counter", counter, "must be a running total: differences of others are no windows")
    last, size = read_window(t, width)
    return counter.scaled(strategy.window_weight(last, size), size, strategy.terms(last) if size == last else ())
