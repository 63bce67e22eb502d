"""Answers that are there already: those of a session, or of a curator's data set.

Promise: an answer is used again only for the same query after parsing, resolving and lowering, with the same confidence
and the same kind of noise, of the same data, for no higher cost; and it says so. A session looks for one only where it
is asked to (``fresh=False``): without that, each release has fresh noise. What decides is public: the plan,
the costs, and of files their identity, size and time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from discreet.engines.unchanged import source_identity
from discreet.messages import message
from discreet.privacy.promises.measures import Measure
from discreet.query.answer.answer import TableAnswer

MOST_ROWS = 100_000
"""Rows of all answers that a session remembers; the oldest answers go first."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer that is there for nothing."""

    number: int
    time: str
    query: str
    cost: str
    by: str = ""
    data: str | None = None
    """Of which data version, where a curator says it."""
    current: bool = True
    """Whether the data are still of that version."""
    answer: TableAnswer | None = field(default=None, repr=False, compare=False)
    """The answer itself; None for one of a curator, where ``session.answer(number)`` shows it."""

    @staticmethod
    def read(line: Mapping[str, Any], data: str | None) -> StoredAnswer:
        """One as a curator sends it; ``data`` is the data version of now."""
        return StoredAnswer(**line, current=line["data"] == data)


class StoredAnswers(tuple[StoredAnswer, ...]):
    """Answers, the newest first; prints as a list.

    >>> StoredAnswers([StoredAnswer(7, "2025-11-20T10:42:00+00:00", "SELECT 1", "epsilon 1", "ann", "2024", False)])
    7  2025-11-20 10:42  epsilon 1  ann  data 2024, which have changed since  SELECT 1
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(_line, self)) or "no answers yet"


def _line(stored: StoredAnswer) -> str:
    data = "" if stored.data is None else f"data {stored.data}{'' if stored.current else ', which have changed since'}"
    parts = (str(stored.number), stored.time[:16].replace("T", " "), stored.cost, stored.by, data)
    return "  ".join([*filter(None, parts), " ".join(stored.query.split())])


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """What two releases have in common if one answer is good for both, and what this one costs."""

    same: tuple[Any, ...]
    cost: Measure

    @staticmethod
    def of(questions: tuple[Any, ...], cost: Measure, sources: Iterable[object]) -> ReleaseRequest:
        """That of a program, and the sources of its tables."""
        return ReleaseRequest((*questions, *map(source_identity, sources)), cost)

    def covers(self, other: ReleaseRequest) -> bool:
        """Whether an answer to this is one to the other, for at least its cost."""
        mine, its = self.cost, other.cost
        names = [name for name in ("epsilon", "rho", "delta") if hasattr(its, name)]
        most = type(mine) is type(its) and all(getattr(mine, name) >= getattr(its, name) for name in names)
        return most and self.same == other.same


@dataclass(frozen=True, slots=True)
class _PastRelease:
    """What a session remembers of a release."""

    request: ReleaseRequest
    number: int
    time: str
    text: Callable[[], str]
    answer: TableAnswer

    @property
    def rows(self) -> int:
        """How many groups it has, shown or not."""
        return max(1, sum(len(part.keys) for part in self.answer.released))

    @property
    def stored(self) -> StoredAnswer:
        """The same as a list shows it."""
        return StoredAnswer(self.number, self.time, self.text(), self.answer.cost, answer=self.answer)


@dataclass(slots=True)
class Shelf:
    """The last answers of one session. Any number of threads may use it."""

    _kept: list[_PastRelease] = field(default_factory=list)
    _many: int = 0
    _lock: Lock = field(default_factory=Lock)

    def find(self, request: ReleaseRequest) -> TableAnswer | None:
        """The newest answer that is good for this request, with a note that nothing was spent."""
        with self._lock:
            kept = list(self._kept)
        for earlier in reversed(kept):
            if earlier.request.covers(request):
                note = message("answered_before", time=earlier.time)
                return replace(earlier.answer, own_notes=(*earlier.answer.own_notes, note))
        return None

    def keep(self, request: ReleaseRequest, text: Callable[[], str], answer: TableAnswer) -> None:
        """Remember an answer; its text is written when it is listed."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._lock:
            self._many += 1
            self._kept.append(_PastRelease(request, self._many, now, text, answer))
            while len(self._kept) > 1 and sum(kept.rows for kept in self._kept) > MOST_ROWS:
                del self._kept[0]

    def listed(self, search: str = "") -> StoredAnswers:
        """The answers whose query has these words, the newest first."""
        words = search.casefold().split()
        with self._lock:
            kept = [release.stored for release in reversed(self._kept)]
        return StoredAnswers(stored for stored in kept if all(word in stored.query.casefold() for word in words))
