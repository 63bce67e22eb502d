"""Rows of people over time -> one exact value for each key and step, with every unit capped over the whole horizon.

Guarantee: whatever rows a unit has, it appears in at most ``steps`` steps, in each with at most ``keys_per_step`` keys,
in all with at most ``keys_per_unit`` keys, and its values for one key in one step add up to at most ``largest`` in
size. What is kept of one unit depends on its own rows alone, in their order, so the rows of others are kept the same
with it or without it. Rows without a unit (None, NaN) are left out, since nobody can tell whose they are. Proof:
release.md.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import BadData
from discreet.exact import integer
from discreet.mechanisms.base.inputs import whole

Row = tuple[Hashable, Hashable, Any]
"""Unit, key, value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """How much one unit may add over the horizon."""

    steps: int = 1
    keys_per_step: int = 1
    keys_per_unit: int = 1
    largest: int = 1

    def __post_init__(self) -> None:
        for name in ("steps", "keys_per_step", "keys_per_unit", "largest"):
            integer(getattr(self, name), name, at_least=1)


class Capped:
    """What each unit has used up so far; ``take`` turns the rows of a step into exact values by key.

    >>> capped = Capped(Caps(steps=2, largest=3))
    >>> rows = [("ann", "North", 2), ("ann", "North", 5), ("ann", "South", 1), ("bob", "North", -9)]
    >>> capped.take(rows), capped.take(rows), capped.take(rows)
    ({'North': 0}, {'North': 0}, {})
    """

    __slots__ = ("_caps", "_keys", "_steps")

    def __init__(self, caps: Caps) -> None:
        self._caps = caps
        self._steps: dict[Hashable, int] = {}
        self._keys: dict[Hashable, list[Hashable]] = {}

    @property
    def caps(self) -> Caps:
        """What is allowed."""
        return self._caps

    def take(self, rows: Iterable[Row]) -> dict[Hashable, int]:
        """The exact sums of one step. A row that is over a cap is left out."""
        sums: dict[Hashable, dict[Hashable, int]] = {}
        for row in rows:
            if not isinstance(row, tuple) or len(row) != 3:
                raise BadData("rows must be tuples of unit, key and value")
            unit, key, value = row
            exact = whole(value, "a row's value")
            if unit is not None and not (isinstance(unit, float | np.floating) and np.isnan(unit)):
                self._add(sums, unit, key, exact)
        totals: dict[Hashable, int] = {}
        for unit, added in sums.items():
            self._steps[unit] = self._steps.get(unit, 0) + 1
            for key, value in added.items():
                totals[key] = totals.get(key, 0) + min(max(value, -self._caps.largest), self._caps.largest)
        return totals

    def _add(self, sums: dict[Hashable, dict[Hashable, int]], unit: Hashable, key: Hashable, value: int) -> None:
        if self._steps.get(unit, 0) >= self._caps.steps:
            return
        here, ever = sums.setdefault(unit, {}), self._keys.setdefault(unit, [])
        if key not in here:
            if len(here) >= self._caps.keys_per_step or (key not in ever and len(ever) >= self._caps.keys_per_unit):
                return
            if key not in ever:
                ever.append(key)
        here[key] = here.get(key, 0) + value

    def save(self) -> bytes:
        """What was used up, for units and keys that are text; as secret as the data."""
        names = [*self._steps, *(key for keys in self._keys.values() for key in keys)]
        if not all(isinstance(name, str) for name in names):
            raise BadData("units and keys must be text to be saved")
        return json.dumps({"steps": self._steps, "keys": self._keys}).encode()

    @classmethod
    def restore(cls, caps: Caps, saved: bytes) -> Capped:
        """Go on from what was saved."""
        body = json.loads(saved)
        capped = cls(caps)
        capped._steps, capped._keys = dict(body["steps"]), {unit: list(keys) for unit, keys in body["keys"].items()}
        return capped
