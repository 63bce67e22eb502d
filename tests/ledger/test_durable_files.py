"""durable_files.py: files that are whole or not there, and locks that a crash lets go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from discreet.errors import LedgerUnavailable
from discreet.ledger.durable_files import create_file, kind_of_disk, locked, overwrite, replace_file, report_disk_errors


def test_a_stopped_process_stops_no_other_for_good(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with locked(lock), pytest.raises(TimeoutError), locked(lock, patience=0):
        pytest.fail("two hold one lock")
    with locked(lock, patience=0):
        pass


def test_new_files(tmp_path: Path) -> None:
    path = tmp_path / "file"
    create_file(path, b"one")
    with pytest.raises(FileExistsError):
        create_file(path, b"two")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"one", 0o600)
    replace_file(path, b"three")
    assert path.read_bytes() == b"three"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert isinstance(kind_of_disk(tmp_path), str)
    assert kind_of_disk(Path("/proc/self")) == "proc"


def test_a_part_of_a_file_is_overwritten_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "file"
    create_file(path, b"one two three")
    overwrite(path, b"2wo", 4)
    assert path.read_bytes() == b"one 2wo three"


def test_failures_of_the_disk_have_no_path_in_them(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="the file cannot be read") as caught, report_disk_errors("the file"):
        (tmp_path / "nothing").read_bytes()
    assert str(tmp_path) not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_new_process_waits_for_the_file_and_not_for_threads_of_the_old_one(tmp_path: Path) -> None:
    """Fails if a fork inherits locks of threads that it does not have, or holds what its parent holds."""

    def child() -> int:
        if not (found := os.fork()):
            try:
                with locked(tmp_path / "lock", patience=0.05):
                    os._exit(0)
            except TimeoutError:
                os._exit(3)
        return os.waitstatus_to_exitcode(os.waitpid(found, 0)[1])

    with locked(tmp_path / "lock"):
        assert child() == 3
    assert child() == 0
