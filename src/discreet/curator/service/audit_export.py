"""What was recorded, as JSON lines for other systems: a file, or the syslog of this machine.

Promise: a line says what was asked, by whom, when and at which cost, and what owners decided; never an answer, a token
or its hash, a hash of a unit, or any other value of the data. Every entry is written at least once and in order, also
after a crash, by one process of this machine at a time; ``number`` tells a line that comes twice. Whether the export
works decides nothing about questions: the ledger is what counts.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from discreet.curator.error_replies import log
from discreet.curator.service.copies.repeat import Repeat
from discreet.errors import DiscreetError
from discreet.ledger.durable_files import locked, replace_file, sync
from discreet.ledger.entries import Entry
from discreet.ledger.head_file import Head
from discreet.ledger.owner_acts import find_population
from discreet.ledger.records import ChargeRecord, read_record
from discreet.ledger.state import State
from discreet.ledger.store import Ledger

SYSLOG = "syslog"
EVERY = 2.0
"""Seconds between two looks at the ledger."""
_SYSLOG_SOCKET = "/dev/log"
_PRIORITY = 10 * 8 + 5
"""Facility authpriv, level notice."""
_LONGEST_IN_SYSLOG = 4_000
"""Characters of a query there: a syslog cuts long lines, and a cut line is no JSON."""
_AT_ONCE = 1000


def audit_row(entry: Entry, state: State) -> dict[str, Any]:
    """What may leave of an entry."""
    record = read_record(entry)
    row: dict[str, Any] = {
        "number": entry.sequence, "time": entry.time, "by": entry.by, "kind": entry.kind, "about": record.summary(),
        "hash": entry.hash,
    }  # fmt: skip
    if isinstance(record, ChargeRecord):
        row |= {
            "dataset": record.dataset,
            "population": record.population,
            "parameters": record.parameters,
            "price": str(find_population(state, record.population).currency.shown(record.price)),
        }
    return row


def audit_rows(ledger: Ledger, after: int = 0) -> Iterator[dict[str, Any]]:
    """The same of all entries after one, in order."""
    while lines := ledger.entries(after=after, limit=_AT_ONCE):
        state = ledger.look()
        for line in lines:
            yield audit_row(line.entry, state)
        after = lines[-1].entry.sequence


class AuditExport:
    """Writes what was recorded since it last wrote, every few seconds while the service runs and at its end."""

    def __init__(self, ledger: Ledger, target: str | Path, state: Path) -> None:
        self._ledger = ledger
        self._target = target
        self._state = state
        """The file that remembers how far the export has come; no log rotation moves it."""
        self._failing = False
        self._again = Repeat(EVERY, self.export)

    def close(self) -> None:
        """Write once more, and end."""
        self._again.close()

    @property
    def waiting(self) -> int:
        """Entries that are not exported yet."""
        return max(0, self._ledger.head.sequence - self._position())

    def export(self) -> None:
        """Write what is new, unless another process is at it."""
        try:
            self._state.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(TimeoutError), locked(self._state.with_name(f"{self._state.name}.lock"), patience=0):
                self._export()
            self._failing = False
        except (OSError, ValueError, DiscreetError) as error:
            if not self._failing:
                log.error("the audit cannot be exported, and is tried again: %s", type(error).__name__)
            self._failing = True

    def _export(self) -> None:
        after, ledger = self._position(), self._ledger.look().ledger
        rows = list(audit_rows(self._ledger, after))
        if not rows:
            return
        with _open(self._target) as write:
            for row in rows:
                write(row)
        last = Head(ledger, rows[-1]["number"], rows[-1]["hash"])
        replace_file(self._state, json.dumps(last.fields).encode())

    def _position(self) -> int:
        """The last entry that was exported; 0 if this ledger does not have it: all is written again."""
        try:
            last = Head(**json.loads(self._state.read_text()))
        except (OSError, ValueError, TypeError):
            return 0
        return last.sequence if self._ledger.has(last) else 0


@contextmanager
def _open(target: str | Path) -> Iterator[Callable[[dict[str, Any]], None]]:
    """What writes a row; at the end all rows are where they belong, or OSError."""
    if isinstance(target, Path):
        with _line_file(target) as write:
            yield write
        return
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as line:
        line.settimeout(5)
        line.connect(target.removeprefix(SYSLOG).removeprefix(":") or _SYSLOG_SOCKET)

        def send(row: dict[str, Any]) -> None:
            cut = {"about": row["about"][:_LONGEST_IN_SYSLOG], "cut": True}
            whole = row if len(row["about"]) <= _LONGEST_IN_SYSLOG else row | cut
            line.sendall(f"<{_PRIORITY}>discreet: {json.dumps(whole)}".encode())

        yield send


@contextmanager
def _line_file(path: Path) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A file that only grows and that others cannot read, opened by its name: a rotated one begins anew."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        end = file.seek(0, os.SEEK_END)
        if end and os.pread(descriptor, 1, end - 1) != b"\n":  # a crash tore the last line
            file.write(b"\n")
        yield lambda row: _whole(file.write, json.dumps(row).encode() + b"\n")
        sync(descriptor)


def _whole(write: Callable[[bytes], int], line: bytes) -> None:
    if write(line) != len(line):
        raise OSError
