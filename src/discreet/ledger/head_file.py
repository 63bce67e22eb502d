"""The head file: the last entry of the ledger, stored outside of the database.

Promise: once ``advance`` returns, a database that is later rolled back to before that entry, or edited, is detected.
The file only moves forward, whatever other processes on this machine do, and a crash while writing leaves the head
before or the new one.
Believes: the file survives what the database does not: keep it on another disk, or out of the same backup.

Two slots, written in turn, each with its own checksum: a slot torn by a power cut leaves the other.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import LedgerMismatch
from discreet.ledger.durable_files import locked, overwrite, replace_file, report_disk_errors
from discreet.ledger.entries import canonical, digest

_SLOT = 4096


@dataclass(frozen=True, slots=True)
class Head:
    """The last entry of a ledger: its number and its hash."""

    ledger: str
    sequence: int
    hash: str

    @property
    def fields(self) -> dict[str, str | int]:
        """As JSON has it."""
        return {"ledger": self.ledger, "sequence": self.sequence, "hash": self.hash}

    @property
    def text(self) -> str:
        """One line with a checksum, for ``read_head``."""
        return canonical(self.fields | {"sum": digest(canonical(self.fields))})


class HeadFile:
    """A file that remembers the head of one ledger on this machine."""

    __slots__ = ("_lock", "_path", "_read")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = path.with_name(f"{path.name}.lock")
        self._read: tuple[bytes, tuple[Head | None, Head | None]] | None = None
        """What was read last, and what it means."""

    def read(self) -> Head | None:
        """The highest head that was written, None if there is no file; LedgerMismatch if it cannot be read."""
        slots = self._slots()
        return max((head for head in slots if head is not None), key=lambda head: head.sequence) if slots else None

    def advance(self, head: Head, latest: Callable[[], Head] | None = None) -> None:
        """Remember this head, unless the file has come further already.

        ``latest`` is called once the lock is held: one write then serves all who wait.
        """
        with report_disk_errors("the head file"), locked(self._lock):
            slots = self._slots()
            latest_sequence = -1 if slots is None else max(slot.sequence for slot in slots if slot is not None)
            if latest_sequence >= head.sequence:
                return
            newest = head if latest is None else max(head, latest(), key=lambda h: h.sequence)
            if slots is None:
                replace_file(self._path, _slot(newest) * 2)
            else:
                stale = 1 if slots[0] is not None and slots[0].sequence == latest_sequence else 0
                overwrite(self._path, _slot(newest), _SLOT * stale)

    def replace(self, head: Head) -> None:
        """Forget what was remembered: only after the owner has acknowledged it."""
        with report_disk_errors("the head file"), locked(self._lock):
            replace_file(self._path, _slot(head) * 2)

    def _slots(self) -> tuple[Head | None, Head | None] | None:
        """What both slots hold, at least one of them whole; None if there is no file."""
        with report_disk_errors("the head file"):
            try:
                content = self._path.read_bytes()
            except FileNotFoundError:
                return None
        read_before = self._read
        if read_before is not None and read_before[0] == content:
            return read_before[1]
        slots = read_head(content[:_SLOT]), read_head(content[_SLOT:])
        if slots == (None, None):
            raise LedgerMismatch("the head file cannot be understood")
        self._read = content, slots
        return slots


def _slot(head: Head) -> bytes:
    return head.text.encode().ljust(_SLOT - 1) + b"\n"


def read_head(text: bytes | str) -> Head | None:
    """The head that a text says; None if the text is torn or was changed."""
    try:
        fields = json.loads(text)
        check = fields.pop("sum")
        if check != digest(canonical(fields)):
            return None
        return Head(str(fields["ledger"]), int(fields["sequence"]), str(fields["hash"]))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
