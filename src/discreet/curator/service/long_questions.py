"""Questions that go on when whoever asked waits no longer: looked at and cancelled by the number of their charge.

Promise: a job is a question like any other: refused before anything is spent, paid once under its key, stored on the
grid of time. How it stands is read from the ledger alone, on any server, so looking often tells no more than a reply.
A job that is cancelled is stopped within seconds, wherever it runs; it stays charged.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

from discreet.curator.limits import Meter
from discreet.curator.service.access import Caller
from discreet.curator.service.cancelling import CancelRecord, cancelled_charges
from discreet.curator.service.library import check_no_job, read_answer
from discreet.curator.service.questions import AnyQuestion
from discreet.curator.service.service import Curator
from discreet.errors import DiscreetError
from discreet.ledger.charges import Charge

LONGEST_WAIT = 60
"""Seconds that a request may wait for its answer before it becomes a job."""
WATCH = 1.0
"""Seconds between two looks whether a job was cancelled."""


@dataclass(slots=True)
class _RunningJob:
    """A question that is being answered in a thread of its own."""

    number: int | None = None
    charge: Charge | None = None
    refused: BaseException | None = None
    begun: threading.Event = field(default_factory=threading.Event)
    """It was paid, or refused."""
    done: threading.Event = field(default_factory=threading.Event)


class LongQuestions:
    """The jobs of one server process."""

    def __init__(self, curator: Curator) -> None:
        self._curator = curator
        self._meter = Meter(curator.config.limits)

    def ask(
        self,
        caller: Caller,
        name: str,
        question: AnyQuestion,
        key: str | None,
        *,
        fresh: bool = False,
        wait: int,
        began: float,
    ) -> Charge | int:
        """Pay and answer. The answer if it is there within ``wait`` seconds, else the number of the charge."""
        before = None if key is None else self._curator.charged_before(caller, name, question, key)
        if before is not None and before.pending and self._curator.is_under_way(before):
            return before.sequence
        running = _RunningJob()

        def paid(number: int, stop: Callable[[], None]) -> None:
            running.number = number
            running.begun.set()
            threading.Thread(target=self._watch, args=(running, number, stop), daemon=True).start()

        def answer() -> None:
            try:
                with self._meter.under_way(caller.name):
                    running.charge = self._curator.ask(caller, name, question, key, fresh=fresh, began=began, paid=paid)
            except BaseException as refused:
                running.refused = refused
            finally:
                running.done.set()
                running.begun.set()

        context = copy_context()  # the identity of the request, for logs, and when it came
        threading.Thread(target=context.run, args=(answer,), daemon=True).start()
        running.begun.wait()
        running.done.wait(wait)
        if running.refused is not None:
            raise running.refused
        return running.number or 0 if running.charge is None else running.charge

    def state(self, caller: Caller, number: int) -> tuple[str, Charge | None]:
        """How a job stands: running, done, failed, cancelled, or lost with a server that ended."""
        charge = self._charge(caller, number)
        if charge.pending:
            if number in cancelled_charges(self._curator.ledger.look()):
                return "cancelled", None
            return ("running" if self._curator.is_under_way(charge) else "lost"), None
        if charge.pruned:
            return "pruned", None
        error: dict[str, Any] = read_answer(charge).get("error", {})
        states = {None: "done", "Cancelled": "cancelled", "BadQuestion": "done"}
        state = states.get(error.get("kind"), "failed")
        return state, charge if state == "done" else None

    def cancel(self, caller: Caller, number: int) -> None:
        """Let a job end without an answer, on whichever server it runs. What is answered already stays."""
        charge, record = self._charge(caller, number), CancelRecord(number)
        ledger = self._curator.ledger
        if charge.pending and number not in cancelled_charges(ledger.look()):
            ledger.owner.record(record.kind, record.body(), by=caller.name)

    def _charge(self, caller: Caller, number: int) -> Charge:
        charge = self._curator.answer(caller, number)
        check_no_job(charge.record.parameters)
        return charge

    def _watch(self, running: _RunningJob, number: int, stop: Callable[[], None]) -> None:
        """End the engine of a job that was cancelled, as often as it begins again."""
        while not running.done.wait(WATCH):
            with suppress(DiscreetError):  # the ledger is away: the job goes on
                if number in cancelled_charges(self._curator.ledger.look()):
                    stop()
