"""A marker beside the data: which ledger answers questions about them.

Promise: where the folder can be written to, a second curator with a ledger of its own on the same files is noticed, and
its owner warned: each ledger alone keeps its promise, both together may spend twice.
What it cannot see: copies of the data elsewhere, folders that cannot be written to, data in databases.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

NAME = ".discreet-ledger"


def mark(folders: Iterable[Path], ledger: str) -> list[str]:
    """Leave a marker in each folder, or warn about the one of another ledger that is there."""
    cautions = []
    for folder in sorted(set(folders)):
        path = folder / NAME
        marker = _read(path)
        if marker is None:
            with suppress(OSError):
                _write(path, ledger)
        elif marker != ledger:
            cautions.append(
                "another ledger answers queries about the same data: its people have two budgets. Stop one of the "
                f"two curators, or remove {path} if the other one is gone"
            )
    return cautions


def _read(path: Path) -> str | None:
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["ledger"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, ledger: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump({"ledger": ledger}, file)
