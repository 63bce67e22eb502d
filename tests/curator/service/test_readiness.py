"""Readiness comes back in time, whatever hangs."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

from discreet.curator.service import readiness
from discreet.curator.service.readiness import Readiness, Ready
from discreet.errors import LedgerUnavailable
from tests.helpers.curator.town import Town


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


@pytest.mark.slow
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


def test_a_data_set_that_cannot_be_asked_is_not_ready_and_the_owner_is_told(new_town: Town) -> None:
    """A column was dropped, and the service said that it was ready; nothing stood among the alerts."""
    town, curator = new_town, new_town.curator
    curator.look_at_datasets()
    assert town.get("/readyz").status_code == 200
    file = town.folder / "data" / "people.parquet"
    whole = pq.read_table(file)
    pq.write_table(whole.drop_columns(["pay"]), file)
    curator.look_at_datasets()
    assert curator.readiness.broken == ("town",)
    assert (town.get("/readyz").status_code, town.get("/healthz").status_code) == (503, 200)
    told = [one for one in town.get("/api/audit", town.owner).json()["cautions"] if "'town'" in one]
    assert len(told) == 1
    assert "register it again" in told[0]
    counters = town.get("/metrics", town.owner).text
    assert 'discreet_dataset_ready{dataset="town"} 0.0' in counters
    assert 'discreet_dataset_ready{dataset="other"} 1.0' in counters
    pq.write_table(whole, file)
    curator.look_at_datasets()
    assert town.get("/readyz").status_code == 200
    assert not [one for one in curator.cautions() if "'town'" in one]


def test_an_engine_that_is_busy_says_nothing_new_of_a_data_set(new_town: Town) -> None:
    curator = new_town.curator
    object.__setattr__(new_town.config.limits, "patience", Fraction(1, 100))
    opened = curator.open(curator.ledger.datasets["town"])
    for before in ((), ("town",)):
        curator.readiness.broken = before
        with ThreadPoolExecutor(1) as pool, opened.engine.reserved("ann"):
            pool.submit(curator.look_at_datasets).result()
        assert curator.readiness.broken == before
