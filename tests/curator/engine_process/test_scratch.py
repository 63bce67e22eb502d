"""Folders of engines: locked while in use, removed afterwards."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from discreet.curator.engine_process.scratch import PREFIX, Scratch, sweep


def test_a_folder_that_is_swept_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made, make = [], tempfile.mkdtemp

    def robbed(**options: str) -> str:
        made.append(make(**options))
        if len(made) < 3:
            assert sweep() == 1
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", robbed)
    scratch = Scratch()
    assert (len(made), scratch.path) == (3, made[2])
    assert sweep() == 0
    scratch.remove()
    assert not list(tmp_path.iterdir())


def test_a_folder_in_use_stays_and_one_that_nobody_holds_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    used, left, link, other = Scratch(), tmp_path / f"{PREFIX}left", tmp_path / f"{PREFIX}link", tmp_path / "other"
    for folder in (left, other, Path(used.path)):
        folder.mkdir(exist_ok=True)
        (folder / "spilled").write_text("rows that did not fit")
    link.symlink_to(other)
    (tmp_path / f"{PREFIX}file").write_text("not a folder")
    assert sweep() == 1
    assert not left.exists()
    assert [(folder / "spilled").exists() for folder in (other, Path(used.path))] == [True, True]
    used.remove()
    assert not Path(used.path).exists()


def test_a_folder_is_of_this_user_alone_and_its_lock_is_not_inherited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    scratch = Scratch()
    assert Path(scratch.path).stat().st_mode & 0o077 == 0
    assert not os.get_inheritable(scratch.lock), "only a process that is given the lock has it"
    scratch.remove()
