"""The answers of a data set that were paid for, and which of them answers a query again.

Promise: whether an answer is used again follows from the plan, the price and the data version alone. The plan is taken
after parsing, resolving and lowering, with what the owner declared; the data version is the owner's word, or what the
files look like from outside. Nothing of a row is read for it. What is handed out was stored, is checked against its
signed card, and has to be asked for under today's permissions. Where answers are kept apart, they are one's own.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from discreet.curator.error_replies import Refusal
from discreet.curator.service.questions import AnyQuestion
from discreet.errors import LedgerMismatch, LedgerUnavailable, NotRegistered
from discreet.ledger.charges import Charge, priced
from discreet.ledger.records import ChargeRecord
from discreet.ledger.state import Dataset
from discreet.ledger.store import Ledger
from discreet.privacy.budgets.currency import Amounts
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Measure
from discreet.query.estimate.prepare import Prepared
from discreet.query.plan.fingerprint import fingerprint
from discreet.session.program import Program

SAME = "same_as"
"""What a ledger keeps of a charge, beside its parameters: the hash of the plan, and the data version."""
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Sameness:
    """What two queries have in common if one answer is good for both."""

    plan: str
    data: str
    rows: tuple[str, ...] = field(default=(), compare=False)
    """Hashes of the rows that are counted in each grouping set: what another answer may follow from."""

    @staticmethod
    def rows_of(prepared: Sequence[Prepared]) -> tuple[str, ...]:
        """The rows, with how many of one unit count, of each grouping set."""
        return tuple(fingerprint(part.whole, part.caps)[:16] for planned in prepared for part in planned.parts)

    @staticmethod
    def plan_of(question: AnyQuestion, program: Program, about: Mapping[str, Any]) -> str:
        """The hash of a query that is planned, with what the owner declared: how it was written does not count."""
        split = None if question.price.error is None else [str(error) for error in _listed(question.price.error)]
        level = str(question.price.confidence)
        return fingerprint(type(question).__name__, program.questions, split, level, about["tables"])

    @staticmethod
    def read(parameters: Mapping[str, Any]) -> Sameness | None:
        """As a ledger keeps it; None for what an older version charged."""
        kept = parameters.get(SAME)
        return None if kept is None else Sameness(kept["plan"], kept["data"], tuple(kept["rows"]))


def _listed(error: Any) -> Sequence[Any]:
    """The errors that were asked for, where there are several: they decide how a price is split."""
    if isinstance(error, Mapping):
        return sorted(error.items())
    return error if isinstance(error, tuple | list) else ()


@dataclass(frozen=True, slots=True)
class _KnownCharge:
    """What is remembered of a charge."""

    number: int
    by: str
    query: str
    price: Amounts
    same: Sameness


@dataclass(slots=True)
class Library:
    """The charges of one ledger, as far as this process has read them; answers stay in the ledger."""

    ledger: Ledger
    _charges: dict[str, list[_KnownCharge]] = field(default_factory=dict)
    """By data set, the oldest first."""
    _read: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def find(self, analyst: str, dataset: Dataset, same: Sameness, price: Event | Measure) -> Charge | None:
        """A stored answer to the same query of the same data that was paid for with at least this; the dearest one.

        LedgerMismatch if it is not the one that was signed: then nothing is handed out.
        """
        _, least = priced(self.ledger.look(), dataset.name, analyst, price)
        enough = [kept for kept in self._of(dataset, analyst) if kept.same == same and _covers(kept.price, least)]
        for kept in sorted(enough, key=lambda kept: (kept.price, kept.number), reverse=True):
            charge = self._answered(kept)
            if charge is not None:
                return charge
        return None

    def about(self, analyst: str, dataset: Dataset, data: str, rows: tuple[str, ...]) -> Iterator[Charge]:
        """Stored answers about the same rows of the same data, the dearest first."""
        every = [kept for kept in self._of(dataset, analyst) if kept.same.data == data and {*rows} <= {*kept.same.rows}]
        for kept in sorted(every, key=lambda kept: (kept.price, kept.number), reverse=True):
            with suppress(LedgerMismatch):
                charge = self._answered(kept)
                if charge is not None:
                    yield charge

    def listed(
        self, analyst: str | None, dataset: Dataset, search: str = "", before: int | None = None
    ) -> Iterator[Charge]:
        """The answers about a data set whose query has these words, the newest first; None: for who reads all."""
        words = search.casefold().split()
        for kept in reversed(self._of(dataset, analyst)):
            fits = all(word in kept.query.casefold() for word in words)
            if fits and (before is None or kept.number < before):
                with suppress(LedgerMismatch):  # it is not what was signed, and stays where it is
                    charge = self._answered(kept)
                    if charge is not None:
                        yield charge

    @staticmethod
    def shares(charge: Charge, dataset: Dataset) -> bool:
        """Whether all who may ask about the data set may see this answer, whichever analyst paid for it."""
        record = charge.record
        is_shared = Sameness.read(record.parameters) is not None and record.population == dataset.population
        return is_shared and charge.answer is not None and not dataset.about.get("answers_apart")

    def _of(self, dataset: Dataset, analyst: str | None) -> list[_KnownCharge]:
        """What an analyst may see of a data set about which they may ask."""
        self._catch_up()
        every = list(self._charges.get(dataset.name, ()))
        if analyst is None or not dataset.about.get("answers_apart"):
            return every
        return [kept for kept in every if kept.by == analyst]

    def _answered(self, kept: _KnownCharge) -> Charge | None:
        """The charge with its answer, if there is one and it is of the data that it was meant for."""
        try:
            charge = self.ledger.charge(kept.number)
        except NotRegistered:
            return None
        if charge.answer is None:
            return None
        stored = read_answer(charge)
        return None if "error" in stored or stored.get("data_changed") else charge

    def _catch_up(self) -> None:
        """Read what was charged since, by whichever server."""
        with self._lock:
            while self._read < (now := self.ledger.look().sequence):
                lines = self.ledger.entries(after=self._read, limit=_PAGE, kind=ChargeRecord.KIND)
                for line in lines:
                    record = ChargeRecord.read(line.entry)
                    same = Sameness.read(record.parameters)
                    if same is not None:
                        kept = _KnownCharge(line.entry.sequence, line.entry.by, record.query, record.price, same)
                        self._charges.setdefault(record.dataset, []).append(kept)
                last = lines[-1].entry.sequence if lines else 0
                self._read = last if len(lines) == _PAGE else max(now, last)


def _covers(paid: Amounts, price: Amounts) -> bool:
    return len(paid) == len(price) and all(most >= least for most, least in zip(paid, price, strict=True))


def read_answer(charge: Charge) -> dict[str, Any]:
    """The stored answer of a charge."""
    if charge.answer is None:
        raise LedgerUnavailable("this query has no stored answer")
    answer: dict[str, Any] = json.loads(charge.answer)
    return answer


def check_no_job(parts: Collection[str]) -> None:
    """Refuse to show what a job has stored as an answer to a question."""
    for kind, what in (("synthetic", "synthetic rows"), ("published", "tables")):
        if kind in parts:
            raise Refusal(404, "NotFound", f"this was charged for {what}: look at /api/{kind} and its number")
