"""When does a running total cross a level? Which keys lead? Asked at every step, paid for the few changes alone.

Guarantee: ε-differentially private for the whole run, however many steps it has: the sparse vector technique answers
"not yet" for free, and ends after as many positive replies as were paid for. For one unit that moves one step's value
of one key by at most ``sensitivity``, or several, by that much in all. Proof: release.md.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from threading import Lock
from typing import NoReturn

from discreet.continual.counter import read_values
from discreet.errors import BadData, BadParameter, NotATheorem
from discreet.exact import Number, integer, number, positive
from discreet.mechanisms.base.inputs import whole
from discreet.mechanisms.base.mechanism import check_receipt
from discreet.mechanisms.selection.above_threshold import AboveThreshold, Run, above_threshold
from discreet.mechanisms.selection.top_k import TopK, top_k
from discreet.privacy.promises import events
from discreet.privacy.promises.receipt import Receipt
from discreet.randomness import SystemBits

Key = Hashable
_WHOLE = Fraction(1)


class Alarm:
    """Made by ``crossing(...)``: push values, hear when the total since the last alarm reaches the level.

    It can be neither copied, nor stored, nor used after a fork. Threads may share it.
    """

    __slots__ = ("_lock", "_mechanism", "_run", "_since", "_steps")

    def __init__(self, mechanism: AboveThreshold, run: Run) -> None:
        self._mechanism = mechanism
        self._run = run
        self._since = 0
        self._steps = 0
        self._lock = Lock()

    @property
    def event(self) -> events.AboveThreshold:
        """What the whole run writes into the ledger, once."""
        return self._mechanism.event

    @property
    def cost(self) -> str:
        """The price in words."""
        return self._mechanism.cost

    @property
    def left(self) -> int:
        """How many alarms are left."""
        return self._run.yes_left

    @property
    def position(self) -> int:
        """How many steps were pushed."""
        return self._steps

    def push(self, value: int) -> bool:
        """Whether the total since the last alarm has reached the level, about."""
        exact = whole(value, "a step's value")
        with self._lock:
            if self._run.ended:
                raise NotATheorem("this alarm has rung as often as was charged for; set another one")
            rang = self._run.ask(self._since + exact)
            self._steps += 1
            self._since = 0 if rang else self._since + exact  # public: everybody hears the alarm
            return rang

    def __reduce__(self) -> NoReturn:
        raise NotATheorem("an alarm can be neither copied nor pickled: two copies would ring for one payment")

    def margin_at(self, confidence: Number, steps: int) -> int:
        """With this confidence no reply of so many steps is wrong about a total at least this far from the level."""
        return self._mechanism.margin_at(confidence, steps)


def crossing(
    *, level: Number, epsilon: Number, sensitivity: int = 1, alarms: int = 1, receipt: Receipt | None = None
) -> Alarm:
    """Rings when the total since the last alarm reaches ``level``, at most ``alarms`` times; a person counts once.

    A unit may raise or lower values, so the discount for answers that all move one way is not taken.

    >>> alarm = crossing(level=1000, epsilon=1)
    >>> [alarm.push(400) for _ in range(2)], alarm.push(5000), alarm.left
    ([False, False], True, 0)
    """
    mechanism = above_threshold(threshold=level, epsilon=epsilon, sensitivity=sensitivity, stop_after=alarms)
    return Alarm(mechanism, mechanism.start(receipt))


@dataclass(frozen=True, slots=True)
class Leading:
    """How ``leaders`` spends: choices of the k leaders, and the tests of whether they still lead."""

    choice: TopK
    test: AboveThreshold
    changes: int

    @property
    def event(self) -> events.Event:
        """One first choice, one run of tests, and one choice for each change."""
        return events.Composed([self.test.event, events.Repeat(self.choice.event, self.changes + 1)])


class Leaders:
    """Made by ``leaders(...)``: push values by key, get the k leading keys, chosen anew when others overtake.

    Each choice was paid for once, so it can be neither copied, nor stored, nor used after a fork. Threads may share it.
    """

    __slots__ = ("_leading", "_lock", "_names", "_plan", "_process", "_receipt", "_run", "_totals")

    def __init__(self, plan: Leading, keys: Sequence[Key], run: Run, receipt: Receipt | None = None) -> None:
        self._plan = plan
        self._receipt = receipt
        self._lock = Lock()
        self._process = os.getpid()
        self._names = tuple(keys)
        self._totals = dict.fromkeys(keys, 0)
        self._run = run
        self._leading: tuple[Key, ...] | None = None

    @property
    def event(self) -> events.Event:
        """What the whole run writes into the ledger, once."""
        return self._plan.event

    @property
    def changes_left(self) -> int:
        """How many times the leaders may still be chosen anew."""
        return self._run.yes_left

    def push(self, values: Mapping[Key, int]) -> tuple[Key, ...]:
        """The leaders after one more step. When no changes are left, those chosen last stay."""
        if not isinstance(values, Mapping):
            raise BadData("a step must be a mapping from key to value")
        exact = dict(zip(values, read_values(list(values.values()), _WHOLE).tolist(), strict=True))
        with self._lock:
            if os.getpid() != self._process:
                raise NotATheorem("leaders belong to the process that opened them; open others here")
            if self._receipt is not None and self._receipt.ended:
                raise NotATheorem("these leaders were closed, and something else may have been asked; open others")
            for key, value in exact.items():
                if key in self._totals:
                    self._totals[key] += value
            if self._leading is None or (not self._run.ended and self._run.ask(self._lag())):
                chosen = self._plan.choice.draw(self._plan.choice.read(list(self._totals.values())), SystemBits())
                self._leading = tuple(self._names[i] for i in chosen)
            return self._leading

    def __reduce__(self) -> NoReturn:
        raise NotATheorem("leaders can be neither copied nor pickled: two copies would choose twice for one payment")

    def _lag(self) -> int:
        """How far the best of the others is ahead of the last of the leaders."""
        inside = set(self._leading or ())
        return max(v for k, v in self._totals.items() if k not in inside) - min(self._totals[k] for k in inside)


def leaders(
    *,
    keys: Sequence[Key],
    k: int,
    epsilon: Number,
    margin: Number,
    changes: int,
    sensitivity: int = 1,
    receipt: Receipt | None = None,
) -> Leaders:
    """The k leading keys over time: chosen at the first step, and again when another key is ahead by ``margin``.

    Half of epsilon goes to the tests, half to the ``changes`` + 1 choices.

    >>> race = leaders(keys=["a", "b", "c"], k=1, epsilon=2, margin=500, changes=1)
    >>> race.push({"a": 1000}), race.push({"b": 9000}), race.changes_left
    (('a',), ('b',), 0)
    """
    names = list(dict.fromkeys(keys))
    count = integer(k, "k", at_least=1)
    if len(names) <= count:
        raise BadParameter("keys", names, f"must be more than k, which is {count}")
    share, times = positive(epsilon, "epsilon") / 2, integer(changes, "changes", at_least=1)
    moved = integer(sensitivity, "sensitivity", at_least=1)
    plan = Leading(
        top_k(k=count, sensitivity=moved, epsilon=share / (times + 1)),
        above_threshold(threshold=ceil(number(margin, "margin")), epsilon=share, sensitivity=moved, stop_after=times),
        times,
    )
    if receipt is not None:
        check_receipt(receipt).redeem(plan.event)
    return Leaders(plan, names, plan.test.start(), receipt)
