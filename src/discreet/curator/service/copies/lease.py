"""A lease on a ledger file: which machine serves it, since which boot, renewed while it serves.

Promise: of two machines that reach one ledger file (a volume that is mounted twice, a virtual machine and its copy on
one disk), at most one goes on answering. Who starts while the other one renews its lease is refused; who finds that
another one took over, because it was suspended for instance, stops answering within ``EVERY`` seconds. Server processes
of one machine share a lease: locks keep these apart.
It does not believe in clocks: a lease is alive if it changes while it is watched, for ``WATCHED`` seconds at most, and
only after a machine went down without closing its lease.
What it cannot see: a copy of the ledger (place.py, witness.py). A ledger in PostgreSQL is shared by design.

The lease is a file beside the ledger, ``curator.ledger.lease``. It is not in the chain, which has no entry for time
that merely passes; no backup needs it.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from discreet.curator.error_replies import log
from discreet.curator.service.copies.place import machine
from discreet.curator.service.copies.repeat import Repeat
from discreet.errors import LedgerMismatch
from discreet.ledger.durable_files import report_disk_errors
from discreet.ledger.store import Ledger

EVERY = 3.0
WATCHED = 10.0
_LOOKS = 20
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class Lease:
    """The lease of this machine on a ledger file; LedgerMismatch if another one holds it."""

    def __init__(self, ledger: Ledger, file: Path, *, wait: Callable[[float], None] = time.sleep) -> None:
        self._ledger = ledger
        self._path = file.with_name(f"{file.name}.lease")
        self._holder = {"machine": machine(), "boot": boot()}
        with report_disk_errors("the lease"):
            if self._taken():
                self._watch(wait)
            self._write()
        self._renewing = Repeat(EVERY, self.renew)

    def renew(self) -> None:
        """Go on for some seconds, or stop answering because another machine took over."""
        try:
            if self._taken():
                self._ledger.stop_spending(
                    "another machine serves this ledger now: only one of the two may, so this one has stopped; end one "
                    "of them, and start the other one again"
                )
            else:
                self._write()
        except OSError as error:
            log.error("the lease of the ledger cannot be renewed: %s", type(error).__name__)

    def close(self) -> None:
        """Let the lease go: another machine need not wait for it. Other processes of this one take it again."""
        self._renewing.close()
        with suppress(OSError):
            if not self._taken():
                self._path.unlink(missing_ok=True)

    def _watch(self, wait: Callable[[float], None]) -> None:
        before = self._read()
        log.warning("another machine or an earlier boot held the ledger: waiting to see whether it still does")
        for _ in range(_LOOKS):
            wait(WATCHED / _LOOKS)
            if not self._taken():
                return
            if self._read() != before:
                raise LedgerMismatch(
                    "another machine serves this ledger now, and two would spend the same budget twice: stop that one "
                    "first"
                )

    def _taken(self) -> bool:
        """Whether the lease is another machine's, or an earlier boot's."""
        held = self._read()
        return bool(held) and {name: held.get(name) for name in self._holder} != self._holder

    def _read(self) -> dict[str, object]:
        """What the file says: nothing if there is none, or if it was torn."""
        try:
            written = json.loads(self._path.read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        return written if isinstance(written, dict) else {}

    def _write(self) -> None:
        draft = self._path.with_name(f"{self._path.name}.{secrets.token_hex(8)}.new")
        draft.touch(mode=0o600)
        draft.write_text(json.dumps({**self._holder, "renewed": secrets.token_hex(8)}), encoding="utf-8")
        draft.replace(self._path)


def boot() -> str:
    """What stands for the time since this machine was started; empty where the system does not say."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""
