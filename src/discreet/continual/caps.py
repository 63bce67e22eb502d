"""Rows of people over time -> one exact value for each key and step, with every unit capped over the whole stream.

Guarantee: whatever rows a unit has, it appears in at most ``steps`` steps, at least ``separation`` apart, in each with
at most ``keys_per_step`` keys, in all with at most ``keys_per_unit`` keys, and its values for one key in one step add
up to at most ``largest`` in size. What is kept of one unit depends on its own rows alone, in their order, so the rows
of others are kept the same with it or without it. Rows whose unit names nobody (unit_id.py) are left out. What was used
up is part of the stream's state, and recorded with each step. Proof: release.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from discreet.exact import integer
from discreet.unit_id import unit_id

Place = int | str
"""A column of a stream: by its place, or by the name of a key that nobody listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """How much one unit may add over a whole stream; ``largest`` in cells."""

    steps: int = 1
    separation: int = 1
    keys_per_step: int = 1
    keys_per_unit: int = 1
    largest: int = 1

    def __post_init__(self) -> None:
        for name in ("steps", "separation", "keys_per_step", "keys_per_unit", "largest"):
            integer(getattr(self, name), name, at_least=1)


@dataclass(slots=True)
class Used:
    """What one unit has used up: how many steps, which one was the last, and its keys."""

    steps: int
    last: int
    keys: list[Place]


class Capped:
    """What each unit has used up so far; ``take`` turns the rows of a step into exact values by key.

    It names people: as secret as the data. A stream has one, and records it with each step (``push_rows``).

    >>> capped = Capped(Caps(steps=2, largest=3))
    >>> rows = [("ann", "North", 2), ("ann", "North", 5), ("ann", "South", 1), ("bob", "North", -9)]
    >>> capped.take(rows), capped.take(rows), capped.take(rows)
    ({'North': 0}, {'North': 0}, {})
    """

    __slots__ = ("_caps", "_taken", "_used")

    def __init__(self, caps: Caps) -> None:
        self._caps = caps
        self._taken = 0
        self._used: dict[bytes, Used] = {}

    def take(self, rows: Iterable[tuple[Any, Place, int]]) -> dict[Place, int]:
        """The exact sums of the next step. A row that is over a cap, or nobody's, is left out."""
        caps = self._caps
        self._taken += 1
        here: dict[bytes, dict[Place, int]] = {}
        for unit, key, value in rows:
            whose = unit_id(unit)
            if whose is None or not self._may_appear(whose):
                continue
            sums = here.setdefault(whose, {})
            if key not in sums:
                keys = self._used[whose].keys if whose in self._used else []
                fresh = sum(place not in keys for place in sums) + (key not in keys)
                if len(sums) >= caps.keys_per_step or len(keys) + fresh > caps.keys_per_unit:
                    continue
            sums[key] = sums.get(key, 0) + value
        totals: dict[Place, int] = {}
        for whose, sums in here.items():
            if sums:
                self._use(whose, sums)
            for key, value in sums.items():
                totals[key] = totals.get(key, 0) + min(max(value, -caps.largest), caps.largest)
        return totals

    def _may_appear(self, whose: bytes) -> bool:
        used = self._used.get(whose)
        if used is None:
            return True
        return used.steps < self._caps.steps and self._taken - used.last >= self._caps.separation

    def _use(self, whose: bytes, sums: Iterable[Place]) -> None:
        used = self._used.setdefault(whose, Used(0, 0, []))
        used.steps, used.last = used.steps + 1, self._taken
        used.keys += [key for key in sums if key not in used.keys]

    def state(self) -> dict[str, Any]:
        """What was used up, for JSON."""
        return {whose.hex(): [used.steps, used.last, used.keys] for whose, used in self._used.items()}

    @classmethod
    def restored(cls, caps: Caps, taken: int, state: dict[str, Any]) -> Capped:
        """As it was after so many steps. Whoever calls this has checked that the state is the last one."""
        capped = cls(caps)
        capped._taken = taken
        capped._used = {bytes.fromhex(whose): Used(*used) for whose, used in state.items()}
        return capped
