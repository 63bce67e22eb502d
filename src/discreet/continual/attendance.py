"""On how many days each unit has been counted: the cap on days, kept exactly.

Guarantee: over any number of steps a unit is counted in at most ``most`` of them. Whether it is counted in a step
depends on its own earlier steps alone, so the others are counted the same with it or without it. Proof: by_day.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from discreet.query.plan.types import Value


class Attendance:
    """Steps used up by each unit. It names people: as secret as the data.

    >>> seen = Attendance(most=2)
    >>> [seen.count({"ann"}), seen.count({"ann", "bob"}), seen.count({"ann", "bob"})]
    [{'ann'}, ..., {'bob'}]
    """

    __slots__ = ("_most", "_used")

    def __init__(self, most: int, used: Mapping[Value, int] | None = None) -> None:
        self._most = most
        self._used: dict[Value, int] = dict(used or {})

    def count(self, units: Iterable[Value]) -> set[Value]:
        """Which of the units of a step are counted; for each of them one more step is used up."""
        counted = {unit for unit in units if self._used.get(unit, 0) < self._most}
        for unit in counted:
            self._used[unit] = self._used.get(unit, 0) + 1
        return counted

    def state(self) -> dict[str, Any]:
        """For JSON: units are whole numbers or text."""
        return {"units": list(self._used), "steps": list(self._used.values())}

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self._used = dict(zip(state["units"], state["steps"], strict=True))
