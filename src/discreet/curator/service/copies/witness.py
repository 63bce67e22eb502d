"""A witness: a second place that remembers how far the ledger had come, and is compared at the start.

    [server]    witness = "/other/disk/witness"       a file, which only grows: one line for each head
                witness = "https://witness.example/"  GET gives the last line, PUT takes a new one

Promise: a ledger that does not have the entry that the witness saw last is not served, even if its database and its
head file were restored together, until the owner acknowledges it, which is recorded. So it is while it serves: of two
copies of a ledger that publish to one witness, such as a virtual machine and its copy, each stops within ``EVERY``
seconds of the other's next charge. A witness that cannot be read stops the start; one that cannot be read or written to
later is reported in the log, and the service goes on.
Believes: whoever restores the ledger does not also restore the witness. What was charged after the last published line
(at most ``EVERY`` seconds) it has not seen.
"""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from discreet.curator.error_replies import log
from discreet.curator.service.copies.repeat import Repeat
from discreet.errors import LedgerError, LedgerMismatch, LedgerUnavailable
from discreet.ledger.head_file import Head, read_head
from discreet.ledger.owner_acts import check_reason
from discreet.ledger.store import Ledger

KIND = "curator.witness"
EVERY = 5.0
_SECONDS = 10.0
_TAIL = 1 << 16
"""Bytes at the end of the file that are read."""


class Witness:
    """The place, by its path or address."""

    def __init__(self, place: str | Path) -> None:
        self._place = place

    def last(self) -> Head | None:
        """The head that it saw last; None if it has seen none."""
        text = self._file() if isinstance(self._place, Path) else self._fetch()
        lines = text.split("\n")
        for line in reversed(lines):
            if line and (head := read_head(line)) is not None:  # the last line may be torn
                return head
        if any(lines):
            raise LedgerMismatch("the witness cannot be understood")
        return None

    def publish(self, head: Head) -> None:
        """Let it know of a head."""
        line = f"{head.text}\n"
        if isinstance(self._place, Path):
            descriptor = os.open(self._place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, line.encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            return
        request = urllib.request.Request(self._place, data=line.encode(), method="PUT")  # noqa: S310 - https, below
        with urllib.request.urlopen(request, timeout=_SECONDS):  # noqa: S310
            pass

    def _file(self) -> str:
        try:
            with Path(self._place).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
                return file.read().decode(errors="replace")
        except FileNotFoundError:
            return ""
        except OSError:
            raise LedgerUnavailable("the witness cannot be read") from None

    def _fetch(self) -> str:
        if not str(self._place).startswith(("https://", "http://127.0.0.1", "http://localhost")):
            raise LedgerUnavailable("a witness on another machine must be reached by https://")
        try:
            with urllib.request.urlopen(str(self._place), timeout=_SECONDS) as reply:  # noqa: S310
                return str(reply.read(1 << 20).decode())
        except urllib.error.HTTPError as found:
            if found.code == 404:
                return ""
            raise LedgerUnavailable("the witness cannot be read") from None
        except (OSError, ValueError):
            raise LedgerUnavailable("the witness cannot be read") from None


def check_witness(ledger: Ledger, place: str | Path | None) -> None:
    """Refuse to serve a ledger that the witness has seen further, or otherwise."""
    if place is not None:
        _compare(ledger, Witness(place).last())


def _compare(ledger: Ledger, seen: Head | None) -> None:
    if seen is None or ledger.has(seen) or seen.fields in [act.body.get("seen") for act in ledger.owner.acts(KIND)]:
        return
    raise LedgerMismatch(
        f"the witness has seen entry {seen.sequence} of ledger {seen.ledger[:8]}, which is not in this one: it was "
        "restored or replaced, or a copy of it is being served. Restore a copy that has it, or let the owner accept it "
        "with discreet ledger accept-witness, with a reason, and write off what was spent since"
    )


def accept_witness(ledger: Ledger, place: str | Path, reason: str, *, by: str = "owner") -> int:
    """Record that the owner knows that the witness has seen more; the number of the entry."""
    seen = Witness(place).last()
    body: dict[str, Any] = {"seen": None if seen is None else seen.fields, "reason": check_reason(reason)}
    return ledger.owner.record(KIND, body, by=by).sequence


class Publisher:
    """Compares and publishes the head every few seconds while the service runs, and at its end."""

    def __init__(self, ledger: Ledger, place: str | Path) -> None:
        self._ledger = ledger
        self._witness = Witness(place)
        self._published = -1
        self._again = Repeat(EVERY, self.publish)

    def close(self) -> None:
        """Publish once more, and end."""
        self._again.close()

    def publish(self) -> None:
        """Publish the head if it moved, unless the witness has seen what this ledger does not have."""
        head = self._ledger.head
        try:
            _compare(self._ledger, self._witness.last())
            if head.sequence != self._published:
                self._witness.publish(head)
                self._published = head.sequence
        except LedgerMismatch as found:
            self._ledger.stop_spending(str(found))
            log.error("the witness has seen another ledger than this one: nothing more is answered")
        except (OSError, ValueError, LedgerError) as error:
            log.error("the witness cannot be read or written to: %s", type(error).__name__)
