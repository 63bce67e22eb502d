"""Where a ledger may serve: the machine and the file that the owner first served it from.

Promise: a ledger file that was copied, to another machine or beside the first, is not served there until the owner
says so, with a reason, which is recorded in its chain. So two copies do not spend the same budget twice.
What it cannot see: a copy of the whole machine, with its identity and paths; a container without a machine identity is
known by its path alone. Against those, a witness helps (witness.py). A ledger in PostgreSQL is shared by design; copies
of that database are for a witness, too.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from discreet.curator.service.access import OWNER
from discreet.errors import LedgerMismatch
from discreet.ledger.owner_acts import check_reason
from discreet.ledger.store import Ledger

KIND = "curator.place"
_IDENTITIES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


def place_of(location: str | Path) -> str | None:
    """What stands for this machine and this file, without naming either; None for a database that servers share."""
    if not isinstance(location, Path):
        return None
    return hashlib.sha256(f"{_machine()}\n{location.resolve()}".encode()).hexdigest()[:32]


def check_place(ledger: Ledger, location: str | Path) -> None:
    """Refuse to serve a ledger that was served elsewhere; the first place is recorded."""
    here, known = place_of(location), ledger.owner.acts(KIND)
    if here is None:
        return
    if not known:
        ledger.owner.record(KIND, {"place": here, "reason": "first served here"})
    elif known[-1].body.get("place") != here:
        raise LedgerMismatch(
            "this ledger was served from another machine or folder, and a copy that runs there would spend the same "
            "budget again: stop that one for good, then move it here with discreet ledger move-here, with a reason"
        )


def move_here(ledger: Ledger, location: str | Path, reason: str, *, by: str = OWNER) -> int:
    """Record that the ledger is served from here from now on; the number of the entry."""
    body = {"place": place_of(location), "reason": check_reason(reason)}
    return ledger.owner.record(KIND, body, by=by).sequence


def _machine() -> str:
    for path in _IDENTITIES:
        try:
            found = path.read_text().strip()
        except OSError:
            continue
        if found:
            return found
    return ""
