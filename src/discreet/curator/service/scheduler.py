"""Runs what is due, one run after the other; each server process looks again and again.

Promise: before a run, the rights that its analyst has at that time are looked at, as for any question. Whatever the
data may decide about a run is hidden by the grid of time before the next one begins.
"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import date, timedelta

from discreet.curator.error_replies import Refusal, log, where
from discreet.curator.service import boards
from discreet.curator.service.access import Caller
from discreet.curator.service.people import Role
from discreet.curator.service.schedules import RunRefusedRecord, RunSchedule, schedules_of
from discreet.curator.service.service import Curator
from discreet.errors import (
    DiscreetError,
    EngineFailed,
    EngineUnreachable,
    KeyReused,
    LedgerBusy,
    LedgerMismatch,
    LedgerUnavailable,
    LedgerUnsafe,
    ServiceBusy,
    StaleState,
)
from discreet.ledger.state import State

EVERY = 15.0
"""Seconds between two looks at what is due."""
_LATER = (ServiceBusy, EngineUnreachable, LedgerBusy, LedgerUnavailable, LedgerUnsafe, LedgerMismatch)
"""What may be better at the next look; nothing was spent, or it is known under the run's key."""
_DONE = (EngineFailed, KeyReused, StaleState)
"""The run was paid here or elsewhere, and will not be paid again."""


class DueRuns:
    """What is due at one curator."""

    def __init__(self, curator: Curator) -> None:
        self._curator = curator
        self._over: set[tuple[str, date]] = set()
        """Runs that are known to be over, here or elsewhere."""

    def run(self) -> None:
        """Run all that is due, unless the service is about to stop."""
        try:
            schedules = schedules_of(self._curator.ledger.look()).values()
            for schedule in schedules:
                for day in schedule.due(self._curator.now()):
                    if self._curator.readiness.stopping:
                        return
                    run = schedule.record.schedule, day
                    if run not in self._over and self._run(schedule, day):
                        self._over.add(run)
        except DiscreetError as error:  # the ledger is away
            log.warning("nothing scheduled can be run now: %s", type(error).__name__)
        except Exception as error:
            log.error("a scheduled run failed: %s", where(error))

    def _run(self, schedule: RunSchedule, day: date) -> bool:
        """One run, unless it was run; a refusal is recorded. Whether it is over, and needs no other look."""
        try:
            caller = self._caller(schedule, self._curator.ledger.look())
            if schedule.record.board is not None:
                self._advance(caller, schedule, day)
            elif self._curator.ledger.charge_of(schedule.analyst, schedule.key(day)) is None:
                name, began = schedule.record.dataset, time.monotonic()
                self._curator.ask(caller, name, schedule.question(), schedule.key(day), fresh=True, began=began)
        except _DONE:
            return True
        except _LATER as error:
            log.info("a scheduled run is tried again: %s", type(error).__name__)
            return False
        except DiscreetError as error:
            self._refuse(schedule, day, error.kind if isinstance(error, Refusal) else type(error).__name__)
        return True

    def _advance(self, caller: Caller, schedule: RunSchedule, day: date) -> None:
        """The day before, unless the dashboard is that far already."""
        yesterday, name = day - timedelta(days=1), schedule.record.dataset
        board = boards.find_board(self._curator, caller, name, str(schedule.record.board))
        if not board.days or board.days[-1] < yesterday:
            began = time.monotonic()
            board_name = str(schedule.record.board)
            boards.advance(self._curator, caller, name, board_name, yesterday.isoformat(), began=began)

    def _caller(self, schedule: RunSchedule, state: State) -> Caller:
        """Whoever set the schedule, with the rights that they have now."""
        expires = self._curator.now() + timedelta(hours=1)
        return self._curator.access.caller(state, schedule.analyst, Role.ANALYST, "", expires)

    def _refuse(self, schedule: RunSchedule, day: date, error: str) -> None:
        record = RunRefusedRecord(schedule.record.schedule, day.isoformat(), error)

        def check(state: State) -> None:
            if day in schedules_of(state)[record.schedule].refused:  # another server was quicker
                raise KeyReused("this run was refused already")

        with suppress(KeyReused):
            self._curator.ledger.owner.record(record.kind, record.body(), by=schedule.analyst, check=check)
