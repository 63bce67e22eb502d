"""What a check found: the claim, how many neighbours were tried, and the smallest counterexample if there is one.

Promise: a report is a value: it prints the same twice, and holds no data but that of its counterexample, which the
checker made up or the caller gave.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from discreet.shown import brief

_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Two inputs, how far apart they are, what was claimed for that distance, and what is true of them.

    >>> print(Counterexample([1], [], 1, "epsilon 1", "epsilon is at least 2"))
    [1]
        and []
        are 1 apart; claimed epsilon 1; refuted: epsilon is at least 2
    """

    first: Any
    second: Any
    distance: Any
    claimed: str
    shown: str

    def __str__(self) -> str:
        return (
            f"{written(self.first)}\n    and {written(self.second)}\n    are {self.distance} apart; "
            f"claimed {self.claimed}; refuted: {self.shown}"
        )


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a check. ``ok`` says that no counterexample was found among what was tried.

    >>> report = Report("count", "outputs at most 1 apart", "all data of up to 3 rows", tried=100)
    >>> print(report)
    ok: count
      claimed: outputs at most 1 apart
      tried:   100 pairs; all data of up to 3 rows
    """

    __repr__ = brief

    subject: str
    claim: str
    method: str
    tried: int
    counterexample: Counterexample | None = None
    parts: tuple[Report, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing was refuted, here or in a part."""
        return self.counterexample is None and all(part.ok for part in self.parts)

    @property
    def smallest(self) -> Counterexample | None:
        """The counterexample, here or in the first part that has one."""
        if self.counterexample is not None:
            return self.counterexample
        return next((part.smallest for part in self.parts if part.smallest is not None), None)

    def __str__(self) -> str:
        lines = [
            f"{'ok' if self.ok else 'refuted'}: {self.subject}",
            f"  claimed: {self.claim}",
            f"  tried:   {self.tried:,} pairs; {self.method}",
        ]
        if self.counterexample is not None:
            lines.append(f"  counterexample: {self.counterexample}")
        for part in self.parts:
            lines += [f"  {line}" for line in str(part).splitlines()]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data; inputs are written out as Python would print them."""
        example = self.counterexample
        return {
            "ok": self.ok,
            "subject": self.subject,
            "claim": self.claim,
            "method": self.method,
            "tried": self.tried,
            "counterexample": None
            if example is None
            else {
                "first": written(example.first),
                "second": written(example.second),
                "distance": str(example.distance),
                "claimed": example.claimed,
                "shown": example.shown,
            },
            "parts": [part.to_dict() for part in self.parts],
        }

    def to_json(self) -> str:
        """The report as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_html(self) -> str:
        """The report as a piece of HTML."""
        example = self.counterexample
        rows = [("claimed", self.claim), ("tried", f"{self.tried:,} pairs; {self.method}")]
        if example is not None:
            rows += [
                ("counterexample", written(example.first)),
                ("and", written(example.second)),
                ("distance", str(example.distance)),
                ("claimed there", example.claimed),
                ("shown", example.shown),
            ]
        cells = "".join(f"<tr><th>{html.escape(a)}</th><td>{html.escape(b)}</td></tr>" for a, b in rows)
        inside = "".join(part.to_html() for part in self.parts)
        verdict = "ok" if self.ok else "refuted"
        return (
            f'<section class="check {verdict}"><h3>{verdict}: {html.escape(self.subject)}</h3>'
            f"<table>{cells}</table>{inside}</section>"
        )

    def _repr_html_(self) -> str:
        return self.to_html()


def joined(subject: str, parts: Iterable[Report]) -> Report:
    """Several reports as one."""
    reports = tuple(parts)
    return Report(
        subject=subject,
        claim=f"{len(reports)} claims",
        method="each as it says below",
        tried=sum(part.tried for part in reports),
        parts=reports,
    )


def written(data: Any) -> str:
    """Data as Python, cut to a few lines."""
    try:
        text = repr(data)
    except Exception:  # what a caller gives may fail to print
        text = f"a {type(data).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
