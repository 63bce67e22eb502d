"""Files that survive a power cut, and file systems that do not keep them.

Promise: when ``replace_file`` or ``overwrite`` returns, what was written is on the disk.
Believes: fsync of the operating system, of a file and of its folder.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import LedgerUnavailable, LedgerUnsafe

try:
    import fcntl
except ImportError:  # Windows, where all but ledgers and the service works
    fcntl = None  # type: ignore[assignment]

MEMORY = frozenset({"tmpfs", "ramfs"})
_LOCKS: dict[str, threading.Lock] = {}
"""By the path of a lock file: for the threads of this process."""
_LOCKS_OF = threading.Lock()
NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "fuse.sshfs", "9p", "glusterfs"})


def _need_posix() -> None:
    if fcntl is None:
        raise LedgerUnsafe("a ledger needs the file locks of Linux or macOS; without one, the budget is in memory")


def sync(descriptor: int) -> None:
    """Wait until a file is on the disk, not only in the drive's cache where the system can tell the two apart."""
    _need_posix()
    full = getattr(fcntl, "F_FULLFSYNC", None)  # macOS: fsync there stops at the drive
    if full is not None:
        fcntl.fcntl(descriptor, full)
    else:
        os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk: a new file without its name is lost."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def create_file(path: Path, content: bytes = b"") -> None:
    """A new file that only its owner can read, whole and on the disk, or FileExistsError if there is one."""
    draft = _draft(path, content)
    try:
        os.link(draft, path)  # unlike a rename, this refuses to replace
    finally:
        draft.unlink()
    sync_folder(path.parent)


def replace_file(path: Path, content: bytes) -> None:
    """Put a new file in the place of one, or of none: after a crash there is the old one or the new one, whole."""
    _draft(path, content).rename(path)
    sync_folder(path.parent)


def _draft(path: Path, content: bytes) -> Path:
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        _write_all(descriptor, content, 0)
        sync(descriptor)
    except OSError:
        draft.unlink()
        raise
    finally:
        os.close(descriptor)
    return draft


def overwrite(path: Path, content: bytes, offset: int) -> None:
    """Overwrite a part of a file in place and wait until it is on the disk."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        _write_all(descriptor, content, offset)
        sync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, content: bytes, offset: int) -> None:
    written = 0
    while written < len(content):
        written += os.pwrite(descriptor, content[written:], offset + written)


@contextmanager
def locked(path: Path, *, patience: float = 10) -> Iterator[None]:
    """Hold a lock that one thread of one process on this machine can hold at a time. A crash lets it go.

    The wait ends with TimeoutError after ``patience`` seconds: a process that was stopped while it held the lock stops
    no other for good. Of the threads of a process only one asks the file again and again; the others wait for it.
    """
    deadline = time.monotonic() + patience
    with _LOCKS_OF:
        here = _LOCKS.setdefault(os.path.abspath(path), threading.Lock())
    if not here.acquire(timeout=patience):
        raise TimeoutError
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            while not _try_lock(descriptor):
                if time.monotonic() > deadline:
                    raise TimeoutError
                time.sleep(0.001)
            yield
        finally:
            os.close(descriptor)
    finally:
        here.release()


def _forked() -> None:
    """In a new process nobody holds the locks that threads of the old one hold."""
    _LOCKS.clear()
    _LOCKS_OF.release()


os.register_at_fork(before=_LOCKS_OF.acquire, after_in_parent=_LOCKS_OF.release, after_in_child=_forked)


def _try_lock(descriptor: int) -> bool:
    _need_posix()
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def report_disk_errors(what: str) -> Iterator[None]:
    """Report every failure of the disk as LedgerUnavailable, without its path."""
    try:
        yield
    except OSError:
        raise LedgerUnavailable(f"{what} cannot be read or written: is the disk full, or read-only?") from None


def kind_of_disk(path: Path) -> str:
    """The kind of file system a path lies on, as Linux names it; "unknown" elsewhere."""
    try:
        lines = Path("/proc/self/mounts").read_text(errors="replace").splitlines()
    except OSError:
        return "unknown"
    target = path.resolve()
    best, kind = -1, "unknown"
    for line in lines:
        _, mounted, name, *_ = line.split(" ")
        folder = Path(mounted.replace("\\040", " "))
        if target.is_relative_to(folder) and len(folder.parts) >= best:
            best, kind = len(folder.parts), name
    return kind
