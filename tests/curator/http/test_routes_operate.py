"""Whether the service lives, and whether it can answer."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from discreet.curator.service import readiness
from tests.helpers.curator.town import COUNT, Town
from tests.helpers.ledger_places import Place

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "_AGE", 0)


def statuses(town: Town) -> list[int]:
    return [town.get(path).status_code for path in ("/healthz", "/readyz", "/api/health")]


def test_a_ledger_that_mismatches_is_not_ready(new_town: Town) -> None:
    """Fails if health says ok while nothing can be answered."""
    assert new_town.ask(COUNT).status_code == 200
    assert statuses(new_town) == [200, 200, 200]
    ledger = str(new_town.config.ledger)
    Place(ledger, f"{ledger}.key", f"{ledger}.head").roll_back(new_town.curator.ledger.head.sequence - 1)
    assert new_town.ask(COUNT).status_code == 503
    assert statuses(new_town) == [200, 503, 503]
    assert new_town.get("/readyz").json() == {"ok": False}
    new_town.curator.ledger.owner.acknowledge(reason="a restored backup")
    assert statuses(new_town) == [200, 200, 200]


def test_a_full_disk_is_not_ready(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=1, f_frsize=4096))
    assert statuses(town) == [200, 503, 503]


def test_bad_tokens_do_not_stop_the_check(town: Town) -> None:
    """Fails if health is counted with the requests of strangers."""
    for _ in range(200):
        town.get("/api/me", "wrong")
    assert statuses(town) == [200, 200, 200]
