"""A ledger that was copied is not served from the copy until the owner says so."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.curator.service.config import read_config
from discreet.curator.service.copies import place
from discreet.curator.service.copies.lease import Lease
from discreet.curator.service.copies.place import KIND, check_place, move_here, place_of
from discreet.curator.service.opening import open_curator
from discreet.errors import BadParameter, LedgerMismatch
from discreet.ledger import open_ledger
from discreet.ledger.verify import copy_ledger
from tests.helpers.curator.land import write_town
from tests.helpers.ledger_places import Place
from tests.helpers.postgres import Postgres


@pytest.mark.slow
def test_a_copy_of_everything_in_another_folder_is_not_served(tmp_path: Path) -> None:
    """Fails where only the head file guards: it was copied as well, and both would spend."""
    first = open_curator(read_config(write_town(tmp_path / "town")), create=True)
    first.serve()
    first.serve()  # again from the same place
    (lease,) = (tmp_path / "town").glob("*.lease")  # renewed while it serves
    entries, renewed = first.ledger.head, lease.read_text()
    (held,) = first._kept
    assert isinstance(held, Lease)
    held.renew()
    assert first.ledger.head == entries  # the chain does not grow by it
    assert lease.read_text() != renewed
    assert first.readiness.check().good
    first.close()
    assert not lease.exists()
    shutil.copytree(tmp_path / "town", tmp_path / "copy")
    copied = read_config(tmp_path / "copy" / "curator.toml")
    second = open_curator(copied)
    with pytest.raises(LedgerMismatch, match="move-here"):
        second.serve()
    with pytest.raises(BadParameter, match="must say why"):
        move_here(second.ledger, copied.ledger, " ")
    move_here(second.ledger, copied.ledger, "the old machine was given back")
    second.serve()
    assert [act.body["reason"] for act in second.ledger.owner.acts(KIND)][-1] == "the old machine was given back"
    second.close()


def test_the_same_file_on_another_machine_is_another_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    identity = tmp_path / "machine-id"
    monkeypatch.setattr(place, "_IDENTITIES", (tmp_path / "nothing", identity))
    with open_ledger(tmp_path / "ledger", create=True) as ledger:
        places = [place_of(ledger, tmp_path / "ledger")]
        for one in ("first", "second"):
            identity.write_text(f"{one}\n")
            places.append(place_of(ledger, tmp_path / "ledger"))
        assert len(set(places)) == 3
        check_place(ledger, tmp_path / "ledger")
        identity.write_text("third")
        with pytest.raises(LedgerMismatch):
            check_place(ledger, tmp_path / "ledger")


def test_a_copy_at_the_same_path_of_another_container_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails where a machine without an identity is known by its path alone."""
    monkeypatch.setattr(place, "_IDENTITIES", ())
    file, kept = tmp_path / "ledger", tmp_path / "kept"
    with open_ledger(file, create=True) as ledger:
        by_path = hashlib.sha256(f"\n{file.resolve()}".encode()).hexdigest()[:32]
        ledger.owner.record(KIND, {"place": by_path, "reason": "by an earlier version"})
        check_place(ledger, file)
        check_place(ledger, file)
        assert len(ledger.owner.acts(KIND)) == 2
    file.rename(kept)  # so that the copy has another number
    shutil.copy(kept, file)
    with open_ledger(file) as copied, pytest.raises(LedgerMismatch, match="move-here"):
        check_place(copied, file)


def test_a_database_that_was_dumped_and_restored_is_another_place(
    postgres_place: Place, durable_postgres: Postgres
) -> None:
    """Fails where every PostgreSQL database is taken for a shared one. Several servers of one share its place."""
    with postgres_place.open(create=True) as first, postgres_place.open() as second:
        for ledger in (first, second):
            check_place(ledger, postgres_place.location)
        assert len(second.owner.acts(KIND)) == 1
    elsewhere = durable_postgres.fresh()
    copy_ledger(postgres_place.location, elsewhere)
    with replace(postgres_place, location=elsewhere).open() as copied, pytest.raises(LedgerMismatch, match="move-here"):
        check_place(copied, elsewhere)
    durable_postgres.drop(elsewhere)


def test_a_server_that_keeps_its_identity_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_ledger(tmp_path / "ledger", create=True) as ledger:
        monkeypatch.setattr(type(ledger), "identity", None)
        assert place_of(ledger, "postgresql://somewhere/else") is None
        check_place(ledger, "postgresql://somewhere/else")
        assert ledger.owner.acts(KIND) == ()
