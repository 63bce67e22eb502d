"""durable_files.py: files that are whole or not there, and locks that a crash lets go."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.errors import LedgerUnavailable, LedgerUnsafe
from discreet.ledger import durable_files
from discreet.ledger.durable_files import (
    create_file,
    kind_of_disk,
    locked,
    overwrite,
    replace_file,
    report_disk_errors,
    sync,
)


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


def test_what_the_system_writes_in_pieces_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is nearly full, or a signal, may end a write early."""
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, content, offset: write(file, content[:3], offset))
    path = tmp_path / "file"
    create_file(path, b"one two three")
    overwrite(path, b"2222222", 4)
    assert path.read_bytes() == b"one 2222222ee"


def test_nothing_counts_as_written_before_it_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The content first, then the name; a draft that does not get there is gone."""
    synced: list[bool] = []
    wait = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(os.path.isdir(f"/proc/self/fd/{descriptor}"))
        wait(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    path = tmp_path / "file"
    create_file(path, b"one")
    replace_file(path, b"two")
    assert synced == [False, True] * 2
    overwrite(path, b"2", 1)
    assert synced == [False, True] * 2 + [False]

    def full(_: int) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="full"):
        replace_file(path, b"three")
    assert path.read_bytes() == b"t2o"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_drive_with_a_cache_is_waited_for_where_the_system_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    mac: Any = SimpleNamespace(F_FULLFSYNC=51, fcntl=lambda _, what: asked.append(what))
    monkeypatch.setattr(durable_files, "fcntl", mac)
    with (tmp_path / "file").open("w") as file:
        sync(file.fileno())
    assert asked == [51]


def test_without_locks_of_files_there_is_no_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable_files, "fcntl", None)
    with pytest.raises(LedgerUnsafe, match="file locks"), locked(tmp_path / "lock"):
        pytest.fail("nothing was held")
    with (tmp_path / "file").open("w") as file, pytest.raises(LedgerUnsafe, match="file locks"):
        sync(file.fileno())


def test_the_disk_of_a_path_is_that_of_its_nearest_mount(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two on one place the later one hides the earlier; spaces are written as numbers."""
    mounts = (
        "a / ext4 rw 0 0\nb /data nfs rw 0 0\nc /data xfs rw 0 0\nd /my\\040disk tmpfs rw 0 0\ne /data/x btrfs rw\n"
    )
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: mounts)
    monkeypatch.setattr(Path, "resolve", lambda path: path)
    places = ["/home/u", "/data", "/data/y/z", "/data/x/y", "/my disk/l", "/database"]
    assert [kind_of_disk(Path(place)) for place in places] == ["ext4", "xfs", "xfs", "btrfs", "tmpfs", "ext4"]
