"""A dashboard of a remote curator: what it releases, read over HTTP.

Promise: it is paid once, when it is opened; what comes back was kept by the curator before it was sent. If the reply to
``advance`` is lost, the day is among those that ``history`` shows, and is not read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import quote

from discreet.answer import CONFIDENCE
from discreet.curator.client.transport import Transport
from discreet.errors import BadParameter
from discreet.exact import Number, number


@dataclass(frozen=True, slots=True)
class RemoteDay:
    """A released day, or the sums over the last ``width`` days up to it."""

    day: date
    position: int
    width: int
    rows: tuple[Mapping[str, Any], ...]
    errors: Mapping[str, tuple[float | None, ...]]

    @classmethod
    def of(cls, sent: Mapping[str, Any]) -> RemoteDay:
        """As the curator sends it."""
        rows = tuple(dict(zip(sent["columns"], row, strict=True)) for row in sent["rows"])
        errors = {name: tuple(bars) for name, bars in sent["errors"].items()}
        return cls(date.fromisoformat(sent["day"]), sent["position"], sent["width"], rows, errors)


@dataclass(frozen=True, slots=True)
class RemoteBoard:
    """Made by ``session.continual(...)`` of a remote session: opened, and paid for."""

    transport: Transport
    path: str
    horizon: int
    cost: str

    def advance(self, day: str | date, confidence: Number = CONFIDENCE) -> RemoteDay:
        """Read one more day; a day that was released already (a reply was lost) is given again."""
        text = day.isoformat() if isinstance(day, date) else day
        level = str(number(confidence, "confidence"))
        try:
            sent = self.transport.post(f"{self.path}/advance", {"day": text, "confidence": level})
        except BadParameter:
            again = [released for released in self.history(confidence=confidence) if released.day.isoformat() == text]
            if not again:
                raise
            return again[0]
        return RemoteDay.of(sent)

    def history(self, width: int = 1, confidence: Number = CONFIDENCE) -> tuple[RemoteDay, ...]:
        """All days, or sums over the last ``width`` days up to each; 0: totals. Free."""
        level = quote(str(number(confidence, "confidence")), safe="")
        sent = self.transport.get(f"{self.path}?width={width}&confidence={level}")
        return tuple(map(RemoteDay.of, sent["days"]))
