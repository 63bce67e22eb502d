"""Of two machines that reach one ledger file, at most one goes on answering."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.curator.service.copies import lease as leases
from discreet.curator.service.copies.lease import Lease
from discreet.curator.service.readiness import Readiness
from discreet.errors import LedgerMismatch, LedgerUnavailable
from discreet.ledger import Ledger, open_ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "l", create=True) as found:
        yield found


def booted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    """From now on this is another machine, or the same one after another start."""
    (tmp_path / "boot").write_text(name)
    monkeypatch.setattr(leases, "_BOOT", tmp_path / "boot")


def at_once(_: float) -> None:
    """In place of waiting."""


def never(_: float) -> None:
    pytest.fail("nobody holds the lease: there is nothing to wait for")


def test_who_starts_while_another_machine_renews_is_refused(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails without a lease: nothing on the disk tells that another machine serves."""
    first = Lease(ledger, tmp_path / "l")
    booted(monkeypatch, tmp_path, "another")
    with pytest.raises(LedgerMismatch, match="stop that one first"):
        Lease(ledger, tmp_path / "l", wait=lambda _: first.renew())
    assert ledger.trouble is None
    first.close()
    Lease(ledger, tmp_path / "l", wait=never).close()


def test_a_lease_that_nobody_renews_is_taken_over_and_its_holder_stops(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first machine was suspended: when it wakes up it answers no more."""
    first = Lease(ledger, tmp_path / "l")
    first._renewing.close()
    booted(monkeypatch, tmp_path, "another")
    with open_ledger(tmp_path / "l") as same_file:
        second = Lease(same_file, tmp_path / "l", wait=at_once)
        first.renew()
        with pytest.raises(LedgerMismatch, match="this one has stopped"):
            ledger.owner.add_analyst("ann")
        assert ledger.mismatch == ledger.trouble
        assert Readiness(ledger, ()).check().ledger == "LedgerMismatch"
        assert same_file.owner.add_analyst("ann").sequence == 2
        first.close()  # it leaves the lease of the other one alone
        assert second._read()["boot"] == "another"
        second.close()
    assert not (tmp_path / "l.lease").exists()


def test_processes_of_one_machine_share_a_lease(ledger: Ledger, tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l") as same_file:
        first, second = Lease(ledger, tmp_path / "l"), Lease(same_file, tmp_path / "l", wait=never)
        first.close()
        second.renew()
        assert (tmp_path / "l.lease").stat().st_mode & 0o077 == 0
        second.close()
        assert ledger.trouble is same_file.trouble is None


def test_a_damaged_lease_is_none_and_a_disk_that_fails_is_named(
    ledger: Ledger, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "l.lease").write_text("[1")
    held = Lease(ledger, tmp_path / "l", wait=never)
    held.close()
    (tmp_path / "l.lease").mkdir()
    held.renew()
    assert "cannot be renewed" in caplog.text
    assert ledger.trouble is None
    with pytest.raises(LedgerUnavailable, match="the lease"):
        Lease(ledger, tmp_path / "l")
