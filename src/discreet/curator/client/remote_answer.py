"""Remote previews and answers, read like those of a local session.

Promise: nothing here draws, spends or asks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn

from discreet.errors import BadParameter, Unsupported
from discreet.exact import Number, number
from discreet.messages import Message
from discreet.query.answer.answer_base import Answered, Row
from discreet.query.answer.preview import ColumnPreview, Preview
from discreet.query.estimate.prepare import Clip


@dataclass(frozen=True, slots=True, repr=False)
class RemotePreview(Preview):
    """What a release would cost, and the error bars that it would have; and how it would be made."""

    story: tuple[str, ...] = ()
    reply: Mapping[str, Any] = field(default_factory=dict)
    """The whole reply of the curator."""

    @staticmethod
    def of(reply: Mapping[str, Any]) -> RemotePreview:
        """From the reply of a curator."""
        columns = tuple(
            ColumnPreview(
                column["name"],
                math.inf if column["error"] is None else float(column["error"]),
                column["rows"],
                column["unit"],
                column.get("evenly", False),
                column.get("relative"),
            )
            for column in reply["columns"]
        )
        left = reply["left_after"]["text"] if reply["affordable"] else reply["remaining"]
        return RemotePreview(
            columns=columns,
            confidence=float(reply["confidence"]),
            cost=str(reply["cost"]),
            remaining=str(left),
            affordable=bool(reply["affordable"]),
            more=reply.get("more"),
            noise=reply["noise"],
            named_from=reply["named_from"],
            advice=reply["advice"],
            notes=tuple(map(Message.read, reply.get("notes", ()))),
            shares=tuple((share["what"], share["share"]) for share in reply.get("shares", ())),
            story=tuple(reply["story"]),
            reply=reply,
        )

    def _price(self) -> str:
        line, earlier = Preview._price(self), self.reply.get("earlier")
        return line if earlier is None else f"free: answered at {earlier['time']}; fresh=True {line}"

    def as_dict(self) -> dict[str, Any]:
        """The whole reply of the curator."""
        return dict(self.reply)


@dataclass(frozen=True, repr=False)
class RemoteAnswer(Answered):
    """Rows with error bars, a signed receipt and a signed release card; read like an answer of a ``Session``."""

    reply: Mapping[str, Any]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.reply["answer"]["columns"])

    @property
    def rows(self) -> list[Row]:
        """All rows, as dictionaries."""
        return [dict(row) for row in self._kept]

    @cached_property
    def _kept(self) -> list[Row]:
        read = [self._reader(name) for name in self.columns]
        return [
            {name: f(value) for name, f, value in zip(self.columns, read, row, strict=True)}
            for row in self.reply["answer"]["rows"]
        ]

    @property
    def cost(self) -> str:
        """What was paid, in words."""
        return str(self.reply["answer"]["cost"])

    @property
    def story(self) -> tuple[str, ...]:
        """How it was made."""
        return tuple(self.reply["answer"]["story"])

    @property
    def clipped(self) -> tuple[Clip, ...]:
        """To what contributions of one unit were scaled down, where the query chose that."""
        return tuple(Clip.read(clip) for clip in self.reply["answer"].get("clipped", ()))

    @property
    def notes(self) -> tuple[Message, ...]:
        """What a reader must know of the numbers, worst first; an older version stored sentences."""
        answer = self.reply["answer"]
        return tuple(map(Message.read, (*filter(None, [answer.get("counted")]), *answer.get("notes", ()))))

    def _cost_and_story(self) -> tuple[str, tuple[str, ...]]:
        return self.cost, self.story

    @property
    def number(self) -> int:
        """The number of its charge in the ledger."""
        return int(self.reply["number"])

    @property
    def paid_before(self) -> bool:
        """Whether an earlier release paid for it, of this query or with this key: this one cost nothing."""
        return bool(self.reply.get("paid_before", False))

    @property
    def time(self) -> str:
        """When it was paid for."""
        return str(self.reply["time"])

    @property
    def data(self) -> str | None:
        """Of which data version: the owner's word, or a hash of what the files looked like; None if it is not known."""
        version: str | None = self.reply.get("data")
        return version

    def _first_line(self, confidence: Number) -> str:
        line = super()._first_line(confidence)
        return f"answered at {self.time}, nothing was spent now; then {line}" if self.paid_before else line

    @property
    def receipt(self) -> str:
        """The signed receipt; check it with ``discreet receipt verify``. Where another analyst paid, it is theirs."""
        if self.reply["receipt"] is None:
            raise Unsupported("the receipt of another analyst", "the release card is there: answer.card")
        return str(self.reply["receipt"])

    @property
    def card(self) -> str:
        """The signed release card."""
        return str(self.reply["card"])

    @property
    def event(self) -> NoReturn:
        """Does not travel by itself: the signed receipt has it."""
        raise Unsupported(
            "event of a remote answer", "discreet.ledger.verify_receipt(answer.receipt, key).event has it"
        )

    @property
    def _level(self) -> Fraction:
        return number(self.reply["answer"]["confidence"], "confidence")

    def errors(self, confidence: Number | None = None, *, simultaneous: bool = False) -> dict[str, list[float | None]]:
        """For each column of numbers, how far each value may be off, with the confidence that was asked for."""
        self._check_level(confidence)
        return dict(self.reply["answer"]["errors_together" if simultaneous else "errors"])

    def intervals(
        self, confidence: Number | None = None, *, simultaneous: bool = False
    ) -> dict[str, list[tuple[Any, Any] | None]]:
        """For each column of numbers, an interval per row, with the confidence that was asked for.

        With ``simultaneous``, all hold together. Answers that were stored without such intervals have them from their
        error bars: as far on the shorter side as on the longer.
        """
        self._check_level(confidence)
        stored = self.reply["answer"].get("intervals_together" if simultaneous else "intervals", {})
        if simultaneous and not stored:
            bars = self.errors(simultaneous=True)
            return {name: [_around(*pair) for pair in zip(self[name], bars[name], strict=True)] for name in bars}
        intervals: dict[str, list[tuple[Any, Any] | None]] = {}
        for name, column in stored.items():
            read = self._reader(name)
            intervals[name] = [None if pair is None else (read(pair[0]), read(pair[1])) for pair in column]
        return intervals

    def _bins(self) -> dict[str, float]:
        """Keys that are the lower ends of bins, and how wide these are."""
        return dict(self.reply["answer"].get("bins", {}))

    def _check_level(self, confidence: Number | None) -> None:
        if confidence is not None and _exact(confidence, "confidence") != self._level:
            raise BadParameter("confidence", confidence, f"must be {self._level}: the answer was asked for with that")

    def consistent(self) -> RemoteAnswer:
        """The same answer with values that can be true together; costs nothing, and nothing is asked.

        The curator has stored them with the answer: what ``TableAnswer.consistent()`` gives there.
        """
        answer = self.reply["answer"]
        if answer.get("agrees"):
            return self
        other = answer.get("consistent")
        if other is None:
            raise Unsupported("consistent() of this answer", "it was stored without numbers that agree; ask again")
        return RemoteAnswer({**self.reply, "answer": {**answer, **other, "agrees": True}})

    def _reader(self, name: str) -> Callable[[Any], Any]:
        """What makes a value of a column from its JSON."""
        return _READ.get(self.reply["answer"].get("kinds", {}).get(name), _as_is)


def answers_of(reply: Mapping[str, Any]) -> tuple[RemoteAnswer, ...]:
    """The answers in a reply: those of a workload, or one. All have the number and the papers of the one charge."""
    many = reply["answer"].get("answers", [reply["answer"]])
    return tuple(RemoteAnswer({**reply, "answer": part}) for part in many)


_CALENDAR = 10_000_000
"""Days: more than there are."""


def _around(value: Any, error: float | None) -> tuple[Any, Any] | None:
    """All that is no farther off; dates and times: in days, whole ones for dates."""
    if value is None or error is None:
        return None
    if isinstance(value, datetime):
        far = timedelta(days=min(error, _CALENDAR)) + timedelta(microseconds=1)
    elif isinstance(value, date):
        far = timedelta(days=math.ceil(min(error, _CALENDAR)))
    else:
        return value - error, value + error
    try:
        return value - far, value + far
    except OverflowError:  # beyond the calendar
        return None


def _as_is(value: Any) -> Any:
    return value


def _maybe(read: Callable[[str], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


_READ: Mapping[str | None, Callable[[Any], Any]] = {
    "date": _maybe(date.fromisoformat),
    "timestamp": _maybe(datetime.fromisoformat),
}


def _exact(value: Number, name: str) -> Fraction:
    return number(str(value) if isinstance(value, float) else value, name)
