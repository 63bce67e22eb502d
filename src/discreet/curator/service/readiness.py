"""Whether the service can answer: the ledger spends, its disks have room, and every data set can be asked.

Promise: ``check`` comes back in time whatever hangs below it, and says nothing of the data: only whether the ledger can
be read, is the one that was seen before, and has room to grow; and whether the tables are where they were registered,
with the columns that they had. One check serves all who ask within a second.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.errors import DiscreetError, LedgerMismatch
from discreet.ledger.store import Ledger

ROOM = 16 << 20
"""Bytes that a disk of the ledger must have free."""
_AGE = 1.0
_PATIENCE = 3.0


@dataclass(frozen=True, slots=True)
class Ready:
    """What was found: None where nothing is wrong."""

    ledger: str | None = None
    disk: str | None = None
    datasets: tuple[str, ...] = ()
    """Those that cannot be asked now."""

    @property
    def good(self) -> bool:
        """Whether questions can be answered, about every data set."""
        return self.ledger is None and self.disk is None and not self.datasets


class Readiness:
    """Checks a ledger and the folders that it and its head file lie in."""

    def __init__(self, ledger: Ledger, folders: tuple[Path, ...], clock: Callable[[], float] = time.monotonic) -> None:
        self._ledger = ledger
        self._folders = folders
        self._clock = clock
        self._lock = threading.Lock()
        self._found = Ready(ledger="it was not checked yet")
        self._since = float("-inf")
        self._under_way: threading.Thread | None = None
        self.broken: tuple[str, ...] = ()
        """Data sets that could not be asked when they were last looked at."""
        self.stopping = False
        """Set when the service is being stopped: nothing new should be sent here."""

    def check(self) -> Ready:
        """What is found now, or was within the last second."""
        if self.stopping:
            return Ready(ledger="the service is being stopped")
        return replace(self._checked(), datasets=self.broken)

    def _checked(self) -> Ready:
        """Of the ledger and its disks."""
        with self._lock:
            if self._clock() - self._since < _AGE:
                return self._found
            if self._under_way is None:
                self._under_way = threading.Thread(target=self._look, daemon=True)
                self._under_way.start()
            thread = self._under_way
        thread.join(_PATIENCE)
        return Ready(ledger="the store of the ledger does not answer") if thread.is_alive() else self._found

    def _look(self) -> None:
        ready = Ready(self._ledger_trouble(), self._disk_trouble())
        with self._lock:
            self._found, self._since, self._under_way = ready, self._clock(), None

    def _ledger_trouble(self) -> str | None:
        try:
            self._ledger.look()
        except DiscreetError as error:
            return type(error).__name__
        return LedgerMismatch.__name__ if self._ledger.mismatch is not None else None

    def _disk_trouble(self) -> str | None:
        for folder in self._folders:
            try:
                free = os.statvfs(folder)
            except OSError:
                return "a folder of the ledger cannot be read"
            if free.f_bavail * free.f_frsize < ROOM:
                return "a disk of the ledger is full"
        return None
