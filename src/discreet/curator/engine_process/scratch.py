"""Folders in which engines may write what does not fit into memory: it is data, and must not stay behind.

Promise: a folder is readable for this user alone; it goes when its engine goes. What a crash left, of the service or of
the whole machine, is removed when a service of the same user starts next.

A folder that is in use is locked: the lock is held by the service and its engine together, and ends with the last of
them, however they end. So no folder is taken from under a living engine, and none needs a list of process numbers.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: there is no service there, since its ledger refuses first
    fcntl = None  # type: ignore[assignment]

PREFIX = "discreet-scratch-"


class Scratch:
    """A new folder, locked. ``lock`` is the descriptor that the engine's process must inherit."""

    def __init__(self) -> None:
        while True:
            self.path = tempfile.mkdtemp(prefix=PREFIX)  # only this user can read it
            try:
                self.lock = _open(self.path)
            except FileNotFoundError:  # swept away before it could be locked
                continue
            fcntl.flock(self.lock, fcntl.LOCK_EX)
            if _is_at(self.lock, self.path):
                return
            os.close(self.lock)

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock)


def sweep() -> int:
    """Remove folders that nobody uses any more; how many there were."""
    removed = 0
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # in use, somebody else's, or gone
            lock = _open(str(path))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(lock).st_uid == os.geteuid() and _is_at(lock, str(path)):
                    shutil.rmtree(path, ignore_errors=True)
                    removed += 1
            finally:
                os.close(lock)
    return removed


def _open(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _is_at(descriptor: int, path: str) -> bool:
    """Whether this open folder is still the one at the path."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    return False
