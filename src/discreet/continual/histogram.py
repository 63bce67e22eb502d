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
from discreet.continual.caps import Caps, Place
from discreet.continual.counter import (
    FARTHEST,
    AfterSteps,
    Budget,
    Method,
    cells_of,
    choose,
    in_cells,
    plan_for,
    read_method,
    read_rows,
    read_stream_budget,
    read_values,
    read_window,
    stream_name,
)
from discreet.continual.record import Record
from discreet.continual.release import OverStream, Plan, Stream
from discreet.continual.strategies import Appearances
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, integer
from discreet.mechanisms.base.inputs import can_be_looked_up
from discreet.mechanisms.statistics.error_bounds import Sums
from discreet.privacy.promises.measures import small_probability
from discreet.stable.core.canonical import code

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
    """Made by ``histogram(...)``: push a mapping from key to value for each step, or rows; get the totals so far."""

    __slots__ = ("_keys", "_named", "_naming", "_places")

    def __init__(self, stream: Stream, keys: Sequence[Key], caps: Caps, cell: Fraction, naming: Naming | None) -> None:
        super().__init__(stream, caps, cell)
        self._keys = list(keys)
        self._places = {key: i for i, key in enumerate(self._keys)}
        self._named: set[Key] = set(keys)
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
        bar = Sums(self.plan.noise, self.plan.strategy.window_weight(last, size), 1, terms)
        return in_cells(bar, self._cell, size)

    def push(self, values: Mapping[Key, Any]) -> Answer:
        """The totals of all known keys after one more step; keys that are not mentioned have added nothing.

        With listed keys, what is under another key is left out; else keys that are not text are. The error bar holds
        for all keys of this step at once; for a key that has just been named it does not allow for the naming itself.
        """
        with self._stream.lock:
            self._check_values(1)
            if not isinstance(values, Mapping):
                raise BadData("a step must be a mapping from key to value")
            exact = dict(zip(values, read_values(list(values.values()), self._cell).tolist(), strict=True))
            return self._step({self._place(key): value for key, value in exact.items()})

    def push_rows(self, rows: Iterable[tuple[Any, Key, Any]]) -> Answer:
        """The totals after one more step, with these rows of (unit, key, value). Each unit is cut to what was paid for.

        Guarantee: over the whole stream, restored or not, a unit adds no more than ``caps``. Rows that name nobody, or
        have no finite number, are left out. Which of a unit's rows are left out depends on its own rows alone.

        >>> from discreet.privacy.promises.measures import ZCDP
        >>> clinics = histogram(horizon=365, budget=ZCDP(10**6), keys=["North", "South"], sensitivity=5)
        >>> answer = clinics.push_rows([("ann", "North", 9), ("ann", "South", 1), ("bob", "South", 2)])
        >>> {key: round(total) for key, total in answer.value.items()}
        {'North': 5, 'South': 2}
        """
        with self._stream.lock:
            self._stream.check(1)
            read = ((unit, self._place(key), value) for unit, key, value in read_rows(rows, 3, self._cell))
            return self._step(self._take((unit, place, value) for unit, place, value in read if place is not None))

    def _place(self, key: Any) -> Place | None:
        """The column of a key: its place if it is listed, its name if it need not be; None if it is left out."""
        if self._naming is not None:
            return key if isinstance(key, str) else None
        return self._places.get(key) if can_be_looked_up(key) else None

    def _welcome(self, keys: Iterable[str]) -> None:
        """Columns for keys that appear for the first time, with the noise of all steps before."""
        fresh = sorted(key for key in keys if key not in self._places)
        if fresh:
            self._stream.widen(len(fresh))
            for key in fresh:
                self._places[key] = len(self._keys)
                self._keys.append(key)

    def _step(self, sums: Mapping[Place | None, int] | Mapping[Place, int]) -> Answer:
        """One more step, under the lock of the stream."""
        self._welcome(key for key, value in sums.items() if value and isinstance(key, str))
        line = np.zeros((1, len(self._keys)), dtype=np.int64)
        for key, value in sums.items():
            place = self._places.get(key) if isinstance(key, str) else key
            if place is not None:
                line[0, place] = min(max(value, -FARTHEST), FARTHEST)
        t = self.position + 1
        least = None if self._naming is None else self._naming.threshold(self.plan, t)

        def beside(out: NDArray[np.float64]) -> dict[str, Any]:
            """Who is named follows from this step's noise, and is recorded with it."""
            if least is None:
                return {"listed": key_codes(self._keys)} | self._beside() if self._stream.record is not None else {}
            named.update(key for key, total in zip(self._keys, out[-1].tolist(), strict=True) if total >= least)
            return {"keys": self._keys, "named": sorted(map(str, named))} | self._beside()

        named = set(self._named)
        totals = self._stream.go_on(line, beside)[0]
        self._named = named  # not before it is recorded: what was drawn and lost must not be seen
        shown = {key: float(totals[self._places[key]]) * float(self._cell) for key in self.keys}
        return Answer(
            value=shown,
            event=self._event,
            cost=self._cost,
            story=(f"{self._story}, for each key", f"step {t}"),
            accuracy=AfterSteps(self.plan, self._cell, t, max(1, len(shown))),
        )

    def restore(self, record: Record, saved: bytes | None = None) -> Histogram:
        """A histogram with these parameters that goes on where its record stands; an older state is refused.

        Listed keys may come in another order: columns go by the keys that were recorded.
        """
        name = _name(self._caps, self._cell, self._naming)
        stream, extra = Stream.restored(self.plan, record, saved, name=name)
        keys = extra["keys"] if self._naming is not None else _in_order(self._keys, extra["listed"])
        again = Histogram(stream, keys, self._caps, self._cell, self._naming)
        again._load_units(extra)
        if self._naming is not None:
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
        raise BadParameter("keys", keys, "must be listed, or delta given for undeclared keys, and not both")
    unit = Appearances(steps=steps, separation=separation).within(horizon)
    each, width = cells_of(sensitivity, cell)
    per_step = integer(keys_per_step, "keys_per_step", at_least=1)
    listed = [] if keys is None else list(dict.fromkeys(keys))
    if keys is not None and not listed:
        raise BadParameter("keys", listed, "must hold at least one key")
    paid, naming = read_stream_budget(budget), None
    touched = per_step * unit.steps if keys_per_unit is None else integer(keys_per_unit, "keys_per_unit", at_least=1)
    if delta is not None:
        chance = small_probability(delta)
        if not chance:
            raise BadParameter("delta", delta, "must be above 0: no rule finds keys with delta 0")
        naming = Naming(chance, touched * (horizon or _MOST_TESTS), each * unit.steps)
    strategy = choose(horizon, paid, read_method(method), unit)
    plan = plan_for(strategy, paid, unit, each, keys=per_step, delta=naming.delta if naming else Fraction(0))
    caps = Caps(
        steps=unit.steps, separation=unit.separation, keys_per_step=per_step, keys_per_unit=touched, largest=each
    )
    if record is not None and None in map(code, listed):
        raise BadParameter("keys", listed, "must be text, numbers or dates where a record keeps them")
    return Histogram(Stream(plan, len(listed), record, name=_name(caps, width, naming)), listed, caps, width, naming)


def key_codes(keys: Iterable[Key]) -> list[str]:
    """What a record keeps of listed keys, in the order of their columns."""
    return [(code(key) or b"").hex() for key in keys]


def _in_order(keys: Sequence[Key], codes: Sequence[str]) -> list[Key]:
    """The keys in the order in which they were recorded."""
    by_code = dict(zip(key_codes(keys), keys, strict=True))
    if sorted(by_code) != sorted(codes):
        raise BadParameter("keys", "others", "must be those of the stream that was recorded")
    return [by_code[code] for code in codes]


def _name(caps: Caps, cell: Fraction, naming: Naming | None) -> str:
    return stream_name("histogram", caps, cell) + ("" if naming is None else f"{naming!r}; ")
