"""Where a ledger may serve: the machine and the file, or the database server, that the owner first served it from.

Promise: a ledger file that was copied, to another machine or beside the first, is not served there until the owner
says so, with a reason, which is recorded in its chain. So two copies do not spend the same budget twice. Neither is a
database that was dumped and restored on another PostgreSQL server, or under another name on the same one.
A container without a machine identity is known by its path and by the number of the file on its disk.
What it cannot see: a copy of the whole machine, of a disk with all its numbers, or of the files of a PostgreSQL
server; a server that does not tell its identifier. Against those, a witness helps (witness.py).
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from discreet.curator.service.people import OWNER
from discreet.errors import LedgerMismatch
from discreet.ledger.owner_acts import check_reason
from discreet.ledger.store import Ledger

KIND = "curator.place"
_IDENTITIES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


def place_of(ledger: Ledger, location: str | Path) -> str | None:
    """What stands for this machine and file, or this server, without naming them; None if a server tells nothing."""
    if isinstance(location, Path):
        return _hidden(machine() or str(ledger.identity), location.resolve())
    return None if ledger.identity is None else _hidden("postgresql", ledger.identity)


def check_place(ledger: Ledger, location: str | Path) -> None:
    """Refuse to serve a ledger that was served elsewhere; the first place is recorded."""
    here, recorded = place_of(ledger, location), ledger.owner.acts(KIND)
    if here is None:
        return
    before = recorded[-1].body.get("place") if recorded else None
    if before is None or before == _by_path_alone(location):
        ledger.owner.record(KIND, {"place": here, "reason": "first served here"})
    elif before != here:
        raise LedgerMismatch(
            "this ledger was served from another machine, folder or database, and a copy that runs there would spend "
            "the same budget again: stop that one for good, then move it here with discreet ledger move-here, with a "
            "reason"
        )


def move_here(ledger: Ledger, location: str | Path, reason: str, *, by: str = OWNER) -> int:
    """Record that the ledger is served from here from now on; the number of the entry."""
    body = {"place": place_of(ledger, location), "reason": check_reason(reason)}
    return ledger.owner.record(KIND, body, by=by).sequence


def machine() -> str:
    """The identity of this machine, empty where it has none, as in most containers."""
    for path in _IDENTITIES:
        try:
            boot = path.read_text().strip()
        except OSError:
            continue
        if boot:
            return boot
    return ""


def _by_path_alone(location: str | Path) -> str | None:
    """What earlier versions recorded on a machine without an identity."""
    return None if machine() or not isinstance(location, Path) else _hidden("", location.resolve())


def _hidden(*parts: object) -> str:
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:32]
