"""Running totals of many keys at once: a histogram over time, with keys that are listed or that appear later.

Guarantee: for one unit that appears in at most ``steps`` steps, in each with at most ``keys_per_step`` keys, and moves
each of those values by at most ``sensitivity``, all answers together keep ``budget``. With keys that nobody listed the
unit also touches at most ``keys_per_unit`` keys over the whole horizon, and ``delta`` bounds the chance that a key that
only this unit holds is ever named. Proof: release.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answer import Accuracy, Answer
from discreet.continual.counter import (
    Budget,
    Method,
    Rounded,
    cells_of,
    choose,
    plan_for,
    read_method,
    read_stream_budget,
    read_values,
    read_window,
)
from discreet.continual.record import Record
from discreet.continual.release import OverStream, Plan, Stream
from discreet.continual.strategies import Appearances
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, integer
from discreet.mechanisms.statistics.error_bounds import Scaled, Sums
from discreet.mechanisms.statistics.sum_law import Terms
from discreet.privacy.promises.measures import small_probability

Key = Hashable
_MOST_TESTS = 1 << 40  # of unknown keys where there is no last step


@dataclass(frozen=True, slots=True)
class Naming:
    """When a key that nobody listed is named: its noisy total is at least ``alone`` plus an error bar.

    The error bar is that of ``tests`` totals together, all steps of all keys of one unit, at confidence 1 - delta.
    """

    delta: Fraction
    tests: int
    alone: int
    """What one unit can add to one key over the whole horizon."""

    def threshold(self, plan: Plan, t: int) -> float:
        """The least noisy total at which a key is named after t steps."""
        spread = Sums(plan.noise, plan.strategy.weight(t), self.tests).certified_error(1 - self.delta)
        return float(self.alone + ceil(Fraction(spread)) + 1)


class Histogram(OverStream):
    """Made by ``histogram(...)``: push a mapping from key to value for each step, get the noisy totals so far."""

    __slots__ = ("_cell", "_keys", "_named", "_naming", "_places")

    def __init__(self, stream: Stream, keys: Sequence[Key], cell: Fraction, naming: Naming | None) -> None:
        self._stream = stream
        self._keys = list(keys)
        self._places = {key: i for i, key in enumerate(self._keys)}
        self._named: set[Key] = set(keys)
        self._cell = cell
        self._naming = naming

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys that are listed or have been named so far, in the order of their text."""
        return tuple(sorted(self._named, key=lambda key: (type(key).__name__, repr(key))))

    def threshold(self, t: int) -> float:
        """The noisy total at which an unknown key is named after t steps."""
        if self._naming is None:
            raise BadParameter("keys", "listed", "must be unknown for a threshold")
        return self._naming.threshold(self.plan, integer(t, "t", at_least=1)) * float(self._cell)

    def accuracy(self, t: int, width: int | None = None) -> Accuracy:
        """How far the total of one key after t steps may lie off; or the sum of its last ``width`` steps.

        >>> from discreet.privacy.promises.measures import ZCDP
        >>> clinics = histogram(horizon=365, budget=ZCDP("0.1"), keys=["North", "South"])
        >>> clinics.accuracy(100, width=1).error_at(0.95) < clinics.accuracy(100).error_at(0.95)
        True
        """
        last, size = read_window(t, t if width is None else width)
        terms = self.plan.strategy.terms(last) if size == last else ()
        return self._bar(self.plan.strategy.window_weight(last, size), size, 1, terms)

    def _bar(self, weight: Fraction, steps: int, keys: int, terms: Terms) -> Accuracy:
        bar = Sums(self.plan.noise, weight, keys, terms)
        return bar if self._cell == 1 else Rounded(Scaled(bar, self._cell), steps * self._cell / 2)

    def push(self, values: Mapping[Key, Any]) -> Answer:
        """The totals of all known keys after one more step; keys that are not mentioned have added nothing.

        With listed keys, what is under another key is left out; else keys that are not text are. The error bar holds
        for all keys of this step at once; for a key that has just been named it does not allow for the naming itself.
        """
        self._stream.check(1)
        if not isinstance(values, Mapping):
            raise BadData("a step must be a mapping from key to value")
        exact = dict(zip(values, read_values(list(values.values()), self._cell).tolist(), strict=True))
        if self._naming is not None:
            self._welcome([key for key, value in exact.items() if value and isinstance(key, str)])
        line = np.zeros((1, len(self._keys)), dtype=np.int64)
        for key, value in exact.items():
            place = self._places.get(key)
            if place is not None:
                line[0, place] = value
        return self._told(line)

    def _welcome(self, keys: list[str]) -> None:
        """Columns for keys that appear for the first time, with the noise of all steps before."""
        fresh = sorted(key for key in keys if key not in self._places)
        if fresh:
            self._stream.widen(len(fresh))
            for key in fresh:
                self._places[key] = len(self._keys)
                self._keys.append(key)

    def _told(self, line: NDArray[np.int64]) -> Answer:
        t = self.position + 1
        least = None if self._naming is None else self._naming.threshold(self.plan, t)

        def name(out: NDArray[np.float64]) -> dict[str, Any]:
            """Who is named follows from this step's noise, and is recorded with it."""
            if least is None:
                return {}
            self._named |= {key for key, total in zip(self._keys, out[-1].tolist(), strict=True) if total >= least}
            return {"keys": self._keys, "named": sorted(map(str, self._named))}

        totals = self._stream.push(line, name)[0]
        shown = {key: float(totals[self._places[key]]) * float(self._cell) for key in self.keys}
        return Answer(
            value=shown,
            event=self.event,
            cost=self.cost,
            story=(f"{self.plan.strategy.story()}; {self.plan.noise.story()}, for each key", f"step {t}"),
            accuracy=self._bar(self.plan.strategy.weight(t), t, max(1, len(shown)), self.plan.strategy.terms(t)),
        )

    def save(self) -> bytes:
        """The state after the last step; as secret as the data."""
        return self._stream.save()

    def restore(self, record: Record, saved: bytes | None = None) -> Histogram:
        """A histogram with these parameters that goes on where its record stands; an older state is refused."""
        stream, extra = Stream.restored(self.plan, record, saved)
        if self._naming is None:
            return Histogram(stream, self._keys, self._cell, None)
        again = Histogram(stream, extra["keys"], self._cell, self._naming)
        again._named = set(extra["named"])
        return again

    def __repr__(self) -> str:
        return f"Histogram({self.plan.strategy!r}, {self.cost}, position={self.position})"


def histogram(
    *,
    horizon: int | None,
    budget: Budget,
    keys: Iterable[Key] | None = None,
    sensitivity: Number = 1,
    steps: int = 1,
    separation: int = 1,
    keys_per_step: int = 1,
    keys_per_unit: int | None = None,
    delta: Number | None = None,
    method: Method | str = Method.BEST,
    cell: Number = 1,
    record: Record | None = None,
) -> Histogram:
    """Running totals of public ``keys``; or, with ``delta`` in their place, of keys that are named when they are many.

    ``keys_per_step`` and ``keys_per_unit`` say how many keys one unit touches in a step and in all. They hold for a
    unit that is added or removed; to protect one that is changed, count its old keys and its new ones.

    >>> from discreet.privacy.promises.measures import ZCDP
    >>> clinics = histogram(horizon=365, budget=ZCDP("0.1"), keys=["North", "South"])
    >>> sorted(clinics.push({"North": 120, "elsewhere": 3}).value)
    ['North', 'South']
    >>> words = histogram(horizon=365, budget=ZCDP("0.1"), delta="1e-9")
    >>> sorted(words.push({"common": 10_000, "rare": 1}).value), words.event
    (['common'], Interactive(event=ZCDP(rho='1/10', delta='1/1000000000')))
    """
    if (keys is None) == (delta is None):
        raise BadParameter("keys", keys, "must be listed, or delta given for keys that nobody listed, and not both")
    unit = Appearances(steps=steps, separation=separation).within(horizon)
    each, width = cells_of(sensitivity, cell)
    per_step = integer(keys_per_step, "keys_per_step", at_least=1)
    listed = [] if keys is None else list(dict.fromkeys(keys))
    if keys is not None and not listed:
        raise BadParameter("keys", listed, "must hold at least one key")
    paid, naming = read_stream_budget(budget), None
    if delta is not None:
        chance = small_probability(delta)
        if not chance:
            raise BadParameter("delta", delta, "must be above 0: no rule finds keys with delta 0")
        touched = (
            per_step * unit.steps if keys_per_unit is None else integer(keys_per_unit, "keys_per_unit", at_least=1)
        )
        naming = Naming(chance, touched * (horizon or _MOST_TESTS), each * unit.steps)
    strategy = choose(horizon, paid, read_method(method), unit)
    plan = plan_for(strategy, paid, unit, each, keys=per_step, delta=naming.delta if naming else Fraction(0))
    return Histogram(Stream(plan, len(listed), record), listed, width, naming)
