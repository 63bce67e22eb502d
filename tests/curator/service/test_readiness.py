"""Readiness comes back in time, whatever hangs."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.curator.service import readiness
from discreet.curator.service.readiness import Readiness, Ready
from discreet.errors import LedgerUnavailable


def ledger(look: Any, mismatch: str | None = None) -> Any:
    return SimpleNamespace(look=look, mismatch=mismatch)


def test_a_ledger_that_answers_is_ready_and_looked_at_once_in_a_second(tmp_path: Path) -> None:
    looked: list[int] = []
    now = [0.0]
    found = Readiness(ledger(lambda: looked.append(1)), (tmp_path,), lambda: now[0])
    assert found.check() == found.check() == Ready()
    assert looked == [1]
    now[0] = 1.5
    assert found.check().good
    assert looked == [1, 1]


def test_what_is_wrong_is_named_by_its_kind(tmp_path: Path) -> None:
    def fail() -> None:
        raise LedgerUnavailable("where it is")

    assert Readiness(ledger(fail), (tmp_path,)).check() == Ready(ledger="LedgerUnavailable")
    assert Readiness(ledger(lambda: None, "rolled back"), (tmp_path,)).check() == Ready(ledger="LedgerMismatch")
    assert Readiness(ledger(lambda: None), (tmp_path / "gone",)).check().disk is not None


def test_a_store_that_hangs_is_not_ready_and_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "_PATIENCE", 0.05)
    go_on, looked = threading.Event(), []

    def hang() -> None:
        looked.append(1)
        assert go_on.wait(30)

    found = Readiness(ledger(hang), (tmp_path,))
    assert not found.check().good
    assert not found.check().good
    assert looked == [1]
    go_on.set()


def test_a_service_that_is_being_stopped_is_not_ready(tmp_path: Path) -> None:
    found = Readiness(ledger(lambda: None), (tmp_path,))
    found.stopping = True
    assert not found.check().good
