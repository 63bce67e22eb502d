"""A session's budget, kept in the durable ledger.

Promise: ``spend`` returns only after the charge is durable, under the budget of the people and the cap of the analyst
both. A key that was charged before is never charged again: ``AlreadyCharged`` carries what was stored for it, and
nothing is read or drawn.

Dashboards are kept there too. A dashboard is paid once, before its first day is read. A day's state is kept before its
answer leaves, and no position is kept twice: after a crash the last state that was kept gives the answers that were
drawn, or the day is read again and nobody has seen what was drawn. Any other state is refused. The position and the
hash of the state are in the chain; the state itself, which is as secret as the data, is a file beside the ledger that
only its owner can read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from discreet.answer import CONFIDENCE
from discreet.errors import BadParameter, KeyReused, LedgerUnavailable, ReceiptRefused, StaleState
from discreet.ledger.charges import Charge
from discreet.ledger.durable_files import create_file
from discreet.ledger.entries import canonical
from discreet.ledger.records import StreamRecord
from discreet.ledger.standing import Quote, Standing
from discreet.ledger.state import StreamPosition
from discreet.ledger.store import Ledger
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.receipt import Receipt
from discreet.query.answer.serialize import dump


class AlreadyCharged(Exception):
    """This question was charged before, under the same key."""

    def __init__(self, charge: Charge) -> None:
        self.charge = charge
        super().__init__()


class LedgerBudget:
    """What one analyst may spend on one data set, by one question with its key."""

    def __init__(
        self,
        ledger: Ledger,
        dataset: str,
        analyst: str,
        *,
        key: str,
        query: str,
        parameters: Mapping[str, Any],
    ) -> None:
        self._ledger = ledger
        self._dataset = dataset
        self._analyst = analyst
        self._question = {"key": key, "query": query, "parameters": parameters}
        self._quoted: tuple[Event | Measure, Quote] | None = None
        self.charge: Charge | None = None
        """The charge that was made, once there is one."""

    @property
    def remaining(self) -> Measure:
        """What is left to the analyst."""
        return self._standing.remaining

    @property
    def remaining_by_account(self) -> tuple[Measure, ...]:
        """What is left to the analyst of each sum that is counted."""
        return self._standing.accounts

    @property
    def _standing(self) -> Standing:
        return self._ledger.standing(self._ledger.datasets[self._dataset].population, self._analyst)

    def fits(self, what: Event | Measure) -> bool:
        """Whether this could be paid now."""
        return self.affords(what)

    def affords(self, what: Event | Measure) -> bool:
        """Whether this could be paid now, as a new question."""
        return self.quote(what).fits

    def quote(self, what: Event | Measure) -> Quote:
        """What this would do to the budget. The last one is remembered: a preview asks twice."""
        if self._quoted is None or self._quoted[0] is not what:
            self._quoted = what, self._ledger.quote(self._dataset, self._analyst, what)
        return self._quoted[1]

    def times(self, what: Event | Measure) -> int:
        """How often this could be paid from now on."""
        return self.quote(what).times

    def after(self, what: Event | Measure) -> Measure:
        """What would be left after this payment; what is left now, if it cannot be paid."""
        effect = self.quote(what)
        return effect.left if effect.left_after is None else effect.left_after

    def check_new(self) -> None:
        """Raise AlreadyCharged if this key was charged before, KeyReused if that was for another question."""
        charge = self._ledger.charge_of(self._analyst, str(self._question["key"]))
        if charge is not None:
            paid, wanted = charge.record, (self._dataset, self._question["query"], self._question["parameters"])
            if (paid.dataset, paid.query, paid.parameters) != wanted:
                raise KeyReused("this key was used for another query: choose a new one")
            raise AlreadyCharged(charge)

    def spend(self, what: Event | Measure) -> Receipt:
        """Pay durably, or raise OverBudget; AlreadyCharged if this key was charged before."""
        charge = self._ledger.spend(self._dataset, self._analyst, what, **self._question)  # type: ignore[arg-type]
        if not charge.fresh:
            raise AlreadyCharged(charge)
        self.charge = charge
        if charge.receipt is None:  # a fresh charge always has one
            raise ReceiptRefused("the ledger gave no receipt")
        return charge.receipt


class RetryBudget(LedgerBudget):
    """The budget for a question that may have been asked before: only ``spend`` decides, in one step."""

    paid: Callable[[int], None] = staticmethod(lambda _: None)
    """Called with the number of the charge, once it is durable."""
    noted: Mapping[str, Any] | None = None
    """What is kept beside the parameters, once that is known."""

    def note(self, more: Mapping[str, Any]) -> None:
        """Keep this beside the parameters of the question: it is part of what the key is bound to."""
        self._question = {**self._question, "parameters": {**self._question["parameters"], **more}}  # type: ignore[dict-item]
        self.noted = more

    def spend(self, what: Event | Measure) -> Receipt:
        """Pay durably, then say so."""
        receipt = super().spend(what)
        if self.charge is not None:
            self.paid(self.charge.sequence)
        return receipt

    def fits(self, what: Event | Measure) -> bool:
        """Always: a key that was charged before needs no budget."""
        return True


# --- dashboards ------------------------------------------------------------------------------------------------------


class LedgerBoard:
    """A dashboard in a ledger: the stream ``name`` of one analyst, for one question with its parameters."""

    before_kept: Callable[[], None] = staticmethod(lambda: None)
    """Called before a day is kept, when all of it is computed: how long that took must not show."""

    def __init__(
        self,
        ledger: Ledger,
        dataset: str,
        analyst: str,
        *,
        name: str,
        query: str,
        parameters: Mapping[str, Any],
        folder: Path,
    ) -> None:
        self._ledger = ledger
        self._dataset = dataset
        self._analyst = analyst
        self._name = stream_name(analyst, dataset, name)
        self._question = query, dict(parameters)
        self._folder = folder / hashlib.sha256(self._name.encode()).hexdigest()[:32]

    @property
    def budget_store(self) -> LedgerBudget:
        """What pays for it, once: the key is that of the dashboard."""
        query, parameters = self._question
        return LedgerBudget(
            self._ledger, self._dataset, self._analyst, key=_key(self._name), query=query, parameters=parameters
        )

    def pay(self, price: Event | Measure) -> None:
        """Charge the whole horizon and open the stream, unless that was done."""
        if self._position() is not None:
            return
        budget_store = self.budget_store
        try:
            budget_store.spend(price).redeem(price)
            charge = budget_store.charge
        except AlreadyCharged as before:
            charge = before.charge
            if self._ledger.look().acknowledged:
                raise StaleState(
                    "this dashboard was charged, and the ledger was set back since: it may have answered already; open "
                    "another one"
                ) from None
        assert charge is not None  # noqa: S101
        if charge.fresh:
            opening = {"answers": [], "confidence": str(CONFIDENCE), "cost": str(charge.price)}
            self._ledger.store_answer(charge, dump(opening))  # a workload without answers yet: they come day by day
        try:
            self._record(charge, 0, "", b"")
        except StaleState:  # another process was quicker
            if self._ledger.stream(self._name) is None:
                raise

    def latest(self) -> bytes | None:
        """The state that was kept last; StaleState if the file is another one, or gone."""
        position = self._position()
        if position is None or not position.position:
            return None
        try:
            state = self._file(position).read_bytes()
        except OSError:
            if position.ended:
                raise StaleState(
                    "the ledger was set back, and this dashboard has gone further; open another one"
                ) from None
            raise StaleState(
                f"the state after {position.step} is not here: restore the folder {self._folder.parent} as it was "
                "left, on the machine that went on with this dashboard"
            ) from None
        if _hash(state) != position.state:
            raise StaleState(f"the state in {self._folder} is not the one that was kept after {position.step}")
        return state

    def advance(self, position: int, state: bytes, step: str) -> None:
        """Keep the state of the next day: first the file, then its hash in the chain, which decides."""
        stream = self._ledger.stream(self._name)
        if stream is None:
            raise LedgerUnavailable("this dashboard was not opened in the ledger, so its answer may not be shown")
        self.before_kept()
        path = self._path(position, _hash(state))
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            create_file(path, state)
        except OSError:
            raise LedgerUnavailable(f"the state of this dashboard cannot be kept in {self._folder}") from None
        try:
            self._ledger.record_step(
                StreamRecord(stream.population, self._name, stream.charge, position, step, _hash(state)),
                by=self._analyst,
            )
        except StaleState:
            path.unlink(missing_ok=True)
            raise
        for other in self._folder.glob("*.json"):
            if other != path and int(other.name.partition("-")[0]) <= position:  # others may be further already
                other.unlink(missing_ok=True)

    def _position(self) -> StreamPosition | None:
        """Where the stream stands; BadParameter if it was paid for another question."""
        position = self._ledger.stream(self._name)
        if position is not None:
            paid = self._ledger.charge(position.charge).record
            if (paid.query, dict(paid.parameters)) != self._question:
                raise BadParameter("name", self._name, "must be new: it is that of another dashboard")
        return position

    def _record(self, charge: Charge, position: int, step: str, state: bytes) -> None:
        population = charge.record.population
        record = StreamRecord(population, self._name, charge.sequence, position, step, _hash(state))
        self._ledger.record_step(record, by=self._analyst)

    def _file(self, stream: StreamPosition) -> Path:
        return self._path(stream.position, stream.state)

    def _path(self, position: int, digest: str) -> Path:
        return self._folder / f"{position}-{digest[:32]}.json"


def stream_name(analyst: str, dataset: str, name: str) -> str:
    """What a dashboard is called in the ledger; whatever the names hold, no two are called the same.

    >>> stream_name("ann", "hospital", "clinics")
    '["ann","hospital","clinics"]'
    """
    return canonical([analyst, dataset, name])


def _hash(state: bytes) -> str:
    return hashlib.sha256(state).hexdigest()


def _key(name: str) -> str:
    return f"dashboard {hashlib.sha256(name.encode()).hexdigest()[:32]}"
